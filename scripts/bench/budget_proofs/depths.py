"""Promise 5: the bound holds. A feed of 100,000 items against slower workers, with two producers at
once; another source beside it; a video of 18,000 pieces and a second one."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.ledger.redis import RedisLedger
from core.model.task import Kind
from core.ports import OpenWork
from core.queue.connection import opened
from core.queue.lanes import lane
from core.queue.topology import declare
from scripts.bench.budget_proofs.exact import FETCH
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import Scene, came, rss_bytes
from scripts.bench.budget_proofs.world import World
from scripts.bench.crawls import BIN

HIGH, LOW = 500, 250
PAGE = 250
PROCESSES, THREADS, SLOTS = 2, 12, 4
ITEMS = 100_000
_RATE = 60.0
_SAMPLED_EVERY_S = 0.1
_PIECES = 18_000
_GROWTH_BYTES = 8_000_000  # of a producer: less than what one more page of the feed would take


@dataclass(slots=True)
class Samples:
    """A source's depths over time."""

    depths: list[int] = field(default_factory=list)

    @property
    def most(self) -> int:
        return max(self.depths, default=0)

    def resumed(self) -> int:
        """How often more came after the depth had gone below the low mark."""
        rises, was_low = 0, True
        for depth in self.depths:
            if was_low and depth > HIGH:
                rises, was_low = rises + 1, False
            elif depth < LOW:
                was_low = True
        return max(0, rises - 1)


@contextmanager
def sampled(scene: Scene, source: str, kind: Kind | None = None) -> Iterator[Samples]:
    """What a source has open besides its feed's pages, or ready in one lane, looked at ten times a
    second: in the queues themselves, since a process's own answer may be a second old."""
    samples, stop = Samples(), threading.Event()
    thread = threading.Thread(target=_look, args=(scene, source, kind, samples, stop), daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join(10)


def _look(
    scene: Scene, source: str, kind: Kind | None, samples: Samples, stop: threading.Event
) -> None:
    kinds = (Kind.FRAGMENT, Kind.MANIFEST, Kind.IMAGE) if kind is None else (kind,)
    ledger = RedisLedger(scene.redis_url)
    with opened(scene.rabbitmq_url, "bench") as connection:
        channel = connection.channel()
        declare(channel, [source])
        while not stop.wait(_SAMPLED_EVERY_S):
            work = ledger.open_work(source) if kind is None else OpenWork(0, 0)
            ready = sum(
                channel.queue_declare(lane(source, one), passive=True).method.message_count
                for one in kinds
            )
            samples.depths.append(ready + work.leased + work.delayed - work.pages)
    ledger.close()


def run(world: World) -> list[Row]:
    """The big feed, then the long videos."""
    return [*_big_feed(world), *_long_videos(world)]


# --- a big feed ---


def _big_feed(world: World) -> list[Row]:
    pages = ITEMS // PAGE
    settings = _settings(
        world, {"big": (_RATE, pages, PAGE, "image"), "other": (200.0, 4, 50, "image")}
    )
    seconds = world.seconds(75.0, 30.0)
    with world.scene("big", settings) as scene, sampled(scene, "big") as samples:
        scene.start_workers(PROCESSES, THREADS)
        producers = [scene.start(BIN / "headrace", "produce", log=f"p{n}.log") for n in range(2)]
        begun = time.monotonic()
        other_done = came(lambda: world.host.counts("other").arrived >= 204, 40)
        other_s = time.monotonic() - begun
        time.sleep(max(0.0, 10.0 - other_s))
        before = _memory(producers)
        time.sleep(seconds)
        grown = _memory(producers) - before
        done = world.host.counts("big").arrived
        held = sum(_held(scene, n) for n in range(2))
    bound = HIGH + PAGE + PROCESSES * (SLOTS + 1)
    return [
        Row(
            5,
            f"{ITEMS:,} items, workers at {_RATE:g}/s, two producers: the greatest depth",
            f"{samples.most} (high water {HIGH} + a page {PAGE} + prefetch = {bound}, "
            f"{len(samples.depths)} samples)",
            0 < samples.most <= bound,
        ),
        Row(
            5,
            "  it goes on below low water",
            f"{samples.resumed()} times, {done:,} requests, {held} runs held by the producers",
            samples.resumed() >= 1,
        ),
        Row(
            5,
            f"  the producers' memory over {seconds:.0f} s",
            f"{grown / 1e6:+.1f} MB of {before / 1e6:.0f} MB",
            grown < _GROWTH_BYTES,
        ),
        Row(
            5,
            "  another source's 204 requests meanwhile",
            f"{other_s:.1f} s",
            other_done and other_s < 30,
        ),
    ]


def _memory(producers: list[subprocess.Popen[bytes]]) -> int:
    return sum(rss_bytes(producer.pid) for producer in producers)


def _held(scene: Scene, number: int) -> int:
    text = (scene.folder / f"p{number}.log").read_text(errors="replace")
    return sum("tasks open and passed" in line for line in text.splitlines())


def _settings(world: World, sources: dict[str, tuple[float, int, int, str]]) -> str:
    """Sources with a feed each, asked every two seconds: rate, pages, items a page, what."""
    text = f"{FETCH}[backpressure]\nhigh_water = {HIGH}\nlow_water = {LOW}\n"
    for name, (rate, pages, items, what) in sources.items():
        address = world.host.feed(name, name, pages=pages, items=items, what=what)
        text += (
            f"[sources.{name}]\nadapter = 'jsonfeed'\nrate = {rate}\nburst = 20\n"
            f"concurrency = {SLOTS}\n"
            f"[feeds.{name}]\nsource = '{name}'\naddress = {json.dumps(address)}\nevery = 2\n"
        )
    return text


# --- long videos ---


def _long_videos(world: World) -> list[Row]:
    """A video of so many pieces is let in whole; one that comes later waits, and so does one that
    comes at the same moment."""
    pieces = 2_000 if world.quick else _PIECES
    one_by_one = {"films": (20.0, 1, 1, f"film:{pieces}")}
    together = {"films": (20.0, 1, 2, f"film:{pieces}")}
    return [
        _films(world, pieces, one_by_one, "a video of {:,} pieces, later a second one"),
        _films(world, pieces, together, "two videos of {:,} pieces at the same moment"),
    ]


def _films(
    world: World, pieces: int, sources: dict[str, tuple[float, int, int, str]], what: str
) -> Row:
    second = world.host.feed("films", "second", pages=1, items=1, what=f"film:{pieces}")
    settings = _settings(world, sources) + (
        f"[feeds.second]\nsource = 'films'\naddress = {json.dumps(second)}\n"
    )
    with (
        world.scene("films", settings) as scene,
        sampled(scene, "films", Kind.FRAGMENT) as samples,
    ):
        scene.start_workers(PROCESSES, THREADS)
        scene.submit("films")
        least = pieces * 9 // 10
        scene.wait_for(lambda: samples.most >= least, 180, f"{least} pieces in their lane")
        scene.submit("second")
        time.sleep(world.seconds(25.0, 18.0))
        manifests = [a for a in world.host.log("films") if a.path.endswith("index.m3u8")]
    return Row(
        5,
        f"{what.format(pieces)}: most in the lane, manifests read",
        f"{samples.most:,} (at last {samples.depths[-1]:,}), {len(manifests)}",
        least <= samples.most <= pieces and len(manifests) == 1,
    )
