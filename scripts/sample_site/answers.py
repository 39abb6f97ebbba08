"""What a correct server answers to one GET: whole, part, unchanged or out of range. Values in,
values out; no sockets."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from email.message import Message

LAST_MODIFIED = "Tue, 05 May 2026 08:00:00 GMT"  # a clone gives files new times: never theirs
_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, slots=True)
class Resource:
    """What stands at an address."""

    body: bytes
    mime: str

    @property
    def etag(self) -> str:
        """A strong validator: it changes with any byte."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:20]}"'


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and the body that a GET gets; a HEAD gets the same without it."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def answer(resource: Resource, asked: Message) -> Answer:
    """The answer to a request with the headers `asked`."""
    headers = {
        "Content-Type": resource.mime,
        "ETag": resource.etag,
        "Last-Modified": LAST_MODIFIED,
        "Accept-Ranges": "bytes",
    }
    if _is_unchanged(resource, asked):
        return Answer(304, headers=headers)
    if not _wants_part(resource, asked):
        return Answer(200, resource.body, headers)
    part = _span(asked["Range"], len(resource.body))
    if part is None:
        return Answer(200, resource.body, headers)
    size = len(resource.body)
    if not part:
        return Answer(416, headers=headers | {"Content-Range": f"bytes */{size}"})
    told = f"bytes {part.start}-{part.stop - 1}/{size}"
    body = resource.body[part.start : part.stop]
    return Answer(206, body, headers | {"Content-Range": told})


def missing(path: str) -> Answer:
    """Nothing stands there."""
    return Answer(404, f"{path}: not here\n".encode(), {"Content-Type": "text/plain"})


def _is_unchanged(resource: Resource, asked: Message) -> bool:
    if tags := asked.get("If-None-Match"):  # it wins over the date
        return tags.strip() == "*" or resource.etag in [tag.strip() for tag in tags.split(",")]
    return bool(asked.get("If-Modified-Since") == LAST_MODIFIED)


def _wants_part(resource: Resource, asked: Message) -> bool:
    """A range counts only while the file is still the one that its asker holds a part of."""
    guard = asked.get("If-Range")
    return "Range" in asked and guard in (None, resource.etag, LAST_MODIFIED)


def _span(told: str, size: int) -> range | None:
    """The bytes asked for; empty when the file has none of them, None when the header is no single
    valid range and is to be ignored."""
    match = _ONE_RANGE.fullmatch(told.strip())
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last or size) + 1, size))
