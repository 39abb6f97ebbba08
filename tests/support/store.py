"""Stores in a temporary folder, what is written into them, and disks that fail or die."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from core.model.end import EndState, Failure, Fetched, MediaEnd, MediaFile
from core.model.partial import Validators
from core.model.post import Author, MediaKind, MediaRecord, Post, Rendition
from core.model.walk import WalkEnd, WalkPage, WalkState
from core.store.files import Disk
from core.store.store import Store
from tests.support.clock import FakeClock

MEDIA = "ab" + "0" * 30
POST = "cd" + "0" * 30
FEED = "feed000000000000"
SOURCE = "mill"


def open_store(
    root: Path,
    *,
    exclusive: bool = False,
    disk: type[Disk] = Disk,
    clock: FakeClock | None = None,
) -> Store:
    return Store.open(
        root, exclusive=exclusive, clock=clock or FakeClock(), writer="mill-1-aa", disk=disk
    )


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def validators(etag: str = '"1"', url: str = "http://mill.example/wheel.jpg") -> Validators:
    return Validators(url=url, etag=etag, total_bytes=1000)


def got(content: bytes = b"wheel", **changes: object) -> MediaEnd:
    """The end of a media whose file is `content`."""
    file = MediaFile(
        sha256=sha256(content),
        size_bytes=len(content),
        type_sniffed="image/jpeg",
        extension=".jpg",
    )
    fetched = Fetched(
        requested_url="http://mill.example/wheel.jpg",
        final_url="http://mill.example/wheel.jpg",
        status=200,
        at=1_000_000.0,
    )
    return ended(state=EndState.GOT, file=file, fetched=fetched, **changes)


def dead(**changes: object) -> MediaEnd:
    failure = Failure(reason="gone", message="404", passing=False)
    return ended(**({"state": EndState.DEAD, "failure": failure} | changes))


def ended(**changes: object) -> MediaEnd:
    fields: dict[str, object] = {
        "media": MEDIA,
        "generation": 1,
        "source": SOURCE,
        "kind": MediaKind.IMAGE,
        "url": "http://mill.example/wheel.jpg",
        "post": POST,
        "feed": FEED,
        "title": "The wheel",
        "author": "Ada Miller",
        "created_at": "2024-05-06T07:08:09+00:00",
        "ended_at": 1_000_000.0,
    }
    return MediaEnd.model_validate(fields | changes)


def post(key: str = "1", text: str = "water", url: str | None = None) -> Post:
    rendition = Rendition(url=url or f"http://mill.example/{key}.jpg")
    media = MediaRecord(kind=MediaKind.IMAGE, renditions=(rendition,))
    return Post(key=key, title=f"Post {key}", text=text, author=Author(name="Ada"), media=(media,))


def page(walk: str, number: int = 1, feed: str = FEED) -> WalkPage:
    return WalkPage(walk=walk, feed=feed, page=number, read_at=1_000_000.0)


def walk_end(walk: str, state: WalkState = WalkState.COMPLETE, feed: str = FEED) -> WalkEnd:
    return WalkEnd(
        walk=walk, feed=feed, state=state, reason="last_page", pages=1, closed_at=1_000_001.0
    )


def commit(
    store: Store,
    content: bytes,
    *,
    token: str = "t1",
    media: str = MEDIA,
    resumable: bool = True,
) -> MediaEnd:
    """The whole commit of a media, in its order."""
    end = got(content, media=media)
    partial = store.staging.take(media, token)
    if resumable:
        partial.keep(validators())
    partial.path.write_bytes(content)
    store.objects.put(partial.path, sha256(content))
    if store.media.end(end):
        store.sums.append(end)
    store.library.link(end)
    partial.remove()
    partial.close()
    return end


class Died(BaseException):
    """The process ended here: nothing after it runs."""


class _NumberedDisk(Disk):
    """Counts its operations; something happens at number `at` (never, when 0)."""

    at = 0
    count = 0

    def before(self, what: str, path: Path) -> None:
        cls = type(self)
        cls.count += 1
        if cls.at:
            self.reached(cls.count - cls.at, what)

    def reached(self, past: int, what: str) -> None:
        raise NotImplementedError


def failing_disk(at: int, fault: int = errno.ENOSPC) -> type[_NumberedDisk]:
    """A disk whose operation number `at` fails, and only that one."""

    class FailingDisk(_NumberedDisk):
        def reached(self, past: int, what: str) -> None:
            if past == 0:
                raise OSError(fault, os.strerror(fault))

    FailingDisk.at = at
    return FailingDisk


def full_disk(at: int) -> type[_NumberedDisk]:
    """A disk on which nothing can be written from operation number `at` on."""

    class FullDisk(_NumberedDisk):
        def reached(self, past: int, what: str) -> None:
            if past >= 0 and what in {"write", "create", "copy to", "append to"}:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    FullDisk.at = at
    return FullDisk


def dying_disk(at: int) -> type[_NumberedDisk]:
    """The process dies before operation number `at`: no later one happens either."""

    class DyingDisk(_NumberedDisk):
        def reached(self, past: int, what: str) -> None:
            if past >= 0:
                raise Died

    DyingDisk.at = at
    return DyingDisk
