"""The ledger of a single process: a dict and a lock. The same rules as task.lua and its scripts;
one contract suite holds both."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from dataclasses import dataclass

from core.clock import Clock
from core.ledger.joins import Joins
from core.ledger.record import (
    KEPT_US,
    SECOND_US,
    counted_under,
    leased,
    merged,
    not_before_us,
    open_work,
    places,
)
from core.model.task import Task
from core.ports import Early, Held, Lease, OpenWork, Superseded, Vanished

_SWEPT_FROM = 1024  # entries: below it nobody minds those that were left over


@dataclass(slots=True)
class _Entry:
    """What is known of one task."""

    generation: int
    serial: int  # the highest that was published
    attempts: int = 0
    crashes: int = 0
    cleared: int = 0  # of the crashes, those before the last progress
    not_before: int | None = None
    token: str | None = None
    lease_until: int = 0
    expires_at: int = 0

    def absorb(self, task: Task) -> None:
        """Take in a copy's counts: the larger ones. A newer copy's crashes leave the cleared ones
        out already."""
        self.attempts = max(self.attempts, task.attempts)
        if task.serial > self.serial:
            self.crashes, self.cleared = self.standing_crashes, 0
            self.serial = task.serial
        self.crashes = max(self.crashes, task.crashes)

    @property
    def standing_crashes(self) -> int:
        """Those since the last progress."""
        return max(0, self.crashes - self.cleared)

    def lease(self, token: str, now: int, lease_us: int) -> None:
        """Hold it from now."""
        self.token, self.lease_until = token, now + lease_us
        self.expires_at = self.lease_until + KEPT_US


class MemoryLedger:
    """Implements `core.ports.Ledger`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sweep_at = _SWEPT_FROM
        self.clear()

    def clear(self) -> None:
        """Forget everything, as a flush of the shared one does."""
        with self._lock:
            self._entries: dict[str, _Entry] = {}
            self._joins = Joins()
            self._leased: dict[str, dict[str, int]] = defaultdict(dict)
            self._delayed: dict[str, dict[str, int]] = defaultdict(dict)

    def begin(self, task: Task, *, lease_s: float) -> Lease | Held | Early | Superseded | Vanished:
        with self._lock:
            now = self._now()
            entry = self._current(task)
            if entry and (task.generation, task.serial) < (entry.generation, entry.serial):
                return Superseded()
            not_before = _not_before(task, entry)
            if not_before > now:
                self._delayed[counted_under(task)][task.id] = not_before  # a flush may have lost it
                return Early((not_before - now) / SECOND_US)
            if entry and entry.lease_until > now:
                return Held((entry.lease_until - now) / SECOND_US)
            if entry and entry.token is not None and task.serial == entry.serial:
                entry.absorb(task)
                return Vanished(merged(task, entry.attempts, entry.standing_crashes))
            return self._lease(task, entry or self._add(task), lease_s)

    def renew(self, task: Task, token: str, *, lease_s: float, progress: bool = False) -> bool:
        with self._lock:
            entry = self._current(task)
            if entry and (entry.generation > task.generation or entry.token not in (None, token)):
                return False
            if entry is None:
                entry = self._add(task)
                entry.absorb(task)
            if progress:
                entry.cleared = entry.crashes
            entry.lease(token, self._now(), round(lease_s * SECOND_US))
            self._leased[counted_under(task)][task.id] = entry.lease_until
            return True

    def published(self, copy: Task, *, delay_s: float, token: str | None) -> None:
        with self._lock:
            now = self._now()
            entry = self._current(copy)
            if entry is None and _fresh(copy) and delay_s <= 0:
                return
            entry = entry or self._add(copy)
            if entry.generation == copy.generation:
                self._end_lease(copy, entry, now, token)
                self._delay(copy, entry, now, round(max(0.0, delay_s) * SECOND_US))

    def release(self, task: Task, token: str) -> None:
        with self._lock:
            entry = self._current(task)
            if entry and entry.token == token:
                self._drop_lease(task, entry)
                entry.expires_at = max(self._now(), entry.not_before or 0) + KEPT_US

    def release_later(self, task: Task, token: str) -> None:
        self.release(task, token)  # memory does not go away

    def catch_up(self) -> None:
        pass

    def finish(self, task: Task) -> None:
        with self._lock:
            entry = self._current(task)
            if entry is None or entry.generation == task.generation:
                self._forget(task)

    def holds(self, task_id: str) -> bool:
        with self._lock:
            entry = self._entries.get(task_id)
            return entry is not None and entry.expires_at > self._now()

    def join(self, media: str, generation: int, piece: int) -> int:
        with self._lock:
            return self._joins.add(media, generation, piece, self._now())

    def forget_join(self, media: str) -> None:
        with self._lock:
            self._joins.forget(media)

    def forget_delayed(self, source: str) -> None:
        with self._lock:
            for place in places(source):
                self._delayed.pop(place, None)

    def open_work(self, source: str) -> OpenWork:
        with self._lock:
            now = self._now()
            return open_work(
                leased=[_count(self._leased[place], now) for place in places(source)],
                delayed=[_count(self._delayed[place], now) for place in places(source)],
            )

    def _now(self) -> int:
        return round(self._clock.now() * SECOND_US)

    def _current(self, task: Task) -> _Entry | None:
        """What is known, unless it is of an older generation, which is over."""
        entry = self._entries.get(task.id)
        if entry is None:
            return None
        if entry.generation < task.generation or entry.expires_at <= self._now():
            self._forget(task)
            return None
        return entry

    def _add(self, task: Task) -> _Entry:
        now = self._now()
        if len(self._entries) >= self._sweep_at:
            self._entries = {i: e for i, e in self._entries.items() if e.expires_at > now}
            self._sweep_at = max(_SWEPT_FROM, 2 * len(self._entries))
        entry = _Entry(task.generation, task.serial, expires_at=now + KEPT_US)
        self._entries[task.id] = entry
        return entry

    def _forget(self, task: Task) -> None:
        self._entries.pop(task.id, None)
        self._leased[counted_under(task)].pop(task.id, None)
        self._delayed[counted_under(task)].pop(task.id, None)

    def _lease(self, task: Task, entry: _Entry, lease_s: float) -> Lease:
        token = os.urandom(16).hex()
        entry.not_before = _not_before(task, entry)
        entry.absorb(task)
        entry.lease(token, self._now(), round(lease_s * SECOND_US))
        self._leased[counted_under(task)][task.id] = entry.lease_until
        self._delayed[counted_under(task)].pop(task.id, None)
        held = leased(task, entry.attempts, entry.standing_crashes, entry.lease_until)
        return Lease(held, token)

    def _end_lease(self, copy: Task, entry: _Entry, now: int, token: str | None) -> None:
        """A lease that ran out ends with the newer copy that tells of it, not with an old one."""
        told = copy.serial > entry.serial and entry.lease_until <= now
        if entry.token is not None and (entry.token == token or told):
            self._drop_lease(copy, entry)

    def _drop_lease(self, task: Task, entry: _Entry) -> None:
        entry.token, entry.lease_until = None, 0
        self._leased[counted_under(task)].pop(task.id, None)

    def _delay(self, copy: Task, entry: _Entry, now: int, delay_us: int) -> None:
        if copy.serial < entry.serial:
            return
        standing = entry.not_before if copy.serial == entry.serial else None
        entry.not_before = max(now + delay_us, standing or 0)
        entry.absorb(copy)
        entry.expires_at = max(entry.not_before, entry.lease_until) + KEPT_US
        if entry.not_before > now:
            self._delayed[counted_under(copy)][copy.id] = entry.not_before
        else:
            self._delayed[counted_under(copy)].pop(copy.id, None)


def _count(members: dict[str, int], now: int) -> int:
    """Those whose time is not over; the others are forgotten."""
    for ident in [ident for ident, until in members.items() if until <= now]:
        del members[ident]
    return len(members)


def _fresh(copy: Task) -> bool:
    """A first copy: nothing of it needs to be remembered, and there may be a million."""
    return copy.generation == 1 and copy.serial == 0


def _not_before(task: Task, entry: _Entry | None) -> int:
    """As the ledger has it for this copy, on its clock; else as the message has it."""
    if entry and entry.not_before is not None and task.serial == entry.serial:
        return entry.not_before
    return not_before_us(task)
