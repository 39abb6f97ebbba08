"""Second looks that outlast a step: the next run goes on where the last one stopped."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from core import errors
from core.budget.budget import TokenBudget
from core.fetch.fetcher import Fetcher
from core.model.request import Request
from core.model.source import SourceTerms
from core.settings import FetchSettings
from core.sources import adapter
from core.sources.adapter import Ask
from core.steps.asking import going_on, page_request
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.site import Site, answer, whole
from tests.support.store import FEED, open_store

LOOKS = 12
TOKEN = "a-token-nobody-may-see"
NOT_YET = (errors.BudgetSpent, errors.Released)  # neither is charged: back to the lane's head
Body = Callable[[Ask], object]


class World:
    """A site, a budget on given time, and one page of a walk."""

    def __init__(self, root: Path, site: Site, *, hand_over_s: float = 4.0) -> None:
        self.root, self.site = root, site
        self.clock = FakeClock()
        self.store = open_store(root)
        (root / "walks" / FEED / "w1").mkdir(parents=True)
        self.kept = self.store.looks.of(FEED, "w1", 1)
        self.terms = SourceTerms(
            "mill",
            rate=2.0,
            burst=1,
            secret_headers={"Authorization": f"Bearer {TOKEN}"},
            secret_hosts=("127.0.0.1",),
        )
        settings = FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0, hand_over_s=hand_over_s)
        stop = threading.Event()
        budget = TokenBudget.memory(self.clock)
        self.fetcher = Fetcher(settings, budget, self.clock, stop, lambda: 10**12)
        self.progress = 0
        site.serve("/page", b"page")
        for number in range(LOOKS):
            site.serve(f"/look/{number}", f"look {number}".encode(), etag=f'"{number}"')

    def run(self, complete: Body) -> object:
        """One run of the page's task."""
        with self.fetcher.visit(self.terms) as visit:
            visit.page(Request(self.site.url("/page")))
            with going_on(visit, self.clock, self.kept, self._went_on) as ask:
                return complete(ask)

    def _went_on(self, size_bytes: int) -> None:
        self.progress += size_bytes

    def runs(self, complete: Body) -> tuple[object, int]:
        """What comes out in the end, and after how many runs."""
        for number in range(1, 20):
            try:
                return self.run(complete), number
            except NOT_YET:
                self.clock.advance(1.0)
        raise AssertionError("the page is read for ever")

    def looks(self) -> list[str]:
        return [seen.path for seen in self.site.requests if seen.path != "/page"]

    def files(self) -> list[Path]:
        return [*self.root.rglob("*.looks")]


@pytest.fixture
def world(tmp_path):
    with Site() as site:
        world = World(tmp_path, site)
        yield world
        world.fetcher.close()
        world.store.close()


def all_of(world: World) -> Body:
    """Looks at everything, in order."""

    def complete(ask: Ask) -> list[bytes]:
        urls = [world.site.url(f"/look/{number}") for number in range(LOOKS)]
        return [ask(Request(url)).stream.read() for url in urls]

    return complete


def test_a_page_whose_looks_outlast_a_step_is_read_in_a_few_runs_each_look_once(world):
    found, runs = world.runs(all_of(world))

    assert found == [f"look {number}".encode() for number in range(LOOKS)]
    assert runs == 2
    assert world.looks() == [f"/look/{number}" for number in range(LOOKS)]
    assert world.files() == []


def test_what_was_answered_counts_as_progress(world):
    with pytest.raises(NOT_YET):
        world.run(all_of(world))

    assert world.progress == 7 * len(b"look 0")  # at 2 a second, one of 8 tokens went for the page


def test_slow_answers_end_a_step_in_time_too(world):
    def slow(exchange) -> None:
        world.clock.advance(3.0)
        exchange.answer(200, body=b"at last")

    for number in range(LOOKS):
        world.site.on(f"/look/{number}", slow)

    with pytest.raises(NOT_YET):
        world.run(all_of(world))
    found, _ = world.runs(all_of(world))

    assert len(found) == len(world.looks()) == LOOKS


def test_where_the_page_takes_all_of_a_steps_time_each_run_gets_one_look_more(world):
    def slow(exchange) -> None:
        world.clock.advance(3.9)
        exchange.answer(200, body=b"at last")

    world.site.on("/page", slow)

    _, runs = world.runs(all_of(world))

    assert runs == LOOKS
    assert len(world.looks()) == LOOKS


