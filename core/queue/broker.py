"""The broker as Dramatiq knows it: one queue, whose one consumer holds every lane. Building one
opens no connection."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Protocol, cast

from dramatiq import Actor, Broker, Message, Middleware
from dramatiq.errors import ConnectionFailed, QueueNotFound
from dramatiq.middleware import MiddlewareError
from dramatiq.worker import Worker

from core.clock import Clock
from core.errors import HeadraceError, Malformed, Misconfigured
from core.model.task import Kind, NewerFormat, parse_task
from core.ports import Copy, Publisher
from core.queue.consumer import LaneConsumer, Parts, RawDesk
from core.queue.delivery import CurrentDelivery
from core.queue.lanes import HEADRACE, lanes_of, with_shared
from core.queue.outage import Outage
from core.queue.retry import Retry, Shutdown
from core.queue.turns import Turns

logger = logging.getLogger(__name__)

MISCONFIGURED_REST_S = 30.0  # a person has to act first: no use asking every 3 s


class RabbitDesk(Publisher, RawDesk, Protocol):
    """What the RabbitMQ broker needs of its publisher."""


class NotStarted(HeadraceError, MiddlewareError):
    """A worker that must not start: Dramatiq swallows every other exception of a hook (fact 1)."""

    reason = "misconfigured"


class HeadraceBroker(Broker):
    """What both ways to run have in common. `turns` belongs to the process."""

    def __init__(
        self, turns: Turns, publisher: Publisher, retry: Retry, stop: threading.Event
    ) -> None:
        logging.getLogger("dramatiq.worker.WorkerThread").addFilter(_is_news)
        super().__init__([CurrentDelivery(), retry, Shutdown(stop), _Boot()])
        self.queues: dict[str, None] = {}
        self.turns = turns
        self.stop = stop
        self.on_boot: Callable[[], None] = lambda: None
        self.on_close: Callable[[], None] = lambda: None
        self._publisher = publisher

    def close(self) -> None:
        """The worker has ended: the process gives back what it holds."""
        self.on_close()

    def boot(self, worker: Worker) -> None:
        """Before a worker starts: learn how many threads it has. Raises `NotStarted`."""
        self.turns.start(worker.worker_threads)
        try:
            self.on_boot()
        except HeadraceError as error:
            raise NotStarted(str(error), reason=error.reason) from error

    def hand_back(self) -> None:
        """Hand nothing on any more; what is buffered goes back at once."""
        self.turns.stop()
        self.wake()

    def close_source(self, source: str) -> None:
        """A source is paused: hand on nothing of it until `open_source`; its buffered deliveries
        go back."""
        self.turns.pause(source)
        self.wake()

    def open_source(self, source: str) -> None:
        """A source is resumed. A block that its own answers brought stands."""
        self.turns.resume(source)
        self.wake()

    def unblock_source(self, source: str) -> None:
        """A person ended the block of a source or of one of its hosts."""
        self.turns.unblock(source)
        self.wake()

    def wake(self) -> None:
        """Have the consumer look at the turns soon."""
        raise NotImplementedError

    # --- Dramatiq's interface ---

    def declare_actor(self, actor: Actor[..., object]) -> None:
        """One actor a kind."""
        if actor.actor_name not in set(Kind):
            raise Misconfigured(f"actor {actor.actor_name!r} is no kind of task: {', '.join(Kind)}")
        actor.logger.setLevel(logging.INFO)  # at DEBUG Dramatiq logs arguments: signed addresses
        super().declare_actor(actor)

    def declare_queue(self, queue_name: str) -> None:
        """The one queue. Lanes are declared where they are published to and consumed."""
        if queue_name != HEADRACE:
            raise Misconfigured(f"queue {queue_name!r}: every actor's queue_name is {HEADRACE!r}")
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = None
            self.emit_after("declare_queue", queue_name)

    def get_declared_delay_queues(self) -> set[str]:
        """None: a delay waits in the broker, not in a worker's memory (fact 7)."""
        return set()

    def enqueue(self, message: Message[object], *, delay: int | None = None) -> Message[object]:
        """Publish the record that the message carries. `delay` is in milliseconds."""
        if len(message.args) != 1:
            raise Misconfigured(f"actor {message.actor_name!r} takes one argument: a task's record")
        try:
            task = parse_task(message.args[0])
        except (Malformed, NewerFormat) as error:
            raise Misconfigured(f"actor {message.actor_name!r}: {error}") from error
        self.emit_before("enqueue", message, delay)
        self._publisher.publish([Copy(task, (delay or 0) / 1000)])
        self.emit_after("enqueue", message, delay)
        return message

    def flush(self, queue_name: str) -> None:
        """Refused: open work is dropped by nobody."""
        raise NotImplementedError(f"{queue_name} is not flushed: purge a lane in the console")

    def flush_all(self) -> None:
        """Refused, as `flush`."""
        self.flush(HEADRACE)


