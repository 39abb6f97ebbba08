"""A media whose best rendition its source does not serve: got in the next that it does, with a
word on why."""

from __future__ import annotations

import hashlib

import pytest

from core import errors
from core.model.post import Rendition
from core.sources.adapter import Ask
from core.steps.elsewhere import MOST_ALTERNATIVES, best_served, from_first
from tests.support import media
from tests.support.getting import Getting
from tests.support.site import Site, answer, cut, whole

SMALL = media.jpeg(24, 16)


class Renewing:
    """An adapter that names these addresses today, or nothing any more."""

    def __init__(self, *today: Rendition, dead: tuple[str, ...] = ()) -> None:
        self._today, self._dead = today, dead
        self.asked = 0

    def expires_at(self, url: str) -> float | None:
        return 1.0 if url.endswith(self._dead) and self._dead else None

    def renew(self, _ref: str, _ask: Ask) -> tuple[Rendition, ...]:
        self.asked += 1
        if not self._today:
            raise errors.Gone("the post is deleted")
        return self._today


@pytest.fixture
def getting(tmp_path):
    with Site() as site:
        getting = Getting(tmp_path, site)
        yield getting
        getting.store.close()


def rendition(getting: Getting, name: str, width: int = 0, **more: object) -> Rendition:
    size = {"width": width, "height": width * 2 // 3} if width else {}
    return Rendition(url=getting.site.url(f"/{name}/x.jpg"), **size, **more)


def got(getting: Getting, *names: str, token: str = "t1", **fields: object):
    """What is made of a media in these sizes, the largest first."""
    sizes = [rendition(getting, name, 2048 >> n) for n, name in enumerate(names)]
    given = {"rendition": sizes[0], "alternatives": tuple(sizes[1:])} | fields
    return getting.run(f"/{names[0]}/x.jpg", token=token, **given)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (answer(404), "status 404"),
        (answer(410), "status 410"),
        (answer(403), "status 403"),
        (answer(400), "status 400"),
        (whole(b"<!DOCTYPE html><title>gone</title>"), "html_instead_of_media"),
    ],
    ids=["404", "410", "403", "400", "a page"],
)
def test_what_is_refused_is_got_in_the_next_size_with_a_note(getting, refused, why):
    getting.site.on("/large/x.jpg", refused)
    getting.site.serve("/bmiddle/x.jpg", SMALL)

    end = got(getting, "large", "bmiddle", "thumbnail")

    assert getting.object_of(end) == SMALL
    (note,) = end.notes
    assert note.startswith("got 1024x682 at ")
    assert " instead of 2048x1365 at " in note
    assert why in note
    assert getting.site.asked("/thumbnail/x.jpg") == []
    assert end.url == getting.site.url("/large/x.jpg")
    assert end.fetched.final_url == getting.site.url("/bmiddle/x.jpg")


def test_the_best_needs_no_note(getting):
    getting.site.serve("/large/x.jpg", SMALL)

    assert got(getting, "large", "bmiddle").notes == ()
    assert len(getting.site.requests) == 1


@pytest.mark.parametrize(
    "passing", [answer(500), answer(429), cut(SMALL, after=20)], ids=["500", "429", "cut"]
)
def test_what_may_pass_is_tried_again_and_not_passed_by(getting, passing):
    getting.site.on("/large/x.jpg", passing)
    getting.site.serve("/bmiddle/x.jpg", SMALL)

    with pytest.raises((errors.Transient, errors.Postponed)):
        got(getting, "large", "bmiddle")
    assert getting.site.asked("/bmiddle/x.jpg") == []


def test_where_all_are_refused_the_bests_refusal_counts(getting):
    getting.site.on("/large/x.jpg", answer(403))

    with pytest.raises(errors.Forbidden):
        got(getting, "large", "bmiddle", "thumbnail")
    assert len(getting.site.requests) == 3


def test_only_a_few_are_tried(getting):
    with pytest.raises(errors.Gone):
        got(getting, *(f"size{number}" for number in range(9)))

    assert len(getting.site.requests) == 1 + MOST_ALTERNATIVES


def test_a_promised_hash_is_of_the_best_only(getting):
    getting.site.serve("/bmiddle/x.jpg", SMALL)

    end = got(getting, "large", "bmiddle", hashes={"md5": hashlib.md5(b"large").hexdigest()})

    assert getting.object_of(end) == SMALL


def test_a_backup_of_the_best_goes_before_a_lesser_size(getting):
    getting.site.serve("/backup/x.jpg", SMALL)
    best = rendition(getting, "large", 2048, backups=(getting.site.url("/backup/x.jpg"),))

    end = got(getting, "large", "bmiddle", rendition=best)

    assert end.notes == ()
    assert getting.site.asked("/bmiddle/x.jpg") == []


