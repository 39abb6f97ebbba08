"""What is told of a request once it is over: to the budget, to the log, with a failure."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import pytest

from core.errors import Forbidden, Gone, HeadraceError, SignedOut, Throttled, Timeout, Truncated
from core.fetch.connection import Door
from core.fetch.fetcher import Surroundings
from core.ports import Granted
from tests.support.budget import OpenBudget
from tests.support.fetching import HeldPartial, Net, net, terms_of
from tests.support.site import Exchange, Site, answer, cut, hang, whole

SIGNED_IN = terms_of(secret_headers={"Cookie": "login=hush"}, secret_hosts=("127.0.0.1",))


def failure(ask: Callable[[], object]) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        ask()
    return caught.value


# --- 401 ---


def test_a_401_to_our_cookie_is_the_end_of_the_login(site: Site, web: Net) -> None:
    site.on("/", answer(401))

    error = failure(lambda: web.page(site.url("/"), SIGNED_IN))

    assert isinstance(error, SignedOut)
    assert "hush" not in str(error)


def test_a_401_to_a_secret_parameter_is_too(site: Site, web: Net) -> None:
    site.on("/", answer(401))
    terms = terms_of(secret_query={"key": "hush"}, secret_hosts=("127.0.0.1",))

    assert isinstance(failure(lambda: web.page(site.url("/"), terms)), SignedOut)


def test_a_401_of_a_host_that_got_no_secret_is_forbidden(site: Site, web: Net) -> None:
    site.redirect("/", site.url("/there", host="localhost"))
    site.on("/there", answer(401))

    assert isinstance(failure(lambda: web.page(site.url("/"), SIGNED_IN)), Forbidden)


def test_a_401_where_there_is_nothing_to_sign_in_with_is_forbidden(site: Site, web: Net) -> None:
    site.on("/", answer(401))
    terms = terms_of(secret_hosts=("127.0.0.1",))

    assert isinstance(failure(lambda: web.page(site.url("/"), terms)), Forbidden)


# --- with a failure ---


@pytest.mark.parametrize(
    "behaviour", [answer(500), answer(429), Exchange.reset], ids=["500", "429", "reset"]
)
def test_a_failure_names_the_bucket_and_the_era_that_paid(
    site: Site, behaviour: Callable[[Exchange], None]
) -> None:
    site.on("/", behaviour)
    with net(budget=OpenBudget(Granted(era=7))) as web:
        error = failure(lambda: web.page(site.url("/"), terms_of("list", many_hosts=True)))

    assert error.asked is not None
    assert (error.asked.bucket, error.asked.era) == ("list/127.0.0.1", 7)
    assert not error.asked.answered


def test_a_404_is_an_answer(site: Site, web: Net) -> None:
    error = failure(lambda: web.page(site.url("/")))

    assert isinstance(error, Gone)
    assert error.asked is not None
    assert error.asked.answered


def test_a_body_that_breaks_off_was_an_answer_all_the_same(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.on("/", cut(b"x" * 100, after=10))
    error = failure(lambda: web.download(site.url("/"), partial))

    assert isinstance(error, Truncated)
    assert error.asked is not None
    assert error.asked.answered


def test_a_body_that_never_comes_was_an_answer_but_silence_is_none(
    site: Site, partial: HeldPartial
) -> None:
    def stalls(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Length": "10"})
        exchange.wait(60)

    site.on("/stalls", stalls)
    site.on("/silent", hang())
    with net(idle_s=1.5) as web:
        errors = [
            failure(lambda path=path: web.download(site.url(path), partial))  # type: ignore[misc]
            for path in ("/stalls", "/silent")
        ]

    assert all(isinstance(error, Timeout) for error in errors)
    assert [error.asked and error.asked.answered for error in errors] == [True, False]


def test_a_redirect_to_trouble_is_no_good_answer(site: Site) -> None:
    """A source that still redirects to a host which is down must be seen to be in trouble."""
    site.redirect("/", "/there")
    site.on("/there", answer(502))
    budget = OpenBudget(Granted(troubled=True), Granted(troubled=True))
    with net(budget=budget) as web:
        error = failure(lambda: web.page(site.url("/")))

    assert error.asked is not None
    assert not error.asked.answered
    assert budget.answers == []


# --- to the budget ---


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [(whole(b"x"), ["site"]), (answer(404), ["site"]), (answer(503), []), (answer(429), [])],
    ids=["200", "404", "503", "429"],
)
def test_a_source_in_trouble_that_answers_well_is_alive(
    site: Site, behaviour: Callable[[Exchange], None], told: list[str]
) -> None:
    site.on("/", behaviour)
    budget = OpenBudget(Granted(troubled=True))
    with net(budget=budget) as web:
        try:
            web.page(site.url("/"))
        except HeadraceError as error:
            assert error.http_status in {404, 429, 503}  # noqa: PT017 - either way is right

    assert budget.answers == told


def test_each_request_is_counted_redirects_and_failures_too(site: Site, web: Net) -> None:
    site.redirect("/", "/there")
    site.on("/there", Exchange.reset)
    failure(lambda: web.page(site.url("/")))

    assert [source for source, _, _ in web.budget.uses] == ["site"] * len(web.budget.takes)
    assert len(web.budget.takes) == len(site.requests)


# --- to the log ---


def test_each_request_has_a_line_with_its_address_struck_out(
    site: Site, web: Net, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "core.fetch")
    site.redirect("/a", "/b?token=hush")
    site.on("/b", answer(500))
    failure(lambda: web.page(site.url("/a")))

    assert [line.partition(" in ")[0] for line in caplog.messages] == [
        f"GET {site.url('/a')}: 302",
        f"GET {site.url('/b?token=***')}: 500",
    ]


def test_a_request_without_an_answer_has_a_line_with_the_reason(
    site: Site, web: Net, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "core.fetch")
    site.on("/", Exchange.reset)
    failure(lambda: web.page(site.url("/")))

    assert caplog.messages[0].startswith(f"GET {site.url('/')}: unreachable in ")


# --- to whoever asks whether the machine is offline ---


def test_any_answer_at_all_shows_that_its_host_is_reached(site: Site) -> None:
    site.on("/", answer(500))
    reached: list[str] = []
    with net(around=Surroundings(reached=reached.append)) as web:
        failure(lambda: web.page(site.url("/")))

    assert reached == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (socket.EAI_AGAIN, "offline"),
        (socket.EAI_NONAME, "no_such_host"),
        (socket.EAI_FAIL, "unreachable"),
    ],
)
def test_a_name_that_leads_nowhere_says_why(
    monkeypatch: pytest.MonkeyPatch, web: Net, number: int, reason: str
) -> None:
    def look_up(_host: str, _port: int, flags: int = 0) -> None:
        raise socket.gaierror(number, "so it is")

    monkeypatch.setattr("core.fetch.connection._look_up", look_up)

    assert failure(lambda: web.page("http://nowhere.example/")).reason == reason


def test_a_connection_that_is_not_made_in_time_says_so(
    monkeypatch: pytest.MonkeyPatch, web: Net
) -> None:
    def slow(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(Door, "_connect", slow)

    error = failure(lambda: web.page("http://127.0.0.1:9/"))

    assert isinstance(error, Timeout)
    assert error.reason == "no_connection"


def test_throttled_is_still_throttled_where_we_signed_in(site: Site, web: Net) -> None:
    site.on("/", answer(429))

    assert isinstance(failure(lambda: web.page(site.url("/"), SIGNED_IN)), Throttled)
