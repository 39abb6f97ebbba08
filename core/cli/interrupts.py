"""Ctrl-C and SIGTERM: the first ends a run in good order, the second at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h\n"  # progress bars hide it
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells count


@contextmanager
def ending_at_ctrl_c() -> Iterator[None]:
    """Meanwhile Ctrl-C ends the process without a word. For imports: nothing is in hand yet, and an
    interrupt within one can come out as any other error."""
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()  # others may set no handler
    if not in_main or before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Interrupts:
    """Sets `stop` at the first signal while its context is open. Says nothing itself: a handler may
    run in the middle of somebody's print."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self.came = False

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.came:
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR)
            os._exit(EXIT_INTERRUPTED)  # every step is idempotent: nothing has to be tidied
        self.came = True
        self._stop.set()
