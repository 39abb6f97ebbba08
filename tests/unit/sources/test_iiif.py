"""IIIF manifests of both versions, and collections."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import Malformed
from core.model.post import FeedPage, MediaKind
from tests.support.pages import parse
from tests.unit.sources.test_descent import Walk
from tests.unit.sources.test_sitemap import SITE

IMAGES = "https://images.example.com/i/1"
SERVICE_3 = {"id": IMAGES, "type": "ImageService3", "profile": "level2"}
SERVICE_2 = {
    "@context": "http://iiif.io/api/image/2/context.json",
    "@id": IMAGES,
    "profile": "http://iiif.io/api/image/2/level2.json",
}


def canvas(*bodies: object, **more: object) -> dict[str, Any]:
    painted = [{"motivation": "painting", "body": body} for body in bodies]
    return {"id": f"{SITE}/c", "type": "Canvas", "items": [{"items": painted}]} | more


def manifest(*canvases: object, **more: object) -> dict[str, Any]:
    return {"id": f"{SITE}/m", "type": "Manifest", "items": list(canvases)} | more


def read(told: object) -> FeedPage:
    return parse("iiif", json.dumps(told), url=f"{SITE}/manifest.json")


def urls(*bodies: object) -> list[list[str]]:
    """The renditions' addresses of each media of a canvas."""
    (post,) = read(manifest(canvas(*bodies))).posts
    return [[rendition.url for rendition in media.renditions] for media in post.media]


def picture(name: str, **more: object) -> dict[str, object]:
    return {"id": f"{SITE}/{name}.jpg", "type": "Image", "format": "image/jpeg"} | more


@pytest.mark.parametrize(
    ("service", "whole"),
    [
        ([SERVICE_3], f"{IMAGES}/full/max/0/default.jpg"),
        (SERVICE_3 | {"id": IMAGES + "/"}, f"{IMAGES}/full/max/0/default.jpg"),
        (SERVICE_2, f"{IMAGES}/full/full/0/default.jpg"),
        ([{"type": "AuthCookieService1"}, SERVICE_2], f"{IMAGES}/full/full/0/default.jpg"),
        (
            {"@id": IMAGES, "profile": "http://library.stanford.edu/iiif/image-api/1.1/level1"},
            f"{IMAGES}/full/full/0/native.jpg",
        ),
    ],
)
def test_the_whole_image_is_asked_of_its_service_first(service: object, whole: str) -> None:
    assert urls(picture("small", service=service)) == [[whole, f"{SITE}/small.jpg"]]


@pytest.mark.parametrize(
    "service",
    [
        SERVICE_3 | {"profile": "level0"},  # tiles that lie there, and nothing that scales
        {"id": f"{SITE}/search", "type": "SearchService2"},
        {"type": "ImageService3"},
        "https://images.example.com/i/1",
        None,
    ],
)
def test_without_a_service_that_scales_the_file_itself_is_taken(service: object) -> None:
    assert urls(picture("a", service=service)) == [[f"{SITE}/a.jpg"]]


def test_several_bodies_are_several_media() -> None:
    assert urls(picture("a"), [picture("b"), picture("c")]) == [
        [f"{SITE}/a.jpg"],
        [f"{SITE}/b.jpg"],
        [f"{SITE}/c.jpg"],
    ]


def test_a_choice_of_pictures_is_several_pictures() -> None:
    choice = {"type": "Choice", "items": [picture("daylight"), picture("ultraviolet")]}

    assert urls(choice) == [[f"{SITE}/daylight.jpg"], [f"{SITE}/ultraviolet.jpg"]]


def test_a_choice_of_videos_is_one_video_in_several_files() -> None:
    choice = {
        "type": "Choice",
        "items": [
            {"id": f"{SITE}/v.mp4", "type": "Video", "format": "video/mp4"},
            {"id": f"{SITE}/v.webm", "type": "Video", "format": "video/webm"},
        ],
    }

    assert urls(choice) == [[f"{SITE}/v.mp4", f"{SITE}/v.webm"]]


def test_a_part_of_a_resource_is_taken_whole() -> None:
    part = {"type": "SpecificResource", "source": picture("a"), "selector": {"type": "x"}}

    assert urls(part) == [[f"{SITE}/a.jpg"]]


