"""One Weibo post while it is read: its media in order, each once, with what its page's place means
for their addresses; what gave nothing noted with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import parse_qs, urlsplit

from core.model.post import MediaKind, MediaRecord, Rendition, Skipped
from core.sources.adapter import PageInput
from core.sources.media_types import extension_of
from core.sources.resolve import Unusable, base_of, resolve
from core.sources.values import kept_key
from core.sources.weibo_address import REFERERS, Shape, is_of_site
from core.sources.weibo_ref import Ref


@dataclass(frozen=True, slots=True)
class Place:
    """Where posts were read."""

    shape: Shape
    url: str  # the page's final address
    read_at: float  # Unix time

    @property
    def referer(self) -> str:
        """With which their media are asked for."""
        return REFERERS[self.shape]

    def address(self, raw: object) -> str | Unusable:
        """A media's address. Weibo still writes many as http and serves them all as https; another
        site that speaks its interface over http means what it writes."""
        found = resolve(raw, base_of(self.url))
        if isinstance(found, Unusable) or not found.startswith("http:"):
            return found
        page = urlsplit(self.url)
        if page.scheme == "http" and not is_of_site(page.hostname or ""):
            return found
        return f"https:{found.removeprefix('http:')}"


def place_of(page: PageInput, shape: Shape) -> Place:
    """The place of what stands in a page."""
    return Place(shape, page.url, page.read_at)


@dataclass(frozen=True, slots=True)
class Film:
    """A video as a post offers it."""

    renditions: Sequence[Rendition]  # best first
    key: str | None = None
    poster: object = None
    duration_s: float | None = None
    motion_of: str | None = None


class PostDraft:
    """The media of one post."""

    def __init__(self, where: str, place: Place, own_address: str | None) -> None:
        self.where = where
        self.place = place
        self.media: list[MediaRecord] = []
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self._own_address = own_address  # where the interface tells this post
        self._keys: set[str] = set()
        self._told = 0  # pictures, by the post's own count
        self._beside = 0  # media that this count leaves out
        self._left_out = 0  # counted by it, and not wanted

    @property
    def announced(self) -> int | None:
        """How many media the post says it has, the moving halves of live photos not counted; None
        where it does not count."""
        return max(0, self._told + self._beside - self._left_out) if self._told else None

    def announce(self, count: int) -> None:
        """The post counts so many pictures."""
        self._told += count

    def skip(self, what: str, reason: str, *, wanted: bool = True) -> None:
        """Something that gives no media; `wanted` where a second look may find it."""
        where = f"{self.where}, {what}" if what else self.where
        self.skipped.append(Skipped(where=where, reason=reason))
        self._left_out += not wanted

    def rendition(self, raw: object, **told: int | str | None) -> Rendition | None:
        """An address and what is said of it; None for what is none."""
        url = self.place.address(raw)
        if isinstance(url, Unusable):
            return None
        manifest = "hls" if extension_of(url) == ".m3u8" else None
        return Rendition(url=url, manifest=manifest).model_copy(update=told)

    def picture(
        self, what: str, sizes: Iterable[Rendition | None], *, key: str | None, beside: bool = False
    ) -> str | None:
        """A picture in its sizes, best first; its key, or None where it has no address. Of a moving
        one, the sizes that move go first: some of the smaller ones are stills."""
        found = sorted(_once(sizes), key=lambda one: extension_of(one.url) != ".gif")
        if not found:
            self.skip(what, "no_address")
            return None
        stem = PurePosixPath(urlsplit(found[0].url).path).stem
        record = MediaRecord(
            kind=MediaKind.IMAGE,
            renditions=tuple(found),
            key=key or stem or kept_key(found[0].url),
            referer=self.place.referer,
        )
        self._keep(what, record, beside=beside)
        return record.key

    def film(self, what: str, film: Film, *, beside: bool = False) -> None:
        """A video, or the moving half of a live photo."""
        found = _once(film.renditions)
        if not found:
            self.skip(what, "no_address")
            return
        poster = self.place.address(film.poster)
        record = MediaRecord(
            kind=MediaKind.VIDEO,
            renditions=tuple(found),
            key=film.key or _key_of_video(found[0].url),
            referer=self.place.referer,
            poster=None if isinstance(poster, Unusable) else poster,
            duration_s=film.duration_s,
            motion_of=film.motion_of,
        )
        self._keep(what, record, beside=beside)

    def _keep(self, what: str, record: MediaRecord, *, beside: bool) -> None:
        key = record.key or ""
        if key in self._keys:
            self.skip(what, "duplicate", wanted=beside)
            return
        self._keys.add(key)
        self._beside += beside
        ref = None
        # A picture's address does not die: asked for anew, it would be the same.
        if self._own_address and (record.kind is MediaKind.VIDEO or _is_signed(record)):
            ref = Ref(self._own_address, self.place.shape, key).text()
        self.media.append(record.model_copy(update={"position": len(self.media), "ref": ref}))


def expires_at(url: str) -> float | None:
    """Unix time when an address dies, by its `Expires`; None where it has none."""
    told = parameter(url, "Expires") or ""
    return float(told) if told.isascii() and told.isdigit() and len(told) <= 11 else None


def parameter(url: str, name: str) -> str | None:
    """One parameter of an address."""
    try:
        told = parse_qs(urlsplit(url).query, max_num_fields=100)
    except ValueError:
        return None
    return told[name][-1] if name in told else None


def _is_signed(record: MediaRecord) -> bool:
    return expires_at(record.renditions[0].url) is not None


def _once(renditions: Iterable[Rendition | None]) -> list[Rendition]:
    found: dict[str, Rendition] = {}
    for rendition in renditions:
        if rendition is not None:
            found.setdefault(rendition.url, rendition)
    return list(found.values())


def _key_of_video(url: str) -> str:
    """For a video without an object id. The site's own player page names the film in a parameter;
    the files of all qualities share a `media_id`."""
    file = parameter(url, "livephoto") or url
    named = parameter(file, "media_id") or parameter(file, "fid")
    return named or file.partition("?")[0].partition("://")[2].partition("/")[2] or kept_key(url)
