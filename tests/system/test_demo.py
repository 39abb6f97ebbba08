"""The demo, run as a newcomer runs it: from another folder, into a new one."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from scripts.sample_site import settings

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.system


def demo(store: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(ROOT / "scripts" / "demo"), str(store)],
        cwd=cwd or store.parent,
        env=os.environ | {"HEADRACE_CONFIG": "/nonexistent/headrace.toml"},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What one run of the demo printed, and the store that it made."""
    store = tmp_path_factory.mktemp("a folder with spaces") / "demo store"
    run = demo(store)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout, store


def test_the_demo_ends_with_everything_verified(shown: tuple[str, Path]):
    said, _ = shown

    assert "47 files, each exactly what its checksum says" in said
    assert "50 media found, 49 got as 47 distinct files, 5 of them videos" in said
    assert "1 dead link told" in said


def test_the_demo_tells_the_dead_link_by_its_address(shown: tuple[str, Path]):
    said, _ = shown

    assert "bridge.jpg" in said


def test_the_demo_files_every_media_under_a_name_for_people(shown: tuple[str, Path]):
    said, store = shown
    filed = [file for file in (store / "library").rglob("*") if file.is_file()]

    assert len(filed) == 49
    assert all(file.name in said for file in filed)


def test_the_demo_files_what_the_named_sources_show(shown: tuple[str, Path]):
    _, store = shown
    filed = {folder.name: sum(f.is_file() for f in folder.rglob("*")) for folder in library(store)}

    assert filed == {"feed": 24, "facebook": 4, "weibo": 17, "bilibili": 4}


def library(store: Path) -> list[Path]:
    """A folder a source."""
    return list((store / "library").iterdir())


def test_the_demo_leaves_no_token_and_no_cookie(shown: tuple[str, Path]):
    said, store = shown
    kept = [file.read_bytes() for file in store.rglob("*") if file.is_file()]

    for named in settings.NAMED:
        assert named.secret not in said
        assert not [text for text in kept if named.secret.encode() in text]


def test_the_demo_stops_its_server(shown: tuple[str, Path]):
    address = re.search(r"http://127\.0\.0\.1:(\d+)", shown[0])

    assert address
    assert f":{int(address[1]):04X} " not in listening()


def listening() -> str:
    """The kernel's table of sockets that listen (state 0A)."""
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return "\n".join(row for row in rows if row.split()[3] == "0A")


def test_the_demo_keeps_out_of_a_folder_that_is_in_use(tmp_path: Path):
    (tmp_path / "kept").write_text("mine")

    run = demo(tmp_path)

    assert run.returncode == 2
    assert "is not empty" in run.stderr
    assert (tmp_path / "kept").read_text() == "mine"


def test_the_demo_answers_how_it_is_used_and_makes_no_folder_of_a_flag(tmp_path: Path):
    helped, misspelt = (demo(Path(flag), cwd=tmp_path) for flag in ("--help", "--port"))

    assert (helped.returncode, misspelt.returncode) == (0, 2)
    assert helped.stdout.startswith("Usage: scripts/demo [FOLDER]")
    assert "there is no option --port" in misspelt.stderr
    assert list(tmp_path.iterdir()) == []
