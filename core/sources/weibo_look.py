"""One post asked for by itself: because its list shows fewer pictures than it says it has or only
the beginning of its text, or an address of its media has died. What can't be had costs its own post
a note; what concerns the whole source is raised."""

from __future__ import annotations

from core.errors import Gone, HeadraceError, Permanent
from core.model.addresses import strike
from core.model.post import FeedPage, Post, Rendition, Skipped
from core.sources.adapter import Ask, PageInput
from core.sources.body import malformed
from core.sources.json_page import item_of
from core.sources.second_look import ENOUGH_IN_TROUBLE, PASSING, asked_once, asked_twice
from core.sources.weibo_address import (
    Shape,
    post_address,
    shape_of,
    weibo_request,
    with_whole_text,
)
from core.sources.weibo_ajax import read_ajax
from core.sources.weibo_answer import GONE, read_answer
from core.sources.weibo_draft import place_of
from core.sources.weibo_mobile import read_mobile
from core.sources.weibo_post import (
    TEXT_CUT,
    has_cut_text,
    incomplete,
    is_deleted,
    key_of,
    missing_of,
)
from core.sources.weibo_ref import read_ref
from core.sources.weibo_text import leads_to_more

_OF_THE_POST = (Permanent, *PASSING)  # what a note can stand for


def completed(page: FeedPage, ask: Ask) -> FeedPage:
    """The page with all that could be had."""
    posts, skipped, looks = [], list(page.skipped), _Looks(ask)
    for post in page.posts:
        address = post_address(post.link) if post.link else None
        if address is None or not (has_cut_text(post) or _lacks_media(post)):
            posts.append(post)
            continue
        whole, why = looks.at(post, address)
        if len(whole.media) > len(post.media):
            skipped = [one for one in skipped if not _is_of(one, post)]
        if missing_of(whole):
            note = incomplete(whole)
            skipped.append(Skipped(where=post.key, reason=note))
            note = f"{note} ({why})" if why else note
            whole = _noted(whole, note)
        elif has_cut_text(whole) and why:
            whole = _noted(whole, f"the rest of its text can't be had ({why})")
        posts.append(whole)
    looks.raise_trouble()
    return page.model_copy(update={"posts": tuple(posts), "skipped": tuple(skipped)})


def renewed(ref_text: str, ask: Ask) -> tuple[Rendition, ...]:
    """Today's addresses of one media. Raises `Gone` where its post has it no more."""
    ref = read_ref(ref_text)
    post = asked_once(lambda: read_shown(ask(weibo_request(ref.post, ref.shape)), ref.shape))
    for media in post.media:
        if media.key == ref.key:
            return media.renditions
    raise Gone(
        f"{strike(ref.post)}: the post is there, but has media {ref.key} no more",
        reason="gone_at_source",
    )


def read_shown(answer: PageInput, shape: Shape) -> Post:
    """The one post of an answer. Raises `Gone` for one that was deleted."""
    body = read_answer(answer, shape, one_post=True)
    status = item_of(body.get("data")) or body
    if is_deleted(status) or not body:
        raise Gone(f"{strike(answer.url)}: the post is deleted", reason=GONE)
    if key_of(status) is None:
        raise malformed(answer, "not_a_post", "no post in it")
    read = read_ajax
    if shape is Shape.MOBILE:  # it calls a text long also where it tells all of it
        read = read_mobile
        status = {**status, "isLongText": leads_to_more(status.get("text"))}
    try:
        post, _ = read(status, key_of(status) or "", place_of(answer, shape))
    except ValueError as error:  # a value that no record can hold
        raise malformed(answer, "unreadable_item", "its post can't be read") from error
    return post


class _Looks:
    """The looks of one page at its posts."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._had = 0
        self._in_trouble: list[HeadraceError] = []

    def at(self, post: Post, address: str) -> tuple[Post, str | None]:
        """The post with what a second look finds; else as it was, and why."""
        try:
            found = asked_twice(lambda: self._shown(post, address))
        except _OF_THE_POST as error:
            self._count(error)
            return post, f"its own page: {error.reason}"
        self._had += 1
        return (post if found.key != post.key else _merged(post, found)), None

    def raise_trouble(self) -> None:
        """Raise what every look of several met: it is no post's own, and the page is read again."""
        if not self._had and len(self._in_trouble) >= ENOUGH_IN_TROUBLE:
            raise self._in_trouble[-1]

    def _count(self, error: HeadraceError) -> None:
        if isinstance(error, PASSING):
            self._in_trouble.append(error)
        else:
            self._had += 1

    def _shown(self, post: Post, address: str) -> Post:
        if has_cut_text(post):
            address = with_whole_text(address)
        shape = shape_of(address)
        assert shape is not None  # noqa: S101 - `post_address` builds no other
        return read_shown(self._ask(weibo_request(address, shape)), shape)


def _merged(post: Post, found: Post) -> Post:
    """What the list tells, with what its own page has more of."""
    more: dict[str, object] = {}
    if len(found.media) > len(post.media):
        told = [count for count in (post.announced, found.announced) if count is not None]
        more = {"media": found.media, "announced": max(told, default=None)}
    if has_cut_text(post) and not has_cut_text(found) and found.text:
        notes = tuple(note for note in post.notes if note != TEXT_CUT)
        more |= {"text": found.text, "notes": notes}
    return post.model_copy(update=more)


def _noted(post: Post, note: str) -> Post:
    return post.model_copy(update={"notes": (*post.notes, note)})


def _lacks_media(post: Post) -> bool:
    return missing_of(post) > 0 and not _is_told(post)


def _is_told(post: Post) -> bool:
    """Whether it is noted as incomplete already: the open API has no second look."""
    return missing_of(post) > 0 and incomplete(post) in post.notes


def _is_of(one: Skipped, post: Post) -> bool:
    """Whether it says why the list had no media of the post."""
    return one.where == post.key or one.where.startswith(f"{post.key}, picture ")
