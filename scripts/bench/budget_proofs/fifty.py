"""Promise 7: fifty sources cost a worker no more threads, connections or memory than two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scripts.bench.budget_proofs.exact import FETCH, feed_settings
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import came, rss_bytes, sockets_of, threads_of
from scripts.bench.budget_proofs.world import World

PROCESSES, THREADS = 2, 16
FEW, ENOUGH, MANY = 2, 10, 50  # `ENOUGH`: more than a thread keeps connections for
_FILES = 3000  # in all, however many sources they come from
_SESSIONS = 8  # that a thread keeps; each has one connection to its host
_MORE_MEMORY = 1.15
_SOCKETS_ROOM = 4  # one that is closed or opened just now; a thread that met few sources yet


@dataclass(frozen=True, slots=True)
class Size:
    """A worker process at work, the largest of each."""

    threads: int
    sockets: int
    rss_bytes: int
    rabbitmq: int  # connections of all processes


def run(world: World) -> list[Row]:
    """The same work from two sources, from ten and from fifty."""
    files = 1000 if world.quick else _FILES
    few, enough, many = (_size(world, sources, files) for sources in (FEW, ENOUGH, MANY))
    sizes = (few, enough, many)
    return [
        Row(
            7,
            f"{FEW}, {ENOUGH}, {MANY} sources: threads of a worker",
            _each(str(size.threads) for size in sizes),
            many.threads <= few.threads + 1,
        ),
        Row(
            7,
            f"  sockets of a worker (a thread keeps {_SESSIONS} sources' connections)",
            _each(str(size.sockets) for size in sizes),
            many.sockets <= enough.sockets + _SOCKETS_ROOM
            and many.sockets <= few.sockets + (_SESSIONS - FEW) * THREADS + _SOCKETS_ROOM,
        ),
        Row(
            7,
            "  connections to RabbitMQ, all workers",
            _each(str(size.rabbitmq) for size in sizes),
            many.rabbitmq <= few.rabbitmq + 1,  # an idle publisher's may be closed just now
        ),
        Row(
            7,
            "  memory of a worker",
            _each(f"{size.rss_bytes / 1e6:.0f} MB" for size in sizes),
            many.rss_bytes <= few.rss_bytes * _MORE_MEMORY,
        ),
    ]


def _each(figures: Iterable[str]) -> str:
    return ", ".join(figures)


def _size(world: World, sources: int, files: int) -> Size:
    names = [f"s{number:02d}" for number in range(sources)]
    each = files // sources
    text = FETCH
    for name in names:
        address = world.host.feed(name, name, pages=1, items=each)
        text += (
            f"[sources.{name}]\nadapter = 'jsonfeed'\nrate = 500.0\nburst = 50\n"
            f"{feed_settings(name, {name: address})}"
        )
    with world.scene(f"of-{sources}", text) as scene:
        pids = scene.start_workers(PROCESSES, THREADS)
        scene.submit(*names)
        scene.wait_for(lambda: scene.got() >= each * sources * 9 // 10, 120, "the files")
        size = Size(
            max(threads_of(pid) for pid in pids),
            max(sockets_of(pid) for pid in pids),
            max(rss_bytes(pid) for pid in pids),
            scene.counters.connections(),
        )
        came(lambda: scene.got() >= each * sources, 60)
        return size
