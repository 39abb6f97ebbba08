"""Promise 1: never over, hardly ever under. Four processes on a source, at four rates and three
latencies; retries, redirects, feed pages, manifests and keys among the requests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.bench.budget_proofs.bound import Terms, judge, seen, used
from scripts.bench.budget_proofs.counters import Counted
from scripts.bench.budget_proofs.recording import Said
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import Scene
from scripts.bench.budget_proofs.world import World

PROCESSES = 4
SLOTS = 15  # a process: 60 together
LATENCIES_MS = (5, 50, 500)
LEAST_USED = 0.98
WARM_S = 4.0  # until the burst that gathered while nothing was known is spent
FIRST_TOKEN_S = 5.0  # no thread waits longer for one
_PAGE = 250
_MOST_CALLS = (
    6.0  # of the budget a token: one or two that are granted, and looks that come too early
)


@dataclass(frozen=True, slots=True)
class Case:
    """A source at a rate, at a latency."""

    terms: Terms
    latency_ms: int
    slots: int = PROCESSES * SLOTS

    @property
    def source(self) -> str:
        return f"r{self.terms.rate:g}-l{self.latency_ms}".replace(".", "_")

    @property
    def possible(self) -> float:
        """Requests a second: the lesser of the rate and what the slots can do."""
        return min(self.terms.rate, self.slots / (self.latency_ms / 1000))

    @property
    def full_s(self) -> float:
        """Until an empty bucket holds its burst."""
        return self.terms.burst / self.terms.rate

    def settings(self) -> str:
        return (
            f"[sources.{self.source}]\nadapter = 'jsonfeed'\nrate = {self.terms.rate}\n"
            f"burst = {self.terms.burst}\nconcurrency = {SLOTS}\n"
        )


def cases(rate: float, burst: int) -> list[Case]:
    """One a latency."""
    return [Case(Terms(rate, burst), latency) for latency in LATENCIES_MS]


def run(world: World) -> list[Row]:
    """Every rate and latency."""
    rows = _half(world, cases(0.5, 5), world.seconds(75, 36))
    rows += _whole(world, "five", cases(5, 10), world.seconds(45, 18))
    for case in cases(50, 20):
        rows += _whole(world, f"fifty-{case.latency_ms}", [case], world.seconds(25, 12))
    for case in cases(400, 50):
        rows.append(visits(world, case, world.seconds(15, 8)))
    return rows


def _half(world: World, chosen: list[Case], seconds: float) -> list[Row]:
    """Half a request a second, and sixty slots that want more: what circulates is counted too."""
    sources = [case.source for case in chosen]
    with world.scene("half", _settings(world, chosen, seconds, "image")) as scene:
        _begin(world, scene, chosen)
        before = scene.counters.read(*sources)  # with the feeds' own tasks published, once each
        span = _watch(seconds)
        counted = scene.counters.read(*sources).since(before)
        scene.end()
        rows = [judged_row(world, scene, case, span, "whole tasks") for case in chosen]
        asked = [answer for source in sources for answer in scene.answers(source)]
        return [*rows, *_circulation(counted, asked, span[0], seconds)]


def _circulation(
    counted: Counted, asked: Sequence[Said], begin_us: int, seconds: float
) -> list[Row]:
    calls = [answer for answer in asked if answer.at_us >= begin_us]
    tokens = sum(answer.verdict == "granted" for answer in calls)
    wait_s = max((c.wait_us for c in asked if c.verdict == "reserved"), default=0) / 1_000_000
    out_of_order = overtaken(asked)
    what = f"r 0.5/s, 60 slots, {seconds:.0f} s:"
    copies = f"{counted.published} copies, {counted.redelivered} redelivered, {tokens} tokens"
    return [
        Row(
            1,
            f"{what} copies published per token",
            f"{counted.published / max(1, tokens):.2f} ({copies})",
            counted.published + counted.redelivered <= 0.1 * tokens,
        ),
        Row(
            3,
            f"{what} questions to the budget per token",
            f"{len(calls) / max(1, tokens):.1f}",
            0 < len(calls) <= _MOST_CALLS * tokens,
        ),
        Row(
            3,
            f"{what} longest wait for a token, tokens out of order",
            f"{wait_s:.2f} s, {out_of_order}",
            wait_s <= FIRST_TOKEN_S and not out_of_order,
        ),
    ]


def overtaken(asked: Sequence[Said]) -> int:
    """How many tokens of a bucket were granted after one that was promised later. Of several
    buckets, all together."""
    places: dict[str, int] = {}
    newest: dict[str, int] = {}
    count = 0
    for answer in sorted(asked):
        if answer.verdict == "reserved":
            places.setdefault(answer.ticket, len(places))
        elif answer.verdict == "granted" and answer.ticket in places:
            place = places[answer.ticket]
            count += place < newest.get(answer.bucket, -1)
            newest[answer.bucket] = max(place, newest.get(answer.bucket, -1))
    return count


def _whole(world: World, name: str, chosen: list[Case], seconds: float) -> list[Row]:
    """Whole tasks of every kind on RabbitMQ; sources that are slow enough share one run."""
    with world.scene(name, _settings(world, chosen, seconds, "mix")) as scene:
        _begin(world, scene, chosen)
        span = _watch(seconds)
        scene.end()
        return [judged_row(world, scene, case, span, "whole tasks") for case in chosen]


def _begin(world: World, scene: Scene, chosen: Sequence[Case]) -> None:
    """Workers whose buckets are full when their work comes: the bound is met at its edge."""
    for case in chosen:
        world.host.behave(case.source, latency_s=case.latency_ms / 1000)
    scene.start_workers(PROCESSES, SLOTS + 1)
    scene.submit(*(f"{case.source}-first" for case in chosen))
    scene.wait_for(lambda: all(len(scene.grants(c.source)) > 1 for c in chosen), 60, "grants")
    time.sleep(max(case.full_s for case in chosen) + 1.0)
    scene.submit(*(case.source for case in chosen))
    scene.wait_for(lambda: all(len(scene.grants(c.source)) > 3 for c in chosen), 60, "grants")


def _settings(world: World, chosen: Sequence[Case], seconds: float, what: str) -> str:
    """The cases' sources; of each a feed with enough in it, and one that opens its bucket."""
    text = FETCH
    for case in chosen:
        wanted = case.terms.burst + case.terms.rate * (seconds + 30)
        pages = max(1, round(wanted / _PAGE + 0.5))
        items = _PAGE if pages > 1 else max(80, round(wanted))
        feeds = {
            case.source: world.host.feed(case.source, "bench", pages=pages, items=items, what=what),
            f"{case.source}-first": world.host.feed(case.source, "first", pages=1, items=1),
        }
        text += case.settings() + feed_settings(case.source, feeds)
    return text


