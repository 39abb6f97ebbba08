"""A worker's budget as it is, with two notes: what the storage answered and when on its own clock,
and on each request the grant that paid for it.

The scripts run unchanged inside a function; their one clock tells what it answered."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TextIO

import requests

import core.fetch.session
from core.budget.budget import TokenBudget
from core.budget.redis import RedisBucketStorage
from core.clock import Clock
from core.fetch.session import BudgetAdapter, Outgoing
from core.shared_state.server import Argument, RedisServer, Script, read_lua

FOLDER = "HEADRACE_BENCH_GRANTS"  # where each process writes its grants
CLIMB_S = "HEADRACE_BENCH_CLIMB_S"  # instead of the budget's window between two steps up
HEADER = "X-Granted-At"
_SUFFIX = ".answers"

_GRANTED = "granted"
_VERDICTS = frozenset([b"granted", b"reserved", b"denied", b"blocked", b"void"])
_NOTING_CLOCK = """
local noted
local unnoted = now
local function now()
  noted = unnoted()
  return noted
end
"""
_NOTED = """
local function decide()
%s
end
local told = decide()
if type(told) == 'table' then
  told[#told + 1] = string.format('%%.0f', noted or 0)
end
return told
"""
_WINDOW = re.compile(r"^local WINDOW = .*$", re.MULTILINE)
_own = threading.local()


@dataclass(frozen=True, order=True, slots=True)
class Said:
    """One answer of the budget's storage."""

    at_us: int  # on the storage's clock
    bucket: str
    verdict: str
    wait_us: int
    ticket: str

    @classmethod
    def read(cls, line: str) -> Said:
        at_us, bucket, verdict, wait_us, ticket = line.split()
        return cls(int(at_us), bucket, verdict, int(wait_us), ticket)


class RecordingServer(RedisServer):
    """Runs the budget's scripts and writes down what they answered."""

    def __init__(self, url: str, folder: Path, climb_s: float | None = None) -> None:
        super().__init__(url, clock=read_lua("core.shared_state", "clock.lua") + _NOTING_CLOCK)
        self._folder = folder
        self._climb_s = climb_s
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        self._pid = 0

    def script(self, *texts: str) -> Script:
        text = "\n".join(texts)
        if self._climb_s is not None:
            text = _WINDOW.sub(f"local WINDOW = {round(self._climb_s * 1_000_000)}", text)
        return super().script(_NOTED % text)

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:  # noqa: ANN401 - what a script answers
        told = super().run(script, keys, arguments)
        if isinstance(told, list):
            at_us = int(told.pop())
            if told and told[0] in _VERDICTS:
                bucket = keys[0].rpartition("headrace:bucket")[2].strip(":/")
                self._note(Said(at_us, bucket, told[0].decode(), int(told[1]), str(arguments[0])))
        return told

    def _note(self, said: Said) -> None:
        if said.verdict == _GRANTED:
            _own.granted_us = said.at_us
        with self._lock:
            if self._file is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._file = (self._folder / f"{self._pid}{_SUFFIX}").open("a", buffering=1)
            print(*astuple(said), file=self._file)


class MarkingAdapter(BudgetAdapter):
    """Says in each request when its token was granted."""

    def _ask(self, request: Outgoing) -> requests.Response:
        request.headers[HEADER] = str(_own.granted_us)
        return super()._ask(request)


def recorded_budget(url: str, clock: Clock) -> TokenBudget:
    """The budget of a worker of the bench."""
    climb_s = os.environ.get(CLIMB_S)
    server = RecordingServer(
        url, Path(os.environ[FOLDER]), None if climb_s is None else float(climb_s)
    )
    core.fetch.session.BudgetAdapter = MarkingAdapter  # type: ignore[misc]
    return TokenBudget.shared(RedisBucketStorage(url, server), clock)


def said(folder: Path, bucket: str) -> list[Said]:
    """What was answered of a bucket (of a source's, if it stands first), to all workers, in
    order."""
    texts = (file.read_text() for file in folder.glob(f"*{_SUFFIX}"))
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    found = [Said.read(line) for line in lines if line.endswith("\n")]
    return sorted(one for one in found if one.bucket == bucket)


def grants(folder: Path, bucket: str) -> list[int]:
    """When a bucket's tokens were granted: microseconds on the storage's clock, in order."""
    return [one.at_us for one in said(folder, bucket) if one.verdict == _GRANTED]
