from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Misconfigured
from core.settings import Settings, find_file, load

FEED = '[feeds.a]\nsource = "feed"\naddress = "x"\n'


def settings_from(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "headrace.toml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_without_a_file_every_default_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    settings = load()

    assert settings.store == Path("headrace-store")
    assert set(settings.all_sources()) == {"feed"}


def test_an_unknown_key_is_refused_with_its_place(tmp_path):
    with pytest.raises(Misconfigured, match=r"toml: sources\.press\.rat: no such setting"):
        settings_from(tmp_path, "[sources.press]\nrat = 3\n")


@pytest.mark.parametrize("line", ["rate = 0", "rate = -1", "burst = 0", "rate = inf", "rate = nan"])
def test_a_budget_that_could_never_be_kept_is_refused(tmp_path, line):
    with pytest.raises(Misconfigured, match=r"sources\.press"):
        settings_from(tmp_path, f"[sources.press]\n{line}\n")


@pytest.mark.parametrize("name", ["Upper", "dot.ted", "x" * 41, "headrace"])
def test_a_source_name_that_could_not_name_a_lane_is_refused(tmp_path, name):
    with pytest.raises(Misconfigured, match=name):
        settings_from(tmp_path, f'[sources."{name}"]\nrate = 1\n')


def test_a_feed_of_an_unknown_source_is_refused(tmp_path):
    with pytest.raises(Misconfigured, match=r"there is no \[sources.press\]"):
        settings_from(
            tmp_path, '[feeds.daily]\nsource = "press"\naddress = "https://press.example/rss"\n'
        )


def test_broken_toml_names_the_file_and_the_line(tmp_path):
    with pytest.raises(Misconfigured, match=r"headrace\.toml: not valid TOML: .*line 1"):
        settings_from(tmp_path, "store = \n")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(Misconfigured, match="No such file"):
        load(tmp_path / "absent.toml")


def test_a_secret_comes_from_the_environment_and_never_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("PRESS_COOKIE", "sid=hush")

    settings = settings_from(
        tmp_path,
        '[sources.press]\nsecret_hosts = ["Press.example"]\n'
        '[sources.press.secret_headers]\nCookie = { env = "PRESS_COOKIE" }\n',
    )

    source = settings.source("press")
    assert source.secret_headers["Cookie"].get_secret_value() == "sid=hush"
    assert source.secret_hosts == ("press.example",)
    assert "hush" not in repr(settings)


def test_a_secret_whose_variable_is_not_set_names_it(tmp_path, monkeypatch):
    monkeypatch.delenv("ABSENT", raising=False)

    with pytest.raises(Misconfigured, match="the environment variable ABSENT is not set"):
        settings_from(tmp_path, '[broker]\nurl = { env = "ABSENT" }\n')


def test_the_environment_names_the_file_and_wins_over_its_addresses(tmp_path, monkeypatch):
    path = tmp_path / "elsewhere.toml"
    path.write_text('[redis]\nurl = "redis://one/0"\n', encoding="utf-8")
    monkeypatch.setenv("HEADRACE_CONFIG", str(path))
    monkeypatch.setenv("HEADRACE_REDIS_URL", "redis://two/0")
    monkeypatch.setenv("HEADRACE_STORE", "/somewhere")

    settings = load()

    assert find_file(None) == path
    assert settings.redis.url.get_secret_value() == "redis://two/0"
    assert settings.store == Path("/somewhere")


def test_a_relative_store_lies_beside_its_file_wherever_the_command_starts(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    settings = settings_from(tmp_path, 'store = "pictures"\n')

    assert settings.store == tmp_path / "pictures"


def test_an_unknown_source_says_what_to_add():
    with pytest.raises(Misconfigured, match=r"add \[sources\.gone\]"):
        Settings().source("gone")


def test_a_network_that_is_none_is_refused(tmp_path):
    with pytest.raises(Misconfigured, match="allow_networks"):
        settings_from(tmp_path, '[fetch]\nallow_networks = ["localhost"]\n')


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "headrace.toml"
    path.write_bytes(b"\xef\xbb\xbf[sources.press]\nrate = 3\n")

    assert load(path).source("press").rate == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "[sources.press]\nconcurrency = 100000\n",
        '[sources.press.headers]\n"X Y" = "1"\n',
        '[sources.press]\nuser_agent = "a\\r\\nX: 1"\n',
        "[fetch]\ntotal_s = 1e300\n",
        '[feeds.daily]\nsource = "feed"\naddress = ""\n',
        "deep = " + "[" * 5000 + "]" * 5000,
    ],
)
def test_what_could_never_work_is_refused_when_it_is_read(tmp_path, text):
    with pytest.raises(Misconfigured):
        settings_from(tmp_path, text)


def test_a_feed_is_asked_every_hour_unless_it_says_otherwise(tmp_path):
    settings = settings_from(tmp_path, f"{FEED}[feeds.b]\nsource='feed'\naddress='y'\nevery='6h'\n")

    assert [feed.every for feed in settings.feeds.values()] == [3600.0, 21_600.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('every = "soon"', r"feeds\.a\.every: .*'soon' is no duration"),
        ("every = 0", r"feeds\.a\.every: .*greater than or equal to 1"),
        ('jitter = "-1s"', r"feeds\.a\.jitter: .*is no duration"),
        ('cron = "* * *"', r"feeds\.a\.cron: .*has 3 fields"),
        ('cron = "* * * * *"\nevery = "1h"', r"feeds\.a: .*give every or cron, not both"),
    ],
)
def test_a_timetable_that_could_not_be_kept_is_refused_with_its_place(tmp_path, line, said):
    with pytest.raises(Misconfigured, match=said):
        settings_from(tmp_path, FEED + line + "\n")


def test_marks_in_the_wrong_order_say_what_to_do(tmp_path):
    with pytest.raises(Misconfigured, match=r"low_water \(1000\) lies above high_water \(500\)"):
        settings_from(tmp_path, "[backpressure]\nhigh_water = 500\n")


def test_a_fault_is_told_without_the_word_of_whoever_found_it(tmp_path):
    both = 'cron = "* * * * *"\nevery = "1h"\n'
    nowhere = '[feeds.b]\nsource = "none"\naddress = "y"\n'
    with pytest.raises(Misconfigured) as of_feed:
        settings_from(tmp_path, FEED + both)
    with pytest.raises(Misconfigured) as of_all:
        settings_from(tmp_path, FEED + nowhere)

    assert str(of_feed.value).endswith("headrace.toml: feeds.a: give every or cron, not both")
    assert str(of_all.value).endswith("headrace.toml: feeds.b.source: there is no [sources.none]")


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("Press.example", "press.example"),
        ("https://press.example", "press.example"),
        ("http://Press.example", "http://press.example"),
        ("::1", "::1"),
    ],
)
def test_a_secrets_host_says_whether_it_may_be_asked_without_encryption(tmp_path, host, kept):
    settings = settings_from(tmp_path, f'[sources.press]\nsecret_hosts = ["{host}"]\n')

    assert settings.source("press").secret_hosts == (kept,)


@pytest.mark.parametrize("host", ["press.example/x", "press.example:8080", "", "http://a@b"])
def test_what_is_no_hosts_name_is_refused_with_its_place(tmp_path, host):
    with pytest.raises(Misconfigured, match=r"sources\.press\.secret_hosts"):
        settings_from(tmp_path, f'[sources.press]\nsecret_hosts = ["{host}"]\n')
