"""Promise 6: without Redis nothing goes out and nothing is held in threads; after a flush the
bound, a block and a pause stand. With it: how soon a switch reaches the workers."""

from __future__ import annotations

import time

from scripts.bench.budget_proofs.bound import Terms, judge, seen
from scripts.bench.budget_proofs.exact import FETCH, feed_settings
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import Scene
from scripts.bench.budget_proofs.windows import NANO
from scripts.bench.budget_proofs.world import World, flush

PROCESSES, THREADS = 2, 16
TERMS = Terms(30.0, 15)
_BLOCK_S = 15.0
_SETTLE_S = 1.5  # what had its token before goes out
_HELD_S = 30.0  # for so long at most a consumer holds what could not be settled
_SWITCH_S = 1.0  # within it a switch reaches every worker


def run(world: World) -> list[Row]:
    """Stopped, flushed, and the switches."""
    return [*_stopped(world), *_flushed(world)]


def _settings(world: World, *sources: str) -> str:
    text = FETCH
    for source in sources:
        address = world.host.feed(source, source, pages=20, items=250)
        text += (
            f"[sources.{source}]\nadapter = 'jsonfeed'\nrate = {TERMS.rate}\n"
            f"burst = {TERMS.burst}\n{feed_settings(source, {source: address})}"
        )
    return text


def _running(world: World, scene: Scene, *sources: str) -> None:
    for source in sources:
        world.host.behave(source, latency_s=0.05)
    scene.start_workers(PROCESSES, THREADS)
    scene.submit(*sources)
    scene.wait_for(
        lambda: all(world.host.arrived(source) > 60 for source in sources), 60, "work under way"
    )


# --- stopped ---


def _stopped(world: World) -> list[Row]:
    away_s = world.seconds(_HELD_S + 4.0, 8.0)
    with world.scene("stopped", _settings(world, "r")) as scene:
        _running(world, scene, "r")
        world.redis.stop()
        try:
            time.sleep(_SETTLE_S)
            before = world.host.arrived("r")
            time.sleep(away_s)
            sent = world.host.arrived("r") - before
            held = scene.counters.unacknowledged("r")
        finally:
            world.redis.start()
        back = time.monotonic()
        scene.wait_for(lambda: world.host.arrived("r") > before + 60, 60, "work after Redis")
        again_s = time.monotonic() - back
        judged = judge(seen(world.host, scene.folder, "r"), TERMS)
        dead = scene.headrace("dead", "list", "--json").count('"id"')
    return [
        Row(6, f"Redis stopped for {away_s:.0f} s: requests", str(sent), sent == 0),
        Row(
            6,
            f"  deliveries that workers hold at its end (at most {_HELD_S:.0f} s, in no thread)",
            str(held),
            held <= (0 if away_s > _HELD_S else PROCESSES * THREADS // 4),
        ),
        Row(
            6,
            "  60 requests more after it was back in; dead letters",
            f"{again_s:.1f} s; {dead}",
            again_s < 20 and dead == 0,
        ),
        Row(6, "  the bound over all of it", str(judged), judged.held),
    ]


# --- flushed ---


def _flushed(world: World) -> list[Row]:
    """Three times, while one source runs, one is blocked and one is paused."""
    with world.scene("flushed", _settings(world, "r", "blocked", "paused")) as scene:
        _running(world, scene, "r", "blocked", "paused")
        pause = _pause(world, scene)
        refused_ns = _block(world, scene)
        for _ in range(3):
            flush(world.redis.url)
            time.sleep(2.0)
        judged = judge(seen(world.host, scene.folder, "r"), TERMS)
        paused = _arrived_since(world, "paused", pause.settled_ns)
        went_on_s = _went_on_s(world, scene, refused_ns)
        resumed_s = _resume(world, scene)
    return [
        Row(6, "Redis flushed three times: the bound over it", str(judged), judged.held),
        Row(
            6,
            f"  a source blocked for {_BLOCK_S:.0f} s goes on after",
            f"{went_on_s:.1f} s",
            _BLOCK_S <= went_on_s < _BLOCK_S + 8,
        ),
        Row(6, "  requests of a paused source", str(paused), paused == 0),
        Row(
            6,
            "a pause, a resume reach the workers in",
            f"{pause.reached_s:.2f} s, {resumed_s:.2f} s",
            pause.reached_s <= _SWITCH_S and resumed_s <= _SWITCH_S + 0.5,
        ),
    ]


class _Paused:
    """When a pause was told and when it had come to every worker."""

    def __init__(self, told_ns: int, last_ns: int) -> None:
        self.reached_s = max(0.0, (last_ns - told_ns) / NANO)
        self.settled_ns = max(told_ns, last_ns) + NANO // 100


def _pause(world: World, scene: Scene) -> _Paused:
    scene.headrace("pause", "paused", "--reason", "the bench looks")
    told_ns = time.monotonic_ns()
    time.sleep(2.5)
    return _Paused(told_ns, max(a.at_ns for a in world.host.log("paused")))


def _resume(world: World, scene: Scene) -> float:
    before = world.host.arrived("paused")
    scene.headrace("resume", "paused")
    told = time.monotonic()
    scene.wait_for(lambda: world.host.arrived("paused") > before, 15, "work after the resume")
    return time.monotonic() - told


def _block(world: World, scene: Scene) -> int:
    """When the 429 was answered."""
    world.host.behave("blocked", status=429, retry_after=f"{_BLOCK_S:.0f}", times=1)

    def refused() -> int:
        return next((a.answered_ns for a in world.host.log("blocked") if a.status == 429), 0)

    scene.wait_for(lambda: refused() > 0, 30, "a 429")
    time.sleep(0.5)
    return refused()


def _arrived_since(world: World, source: str, since_ns: int) -> int:
    return sum(a.at_ns > since_ns for a in world.host.log(source))


def _went_on_s(world: World, scene: Scene, refused_ns: int) -> float:
    """From the 429 to the first request after those that were under way with it."""
    since = refused_ns + NANO // 2
    scene.wait_for(lambda: _arrived_since(world, "blocked", since) > 0, 40, "work after the block")
    first = min(a.at_ns for a in world.host.log("blocked") if a.at_ns > since)
    return (first - refused_ns) / NANO