FETCH = "[fetch]\nallow_networks = ['127.0.0.0/8']\n"


def feed_settings(source: str, feeds: dict[str, str]) -> str:
    """Feeds of a source: their addresses by their names."""
    return "".join(
        f"[feeds.{name}]\nsource = '{source}'\naddress = '{address}'\n"
        for name, address in feeds.items()
    )


def _watch(seconds: float) -> tuple[int, int]:
    """Let it run; from when to when it counts, in microseconds."""
    begin = time.time_ns() // 1000 + round(WARM_S * 1_000_000)
    time.sleep(WARM_S + seconds)
    return begin, time.time_ns() // 1000


def judged_row(world: World, scene: Scene, case: Case, span: tuple[int, int], how: str) -> Row:
    """The bound, exactly, and the use between two moments."""
    traffic = seen(world.host, scene.folder, case.source)
    judged = judge(traffic, case.terms)
    share = used(traffic.grants_us, *span, case.possible, case.slots)
    return Row(
        1,
        f"r {case.terms.rate:g}/s, b {case.terms.burst}, {case.latency_ms} ms, {how}",
        f"{share:.1%} of {case.possible:g}/s; {judged}",
        judged.held and share >= LEAST_USED,
    )


def visits(world: World, case: Case, seconds: float) -> Row:
    """Visits alone: two cores do not carry so many whole tasks."""
    with world.scene(f"visits-{case.latency_ms}", FETCH + case.settings()) as scene:
        world.host.behave(case.source, latency_s=case.latency_ms / 1000)
        url = f"{world.host.address}/{case.source}/image"
        scene.fetchers(
            case.source, url, processes=PROCESSES, threads=SLOTS, seconds=WARM_S + seconds
        )
        grants = scene.grants(case.source)
        end = grants[-1] - 500_000  # before the crew went home
        begin = end - round((seconds - 1.0) * 1_000_000)
        return judged_row(world, scene, case, (begin, end), "visits only")
