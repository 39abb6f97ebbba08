from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from core.errors import Malformed, Misconfigured, Unsupported
from core.sources.weibo_address import Shape, link_of, post_address, shape_of
from tests.support.weibo import ADAPTER, UID

MOBILE = f"https://m.weibo.cn/api/container/getIndex?type=uid&value={UID}"
AJAX = f"https://weibo.com/ajax/statuses/mymblog?uid={UID}&page=1&feature=0"
OPEN = f"https://api.weibo.com/2/statuses/user_timeline.json?uid={UID}"
LOOPBACK = "http://127.0.0.1:8123"


def _first(address: str) -> str:
    request = ADAPTER.request(address, None)
    assert request is not None
    return request.url


@pytest.mark.parametrize(
    ("address", "first"),
    [
        (f"https://weibo.com/u/{UID}", AJAX),
        (f"https://www.weibo.com/{UID}", AJAX),
        (f"http://weibo.com/u/{UID}/?tabtype=feed", AJAX),
        (f"https://weibo.com/p/100505{UID}/home", AJAX),
        (f"https://m.weibo.cn/u/{UID}", MOBILE),
        (f"https://m.weibo.cn/profile/{UID}", MOBILE),
        (f"https://m.weibo.cn/p/107603{UID}", MOBILE),
        (f"https://weibo.cn/u/{UID}", MOBILE),
        (OPEN, f"{OPEN}&count=100"),
        (f"{OPEN}&count=20", f"{OPEN}&count=20"),
        (AJAX, AJAX),
        (MOBILE, MOBILE),
    ],
)
def test_a_members_address_leads_to_their_posts(address: str, first: str) -> None:
    assert _first(address) == first


@pytest.mark.parametrize(
    "address",
    [
        "https://weibo.com/n/name",
        "https://weibo.com/",
        "https://weibo.com/7600100200/Rz3351d71",
        "https://m.weibo.cn/status/Lm5b92e05",
        "https://m.weibo.cn/statuses/show?id=5",
        "https://site.example.com/u/7600100200",
        "ftp://weibo.com/u/7600100200",
        "file:feed.json",
        "https://[",
        "",
    ],
)
def test_what_names_no_members_posts_is_unsupported(address: str) -> None:
    with pytest.raises(Unsupported) as caught:
        ADAPTER.request(address, None)

    assert caught.value.reason == "unsupported_address"
    assert "https://weibo.com/u/NUMBER" in str(caught.value)


@pytest.mark.parametrize("path", [MOBILE, AJAX, OPEN])
def test_an_interfaces_own_address_is_taken_on_any_host(path: str) -> None:
    parts = urlsplit(path)
    first = _first(f"{LOOPBACK}{parts.path}?{parts.query}")

    assert first.startswith(f"{LOOPBACK}{parts.path}?")


@pytest.mark.parametrize("name", ["access_token", "Access_Token"])
def test_a_token_in_an_address_is_refused_by_name(name: str) -> None:
    address = f"{OPEN}&{name}=hidden"

    for refuse in (ADAPTER.check, lambda told: ADAPTER.request(told, None)):
        with pytest.raises(Misconfigured, match="put it into `token` in the settings") as caught:
            refuse(address)
        assert "hidden" not in str(caught.value)
    assert ADAPTER.reads(address)  # so that it is refused as Weibo's, and not read as any feed


def test_an_application_key_in_an_address_is_dropped() -> None:
    assert "hidden" not in _first(f"{OPEN}&source=hidden")


def test_a_first_page_is_the_first_whatever_the_address_was_copied_from() -> None:
    first = parse_qs(urlsplit(_first(f"{AJAX}&since_id=77kp3&page=4")).query)

    assert first["page"] == ["1"]
    assert "since_id" not in first


@pytest.mark.parametrize("address", [MOBILE, f"{LOOPBACK}/api/container/getIndex?type=uid&value=5"])
def test_the_next_page_is_on_the_feeds_own_host(address: str) -> None:
    request = ADAPTER.request(address, "containerid=1076035&since_id=77")

    assert request is not None
    assert urlsplit(request.url).netloc == urlsplit(address).netloc
    assert parse_qs(urlsplit(request.url).query)["since_id"] == ["77"]


