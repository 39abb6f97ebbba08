"""One file to its last byte: resumed where that is safe, counted, hashed, told by what. Never ends
well with fewer, other or more bytes than the answer promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.clock import Clock
from core.errors import (
    EmptyBody,
    HeadraceError,
    NotMedia,
    ServerTrouble,
    TooLarge,
    Truncated,
)
from core.fetch.answers import error_of
from core.fetch.deadline import Watch
from core.fetch.exchange import Answer, Exchange
from core.fetch.resume import Course, Plan, Verdict, guard_of, is_coded, judge, plan, validators_of
from core.fetch.room import Room
from core.fetch.sink import Sink
from core.fetch.types import HEAD_BYTES, name_of_other
from core.model.end import Fetched
from core.model.request import Request, Span
from core.settings import FetchSettings

_RANGE = frozenset([416])
_FROM_THE_FIRST_BYTE = frozenset([Course.OVERWRITE, Course.CUT])
_WITH_A_BODY = _FROM_THE_FIRST_BYTE | {Course.APPEND}
_PAGES = frozenset(["html", "json"])  # no segment is one of these; subtitles may be text or XML
_ROOM_EVERY_BYTES = 32 * 1024**2  # how often free space is looked at
# What can't be resumed can't be handed over either, so it may take longer than a step should; but
# with the default of 600 s it ends within the 30 min after which RabbitMQ takes a delivery back.
_UNRESUMABLE = 2.5


@dataclass(frozen=True, slots=True)
class Download:
    """A file in its partial, complete as far as HTTP can tell."""

    fetched: Fetched
    sha256: str
    size_bytes: int
    content: bytes | None = None  # of a small file that came whole just now


@dataclass(frozen=True, slots=True)
class Downloader:
    """Downloads within one visit."""

    exchange: Exchange
    watch: Watch
    settings: FetchSettings
    clock: Clock
    room: Room
    max_bytes: int
    hand_over_at: float  # monotonic

    def run(self, request: Request, sink: Sink, progress: Callable[[int], None]) -> Download:
        """Fill `sink`. `progress` hears of every chunk, may raise, and then so does this."""
        # Held bytes go on under a new address of the same thing; If-Range tells whether they may.
        url = request.identity or self.exchange.credentials.without_secrets(request.url)
        asked = sink.resume(url, self.watch.check_stop)
        while True:
            with self.exchange.get(request, asked.headers, also=_RANGE) as answer:
                verdict = judge(
                    asked, answer.status, answer.headers, answer.told_bytes, sink.validators
                )
                if verdict.course is Course.REFUSE:
                    raise self._useless(answer, sink.span)
                if verdict.course is Course.AGAIN:
                    sink.restart()
                elif verdict.course in _FROM_THE_FIRST_BYTE:
                    total = verdict.total_bytes
                    sink.begin(validators_of(url, answer.headers, total, sink.start))
                if verdict.course in _WITH_A_BODY:
                    self._fill(sink, answer, verdict, progress)
                if verdict.course is not Course.AGAIN and _is_whole(sink):
                    return self._done(request, answer, sink)
            asked = self._next(url, sink, verdict, answer)

    def _next(self, url: str, sink: Sink, verdict: Verdict, answer: Answer) -> Plan:
        """Some servers send a range in parts: the next one, if it can be asked for safely."""
        if verdict.course is Course.AGAIN:
            return Plan(span=sink.span)
        following = plan(sink.validators, url, sink.held, sink.span)
        if following.start != sink.held:
            raise self._short(sink, answer)
        return following

    def _fill(
        self, sink: Sink, answer: Answer, verdict: Verdict, progress: Callable[[int], None]
    ) -> None:
        is_cut, total = verdict.course is Course.CUT, verdict.total_bytes
        wanted = total if sink.span is None else sink.span.length
        self._check_size(sink, answer, (total if is_cut else wanted) or 0)
        self.room.check((wanted or sink.held) - sink.held)
        self._set_deadlines(sink, resumable=not is_cut)
        before, looked_at, ended = sink.held, sink.held, False
        try:
            for chunk in self._cut(sink, answer) if is_cut else answer.chunks():
                sink.write(chunk)
                progress(len(chunk))
                self._check_count(sink, answer, wanted)
                if sink.held - looked_at >= _ROOM_EVERY_BYTES:
                    self.room.check()
                    looked_at = sink.held
            ended = True
        finally:
            if not ended or not _is_whole(sink):
                sink.keep()
        if sink.held == 0:
            sink.restart()
            raise EmptyBody(
                f"{answer.shown}: status {answer.status} without a byte",
                http_status=answer.status,
            )
        if sink.held == before:
            raise self._short(sink, answer)

    def _cut(self, sink: Sink, answer: Answer) -> Iterator[bytes]:
        """The span's bytes out of the whole file, and nothing of the chunks around it. It is read
        to its end: only a file that came whole shows that its bytes stand where they should."""
        assert sink.span is not None  # noqa: S101 - the verdict says so
        span, head, place = sink.span, b"", 0
        for chunk in answer.chunks():
            head += chunk[: HEAD_BYTES - len(head)]
            yield chunk[max(0, span.start - place) : max(0, span.end - place)]
            place += len(chunk)
            self._check_size(sink, answer, place)
        if place < span.end:
            sink.restart()
            raise _too_short(answer, place, span)
        if name_of_other(head) in _PAGES:
            sink.restart()
            raise NotMedia(
                f"{answer.shown}: {name_of_other(head)} instead of a file of which {span} were "
                "asked for",
                reason=f"{name_of_other(head)}_instead_of_media",
                http_status=answer.status,
            )

    def _set_deadlines(self, sink: Sink, *, resumable: bool) -> None:
        """Hand a long step over where a successor can go on."""
        held = sink.validators if resumable else None
        if held is not None and guard_of(held) is not None:
            self.watch.limit(self.settings.total_s, self.hand_over_at)
        else:
            longest = self.settings.hand_over_s * _UNRESUMABLE
            self.watch.limit(min(self.settings.total_s, longest), None)

    def _check_size(self, sink: Sink, answer: Answer, size_bytes: int) -> None:
        if size_bytes > self.max_bytes:
            sink.restart()
            raise TooLarge(
                f"{answer.shown}: over the cap of {self.max_bytes:,} bytes; "
                "max_file_bytes of its source would allow more"
            )

    def _check_count(self, sink: Sink, answer: Answer, total: int | None) -> None:
        self._check_size(sink, answer, sink.held)
        if total is not None and sink.held > total:
            sink.restart()
            raise ServerTrouble(
                f"{answer.shown}: more than the {total:,} bytes it told",
                reason="longer_than_told",
            )

    def _short(self, sink: Sink, answer: Answer) -> Truncated:
        return Truncated(
            f"{answer.shown}: {sink.held:,} of {sink.wanted_bytes or 0:,} bytes",
            http_status=answer.status,
        )

    def _useless(self, answer: Answer, span: Span | None) -> HeadraceError:
        """An answer to a request from the first byte on that is not what was asked for. Decoding a
        coded body would give bytes that the source may never have had, so it is refused."""
        if is_coded(answer.headers):
            return ServerTrouble(
                f"{answer.shown}: content-coded although identity was asked for",
                reason="content_coded",
                http_status=answer.status,
            )
        if answer.status == 206:
            asked_for = "all was" if span is None else f"{span} were"
            return _bad_range(answer, f"another part of the file, {asked_for} asked for")
        if span is not None and answer.status < 300:
            return _too_short(answer, answer.told_bytes or 0, span)
        return error_of(answer.status, answer.headers, answer.shown, self.clock.now())

    def _done(self, request: Request, answer: Answer, sink: Sink) -> Download:
        told = answer.headers if answer.status != 416 else {}
        held = sink.validators
        fetched = Fetched(
            requested_url=self.exchange.show(request.url),
            final_url=answer.shown,
            redirects=answer.redirects,
            status=answer.status,
            at=self.clock.now(),
            etag=answer.headers.get("ETag", held.etag if held else None),
            last_modified=answer.headers.get("Last-Modified", held.last_modified if held else None),
            type_told=told.get("Content-Type"),
            resumed=sink.resumed,
        )
        return Download(fetched, sink.sha256, sink.held, sink.content)


def _too_short(answer: Answer, size_bytes: int, span: Span) -> ServerTrouble:
    return _bad_range(answer, f"a file of {size_bytes:,} bytes, {span} were asked for")


def _bad_range(answer: Answer, what: str) -> ServerTrouble:
    return ServerTrouble(f"{answer.shown}: {what}", reason="bad_range", http_status=answer.status)


def _is_whole(sink: Sink) -> bool:
    """Whether nothing is missing, as far as a length was told."""
    return sink.wanted_bytes is None or sink.held == sink.wanted_bytes
