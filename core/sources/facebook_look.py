"""The second look at a page of posts: pictures in full size, and the rest of albums that may be
cut. What can't be had costs its own post a note; what concerns the source is raised, and so is what
may pass: a picture that is kept small for it would stay so."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from core.errors import HeadraceError, Permanent, ServerTrouble
from core.model.post import FeedPage, MediaKind, MediaRecord, Post, Rendition, Skipped
from core.sources.adapter import Ask, PageInput
from core.sources.facebook_address import (
    MOST_AT_ONCE,
    PHOTO_FIELDS,
    asked,
    half_as_many,
    next_address,
    node_address,
    nodes_address,
)
from core.sources.facebook_answer import TOO_MUCH, graph_request, read_answer
from core.sources.facebook_node import Draft, once, photo_record, picture_renditions
from core.sources.facebook_post import placed
from core.sources.facebook_ref import Ref, read_ref
from core.sources.facebook_usage import rest_s
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.resolve import Unusable
from core.sources.second_look import PASSING, asked_twice
from core.sources.values import text_of

IDS_AT_ONCE = 50  # the API takes no more in one request
# One photo that is not to be had fails its whole batch: so often is a page's halved, and so often
# while nothing was had at all, as where the token may read no photos.
MOST_SPLITS, FIRST_SPLITS = 20, 6
MOST_ALBUM_PAGES = 5  # of `MOST_AT_ONCE` photos

_OF_THE_NODES = (Permanent, *PASSING)  # what a note can stand for

FullSizes = dict[str, tuple[Rendition, ...] | str]  # by photo id: the sizes, or why there are none


@dataclass(slots=True)
class SecondLook:
    """One page's further questions."""

    ask: Ask
    _splits: int = 0
    _rests: list[float] = field(default_factory=list)
    _whole: set[str | None] = field(default_factory=set)  # photos that albums gave in every size

    def complete(self, page: FeedPage) -> FeedPage:
        """The page with all that could be had."""
        skipped = list(page.skipped)
        posts = [self._with_albums(post, skipped) for post in page.posts]
        full = self._full_sizes(self._small(posts))
        rests = [*self._rests, *([page.rest_s] if page.rest_s else [])]
        return page.model_copy(
            update={
                "posts": tuple(_with_full_sizes(post, full) for post in posts),
                "skipped": tuple(skipped),
                "rest_s": max(rests, default=None),
            }
        )

    # --- albums ---

    def _with_albums(self, post: Post, skipped: list[Skipped]) -> Post:
        refs = [read_ref(record.ref) for record in post.media if record.ref]
        albums = dict.fromkeys((ref.api, ref.album) for ref in refs if ref.album)
        if not albums:
            return post
        notes: list[str] = []
        media = post.media
        for api, album in albums:
            media = self._merged(media, post, f"{api}/{album}", notes)
        media = tuple(_without_album(record) for record in media)
        if notes:
            skipped.append(Skipped(where=post.key, reason="album_maybe_truncated"))
        return post.model_copy(update={"media": media, "notes": (*post.notes, *notes)})

    def _merged(
        self, media: tuple[MediaRecord, ...], post: Post, album: str, notes: list[str]
    ) -> tuple[MediaRecord, ...]:
        """What the post lists stands as it does; what only the album has comes behind."""
        found: dict[str | None, MediaRecord] = {}
        try:
            for record in self._album_photos(album, post, notes):
                found.setdefault(record.key, record)
        except _OF_THE_NODES as error:
            notes.append(f"its album may have more than it lists; it can't be read: {error.reason}")
        if found:
            media = tuple(record for record in media if not _stands_in(record, album))
        listed = (self._enlarged(record, found.get(record.key)) for record in media)
        return placed((*listed, *found.values()))

    def _enlarged(self, record: MediaRecord, in_album: MediaRecord | None) -> MediaRecord:
        """A thumbnail, which is all that an album may name, is no better."""
        if in_album is None or record.key not in self._whole:
            return record
        renditions = once((*in_album.renditions, *record.renditions))
        return record.model_copy(update={"renditions": renditions})

    def _album_photos(self, album: str, post: Post, notes: list[str]) -> Iterator[MediaRecord]:
        """An album grows with many posts: what names another one is none of this."""
        api, _, ident = album.rpartition("/")
        url = asked(node_address(api, f"{ident}/photos", PHOTO_FIELDS), MOST_AT_ONCE)
        for _ in range(MOST_ALBUM_PAGES):
            body, answer = self._album_page(url)
            for node in items_of(body.get("data")):
                if text_of(node.get("page_story_id")) in (None, post.key):
                    record = photo_record(node, Draft(post.key, api))
                    if record is not None:
                        self._whole |= {record.key} if node.get("images") else set()
                        yield record
            following = next_address(child(body, "paging", "next"), answer.url)
            if isinstance(following, Unusable):
                return
            url = following
        notes.append(f"its album has more than {MOST_ALBUM_PAGES * MOST_AT_ONCE} photos")

    def _album_page(self, url: str) -> tuple[Item, PageInput]:
        """A page of an album, or of half as many photos where that is more than the API gives."""
        while True:
            try:
                ask = partial(self._read, url, "an album's photos")
                return asked_twice(ask, lasting=TOO_MUCH)
            except ServerTrouble as error:
                smaller = half_as_many(url) if error.reason == TOO_MUCH else None
                if smaller is None:
                    raise
                url = smaller

    # --- full size ---

    def _small(self, posts: Iterable[Post]) -> list[Ref]:
        """The photos of which no more than one size is known, each once."""
        records = (record for post in posts for record in post.media)
        refs = [_ref_of(record) for record in records if record.key not in self._whole]
        return list(dict.fromkeys(ref for ref in refs if ref is not None))

    def _full_sizes(self, refs: Iterable[Ref]) -> FullSizes:
        """A batch that fails is asked for in halves, as often as `MOST_SPLITS` allows."""
        found: FullSizes = {}
        batches = deque(_batches(refs))
        while batches:
            api, ids = batches.popleft()
            try:
                found |= self._batch(api, ids)
            except _OF_THE_NODES as error:
                is_one = len(ids) == 1 and self._splits > 0
                if not (is_one or _splits(error)):
                    raise
                if halves := self._halves(ids, found):
                    batches += [(api, half) for half in halves]
                else:
                    found |= dict.fromkeys(ids, error.reason)
        return found

    def _halves(self, ids: list[str], found: FullSizes) -> tuple[list[str], ...]:
        had_any = any(not isinstance(sizes, str) for sizes in found.values())
        if len(ids) == 1 or self._splits >= (MOST_SPLITS if had_any else FIRST_SPLITS):
            return ()
        self._splits += 1
        middle = len(ids) // 2
        return ids[:middle], ids[middle:]

    def _batch(self, api: str, ids: list[str]) -> FullSizes:
        url = nodes_address(api, ids, "id,images")
        body, _ = asked_twice(lambda: self._read(url, "photos by id"), lasting=TOO_MUCH)
        return {ident: picture_renditions(item_of(body.get(ident))) or "no_images" for ident in ids}

    def _read(self, url: str, what: str) -> tuple[Item, PageInput]:
        answer = self.ask(graph_request(url))
        rest = rest_s(answer.headers)
        if rest is not None:
            self._rests.append(rest)
        return read_answer(answer, what), answer


