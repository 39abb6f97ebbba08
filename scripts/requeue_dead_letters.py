#!/usr/bin/env python3
"""Requeues dead letters: the same as `headrace dead requeue`, for those who look in scripts/ first.

scripts/requeue_dead_letters.py --source feed --dry-run
scripts/requeue_dead_letters.py --id image-6f1d0c...
scripts/requeue_dead_letters.py --all
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"


def main() -> int:
    python = VENV / "bin" / "python"
    if python.exists() and Path(sys.prefix) != VENV:
        os.execv(python, [str(python), __file__, *sys.argv[1:]])
    sys.path.insert(0, str(ROOT))
    from core.cli.main import run  # noqa: PLC0415 - only the venv's Python finds what it imports

    return run(["dead", "requeue", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
