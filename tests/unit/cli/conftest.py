"""Commands run in an empty folder, and leave the logging of the test run as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield tmp_path
    root.setLevel(level)
    root.handlers[:] = handlers
