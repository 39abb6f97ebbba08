"""Where the join finds its tool."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from core.errors import Misconfigured, Transient
from core.steps import assembler
from core.steps.assembler import ToolAssembler
from core.video.ffmpeg import Ffmpeg
from core.video.shortfall import Doubts
from tests.support.staged import staged_video


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that looked for ffmpeg, which is not there."""
    names: list[str] = []

    def find() -> Ffmpeg:
        names.append(threading.current_thread().name)
        raise Misconfigured("there is no ffmpeg", reason="ffmpeg_missing")

    monkeypatch.setattr(assembler.Ffmpeg, "find", find)
    return names


def finished(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(timeout=10)


def test_ffmpeg_is_looked_for_beside_the_downloads_once(looks: list[str]):
    tool = ToolAssembler()
    tool.prepare()
    tool.prepare()
    finished("headrace-ffmpeg")

    assert looks == ["headrace-ffmpeg"]


def test_who_is_about_to_fetch_pieces_hears_that_nobody_here_can_join_them(looks: list[str]):
    insist = ToolAssembler().prepare()

    with pytest.raises(Transient, match="there is no ffmpeg") as caught:
        insist()

    assert caught.value.reason == "no_ffmpeg"


def test_a_machine_with_it_lets_everybody_go_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(assembler.Ffmpeg, "find", object)

    ToolAssembler().prepare()()


def test_a_machine_without_it_is_an_attempt_when_it_is_needed(looks: list[str], tmp_path: Path):
    tool = ToolAssembler()
    tool.prepare()
    finished("headrace-ffmpeg")

    with pytest.raises(Transient, match="there is no ffmpeg"):
        tool(staged_video(), lambda _piece: tmp_path, tmp_path, lambda: None, Doubts())

    assert len(looks) == 2
