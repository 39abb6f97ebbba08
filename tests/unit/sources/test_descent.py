"""Indexes read child by child: nothing is lost, nothing is read for ever."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from xml.sax.saxutils import escape

import pytest

from core.errors import (
    Forbidden,
    Gone,
    HeadraceError,
    Malformed,
    ServerTrouble,
    SharedStateDown,
    SignedOut,
    Throttled,
    Timeout,
    TooLarge,
    Truncated,
)
from core.model.post import FeedPage
from core.sources import PassesOver, adapter
from core.sources.adapter import PageInput
from core.sources.descent import CHILDREN_HELD
from tests.unit.sources.test_sitemap import NAMES, SITE, image, urlset

TOP = f"{SITE}/sitemap.xml"


def index(*children: str) -> str:
    inside = "".join(f"<sitemap><loc>{escape(child)}</loc></sitemap>" for child in children)
    return f"<sitemapindex {NAMES}>{inside}</sitemapindex>"


def leaf(name: str) -> str:
    return urlset(f"<loc>{SITE}/{name}</loc>" + image(f"/{name}.jpg"))


class Walk:
    """A walk over pages by address; what is not there is gone. `asked` are the requests' paths."""

    def __init__(
        self, pages: dict[str, str], *, top: str = TOP, name: str = "sitemap", bound: int = 500
    ) -> None:
        self.asked: list[str] = []
        self.pages: list[FeedPage] = []
        self.longest_cursor = 0
        self._served = pages
        self._top = top
        cursor: str | None = None
        for _ in range(bound):
            page = adapter(name).parse(self._answer(name, cursor))
            self.pages.append(page)
            cursor = page.cursor
            if cursor is None:
                return
            self.longest_cursor = max(self.longest_cursor, len(cursor))
        raise AssertionError("the walk does not end")

    def _answer(self, name: str, cursor: str | None) -> PageInput:
        request = adapter(name).request(self._top, cursor)
        url = request.url if request else self._top
        path = url.removeprefix(SITE)
        self.asked.append(path)
        body = self._served.get(path)
        if body is None:
            assert request is not None
            assert 404 in request.read_also
        status = 200 if body is not None else 404
        return PageInput(BytesIO((body or "").encode()), url, cursor=cursor, status=status)

    @property
    def posts(self) -> list[str]:
        return [post.key.removeprefix(SITE) for page in self.pages for post in page.posts]

    @property
    def skipped(self) -> list[tuple[str, str]]:
        return [(s.where.removeprefix(SITE), s.reason) for page in self.pages for s in page.skipped]


def test_every_child_is_asked_for_once_in_order() -> None:
    children = [f"/{n}.xml" for n in range(3)]
    walk = Walk({"/sitemap.xml": index(*children)} | {c: leaf(c[1]) for c in children})

    assert walk.asked == ["/sitemap.xml", *children]
    assert walk.posts == ["/0", "/1", "/2"]


def test_an_index_is_asked_again_when_the_children_that_are_held_are_used_up() -> None:
    children = [f"/{n}.xml" for n in range(2 * CHILDREN_HELD + 3)]
    walk = Walk({"/sitemap.xml": index(*children)} | {c: leaf(c[1:-4]) for c in children})

    assert walk.asked.count("/sitemap.xml") == 3
    assert [path for path in walk.asked if path != "/sitemap.xml"] == children


def test_the_cursor_is_bounded() -> None:
    children = [f"/{n}-{'x' * 7000}.xml" for n in range(5)]
    nested = {"/sitemap.xml": index("/i.xml", "/j.xml"), "/i.xml": index(*children)}
    walk = Walk(nested | {"/j.xml": leaf("j")} | {c: leaf(c[1]) for c in children})

    assert walk.posts == ["/0", "/1", "/2", "/3", "/4", "/j"]
    assert walk.longest_cursor < 20_000


def test_children_of_a_nested_index_come_before_its_siblings() -> None:
    pages = {
        "/sitemap.xml": index("/i.xml", "/c.xml"),
        "/i.xml": index("/a.xml", "/b.xml"),
        "/a.xml": leaf("a"),
        "/b.xml": leaf("b"),
        "/c.xml": leaf("c"),
    }

    assert Walk(pages).posts == ["/a", "/b", "/c"]


