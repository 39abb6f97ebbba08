from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.producing import World

MakeWorld = Callable[..., World]


@pytest.fixture
def a_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeWorld]:
    """Makes a world from settings; each is taken apart at the end."""
    made: list[World] = []

    def make(**settings: Any) -> World:
        made.append(World(tmp_path, monkeypatch, settings))
        return made[-1]

    yield make
    for world in made:
        world.end()
