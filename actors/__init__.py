"""Which queue, which limits: the actors that `dramatiq actors` finds. Imports core only."""

from __future__ import annotations

from actors.discover import discover
from actors.fragment import fragment
from actors.image import image
from actors.manifest import manifest
from actors.verify import verify

__all__ = ["discover", "fragment", "image", "manifest", "verify"]
