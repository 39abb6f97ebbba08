"""Sitemaps: what a page's entry gives, and large ones in parts."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from xml.sax.saxutils import escape

import pytest

from core.errors import Malformed
from core.model.post import FeedPage, MediaKind
from core.sources import adapter
from core.sources.adapter import PageInput
from tests.support.pages import parse

SITE = "https://shop.example.com"
NAMES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
)
CLOCK = 1773100800.0  # 2026-03-10


def urlset(*entries: str) -> str:
    """A sitemap of `<url>`s whose insides are given."""
    return f"<urlset {NAMES}>" + "".join(f"<url>{one}</url>" for one in entries) + "</urlset>"


def image(address: str) -> str:
    return f"<image:image><image:loc>{escape(address)}</image:loc></image:image>"


def video(**fields: str) -> str:
    inside = "".join(f"<video:{name}>{text}</video:{name}>" for name, text in fields.items())
    return f"<video:video>{inside}</video:video>"


def read(*entries: str) -> FeedPage:
    return parse("sitemap", urlset(*entries), url=f"{SITE}/sitemap.xml", read_at=CLOCK)


def skips(page: FeedPage) -> list[tuple[str, str]]:
    return [(skipped.where, skipped.reason) for skipped in page.skipped]


def test_a_pages_images_are_one_post_in_their_order() -> None:
    (post,) = read(f"<loc>{SITE}/a</loc>" + image("/1.jpg") + image(f"{SITE}/2.gif")).posts

    assert post.key == post.link == f"{SITE}/a"
    assert [media.renditions[0].url for media in post.media] == [f"{SITE}/1.jpg", f"{SITE}/2.gif"]
    assert {media.kind for media in post.media} == {MediaKind.IMAGE}


def test_a_pages_own_date_is_not_its_pictures() -> None:
    (post,) = read(f"<loc>{SITE}/a</loc><lastmod>2026-02-28</lastmod>" + image("/1.jpg")).posts

    assert post.created_at is None
    assert post.updated_at is not None
    assert post.updated_at.isoformat() == "2026-02-28T00:00:00+00:00"


def test_a_date_that_is_none_is_noted() -> None:
    (post,) = read(f"<loc>{SITE}/a</loc><lastmod>yesterday</lastmod>" + image("/1.jpg")).posts

    assert post.notes == ("lastmod: not a date: 'yesterday'",)


def test_an_image_named_twice_is_one_media() -> None:
    (post,) = read(f"<loc>{SITE}/a</loc>" + image("/1.jpg") + image("/1.jpg")).posts

    assert len(post.media) == 1


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("<image:image/>", "empty_image"),
        (image("ftp://x.example.com/1.jpg"), "not_http_url"),
        (video(player_loc="/p"), "player_only"),
        (video(title="nothing"), "no_address"),
        (video(content_loc="/v.mp4", expiration_date="2026-03-09"), "expired"),
        (video(content_loc="/v.mp4", requires_subscription="yes"), "requires_subscription"),
        (video(content_loc="/v.mp4", live="yes"), "live"),
        (video(content_loc="rtmp://x.example.com/v"), "not_http_url"),
    ],
)
def test_what_gives_no_media_is_told_and_costs_no_other(entry: str, reason: str) -> None:
    page = read(f"<loc>{SITE}/a</loc>" + entry + image("/1.jpg"))

    assert [reason for _, reason in skips(page)] == [reason]
    assert len(page.posts[0].media) == 1


@pytest.mark.parametrize("when", ["2026-03-11", "2026-03-10T00:00:01Z", "soon"])
def test_a_video_that_did_not_expire_yet_is_taken(when: str) -> None:
    page = read(f"<loc>{SITE}/a</loc>" + video(content_loc="/v.mp4", expiration_date=when))

    assert page.posts[0].media[0].kind is MediaKind.VIDEO


def test_a_video_may_be_a_manifest() -> None:
    (post,) = read(f"<loc>{SITE}/a</loc>" + video(content_loc="/v.m3u8", description="d")).posts

    assert post.media[0].renditions[0].manifest == "hls"
    assert post.text == "d"


def test_urls_without_media_are_told_in_runs_and_are_no_posts() -> None:
    bare = f"<loc>{SITE}/x</loc>"
    page = read(bare, bare, bare, bare + image("/1.jpg"), bare)

    assert skips(page) == [("urls 1 to 3", "no_media"), ("url 5", "no_media")]
    assert len(page.posts) == 1


def test_a_url_without_its_own_address_keeps_its_media() -> None:
    (post,) = read(image("/1.jpg")).posts

    assert post.key.startswith("digest:")
    assert post.link is None


def test_a_sitemap_has_no_newest_end() -> None:
    assert not read(f"<loc>{SITE}/a</loc>" + image("/1.jpg")).newest_first


@pytest.mark.parametrize(
    "body",
    [
        f"<urlset><url><loc>{SITE}/a</loc><image:image><image:loc>{SITE}/1.jpg?a&b</image:loc>"
        "</image:image></url></urlset>",
        urlset(f"<loc>{SITE}/a</loc><image:image><image:loc>/1.jpg?a&b</image:loc></image:image>"),
        f"<m:urlset xmlns:m='http://www.google.com/schemas/sitemap/0.84' {NAMES}><m:url>"
        f"<m:loc>{SITE}/a</m:loc>{image('/1.jpg?a&b')}</m:url></m:urlset>",
    ],
)
def test_hand_made_sitemaps_are_read(body: str) -> None:
    page = parse("sitemap", body, url=f"{SITE}/sitemap.xml")

    assert [media.renditions[0].url for media in page.posts[0].media] == [f"{SITE}/1.jpg?a&b"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<rss><channel/></rss>", "not_a_feed"),
        ("<urlset><url></urlset>", "bad_xml"),
        ('<!DOCTYPE urlset [<!ENTITY a "b">]><urlset/>', "xml_dtd_refused"),
        ("<html/>", "html_instead_of_feed"),
        (f"{SITE}/a\n", "bad_xml"),
    ],
)
def test_what_is_no_sitemap_is_refused_by_name(body: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse("sitemap", body)

    assert caught.value.reason == reason


# --- parts of a large one ---


def _parts(body: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FeedPage]:
    monkeypatch.setattr("core.sources.sitemap.POSTS_A_PAGE", 2)
    reader, cursor = adapter("sitemap"), None
    for _ in range(10):
        stream = BytesIO(body.encode())
        page = reader.parse(PageInput(stream, f"{SITE}/sitemap.xml", cursor=cursor))
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def test_a_large_sitemap_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [f"<loc>{SITE}/{n}</loc>" + image(f"/{n}.jpg") for n in range(5)]
    entries.insert(1, f"<loc>{SITE}/bare</loc>")
    pages = list(_parts(urlset(*entries), monkeypatch))

    assert [len(page.posts) for page in pages] == [2, 2, 1]
    assert [post.key for page in pages for post in page.posts] == [f"{SITE}/{n}" for n in range(5)]
    assert [skip for page in pages for skip in skips(page)] == [("url 2", "no_media")]


def test_a_large_sitemap_that_ends_with_its_part_has_no_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = [f"<loc>{SITE}/{n}</loc>" + image(f"/{n}.jpg") for n in range(4)]

    assert len(list(_parts(urlset(*entries), monkeypatch))) == 2


def test_a_large_sitemap_is_told_to_be_cut_before_any_of_it_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = [f"<loc>{SITE}/{n}</loc>" + image(f"/{n}.jpg") for n in range(5)]

    with pytest.raises(Malformed) as caught:
        list(_parts(urlset(*entries)[:-20], monkeypatch))

    assert caught.value.reason == "truncated"


def test_a_feeds_own_sitemap_is_read_on_from_the_kept_body(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [f"<loc>{SITE}/{n}</loc>" + image(f"/{n}.jpg") for n in range(5)]
    first = next(_parts(urlset(*entries), monkeypatch))

    assert adapter("sitemap").request(f"{SITE}/sitemap.xml", first.cursor) is None
