"""Promise 3: no source pays for another. What B does beside three sources in trouble, in per cent
of what it does alone, with default slots."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.model.task import Kind
from core.queue import depth
from core.queue.lanes import lane
from scripts.bench.budget_proofs.exact import FETCH, feed_settings
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import Scene, idle_cpu_s
from scripts.bench.budget_proofs.windows import NANO
from scripts.bench.budget_proofs.world import World

LEAST = 0.95
PROCESSES, THREADS = 2, 16  # four slots a source
LATENCY_S = 0.2  # so that slots, not this machine's processor, bound what B does
TROUBLED = ("a1", "a2", "a3")
_WARM_S = 5.0
_IDLE = "idle_s = 120.0\n"  # nobody gives up on a silent answer while we look
_PAGE = 250


@dataclass(frozen=True, slots=True)
class Trouble:
    """What A's three sources do meanwhile."""

    name: str
    behaviour: dict[str, object]
    rate: float = 500.0
    paused: bool = False


STUCK = Trouble("accept and never answer", {"never": True})
TROUBLES = (
    STUCK,
    Trouble("are over their budget", {}, rate=0.5),
    Trouble("are paused", {}, paused=True),
    Trouble("answer 429", {"status": 429, "retry_after": "2"}),
)


@dataclass(frozen=True, slots=True)
class Work:
    """What B does, and how much of it is done a second."""

    name: str
    rate: float
    feeds: int  # of B, walked at the same time
    pages: int
    items: int
    what: str
    done: Callable[[World, Scene, float, float], float]
    latency_s: float = LATENCY_S
    burst: int = 20
    feeds_too: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """What B did, and whether there was processor left for more."""

    per_s: float
    idle: float  # share of the machine's processor time


def run(world: World) -> list[Row]:
    """Pictures beside each trouble; pages and videos beside the worst one."""
    pictures = Work("pictures", 1000.0, 1, 40, _PAGE, "image", _pictures_a_second)
    rows = [_beside(world, pictures, trouble) for trouble in TROUBLES]
    pages = Work("feed pages", 1000.0, 4, 400, 1, "image", _pages_a_second, feeds_too=True)
    rows.append(_beside(world, pages, STUCK))
    videos = Work(
        "videos joined", 6.0, 1, 1, 150, "video", _videos_a_second, latency_s=0.02, burst=1
    )
    rows.append(_beside(world, videos, STUCK))
    return rows


def _beside(world: World, work: Work, trouble: Trouble) -> Row:
    waiting = 500 if world.quick else 5000
    with world.scene("apart", _settings(world, work, trouble, waiting)) as scene:
        world.host.behave("b", latency_s=work.latency_s, feeds_too=work.feeds_too)
        for source in TROUBLED:
            world.host.behave(source, **trouble.behaviour)
        scene.start_workers(PROCESSES, THREADS)
        scene.submit(*(f"b{number}" for number in range(work.feeds)))
        time.sleep(_WARM_S)
        alone = _measured(world, scene, work)
        _bring_in(scene, trouble, waiting)
        beside = _measured(world, scene, work)
        left = _ready(scene)
    share = beside.per_s / alone.per_s if alone.per_s else 0.0
    return Row(
        3,
        f"B's {work.name} beside three sources that {trouble.name} ({left:,} wait)",
        f"{share:.1%} of alone ({alone.per_s:.1f}/s); processor idle {alone.idle:.0%}, "
        f"{beside.idle:.0%}",
        share >= LEAST,
    )


def _measured(world: World, scene: Scene, work: Work) -> Measured:
    idle_s, begin = idle_cpu_s(), time.time()
    time.sleep(world.seconds(20.0, 8.0))
    end = time.time()
    idle = (idle_cpu_s() - idle_s) / (end - begin) / (os.cpu_count() or 1)
    return Measured(work.done(world, scene, begin, end), idle)


def _bring_in(scene: Scene, trouble: Trouble, waiting: int) -> None:
    """A's work, until all of it waits and its trouble has begun."""
    scene.submit(*TROUBLED)
    wanted = (waiting + 2 * _PAGE) * 8 // 10  # the rest is under way, or done before the trouble
    scene.wait_for(lambda: _ready(scene) >= wanted, 120, f"{wanted} tasks that wait")
    if trouble.paused:
        for source in TROUBLED:
            scene.headrace("pause", source)
    time.sleep(_WARM_S)


def _ready(scene: Scene) -> int:
    found = depth.read(scene.rabbitmq_url, TROUBLED).lanes
    return sum(found[lane(source, Kind.IMAGE)] for source in TROUBLED)


def _settings(world: World, work: Work, trouble: Trouble, waiting: int) -> str:
    """The first of A's sources has most of what waits. A's tasks come in one page: a stuck source
    would not read another one."""
    text = f"{FETCH}{_IDLE}[sources.b]\nadapter = 'jsonfeed'\nrate = {work.rate}\n"
    text += f"burst = {work.burst}\n"
    text += feed_settings(
        "b",
        {
            f"b{number}": world.host.feed(
                "b", f"b{number}", pages=work.pages, items=work.items, what=work.what
            )
            for number in range(work.feeds)
        },
    )
    for number, source in enumerate(TROUBLED):
        items = waiting if number == 0 else _PAGE
        address = world.host.feed(source, "waits", pages=1, items=items)
        text += f"[sources.{source}]\nadapter = 'jsonfeed'\nrate = {trouble.rate}\nburst = 20\n"
        text += feed_settings(source, {source: address})
    return text


# --- what B did ---


def _pictures_a_second(world: World, _: Scene, begin: float, end: float) -> float:
    return _arrived(world, "/b/image/", begin, end)


def _pages_a_second(world: World, _: Scene, begin: float, end: float) -> float:
    return _arrived(world, "/b/feed/", begin, end)


def _arrived(world: World, what: str, begin: float, end: float) -> float:
    seen = [a for a in world.host.log("b") if a.path.startswith(what)]
    return sum(begin <= a.wall_ns / NANO < end for a in seen) / (end - begin)


def _videos_a_second(_: World, scene: Scene, begin: float, end: float) -> float:
    """By the times of their records, from one to another: no rounding to whole videos."""
    times = [path.stat().st_mtime for path in (scene.store / "media").glob("*/*.1.json")]
    between = sorted(at for at in times if begin <= at < end)
    if len(between) < 2:
        return 0.0
    return (len(between) - 1) / (between[-1] - between[0])
