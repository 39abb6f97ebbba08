"""Which rendition of a media is got, and by what task."""

from __future__ import annotations

import pytest

from core.model.post import FeedPage, MediaKind, MediaRecord, Post, Rendition, Skipped
from core.model.source import SourceTerms
from core.model.task import ImagePayload, ManifestPayload
from core.model.walk import WalkPage
from core.steps.page import media_payload, without_secrets
from core.steps.wish import Wish

PLAIN = Rendition(url="https://media.example/v.mp4")
HLS = Rendition(url="https://media.example/v.m3u8", manifest="hls")
DASH = Rendition(url="https://media.example/v.mpd", manifest="dash")


def payload_of(*renditions: Rendition, **fields: object) -> ImagePayload | ManifestPayload:
    record = MediaRecord(kind=MediaKind.VIDEO, renditions=renditions, **fields)
    return media_payload("feed", "f" * 16, Post(key="1", title="The race"), record)


@pytest.mark.parametrize(
    ("renditions", "chosen"),
    [
        ((PLAIN,), PLAIN),
        ((HLS,), HLS),
        ((PLAIN, HLS), PLAIN),
        ((HLS, PLAIN), HLS),
        ((DASH, HLS), DASH),
        ((DASH, PLAIN), DASH),
        ((DASH,), DASH),
    ],
)
def test_the_best_rendition_that_can_be_read_is_chosen(renditions, chosen):
    payload = payload_of(*renditions)

    assert payload.url == chosen.url
    assert isinstance(payload, ManifestPayload if chosen.manifest else ImagePayload)


def test_a_hash_of_one_plain_file_is_checked_and_one_of_a_manifest_says_nothing():
    hashes = {"md5": "0" * 32}

    assert payload_of(PLAIN, hashes=hashes).hashes == hashes
    assert isinstance(payload_of(HLS, hashes=hashes), ManifestPayload)


def test_a_page_keeps_what_each_of_its_media_is():
    media = (payload_of(PLAIN), payload_of(HLS))
    page = WalkPage(walk="w1", feed="f" * 16, page=1, media=media, read_at=1_000_000.0)

    assert WalkPage.model_validate_json(page.model_dump_json()) == page


def test_a_page_that_was_kept_before_there_were_videos_can_be_read():
    old = WalkPage(walk="w", feed="f" * 16, page=1, media=(payload_of(PLAIN),), read_at=1.0)

    assert isinstance(WalkPage.model_validate_json(old.model_dump_json()).media[0], ImagePayload)


@pytest.mark.parametrize(
    ("cursor", "kept"),
    [
        ("https://a.example/x?key=hush", "https://a.example/x"),
        ("rss https://a.example/x?key=hush&b=1", "rss https://a.example/x?b=1"),
        ("https://a.example/x?b=1&key=hush&key=2", "https://a.example/x?b=1"),
        (
            '{"ask":"https://a.example/x?key=hush","held":["https://a.example/y?a&key=hush&c"]}',
            '{"ask":"https://a.example/x","held":["https://a.example/y?a&c"]}',
        ),
        ("https://a.example/x?monkey=1", "https://a.example/x?monkey=1"),
        ("1200:251", "1200:251"),
    ],
)
def test_a_cursor_loses_its_secrets_and_nothing_else(cursor: str, kept: str):
    terms = SourceTerms("site", rate=1.0, burst=1, secret_query={"key": "hush"})

    assert without_secrets(FeedPage(posts=(), cursor=cursor), terms).cursor == kept


def _video(*heights: int | None) -> MediaRecord:
    renditions = tuple(
        Rendition(url=f"https://cdn.example.com/{height}.mp4", height=height) for height in heights
    )
    return MediaRecord(kind=MediaKind.VIDEO, renditions=renditions, key="film")


@pytest.mark.parametrize(
    ("heights", "max_height", "chosen"),
    [
        ((1080, 720, 480), 720, "720.mp4"),
        ((1080, 720, 480), 900, "720.mp4"),
        ((1080, 720), 480, "720.mp4"),
        ((1080, 720), None, "1080.mp4"),
        ((1080, None), 720, "None.mp4"),
    ],
)
def test_a_video_in_plain_files_is_got_at_most_as_high_as_the_settings_want(
    heights: tuple[int | None, ...], max_height: int | None, chosen: str
) -> None:
    post = Post(key="1")
    payload = media_payload("mill", "f" * 16, post, _video(*heights), Wish(max_height))

    assert payload.url.endswith(chosen)


# --- secrets ---


def test_a_token_that_a_source_puts_into_its_addresses_is_kept_nowhere() -> None:
    token = "EAAB0123456789"
    terms = SourceTerms(
        "mill", rate=1.0, burst=1, secret_headers={"Authorization": f"Bearer {token}"}
    )
    url = f"https://media.example/v.mp4?access_token={token}&n=1"
    record = MediaRecord(
        kind=MediaKind.VIDEO,
        renditions=(Rendition(url=url, backups=(url,)),),
        key=url,
        referer=url,
        poster=url,
        ref=f'{{"at":"{url}"}}',
        motion_of=url,
    )
    post = Post(key=url, link=url, origin=url, media=(record,), notes=(f"lost {url}",))
    page = FeedPage(
        posts=(post,),
        cursor=url,
        skipped=(Skipped(where=url, reason=f"gone: {url}"),),
        notes=(url,),
    )

    kept = without_secrets(page, terms)

    assert token not in kept.model_dump_json()
    assert kept.posts[0].media[0].renditions[0].url == "https://media.example/v.mp4?n=1"
    assert kept.cursor == "https://media.example/v.mp4?n=1"


# --- what is tried where the best is refused ---


def test_the_other_plain_files_go_along_the_best_first_and_only_a_few() -> None:
    sizes = [
        Rendition(url=f"https://media.example/{n}.jpg", backups=("https://b.example/",))
        for n in range(7)
    ]

    payload = payload_of(sizes[0], HLS, *sizes[1:])

    assert isinstance(payload, ImagePayload)
    assert [one.url[-5] for one in payload.alternatives] == ["1", "2", "3", "4"]
    assert not any(one.backups for one in payload.alternatives)
    assert payload.rendition == sizes[0]


def test_an_address_too_long_for_a_message_is_no_alternative() -> None:
    long = Rendition(url="https://media.example/" + "x" * 3000)

    assert payload_of(PLAIN, long).alternatives == ()


def test_those_that_are_small_enough_go_before_those_that_are_not() -> None:
    payload = media_payload("mill", "f" * 16, Post(key="1"), _video(1080, 720, 480), Wish(720))

    assert isinstance(payload, ImagePayload)
    assert [one.height for one in payload.alternatives] == [480, 1080]
