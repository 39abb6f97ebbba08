"""An image task against a site that misbehaves, into a real store."""

from __future__ import annotations

import hashlib

import pytest

from core import errors
from core.model.end import EndState
from core.model.post import MediaKind, Rendition
from core.model.source import SourceTerms
from core.model.task import Kind, ManifestPayload, Task
from core.model.video import StagedVideo
from core.steps.actions import Publish
from core.steps.run import Run
from tests.support import media
from tests.support.getting import Getting
from tests.support.site import Site, cut, whole
from tests.support.tasks import an_image_payload
from tests.support.videos import a_manifest_payload, a_plan


@pytest.fixture
def getting(tmp_path):
    with Site() as site:
        getting = Getting(tmp_path, site)
        yield getting
        getting.store.close()


def test_a_picture_becomes_an_object_and_a_record_with_its_provenance(getting):
    body = media.jpeg(48, 32)
    getting.site.serve("/x.jpg", body, etag='"v1"', content_type="image/jpeg")

    end = getting.run(post="p" * 32, position=3, title="The weir")

    assert getting.object_of(end) == body
    assert (end.state, end.kind, end.attempts) == (EndState.GOT, MediaKind.IMAGE, 2)
    assert (end.file.width, end.file.height, end.file.extension) == (48, 32, ".jpg")
    assert (end.fetched.etag, end.fetched.status) == ('"v1"', 200)
    assert (end.position, end.title) == (3, "The weir")


def test_its_slot_is_free_once_all_is_fetched_and_before_anything_is_committed(getting):
    getting.site.serve("/x.jpg", media.jpeg())
    there = []

    class Watched(Run):
        def __init__(self, *given, **more):
            objects = getting.store.root / "objects"
            fetched = lambda: there.append([p for p in objects.rglob("*") if p.is_file()])  # noqa: E731
            super().__init__(*given, **more, fetched=fetched)

    end = getting.run(run=Watched)

    assert there == [[]]
    assert getting.object_of(end) == media.jpeg()


def test_what_fails_tells_nobody_that_it_is_fetched(getting):
    getting.site.serve("/x.jpg", b"<!DOCTYPE html><title>gone</title>")
    told = []

    class Watched(Run):
        def __init__(self, *given, **more):
            super().__init__(*given, **more, fetched=lambda: told.append(True))

    with pytest.raises(errors.NotMedia):
        getting.run(run=Watched)

    assert told == []


def test_row_11_the_type_comes_from_the_bytes_and_the_told_one_is_kept(getting):
    getting.site.serve("/x.jpg", media.webp(), content_type="image/jpeg")

    end = getting.run()

    assert (end.file.type_sniffed, end.file.extension) == ("image/webp", ".webp")
    assert end.fetched.type_told == "image/jpeg"


def test_a_plain_video_is_filed_as_a_video_whatever_the_feed_took_it_for(getting):
    getting.site.serve("/x.jpg", media.mp4())

    end = getting.run(media_kind=MediaKind.IMAGE)

    assert end.kind is MediaKind.VIDEO


def test_a_cut_body_keeps_its_partial_and_the_next_run_resumes_it(getting):
    body = media.jpeg(64, 64) + b"trailing" * 4000
    getting.site.on("/x.jpg", cut(body, after=9000, etag='"v1"'), whole(body, etag='"v1"'))

    with pytest.raises(errors.Truncated):
        getting.run(token="t1")
    end = getting.run(token="t2")

    assert getting.object_of(end) == body
    assert end.fetched.resumed
    assert getting.site.requests[1].headers["Range"] == "bytes=9000-"


def test_a_damaged_file_is_dropped_so_that_the_next_run_starts_from_nothing(getting):
    body = media.png()
    getting.site.on("/x.png", whole(body[:-12], etag='"v1"'), whole(body, etag='"v1"'))

    with pytest.raises(errors.Truncated):
        getting.run("/x.png", token="t1")
    end = getting.run("/x.png", token="t2")

    assert getting.object_of(end) == body
    assert getting.site.requests[1].headers["Range"] is None


