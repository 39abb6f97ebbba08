#!/usr/bin/env python3
"""What anybody writes first: a thread pool, `requests`, SHA-256, fsync, rename. No queue, no retry,
no check, no record: the yardstick, not a crawler."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

_own = threading.local()


def fetch(url: str, folder: Path) -> str:
    """Get one address into a file named by its digest."""
    if not hasattr(_own, "session"):
        _own.session = requests.Session()
    answer = _own.session.get(url, timeout=20)
    answer.raise_for_status()
    digest = hashlib.sha256(answer.content).hexdigest()
    partial = folder / f"{digest}.part"
    with partial.open("wb") as file:
        file.write(answer.content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(folder / digest)
    return digest


def main() -> None:
    """`bare_loop.py LIST_URL FOLDER THREADS`"""
    listed, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True)
    addresses = requests.get(listed, timeout=20).text.split()
    with ThreadPoolExecutor(threads) as pool:
        digests = set(pool.map(lambda url: fetch(url, folder), addresses))
    if len(digests) != len(addresses):
        raise SystemExit(f"{len(addresses)} addresses gave {len(digests)} files")


if __name__ == "__main__":
    main()
