"""Promise 2: one halving an event, silence until the time that the source named, and back up in
steps, never above the rate. Time is scaled: the window between two steps is shortened."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from email.utils import formatdate

from scripts.bench.budget_proofs.bound import TOLERANCE, Terms
from scripts.bench.budget_proofs.exact import FETCH, feed_settings
from scripts.bench.budget_proofs.host_server import Arrival
from scripts.bench.budget_proofs.recording import CLIMB_S
from scripts.bench.budget_proofs.rows import Row
from scripts.bench.budget_proofs.scene import Scene, came
from scripts.bench.budget_proofs.windows import MICRO, NANO, tightest
from scripts.bench.budget_proofs.world import World

IN_FLIGHT = 64
RETRY_AFTER_S = 3
TERMS = Terms(40.0, 64)
_STEPS = (0.5, 0.625, 0.75, 0.875, 1.0)
_ROOM = 0.12  # of a step's rate: what its few seconds can be told apart by
_SLOWED = "is slowed to"  # the log line of an event


def run(world: World) -> list[Row]:
    """The 429s with a climb; trouble of several tasks; one broken address."""
    return [*_refused(world), *_dates(world), *_in_trouble(world), *_one_broken(world)]


def _settings(world: World, *feeds: tuple[str, int, str], retries: str = "") -> str:
    """One source with these feeds: name, items, what they show."""
    addresses = {
        name: world.host.feed("slow", name, pages=1, items=items, what=what)
        for name, items, what in feeds
    }
    return (
        f"{FETCH}{retries}[sources.slow]\nadapter = 'jsonfeed'\nrate = {TERMS.rate}\n"
        f"burst = {TERMS.burst}\nconcurrency = {IN_FLIGHT // 2}\n"
        f"{feed_settings('slow', addresses)}"
    )


# --- 429 ---


def _refused(world: World) -> list[Row]:
    """Sixty-four requests wait for their answers; all get «slower» in the same moment. A second
    group of workers starts while the source is blocked."""
    climb_s = world.seconds(6.0, 4.0)
    items = round(IN_FLIGHT + TERMS.rate * climb_s * 7)
    settings = _settings(world, ("many", items, "image"))
    with world.scene("refused", settings) as scene:
        scene.configure(settings, **{CLIMB_S: str(climb_s)})
        world.host.behave("slow", gate=IN_FLIGHT, status=429, retry_after=str(RETRY_AFTER_S))
        scene.start_workers(2, IN_FLIGHT // 2 + 1)
        scene.submit("many")
        scene.wait_for(lambda: bool(_with(429, world)), 60, f"{IN_FLIGHT} requests in flight")
        scene.start_workers(2, IN_FLIGHT // 2 + 1)
        time.sleep(RETRY_AFTER_S + climb_s * 5.5)
        standing, log = scene.standing("slow"), world.host.media_log("slow")
        shown = scene.status("slow")["budget"]["slowdowns"]
        events = scene.said(_SLOWED)
        return [
            Row(
                2,
                f"{len([a for a in log if a.status == 429])} answers 429 in one moment: halvings",
                f"{standing.slowdowns}; log lines {events}; in status {shown}",
                standing.slowdowns == events == shown == 1,
            ),
            _silence(log),
            *_climb(log, climb_s, standing.pace),
            _never_above(scene),
        ]


def _with(status: int, world: World) -> list[Arrival]:
    return [arrival for arrival in world.host.media_log("slow") if arrival.status == status]


def _silence(log: Sequence[Arrival]) -> Row:
    """From the last answer on nothing goes out, for as long as the first one said."""
    answered = [arrival.answered_ns for arrival in log if arrival.status == 429]
    named = min(answered) + RETRY_AFTER_S * NANO
    early = [a for a in log if max(answered) < a.at_ns < named]
    first = min((a.at_ns for a in log if a.at_ns > max(answered)), default=0)
    waited_s = (first - min(answered)) / NANO
    return Row(
        2,
        f"requests before the {RETRY_AFTER_S} s of Retry-After were over",
        f"{len(early)}; the first after {waited_s:.2f} s",
        not early and RETRY_AFTER_S <= waited_s < RETRY_AFTER_S + 3,
    )


def _climb(log: Sequence[Arrival], climb_s: float, pace: float) -> list[Row]:
    """The rate in each window after the block, by workers old and new."""
    answered = max(arrival.answered_ns for arrival in log if arrival.status == 429)
    after = [arrival.at_ns for arrival in log if arrival.at_ns > answered]
    windows = [after[0] + round(n * climb_s * NANO) for n in range(len(_STEPS) + 1)]
    rates = [
        sum(begin <= at < end for at in after) / climb_s
        for begin, end in itertools.pairwise(windows)
    ]
    steps = [step * TERMS.rate for step in _STEPS]
    near = all(abs(r - s) <= _ROOM * s for r, s in zip(rates, steps, strict=True))
    return [
        Row(
            2,
            f"requests/s in windows of {climb_s:g} s (scaled), 2 workers old and 2 new",
            f"{', '.join(f'{rate:.1f}' for rate in rates)} (steps {', '.join(map(_short, steps))})",
            near and pace == 1.0,
        )
    ]


def _short(number: float) -> str:
    return f"{number:g}"


def _never_above(scene: Scene) -> Row:
    found = tightest(scene.grants("slow"), rate=TERMS.rate, burst=TERMS.burst, ticks_per_s=MICRO)
    return Row(
        2,
        "grants over all of it, at most b + r·t",
        f"{float(found.over):+.2f}",
        float(found.over) <= TOLERANCE,
    )


def _dates(world: World) -> list[Row]:
    """Retry-After as a date, one ahead and one that is past: then the backoff alone counts, which
    doubles with each slowdown in a row and is jittered down to its half."""
    ahead_s = 4
    with world.scene("dates", _settings(world, ("many", 400, "image"))) as scene:
        world.host.behave("slow", latency_s=0.02)
        scene.start_workers(2, IN_FLIGHT // 2 + 1)
        scene.submit("many")
        scene.wait_for(lambda: len(world.host.media_log("slow")) > 20, 60, "work under way")
        past_s = _silent_s(world, scene, "Wed, 21 Oct 2015 07:28:00 GMT")
        date = formatdate(time.time() + ahead_s, usegmt=True)
        date_s = _silent_s(world, scene, date)
    return [
        Row(
            2,
            f"Retry-After a date that is past, a date {ahead_s} s ahead: silence",
            f"{past_s:.1f} s, {date_s:.1f} s",
            0.4 <= past_s < 2.5 and ahead_s - 1.2 <= date_s < ahead_s + 2,
        )
    ]


def _silent_s(world: World, scene: Scene, retry_after: str) -> float:
    """One request is answered so: until the next one that was not under way then."""
    before = len(_with(429, world))
    world.host.behave("slow", latency_s=0.02, status=429, retry_after=retry_after, times=1)
    scene.wait_for(lambda: len(_with(429, world)) > before, 30, "a 429")
    refused_ns = _with(429, world)[-1].answered_ns

    def later() -> list[int]:
        grace_ns = refused_ns + NANO // 4
        return [a.at_ns for a in world.host.media_log("slow") if a.at_ns > grace_ns]

    scene.wait_for(lambda: bool(later()), 60, "work after the block")
    return (later()[0] - refused_ns) / NANO


# --- trouble ---

_QUICK_RETRIES = "[retries]\nmax_attempts = 3\nbase_s = 0.1\nfloor_s = 0.1\n"


def _in_trouble(world: World) -> list[Row]:
    """Sixteen tasks get a 500 at the same time: the source is in trouble, not they."""
    with world.scene("trouble", _settings(world, ("some", 40, "image"))) as scene:
        world.host.behave("slow", gate=16, status=500)
        scene.start_workers(2, IN_FLIGHT // 2 + 1)
        scene.submit("some")
        scene.wait_for(lambda: bool(_with(500, world)), 60, "requests in flight")
        time.sleep(2.0)
        standing = scene.standing("slow")
        scene.wait_for(lambda: scene.got() >= 40, 90, "the rest of the feed")
        return [
            Row(
                2,
                "16 answers 500 to distinct tasks: halvings, pace, blocked",
                f"{standing.slowdowns}, {standing.pace:g}, {standing.blocked_s:.1f} s",
                standing.slowdowns == 1 and standing.pace == 0.5 and standing.blocked_s > 0,
            )
        ]


def _one_broken(world: World) -> list[Row]:
    """One address that is always broken, while the others are well."""
    settings = _settings(world, ("most", 60, "onebroken"), retries=_QUICK_RETRIES)
    with world.scene("broken", settings) as scene:
        world.host.behave("slow", latency_s=0.05)
        scene.start_workers(2, IN_FLIGHT // 2 + 1)
        scene.submit("most")
        ended = came(lambda: scene.got() >= 60, 60)
        standing = scene.standing("slow")
        return [
            Row(
                2,
                f"one broken address asked for {len(_with(500, world))} times: halvings",
                f"{standing.slowdowns}, pace {standing.pace:g}",
                ended and standing.slowdowns == 0 and standing.pace == 1.0,
            )
        ]
