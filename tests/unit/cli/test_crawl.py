import pytest

from core.cli.crawl import DEFAULT_CONCURRENCY, Wishes, wished
from core.cli.main import run
from core.settings import Settings, SourceSettings
from core.steps.trigger import Feed
from tests.support.runs import RECORD

NOTHING = Wishes(None, None, None, None, (), retry_dead=False, as_json=False)


def test_without_flags_the_settings_stand_but_for_the_slots():
    given = Settings(sources={"feed": SourceSettings(rate=3.0)})

    source = wished(given, [Feed(RECORD)], NOTHING).source("feed")

    assert (source.rate, source.burst, source.concurrency) == (3.0, 20, DEFAULT_CONCURRENCY)


def test_concurrency_in_the_settings_wins_over_the_default():
    given = Settings(sources={"feed": SourceSettings(concurrency=3)})

    assert wished(given, [Feed(RECORD)], NOTHING).source("feed").concurrency == 3


def test_flags_win_for_the_sources_of_the_feeds_alone():
    given = Settings(sources={"mill": SourceSettings(rate=1.0)})
    asked = Wishes(2.0, 5, 3, 720, ("127.0.0.0/8",), retry_dead=False, as_json=False)

    settings = wished(given, [Feed(RECORD)], asked)
    source = settings.source("feed")

    assert (source.rate, source.burst, source.concurrency, source.max_height) == (2.0, 5, 3, 720)
    assert settings.source("mill") == given.source("mill")


def test_permitted_networks_add_to_those_of_the_settings():
    given = Settings.model_validate({"fetch": {"allow_networks": ["10.0.0.0/8"]}})
    asked = Wishes(None, None, None, None, ("127.0.0.0/8",), retry_dead=False, as_json=False)

    allowed = wished(given, [Feed(RECORD)], asked).fetch.allow_networks

    assert allowed == ("10.0.0.0/8", "127.0.0.0/8")


def test_its_help_names_every_kind_of_manifest(capsys: pytest.CaptureFixture[str]):
    assert run(["crawl", "--help"]) == 0
    assert "(HLS, DASH, Bilibili's playurl)" in " ".join(capsys.readouterr().out.split())
