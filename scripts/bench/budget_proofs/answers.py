"""What the loopback source shows: feeds, small pictures, videos, and addresses that misbehave. A
path says all of it, so nothing has to be laid out before a run.

    /SOURCE/feed/NAME/PAGES/ITEMS/WHAT/PAGE.json   a JSON Feed; WHAT is a kind below, `mix`,
                                                   or `onebroken`: the first one of pictures
    /SOURCE/image/NAME.jpg     /SOURCE/video/NAME/index.m3u8 (four pieces under a key)
    /SOURCE/moved/NAME.jpg     a redirect to the picture
    /SOURCE/cut/NAME.jpg       breaks off at its first request
    /SOURCE/broken/NAME.jpg    500, always
    /SOURCE/film/NAME/PIECES/index.m3u8            a video of so many pieces
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_MEDIA = Path(__file__).resolve().parents[2] / "sample_site" / "media"
_COMMENT_BYTES = 34  # of a JPEG comment: its length and 32 of its own


@dataclass(frozen=True, slots=True)
class Body:
    """An answer. `cut_at` is where the connection ends, before the told length."""

    content: bytes
    content_type: str = "application/octet-stream"
    status: int = 200
    location: str | None = None
    cut_at: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A path in its parts."""

    source: str
    kind: str
    rest: tuple[str, ...]

    @classmethod
    def read(cls, path: str) -> Asked:
        source, kind, *rest = path.strip("/").split("/")
        return cls(source, kind, tuple(rest))


class Shown:
    """Everything that can be asked for."""

    def __init__(self) -> None:
        self._picture = (_MEDIA / "dawn-thumbnail.jpg").read_bytes()[2:]  # after the start marker
        self._piece = (_MEDIA / "flood" / "flood-0.ts").read_bytes()
        self._cut_once: set[Asked] = set()
        self._kinds: dict[str, Callable[[Asked, str], Body]] = {
            "image": lambda _, name: Body(self._image(name), "image/jpeg"),
            "moved": _moved,
            "cut": self._cut,
            "broken": _broken,
            "video": _video,
            "film": self._film,
        }

    def find(self, asked: Asked, address: str) -> Body:
        """The answer; 404 for what there is not."""
        if asked.kind == "feed":
            return _feed_page(asked, address)
        make = self._kinds.get(asked.kind)
        return make(asked, asked.rest[-1]) if make and asked.rest else _nothing(asked, "")

    def _image(self, name: str) -> bytes:
        own = hashlib.blake2s(name.encode(), digest_size=16).hexdigest().encode()
        return b"\xff\xd8\xff\xfe" + _COMMENT_BYTES.to_bytes(2, "big") + own + self._picture

    def _cut(self, asked: Asked, name: str) -> Body:
        image = self._image(f"cut-{name}")
        if asked in self._cut_once:
            return Body(image, "image/jpeg")
        self._cut_once.add(asked)
        return Body(image, "image/jpeg", cut_at=len(image) // 2)

    def _film(self, asked: Asked, file: str) -> Body:
        if file == "index.m3u8":
            return Body(_manifest(int(asked.rest[1])), _type_of(file))
        return Body(self._piece, _type_of(file))


def _feed_page(asked: Asked, address: str) -> Body:
    name, pages, items, what, page = asked.rest
    feed = Feed(address, asked.source, name, int(pages), int(items), what)
    return Body(feed.page(int(page.partition(".")[0])), "application/feed+json")


def _moved(asked: Asked, name: str) -> Body:
    return Body(b"", status=302, location=f"/{asked.source}/image/moved-{name}")


def _broken(_: Asked, __: str) -> Body:
    return Body(b"this address is broken", "text/plain", status=500)


def _video(asked: Asked, file: str) -> Body:
    path = _MEDIA / "night" / file
    return Body(path.read_bytes(), _type_of(file)) if path.is_file() else _nothing(asked, file)


def _nothing(_: Asked, __: str) -> Body:
    return Body(b"there is no such thing", "text/plain", status=404)


@dataclass(frozen=True, slots=True)
class Feed:
    """A JSON Feed of `pages` pages of `items` items."""

    address: str
    source: str
    name: str
    pages: int
    items: int
    what: str

    def page(self, number: int) -> bytes:
        """One page; each item has one media."""
        first = (number - 1) * self.items
        feed: dict[str, object] = {
            "version": "https://jsonfeed.org/version/1.1",
            "title": self.name,
            "items": [self._item(first + n) for n in range(self.items)],
        }
        if number < self.pages:
            base = f"{self.address}/{self.source}/feed/{self.name}"
            feed["next_url"] = f"{base}/{self.pages}/{self.items}/{self.what}/{number + 1}.json"
        return json.dumps(feed).encode()

    def _item(self, number: int) -> dict[str, object]:
        url, mime = self._media(number)
        attachment = {"url": f"{self.address}/{self.source}/{url}", "mime_type": mime}
        return {"id": f"{self.name}-{number}", "attachments": [attachment]}

    def _media(self, number: int) -> tuple[str, str]:
        kind, _, more = self._kind(number).partition(":")
        match kind:
            case "video":
                return f"video/{self.name}-{number}/index.m3u8", _type_of("index.m3u8")
            case "film":
                return f"film/{self.name}-{number}/{more}/index.m3u8", _type_of("index.m3u8")
            case _:
                return f"{kind}/{self.name}-{number}.jpg", "image/jpeg"

    def _kind(self, number: int) -> str:
        """`mix`: mostly pictures, and of everything that costs a token of its own some."""
        if self.what == "onebroken":
            return "broken" if number == 0 else "image"
        if self.what != "mix":
            return self.what
        if number % 60 == 5:
            return "video"
        return {3: "moved", 7: "cut"}.get(number % 20, "image")


def _manifest(pieces: int) -> bytes:
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:1"]
    for number in range(pieces):
        lines += ["#EXTINF:1.0,", f"{number}.ts"]
    return "\n".join([*lines, "#EXT-X-ENDLIST", ""]).encode()


def _type_of(file: str) -> str:
    kinds = {".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t", ".key": "text/plain"}
    return kinds.get(Path(file).suffix, "application/octet-stream")
