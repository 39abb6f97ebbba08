"""How one source stands, put together from what store, RabbitMQ and Redis say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.cli.standing import (
    BudgetStatus,
    PauseStatus,
    budget_status,
    host_statuses,
    pause_status,
    purge_ahead_s,
)
from core.model.switch import Switches
from core.ports import OpenWork, Standing
from core.queue.depth import Depth
from core.queue.lanes import lanes_of
from core.settings import Settings
from core.store.sum_lines import Tally


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One source; None where whoever knows could not be asked."""

    source: str
    ready: int | None
    leased: int | None
    delayed: int | None
    dead: int | None  # letters in RabbitMQ; of a store alone, media that ended without their file
    done: int | None  # media got
    bytes: int | None  # of what was got
    budget: BudgetStatus
    paused: PauseStatus | None
    purge_ahead_s: float | None = None  # a purge mark in the future: clocks disagree


@dataclass(frozen=True, slots=True)
class Known:
    """What those who know of sources said; None where one could not be asked."""

    settings: Settings
    switches: Switches
    tallies: Mapping[str, Tally] | None
    depths: Depth | None = None
    work: Mapping[str, OpenWork] | None = None
    standings: Mapping[str, Standing | None] = field(default_factory=dict)
    slow_hosts: Mapping[str, Standing] = field(default_factory=dict)  # by bucket: SOURCE/HOST
    alone: bool = False  # the store is all that there is: nobody else was to be asked

    def of(self, name: str, now: float) -> SourceStatus:
        """One source. `now` is Unix time."""
        open_work = self.work.get(name, OpenWork(0, 0)) if self.work is not None else None
        tally = self.tallies.get(name, Tally()) if self.tallies is not None else None
        switch = self.switches.of(name)
        own = self.settings.all_sources().get(name)
        return SourceStatus(
            name,
            ready=self._ready(name),
            leased=open_work.leased if open_work else None,
            delayed=open_work.delayed if open_work else None,
            dead=self._dead(name, tally),
            done=tally.got if tally else None,
            bytes=tally.bytes if tally else None,
            budget=budget_status(
                own,
                switch,
                self.standings.get(name),
                now,
                hosts=host_statuses(name, self.slow_hosts, now),
            ),
            paused=pause_status(switch, now),
            purge_ahead_s=purge_ahead_s(switch, now),
        )

    def _ready(self, name: str) -> int | None:
        if self.depths is None:
            return None
        return sum(self.depths.lanes.get(lane, 0) for lane in lanes_of(name))

    def _dead(self, name: str, tally: Tally | None) -> int | None:
        """What is dead in the store is no count of letters: some were requeued or discarded."""
        if self.depths is not None:
            return self.depths.dead.get(name, 0)
        if not self.alone or tally is None:
            return None
        return tally.dead + tally.refused + tally.incomplete
