from __future__ import annotations

import pytest

from core.errors import AddressRefused, Gone, Malformed, Refused, ServerTrouble, Throttled
from core.model.request import Request
from tests.support.fetching import HeldPartial, Net, net, terms_of
from tests.support.site import Exchange, Site, answer, whole

# --- redirects ---


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(site: Site, web: Net, partial: HeldPartial, status: int) -> None:
    site.redirect("/a", "b?x=1", status)
    site.redirect("/b", "/c")
    site.serve("/c", b"there")

    fetched = web.download(site.url("/a"), partial).fetched

    assert fetched.requested_url == site.url("/a")
    assert fetched.redirects == (site.url("/b?x=1"),)
    assert fetched.final_url == site.url("/c")


def test_row_1_referer_and_agent_go_with_every_hop(site: Site, web: Net) -> None:
    site.redirect("/a", "/b")
    site.serve("/b", b"there")
    terms = terms_of(user_agent="Collector/1", headers={"X-Of-Source": "1"})

    web.page(site.url("/a"), terms, referer="http://blog.example/ü", headers={"X-Of-Task": "2"})

    for seen in site.requests:
        assert seen.headers["Referer"] == "http://blog.example/%C3%BC"
        assert seen.headers["User-Agent"] == "Collector/1"
        assert (seen.headers["X-Of-Source"], seen.headers["X-Of-Task"]) == ("1", "2")


def test_an_endless_redirect_is_refused_at_the_cap(site: Site) -> None:
    site.redirect("/", "/")
    with net(max_redirects=3) as web, pytest.raises(Refused, match="max_redirects") as caught:
        web.page(site.url("/"))

    assert caught.value.reason == "too_many_redirects"
    assert len(site.requests) == 4


def test_a_redirect_without_an_address_is_server_trouble(site: Site, web: Net) -> None:
    site.on("/", answer(302))

    with pytest.raises(ServerTrouble, match="without a Location"):
        web.page(site.url("/"))


@pytest.mark.parametrize("to", ["http://[::1/", "http://a b/", "http://*/", "http://x:y/"])
def test_a_redirect_to_nonsense_is_malformed(site: Site, web: Net, to: str) -> None:
    site.redirect("/", to)

    with pytest.raises(Malformed, match="can't be asked"):
        web.page(site.url("/"))


def test_a_location_in_utf_8_is_understood(site: Site, web: Net) -> None:
    site.redirect("/", "/größe".encode().decode("latin-1"))
    site.serve("/gr%C3%B6%C3%9Fe", b"there")

    assert web.page(site.url("/")) == b"there"


@pytest.mark.parametrize("url", ["", "x", "http://", "http://[1", "http://exa\udce4mple/"])
def test_an_address_that_is_none_is_named_and_asks_for_nothing(web: Net, url: str) -> None:
    with pytest.raises((Malformed, AddressRefused)):
        web.page(url)

    assert web.budget.takes == []


def test_a_header_with_a_line_break_is_refused(site: Site, web: Net) -> None:
    with pytest.raises(Malformed, match="can't be sent"):
        web.page(site.url("/"), headers={"X-A": "1\r\nX-B: 2"})


def test_an_address_with_spaces_and_umlauts_is_quoted(site: Site, web: Net) -> None:
    site.serve("/a%20%C3%BC.jpg", b"there")

    assert web.page(site.url("/a ü.jpg")) == b"there"


def test_the_error_page_of_a_dead_link_is_gone(site: Site, web: Net) -> None:
    with pytest.raises(Gone) as caught:
        web.page(site.url("/nowhere?token=x"))

    assert caught.value.http_status == 404
    assert "token=***" in str(caught.value)


# --- cookies ---


def test_cookies_live_within_a_visit_and_no_longer(site: Site, web: Net) -> None:
    site.on("/", answer(200, {"Set-Cookie": "a=1"}, b"x"), whole(b"x"))
    with web.fetcher.visit(terms_of()) as visit:
        visit.page(Request(site.url("/")))
        visit.page(Request(site.url("/")))
    web.page(site.url("/"))

    assert [seen.headers["Cookie"] for seen in site.requests] == [None, "a=1", None]


def test_a_cookie_of_one_host_is_not_sent_to_another(site: Site, web: Net) -> None:
    site.redirect("/", site.url("/b", host="localhost"), **{"Set-Cookie": "a=1"})
    site.serve("/b", b"x")

    web.page(site.url("/"))

    assert site.asked("/b")[0].headers["Cookie"] is None


