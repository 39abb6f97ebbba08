"""Deadlines that hold for headers and bodies alike, however they drip: sockets that ask a watch at
every read. Nothing above them (http.client, urllib3) can wait longer than the watch allows."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

from core.clock import Clock
from core.errors import Released, Timeout
from core.settings import FetchSettings

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SLICE_S = 0.5  # how soon a blocked read learns of a shutdown
_BUFFER_BYTES = 64 * 1024  # a small image comes with its headers in one read, where 8 KB took two


class Watch:
    """The time that one thread's requests have: connect, idle and total deadlines, a minimum rate,
    a hand-over of long steps, and the process's stop. Reused from request to request."""

    def __init__(self, settings: FetchSettings, clock: Clock, stop: threading.Event) -> None:
        self.connect_s = settings.connect_s
        self.slice_s = min(_SLICE_S, settings.idle_s / 2)
        self._settings = settings
        self._clock = clock
        self._stop = stop
        self.begin(settings.total_s)

    def begin(self, total_s: float) -> None:
        """A request goes out."""
        now = self._clock.monotonic()
        self._begun_at = self._last_at = self._window_at = now
        self._window_bytes = 0
        self.limit(total_s, None)

    def limit(self, total_s: float, hand_over_at: float | None) -> None:
        """The total deadline from the request's beginning, and when (monotonic) its step is handed
        back, if it may be."""
        self._total_s = total_s
        self._hand_over_at = hand_over_at

    def received(self, size_bytes: int) -> None:
        """Some bytes came."""
        now = self._last_at = self._clock.monotonic()
        self._window_bytes += size_bytes
        self._check(now)

    def waited(self) -> None:
        """Nothing came for a slice."""
        now = self._clock.monotonic()
        self._check(now)
        if now - self._last_at >= self._settings.idle_s:
            raise Timeout(f"no byte for {self._settings.idle_s:g} s")

    def check_stop(self) -> None:
        """For long work without reads."""
        if self._stop.is_set():
            raise Released("this worker is shutting down; another goes on from here")

    def _check(self, now: float) -> None:
        self.check_stop()
        if self._hand_over_at is not None and now >= self._hand_over_at:
            raise Released(
                f"a step of over {self._settings.hand_over_s:g} s is handed back, with what it has"
            )
        if now - self._begun_at >= self._total_s:
            raise Timeout(f"not done within {self._total_s:g} s")
        if now - self._window_at >= self._settings.min_rate_window_s:
            self._check_rate(now)

    def _check_rate(self, now: float) -> None:
        """The mean over consecutive windows: a burst in one does not pay for the next."""
        rate = self._window_bytes / (now - self._window_at)
        if rate < self._settings.min_bytes_per_s:
            raise Timeout(
                f"only {rate:,.0f} bytes/s, under the minimum of "
                f"{self._settings.min_bytes_per_s:,.0f}",
                reason="too_slow",
            )
        self._window_at, self._window_bytes = now, 0


class _Frugal(socket.socket):
    """A socket that spares system calls."""

    def makefile(self, mode: Any = "r", buffering: Any = None, **more: Any) -> Any:  # noqa: ANN401 - as in the library
        """With a larger buffer, where nobody asks for another."""
        return super().makefile(mode, _BUFFER_BYTES if buffering is None else buffering, **more)

    def settimeout(self, value: float | None) -> None:
        """Nothing, where that is the timeout already: urllib3 sets it twice a request."""
        if value != self.gettimeout():
            super().settimeout(value)


class WatchedSocket(_Frugal):
    """A TCP socket whose reads obey a watch. Its own timeout is only the slice between looks."""

    watch: Watch | None = None

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> int:
        """Read what is there, asking the watch before waiting on."""
        while True:
            try:
                count = super().recv_into(buffer, nbytes, flags)
            except TimeoutError:
                if self.watch is None:
                    raise
                self.watch.waited()
            else:
                if self.watch is not None:
                    self.watch.received(count)
                return count


class WatchedTLSSocket(_Frugal, ssl.SSLSocket):
    """The same over TLS. OpenSSL keeps a half read record, so a slice may end within one."""

    watch: Watch | None = None

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        """Read what is there, asking the watch before waiting on."""
        while True:
            try:
                count = super().recv_into(buffer, nbytes, flags)
            except TimeoutError:
                if self.watch is None:
                    raise
                self.watch.waited()
            else:
                if self.watch is not None:
                    self.watch.received(count)
                return count
