"""The ledger that all workers share, in Redis, on its clock. Each method is one script; task.lua
has what they share. Every script may run twice, should its first answer get lost."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.errors import SharedStateDown
from core.ledger.owed import Owed
from core.ledger.record import (
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
from core.shared_state.server import Argument, OfServer, RedisServer, Script, read_lua

logger = logging.getLogger(__name__)

_PREFIX = "headrace"


class RedisLedger:
    """Implements `core.ports.Ledger`. Connects when it is first used."""

    def __init__(self, url: str, server: RedisServer | None = None) -> None:
        self._server = server or RedisServer(url)
        self._owed = Owed()
        self._begin = self._task_script("begin")
        self._renew = self._task_script("renew")
        self._published = self._task_script("published")
        self._release = self._task_script("release")
        self._finish = self._task_script("finish")
        self._join = self._server.script(_lua("join"))
        self._forget_join = self._server.script(_lua("forget_join"))
        self._forget_delayed = self._server.script(_lua("forget_delayed"))
        self._holds = self._server.script(_lua("holds"))
        self._open_work = self._server.script(_lua("open_work"))
        self._catch_up = self._server.script(_lua("catch_up"))

    def begin(self, task: Task, *, lease_s: float) -> Lease | Held | Early | Superseded | Vanished:
        self._release_owed(task.id)
        token = os.urandom(16).hex()
        counts = (task.attempts, task.crashes)
        with self._owing(task, token):  # a server that was frozen may take it when nobody listens
            word, *told = self._run(
                self._begin,
                task,
                not_before_us(task),
                *counts,
                token,
                _us(lease_s),
                OfServer.RUN_ID,
            )
        match word:
            case b"leased":
                return Lease(leased(task, *told), token)
            case b"held":
                return Held(told[0] / SECOND_US)
            case b"early":
                return Early(told[0] / SECOND_US)
            case b"vanished":
                return Vanished(merged(task, *told))
            case _:
                return Superseded()

    def renew(self, task: Task, token: str, *, lease_s: float, progress: bool = False) -> bool:
        counts = (task.attempts, task.crashes)
        told = self._run(
            self._renew, task, token, _us(lease_s), int(progress), *counts, OfServer.RUN_ID
        )
        return bool(told)

    def published(self, copy: Task, *, delay_s: float, token: str | None) -> None:
        counts = (copy.attempts, copy.crashes)
        self._run(self._published, copy, token or "", _us(max(0.0, delay_s)), *counts)

    def release(self, task: Task, token: str) -> None:
        with self._owing(task, token):
            self._run(self._release, task, token)

    def release_later(self, task: Task, token: str) -> None:
        self._owed.add(task, token)

    def catch_up(self) -> None:
        # Before the releases: a frozen server that answers this has done all that it was asked
        # before, which may have been to begin what is released now.
        self._server.run(self._catch_up, [f"{_PREFIX}:asked"], [])
        self._release_owed()

    def finish(self, task: Task) -> None:
        self._run(self._finish, task)

    def holds(self, task_id: str) -> bool:
        return bool(self._server.run(self._holds, [_task_key(task_id)], []))

    def join(self, media: str, generation: int, piece: int) -> int:
        return int(self._server.run(self._join, [_join_key(media)], [generation, piece]))

    def forget_join(self, media: str) -> None:
        self._server.run(self._forget_join, [_join_key(media)], [])

    def forget_delayed(self, source: str) -> None:
        keys = [delayed for place in places(source) for _, delayed in [_sets(place)]]
        self._server.run(self._forget_delayed, keys, [])

    def open_work(self, source: str) -> OpenWork:
        keys = [key for place in places(source) for key in _sets(place)]
        counts = self._server.run(self._open_work, keys, [])
        return open_work(leased=counts[::2], delayed=counts[1::2])

    def close(self) -> None:
        """Release what is owed, if that can be told just now, and close every thread's
        connection."""
        try:
            if self._owed:
                self.catch_up()
        except SharedStateDown as error:
            logger.debug("%d leases are left to run out: %s", len(self._owed), error)
        self._server.close()

    def _release_owed(self, task_id: str | None = None) -> None:
        while owed := self._owed.take(task_id):
            self.release(*owed)

    @contextmanager
    def _owing(self, task: Task, token: str) -> Iterator[None]:
        """Whatever was asked in here has an answer, or the lease is owed."""
        try:
            yield
        except SharedStateDown:
            self._owed.add(task, token)
            raise

    def _task_script(self, name: str) -> Script:
        return self._server.script(_lua("task"), _lua(name))

    def _run(self, script: Script, task: Task, *arguments: Argument) -> Any:  # noqa: ANN401 - what a script answers
        keys = [_task_key(task.id), *_sets(counted_under(task))]
        return self._server.run(script, keys, [task.id, task.generation, task.serial, *arguments])


def _lua(name: str) -> str:
    return read_lua("core.ledger", f"{name}.lua")


def _task_key(task_id: str) -> str:
    return f"{_PREFIX}:task:{task_id}"


def _join_key(media: str) -> str:
    return f"{_PREFIX}:join:{media}"


def _sets(counted: str) -> list[str]:
    return [f"{_PREFIX}:leased:{counted}", f"{_PREFIX}:delayed:{counted}"]


def _us(seconds: float) -> int:
    return round(seconds * SECOND_US)
