"""Sources and a machine in trouble, through the whole performer on given time: what slows down,
what waits, what is paid for, and that work goes on by itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from core import errors
from core.model.source import SourceTerms
from core.ports import BucketKey
from tests.support.site import Exchange, Site, answer, hang, whole
from tests.support.troubled import Troubled

HOUR_S = 3600.0


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def mill_of(site: Site, folder: Path, **terms: Any) -> Troubled:
    fields: dict[str, Any] = {"rate": 10.0, "burst": 20} | terms
    return Troubled(folder, site.url, SourceTerms("feed", **fields))


@pytest.fixture
def mill(site: Site, tmp_path: Path) -> Iterator[Troubled]:
    made = mill_of(site, tmp_path)
    yield made
    made.close()


def paths(count: int, kind: str = "p") -> list[str]:
    return [f"/{kind}{number}" for number in range(count)]


def serve(site: Site, *served: str) -> None:
    for path in served:
        site.serve(path, b"x")


def slowdowns(mill: Troubled, bucket: str = "feed") -> int:
    standing = mill.budget.standing(bucket)
    assert standing is not None
    return standing.slowdowns


def pace(mill: Troubled, bucket: str = "feed") -> float:
    standing = mill.budget.standing(bucket)
    assert standing is not None
    return standing.pace


# --- offline ---


@pytest.mark.parametrize("many_hosts", [False, True])
@pytest.mark.parametrize("before", [0, 5])
def test_an_hour_offline_buries_nothing_and_work_goes_on_after(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, *, many_hosts: bool
) -> None:
    mill = mill_of(site, tmp_path, many_hosts=many_hosts)
    mill.cut_off(monkeypatch)
    serve(site, *paths(60))
    mill.add(*paths(before))
    mill.run()
    mill.is_online = False
    mill.hang_up()
    mill.connects.clear()
    mill.add(*paths(60)[before:])

    began = mill.clock.now()
    mill.run(until=began + HOUR_S)
    tried = list(mill.connects)
    mill.is_online = True
    mill.run(until=began + HOUR_S + 900.0)
    mill.close()

    assert mill.buried == []
    assert len(mill.done) == 60
    assert 10 <= len(tried) <= 30, "the source blocks, and probes with one task at a time"
    assert max(mill.attempts.values()) <= 1, "two attempts are paid for before it is known"


def test_an_hour_offline_with_two_tasks_left_and_no_route_buries_neither(
    mill: Troubled, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(site, "/a", "/b", "/c")
    mill.add("/a")
    mill.run()

    def no_route(*_: object) -> None:
        raise OSError(101, "Network is unreachable")

    mill.hang_up()
    with monkeypatch.context() as patch:
        patch.setattr("core.fetch.connection.Door._connect", no_route)
        mill.add("/b", "/c")
        mill.run(until=mill.clock.now() + HOUR_S)
    mill.run(until=mill.clock.now() + 900.0)

    assert mill.buried == []
    assert len(mill.done) == 3


# --- «slower» ---


def test_64_answers_of_429_are_one_halving_and_one_line(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    mill = mill_of(site, tmp_path, rate=1000.0, burst=64)
    everybody = threading.Barrier(64)

    def slower(exchange: Exchange) -> None:
        everybody.wait(30)
        exchange.answer(429, {"Retry-After": "8"})

    for path in paths(64):
        site.on(path, slower, whole(b"x"))
    mill.budget.take([_key(mill)], horizon_s=0.0)  # a new bucket starts empty
    mill.clock.advance(1.0)
    with ThreadPoolExecutor(64) as pool:
        told = list(pool.map(lambda path: _performed(mill, path), paths(64)))
    mill.close()

    assert all(isinstance(error, errors.Throttled) for error in told)
    assert (pace(mill), slowdowns(mill)) == (0.5, 1)
    assert [line for line in caplog.messages if "is slowed to 50 %" in line] == caplog.messages
    assert len(caplog.messages) == 1


def _key(mill: Troubled) -> BucketKey:
    return BucketKey(mill.terms.name, mill.terms.rate, mill.terms.burst)


def _performed(mill: Troubled, path: str) -> errors.HeadraceError | None:
    try:
        mill.performer.perform(mill.task(path), lambda _prompt: None)
    except errors.HeadraceError as error:
        return error
    return None


@pytest.mark.parametrize("status", [429, 503])
def test_row_12_a_date_is_waited_for_by_the_whole_source(
    mill: Troubled, site: Site, status: int
) -> None:
    """inputs.tsv row 12: «Retry-After: now + 8 s» as a date; nothing of the source goes out until
    then, and the task that was told so pays nothing."""
    told = formatdate(mill.clock.now() + 8.0, usegmt=True)
    site.on("/first", answer(status, {"Retry-After": told}), whole(b"x"))
    serve(site, *paths(5))
    mill.add("/first", *paths(5))

    began = mill.clock.now()
    mill.run(until=began + 7.0)
    before = len(site.requests)
    mill.run(until=began + 60.0)

    assert before == 1
    assert (len(mill.done), mill.attempts[mill.task("/first").id]) == (6, 0)


@pytest.mark.parametrize(
    ("told", "least_s", "most_s"),
    [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.5, 1.0),
        ("-3", 0.5, 1.0),
        ("soon", 15.0, 30.0),
        ("", 15.0, 30.0),
        ("99999999999", 86_400.0, 86_400.0),
    ],
)
def test_row_12_a_past_garbage_or_absurd_time_is_a_backoff_or_a_day(
    mill: Troubled, site: Site, told: str, least_s: float, most_s: float
) -> None:
    site.on("/", answer(429, {"Retry-After": told}))
    mill.add("/")

    mill.run(until=mill.clock.now() + 0.4)

    blocked_s = mill.budget.blocked_for("feed")
    assert least_s - 0.4 <= blocked_s <= most_s


def test_a_source_that_always_says_slower_is_asked_less_and_less_and_buries_nothing(
    mill: Troubled, site: Site
) -> None:
    for path in paths(20):
        site.on(path, answer(429))
    mill.add(*paths(20))

    mill.run(until=mill.clock.now() + HOUR_S)

    assert len(site.requests) <= 30
    assert (mill.buried, mill.done, mill.waiting) == ([], set(), 20)
    assert set(mill.attempts.values()) == {0}


def test_a_slowed_source_climbs_back_to_its_rate(mill: Troubled, site: Site) -> None:
    site.on("/first", answer(429, {"Retry-After": "2"}), whole(b"x"))
    mill.add("/first")
    mill.run()
    assert pace(mill) == 0.5

    for window in range(8):
        serve(site, *paths(3, f"w{window}-"))
        mill.add(*paths(3, f"w{window}-"))
        mill.run()
        mill.clock.advance(31.0)

    assert pace(mill) == 1.0


def test_one_host_of_a_list_that_says_slower_keeps_no_other_waiting(
    site: Site, tmp_path: Path
) -> None:
    mill = mill_of(site, tmp_path, many_hosts=True)
    for path in paths(5, "slow"):
        site.on(path, answer(429, {"Retry-After": "600"}))
    serve(site, *paths(20))
    mill.address = lambda path: site.url(path, host="localhost" if "slow" in path else None)
    mill.add(*paths(5, "slow"), *paths(20))

    mill.run(until=mill.clock.now() + 60.0)
    mill.close()
    asked = [seen for seen in site.requests if "slow" in seen.path]

    assert len(mill.done) == 20
    assert len(asked) == 1, "the host itself is left alone"
    assert mill.budget.blocked_for("feed") == 0.0
    assert pace(mill, "feed/localhost") == 0.5


# --- trouble ---


@pytest.mark.parametrize("trouble", ["500", "reset"])
def test_trouble_of_three_distinct_tasks_slows_a_source_once(
    mill: Troubled, site: Site, trouble: str
) -> None:
    behaviour = answer(500) if trouble == "500" else Exchange.reset
    for path in paths(3):
        site.on(path, behaviour)
    told = [_performed(mill, path) for path in paths(3)]

    assert all(isinstance(error, errors.Transient) for error in told[:2])
    assert (pace(mill), slowdowns(mill)) == (0.5, 1)


def test_one_broken_address_slows_nobody(mill: Troubled, site: Site) -> None:
    site.on("/broken", answer(500))
    serve(site, *paths(40))
    mill.add("/broken", *paths(40))

    mill.run()

    assert (pace(mill), slowdowns(mill)) == (1.0, 0)
    assert [error.reason for error in mill.buried] == ["server_trouble"]
    assert len(mill.done) == 40


def test_broken_addresses_among_good_ones_slow_nobody(mill: Troubled, site: Site) -> None:
    """What answers in between shows that the source is alive."""
    for number in range(10):
        site.on(f"/broken{number}", answer(500))
        serve(site, f"/p{number}")
        mill.add(f"/p{number}", f"/broken{number}")
        mill.run(until=mill.clock.now() + 0.05)

    assert slowdowns(mill) == 0


def test_a_source_that_is_down_for_a_while_is_probed_and_comes_back(
    mill: Troubled, site: Site
) -> None:
    for path in paths(40):
        site.on(path, answer(502))
    mill.add(*paths(40))
    mill.run(until=mill.clock.now() + HOUR_S / 2)
    while_down = len(site.requests)
    serve(site, *paths(40))
    mill.run(until=mill.clock.now() + HOUR_S)

    assert while_down <= 20
    assert mill.buried == []
    assert len(mill.done) == 40


def test_a_source_that_accepts_and_never_answers_is_slowed(mill: Troubled, site: Site) -> None:
    for path in paths(3):
        site.on(path, hang())
    told = []
    for path in paths(3):
        timer = threading.Timer(0.3, mill.clock.advance, [30.0])
        timer.start()
        told.append(_performed(mill, path))
        timer.join()

    assert all(isinstance(error, errors.Timeout) for error in told)
    assert pace(mill) == 0.5


# --- signed out ---


def test_an_expired_login_pauses_the_source_and_its_tasks_go_on_after(
    site: Site, tmp_path: Path
) -> None:
    secrets = {"secret_headers": {"Cookie": "login=hush"}, "secret_hosts": ("127.0.0.1",)}
    mill = mill_of(site, tmp_path, **secrets)
    for path in paths(10):
        site.on(path, answer(401))
    mill.add(*paths(10))
    mill.run(until=mill.clock.now() + 24 * HOUR_S)

    assert len(site.requests) == 1
    assert (mill.buried, mill.waiting) == ([], 10)
    assert mill.switch.pause is not None
    assert "401" in mill.switch.pause.reason

    serve(site, *paths(10))
    mill.resume()
    mill.run()
    mill.close()

    assert len(mill.done) == 10


# --- what it costs ---


def test_row_38_a_cookie_gate_is_passed_and_is_no_slower(mill: Troubled, site: Site) -> None:
    """inputs.tsv row 38: two tokens, no slowdown, no attempt."""
    gate = answer(429, {"Retry-After": "0", "Set-Cookie": "pass=1; Path=/"})
    site.on("/", gate, whole(b"in"))
    mill.add("/")
    mill.run()

    assert (len(mill.done), len(site.requests)) == (1, 2)
    assert (slowdowns(mill), mill.told) == (0, [])


def test_tasks_of_a_slowed_host_come_back_in_line_and_do_not_circulate(
    site: Site, tmp_path: Path
) -> None:
    mill = mill_of(site, tmp_path, many_hosts=True, rate=2.0, burst=2)
    site.on("/first", answer(429, {"Retry-After": "5"}), whole(b"x"))
    serve(site, *paths(200))
    mill.add("/first", *paths(200))

    mill.run()
    mill.close()

    assert len(mill.done) == 201
    assert len(mill.told) <= 3 * 201, "a task is put off about once or twice, not every few seconds"
