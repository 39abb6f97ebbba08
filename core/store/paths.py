"""Where everything in a store lies. Pure: names in, paths out, nothing on the disk is touched.

An id comes out of a message and is not believed: whatever could leave its folder is refused."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from core.errors import Refused

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}")
_KEPT = 256  # paths
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_plain(name: str) -> bool:
    """Whether `name` can stand as one component of a path."""
    return _PLAIN.fullmatch(name) is not None


def plain(name: str) -> str:
    """`name` if it can stand as one component of a path. Raises `Refused` naming the rule."""
    if not is_plain(name):
        raise Refused(
            f"{name[:80]!r} names no place in the store: an id is 1 to 100 letters, digits, "
            "- and _ (rule: no input decides a path)",
            reason="path_refused",
        )
    return name


def digest(sha256: str) -> str:
    """`sha256` if it is one, in lower-case hex. Raises `Refused` otherwise."""
    if not _SHA256.fullmatch(sha256):
        raise Refused(
            f"{sha256[:80]!r} is no SHA-256 in 64 lower-case hex digits (rule: an object is named "
            "by its content)",
            reason="path_refused",
        )
    return sha256


def number(name: str, suffix: str) -> int | None:
    """The number that a file's name is made of (`3.json` with `.json`: 3); None for any other."""
    stem = name.removesuffix(suffix)
    return int(stem) if stem != name and stem.isascii() and stem.isdigit() else None


class Paths:
    """The layout of one store. Paths are made of one string each: a commit needs dozens, and
    joining them part by part took a fifth of its time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.format = root / "store.json"  # what the folder says it is; written first
        self.lock = root / "lock"  # held by whoever has the store open
        self.switches = root / "switches.json"  # what operators switched
        self.switches_new = root / "switches.new"  # the same, before it has its name
        self.switches_lock = root / "switches.lock"  # held by whoever switches
        self.objects = root / "objects" / "sha256"  # original bytes, by their digest
        self.all_media = root / "media"  # how each media ended
        self.all_posts = root / "posts"  # what was found
        self.all_walks = root / "walks"  # how feeds were read
        self.all_feeds = root / "feeds"  # what feed ids stand for
        self.all_staging = root / "staging"  # what is half got
        self.unnamed = root / "staging" / "unnamed"  # files that have no name yet, and rubbish
        self.library = root / "library"  # names for people
        self.sums = root / "sums"  # checksum lists, one per writer
        self.merged = root / "sums" / "merged.json"  # what of them is in SHA256SUMS
        self.repeats = root / "repeats"  # which posts the same bytes were filed for; made when used
        self.admissions = root / "admissions"  # who lets a video in; made when used
        self.all_idle = root / "idle"  # when nothing of a source was open; made when used
        self.checksums = root / "SHA256SUMS"  # the merged list, for `sha256sum -c`
        # What a commit asks for twice is made once: a path costs as much as three system calls.
        self.object = lru_cache(_KEPT)(self._object)
        self.end = lru_cache(_KEPT)(self._end)

    def folders(self) -> tuple[Path, ...]:
        """Every folder that an open store has."""
        return (
            self.objects,
            self.all_media,
            self.all_posts,
            self.all_walks,
            self.all_feeds,
            self.unnamed,
            self.library,
            self.sums,
        )

    def _object(self, sha256: str) -> Path:
        """The original bytes with that digest."""
        digest(sha256)
        return Path(f"{self.objects}/{sha256[:2]}/{sha256[2:4]}/{sha256}")

    def repeats_of(self, source: str, sha256: str) -> Path:
        """Which posts of a source this object was filed for, and others that begin like it."""
        return Path(f"{self.repeats}/{plain(source)}/{digest(sha256)[:4]}")

    def admission(self, source: str) -> Path:
        """What is held by whoever lets a video of a source in."""
        return self.admissions / plain(source)

    def idle(self, source: str) -> Path:
        """Its time is the last at which nothing of a source was open."""
        return self.all_idle / plain(source)

    def _end(self, media: str, generation: int) -> Path:
        """How one generation of a media ended."""
        return Path(f"{self.all_media}/{plain(media)[:2]}/{media}.{generation}.json")

    def reopened(self, media: str, generation: int) -> Path:
        """The sign that a person opened this generation."""
        return Path(f"{self.all_media}/{plain(media)[:2]}/{media}.{generation}.open")

    def posts(self, post: str) -> Path:
        """The folder that a post's versions lie in, with those of others."""
        return Path(f"{self.all_posts}/{plain(post)[:2]}")

    def version(self, post: str, version: int) -> Path:
        """One version of a post."""
        return Path(f"{self.all_posts}/{plain(post)[:2]}/{post}.{version}.json")

    def mark(self, post: str, feed: str) -> Path:
        """In which walk a feed showed the post."""
        return Path(f"{self.all_posts}/{plain(post)[:2]}/{post}.seen.{plain(feed)}")

    def feed(self, feed: str) -> Path:
        """What a feed id stands for."""
        return self.all_feeds / f"{plain(feed)}.json"

    def feed_body(self, feed: str) -> Path:
        """The newest bytes of a feed that is a local file."""
        return self.all_feeds / f"{plain(feed)}.body"

    def walks(self, feed: str) -> Path:
        """The folder of a feed's walks."""
        return self.all_walks / plain(feed)

    def walk(self, feed: str, walk: str) -> Path:
        """The folder of one walk."""
        return Path(f"{self.all_walks}/{plain(feed)}/{plain(walk)}")

    def page(self, feed: str, walk: str, page: int) -> Path:
        """The record of one page of a walk."""
        return Path(f"{self.all_walks}/{plain(feed)}/{plain(walk)}/{page:06d}.json")

    def shelf(self, media: str) -> Path:
        """Where what is half got of a media lies, beside that of others."""
        return Path(f"{self.all_staging}/{plain(media)[:2]}")

    def staging(self, media: str, token: str) -> Path:
        """What the names of one writer's files begin with."""
        return Path(f"{self.all_staging}/{plain(media)[:2]}/{media}.{token}")

    def pieces(self, media: str) -> Path:
        """The folder of a video's plan and of its pieces."""
        return Path(f"{self.all_staging}/{plain(media)[:2]}/{media}.pieces")

    def video_plan(self, media: str, generation: int | None = None) -> Path:
        """What a video is made of: as its manifest was first read, or as this generation read it
        again."""
        name = "plan.json" if generation is None else f"plan.{generation}.json"
        return Path(f"{self.all_staging}/{plain(media)[:2]}/{media}.pieces/{name}")

    def piece(self, media: str, piece: int, layout: int = 1) -> Path:
        """One piece, as it was got. Numbers mean something within one layout only."""
        name = f"{piece:06d}" if layout == 1 else f"{piece:06d}.{layout}"
        return Path(f"{self.all_staging}/{plain(media)[:2]}/{media}.pieces/{name}")

    def dead_piece(self, media: str, piece: int, generation: int) -> Path:
        """Why one piece can't be had, in one generation."""
        name = f"{piece:06d}.{generation}.dead.json"
        return Path(f"{self.all_staging}/{plain(media)[:2]}/{media}.pieces/{name}")

    def doubted_piece(self, media: str, piece: int, layout: int, size_bytes: int) -> Path:
        """The sign that a piece of so many bytes seemed to be cut."""
        name = f"{piece:06d}.{layout}.{size_bytes}.short"
        return Path(f"{self.all_staging}/{plain(media)[:2]}/{media}.pieces/{name}")
