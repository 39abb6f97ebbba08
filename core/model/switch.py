"""What operators switch while workers run. Kept in the store, so that a flush of Redis and a
restart change nothing of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.model.moment import Moment

MEANS_NOTHING_MS = 2 * 86_400_000  # later: no source is taken at its word for over a day
_Rate = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pause(_Frozen):
    """A source is paused: nothing of it goes out."""

    reason: str  # for people
    since: Moment


class Switch(_Frozen):
    """One source's switches; a new one changes nothing."""

    pause: Pause | None = None
    rate: _Rate | None = None  # instead of the settings' rate, requests a second
    burst: Annotated[int, Field(ge=1)] | None = None  # instead of the settings' burst
    purged_before: int | None = None  # Unix time in ms: tasks submitted before it are dropped
    # Unix times in ms: blocks that began before are over. By host; "" is the source's own bucket.
    unblocked: dict[str, int] = {}

    def opened(self, host: str, at_ms: int) -> Switch:
        """The same, and what blocks a host (or with "" the source itself) at that time is over.
        Times that no block can have lasted from are left out."""
        kept = {name: at for name, at in self.unblocked.items() if at_ms - at < MEANS_NOTHING_MS}
        return self.model_copy(update={"unblocked": kept | {host: at_ms}})


class Switches(_Frozen):
    """All sources' switches."""

    sources: dict[str, Switch] = {}

    def of(self, source: str) -> Switch:
        """The source's switches."""
        return self.sources.get(source, _AS_SET)

    def put(self, source: str, switch: Switch) -> Switches:
        """The same with this source's switches changed."""
        others = {name: kept for name, kept in self.sources.items() if name != source}
        changed = {source: switch} if switch != _AS_SET else {}
        return Switches(sources=others | changed)


_AS_SET = Switch()
