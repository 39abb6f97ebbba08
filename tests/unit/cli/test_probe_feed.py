"""Which adapter a probe reads an address with, and on whose terms."""

from __future__ import annotations

import pytest

from core.cli.probe_feed import Target, target_of
from core.settings import FeedSettings, Settings, SourceSettings
from core.sources import ADAPTERS, adapter, recogniser
from core.sources.rss import RssAdapter

OURS = "https://club.example/u/1"


class Club(RssAdapter):
    """A named source whose addresses are known by their host."""

    name = "weibo"
    needs = "token: of the club"

    def reads(self, address: str) -> bool:
        return address.startswith("https://club.example/")


@pytest.fixture(autouse=True)
def club(monkeypatch: pytest.MonkeyPatch) -> Club:
    known = Club()
    monkeypatch.setitem(ADAPTERS, "weibo", known)
    return known


def test_an_address_is_recognised_by_its_looks(club: Club):
    assert recogniser(OURS) is club


def test_an_address_of_nobodys_is_told_by_its_bytes():
    target = target_of(Settings(), "https://other.example/feed", None)

    assert (target.adapter.name, target.told_by, target.source) == ("feed", "bytes", "feed")


def test_a_recognised_address_is_asked_on_the_terms_of_a_source_of_its_kind(club: Club):
    given = Settings(sources={"mine": SourceSettings(adapter="weibo", cookie="SUB=x")})
    target = target_of(given, OURS, None)

    assert (target.adapter, target.told_by, target.source) == (club, "address", "mine")


def test_a_recognised_address_without_such_a_source_is_asked_as_anyones(club: Club):
    target = target_of(Settings(), OURS, None)

    assert (target.source, target.settings.adapter) == ("feed", "weibo")
    assert target.told_by == "address"


def test_the_settings_win_over_an_addresss_looks():
    given = Settings(
        sources={"press": SourceSettings(adapter="rss")},
        feeds={"club": FeedSettings(source="press", address=OURS)},
    )

    for named in ("club", OURS):
        target = target_of(given, named, None)
        assert (target.adapter.name, target.told_by) == ("rss", "settings")


def test_a_named_source_wins_over_all():
    given = Settings(sources={"press": SourceSettings(adapter="sitemap")})
    target = target_of(given, OURS, "press")

    assert (target.adapter.name, target.source, target.told_by) == ("sitemap", "press", "settings")


@pytest.mark.parametrize(
    ("settings", "needs"),
    [
        (SourceSettings(adapter="facebook"), True),
        (SourceSettings(adapter="facebook", token="t"), False),
        (SourceSettings(adapter="rss"), False),
    ],
)
def test_what_a_source_needs_is_told_where_the_settings_lack_it(
    settings: SourceSettings, needs: bool
):
    target = Target(OURS, "x", settings, adapter(settings.adapter), "settings")

    assert (target.needs is not None) == needs