def test_indexes_nested_too_deep_are_told_and_cost_no_other() -> None:
    pages = {
        "/sitemap.xml": index("/1.xml"),
        "/1.xml": index("/2.xml", "/after.xml"),
        "/2.xml": index("/3.xml"),
        "/3.xml": index("/4.xml"),
        "/4.xml": leaf("4"),
        "/after.xml": leaf("after"),
    }
    walk = Walk(pages)

    assert walk.skipped == [("/3.xml", "nested_too_deep")]
    assert walk.posts == ["/after"]


def test_an_index_that_names_itself_or_one_above_is_no_loop() -> None:
    pages = {
        "/sitemap.xml": index("/sitemap.xml", "/i.xml"),
        "/i.xml": index("/sitemap.xml", "/a.xml"),
        "/a.xml": leaf("a"),
    }
    walk = Walk(pages)

    assert walk.skipped == [("/sitemap.xml", "loop")] * 2
    assert walk.posts == ["/a"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "gone"),
        ("<html><body>Not here</body></html>", "html_instead_of_feed"),
        ("<rss><channel/></rss>", "not_a_feed"),
        ("<urlset><url></urlset>", "bad_xml"),
    ],
)
def test_a_child_that_can_t_be_read_costs_only_itself(body: str | None, reason: str) -> None:
    pages = {"/sitemap.xml": index("/a.xml", "/b.xml"), "/b.xml": leaf("b")}
    walk = Walk(pages | ({"/a.xml": body} if body else {}))

    assert walk.skipped == [("/a.xml", reason)]
    assert walk.posts == ["/b"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
@pytest.mark.parametrize("name", ["sitemap", "feed"])
def test_a_child_that_is_refused_costs_only_itself(name: str, status: int) -> None:
    cursor = adapter(name).parse(_page(index("/a.xml", "/b.xml"))).cursor
    request = adapter(name).request(TOP, cursor)
    page = adapter(name).parse(_page("refused", cursor=cursor, status=status))

    assert request is not None
    assert status in request.read_also
    assert [one.where for one in page.skipped] == [f"{SITE}/a.xml"]
    assert page.cursor is not None
    assert "/b.xml" in page.cursor


@pytest.mark.parametrize("status", [408, 420, 425, 429, 500, 503])
def test_what_a_child_may_say_of_its_source_is_left_to_the_fetcher(status: int) -> None:
    cursor = adapter("sitemap").parse(_page(index("/a.xml", "/b.xml"))).cursor
    request = adapter("sitemap").request(TOP, cursor)

    assert request is not None
    assert status not in request.read_also


@pytest.mark.parametrize(
    "error",
    [TooLarge("64 MiB"), ServerTrouble("500"), Timeout("slow"), Forbidden("x"), Truncated("cut")],
    ids=lambda error: error.reason,
)
@pytest.mark.parametrize("name", ["sitemap", "iiif", "feed"])
def test_a_child_that_can_t_be_had_is_passed_over(name: str, error: HeadraceError) -> None:
    cursor = adapter("sitemap").parse(_page(index("/a.xml", "/b.xml"))).cursor
    cursor = f"sitemap {cursor}" if name == "feed" else cursor
    reader = adapter(name)
    assert isinstance(reader, PassesOver)
    page = reader.passed_over(cursor, error)

    assert page is not None
    assert [(one.where, one.reason) for one in page.skipped] == [(f"{SITE}/a.xml", error.reason)]
    following = reader.request(TOP, page.cursor)
    assert following is not None
    assert following.url == f"{SITE}/b.xml"


@pytest.mark.parametrize(
    ("cursor", "error"),
    [
        (None, TooLarge("x")),  # the feed's own page
        ('{"ask": "https://a.example/"}', TooLarge("x")),  # the same, asked again
        ("x", TooLarge("x")),
        ("5:2", TooLarge("x")),
        ("child", Throttled("x")),
        ("child", SignedOut("x")),
        ("child", SharedStateDown("x")),
    ],
)
@pytest.mark.parametrize("name", ["sitemap", "feed"])
def test_what_is_no_childs_own_ends_the_walk(
    name: str, cursor: str | None, error: HeadraceError
) -> None:
    if cursor == "child":
        cursor = adapter("sitemap").parse(_page(index("/a.xml", "/b.xml"))).cursor
    reader = adapter(name)
    assert isinstance(reader, PassesOver)

    told = f"sitemap {cursor}" if name == "feed" and cursor else cursor
    assert reader.passed_over(told, error) is None


def test_a_cut_child_is_asked_for_once_more() -> None:
    with pytest.raises(Malformed) as caught:
        Walk({"/sitemap.xml": index("/a.xml"), "/a.xml": leaf("a")[:-20]})

    assert caught.value.reason == "truncated"


def test_an_index_that_is_gone_when_it_is_asked_again_is_no_end_of_the_walk() -> None:
    children = [f"/{n}.xml" for n in range(CHILDREN_HELD + 1)]
    cursor = adapter("sitemap").parse(_page(index(*children))).cursor
    for _ in children[:-1]:
        cursor = adapter("sitemap").parse(_page(leaf("x"), cursor=cursor)).cursor

    with pytest.raises(Gone):
        adapter("sitemap").parse(_page("", cursor=cursor, status=404))


def _page(body: str, **more: object) -> PageInput:
    return PageInput(BytesIO(body.encode()), TOP, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [lambda c: ["/new.xml", *c], lambda c: c[1:], lambda c: [*c, "/new.xml"]],
    ids=["one on top", "the first gone", "one behind"],
)
def test_an_index_that_changes_while_it_is_read_loses_no_child(
    change: Callable[[list[str]], list[str]],
) -> None:
    children = [f"/{n}.xml" for n in range(CHILDREN_HELD + 5)]
    served = {"/sitemap.xml": index(*children)} | {c: leaf(c[1:-4]) for c in children}

    class Changing(dict[str, str]):
        def get(self, path: str, default: object = None) -> object:  # type: ignore[override]
            if path == children[10]:
                self["/sitemap.xml"] = index(*change(children))
            return super().get(path, default)

    walk = Walk(Changing(served | {"/new.xml": leaf("new")}))

    assert set(children) <= set(walk.asked)


def test_slices_of_a_large_child_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.sources.sitemap.POSTS_A_PAGE", 2)
    large = urlset(*(f"<loc>{SITE}/{n}</loc>" + image(f"/{n}.jpg") for n in range(3)))
    walk = Walk({"/sitemap.xml": index("/a.xml", "/b.xml"), "/a.xml": large, "/b.xml": leaf("b")})

    assert walk.asked == ["/sitemap.xml", "/a.xml", "/a.xml", "/b.xml"]
    assert walk.posts == ["/0", "/1", "/2", "/b"]


def test_a_local_index_leads_to_its_children_and_is_read_on_from_the_kept_body() -> None:
    children = [f"{SITE}/{n}.xml" for n in range(CHILDREN_HELD + 1)]
    served = {"file:///maps/s.xml": index(*children)}
    served |= {child.removeprefix(SITE): leaf("x") for child in children}
    walk = Walk(served, top="file:///maps/s.xml")

    assert walk.asked.count("file:///maps/s.xml") == 2
    assert len(walk.asked) == len(children) + 2


def test_any_feed_reads_an_index_too() -> None:
    walk = Walk({"/sitemap.xml": index("/a.xml"), "/a.xml": leaf("a")}, name="feed")

    assert walk.posts == ["/a"]


@pytest.mark.parametrize("cursor", ["", "x", "{}", '{"ask": 1}', '{"ask":"a","open":[1]}', "5:2"])
def test_a_cursor_from_elsewhere_is_refused(cursor: str) -> None:
    with pytest.raises(Malformed) as asked:
        adapter("sitemap").request(TOP, cursor)
    with pytest.raises(Malformed) as parsed:
        adapter("sitemap").parse(_page(leaf("a"), cursor=cursor))

    assert asked.value.reason == parsed.value.reason == "bad_cursor"