@pytest.mark.parametrize("told", ["image/jpeg", "text/html"])
def test_row_10_html_is_not_filed_as_a_picture_whatever_it_is_called(getting, told):
    getting.site.serve("/x.jpg", b"<!DOCTYPE html><title>gone</title>", content_type=told)

    with pytest.raises(errors.NotMedia) as caught:
        getting.run()

    assert caught.value.reason == "html_instead_of_media"


def handed_over(action) -> Task:
    """The task to which a run handed its media over."""
    assert isinstance(action, Publish)
    (copy,) = action.copies
    return copy.task


def test_what_the_feed_calls_a_manifest_is_handed_over_without_a_request(getting):
    rendition = Rendition(url=getting.site.url("/v.m3u8"), manifest="hls")

    task = handed_over(getting.run("/v.m3u8", rendition=rendition))

    assert task.kind is Kind.MANIFEST
    assert getting.site.requests == []


def test_a_manifest_in_a_plain_files_clothes_is_handed_over_by_its_content(getting):
    getting.site.serve("/x.mp4", b"#EXTM3U\n#EXT-X-VERSION:3\n", content_type="video/mp4")

    task = handed_over(getting.run("/x.mp4", title="The race", hashes={}))

    assert task.payload == ManifestPayload(
        **an_image_payload(getting.site.url("/x.mp4"), title="The race").model_dump(
            exclude={"kind", "hashes", "alternatives"}
        )
    )
    assert list(getting.store.staging.media()) == []


def test_the_generation_goes_along_with_what_is_handed_over(getting):
    rendition = Rendition(url=getting.site.url("/v.m3u8"), manifest="hls")

    assert handed_over(getting.run("/v.m3u8", generation=3, rendition=rendition)).generation == 3


def test_a_media_with_a_plan_is_handed_over_without_a_request(getting):
    url = getting.site.url("/x.mp4")
    payload = a_manifest_payload(an_image_payload(url).media, url=url)
    plan = a_plan(2, media=payload.media)
    getting.store.videos.put_plan(StagedVideo(source="feed", payload=payload, plan=plan))

    assert handed_over(getting.run("/x.mp4")).kind is Kind.MANIFEST
    assert getting.site.requests == []


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256"])
def test_a_promised_hash_is_kept_or_the_file_is_refused(getting, algorithm):
    body = media.gif()
    getting.site.serve("/x.gif", body)
    right = hashlib.new(algorithm, body).hexdigest()

    assert getting.run("/x.gif", hashes={algorithm: right.upper()}).file.size_bytes == len(body)
    with pytest.raises(errors.Mismatch, match=algorithm):
        getting.run("/x.gif", token="t2", hashes={algorithm: "0" * len(right)})


def test_a_secret_goes_out_with_the_request_and_into_no_record(getting):
    getting.terms = SourceTerms(
        "feed", 10.0, 20, secret_query={"key": "hush"}, secret_hosts=("127.0.0.1",)
    )
    getting.site.serve("/x.jpg", media.jpeg())

    end = getting.run("/x.jpg?token=abc")

    assert getting.site.requests[0].path == "/x.jpg?token=abc&key=hush"
    assert "hush" not in end.model_dump_json()
    assert "abc" not in end.model_dump_json()


def test_the_same_bytes_twice_are_one_object_and_two_records(getting):
    for path in ("/a.jpg", "/b.jpg"):
        getting.site.serve(path, media.jpeg())

    one, two = getting.run("/a.jpg"), getting.run("/b.jpg")

    assert one.media != two.media
    assert one.file.sha256 == two.file.sha256


def test_a_run_that_hands_over_leaves_its_bytes_to_the_next(getting):
    body = media.jpeg(64, 64) + b"t" * 3_000_000
    getting.site.serve("/x.jpg", body, etag='"v1"')

    class StoppedInTheMiddle(Run):
        def progress(self, size_bytes):
            super().progress(size_bytes)
            getting.stop.set()

    with pytest.raises(errors.Released):
        getting.run(token="t1", run=StoppedInTheMiddle)
    getting.stop.clear()
    end = getting.run(token="t2")

    assert getting.object_of(end) == body
    assert end.fetched.resumed