def test_a_choice_in_version_2_has_its_default_first() -> None:
    resource = {
        "@type": "oa:Choice",
        "default": {"@id": f"{SITE}/a.jpg", "@type": "dctypes:Image"},
        "item": [{"@id": f"{SITE}/b.jpg", "@type": "dctypes:Image"}],
    }
    told = {
        "@id": f"{SITE}/m",
        "@type": "sc:Manifest",
        "sequences": [{"canvases": [{"@id": f"{SITE}/c", "images": [{"resource": resource}]}]}],
    }
    (post,) = read(told).posts

    assert [m.renditions[0].url for m in post.media] == [f"{SITE}/a.jpg", f"{SITE}/b.jpg"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"id": f"{SITE}/a.mp3", "type": "Sound", "format": "audio/mp3"}, "unsupported_type"),
        ({"type": "TextualBody", "value": "words"}, "unsupported_type"),
        ({"type": "Image"}, "no_address"),
        ({"id": "urn:x:1", "type": "Image"}, "not_http_url"),
    ],
)
def test_what_gives_no_media_is_told_and_costs_no_other(body: object, reason: str) -> None:
    page = read(manifest(canvas(body, picture("a"))))

    assert [skipped.reason for skipped in page.skipped] == [reason]
    assert len(page.posts[0].media) == 1


def test_what_is_written_about_a_canvas_is_no_picture_of_it() -> None:
    page = canvas()
    page["items"] = [{"items": [{"motivation": "commenting", "body": picture("a")}]}]

    assert read(manifest(page)).posts[0].media == ()


def test_a_post_tells_its_manifest_its_label_and_who_has_it() -> None:
    told = manifest(
        canvas(picture("a"), label={"none": ["f. 1r"]}),
        label={"en": ["Book"]},
        provider=[{"id": f"{SITE}/library", "type": "Agent", "label": {"en": ["The Library"]}}],
    )
    (post,) = read(told).posts

    assert (post.title, post.link) == ("Book: f. 1r", f"{SITE}/m")
    assert post.author is not None
    assert post.author.name == "The Library"


def test_a_video_has_its_length_and_its_poster() -> None:
    film = {"id": f"{SITE}/v.mp4", "type": "Video", "format": "video/mp4", "duration": 12.5}
    (post,) = read(manifest(canvas(film, thumbnail=[picture("p")]))).posts

    assert post.media[0].kind is MediaKind.VIDEO
    assert (post.media[0].duration_s, post.media[0].poster) == (12.5, f"{SITE}/p.jpg")


def test_a_broken_canvas_costs_no_other() -> None:
    page = read(manifest(7, canvas(picture("a")), None))

    assert [skipped.where for skipped in page.skipped] == ["canvas 1", "canvas 3"]
    assert len(page.posts) == 1


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"type": "Canvas"}, "not_a_manifest"),
        ({"items": []}, "not_a_manifest"),
        ({"type": "Manifest"}, "no_items"),
        ([], "not_a_feed"),
    ],
)
def test_what_is_no_manifest_is_refused_by_name(told: object, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(told)

    assert caught.value.reason == reason


def _served(**pages: object) -> dict[str, str]:
    return {f"/{name}": json.dumps(told) for name, told in pages.items()}


def _book(name: str) -> dict[str, object]:
    return manifest(canvas(picture(name), id=f"{SITE}/c-{name}"))


def test_a_collection_is_read_member_by_member() -> None:
    members = [{"id": f"{SITE}/{n}", "type": "Manifest"} for n in "ab"]
    inner = {"type": "Collection", "items": [{"id": f"{SITE}/c", "type": "Manifest"}]}
    outer = {"type": "Collection", "items": [*members, {"id": f"{SITE}/inner", "type": "x"}]}
    pages = _served(top=outer, inner=inner, a=_book("a"), b=_book("b"), c=_book("c"))

    assert Walk(pages, top=f"{SITE}/top", name="iiif").posts == ["/c-a", "/c-b", "/c-c"]


def test_a_collection_of_version_2_may_come_in_pages() -> None:
    first = {"@type": "sc:Collection", "manifests": [{"@id": f"{SITE}/a"}], "next": f"{SITE}/p2"}
    second = {"@type": "sc:Collection", "members": [{"@id": f"{SITE}/b"}, f"{SITE}/b"]}
    top = {"@type": "sc:Collection", "first": f"{SITE}/p1", "total": 2}
    pages = _served(top=top, p1=first, p2=second, a=_book("a"), b=_book("b"))
    walk = Walk(pages, top=f"{SITE}/top", name="iiif")

    assert walk.asked == ["/top", "/p1", "/a", "/p2", "/b"]
    assert walk.posts == ["/c-a", "/c-b"]


def test_a_manifest_that_is_gone_costs_only_itself() -> None:
    members = [{"id": f"{SITE}/{n}"} for n in "ab"]
    pages = _served(top={"type": "Collection", "items": members}, b=_book("b"))
    walk = Walk(pages, top=f"{SITE}/top", name="iiif")

    assert walk.skipped == [("/a", "gone")]
    assert walk.posts == ["/c-b"]
