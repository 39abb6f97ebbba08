"""What shall become of a delivery. The consumer acknowledges only one that carries `Settled`;
one that carries nothing goes back (an acknowledgement needs proof: Dramatiq swallows exceptions
of hooks, and then acks)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settled:
    """Everything that follows is durable and confirmed: acknowledge. `prompt` when its first
    token came at once; `done` when the task ended well, so that other copies have nothing to do.
    `shut_s` as in `ToHead`."""

    prompt: bool = True
    done: bool = False
    shut_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ToHead:
    """Back to its lane's head, uncharged; the source hands nothing on for `rest_s`, then one at
    a time. For `shut_s` (infinite: it is paused) nothing of it is consumed either."""

    rest_s: float = 0.0
    shut_s: float = 0.0


Outcome = Settled | ToHead
