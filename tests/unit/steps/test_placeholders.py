"""What a source shows in the place of a removed picture: reported, not filed as media."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core import errors
from core.model.end import EndState, MediaEnd
from core.model.post import Rendition
from core.settings import SourceSettings
from core.sources import ADAPTERS
from core.sources.adapter import Ask, KnowsPlaceholders, Renews
from core.steps.decide import failure_of
from core.steps.ends import write_end
from core.steps.expiry import GONE_AT_SOURCE
from core.steps.placeholders import Placeholders, placeholders_of, repeats_of
from tests.support import media
from tests.support.getting import Getting
from tests.support.site import Site
from tests.support.store import Died, dying_disk, sha256
from tests.support.tasks import an_image_task

STAND_IN = media.png(seed=7)
STAND_IN_HASH = sha256(STAND_IN)


class Knowing:
    """An adapter that knows its site's stand-in."""

    def is_placeholder(self, url: str) -> bool:
        return url.endswith("/removed.png")


class Renewing:
    """An adapter whose media has a new address, or none."""

    def __init__(self, *urls: str, gone: errors.Gone | None = None) -> None:
        self._urls, self._gone = urls, gone
        self.asked = 0

    def expires_at(self, _url: str) -> float | None:
        return None

    def renew(self, _ref: str, _ask: Ask) -> tuple[Rendition, ...]:
        self.asked += 1
        if self._gone is not None:
            raise self._gone
        return tuple(Rendition(url=url) for url in self._urls)


@pytest.fixture
def getting(tmp_path):
    with Site() as site:
        getting = Getting(tmp_path, site)
        getting.site.serve("/removed.png", STAND_IN)
        yield getting
        getting.store.close()


def refused(getting: Getting, path: str = "/x.jpg", **fields: object) -> errors.HeadraceError:
    with pytest.raises((errors.NotMedia, errors.Refused)) as caught:
        getting.run(path, **fields)
    return caught.value


def nothing_is_filed(getting: Getting) -> bool:
    return not getting.store.objects.has(STAND_IN_HASH) and not list(getting.store.media.all())


# --- by address ---


def test_a_redirect_to_a_removed_picture_that_the_adapter_knows_is_reported(getting):
    getting.placeholders = Placeholders("mill", Knowing())
    getting.site.redirect("/x.jpg", "/removed.png")

    error = refused(getting)

    assert isinstance(error, errors.NotMedia)
    assert error.reason == "placeholder"
    assert "/removed.png: what mill shows in the place of a picture" in str(error)
    assert nothing_is_filed(getting)


@pytest.mark.parametrize("shown", ["default_d_h_large.gif", "default_w_large.gif"])
def test_weibos_own_stand_ins_are_known_by_where_a_redirect_leads(getting, shown: str):
    getting.placeholders = placeholders_of("weibo", SourceSettings(adapter="weibo"))
    getting.site.redirect("/large/0a1b.jpg", f"/images/{shown}")
    getting.site.serve(f"/images/{shown}", media.gif())

    assert refused(getting, "/large/0a1b.jpg").reason == "placeholder"
    assert list(getting.store.media.all()) == []


def test_a_picture_at_weibo_is_no_stand_in_for_its_name(getting):
    getting.placeholders = placeholders_of("weibo", SourceSettings(adapter="weibo"))
    getting.site.serve("/large/default_d_h_large.gif", media.gif())

    assert getting.run("/large/default_d_h_large.gif").state is EndState.GOT


def test_a_redirect_to_a_removed_picture_that_the_settings_name_is_reported(getting):
    getting.placeholders = Placeholders("mill", patterns=(getting.site.url("/rem*.png"),))
    getting.site.redirect("/x.jpg", "/removed.png?sig=abc&w=9")

    assert refused(getting).reason == "placeholder"
    assert nothing_is_filed(getting)


def test_a_feed_that_names_the_removed_picture_itself_costs_no_request(getting):
    getting.placeholders = Placeholders("mill", Knowing())

    assert refused(getting, "/removed.png").reason == "placeholder"
    assert getting.site.requests == []


def test_another_picture_of_the_site_is_filed(getting):
    getting.placeholders = Placeholders("mill", Knowing(), (getting.site.url("/rem*.png"),))
    getting.site.redirect("/x.jpg", "/y.jpg")
    getting.site.serve("/y.jpg", media.jpeg())

    assert getting.run().state is EndState.GOT


@pytest.mark.parametrize(
    ("pattern", "url", "known"),
    [
        ("https://cdn.example/removed.png", "https://cdn.example/removed.png", True),
        ("https://cdn.example/removed.png", "https://cdn.example/removed.png?v=2", True),
        ("https://cdn.example/*/removed*.png", "https://cdn.example/a/b/removed-2.png", True),
        ("https://cdn.example/x.png?gone=1*", "https://cdn.example/x.png?gone=1&v=2", True),
        ("https://cdn.example/x.png?gone=1*", "https://cdn.example/x.png?gone=0", False),
        ("https://cdn.example/removed.png", "https://other.example/removed.png", False),
        ("https://cdn.example/removed.png", "https://cdn.example/REMOVED.png", False),
    ],
)
def test_a_pattern_is_of_the_whole_address_or_of_it_without_its_query(pattern, url, known):
    rule = Placeholders("mill", patterns=(pattern,))
    try:
        rule.check_address(url)
    except errors.NotMedia:
        found = True
    else:
        found = False

    assert found is known


