"""A Mastodon account's page as posts and media; docs/add-a-source.md tells how this came to be."""

from __future__ import annotations

import json

import pytest

from core.errors import Malformed
from core.sources.mastodon import MastodonAdapter
from tests.support.pages import parse

URL = "https://pond.example/api/v1/accounts/7/statuses?limit=2"
PICTURE = {"type": "image", "url": "https://files.pond.example/gate.png", "description": "A gate"}
PICTURE |= {"meta": {"original": {"width": 640, "height": 426}}}
SOUND = {"type": "audio", "url": "https://files.pond.example/frogs.mp3"}
ORIGINAL = {"id": "8", "uri": "https://mill.example/s/8", "media_attachments": [PICTURE]}
WHO = {"account": {"acct": "ada@pond.example", "display_name": "Ada Wren"}}
OWN = {"id": "12", "uri": "https://pond.example/s/12", "content": "<p>The gate</p>"} | WHO
OWN |= {"created_at": "2026-05-03T09:00:00.000Z", "media_attachments": [PICTURE, SOUND]}
BOOST = {"id": "11", "uri": "https://pond.example/s/11", "reblog": ORIGINAL} | WHO


def test_a_page_gives_posts_and_leads_to_what_is_older():
    page = parse("mastodon", json.dumps([OWN, BOOST]), url=URL)
    own, boost = page.posts
    [media] = own.media

    assert (own.key, own.author.id, own.created_at.day) == (OWN["uri"], "ada@pond.example", 3)
    assert (media.kind, media.title, media.renditions[0].width) == ("image", "A gate", 640)
    assert [skipped.reason for skipped in page.skipped] == ["unsupported_type"]
    assert (boost.origin, boost.media) == (ORIGINAL["uri"], own.media)
    assert page.cursor == f"{URL}&max_id=11"
    assert parse("mastodon", "[]", url=URL).cursor is None


def test_a_page_that_is_cut_or_no_list_is_refused():
    whole = json.dumps([OWN, BOOST])
    for body in [*(whole[:length] for length in range(len(whole))), '{"error": "no such account"}']:
        with pytest.raises(Malformed):
            parse("mastodon", body, url=URL)


def test_an_account_is_known_by_its_address():
    assert MastodonAdapter().reads(URL)
    assert not MastodonAdapter().reads("https://pond.example/@ada")
