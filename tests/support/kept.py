"""What a store keeps, so that two can be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_OF_THE_RUN = {"ended_at", "attempts", "at", "first_failure", "last_failure", "worker", "resumed"}


def without_the_run(value: Any) -> Any:
    """A record without what tells when, by whom and at which try."""
    if isinstance(value, dict):
        return {
            name: without_the_run(held) for name, held in value.items() if name not in _OF_THE_RUN
        }
    return [without_the_run(held) for held in value] if isinstance(value, list) else value


def records(store: Path) -> dict[str, Any]:
    """Every media's ends and every post's versions."""
    files = [*(store / "media").rglob("*.json"), *(store / "posts").rglob("*.json")]
    found = {
        str(path.relative_to(store)): without_the_run(json.loads(path.read_text()))
        for path in files
    }
    for record in found.values():
        for name in ("first_seen_in", "seen_at", "first_seen_at", "walk"):
            record.pop(name, None)
    return found


def names(store: Path) -> set[str]:
    library = store / "library"
    return {str(path.relative_to(library)) for path in library.rglob("*") if path.is_file()}
