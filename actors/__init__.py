"""Which queue, which limits: the actors that `dramatiq actors` finds. Imports core only."""

from __future__ import annotations

from actors.discover import discover
from actors.image import image

__all__ = ["discover", "image"]
