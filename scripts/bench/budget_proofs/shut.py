"""Promise 4: a blocked source costs nothing. The broker's counters over a block that outlasts its
`consumer_timeout` twice."""

from __future__ import annotations

import time

from scripts.bench.budget_proofs.counters import SETTLED_S
from scripts.bench.budget_proofs.exact import FETCH, feed_settings
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.windows import NANO
from scripts.bench.budget_proofs.world import CONSUMER_TIMEOUT_S, World

PROCESSES, THREADS, SLOTS = 2, 16, 4
_ITEMS = 1000
_RATE = 40.0


def run(world: World) -> list[Row]:
    """429 with a long Retry-After in the middle of a run."""
    block_s = 2.2 * CONSUMER_TIMEOUT_S
    with world.scene("shut", _settings(world)) as scene:
        scene.start_workers(PROCESSES, THREADS)
        scene.submit("shut")
        scene.wait_for(lambda: world.host.arrived("shut") > 100, 60, "a source that runs")
        world.host.behave("shut", status=429, retry_after=str(round(block_s)), times=1)
        scene.wait_for(lambda: bool(_refused_ns(world)), 30, "a 429")
        blocked_at = time.monotonic()
        begun = scene.counters.read("shut")
        time.sleep(max(0.0, blocked_at + block_s - SETTLED_S - 2 - time.monotonic()))
        ended = scene.counters.read("shut").since(begun)
        scene.wait_for(lambda: world.host.arrived("shut") > 250, 60, "work after the block")
        after = scene.counters.read("shut").since(begun)
        silent_s = _silence_s(world)
        closed = scene.said("PRECONDITION_FAILED")
    prefetched = PROCESSES * (SLOTS + 1)
    what = f"block of {block_s:.0f} s, consumer_timeout {CONSUMER_TIMEOUT_S:.0f} s:"
    return [
        Row(
            4,
            f"{what} delivered, published, acknowledged in it",
            f"{ended.delivered}, {ended.published}, {ended.acknowledged}",
            ended.delivered == ended.published == 0,
        ),
        Row(
            4,
            f"{what} went back (prefetched: {prefetched}), channels closed",
            f"{after.redelivered}, {closed}",
            0 < after.redelivered <= prefetched and not closed,
        ),
        Row(
            4,
            f"{what} requests in it",
            f"silence of {silent_s:.1f} s",
            silent_s >= block_s - 0.5,
        ),
    ]


def _settings(world: World) -> str:
    address = world.host.feed("shut", "shut", pages=_ITEMS // 250, items=250)
    return (
        f"{FETCH}[sources.shut]\nadapter = 'jsonfeed'\nrate = {_RATE}\nburst = 10\n"
        f"concurrency = {SLOTS}\n{feed_settings('shut', {'shut': address})}"
    )


def _refused_ns(world: World) -> int:
    """When the 429 was answered; 0: not yet."""
    return next((a.answered_ns for a in world.host.log("shut") if a.status == 429), 0)


def _silence_s(world: World) -> float:
    """From the 429 to the first arrival after those that were under way with it."""
    refused = _refused_ns(world)
    later = [a.at_ns for a in world.host.log("shut") if a.at_ns > refused + NANO // 2]
    return (min(later) - refused) / NANO
