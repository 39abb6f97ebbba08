"""What a person reads of the log: one line a record on stderr, and never a password."""

from __future__ import annotations

import copy
import logging
import re
import sys
from types import TracebackType
from typing import TextIO

_LINE = "%(asctime)s %(levelname)-7s %(message)s"
_TIME = "%Y-%m-%d %H:%M:%S"
_PASSWORD = re.compile(r"(?<=://)[^/\s@]*:[^/\s@]*@")  # in whatever a library says of an address
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")

# What others may say at most: APScheduler, pika and urllib3 tell failures that we tell, often with
# tracebacks; Dramatiq at DEBUG tells each thread's every move.
_AT_LEAST = {
    "apscheduler": logging.CRITICAL,
    "asyncio": logging.CRITICAL,
    "dramatiq": logging.INFO,
    "pika": logging.CRITICAL,
    "urllib3": logging.CRITICAL,
}
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class OneLine(logging.Formatter):
    """A record on one line. A traceback, where it was asked for, is for whoever wrote the bug:
    it follows with `whole`, else its last line stands for it."""

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__(_LINE, _TIME)
        self._whole = whole

    def format(self, record: logging.LogRecord) -> str:
        """The line, without what a feed's text could do to a terminal."""
        own = copy.copy(record)
        own.exc_text = None  # another handler's traceback, kept in the record
        said = super().format(own)
        said = _PASSWORD.sub("", _CONTROL.sub(" ", said))
        return said if self._whole else " | ".join(filter(None, said.splitlines()))

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - logging's own name
        """The traceback, or the exception alone."""
        if self._whole:
            return super().formatException(ei)
        kind, error, _ = ei
        return f"({kind.__name__}: {error})" if kind else ""


class _CurrentStderr(logging.StreamHandler[TextIO]):
    """Writes to whatever stderr is at the moment: progress bars put their own in its place, so that
    a line goes above them and not through them."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def set_up(*, debug: bool = False) -> None:
    """Log warnings to stderr; with `debug` everything of ours and of Dramatiq's. Setting up again
    replaces what was set up before."""
    handler = _CurrentStderr()
    handler.setFormatter(OneLine(whole=debug))
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, _CurrentStderr)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if debug else logging.WARNING)
    for name, level in _AT_LEAST.items():
        logging.getLogger(name).setLevel(max(level, root.level))