def test_the_stand_ins_bytes_are_not_resumed_by_the_next_run(getting):
    getting.placeholders = Placeholders("mill", Knowing())
    getting.site.redirect("/x.jpg", "/removed.png")
    refused(getting)
    getting.site.serve("/x.jpg", media.jpeg())

    assert getting.object_of(getting.run(token="t2")) == media.jpeg()


# --- refusals in the clothes of a picture ---


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"URL signature expired", "text_instead_of_media"),
        (b"URL signature expired\r\n", "text_instead_of_media"),
        (b"Access denied: hotlinking", "text_instead_of_media"),
        (b'{"code":-404,"message":"gone"}', "json_instead_of_media"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "xml_instead_of_media"),
        (b"<html><body>removed</body></html>", "html_instead_of_media"),
    ],
)
@pytest.mark.parametrize("told", ["image/jpeg", "text/plain"])
def test_a_refusal_with_status_200_is_named_and_not_filed(getting, body, reason, told):
    getting.site.serve("/x.jpg", body, content_type=told)

    assert refused(getting).reason == reason
    assert not getting.store.objects.has(sha256(body))


def test_a_refusal_with_status_200_has_its_address_renewed_once(getting):
    getting.site.serve("/x.jpg", b"URL signature expired", content_type="text/plain")
    getting.site.serve("/y.jpg", media.jpeg())
    getting.renews = Renewing(getting.site.url("/y.jpg"))
    assert isinstance(getting.renews, Renews)

    end = getting.run(ref="r1")

    assert getting.object_of(end) == media.jpeg()
    assert getting.renews.asked == 1


def test_a_new_address_that_is_refused_alike_ends_it(getting):
    getting.site.serve("/x.jpg", b"URL signature expired", content_type="text/plain")
    getting.site.serve("/y.jpg", b"URL signature expired", content_type="text/plain")
    getting.renews = Renewing(getting.site.url("/y.jpg"))

    assert refused(getting, ref="r1").reason == "text_instead_of_media"
    assert (getting.renews.asked, len(getting.site.requests)) == (1, 2)


def test_a_removed_picture_whose_source_names_another_address_is_got(getting):
    getting.placeholders = Placeholders("mill", Knowing())
    getting.site.redirect("/x.jpg", "/removed.png")
    getting.site.serve("/y.jpg", media.jpeg())
    getting.renews = Renewing(getting.site.url("/y.jpg"))

    assert getting.object_of(getting.run(ref="r1")) == media.jpeg()


@pytest.mark.parametrize(
    "renews", [Renewing(), Renewing(gone=errors.Gone("post 7: 404", http_status=404))]
)
@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_media_that_its_source_has_no_more_ends_as_gone_at_source(getting, renews, status):
    getting.site.on("/x.jpg", lambda exchange: exchange.answer(status))
    getting.renews = renews

    with pytest.raises(errors.Gone) as caught:
        getting.run(ref="r1")

    assert failure_of(an_image_task(), caught.value).reason == GONE_AT_SOURCE
    assert f"status {status}" in str(caught.value)


def test_an_adapter_that_tells_another_kind_of_gone_is_believed(getting):
    getting.site.on("/x.jpg", lambda exchange: exchange.answer(403))
    getting.renews = Renewing(gone=errors.Gone("who knows", reason="gone_or_forbidden"))

    with pytest.raises(errors.Gone) as caught:
        getting.run(ref="r1")

    assert caught.value.reason == "gone_or_forbidden"


# --- by bytes ---


def end_of(getting: Getting, number: int, **fields: object) -> MediaEnd:
    """One more media of a post of its own that gives the stand-in."""
    getting.site.serve(f"/{number}.png", STAND_IN)
    end = getting.run(f"/{number}.png", **({"post": f"post{number}"} | fields))
    write_end(getting.store, end)
    return end


def suspected(getting: Getting, number: int, **fields: object) -> errors.HeadraceError:
    getting.site.serve(f"/{number}.png", STAND_IN)
    return refused(getting, f"/{number}.png", **({"post": f"post{number}"} | fields))


@pytest.fixture
def noticing(getting):
    """Where three unrelated posts with the same bytes are enough."""
    getting.placeholders = Placeholders("feed", repeats=3)
    return getting


