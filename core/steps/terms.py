"""On which terms sources are fetched just now: what the settings say, with what people switched
over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from core.model.source import SourceTerms
from core.model.switch import Switch


@dataclass(frozen=True, slots=True)
class Terms:
    """Called with a source. Raises `Misconfigured` for an unknown one."""

    settings: Callable[[str], SourceTerms]
    switch: Callable[[str], Switch]
    _made: dict[tuple[str, float | None, int | None], SourceTerms] = field(default_factory=dict)

    def __call__(self, source: str) -> SourceTerms:
        switch = self.switch(source)
        key = source, switch.rate, switch.burst
        if key not in self._made:  # making them anew costs 7 µs a task
            self._made[key] = _switched(self.settings(source), switch)
        return self._made[key]


def _switched(terms: SourceTerms, switch: Switch) -> SourceTerms:
    rate = terms.rate if switch.rate is None else switch.rate
    return replace(terms, rate=rate, burst=terms.burst if switch.burst is None else switch.burst)
