"""Carries out that a person ended a source's block, in this process and in the budget's storage."""

from __future__ import annotations

import logging
import shlex
from dataclasses import dataclass, field
from typing import Protocol

from core.clock import Clock
from core.model.switch import MEANS_NOTHING_MS, Switch
from core.ports import Budget

logger = logging.getLogger(__name__)

LONG_S = 300.0  # our own waits are never longer: one that is was named by the source


class OpensLine(Protocol):
    """Has tasks stand in line for a bucket."""

    def unblocked(self, bucket: str) -> None: ...


class OpensLanes(Protocol):
    """Keeps the lanes of sources shut while they are blocked."""

    def unblock_source(self, source: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Unblocking:
    """Listens to the switchboard. Every process that reads the switches says it to the budget, so
    that none has the block in mind any longer: said more than once it changes nothing."""

    budget: Budget
    clock: Clock
    fetcher: OpensLine
    broker: OpensLanes
    _told: dict[tuple[str, str], int] = field(default_factory=dict)  # by source and host: when

    def __call__(self, source: str, switch: Switch) -> None:
        """Raises `SharedStateDown`; what could not be told is told at the next call."""
        for host, at_ms in switch.unblocked.items():
            if self._told.get((source, host)) != at_ms:
                self._open(source, host, at_ms)
                self._told[source, host] = at_ms

    def _open(self, source: str, host: str, at_ms: int) -> None:
        bucket = bucket_of(source, host)
        age_s = self.clock.now() - at_ms / 1000
        if age_s * 1000 > MEANS_NOTHING_MS:
            return
        blocked_s = self.budget.unblock(bucket, age_s=age_s)
        if blocked_s > 0:
            logger.info("%s was blocked anew since, and is for %.0f s more", bucket, blocked_s)
            return
        self.fetcher.unblocked(bucket)
        self.broker.unblock_source(source)


def command(bucket: str, *where: str) -> str:
    """What a person types to end a bucket's block; `where` names settings or store."""
    return shlex.join(["headrace", "resume", bucket, "--unblock", *where])


def bucket_of(source: str, host: str) -> str:
    """As the budget and `headrace status` name it."""
    return f"{source}/{host}" if host else source