class RabbitBroker(HeadraceBroker):
    """Every lane of RabbitMQ. `sources` maps names to their `concurrency`, None for a quarter of
    the threads."""

    def __init__(
        self,
        url: str,
        sources: Mapping[str, int | None],
        *,
        publisher: RabbitDesk,
        retry: Retry,
        stop: threading.Event,
        clock: Clock,
    ) -> None:
        super().__init__(Turns(sources, clock), publisher, retry, stop)
        self._url = url
        self._desk = publisher
        self._clock = clock
        self.rng = random.Random()  # noqa: S311 - jitter
        self._every_lane = tuple(name for owner in with_shared(sources) for name in lanes_of(owner))
        self._lanes = self._every_lane
        self._consumer: LaneConsumer | None = None
        self._outage = Outage(self.turns, retry.ask_shared_state, self.wake, stop, clock)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes that this process consumes."""
        return self._lanes

    def boot(self, worker: Worker) -> None:
        """`-Q` names lanes by patterns: `weibo.*`, `*.image`."""
        super().boot(worker)
        self._lanes = matching(self._every_lane, worker.consumer_whitelist)
        worker.consumer_whitelist = {HEADRACE}

    def wake(self) -> None:
        """Have the consumer look at the turns soon."""
        if self._consumer is not None:
            self._consumer.wake()

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> LaneConsumer:  # noqa: ARG002 - each lane has a prefetch of its own
        """The consumer of every lane. `timeout` is in milliseconds."""
        if queue_name != HEADRACE:
            raise QueueNotFound(queue_name)  # type: ignore[no-untyped-call]
        # Here: an embedded run would pay 25 ms of its start for pika.
        from core.queue.lane_channel import LaneChannel  # noqa: PLC0415

        try:
            self._consumer = LaneConsumer(
                lambda on_arrival: LaneChannel(self._url, self._lanes, on_arrival),
                Parts(self.turns, self._lanes, self._desk, self._outage, self._clock, self.rng),
                timeout_s=timeout / 1000,
            )
        except Misconfigured as error:
            logger.error("%s", error)  # noqa: TRY400 - for the operator, who has no use of a traceback
            self._clock.sleep(MISCONFIGURED_REST_S, wake=self.stop)
            raise ConnectionFailed(str(error)) from error  # type: ignore[no-untyped-call]
        return self._consumer

    def join(self, queue_name: str, *, timeout: int | None = None) -> None:
        """Refused: other processes may publish at any time."""
        raise NotImplementedError(f"{queue_name} is shared: ask `headrace status` for its depth")


class _Boot(Middleware):
    """Tells the broker of the worker before it starts."""

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        cast("HeadraceBroker", broker).boot(worker)


def _is_news(record: logging.LogRecord) -> bool:
    """Dramatiq tells every expected exception as «failed to process», waits too; the retry
    middleware says what came of it."""
    return "with expected exception" not in record.msg


def matching(lanes: tuple[str, ...], patterns: Iterable[str] | None) -> tuple[str, ...]:
    """The lanes that any of the patterns names; all without patterns. Raises `NotStarted` for a
    pattern that names none."""
    patterns = sorted(patterns or ())
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in lanes):
            raise NotStarted(f"-Q {pattern}: no lane is called so. Lanes: {', '.join(lanes)}")
    chosen = (name for name in lanes if any(fnmatchcase(name, p) for p in patterns))
    return tuple(chosen) if patterns else lanes
