"""What a step asks for, in order. A step is a generator of these: it says what should happen next,
and whoever performs it makes it happen, durably, before the step goes on."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.end import MediaEnd
from core.model.walk import WalkEnd, WalkPage
from core.ports import Copy


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish these and wait for their confirms."""

    copies: tuple[Copy, ...]


Action = Publish | MediaEnd | WalkPage | WalkEnd