def test_a_cookie_set_by_a_redirect_goes_with_the_next_hop(site: Site, web: Net) -> None:
    site.redirect("/", "/b", **{"Set-Cookie": "a=1"})
    site.serve("/b", b"x")

    web.page(site.url("/"))

    assert site.asked("/b")[0].headers["Cookie"] == "a=1"


def test_row_38_a_429_that_sets_a_cookie_and_asks_for_no_wait_is_tried_with_it(
    site: Site, web: Net
) -> None:
    """inputs.tsv row 38: and the second request is paid for like any other."""
    gate = answer(429, {"Retry-After": "0", "Set-Cookie": "pass=1; Path=/"})
    site.on("/", gate, whole(b"in"))

    assert web.page(site.url("/")) == b"in"
    assert site.requests[1].headers["Cookie"] == "pass=1"
    assert len(web.budget.takes) == 2


def test_row_38_such_a_429_is_tried_once_only(site: Site, web: Net) -> None:
    site.on("/", answer(429, {"Retry-After": "0", "Set-Cookie": "pass=1"}))
    with pytest.raises(Throttled) as caught:
        web.page(site.url("/"))

    assert caught.value.delay_s == 0.0
    assert len(site.requests) == 2


@pytest.mark.parametrize(
    "headers",
    [{"Retry-After": "5", "Set-Cookie": "a=1"}, {"Retry-After": "0"}, {"Set-Cookie": "a=1"}],
)
def test_any_other_429_is_throttled_at_once(site: Site, web: Net, headers: dict[str, str]) -> None:
    site.on("/", answer(429, headers))
    with pytest.raises(Throttled):
        web.page(site.url("/"))

    assert len(site.requests) == 1


# --- secrets ---

SECRET = terms_of(
    secret_headers={"Authorization": "Bearer hush", "Cookie": "login=hush"},
    secret_query={"api_key": "hu/sh"},
    secret_hosts=("127.0.0.1",),
)


def test_secrets_go_to_their_host(site: Site, web: Net, partial: HeldPartial) -> None:
    site.serve("/a", b"x")

    fetched = web.download(site.url("/a?n=1"), partial, SECRET).fetched

    assert site.requests[0].path == "/a?n=1&api_key=hu%2Fsh"
    assert site.requests[0].headers["Authorization"] == "Bearer hush"
    assert fetched.final_url == fetched.requested_url == site.url("/a?n=1")


def test_secrets_do_not_go_to_another_host(site: Site, web: Net) -> None:
    site.redirect("/a", site.url("/b", host="localhost"))
    site.serve("/b", b"x")

    web.page(site.url("/a"), SECRET)

    there = site.asked("/b")[0]
    assert there.path == "/b"
    assert (there.headers["Authorization"], there.headers["Cookie"]) == (None, None)


def test_a_secret_that_a_redirect_puts_into_its_target_is_taken_out(site: Site, web: Net) -> None:
    to = site.url("/b?api_key=hu%2Fsh&api_key=other", host="localhost")
    site.redirect("/a", to)
    site.serve("/b", b"x")

    web.page(site.url("/a"), SECRET)

    assert site.asked("/b")[0].path == "/b?api_key=other"


def test_a_configured_cookie_and_the_visits_own_go_together(site: Site, web: Net) -> None:
    site.on("/", answer(200, {"Set-Cookie": "a=1"}, b"x"), whole(b"x"))
    with web.fetcher.visit(SECRET) as visit:
        visit.page(Request(site.url("/")))
        visit.page(Request(site.url("/")))

    assert site.requests[1].headers["Cookie"] == "login=hush; a=1"


def test_user_and_password_of_an_address_are_not_sent(site: Site, web: Net) -> None:
    site.serve("/", b"x")

    web.page(site.url("/").replace("//", "//user:word@"))

    assert site.requests[0].headers["Authorization"] is None


def test_a_host_that_two_parsers_read_differently_gets_no_secret(site: Site, web: Net) -> None:
    evil = f"http://127.0.0.1:{site.port}\\@localhost:{site.port}/"
    site.serve("/", b"x")
    try:
        web.page(evil, SECRET)
    except (Malformed, AddressRefused):
        assert site.requests == []
        return

    host = site.requests[0].headers["Host"]
    assert host.startswith("127.0.0.1") or site.requests[0].headers["Authorization"] is None


def test_an_unread_redirect_body_does_not_leak_into_the_next_answer(site: Site, web: Net) -> None:
    def chatty(exchange: Exchange) -> None:
        exchange.answer(302, {"Location": "/b"}, b"z" * 200_000)

    site.on("/a", chatty)
    site.serve("/b", b"there")

    assert web.page(site.url("/a")) == b"there"