def _splits(error: HeadraceError) -> bool:
    """Whether fewer photos may be had where so many are not: one that is not to be had fails them
    all. Trouble that passes is no photo's."""
    return isinstance(error, Permanent) or error.reason == TOO_MUCH


def _ref_of(record: MediaRecord) -> Ref | None:
    """Where a picture in one size is asked for in the others."""
    if record.kind is not MediaKind.IMAGE or record.ref is None or len(record.renditions) > 1:
        return None
    return read_ref(record.ref)


def _batches(refs: Iterable[Ref]) -> Iterator[tuple[str, list[str]]]:
    by_api: dict[str, list[str]] = {}
    for ref in refs:
        by_api.setdefault(ref.api, []).append(ref.id)
    for api, ids in by_api.items():
        for start in range(0, len(ids), IDS_AT_ONCE):
            yield api, ids[start : start + IDS_AT_ONCE]


def _with_full_sizes(post: Post, full: FullSizes) -> Post:
    """The post's own rendition stays as the last one."""
    media: list[MediaRecord] = []
    missed: Counter[str] = Counter()
    for record in post.media:
        ref = _ref_of(record)
        sizes = full.get(ref.id, ()) if ref else ()
        if isinstance(sizes, str):
            missed[sizes] += 1
            sizes = ()
        renditions = once((*sizes, *record.renditions))
        media.append(record.model_copy(update={"renditions": renditions}))
    notes = [
        f"pictures in no other size than the post's own: {count} ({reason})"
        for reason, count in missed.items()
    ]
    return post.model_copy(update={"media": tuple(media), "notes": (*post.notes, *notes)})


def _stands_in(record: MediaRecord, album: str) -> bool:
    """Whether a picture is an album's own: it repeats one of the album's."""
    ref = read_ref(record.ref) if record.ref else None
    return ref is not None and ref.id == ref.album and f"{ref.api}/{ref.id}" == album


def _without_album(record: MediaRecord) -> MediaRecord:
    """The ref as it is kept: an album that stood in for a photo's id is none."""
    ref = read_ref(record.ref) if record.ref else None
    if ref is None or ref.album is None:
        return record
    kept = None if ref.id == ref.album else replace(ref, album=None).text()
    return record.model_copy(update={"ref": kept})
