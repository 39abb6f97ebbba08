"""The switches as this process knows them: read from the store twice a second, and told to whoever
has to act on a change. Asking costs nothing."""

from __future__ import annotations

import logging
import shlex
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from core.clock import Clock
from core.errors import SharedStateDown, StorageDown
from core.model.switch import Pause, Switch, Switches
from core.store.switches import SwitchStore

logger = logging.getLogger(__name__)

LOOK_S = 0.5  # between readings: a change is to arrive within a second
_ENDING_S = 2.0  # a disk that hangs keeps no process from ending

Listener = Callable[[str, Switch], None]
"""Told a source's switches when they changed. Must not ask the store; one that raises
`SharedStateDown` is told once more at each look until it does not."""


class Switchboard:
    """Knows nothing until `start`. Safe for threads."""

    def __init__(self, store: SwitchStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._switches = Switches()
        self._listeners: list[Listener] = []
        self._untold: list[tuple[Listener, str]] = []  # who could not act on which source's
        self._turn = threading.Lock()  # one reading at a time, so that changes are told in order
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False

    def start(self) -> None:
        """Read the switches, and go on reading them in a thread; twice is harmless. Raises
        `StorageDown` when nobody can say what is paused: then nothing may go out."""
        with self._turn:
            if self._thread is not None:
                return
            self._take(self._store.read())
            self._thread = threading.Thread(target=self._run, name="headrace-switches", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Read no more. What is known stays."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_ENDING_S)

    def of(self, source: str) -> Switch:
        """A source's switches as last read."""
        return self._switches.of(source)

    def listen(self, listener: Listener) -> None:
        """From now on `listener` is told of every change; and at once of each source that is
        switched already."""
        with self._turn:
            self._listeners.append(listener)
            for source in self._switches.sources:
                self._tell(listener, source)

    def pause(self, source: str, reason: str) -> None:
        """Pause a source for every process, this one at once; one that is paused keeps its reason.
        Raises `StorageDown`."""
        pause = Pause(reason=reason, since=self._clock.now())
        with self._turn:
            switch = self._store.change(source, lambda before: _paused(before, pause))
            self._take(self._switches.put(source, switch))
        if switch.pause is pause:
            logger.warning(
                "source %s is paused: %s; once that is put right: %s",
                source,
                reason,
                shlex.join(["headrace", "resume", source, "--store", str(self._store.root)]),
            )

    def look(self) -> None:
        """Read once. While the store can't be read, what was known stands: a source that is paused
        stays so."""
        with self._turn:
            try:
                found = self._store.read()
            except StorageDown as error:
                if not self._warned:
                    logger.warning("the switches stay as they were last read: %s", error)
                self._warned = True
                return
            self._warned = False
            again, self._untold = self._untold, []
            self._take(found)
            for listener, source in again:
                self._tell(listener, source)

    def _run(self) -> None:
        while not self._clock.sleep(LOOK_S, wake=self._ended):
            self.look()

    def _take(self, found: Switches) -> None:
        before, self._switches = self._switches, found
        for source in _changed(before, found):
            switch = found.of(source)
            logger.info("source %s: %s", source, _words(switch))
            for listener in self._listeners:
                self._tell(listener, source)

    def _tell(self, listener: Listener, source: str) -> None:
        try:
            listener(source, self._switches.of(source))
        except SharedStateDown as error:
            logger.debug("source %s: its switches are told again: %s", source, error)
            if (listener, source) not in self._untold:
                self._untold.append((listener, source))


def _paused(before: Switch, pause: Pause) -> Switch:
    return before if before.pause else before.model_copy(update={"pause": pause})


def _changed(before: Switches, after: Switches) -> Iterable[str]:
    known = {**before.sources, **after.sources}
    return [source for source in known if before.of(source) != after.of(source)]


def _words(switch: Switch) -> str:
    said = [f"paused ({switch.pause.reason})" if switch.pause else "not paused"]
    if switch.rate is not None:
        said.append(f"rate {switch.rate:g}/s")
    if switch.burst is not None:
        said.append(f"burst {switch.burst}")
    if switch.purged_before is not None:
        said.append(f"tasks submitted before {_time(switch.purged_before)} are dropped")
    for host, at_ms in switch.unblocked.items():
        said.append(f"what blocked {host or 'it'} before {_time(at_ms)} is over")
    return ", ".join(said)


def _time(unix_ms: int) -> str:
    """A time as the log's lines show theirs."""
    try:
        return f"{datetime.fromtimestamp(unix_ms / 1000, UTC).astimezone():%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # what no calendar holds, written by hand
        return str(unix_ms)
