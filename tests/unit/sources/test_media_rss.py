"""Groups, siblings, thumbnails, enclosures: what is one media and what is several."""

from __future__ import annotations

import pytest

from core.model.post import FeedPage, MediaKind, MediaRecord
from tests.support.pages import parse, rss

CDN = "https://cdn.example.com"
GROUP = f"""<guid>g</guid><media:group>
 <media:content url="{CDN}/240.mp4" type="video/mp4" width="426" height="240"/>
 <media:content url="{CDN}/480.mp4" type="video/mp4" width="854" height="480"/>
 <media:content url="{CDN}/1080.mp4" type="video/mp4" width="1920" height="1080"/>
 <media:thumbnail url="{CDN}/poster.jpg"/></media:group>"""


def _media(*items: str) -> list[MediaRecord]:
    return [media for post in parse("rss", rss(*items)).posts for media in post.media]


def _urls(media: MediaRecord) -> list[str]:
    return [rendition.url.removeprefix(CDN) for rendition in media.renditions]


def _reasons(page: FeedPage) -> list[str]:
    return [skipped.reason for skipped in page.skipped]


def test_row_20_a_group_is_one_media_with_its_renditions_largest_first() -> None:
    (media,) = _media(GROUP)

    assert _urls(media) == ["/1080.mp4", "/480.mp4", "/240.mp4"]


def test_a_thumbnail_is_a_poster_and_not_a_media() -> None:
    (media,) = _media(GROUP)

    assert media.poster == f"{CDN}/poster.jpg"


def test_siblings_without_a_group_are_separate_media() -> None:
    media = _media(f'<media:content url="{CDN}/1.png"/><media:content url="{CDN}/2.png"/>')

    assert [(m.position, _urls(m)) for m in media] == [(0, ["/1.png"]), (1, ["/2.png"])]


def test_two_groups_are_two_media() -> None:
    media = _media(
        f'<media:group><media:content url="{CDN}/1.png"/></media:group>'
        f'<media:group><media:content url="{CDN}/2.png"/></media:group>'
    )

    assert [_urls(m) for m in media] == [["/1.png"], ["/2.png"]]


def test_an_enclosure_that_repeats_a_group_is_the_same_object_even_before_it() -> None:
    media = _media(f'<enclosure url="{CDN}/480.mp4" type="video/mp4"/>' + GROUP)

    assert len(media) == 1


def test_the_default_comes_before_a_larger_one() -> None:
    (media,) = _media(
        f'<media:group><media:content url="{CDN}/big.mp4" width="4000" height="3000"/>'
        f'<media:content url="{CDN}/std.mp4" width="400" height="300" isDefault="true"/>'
        "</media:group>"
    )

    assert _urls(media) == ["/std.mp4", "/big.mp4"]


def test_bitrate_decides_at_equal_size_and_is_in_bits() -> None:
    (media,) = _media(
        f'<media:group><media:content url="{CDN}/a.mp4" bitrate="900"/>'
        f'<media:content url="{CDN}/b.mp4" bitrate="4200.5"/></media:group>'
    )

    assert [r.bitrate for r in media.renditions] == [4_200_500, 900_000]


@pytest.mark.parametrize(
    ("manifest", "kind"),
    [
        (f'url="{CDN}/m.m3u8"', "hls"),
        (f'url="{CDN}/m" type="application/vnd.apple.mpegurl"', "hls"),
        (f'url="{CDN}/m.mpd?x=1"', "dash"),
        (f'url="{CDN}/m" type="application/dash+xml; charset=utf-8"', "dash"),
    ],
)
def test_plain_files_come_before_manifests_even_default_ones(manifest: str, kind: str) -> None:
    (media,) = _media(
        f'<media:group><media:content {manifest} isDefault="true"/>'
        f'<media:content url="{CDN}/plain.mp4"/></media:group>'
    )

    assert [r.manifest for r in media.renditions] == [None, kind]
    assert media.kind is MediaKind.VIDEO


def test_a_sample_is_no_rendition_and_an_enclosure_does_not_bring_it_back() -> None:
    page = parse(
        "rss",
        rss(
            f'<media:group><media:content url="{CDN}/full.mp4"/>'
            f'<media:content url="{CDN}/teaser.mp4" expression="sample"/></media:group>'
            f'<enclosure url="{CDN}/teaser.mp4" type="video/mp4"/>'
        ),
    )

    assert [_urls(m) for m in page.posts[0].media] == [["/full.mp4"]]
    assert _reasons(page) == ["sample"]


