"""Which rendition of a media is got, and by what task."""

from __future__ import annotations

import pytest

from core.model.post import MediaKind, MediaRecord, Post, Rendition
from core.model.task import ImagePayload, ManifestPayload
from core.model.walk import WalkPage
from core.steps.page import media_payload

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
