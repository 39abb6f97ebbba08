"""How one source stands, put together from what store, RabbitMQ and Redis say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.cli.standing import BudgetStatus, PauseStatus, budget_status, pause_status
from core.model.switch import Switches
from core.ports import OpenWork, Standing
from core.queue.depth import Depth
from core.queue.lanes import lanes_of
from core.settings import Settings
from core.store.sums import Tally


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One source; None where whoever knows could not be asked."""

    source: str
    ready: int | None
    leased: int | None
    delayed: int | None
    dead: int | None  # letters in RabbitMQ; without it, media that ended without their file
    done: int | None  # media got
    bytes: int | None  # of what was got
    budget: BudgetStatus
    paused: PauseStatus | None


@dataclass(frozen=True, slots=True)
class Known:
    """What those who know of sources said; None where one could not be asked."""

    settings: Settings
    switches: Switches
    tallies: Mapping[str, Tally] | None
    depths: Depth | None = None
    work: Mapping[str, OpenWork] | None = None
    standings: Mapping[str, Standing | None] = field(default_factory=dict)

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
            dead=_dead(name, self.depths, tally),
            done=tally.got if tally else None,
            bytes=tally.bytes if tally else None,
            budget=budget_status(own, switch, self.standings.get(name), now),
            paused=pause_status(switch, now),
        )

    def _ready(self, name: str) -> int | None:
        if self.depths is None:
            return None
        return sum(self.depths.lanes.get(lane, 0) for lane in lanes_of(name))


def _dead(name: str, depths: Depth | None, tally: Tally | None) -> int | None:
    if depths is not None:
        return depths.dead.get(name, 0)
    return tally.dead + tally.refused + tally.incomplete if tally else None
