"""What of a post goes into its record."""

from __future__ import annotations

import json

import pytest

from core.model.post import MediaKind, MediaRecord, Post, Rendition
from core.store.content import digest, struck

SIGNED = "https://u:p@cdn.example/x.jpg?sig=hush&n=1"
STRUCK = "https://cdn.example/x.jpg?sig=***&n=1"


def post_of(**fields: object) -> Post:
    given = {"kind": MediaKind.IMAGE, "renditions": (Rendition(url="https://c.example/1"),)}
    return Post(key="1", media=(MediaRecord(**given | fields),))


@pytest.mark.parametrize("name", ["key", "poster", "referer", "motion_of"])
def test_every_address_of_a_media_is_struck(name: str) -> None:
    (media,) = struck(post_of(**{name: SIGNED})).media

    assert getattr(media, name) == STRUCK


def test_backups_are_struck() -> None:
    rendition = Rendition(url="https://c.example/1", backups=("https://c.example/2", SIGNED))
    (media,) = struck(post_of(renditions=(rendition,))).media

    assert media.renditions[0].backups == ("https://c.example/2", STRUCK)


def test_addresses_within_a_reference_are_struck() -> None:
    ref = json.dumps({"at": SIGNED, "pick": "video/80/7"})
    (media,) = struck(post_of(ref=ref)).media

    assert json.loads(media.ref or "") == {"at": STRUCK, "pick": "video/80/7"}


@pytest.mark.parametrize("name", ["key", "origin", "link"])
def test_a_posts_own_addresses_are_struck(name: str) -> None:
    post = Post(**{"key": "1", name: SIGNED})

    assert getattr(struck(post), name) == STRUCK


def test_a_key_keeps_the_fragment_that_tells_it_apart() -> None:
    assert struck(Post(key="https://a.example/?p=1#0f3a")).key == "https://a.example/?p=1#0f3a"
    assert struck(Post(key="https://a.example/#token=t")).key == "https://a.example/"
    assert struck(Post(key="tag:a.example,2026:1?x#y")).key == "tag:a.example,2026:1?x#y"


def test_ids_are_made_of_what_was_there_before() -> None:
    post = post_of(key=SIGNED)

    assert post.media[0].id("mill") != struck(post).media[0].id("mill")
    assert post.id("mill") == struck(post).id("mill")


def test_a_signature_that_changes_changes_no_digest() -> None:
    posts = [post_of(key=f"https://c.example/1?sig={sig}") for sig in "ab"]

    assert digest(struck(posts[0])) == digest(struck(posts[1]))


def test_a_post_without_anything_to_strike_is_not_copied() -> None:
    post = post_of(key="abc?d#e", ref="no address")

    assert struck(post) is post
