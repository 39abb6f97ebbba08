"""The publisher thread: one callback connection with confirms, made when somebody needs it and made
again with backoff. All its state belongs to that thread; others only hand it jobs."""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pika
from pika.adapters.select_connection import IOLoop
from pika.exceptions import ChannelClosedByBroker

from core.clock import Clock
from core.errors import BrokerDown, HeadraceError, Misconfigured
from core.queue import topology
from core.queue.confirms import Confirms, Job, Window
from core.queue.connection import address, parameters
from core.queue.depth import Probe

logger = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0


class Link:
    """One thread, one connection. Started at once, connected at the first job."""

    def __init__(
        self, url: str, sources: Iterable[str], clock: Clock, *, patience_s: float
    ) -> None:
        self._url = url
        self._sources = tuple(sources)
        self._clock = clock
        self._patience_s = patience_s
        self._inbox: deque[Window | Probe] = deque()
        self._confirms = Confirms()
        self._probes: list[Probe] = []
        self._connection: Any = None  # while it is opening, open or closing
        self._channel: Any = None  # while everything is declared and messages may go out
        self._counting: Any = None  # the channel for probes: a missing queue closes it
        self._reason: HeadraceError | None = None  # why we closed the connection ourselves
        self._failures = 0
        self._appointment: Any = None  # the timer of the next attempt
        self._blocked = False
        self._closing = False
        self._loop = IOLoop()
        self._thread = threading.Thread(target=self._run, name="headrace-publisher", daemon=True)
        self._thread.start()

    # --- from any thread ---

    @property
    def is_alive(self) -> bool:
        """Whether jobs are still taken."""
        return self._thread.is_alive() and not self._closing

    def submit(self, job: Window | Probe) -> None:
        """Take a job; its `ended` is set when it is done or has failed."""
        self._inbox.append(job)
        self._loop.add_callback_threadsafe(self._read_inbox)
        if self._closing:  # the thread may have looked into its inbox for the last time
            job.fail(self._closed())

    def abandon(self, job: Job) -> None:
        """Nobody waits for it any more: a connection that leaves messages unconfirmed for so long
        is made anew, since its tags would stay taken."""
        self._loop.add_callback_threadsafe(partial(self._drop_if_stuck, job))

    def close(self) -> None:
        """Close in good order; what waits fails. The thread is gone afterwards."""
        self._loop.add_callback_threadsafe(self._close)
        self._thread.join(timeout=10.0)

    # --- the thread ---

    def _run(self) -> None:
        try:
            self._loop.start()
            self._loop.close()
        finally:
            self._closing = True
            for job in [*self._inbox, *self._probes]:
                job.fail(self._closed())
            self._confirms.lost(self._closed())
            self._confirms.give_up(self._closed())

    def _closed(self) -> BrokerDown:
        return BrokerDown(f"the publisher to {address(self._url)} was closed before a confirm")

    def _read_inbox(self) -> None:
        while self._inbox and not self._closing:
            self._accept(self._inbox.popleft())

    def _accept(self, job: Window | Probe) -> None:
        if isinstance(job, Window):
            self._confirms.add(job)
        else:
            self._probes.append(job)
        if self._channel is None:
            self._connect_soon()
        elif isinstance(job, Window):
            self._pump()
        else:
            self._ask(job)

    def _connect_soon(self) -> None:
        if self._connection is not None or self._appointment is not None:
            return
        if self._failures == 0:
            self._connect()
            return
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (self._failures - 1))
        pause_s *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads the workers, guards nothing
        self._appointment = self._loop.call_later(pause_s, self._connect)

    def _connect(self) -> None:
        self._appointment = None
        try:
            given = parameters(self._url, "publisher")
        except Misconfigured as error:
            self._down(error)
            return
        self._connection = pika.SelectConnection(
            given,
            on_open_callback=self._on_open,
            on_open_error_callback=lambda _connection, error: self._on_end(error),
            on_close_callback=lambda _connection, error: self._on_end(error),
            custom_ioloop=self._loop,
        )

    def _on_open(self, connection: Any) -> None:  # noqa: ANN401 - pika is untyped
        connection.add_on_connection_blocked_callback(lambda *_: self._block(True))
        connection.add_on_connection_unblocked_callback(lambda *_: self._block(False))
        connection.channel(on_open_callback=self._on_channel)

    def _on_channel(self, channel: Any) -> None:  # noqa: ANN401 - pika is untyped
        channel.add_on_close_callback(self._on_channel_end)
        channel.add_on_return_callback(self._on_return)
        channel.confirm_delivery(self._on_confirm)
        topology.declare_soon(channel, self._sources, partial(self._ready, channel))

    def _ready(self, channel: Any) -> None:  # noqa: ANN401 - pika is untyped
        if self._failures:
            logger.info("RabbitMQ at %s: connected again", address(self._url))
        self._channel = channel
        self._failures = 0
        self._pump()
        self._connection.channel(on_open_callback=self._on_counting)

    def _pump(self) -> None:
        if self._blocked or self._channel is None:
            return
        for message in self._confirms.to_send():
            self._channel.basic_publish(
                message.exchange,
                message.routing_key,
                message.body,
                message.properties,
                mandatory=True,
            )

    def _on_confirm(self, frame: Any) -> None:  # noqa: ANN401 - pika is untyped
        method = frame.method
        settle: Callable[..., None] = (
            self._confirms.confirm if method.NAME == "Basic.Ack" else self._confirms.refuse
        )
        settle(method.delivery_tag, multiple=method.multiple)
        self._pump()

    def _on_return(self, channel: Any, method: Any, *_: object) -> None:  # noqa: ANN401
        self._confirms.returned(method.exchange, method.routing_key)
        topology.declare_soon(channel, self._sources, lambda: None)

    def _block(self, blocked: bool) -> None:
        self._blocked = blocked
        if blocked:
            logger.warning(
                "RabbitMQ at %s takes no messages just now (memory or disk alarm)",
                address(self._url),
            )
        self._pump()

    # --- counting ---

    def _on_counting(self, channel: Any) -> None:  # noqa: ANN401 - pika is untyped
        channel.add_on_close_callback(self._on_counting_end)
        self._counting = channel
        self._forget_ended_probes()
        for probe in self._probes:
            probe.ask(channel)

    def _forget_ended_probes(self) -> None:
        self._probes = [probe for probe in self._probes if not probe.ended.is_set()]

    def _ask(self, probe: Probe) -> None:
        self._forget_ended_probes()
        if self._counting is not None:
            probe.ask(self._counting)

    def _on_counting_end(self, _channel: Any, reason: BaseException) -> None:  # noqa: ANN401
        self._counting = None
        if self._channel is None or not self._connection.is_open:
            return
        self._fail_probes(topology.explain(reason, self._url))
        if isinstance(reason, ChannelClosedByBroker):
            # Counting waits for the declares: one channel may overtake another (4.3 does).
            topology.declare_soon(self._channel, self._sources, self._count_again)

    def _count_again(self) -> None:
        if self._channel is not None:
            self._connection.channel(on_open_callback=self._on_counting)

    # --- the end of a connection ---

    def _on_channel_end(self, _channel: Any, reason: BaseException) -> None:  # noqa: ANN401
        if self._connection is not None and self._connection.is_open:
            self._hang_up(topology.explain(reason, self._url))

    def _drop_if_stuck(self, job: Job) -> None:
        if self._confirms.holds(job) and self._connection is not None and self._connection.is_open:
            self._hang_up(BrokerDown(f"RabbitMQ at {address(self._url)} does not confirm"))

    def _hang_up(self, reason: HeadraceError) -> None:
        self._reason = reason
        self._channel = None
        self._connection.close()

    def _on_end(self, error: BaseException) -> None:
        reason = self._reason or topology.explain(error, self._url)
        self._connection = self._channel = self._counting = self._reason = None
        self._blocked = False
        if self._closing:
            self._loop.stop()
        else:
            self._down(reason)

    def _down(self, error: HeadraceError) -> None:
        """What was sent fails; what was not waits for a while for the next connection, unless only
        a person can help."""
        self._failures += 1
        self._confirms.lost(error)
        hopeless = isinstance(error, Misconfigured)
        too_long = float("inf") if hopeless else self._clock.monotonic() - self._patience_s
        self._confirms.give_up(error, submitted_before=too_long)
        self._fail_probes(error)
        if self._confirms.waiting:  # who does not wait is told by the exception
            logger.log(logging.DEBUG if self._failures > 1 else logging.WARNING, "%s", error)
            self._connect_soon()

    def _fail_probes(self, error: HeadraceError) -> None:
        for probe in self._probes:
            probe.fail(error)
        self._probes.clear()

    def _close(self) -> None:
        self._closing = True
        if self._connection is None:
            self._loop.stop()
        elif not self._connection.is_closing:
            self._connection.close()
