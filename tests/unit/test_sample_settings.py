"""The commented sample says what core/settings.py does, no more and no less."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from core.settings import Settings, SourceSettings, load

SAMPLE = Path(__file__).parents[2] / "headrace.sample.toml"
EXAMPLE_SECRETS = ("MILL_TOKEN", "MILL_ARCHIVE_TOKEN", "MILL_ARCHIVE_KEY", "MILL_RABBITMQ")


def uncommented() -> str:
    """Every setting that stands behind a `#` switched on. An example replaces the default above
    it, since TOML knows no key twice."""
    lines: list[str] = []
    for line in SAMPLE.read_text(encoding="utf-8").splitlines():
        setting = re.fullmatch(r"#(\[.+|[a-z_]+ = .+)", line)
        if setting and lines and lines[-1].partition(" =")[0] == setting[1].partition(" =")[0]:
            lines.pop()
        lines.append(setting[1] if setting else line)
    return "\n".join(lines)


@pytest.fixture
def everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in EXAMPLE_SECRETS:
        monkeypatch.setenv(name, f"value-of-{name}")
    (tmp_path / "mill.cookie").write_text("value-of-MILL_COOKIE", encoding="utf-8")
    file = tmp_path / "headrace.toml"
    file.write_text(uncommented(), encoding="utf-8")
    return load(file)


def test_the_sample_as_it_stands_gives_the_defaults():
    loaded = load(SAMPLE)

    assert loaded.store == SAMPLE.absolute().parent / Settings().store
    plain = {"sources": {}, "store": Settings().store}
    assert loaded.model_copy(update=plain) == Settings()
    assert loaded.sources == {"feed": SourceSettings()}


def test_the_sample_with_every_comment_switched_on_is_valid(everything: Settings):
    assert everything.feeds["mill-news"].source == "mill-archive"
    assert everything.broker.url.get_secret_value() == "value-of-MILL_RABBITMQ"


def test_the_sample_names_every_section_and_setting(everything: Settings):
    written = tomllib.loads(uncommented())

    assert set(written) == set(Settings.model_fields)
    assert set(written["sources"]["feed"]) == set(SourceSettings.model_fields)
    for section in ("feeds", "sources"):
        written.pop(section)
    for name, value in written.items():
        if isinstance(value, dict):
            assert set(value) == set(type(getattr(everything, name)).model_fields), name


def test_the_samples_secrets_never_show(everything: Settings):
    shown = repr(everything)

    assert "value-of-" not in shown
