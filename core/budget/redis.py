"""Buckets that all workers share, in Redis, on its clock. One call a decision; bucket.lua has the
arithmetic."""

from __future__ import annotations

from typing import Any

from limits.storage import RedisStorage

from core.budget.answer import Answer, Block, Claim, Level, Verdict
from core.ports import BucketKey
from core.shared_state.server import RedisServer, read_lua, translated

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
        bucket = read_lua("core.budget", "bucket.lua")
        self._take, self._confirm, self._level, self._block = (
            self._server.script(bucket, read_lua("core.budget", f"{name}.lua"))
            for name in ("take", "confirm", "level", "block")
        )

    def take(self, claim: Claim) -> Answer:
        return _answer(self._server.run(self._take, self._keys(claim), _arguments(claim)))

    def confirm(self, claim: Claim) -> Answer:
        return _answer(self._server.run(self._confirm, self._keys(claim), _arguments(claim)))

    def block(self, name: str, duration_us: int) -> Block:
        until_us, rest_us = self._server.run(self._block, self._pair(name), [duration_us])
        return Block(until_us, rest_us)

    def level(self, bucket: BucketKey) -> Level:
        claim = Claim([bucket], ticket="", known=[0])
        free, full_in_us = self._server.run(self._level, self._keys(claim), _arguments(claim))
        return Level(float(free), full_in_us)

    def clear(self, key: str) -> None:
        with translated(self._server.address):
            self.get_connection().delete(*self._pair(key))

    def _pair(self, name: str) -> list[str]:
        hash_key = self.prefixed_key(name)
        return [hash_key, f"{hash_key}:tickets"]

    def _keys(self, claim: Claim) -> list[str]:
        return [key for bucket in claim.buckets for key in self._pair(bucket.name)]


def _arguments(claim: Claim) -> list[str | int | float]:
    arguments: list[str | int | float] = [claim.ticket, claim.horizon_us, claim.cost]
    for bucket, known in zip(claim.buckets, claim.known, strict=True):
        arguments += (bucket.rate, bucket.burst, known)
    return arguments


def _answer(told: list[Any]) -> Answer:
    verdict, wait_us, *blocked_until = told
    return Answer(Verdict(verdict.decode()), wait_us, blocked_until)
