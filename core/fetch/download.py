"""One file to its last byte: resumed where that is safe, counted, hashed, told by what. Never ends
well with fewer, other or more bytes than the answer promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.clock import Clock
from core.errors import EmptyBody, HeadraceError, ServerTrouble, StorageDown, TooLarge, Truncated
from core.fetch.answers import error_of
from core.fetch.deadline import Watch
from core.fetch.exchange import Answer, Exchange
from core.fetch.resume import Course, Plan, Verdict, guard_of, is_coded, judge, plan, validators_of
from core.fetch.sink import Sink
from core.model.end import Fetched
from core.model.request import Request
from core.settings import FetchSettings

_RANGE = frozenset([416])
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


@dataclass(frozen=True, slots=True)
class Downloader:
    """Downloads within one visit."""

    exchange: Exchange
    watch: Watch
    settings: FetchSettings
    clock: Clock
    free_bytes: Callable[[], int]
    max_bytes: int
    hand_over_at: float  # monotonic

    def run(self, request: Request, sink: Sink, progress: Callable[[int], None]) -> Download:
        """Fill `sink`. `progress` hears of every chunk, may raise, and then so does this."""
        url = self.exchange.credentials.without_secrets(request.url)
        asked = sink.resume(url, self.watch.check_stop)
        while True:
            with self.exchange.get(request, asked.headers, also=_RANGE) as answer:
                verdict = judge(
                    asked, answer.status, answer.headers, answer.told_bytes, sink.validators
                )
                if verdict.course is Course.REFUSE:
                    raise self._useless(answer)
                if verdict.course is Course.AGAIN:
                    sink.restart()
                elif verdict.course is Course.OVERWRITE:
                    sink.begin(validators_of(url, answer.headers, verdict.total_bytes))
                if verdict.course in (Course.APPEND, Course.OVERWRITE):
                    self._fill(sink, answer, verdict, progress)
                if verdict.course is not Course.AGAIN and _is_whole(sink):
                    return self._done(request, answer, sink)
            asked = self._next(url, sink, verdict, answer)

    def _next(self, url: str, sink: Sink, verdict: Verdict, answer: Answer) -> Plan:
        """Some servers send a range in parts: the next one, if it can be asked for safely."""
        if verdict.course is Course.AGAIN:
            return Plan()
        following = plan(sink.validators, url, sink.held)
        if following.start != sink.held:
            raise self._short(sink, answer)
        return following

    def _fill(
        self, sink: Sink, answer: Answer, verdict: Verdict, progress: Callable[[int], None]
    ) -> None:
        self._check_size(sink, answer, verdict.total_bytes or 0)
        self._check_room((verdict.total_bytes or sink.held) - sink.held)
        self._set_deadlines(sink)
        before, looked_at, ended = sink.held, sink.held, False
        try:
            for chunk in answer.chunks():
                sink.write(chunk)
                progress(len(chunk))
                self._check_count(sink, answer, verdict.total_bytes)
                if sink.held - looked_at >= _ROOM_EVERY_BYTES:
                    self._check_room(0)
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

    def _set_deadlines(self, sink: Sink) -> None:
        """Hand a long step over where a successor can go on."""
        if sink.validators is not None and guard_of(sink.validators) is not None:
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
                f"{answer.shown}: more than the {total:,} bytes it told; will start anew",
                reason="longer_than_told",
            )

    def _check_room(self, needed: int) -> None:
        free = self.free_bytes()
        if free - needed < self.settings.min_free_bytes:
            raise StorageDown(
                f"the store's disk has {free:,} bytes free: {needed:,} are needed and "
                f"{self.settings.min_free_bytes:,} stay free (fetch.min_free_bytes); make room"
            )

    def _short(self, sink: Sink, answer: Answer) -> Truncated:
        total = sink.validators.total_bytes if sink.validators else None
        return Truncated(
            f"{answer.shown}: {sink.held:,} of {total or 0:,} bytes",
            http_status=answer.status,
        )

    def _useless(self, answer: Answer) -> HeadraceError:
        """An answer to a plain request from zero that is no plain file. Decoding a coded body would
        give bytes that the source may never have had, so it is refused."""
        if is_coded(answer.headers):
            return ServerTrouble(
                f"{answer.shown}: content-coded although identity was asked for",
                reason="content_coded",
                http_status=answer.status,
            )
        if answer.status == 206:
            return ServerTrouble(
                f"{answer.shown}: a part of the file although all was asked for",
                reason="bad_range",
                http_status=answer.status,
            )
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
        return Download(fetched, sink.sha256, sink.held)


def _is_whole(sink: Sink) -> bool:
    """Whether nothing is missing, as far as a length was told."""
    total = sink.validators.total_bytes if sink.validators else None
    return total is None or sink.held == total
