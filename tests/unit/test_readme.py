"""What the README shows to be typed or written down is what Headrace takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.cli.main import COMMANDS
from core.settings import load
from core.sources import ADAPTERS, Signs, adapter
from core.steps.terms import source_terms
from core.steps.trigger import find_feed
from core.store.paths import Paths

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)


def written(folder: Path, block: str) -> Path:
    path = folder / "headrace.toml"
    path.write_text(re.sub("^    ", "", block, flags=re.MULTILINE), encoding="utf-8")
    return path


@pytest.mark.parametrize("block", [block for block in BLOCKS if "[feeds." in block])
def test_settings_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    for name in re.findall(r'env = "(\w+)"', block):
        monkeypatch.setenv(name, "A-SECRET")
    for name in re.findall(r'file = "([\w.]+)"', block):
        (tmp_path / name).write_text("SUB=1; SESSDATA=2\n", encoding="utf-8")
    press = "" if "[sources.press]" in block else "    [sources.press]\n"  # shown further down
    settings = load(written(tmp_path, f"{block}\n{press}"))

    for name, feed in settings.feeds.items():
        chosen = adapter(settings.source(feed.source).adapter)
        source_terms(feed.source, settings.source(feed.source))

        assert chosen.request(find_feed(settings, name).record.address, None) is not None


def test_every_source_that_is_signed_has_an_example() -> None:
    for name in (one.name for one in ADAPTERS.values() if isinstance(one, Signs)):
        assert f'adapter = "{name}"' in README


def test_every_command_is_named() -> None:
    assert [name for name in COMMANDS if f"headrace {name}" not in README] == []


def test_a_stores_listing_leaves_nothing_out(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    files = {paths.format, paths.lock, paths.switches, paths.checksums, paths.repeats}
    names = {path.relative_to(tmp_path).parts[0] for path in (*paths.folders(), *files)}
    listing = next(block for block in BLOCKS if "objects/sha256/ab/cd/HASH" in block)

    assert {name for name in names if name not in listing} == set()
