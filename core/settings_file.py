"""`headrace.toml` as the tables that it is, and what is wrong with them, in words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.errors import Misconfigured


def read_tree(path: Path) -> dict[str, Any]:
    """Its tables. Raises `Misconfigured` for what is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Misconfigured(f"{path}: {error.strerror}", reason="bad_settings") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Misconfigured(f"{path}: not valid TOML: {error}", reason="bad_settings") from error


def explain(path: Path | None, error: ValidationError) -> str:
    """What is wrong with the settings, a line for each fault: file, place, and what it is."""
    lines = []
    for fault in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in fault["loc"])
        is_unknown = fault["type"] == "extra_forbidden"
        what = "no such setting" if is_unknown else fault["msg"].removeprefix("Value error, ")
        lines.append(": ".join(filter(None, (str(path or "environment"), place, what))))
    return "\n".join(lines)
