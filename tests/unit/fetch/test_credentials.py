"""Where secrets may go."""

from __future__ import annotations

import pytest

from core.fetch.answers import error_of
from core.fetch.credentials import Credentials
from tests.support.fetching import Net, terms_of
from tests.support.site import Site, answer

TOKEN = "a-token-nobody-may-see"


def credentials(*hosts: str) -> Credentials:
    terms = terms_of(secret_headers={"Authorization": f"Bearer {TOKEN}"}, secret_hosts=hosts)
    return Credentials(terms, "us")


@pytest.mark.parametrize(
    ("hosts", "url", "may"),
    [
        (("api.example",), "https://api.example/x", True),
        (("api.example",), "https://API.example:8443/x", True),
        (("api.example",), "http://api.example/x", False),
        (("http://api.example",), "http://api.example/x", True),
        (("http://api.example",), "https://api.example/x", True),
        (("http://api.example",), "http://www.api.example/x", False),
        (("127.0.0.1",), "http://127.0.0.1:8080/x", True),
        (("127.8.9.1",), "http://127.8.9.1/x", True),
        (("::1",), "http://[::1]:8080/x", True),
        (("localhost",), "http://localhost/x", True),
        (("192.168.7.1",), "http://192.168.7.1/x", False),
        (("http://192.168.7.1",), "http://192.168.7.1/x", True),
        ((), "https://api.example/x", False),
        (("127.0.0.1.example",), "http://127.0.0.1.example/x", False),
    ],
)
def test_secrets_go_by_https_or_to_this_machine_or_where_somebody_lets_them(hosts, url, may):
    assert credentials(*hosts).may_go_to(url, was_secure=False) is may


def test_nothing_goes_over_http_once_https_was_spoken():
    assert not credentials("http://api.example").may_go_to("http://api.example/", was_secure=True)
    assert not credentials("127.0.0.1").may_go_to("http://127.0.0.1/", was_secure=True)


@pytest.mark.parametrize(
    ("url", "withheld"),
    [
        ("http://api.example/", True),
        ("https://api.example/", False),
        ("http://other.example/", False),
    ],
)
def test_what_only_http_keeps_back_is_known(url, withheld):
    assert credentials("api.example").are_withheld(url) is withheld


def test_a_refusal_says_how_its_secrets_could_have_gone():
    said = str(error_of(403, {}, "http://api.example/", 0.0, withheld=True))

    assert "https only" in said
    assert "«http://HOST»" in said


def test_a_token_that_a_redirect_puts_back_under_another_name_is_taken_out(site: Site, web: Net):
    terms = terms_of(
        secret_headers={"Authorization": f"Bearer {TOKEN}"}, secret_hosts=("127.0.0.1",)
    )
    site.redirect("/a", f"/b?tk={TOKEN}&n=1")
    site.serve("/b", b"x")

    web.page(site.url("/a"), terms)

    assert site.asked("/b")[0].path == "/b?n=1"


def test_a_token_in_a_path_is_asked_for_and_not_shown(site: Site, web: Net):
    terms = terms_of(secret_headers={"X-Key": TOKEN}, secret_hosts=("127.0.0.1",))
    site.on(f"/bot{TOKEN}/f", answer(404))

    with pytest.raises(Exception, match=r"/bot\*\*\*/f") as caught:
        web.page(site.url(f"/bot{TOKEN}/f"), terms)

    assert TOKEN not in str(caught.value)
    assert len(site.requests) == 1