def test_what_is_kept_tells_the_same_as_the_answer_did(world):
    def complete(ask: Ask) -> dict[str, object]:
        one = ask(Request(world.site.url("/look/0")))
        all_of(world)(ask)
        return {"body": one.stream.read(), "etag": one.headers["ETAG"], "status": one.status}

    found, runs = world.runs(complete)

    assert runs > 1
    assert found == {"body": b"look 0", "etag": '"0"', "status": 200}


def test_a_refusal_that_the_adapter_went_on_from_is_not_asked_for_again(world):
    world.site.on("/look/3", answer(404))

    def complete(ask: Ask) -> list[object]:
        found: list[object] = []
        for number in range(LOOKS):
            try:
                found.append(ask(Request(world.site.url(f"/look/{number}"))).stream.read())
            except errors.Gone as gone:
                found.append((gone.reason, gone.http_status))
        return found

    found, runs = world.runs(complete)

    assert runs > 1
    assert found[3] == ("gone", 404)
    assert world.looks().count("/look/3") == 1


def test_what_ended_a_run_is_asked_for_anew(world):
    world.site.on("/look/2", answer(500), whole(b"look 2"))

    with pytest.raises(errors.ServerTrouble):
        world.run(all_of(world))
    world.clock.advance(10.0)
    found, _ = world.runs(all_of(world))

    assert found[2] == b"look 2"
    assert world.looks().count("/look/1") == 1


def test_an_answer_that_the_adapter_could_not_use_is_asked_for_anew(world):
    world.site.on("/look/2", whole(b'{"cut'), whole(b"{}"))

    def complete(ask: Ask) -> object:
        for number in range(2):
            ask(Request(world.site.url(f"/look/{number}")))
        try:
            return json.load(ask(Request(world.site.url("/look/2"))).stream)
        except ValueError as error:
            raise errors.Truncated("cut") from error

    with pytest.raises(errors.Truncated):
        world.run(complete)

    assert world.run(complete) == {}
    assert world.looks().count("/look/0") == 1


def test_the_same_asked_twice_is_two_answers(world):
    world.site.on("/look/0", answer(500), whole(b"look 0"))

    def complete(ask: Ask) -> bytes:
        request = Request(world.site.url("/look/0"))
        with pytest.raises(errors.ServerTrouble):
            ask(request)
        found = ask(request).stream.read()
        all_of(world)(ask)
        return found

    found, runs = world.runs(complete)

    assert runs > 1
    assert found == b"look 0"


def test_what_is_older_than_a_day_is_asked_for_again(world):
    with pytest.raises(NOT_YET):
        world.run(all_of(world))
    world.clock.advance(90_000.0)
    world.runs(all_of(world))

    assert world.looks().count("/look/0") == 2


def test_a_file_that_a_crash_tore_costs_its_looks_and_nothing_else(world):
    with pytest.raises(NOT_YET):
        world.run(all_of(world))
    (file,) = world.files()
    file.write_bytes(file.read_bytes()[:100])

    found, _ = world.runs(all_of(world))

    assert len(found) == LOOKS


def test_no_secret_is_kept_and_nobody_else_may_read_what_is(world):
    told = json.dumps({"next": f"https://x.example/?access_token={TOKEN}", "ü": 1}).encode()
    world.site.serve("/look/0", told, etag=f'"{TOKEN}"')

    with pytest.raises(NOT_YET):
        world.run(all_of(world))
    (file,) = world.files()
    kept = [*world.kept.read().answers.values()]
    bodies = [base64.b64decode(one.body) for one in kept]

    assert told.replace(TOKEN.encode(), b"***") in bodies
    assert not [one for one in kept if TOKEN in one.model_dump_json()]
    assert file.stat().st_mode & 0o077 == 0


def test_an_address_that_its_adapter_refuses_ends_the_walk_with_its_words() -> None:
    pasted = "https://graph.facebook.com/v27.0/1/posts?access_token=T"

    with pytest.raises(errors.Unsupported, match="put it into `token` in the settings"):
        page_request(adapter("facebook"), pasted, None)