def test_what_a_cursor_says_of_its_page_is_not_asked_for() -> None:
    request = ADAPTER.request(OPEN, "max_id=5&told=1")

    assert request is not None
    assert request.url == f"{OPEN}&count=100&max_id=5"


@pytest.mark.parametrize("cursor", ["", "x", "https://evil.example/", "access_token=1", "page"])
def test_a_cursor_of_no_page_of_ours_is_malformed(cursor: str) -> None:
    with pytest.raises(Malformed) as caught:
        ADAPTER.request(AJAX, cursor)

    assert caught.value.reason == "bad_cursor"


@pytest.mark.parametrize(
    ("address", "referer"),
    [
        (f"{MOBILE}&containerid=107603{UID}", f"https://m.weibo.cn/u/{UID}"),
        (
            f"{LOOPBACK}/api/container/getIndex?containerid=107603{UID}",
            f"https://m.weibo.cn/u/{UID}",
        ),
        (AJAX, f"https://weibo.com/u/{UID}"),
        (OPEN, None),
    ],
)
def test_each_interface_is_asked_with_its_own_referer(address: str, referer: str | None) -> None:
    request = ADAPTER.request(address, None)

    assert request is not None
    assert request.referer == referer


def test_the_sites_own_interfaces_are_asked_as_the_site_does() -> None:
    mobile, ajax = ADAPTER.request(MOBILE, None), ADAPTER.request(AJAX, None)

    assert mobile is not None
    assert ajax is not None
    assert mobile.headers["MWeibo-Pwa"] == "1"
    assert mobile.headers["X-Requested-With"] == ajax.headers["X-Requested-With"]


@pytest.mark.parametrize(
    ("shape", "url"),
    [(Shape.MOBILE, f"{LOOPBACK}/statuses/show"), (Shape.AJAX, f"{LOOPBACK}/ajax/statuses/show")],
)
def test_a_posts_link_leads_to_where_its_interface_tells_it(shape: Shape, url: str) -> None:
    link = link_of(shape, f"{LOOPBACK}/x", "Lm5", UID)

    assert link is not None
    assert post_address(link) == f"{url}?id=Lm5"
    assert shape_of(url) is shape


@pytest.mark.parametrize("link", ["https://[", "https://weibo.com/", "mailto:a/b", "//h/a/b"])
def test_what_is_no_link_of_ours_leads_nowhere(link: str) -> None:
    assert post_address(link) is None


def test_a_token_goes_to_the_open_apis_hosts_only() -> None:
    secrets = ADAPTER.secrets(token="hidden", cookie=None)

    assert secrets.query == {"access_token": "hidden"}
    assert secrets.hosts == ("api.weibo.com", "c.api.weibo.com")
    assert not secrets.headers


@pytest.mark.parametrize("prefix", ["", "Cookie: ", "cookie:"])
def test_a_cookie_goes_to_the_sites_with_its_mark_said_once_more(prefix: str) -> None:
    secrets = ADAPTER.secrets(token=None, cookie=f"{prefix}SUB=a; XSRF-TOKEN=b=; SUBP=c;")

    assert secrets.headers == {"Cookie": "SUB=a; XSRF-TOKEN=b=; SUBP=c", "X-XSRF-TOKEN": "b="}
    assert "api.weibo.com" not in secrets.hosts
    assert {"weibo.com", "m.weibo.cn"} <= {*secrets.hosts}


def test_without_secrets_nothing_is_signed() -> None:
    secrets = ADAPTER.secrets(token=None, cookie=None)

    assert not secrets.hosts


@pytest.mark.parametrize(
    ("token", "cookie"), [("a", "b=c"), ("a b", None), (None, "no pair"), (None, "a=b\r\nX: y")]
)
def test_a_secret_that_cant_be_used_is_a_fault_of_the_settings(
    token: str | None, cookie: str | None
) -> None:
    with pytest.raises(Misconfigured) as caught:
        ADAPTER.secrets(token=token, cookie=cookie)

    assert "X: y" not in str(caught.value)
