import importlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from core.cli import main
from core.cli.main import COMMANDS, headrace, run
from core.errors import StorageDown


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In an empty folder, and with the logging of before afterwards."""
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
):
    assert run([name, "--help"]) == 0
    said = capsys.readouterr().out

    assert f"headrace {name}" in said
    assert "Example" in said or name == "dead"


@pytest.mark.parametrize("name", ["list", "requeue", "discard"])
def test_what_can_be_done_with_dead_letters_is_shown_by_example(
    name: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["dead", name, "--help"]) == 0
    assert f"headrace dead {name} --" in capsys.readouterr().out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]):
    assert run(["--help"]) == 0
    said = capsys.readouterr().out

    assert all(entry.summary in said for entry in COMMANDS.values())


def test_help_imports_none_of_the_heavy_parts():
    seen = "import sys, core.cli.main as m; m.run(['--help']); print(sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    modules = run.stdout.splitlines()[-1]

    for heavy in ("requests", "dramatiq", "redis", "pika", "rich"):
        assert f"'{heavy}'" not in modules


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    assert run(["crwl"]) == 2
    assert "No such command" in capsys.readouterr().err


def test_an_unknown_setting_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "mine.toml").write_text("[sources.mill]\nratee = 3\n")

    after, before = (
        run(["status", "--config", "mine.toml"]),
        run(["--config", "mine.toml", "status"]),
    )

    assert (after, before) == (2, 2)
    assert (
        capsys.readouterr().err == 2 * "headrace: mine.toml: sources.mill.ratee: no such setting\n"
    )


def test_a_missing_settings_file_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    assert run(["status", "--config", "nowhere.toml"]) == 2
    assert "nowhere.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["crawl"], "Missing argument"),
        (["crawl", "nowhere.txt"], "neither an address"),
        (["crawl", "http://x/", "--rate", "0"], "--rate"),
        (["crawl", "http://x/", "--rate", "inf"], "--rate"),
        (["crawl", "http://x/", "--rate", "nan"], "--rate"),
        (["crawl", "http://x/", "--burst", "0"], "--burst"),
        (["crawl", "http://x/", "--concurrency", "0"], "--concurrency"),
        (["crawl", "http://x/", "--allow-network", "127.0.0.1/8"], "host bits"),
        (["submit", "http://x/", "--retry-dead"], "--unfinished"),
        (["dead", "requeue"], "--all"),
        (["dead", "discard", "--dry-run"], "--all"),
        (["dead", "list", "--source", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_right_is_told_and_exits_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert run(arguments) == 2
    assert said in capsys.readouterr().err


def test_trouble_is_one_line_and_exits_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail() -> None:
        raise StorageDown("the disk is full: free space")

    failing = click.Command("status", callback=fail)
    monkeypatch.setattr(headrace, "get_command", lambda *_: failing)

    assert run(["status"]) == 1
    assert capsys.readouterr().err == "headrace: the disk is full: free space\n"


def test_a_store_that_is_none_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "photos" / "media").mkdir(parents=True)

    assert run(["sums", "--store", "photos"]) == 1
    assert "there is no store in" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["media"]


def test_the_table_names_commands_that_exist():
    for name, entry in main.COMMANDS.items():
        assert isinstance(getattr(importlib.import_module(entry.module), name), click.Command)


_MAIN = "from core.cli.main import main; main()"


@pytest.mark.parametrize("closed", [">&-", "2>&- --json", "<&- >&- 2>&-"])
def test_a_crawl_runs_also_without_the_streams_that_its_parent_closed(closed: str, tmp_path: Path):
    (tmp_path / "list.txt").write_text("# no address yet\n")
    script = f'"$0" -c "$1" crawl list.txt --to store {closed}'
    command = ["sh", "-c", script, sys.executable, _MAIN]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert (tmp_path / "store" / "SHA256SUMS").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_output_that_is_full_is_told_in_one_line():
    command = [sys.executable, "-c", _MAIN, "--help"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr == "headrace: [Errno 28] No space left on device\n"
