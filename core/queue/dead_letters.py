"""Reads, requeues and discards dead letters. Looking changes nothing: whatever is not settled goes
back where it stood."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pika.exceptions import ChannelClosedByBroker

from core.errors import Malformed
from core.model.task import NewerFormat, Task
from core.ports import Copy, Publisher
from core.queue import lanes
from core.queue.connection import opened
from core.queue.envelope import unreadable_id
from core.queue.message import decode

BATCH = 100  # letters that are reopened, published and settled together
_NOT_FOUND = 404
_ORDER_KEPT = 10_000  # unread letters: with more, their order is not worth the wait
_PATIENCE = 100  # looks at a queue that takes its letters back

Reopen = Callable[[Task], Task | None]
"""Makes a task's next generation durable and returns it; None when it is no longer dead, so that
its letter may go."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter as it lies in its queue. `task` is None when this version can't read it."""

    id: str  # the task's, or one made from an unreadable body
    source: str
    headers: dict[str, Any]  # as written at the burial: for people
    body: bytes = field(repr=False)
    task: Task | None = None
    tag: int = 0  # of its delivery, within the channel that read it

    @property
    def kind(self) -> str:
        """What the task does, or its lane did."""
        return self.task.kind.value if self.task else str(self.headers.get("kind", "?"))

    @property
    def generation(self) -> int:
        """Which life of the task ended here."""
        return self.task.generation if self.task else 0

    @property
    def reason(self) -> str:
        """The short stable word."""
        return str(self.headers.get("reason", "unknown"))

    @property
    def message(self) -> str:
        """What happened, for people."""
        return str(self.headers.get("message", ""))

    @property
    def subject(self) -> str:
        """What it was about."""
        return str(self.headers.get("subject", ""))

    def shown(self) -> Letter:
        """What a report keeps of it: without body and task, so that a million fit in memory."""
        return replace(self, body=b"", task=None)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters are meant. Empty means all."""

    ids: frozenset[str] = frozenset()
    reason: str | None = None
    kind: str | None = None

    def matches(self, letter: Letter) -> bool:
        """Every condition that is set holds."""
        return (
            (not self.ids or letter.id in self.ids)
            and self.reason in (None, letter.reason)
            and self.kind in (None, letter.kind)
        )


@dataclass(slots=True)
class Requeued:
    """What became of the letters that were meant."""

    published: list[Letter] = field(default_factory=list)  # on their lanes again
    settled: list[Letter] = field(default_factory=list)  # repeats, and tasks no longer dead: gone
    unreadable: list[Letter] = field(default_factory=list)  # left: they would only die again


def browse(url: str, source: str, limit: int | None = None) -> Iterator[Letter]:
    """The letters of a source, oldest first, at most `limit`; the same however often. Raises
    `BrokerDown`."""
    with _reading(url, source) as reading:
        yield from reading.letters(limit)


def merged(letters: Iterable[Letter]) -> list[Letter]:
    """One letter a task: the highest generation's latest stands."""
    latest: dict[str, Letter] = {}
    for letter in letters:
        known = latest.get(letter.id)
        if known is None or letter.generation >= known.generation:
            latest[letter.id] = letter
    return list(latest.values())


def requeue(
    url: str,
    source: str,
    selection: Selection,
    *,
    reopen: Reopen,
    publisher: Publisher,
    dry_run: bool = False,
) -> Requeued:
    """Give the selected tasks another life. Each: reopened durably, published, confirmed, and only
    then are its letters settled; a crash in between repeats and loses nothing.

    Bounded by the queue's depth at the start, so it ends while new letters arrive."""
    work = _Requeueing(_chosen(url, source, selection), reopen, publisher, dry_run)
    with _reading(url, source) as reading:
        batch: list[Letter] = []
        for letter in reading.letters():
            batch.append(letter)
            if len(batch) == BATCH:
                work.settle(reading, batch)
                batch = []
        work.settle(reading, batch)
    return work.report


def discard(url: str, source: str, selection: Selection, *, dry_run: bool = False) -> list[Letter]:
    """Delete the selected tasks' letters for good, unreadable ones too; which they were."""
    chosen = _chosen(url, source, selection)
    gone = []
    with _reading(url, source) as reading:
        for letter in reading.letters():
            if letter.id in chosen:
                gone.append(letter.shown())
                if not dry_run:
                    reading.settle(letter)
    return gone


_Mark = tuple[int, bytes]  # a letter's generation and its body's digest


def _mark(letter: Letter) -> _Mark:
    return letter.generation, hashlib.sha256(letter.body).digest()


def _chosen(url: str, source: str, selection: Selection) -> dict[str, _Mark]:
    """The selected tasks, each with the mark of its latest letter: an older one may carry an
    address that the post has changed since. Read first and whole, but without the bodies, so that
    a million letters fit in memory."""
    latest: dict[str, tuple[_Mark, bool]] = {}
    for letter in browse(url, source):
        mark = _mark(letter)
        if letter.id not in latest or mark[0] >= latest[letter.id][0][0]:
            latest[letter.id] = (mark, selection.matches(letter))
    return {ident: mark for ident, (mark, selected) in latest.items() if selected}


