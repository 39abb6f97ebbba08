"""An address that is a media itself, read as a list of one."""

from __future__ import annotations

import pytest

from core.errors import Malformed
from core.model.post import MediaKind
from core.sources.one_media import is_file
from tests.support import dash, manifests, media
from tests.support.pages import parse

TALK = "https://videos.example/talk"
HLS = manifests.text("#EXT-X-TARGETDURATION:4", *manifests.segments("a.ts", "b.ts"))
MPD = dash.mpd()
PROLOGUE = b"<?xml version='1.0'?>\n<!-- made by a machine -->\n"


@pytest.mark.parametrize(
    ("body", "manifest"),
    [
        (HLS, "hls"),
        (b"\xef\xbb\xbf\n" + HLS, "hls"),
        (manifests.text(*manifests.variant("low/index.m3u8", BANDWIDTH=1)), "hls"),
        (HLS.replace(b"a.ts", b"https://cdn.example/a.ts"), "hls"),
        (MPD, "dash"),
        (PROLOGUE + MPD, "dash"),
        (MPD.decode().encode("utf-16"), "dash"),
    ],
)
def test_a_manifests_own_address_is_a_list_of_one_video(body: bytes, manifest: str):
    page = parse("feed", body, url=TALK, content_type="text/html")
    [post] = page.posts
    [video] = post.media

    assert (post.key, video.kind, page.cursor) == (TALK, MediaKind.VIDEO, None)
    assert [(one.url, one.manifest) for one in video.renditions] == [(TALK, manifest)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (media.jpeg(), MediaKind.IMAGE),
        (media.png(), MediaKind.IMAGE),
        (media.gif(), MediaKind.IMAGE),
        (media.webp(), MediaKind.IMAGE),
        (media.heif(), MediaKind.IMAGE),
        (media.mp4(), MediaKind.VIDEO),
    ],
)
def test_a_files_own_address_is_a_list_of_one(body: bytes, kind: MediaKind):
    [post] = parse("feed", body, url=TALK).posts

    assert [(one.kind, one.renditions[0].manifest) for one in post.media] == [(kind, None)]


def test_the_address_that_was_named_is_the_medias_not_where_it_led_today():
    signed = f"{TALK}/signed?until=tomorrow"
    [post] = parse("feed", media.jpeg(), url=signed, feed=TALK).posts

    assert post.media[0].renditions[0].url == post.key == TALK


def test_an_m3u_of_addresses_is_a_list():
    page = parse("feed", "#EXTM3U\n#EXTINF:5,Race\nhttps://cdn.example/race.mp4\n")

    assert [post.key for post in page.posts] == ["https://cdn.example/race.mp4"]


@pytest.mark.parametrize("body", [HLS, MPD, media.jpeg()])
def test_a_media_of_this_machine_has_no_address(body: bytes):
    with pytest.raises(Malformed, match="on this machine") as caught:
        parse("feed", body, url="file:///home/ada/talk", feed="file:///home/ada/talk")

    assert caught.value.reason == "local_media"


def test_a_table_is_no_film_by_the_name_of_a_column():
    table = "url\twide\nhttps://cdn.example/1.jpg\tyes\n"

    assert not is_file(table.encode())
    assert [post.key for post in parse("feed", table).posts] == ["https://cdn.example/1.jpg"]
