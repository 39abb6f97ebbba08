"""Publishes to RabbitMQ for the whole process: callers hand over a window and wait until all of it
is confirmed. Connects at first use, through one thread."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from types import TracebackType

from core.clock import Clock
from core.errors import BrokerDown, Misconfigured
from core.model.task import Kind
from core.ports import Copy, DeadLetter
from core.queue import envelope, lanes
from core.queue.confirms import Window
from core.queue.depth import Probe
from core.queue.envelope import Outgoing
from core.queue.link import Link


class RabbitPublisher:
    """`ports.Publisher` and `ports.Depths` on RabbitMQ; the consumer's raw bodies besides.

    `patience_s`: how long a window that was not sent yet waits for a connection (0: one attempt).
    `confirm_s`: how long a caller waits altogether."""

    _lock: threading.Lock
    _link: Link | None

    def __init__(
        self,
        url: str,
        sources: Iterable[str],
        clock: Clock,
        *,
        patience_s: float = 10.0,
        confirm_s: float = 60.0,
    ) -> None:
        self._url = url
        self._sources = frozenset(sources)
        self._clock = clock
        self._patience_s = patience_s
        self._confirm_s = confirm_s
        self._start_afresh()
        _start_afresh_after_fork(self)

    def __enter__(self) -> RabbitPublisher:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- ports.Publisher ---

    def publish(self, window: Sequence[Copy]) -> None:
        now = self._clock.now()
        self._check_sources(copy.task.source for copy in window)
        self._send([envelope.for_copy(copy, now) for copy in window])

    def bury(self, letter: DeadLetter) -> None:
        self._check_sources([letter.task.source])
        self._send([envelope.for_letter(letter, self._clock.now())])

    # --- for the consumer ---

    def bury_raw(self, lane: str, body: bytes, reason: str, message: str) -> None:
        """Put a body that can't be read, as it came, into the dead queue of its lane's source."""
        now = self._clock.now()
        self._send([envelope.for_unreadable(lane, body, reason, message, now)])

    def delay_raw(self, lane: str, body: bytes, seconds: float) -> None:
        """Let a body of a newer format rest and come back to its lane."""
        self._send([envelope.for_rest(lane, body, seconds, self._clock.now())])

    # --- ports.Depths ---

    def ready(self, source: str, *kinds: Kind) -> int:
        self._check_sources([source])
        names = [lanes.lane(source, kind) for kind in kinds] or lanes.lanes_of(source)
        # Asked each time: on an answer a second old many pages would pass the high-water mark.
        probe = Probe(names, self._clock.monotonic())
        self._wait(probe)
        return probe.ready

    def close(self) -> None:
        """End the thread and its connection; whoever publishes afterwards starts another."""
        with self._lock:
            link, self._link = self._link, None
        if link is not None:
            link.close()

    def _check_sources(self, sources: Iterable[str]) -> None:
        """A lane that nobody declared would not only lose its message: one delayed on its way
        there would freeze the delays of every source."""
        for source in sources:
            if source not in self._sources:
                raise Misconfigured(
                    f"source {source!r} has no lanes: add [sources.{source}] to the settings of "
                    "this process",
                    reason="unknown_source",
                )

    def _send(self, messages: Sequence[Outgoing]) -> None:
        if messages:
            self._wait(Window(messages, self._clock.monotonic()))

    def _wait(self, job: Window | Probe) -> None:
        link = self._connected_link()
        link.submit(job)
        if not self._clock.sleep(self._confirm_s, job.ended):
            job.fail(
                BrokerDown(
                    f"RabbitMQ did not confirm within {self._confirm_s:.0f} s; publishing again "
                    "is harmless",
                    reason="no_confirm",
                )
            )
            link.abandon(job)
        job.result()

    def _connected_link(self) -> Link:
        with self._lock:
            if self._link is None or not self._link.is_alive:
                self._link = Link(
                    self._url, self._sources, self._clock, patience_s=self._patience_s
                )
            return self._link

    def _start_afresh(self) -> None:
        """No thread, no connection. Also in a forked child, where the parent's thread does not
        exist and its lock may be taken for ever; its connection is left alone."""
        self._lock = threading.Lock()
        self._link = None


def _start_afresh_after_fork(publisher: RabbitPublisher) -> None:
    known = weakref.ref(publisher)

    def in_child() -> None:
        if (living := known()) is not None:
            living._start_afresh()  # noqa: SLF001 - of this file

    os.register_at_fork(after_in_child=in_child)