class _Requeueing:
    """One run of `requeue`. A task's latest letter carries it; its others are settled with it."""

    def __init__(
        self, chosen: dict[str, _Mark], reopen: Reopen, publisher: Publisher, dry_run: bool
    ) -> None:
        self._chosen = chosen
        self._reopen = reopen
        self._publisher = publisher
        self._dry_run = dry_run
        self._done: set[str] = set()  # ids that are published, or no longer dead
        self._waiting: dict[str, list[Letter]] = {}  # older letters, until their latest is done
        self.report = Requeued()

    def settle(self, reading: _Reading, batch: list[Letter]) -> None:
        """Reopen, publish, confirm, then acknowledge."""
        carriers = [letter for letter in batch if self._carries(letter)]
        copies = [copy for letter in carriers for copy in self._next_life(letter)]
        if not self._dry_run:
            self._publisher.publish(copies)
        done = self._done & self._waiting.keys()
        repeats = [letter for ident in done for letter in self._waiting.pop(ident)]
        self.report.settled += [letter.shown() for letter in repeats]
        if not self._dry_run:
            for letter in (*carriers, *repeats):
                reading.settle(letter)

    def _next_life(self, letter: Letter) -> list[Copy]:
        task = letter.task
        if task is not None and not self._dry_run:
            task = self._reopen(task)
        if task is None:
            self.report.settled.append(letter.shown())
            return []
        self.report.published.append(letter.shown())
        return [Copy(task)]

    def _carries(self, letter: Letter) -> bool:
        """Whether this is the letter that its task lives on from; sorts the others."""
        if letter.id not in self._chosen:
            return False
        if letter.task is None:
            self.report.unreadable.append(letter.shown())
            return False
        if letter.id in self._done or _mark(letter) != self._chosen[letter.id]:
            self._waiting.setdefault(letter.id, []).append(letter)
            return False
        self._done.add(letter.id)
        return True


class _Reading:
    """A channel that holds, unsettled, the letters it has shown."""

    def __init__(self, connection: Any, source: str) -> None:  # noqa: ANN401 - pika is untyped
        self._connection = connection
        self._source = source
        self._queue = lanes.dead(source)
        self._channel = connection.channel()
        self._shown = self._settled = 0
        try:
            self._ready = self._count()
        except ChannelClosedByBroker as error:
            if error.reply_code != _NOT_FOUND:
                raise
            self._ready = 0  # nobody has declared it yet

    def letters(self, limit: int | None = None) -> Iterator[Letter]:
        """What lay in the queue when the reading began, oldest first."""
        for _ in range(self._ready if limit is None else min(self._ready, limit)):
            method, properties, body = self._channel.basic_get(self._queue)
            if method is None:
                return
            self._shown += 1
            yield _letter(self._source, method.delivery_tag, properties, body)

    def settle(self, letter: Letter) -> None:
        """It is done with: gone from the queue."""
        self._channel.basic_ack(letter.tag)
        self._settled += 1

    def put_back(self) -> None:
        """Return the rest in its order: all in one, since a channel that just closes returns its
        messages in none (3.10), and with those not shown yet, since what was returned before
        stands behind what is returned now. And waited for, because the queue takes them a moment
        later: who lists next should find them."""
        if not self._channel.is_open:
            return
        if self._settled:
            self._await_settlements()
        if self._ready - self._shown <= _ORDER_KEPT:
            self._take_the_rest()
        if self._shown > self._settled:
            self._channel.basic_nack(0, multiple=True, requeue=True)
        for _ in range(_PATIENCE):
            if self._count() >= max(self._ready, self._shown) - self._settled:
                break
            self._connection.sleep(0.02)  # somebody else may hold them: not for ever
        self._channel.close()

    def _await_settlements(self) -> None:
        """RabbitMQ sends a quorum queue 32 acknowledgements and keeps the rest in the channel until
        the queue answers: a channel that closes before that loses them, and done letters stay. A
        get goes through the queue: its answer comes behind those to what was sent before, so what
        was kept is sent when the first is answered, and has arrived when the second is."""
        for _ in range(2):
            if self._channel.basic_get(self._queue)[0] is not None:  # somebody died meanwhile
                self._shown += 1

    def _take_the_rest(self) -> None:
        while self._shown < self._ready and self._channel.basic_get(self._queue)[0] is not None:
            self._shown += 1

    def _count(self) -> int:
        return int(self._channel.queue_declare(self._queue, passive=True).method.message_count)


@contextmanager
def _reading(url: str, source: str) -> Iterator[_Reading]:
    """A source's dead queue, read. Ended in good order, so that every settlement has arrived."""
    with opened(url, "dead letters") as connection:
        reading = _Reading(connection, source)
        try:
            yield reading
        finally:
            reading.put_back()


def _letter(source: str, tag: int, properties: Any, body: bytes) -> Letter:  # noqa: ANN401
    headers = dict(properties.headers or {})
    try:
        task: Task | None = decode(body)[1]
    except (Malformed, NewerFormat) as error:
        task = None
        headers.setdefault("message", str(error))
    ident = unreadable_id(body) if task is None else task.id
    return Letter(ident, source, headers, body, task, tag)
