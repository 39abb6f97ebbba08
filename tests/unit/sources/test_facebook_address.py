"""Which Graph API address an address means, and what is added to it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from core.errors import Malformed, Misconfigured, Unsupported
from core.sources.facebook import FacebookAdapter

ADAPTER = FacebookAdapter()


def _asked(address: str, cursor: str | None = None) -> str:
    request = ADAPTER.request(address, cursor)
    assert request is not None
    return request.url


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("https://www.facebook.com/harbour.lanterns", "/v27.0/harbour.lanterns/published_posts"),
        ("https://facebook.com/harbour.lanterns/?ref=x", "/v27.0/harbour.lanterns/published_posts"),
        ("https://m.facebook.com/harbour.lanterns/photos", "/v27.0/harbour.lanterns/photos"),
        ("https://www.facebook.com/harbour.lanterns/videos/", "/v27.0/harbour.lanterns/videos"),
        ("https://www.facebook.com/harbour/reels", "/v27.0/harbour/video_reels"),
        ("https://www.facebook.com/profile.php?id=9001", "/v27.0/9001/published_posts"),
        ("https://www.facebook.com/profile.php?id=9001&sk=photos", "/v27.0/9001/photos"),
        ("https://www.facebook.com/p/Harbour-Club-900100200", "/v27.0/900100200/published_posts"),
        ("https://www.facebook.com/pages/Harbour/9001", "/v27.0/9001/published_posts"),
        ("https://graph.facebook.com/v19.0/9001/feed", "/v19.0/9001/feed"),
        ("https://graph.facebook.com/v19.0/9001", "/v19.0/9001/published_posts"),
        ("https://graph.facebook.com/9001/posts", "/9001/posts"),
    ],
)
def test_what_a_person_knows_leads_to_the_api(address: str, path: str) -> None:
    parts = urlsplit(_asked(address))

    assert (parts.scheme, parts.netloc, parts.path) == ("https", "graph.facebook.com", path)


def test_the_api_is_spoken_on_any_host_that_has_its_shape() -> None:
    assert _asked("http://127.0.0.1:8080/api/v27.0/1/photos?type=tagged").startswith(
        "http://127.0.0.1:8080/api/v27.0/1/photos?type=tagged&fields=id,"
    )


@pytest.mark.parametrize(
    "address",
    [
        "https://www.facebook.com/",
        "https://www.facebook.com/groups/1",
        "https://www.facebook.com/watch/?v=1",
        "https://www.facebook.com/photo.php?fbid=1",
        "https://www.facebook.com/harbour/about",
        "https://site.example.com/feed",
        "file:page.json",
        "https://[",
    ],
)
def test_an_address_without_a_page_is_refused_by_name(address: str) -> None:
    with pytest.raises(Unsupported, match="names no page") as caught:
        ADAPTER.request(address, None)

    assert caught.value.reason == "unsupported_address"


def test_fields_and_a_limit_are_asked_for_unless_the_address_has_its_own() -> None:
    query = parse_qs(urlsplit(_asked("https://graph.facebook.com/v27.0/1/posts")).query)
    own = "https://graph.facebook.com/v27.0/1/posts?fields=id&limit=7"

    assert "attachments{" in query["fields"][0]
    assert query["limit"] == ["25"]
    assert _asked(own) == own


def test_more_than_a_hundred_at_once_would_be_refused() -> None:
    assert _asked("https://graph.facebook.com/v27.0/1/feed?fields=id&limit=500").endswith("=100")


@pytest.mark.parametrize("name", ["access_token", "appsecret_proof", "client_secret"])
def test_a_token_in_an_address_is_refused_by_name(name: str) -> None:
    address = f"https://graph.facebook.com/v27.0/1/posts?fields=id&{name}=hidden"

    for refuse in (ADAPTER.check, lambda told: ADAPTER.request(told, None)):
        with pytest.raises(Misconfigured, match="put it into `token` in the settings") as caught:
            refuse(address)
        assert name in str(caught.value)
        assert "hidden" not in str(caught.value)


def test_a_user_in_an_address_is_dropped() -> None:
    address = "https://u:p@graph.facebook.com/v27.0/1/posts?fields=id&limit=5"

    assert _asked(address) == "https://graph.facebook.com/v27.0/1/posts?fields=id&limit=5"


def test_a_cursor_is_asked_with_the_fields_that_it_may_lack() -> None:
    url = _asked("https://www.facebook.com/x", "http://127.0.0.1/v27.0/1/videos?after=VjI")

    assert url.startswith("http://127.0.0.1/v27.0/1/videos?after=VjI&fields=id,")


def test_a_cursor_that_is_no_address_is_refused() -> None:
    with pytest.raises(Malformed):
        ADAPTER.request("https://www.facebook.com/x", "after=VjI")


def test_refusals_are_read_from_their_bodies() -> None:
    request = ADAPTER.request("https://www.facebook.com/x", None)

    assert request is not None
    assert {400, 403, 500} <= request.read_also


def test_the_token_goes_in_a_header_to_the_api_alone() -> None:
    secrets = ADAPTER.secrets(token="EAAB1", cookie=None)

    assert secrets.headers == {"Authorization": "Bearer EAAB1"}
    assert secrets.hosts == ("graph.facebook.com",)
    assert ADAPTER.secrets(token=None, cookie=None).headers == {}


@pytest.mark.parametrize(
    ("token", "cookie"), [("Bearer EAAB1", None), ("EAAB1\n", None), ("", None), (None, "c=1")]
)
def test_what_signs_nothing_is_refused_without_repeating_it(
    token: str | None, cookie: str | None
) -> None:
    with pytest.raises(Misconfigured) as caught:
        ADAPTER.secrets(token=token, cookie=cookie)

    assert "EAAB1" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expires_at"),
    [
        ("https://a.test/x.jpg?oh=1&oe=6A800000", 0x6A800000),
        ("https://a.test/x.jpg?oe=6a7ff000", 0x6A7FF000),
        ("https://a.test/x.jpg?oe=", None),
        ("https://a.test/x.jpg?oe=-5", None),
        ("https://a.test/x.jpg?oe=" + "f" * 400, None),
        ("https://a.test/x.jpg", None),
        ("https://[", None),
    ],
)
def test_an_address_dies_at_its_oe(url: str, expires_at: float | None) -> None:
    assert ADAPTER.expires_at(url) == expires_at