def test_bytes_of_a_lesser_size_are_gone_on_with(getting):
    body = SMALL + b"trailing" * 4000
    getting.site.on("/bmiddle/x.jpg", cut(body, after=9000, etag='"1"'), whole(body, etag='"1"'))

    with pytest.raises(errors.Truncated):
        got(getting, "large", "bmiddle")
    end = got(getting, "large", "bmiddle", token="t2")

    assert getting.object_of(end) == body
    assert getting.site.asked("/bmiddle/x.jpg")[1].headers["Range"] == "bytes=9000-"
    assert "an earlier run was refused it" in end.notes[0]


def test_bytes_of_one_size_are_never_gone_on_with_by_another(getting):
    large = SMALL + b"large" * 4000
    getting.site.on("/large/x.jpg", cut(large, after=9000, etag='"1"'), answer(404))
    getting.site.serve("/bmiddle/x.jpg", SMALL, etag='"1"')

    with pytest.raises(errors.Truncated):
        got(getting, "large", "bmiddle")
    end = got(getting, "large", "bmiddle", token="t2")

    assert getting.object_of(end) == SMALL
    assert getting.site.asked("/bmiddle/x.jpg")[0].headers["Range"] is None


def test_a_lesser_size_that_is_a_manifest_is_handed_over_by_its_own_address(getting):
    getting.site.serve("/hls/x.jpg", b"#EXTM3U\n#EXT-X-VERSION:3\n")

    (copy,) = got(getting, "large", "hls").copies

    assert copy.task.payload.url == getting.site.url("/hls/x.jpg")


# --- with addresses that die ---


def test_the_best_is_renewed_before_a_lesser_size_is_taken(getting):
    getting.renews = Renewing(rendition(getting, "today", 2048))
    getting.site.serve("/today/x.jpg", SMALL)

    end = got(getting, "large", "bmiddle", ref="r")

    assert end.notes == ()
    assert getting.site.asked("/bmiddle/x.jpg") == []


def test_what_is_named_anew_is_tried_in_every_size_and_asked_for_once(getting):
    today = [rendition(getting, f"today{n}", 2048 >> n) for n in range(3)]
    getting.renews = Renewing(*today)
    getting.site.serve("/today2/x.jpg", SMALL)

    end = got(getting, "large", "bmiddle", ref="r")

    assert getting.object_of(end) == SMALL
    assert getting.renews.asked == 1
    assert "got 512x341" in end.notes[0]


def test_the_wanted_size_is_taken_of_what_is_named_anew(getting):
    today = [rendition(getting, f"today{n}", 4096 >> n) for n in range(3)]
    getting.renews = Renewing(*today)
    getting.site.serve("/today1/x.jpg", SMALL)

    assert got(getting, "large", ref="r").notes == ()
    assert getting.site.asked("/today0/x.jpg") == []


def test_of_a_deleted_post_is_got_what_is_left(getting):
    getting.renews = Renewing()
    getting.site.serve("/bmiddle/x.jpg", SMALL)

    assert getting.object_of(got(getting, "large", "bmiddle", ref="r")) == SMALL


def test_a_deleted_post_of_which_nothing_is_left_is_gone_at_its_source(getting):
    getting.renews = Renewing(dead=("/dead/x.jpg",))

    with pytest.raises(errors.Gone) as caught:
        got(getting, "large", "bmiddle", "dead", ref="r")
    assert caught.value.reason == "gone_at_source"
    assert getting.site.asked("/dead/x.jpg") == []


def test_a_refused_address_that_is_still_the_sources_word_gives_way_to_a_lesser_size(getting):
    getting.renews = Renewing(rendition(getting, "large", 2048))
    getting.site.serve("/bmiddle/x.jpg", SMALL)

    assert getting.object_of(got(getting, "large", "bmiddle", ref="r")) == SMALL
    assert len(getting.site.asked("/large/x.jpg")) == 1


# --- bounds ---


def test_no_more_addresses_are_tried_than_a_few():
    tried: list[str] = []

    def fetch(url: str) -> None:
        tried.append(url)
        raise errors.ServerTrouble(url)

    with pytest.raises(errors.ServerTrouble, match="a"):
        from_first("abcdefghij", fetch)
    assert tried == list("abcde")


def test_what_is_no_refusal_is_raised_at_once():
    def fetch(_one: Rendition) -> None:
        raise errors.TooLarge("4 GiB")

    with pytest.raises(errors.TooLarge):
        best_served([Rendition(url="a"), Rendition(url="b")], fetch)