def test_kinds_mixed_in_one_group_are_not_renditions_of_each_other() -> None:
    media = _media(
        f'<media:group><media:content url="{CDN}/v.mp4"/><media:content url="{CDN}/i.jpg"/>'
        "</media:group>"
    )

    assert [m.kind for m in media] == [MediaKind.VIDEO, MediaKind.IMAGE]


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ('<media:content url="https://x.example.com/a.mp3"/>', "unsupported_type"),
        ('<media:content url="https://x.example.com/a" medium="audio"/>', "unsupported_type"),
        ('<media:content url="https://x.example.com/a" type="text/html"/>', "unsupported_type"),
        (
            '<media:content url="https://x.example.com/a.pdf" medium="document"/>',
            "unsupported_type",
        ),
        ("<media:content medium='video'><media:player url='x'/></media:content>", "player_only"),
        ("<media:player url='https://x.example.com/p'/>", "player_only"),
        ("<media:content medium='video'/>", "no_address"),
        ('<enclosure url="ftp://x.example.com/a.jpg" type="image/jpeg"/>', "not_http_url"),
        ('<enclosure url="javascript:alert(1)" type="image/jpeg"/>', "not_http_url"),
        ('<enclosure url="file:///etc/passwd" type="image/jpeg"/>', "not_http_url"),
        ('<enclosure url="http://[broken/a.jpg" type="image/jpeg"/>', "not_http_url"),
        ('<enclosure url="http://x.example.com:99999/a.jpg"/>', "not_http_url"),
        ('<enclosure url="" type="image/jpeg"/>', "no_address"),
        (f'<enclosure url="https://x.example.com/{"a" * 9000}.jpg"/>', "address_too_long"),
    ],
)
def test_what_gives_no_media_is_skipped_with_its_reason(element: str, reason: str) -> None:
    page = parse("rss", rss(f"<guid>g</guid>{element}"))

    assert _reasons(page) == [reason]
    assert [post.key for post in page.posts] == ["g"]


def test_a_type_that_nothing_tells_is_tried_as_an_image_with_a_note() -> None:
    page = parse("rss", rss(f'<media:content url="{CDN}/i/4"/>'))

    assert page.posts[0].media[0].kind is MediaKind.IMAGE
    assert "nothing tells the type" in page.posts[0].notes[0]


def test_a_type_that_says_nothing_gives_way_to_the_extension() -> None:
    (media,) = _media(f'<enclosure url="{CDN}/clip.MP4?x=1" type="application/octet-stream"/>')

    assert media.kind is MediaKind.VIDEO


@pytest.mark.parametrize("length", ["0", "", "-1", "many", "1e9", "nan"])
def test_a_length_that_is_no_size_is_unknown(length: str) -> None:
    (media,) = _media(f'<enclosure url="{CDN}/1.jpg" length="{length}" type="image/jpeg"/>')

    assert media.renditions[0].size_bytes is None


def test_title_poster_and_hash_come_from_the_nearest_element() -> None:
    (media,) = _media(
        "<media:title>Item</media:title><media:hash>00000000000000000000000000000000</media:hash>"
        f'<media:thumbnail url="{CDN}/far.jpg"/><media:group><media:title>Group</media:title>'
        f'<media:thumbnail url="{CDN}/near.jpg"/><media:content url="{CDN}/1.mp4">'
        '<media:hash algo="sha-1">DA39A3EE5E6B4B0D3255BFEF95601890AFD80709</media:hash>'
        "</media:content></media:group>"
    )

    assert media.title == "Group"
    assert media.poster == f"{CDN}/near.jpg"
    assert media.hashes == {"sha1": "da39a3ee5e6b4b0d3255bfef95601890afd80709"}


@pytest.mark.parametrize(
    "told", ["<media:hash>short</media:hash>", '<media:hash algo="crc">00000000</media:hash>']
)
def test_a_hash_that_nobody_can_check_is_no_promise(told: str) -> None:
    (media,) = _media(f'<media:content url="{CDN}/1.mp4">{told}</media:content>')

    assert media.hashes == {}


def test_the_namespace_is_known_under_any_prefix_and_without_its_last_slash() -> None:
    body = (
        '<rss xmlns:m="http://search.yahoo.com/mrss"><channel><item>'
        f'<m:group><m:content url="{CDN}/1.png"/></m:group></item></channel></rss>'
    )

    assert parse("rss", body).posts[0].media[0].renditions[0].url == f"{CDN}/1.png"


def test_a_foreign_content_element_is_not_media() -> None:
    body = (
        '<rss xmlns:media="http://other.example.com/"><channel><item>'
        f'<media:content url="{CDN}/1.png"/></item></channel></rss>'
    )

    assert parse("rss", body).posts[0].media == ()


def test_a_hash_of_a_whole_item_condemns_none_of_its_several_media() -> None:
    told = "<media:hash>00000000000000000000000000000000</media:hash>"
    contents = f'<media:content url="{CDN}/1.png"/><media:content url="{CDN}/2.png"/>'
    (alone,) = _media(told + f'<media:content url="{CDN}/1.png"/>')

    assert alone.hashes == {"md5": "0" * 32}
    assert [media.hashes for media in _media(told + contents)] == [{}, {}]
