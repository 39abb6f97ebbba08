"""`headrace sources`: what it says of each adapter."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from core.cli.adapters import kind_of, sources, told
from core.settings import Settings, SourceSettings
from core.sources import ADAPTERS, adapter
from core.sources.rss import RssAdapter


def _listed() -> list[dict[str, object]]:
    run = CliRunner().invoke(sources, ["--json"])
    assert run.exit_code == 0, run.output
    return json.loads(run.output)["sources"]


def test_every_adapter_is_listed_once():
    assert [one["adapter"] for one in _listed()] == list(ADAPTERS)


@pytest.mark.parametrize("name", ["feed", "rss", "atom", "jsonfeed", "sitemap", "iiif", "list"])
def test_the_open_formats_say_what_they_read_and_need_nothing(name: str):
    kind = kind_of(adapter(name), Settings())

    assert kind.reads
    assert kind.example is not None
    assert kind.example.startswith("https://")
    assert kind.needs is None


def test_a_source_that_knows_its_readers_says_what_it_needs():
    needs = {one["adapter"]: one["needs"] for one in _listed()}

    assert "cookie" in str(needs["weibo"])
    assert "token" in str(needs["facebook"])
    assert "cookie" in str(needs["bilibili"])


def test_the_sources_of_the_settings_stand_beside_their_adapter():
    given = Settings(sources={"press": SourceSettings(adapter="rss"), "x": SourceSettings()})

    assert kind_of(adapter("rss"), given).sources == ("press",)


def test_an_adapter_without_words_of_its_own_is_told_by_its_docstring():
    class Bare:
        """Reads what
        nobody described."""

        name, many_hosts, stop_after_known = "bare", False, 1
        request, parse = RssAdapter.request, RssAdapter.parse

    kind = kind_of(Bare(), Settings())

    assert (kind.reads, kind.example) == ("Reads what nobody described.", None)


def test_the_table_has_a_line_each_and_the_needs_below():
    kinds = [kind_of(adapter(name), Settings()) for name in ("list", "weibo")]
    lines = list(told(kinds))

    assert lines[1].startswith("list ")
    assert lines[2].startswith("weibo ")
    assert lines[4].startswith("weibo needs ")
