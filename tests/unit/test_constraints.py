"""constraints.txt pins what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    plain = [line for line in lines if line and not line.startswith("#")]
    return dict(line.lower().split("==") for line in plain)


def asked_for() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in asked}


def test_every_line_is_one_exact_version_and_nothing_else():
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins().values())


def test_everything_that_the_project_asks_for_is_pinned():
    assert asked_for() <= set(pins())
