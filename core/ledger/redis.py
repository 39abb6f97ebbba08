"""The ledger that all workers share, in Redis, on its clock. Each method is one script; task.lua
has what they share. Every script may run twice, should its first answer get lost."""

from __future__ import annotations

import secrets
from typing import Any

from core.ledger.record import SECOND_US, counted_under, leased, merged, not_before_us, pages_of
from core.model.task import Task
from core.ports import Early, Held, Lease, OpenWork, Superseded, Vanished
from core.shared_state.server import Argument, RedisServer, Script, read_lua

_PREFIX = "headrace"


class RedisLedger:
    """Implements `core.ports.Ledger`. Connects when it is first used."""

    def __init__(self, url: str, server: RedisServer | None = None) -> None:
        self._server = server or RedisServer(url)
        self._begin = self._task_script("begin")
        self._renew = self._task_script("renew")
        self._published = self._task_script("published")
        self._release = self._task_script("release")
        self._finish = self._task_script("finish")
        self._join = self._server.script(_lua("join"))
        self._forget_join = self._server.script(_lua("forget_join"))
        self._holds = self._server.script(_lua("holds"))
        self._open_work = self._server.script(_lua("open_work"))

    def begin(self, task: Task, *, lease_s: float) -> Lease | Held | Early | Superseded | Vanished:
        token = secrets.token_hex(16)
        word, *told = self._run(
            self._begin,
            task,
            not_before_us(task),
            task.attempts,
            task.crashes,
            token,
            _us(lease_s),
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
        told = self._run(self._renew, task, token, _us(lease_s), int(progress), *counts)
        return bool(told)

    def published(self, copy: Task, *, delay_s: float, token: str | None) -> None:
        counts = (copy.attempts, copy.crashes)
        self._run(self._published, copy, token or "", _us(max(0.0, delay_s)), *counts)

    def release(self, task: Task, token: str) -> None:
        self._run(self._release, task, token)

    def finish(self, task: Task) -> None:
        self._run(self._finish, task)

    def holds(self, task_id: str) -> bool:
        return bool(self._server.run(self._holds, [_task_key(task_id)], []))

    def join(self, media: str, generation: int, piece: int) -> int:
        return int(self._server.run(self._join, [_join_key(media)], [generation, piece]))

    def forget_join(self, media: str) -> None:
        self._server.run(self._forget_join, [_join_key(media)], [])

    def open_work(self, source: str) -> OpenWork:
        keys = [*_sets(source), *_sets(pages_of(source))]
        leased, delayed, *pages = self._server.run(self._open_work, keys, [])
        return OpenWork(leased + pages[0], delayed + pages[1], sum(pages))

    def close(self) -> None:
        """Close every thread's connection."""
        self._server.close()

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
