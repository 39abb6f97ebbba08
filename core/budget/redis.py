"""Buckets that all workers share, in Redis, on its clock. One call a decision; bucket.lua, pace.lua
and slow.lua have the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from limits.storage import RedisStorage

from core.budget.answer import SECOND_US, Answer, Claim, Level, Slowed, Verdict
from core.budget.hosts import slowed_hosts
from core.budget.report import Event, Fault, Refusal
from core.budget.usage import Figures
from core.ports import BucketKey, Standing
from core.shared_state.server import (
    Argument,
    OfServer,
    RedisServer,
    Script,
    read_lua,
    translated,
)

_PREFIX = "headrace:bucket"


class RedisBucketStorage(RedisStorage):
    """The library's storage, which would lay out windows, with buckets added. Connects when it is
    first used."""

    STORAGE_SCHEME = ["headrace+redis"]  # noqa: RUF012 - the library reads it from the class

    def __init__(self, url: str, server: RedisServer | None = None) -> None:
        self._server = server or RedisServer(url)
        super().__init__(url, connection_pool=self._server.pool, key_prefix=_PREFIX)

    def initialize_storage(self, _uri: str) -> None:
        super().initialize_storage(_uri)
        self._take, self._confirm, self._level = (
            self._script("pace", "bucket", name) for name in ("take", "confirm", "level")
        )
        self._throttled, self._failed, self._standing, self._retell, self._unblock = (
            self._script("pace", "slow", name)
            for name in ("throttled", "failed", "standing", "retell", "unblock")
        )
        self._answered, self._used = (self._script("pace", name) for name in ("answered", "used"))

    def _script(self, *names: str) -> Script:
        return self._server.script(*(read_lua("core.budget", f"{name}.lua") for name in names))

    def take(self, claim: Claim) -> Answer:
        return _answer(self._server.run(self._take, self._keys(claim), _arguments(claim)))

    def confirm(self, claim: Claim) -> Answer:
        return _answer(self._server.run(self._confirm, self._keys(claim), _arguments(claim)))

    def throttled(self, name: str, refusal: Refusal) -> Event:
        named_us = "" if refusal.named_us is None else refusal.named_us
        arguments = (_heard(refusal.heard), refusal.era, named_us, refusal.jitter)
        return _event(self._server.run(self._throttled, self._pair(name), arguments))

    def failed(self, name: str, fault: Fault) -> Event | None:
        arguments = (_heard(fault.heard), fault.era, fault.task, fault.enough, fault.jitter)
        told = self._server.run(self._failed, self._pair(name), arguments)
        return _event(told) if told else None

    def unblock(self, name: str, age_us: int, heard: Slowed | None) -> Event:
        return _event(self._server.run(self._unblock, self._pair(name), [_heard(heard), age_us]))

    def answered(self, names: Sequence[str]) -> None:
        keys = [key for name in names for key in self._pair(name)]
        self._server.run(self._answered, keys, [])

    def used(self, name: str, figures: Figures) -> None:
        arguments = (figures.count, figures.waited_s, figures.asked_s)
        self._server.run(self._used, self._pair(name), arguments)

    def standing(self, name: str, heard: Slowed | None) -> Standing | None:
        told = self._server.run(self._standing, self._pair(name), [_heard(heard)])
        return _stands(told) if told else None

    def hosts(self) -> list[str]:
        with translated(self._server.address):
            return slowed_hosts(self.get_connection(), self.prefixed_key(""))

    def retell(self, heard: Mapping[str, Slowed]) -> list[Event]:
        keys = [key for name in heard for key in self._pair(name)]
        told = self._server.run(self._retell, keys, [_heard(slowed) for slowed in heard.values()])
        return [
            Event(_slowed(told[at + 1 : at + 7]), told[at], is_news=False)
            for at in range(0, 7 * len(heard), 7)
        ]

    def level(self, bucket: BucketKey) -> Level:
        claim = Claim([bucket], ticket="", heard=[None])
        free, full_in_us = self._server.run(self._level, self._keys(claim), _arguments(claim))
        return Level(float(free), full_in_us)

    def clear(self, key: str) -> None:
        with translated(self._server.address):
            self.get_connection().delete(*self._pair(key))

    def close(self) -> None:
        """Close every thread's connection."""
        self._server.close()

    def _pair(self, name: str) -> list[str]:
        hash_key = self.prefixed_key(name)
        return [hash_key, f"{hash_key}:tickets"]

    def _keys(self, claim: Claim) -> list[str]:
        return [key for bucket in claim.buckets for key in self._pair(bucket.name)]


def _arguments(claim: Claim) -> list[Argument]:
    arguments: list[Argument] = [claim.ticket, claim.horizon_us, claim.cost, OfServer.RUN_ID]
    for bucket, heard in zip(claim.buckets, claim.heard, strict=True):
        arguments += (bucket.rate, bucket.burst, _heard(heard))
    return arguments


def _heard(slowed: Slowed | None) -> str:
    if slowed is None:
        return ""
    rest_us = slowed.until_us if slowed.rest_us is None else slowed.rest_us
    pace = repr(slowed.pace)
    words = f"{slowed.era} {slowed.until_us} {rest_us} {pace} {slowed.row} {slowed.outage:d}"
    return f"{words} {slowed.opened}"


def _slowed(told: Sequence[Any]) -> Slowed:
    era, until_us, pace, row, outage, opened = told
    return Slowed(era, until_us, float(pace), row, bool(outage), opened)


def _answer(told: list[Any]) -> Answer:
    verdict, wait_us, slowest, *more = told
    if not more:
        return Answer(Verdict(verdict.decode()), wait_us, slowest - 1)
    troubled, *slowed = more
    buckets = [_slowed(slowed[at : at + 6]) for at in range(0, len(slowed), 6)]
    return Answer(Verdict(verdict.decode()), wait_us, slowest - 1, buckets, bool(troubled))


def _event(told: list[Any]) -> Event:
    is_news, rest_us, *slowed = told
    return Event(_slowed(slowed), rest_us, bool(is_news))


def _stands(told: list[Any]) -> Standing:
    rate, burst, pace, rest_us, slowdowns, age_us, used, waited_s, asked_s = told
    figures = Figures(float(used), float(waited_s), float(asked_s))
    return Standing(
        rate=float(rate),
        burst=burst,
        pace=float(pace),
        blocked_s=rest_us / SECOND_US,
        slowdowns=slowdowns,
        requests_per_s=figures.per_second(age_us),
        waited_s=figures.mean(figures.waited_s),
        asked_s=figures.mean(figures.asked_s),
    )
