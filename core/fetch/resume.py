"""Whether held bytes and an answer belong to one file. Pure: no I/O here.

Held bytes are continued only under If-Range with a strong validator. Without one no server can say
that the file is still the same, and equal sizes prove nothing about bytes, so we start from zero;
except where all bytes are held already: those came whole with one version, and «416, */N» confirms
that nothing is missing.

A span is taken from a 206 of just that range, or cut out of a whole file that holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.fetch.answers import http_date
from core.model.partial import Validators
from core.model.request import Span

_STRONG = re.compile(r'"[^"]*"')
_SPAN = re.compile(r"bytes\s+(\d+)-(\d+)/(\d+|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes\s+\*/(\d+)", re.IGNORECASE)
_CODINGS = frozenset(["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"])
_DATE_MARGIN_S = 60.0  # a file may change twice within the second that Last-Modified can tell


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask for: the file, or a span of it, less its first `start` bytes."""

    start: int = 0
    guard: str | None = None  # for If-Range
    span: Span | None = None

    @property
    def first(self) -> int:
        """The first byte to ask for, counted from the file's beginning."""
        return self.start if self.span is None else self.span.start + self.start

    @property
    def headers(self) -> dict[str, str]:
        """Identity always: a coded answer's bytes and ranges are not the file's."""
        headers = {"Accept-Encoding": "identity"}
        if self.span is not None:
            headers["Range"] = f"bytes={self.first}-{self.span.end - 1}"
        elif self.start:
            headers["Range"] = f"bytes={self.start}-"
        if self.guard is not None:
            headers["If-Range"] = self.guard
        return headers


class Course(StrEnum):
    """What to do with an answer."""

    APPEND = "append"
    OVERWRITE = "overwrite"  # its body is the file from the first byte
    CUT = "cut"  # its body is the whole file, of which a span was asked for
    COMPLETE = "complete"  # all bytes are held
    AGAIN = "again"  # useless as it is: ask from zero
    REFUSE = "refuse"  # asked from zero, and still no plain file


@dataclass(frozen=True, slots=True)
class Verdict:
    """The course, and how long the whole file is, as far as the answer tells."""

    course: Course
    total_bytes: int | None = None


def plan(validators: Validators | None, url: str, held: int, span: Span | None = None) -> Plan:
    """How to go on from `held` bytes of the answer that `validators` remembers."""
    start = 0 if span is None else span.start
    if validators is None or not held or (validators.url, validators.start) != (url, start):
        return Plan(span=span)
    guard = guard_of(validators)
    if span is not None:
        # Of a span that is held whole no byte is left to ask for, and so nobody to confirm it.
        goes_on = guard is not None and held < span.length
        return Plan(held, guard, span) if goes_on else Plan(span=span)
    total = validators.total_bytes
    if total is not None and held > total:
        return Plan()  # longer than told: whatever it is, it is not that file
    if guard is None and held != total:
        return Plan()
    return Plan(held, guard)


def guard_of(validators: Validators) -> str | None:
    """What may stand in If-Range: a strong ETag, else a date that was kept because it is safe."""
    if validators.etag is not None:
        return validators.etag if _STRONG.fullmatch(validators.etag) else None
    return validators.last_modified


def validators_of(
    url: str, headers: Mapping[str, str], total: int | None, start: int = 0
) -> Validators:
    """What to remember of an answer. A Last-Modified too close to Date can't guard a resume and is
    left out."""
    return Validators(
        url=url,
        etag=headers.get("ETag"),
        last_modified=_safe_date(headers),
        total_bytes=total,
        start=start,
    )


def _safe_date(headers: Mapping[str, str]) -> str | None:
    modified = headers.get("Last-Modified")
    if modified is None:
        return None
    changed_at, answered_at = http_date(modified), http_date(headers.get("Date", ""))
    if changed_at is None or answered_at is None:
        return None
    return modified if answered_at - changed_at >= _DATE_MARGIN_S else None


def judge(
    asked: Plan,
    status: int,
    headers: Mapping[str, str],
    told_bytes: int | None,
    held: Validators | None,
) -> Verdict:
    """What an answer to `asked` is good for. `told_bytes` is its body's length by its header."""
    otherwise = Verdict(Course.AGAIN if asked.start else Course.REFUSE)
    if is_coded(headers):
        return otherwise
    if status == 416:
        return _unsatisfied(asked, headers, held) or otherwise
    if status == 206:
        return _part(asked, headers, told_bytes, held) or otherwise
    if asked.span is None:
        return Verdict(Course.OVERWRITE, told_bytes)
    if told_bytes is not None and told_bytes < asked.span.end:
        return otherwise
    return Verdict(Course.CUT, told_bytes)


def is_coded(headers: Mapping[str, str]) -> bool:
    """Whether the body is compressed for transport."""
    codings = headers.get("Content-Encoding", "").lower().split(",")
    return any(coding.strip() in _CODINGS for coding in codings)


def _unsatisfied(
    asked: Plan, headers: Mapping[str, str], held: Validators | None
) -> Verdict | None:
    """A 416 that names just the size that we hold: nothing is missing."""
    match = _UNSATISFIED.fullmatch(headers.get("Content-Range", "").strip())
    if match is None or not asked.start or int(match[1]) != asked.start or asked.span:
        return None
    if _changed(held, headers) or _resized(held, asked.start):
        return None
    return Verdict(Course.COMPLETE, asked.start)


def _part(
    asked: Plan, headers: Mapping[str, str], told_bytes: int | None, held: Validators | None
) -> Verdict | None:
    """A 206 that goes on just where we stopped, in the same file."""
    match = _SPAN.fullmatch(headers.get("Content-Range", "").strip())
    if match is None:
        return None  # multipart, or no range at all
    first, last = int(match[1]), int(match[2])
    total = None if match[3] == "*" else int(match[3])
    if first != asked.first or last < first or (total is not None and last >= total):
        return None
    other_end = asked.span is not None and last != asked.span.end - 1
    if other_end or (told_bytes is not None and told_bytes != last - first + 1):
        return None
    if not asked.start:
        return Verdict(Course.OVERWRITE, total)
    if _changed(held, headers) or _resized(held, total):
        return None
    return Verdict(Course.APPEND, total or (held.total_bytes if held else None))


def _changed(held: Validators | None, headers: Mapping[str, str]) -> bool:
    """Whether an answer names another version than the held bytes'. Servers that ignore If-Range
    are caught here."""
    if held is None:
        return False
    etag, modified = headers.get("ETag"), headers.get("Last-Modified")
    if etag is not None and held.etag is not None:
        return etag != held.etag
    return None not in (modified, held.last_modified) and modified != held.last_modified


def _resized(held: Validators | None, total: int | None) -> bool:
    before = held.total_bytes if held else None
    return None not in (before, total) and before != total
