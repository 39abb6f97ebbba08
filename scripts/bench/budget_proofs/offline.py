"""Promise 8: the machine is offline, every connection is refused: nothing is buried, sources block
and probe, and work goes on by itself. Scaled: a task's attempts would be over within seconds."""

from __future__ import annotations

import time

from scripts.bench.budget_proofs.exact import FETCH, feed_settings
from scripts.bench.budget_proofs.recording import CLIMB_S
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import Scene
from scripts.bench.budget_proofs.world import World

SOURCES = ("one", "two", "three")
PROCESSES, THREADS = 2, 16
_RETRIES = "[retries]\nmax_attempts = 3\nbase_s = 0.2\nfloor_s = 0.1\ncap_s = 0.5\n"
_ITEMS = 200
_CLIMB_S = 3.0  # the window between two steps of the pace, scaled
_BACK_S = 150.0  # the longest block that a probe's backoff has come to by then, and the climb


def run(world: World) -> list[Row]:
    """The host goes away under running workers, and comes back."""
    away_s = world.seconds(60.0, 25.0)
    with world.scene("offline", _settings(world)) as scene:
        scene.configure(_settings(world), **{CLIMB_S: str(_CLIMB_S)})
        for source in SOURCES:
            world.host.behave(source, latency_s=0.1)
        scene.start_workers(PROCESSES, THREADS)
        scene.submit(*SOURCES)
        scene.wait_for(lambda: all(world.host.arrived(s) > 15 for s in SOURCES), 60, "work")
        world.host.stop()
        gone_us = time.time_ns() // 1000
        time.sleep(away_s)
        probes = {source: _granted(scene, source, gone_us) for source in SOURCES}
        slowed = [scene.standing(source).slowdowns for source in SOURCES]
        dead = scene.headrace("dead", "list", "--json").count('"id"')
        world.host.start()
        back = time.monotonic()
        scene.wait_for(lambda: all(world.host.arrived(s) for s in SOURCES), 120, "requests again")
        first_s = time.monotonic() - back
        scene.wait_for(lambda: scene.got() >= len(SOURCES) * _ITEMS, 240, "the rest of the work")
        done_s = time.monotonic() - back
        buried = scene.headrace("dead", "list", "--json").count('"id"')
    attempts_s = 3 * 0.6
    return [
        Row(
            8,
            f"refused for {away_s:.0f} s (three attempts take {attempts_s:.1f} s): dead letters",
            f"{dead} meanwhile, {buried} in the end",
            dead == buried == 0,
        ),
        Row(
            8,
            "  requests tried in the second half, slowdowns, by source",
            f"{', '.join(map(str, probes.values()))}; {', '.join(map(str, slowed))}",
            max(probes.values()) <= away_s / 2 / 2 and min(slowed) > 0,
        ),
        Row(
            8,
            "  every source goes on, all files are there after (climb scaled)",
            f"{first_s:.0f} s, {done_s:.0f} s",
            first_s <= away_s + 10 and done_s < _BACK_S,
        ),
    ]


def _granted(scene: Scene, source: str, gone_us: int) -> int:
    """Tokens in the second half of the outage: what is tried once sources have blocked."""
    half = gone_us + (time.time_ns() // 1000 - gone_us) // 2
    return sum(at > half for at in scene.grants(source))


def _settings(world: World) -> str:
    text = FETCH + _RETRIES
    for source in SOURCES:
        address = world.host.feed(source, source, pages=1, items=_ITEMS)
        text += (
            f"[sources.{source}]\nadapter = 'jsonfeed'\nrate = 20.0\nburst = 10\n"
            f"{feed_settings(source, {source: address})}"
        )
    return text
