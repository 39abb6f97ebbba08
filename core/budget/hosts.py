"""Which hosts' buckets may be slowed: of a source that is spread over many hosts, its own bucket
tells nothing of them. For people: it looks through all that the server holds."""

from __future__ import annotations

from typing import Any

_A_STEP = 1000  # keys that one call looks at
_MOST_STEPS = 1000  # a status is for a person who waits
_TICKETS = b":tickets"


def slowed_hosts(line: Any, prefix: str) -> list[str]:  # noqa: ANN401 - the library's clients share no type
    """The names of hosts' buckets that were ever slowed, of those that begin with `prefix`."""
    found: list[str] = []
    cursor = 0
    for _ in range(_MOST_STEPS):
        cursor, keys = line.scan(cursor, match=f"{prefix}*/*", count=_A_STEP)
        hashes = [key for key in keys if not key.endswith(_TICKETS)]
        pipeline = line.pipeline(transaction=False)
        for key in hashes:
            pipeline.hexists(key, "era")
        slowed = pipeline.execute()
        found += [
            key.decode().removeprefix(prefix)
            for key, is_slowed in zip(hashes, slowed, strict=True)
            if is_slowed
        ]
        if cursor == 0:
            break
    return sorted(set(found))  # a scan may name one twice