def test_the_same_bytes_under_many_unrelated_posts_are_refused_and_named(noticing):
    filed = [end_of(noticing, number) for number in range(3)]

    error = suspected(noticing, 3)

    assert isinstance(error, errors.Refused)
    assert error.reason == "placeholder_suspected"
    assert STAND_IN_HASH in str(error)
    assert "filed for 3 posts of feed that share nothing else" in str(error)
    assert "sources.feed.repeats = 0" in str(error)
    assert [end.state for end in noticing.store.media.all()] == [EndState.GOT] * len(filed)


def test_its_end_is_one_that_a_rule_of_ours_refused(noticing):
    for number in range(3):
        end_of(noticing, number)

    assert failure_of(an_image_task(), suspected(noticing, 3)).refused


def test_a_picture_in_as_many_posts_as_are_usual_is_filed(noticing):
    ends = [end_of(noticing, number) for number in range(3)]

    assert {end.file.sha256 for end in ends} == {STAND_IN_HASH}


def test_many_media_of_one_post_with_the_same_bytes_are_filed(noticing):
    ends = [end_of(noticing, number, post="one") for number in range(6)]

    assert len(ends) == 6


def test_one_media_that_many_posts_show_is_filed_again_and_again(noticing):
    for generation in range(1, 7):
        end_of(noticing, 0, post=f"post{generation}", generation=generation)

    assert noticing.store.media.generation(end_of(noticing, 0, generation=7).media) == 7


def test_other_bytes_are_filed_beside_a_suspected_stand_in(noticing):
    for number in range(3):
        end_of(noticing, number)
    suspected(noticing, 3)
    noticing.site.serve("/y.jpg", media.jpeg())

    assert noticing.run("/y.jpg", post="post9").state is EndState.GOT


def test_without_the_rule_nothing_is_refused_and_nothing_noted(getting):
    for number in range(12):
        end_of(getting, number)

    assert not (getting.store.root / "repeats").exists()


def test_a_suspected_media_leaves_nothing_staged_to_resume(noticing):
    for number in range(3):
        end_of(noticing, number)
    suspected(noticing, 3)
    noticing.site.serve("/3.png", media.jpeg())

    end = noticing.run("/3.png", token="t2", post="post3")
    assert noticing.object_of(end) == media.jpeg()


def test_a_requeued_media_is_filed_once_the_rule_is_off(noticing):
    for number in range(3):
        end_of(noticing, number)
    suspected(noticing, 3)
    noticing.placeholders = replace(noticing.placeholders, repeats=0)

    assert end_of(noticing, 3, generation=2).state is EndState.GOT


def test_a_run_that_dies_anywhere_converges_on_the_same_store(tmp_path):
    """Died at any step of the disk, then run again: filed once, and counted once."""
    with Site() as site:
        site.serve("/0.png", STAND_IN)
        for at in range(1, 200):
            root = tmp_path / f"s{at}"
            if not dies(root, site, at):
                break
            again = Getting(root, site)
            again.placeholders = Placeholders("feed", repeats=3)
            if again.store.media.newest(an_end(again).media) is None:
                write_end(again.store, an_end(again, token="t2"))
            counted = again.store.repeats.posts(
                STAND_IN_HASH, source="feed", media="other", post="other"
            )
            again.store.close()

            assert counted == 1, f"died before operation {at}"
    assert at > 10


def dies(root, site: Site, at: int) -> bool:
    """Whether a run was cut off before the disk's operation number `at`, counted from the run's
    own first."""
    disk = dying_disk(0)
    getting = Getting(root, site, disk)
    getting.placeholders = Placeholders("feed", repeats=3)
    disk.at = disk.count + at
    try:
        write_end(getting.store, an_end(getting))
    except Died:
        return True
    finally:
        disk.at = 0
        getting.store.close()
    return False


def an_end(getting: Getting, token: str = "t1") -> MediaEnd:
    return getting.run("/0.png", token=token, post="post0")


# --- by settings ---


def test_named_sources_have_the_rule_and_feeds_have_not():
    limits = {name: repeats_of(SourceSettings(adapter=name)) for name in ADAPTERS}

    named = {"facebook", "weibo", "bilibili"}
    assert {name for name, limit in limits.items() if limit} == named
    assert {limits[name] for name in named} == {10}


@pytest.mark.parametrize("repeats", [0, 3])
def test_the_settings_win_over_the_adapter(repeats):
    settings = SourceSettings(adapter="weibo", repeats=repeats, placeholders=("https://a/*",))

    rule = placeholders_of("mill", settings)
    assert (rule.source, rule.repeats, rule.patterns) == ("mill", repeats, ("https://a/*",))


def test_an_adapter_that_knows_its_placeholders_is_asked():
    assert isinstance(Knowing(), KnowsPlaceholders)
    assert not isinstance(object(), KnowsPlaceholders)


@pytest.mark.parametrize("value", ["*", "removed.png", "ftp://a/b"])
def test_a_pattern_that_is_no_address_is_refused(value):
    with pytest.raises(ValueError, match="placeholders"):
        SourceSettings(placeholders=(value,))
