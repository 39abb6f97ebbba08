from __future__ import annotations

import errno
import logging
import os
import socket
import threading

import pytest
import urllib3

from core.clock import SystemClock
from core.errors import (
    HeadraceError,
    OutOfResources,
    Refused,
    ServerTrouble,
    SharedStateDown,
    Unreachable,
)
from core.fetch.connection import Door, translated
from core.fetch.deadline import Watch
from core.fetch.guard import AddressGuard
from core.fetch.session import Session
from core.model.request import Request
from core.settings import FetchSettings
from tests.support.budget import OpenBudget
from tests.support.fetching import LOOPBACK, HeldPartial, Net, net, terms_of
from tests.support.site import Exchange, Site, answer, raw, whole


@pytest.fixture
def session() -> Session:
    watch = Watch(FetchSettings(), SystemClock(), threading.Event())
    return Session(Door(AddressGuard(LOOPBACK), watch))


def test_a_request_without_an_allowance_is_refused_and_never_sent(
    site: Site, session: Session
) -> None:
    with pytest.raises(Refused, match="without an allowance"):
        session.get(site.url("/"))

    assert site.connections == 0


def test_a_session_has_no_transport_but_the_budgets(session: Session) -> None:
    assert set(session.adapters.values()) == {session.transport}
    assert not session.trust_env


def test_every_request_takes_a_token(site: Site, web: Net) -> None:
    site.redirect("/a", "/b")
    site.redirect("/b", "/c")
    site.serve("/c", b"there")

    web.page(site.url("/a"))

    assert len(web.budget.takes) == len(site.requests) == 3


def test_no_token_means_no_request(site: Site) -> None:
    class DownBudget(OpenBudget):
        def take(self, *_: object, **__: object) -> None:  # type: ignore[override]
            raise SharedStateDown("no answer")

    with net(budget=DownBudget()) as closed, pytest.raises(SharedStateDown):
        closed.page(site.url("/"))

    assert site.connections == 0


def test_connections_are_kept_from_visit_to_visit(
    site: Site, web: Net, partial: HeldPartial
) -> None:
    site.serve("/x", b"x" * 100_000)
    for _ in range(3):
        web.download(site.url("/x"), partial)
        partial.restart()

    assert site.connections == 1


def test_a_short_error_page_keeps_the_connection(site: Site, web: Net) -> None:
    site.on("/", answer(500, body=b"oops"), whole(b"ok"))
    with pytest.raises(ServerTrouble):
        web.page(site.url("/"))

    assert web.page(site.url("/")) == b"ok"
    assert site.connections == 1


def test_a_kept_connection_that_was_closed_is_replaced_for_one_more_token(
    site: Site, web: Net
) -> None:
    site.on("/", whole(b"1"), lambda exchange: exchange.drop(), whole(b"3"))
    web.page(site.url("/"))

    assert web.page(site.url("/")) == b"3"
    assert len(web.budget.takes) == 3


def test_a_fresh_connection_that_is_closed_is_not_asked_twice(site: Site, web: Net) -> None:
    site.on("/", lambda exchange: exchange.drop())
    with pytest.raises(Unreachable, match="ended before an answer"):
        web.page(site.url("/"))

    assert len(site.requests) == 1


def test_a_reset_before_an_answer_is_unreachable(site: Site, web: Net) -> None:
    site.on("/", Exchange.reset)

    with pytest.raises(Unreachable):
        web.page(site.url("/"))


def test_a_closed_port_is_unreachable(web: Net) -> None:
    with socket.socket() as unused:  # bound, so that nobody else has it, but nobody listens
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        with pytest.raises(Unreachable, match=rf"127\.0\.0\.1 port {port}"):
            web.page(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "nonsense",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"\0" * 100,
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    ],
)
def test_an_answer_that_is_no_http_is_server_trouble(site: Site, web: Net, nonsense: bytes) -> None:
    site.on("/", raw(nonsense))

    with pytest.raises(ServerTrouble) as caught:
        web.page(site.url("/"))

    assert caught.value.reason == "bad_answer"


def test_a_foreign_exception_keeps_its_cause(site: Site, web: Net) -> None:
    site.on("/", Exchange.reset)

    with pytest.raises(Unreachable) as caught:
        web.page(site.url("/"))

    assert isinstance(caught.value.__cause__, urllib3.exceptions.ProtocolError)


def test_no_secret_reaches_a_log_or_a_chain_of_errors(
    site: Site, web: Net, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    site.on("/", raw(b"HTTP/1.1 200 OK\r\nbroken header\r\n\r\n"), Exchange.reset)
    terms = terms_of(secret_query={"key": "hush-hush"}, secret_hosts=("127.0.0.1",))
    told = []
    for _ in range(2):
        with web.fetcher.visit(terms) as visit:
            try:
                visit.page(Request(site.url("/")))
            except HeadraceError as error:
                told += [str(link) for link in _chain(error)]

    assert "key=hush-hush" in site.requests[0].path
    assert told
    assert "hush-hush" not in caplog.text + "".join(told)


def _chain(error: BaseException | None) -> list[BaseException]:
    links: list[BaseException] = []
    while error is not None and len(links) < 20:
        links.append(error)
        error = error.__cause__ or error.__context__
    return links


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOBUFS])
def test_what_this_machine_runs_out_of_is_not_the_sources_fault(number: int) -> None:
    fault = translated("cdn.example", OSError(number, os.strerror(number)))

    assert isinstance(fault, OutOfResources)
    assert "limits" in str(fault)


def test_a_connection_serves_whichever_thread_comes_next(site: Site, web: Net) -> None:
    """So there are as many as requests at once, and not as threads."""
    site.serve("/", b"x")
    for _ in range(4):
        thread = threading.Thread(target=lambda: web.page(site.url("/")))
        thread.start()
        thread.join()

    assert site.connections == 1


def test_connections_are_kept_to_few_sources_those_used_last(site: Site, web: Net) -> None:
    site.serve("/", b"x")
    for number in range(100):
        web.page(site.url("/"), terms_of(f"source{number}"))
        web.page(site.url("/"), terms_of("source0"))

    assert site.connections == 100
    assert len(web.fetcher._all) == 32
