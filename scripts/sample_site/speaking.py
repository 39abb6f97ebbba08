"""What the three named sources of the sample site have alike: how they are asked, what happens only
once, addresses that die, files that not everybody gets."""

from __future__ import annotations

import json
import mimetypes
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from scripts.sample_site.answers import Answer, Resource, answer

GUARDED = Path(__file__).parent / "guarded"
LIVES_S = 3600  # an address from the start of the site on
RETRY_AFTER_S = 1  # a source that throttles asks for so long a rest
_SECRET = "of the sample site"
_MIMES = {".m4s": "video/mp4", ".flv": "video/x-flv", ".mov": "video/quicktime"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    query: Mapping[str, str]
    headers: Message

    @classmethod
    def of(cls, target: str, headers: Message) -> Asked:
        """What a request line names, with its headers."""
        parts = urlsplit(target)
        return cls(parts.path, dict(parse_qsl(parts.query)), headers)


class Speaker(Protocol):
    """A part of the site that speaks one source's protocol."""

    def answer(self, asked: Asked) -> Answer | None:
        """None for an address that is not this part's."""

    def begin_anew(self) -> None:
        """What happened once happens once more."""


@dataclass(slots=True)
class Once:
    """True the first time that a name is told, and never again until it is forgotten."""

    _told: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, name: str) -> bool:
        with self._lock:
            is_first = name not in self._told
            self._told.add(name)
            return is_first

    def forget(self) -> None:
        """Every name is new again."""
        with self._lock:
            self._told.clear()


@dataclass(frozen=True, slots=True)
class Tickets:
    """Addresses that tell themselves when they die, signed so that nobody makes one longer."""

    expiry: str  # the parameter with the time
    signature: str  # the one that signs it
    started_at: float  # Unix time; so an address is the same however often it is given
    in_hexadecimal: bool = False

    def sign(self, url: str, *, is_dead: bool = False) -> str:
        """`url` with a ticket; a dead one is what caches give out."""
        dies_at = int(self.started_at) + (-LIVES_S if is_dead else LIVES_S)
        told = f"{dies_at:X}" if self.in_hexadecimal else str(dies_at)
        signed = {self.signature: self._signature(urlsplit(url).path, told), self.expiry: told}
        return f"{url}?{urlencode(signed)}"

    def opens(self, asked: Asked) -> bool:
        """Whether the request has a ticket of ours that still lives."""
        told = asked.query.get(self.expiry, "")
        if asked.query.get(self.signature) != self._signature(asked.path, told):
            return False
        return int(told, 16 if self.in_hexadecimal else 10) > time.time()

    def _signature(self, path: str, told: str) -> str:
        return Resource(f"{path} {told} {_SECRET}".encode(), "").etag.strip('"')


class Speaking:
    """What every speaker begins with: the site's address, its source's own files, addresses that
    die, and what happens once."""

    def __init__(self, source: str, address: str, tickets: Tickets) -> None:
        self._address = address
        self._files = files_of(source)
        self._tickets = tickets
        self._once = Once()

    def begin_anew(self) -> None:
        self._once.forget()


def files_of(source: str) -> dict[str, Resource]:
    """A source's own files, by their names."""
    return {
        file.name: Resource(file.read_bytes(), _mime(file))
        for file in sorted((GUARDED / source).iterdir())
    }


def file_answer(files: Mapping[str, Resource], asked: Asked) -> Answer:
    """One of them, whole or in part."""
    found = files.get(asked.path.rpartition("/")[2])
    return answer(found, asked.headers) if found else refused(404, "not here")


def told(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    body = json.dumps(value, ensure_ascii=False).encode()
    mime = {"Content-Type": "application/json; charset=utf-8"}
    return Answer(status, body, mime | dict(headers or {}))


def refused(status: int, words: str) -> Answer:
    """An answer in words."""
    return Answer(status, f"{words}\n".encode(), {"Content-Type": "text/plain"})


def throttled() -> Answer:
    """«Slower, please», as HTTP says it."""
    reply = refused(429, "slower")
    return Answer(reply.status, reply.body, reply.headers | {"Retry-After": str(RETRY_AFTER_S)})


def _mime(file: Path) -> str:
    guess = _MIMES.get(file.suffix) or mimetypes.guess_type(file.name)[0]
    return guess or "application/octet-stream"
