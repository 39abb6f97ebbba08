"""What every command that switches a source begins with, and how switches read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from core.cli.options import in_store, named_file
from core.clock import SystemClock
from core.errors import Misconfigured
from core.model.switch import Switch
from core.settings import Settings, SourceSettings
from core.steps.unblocking import bucket_of
from core.store.store import Store
from core.store.switches import SwitchStore

source_argument = click.argument("source", metavar="SOURCE")


def switches_for(given: Settings, source: str, store_folder: Path | None) -> SwitchStore:
    """The switches of the store, for a source of the settings: a misspelt name would switch
    nothing, and nobody would know. Raises `Misconfigured` or `StorageDown`."""
    known = given.all_sources()
    if source not in known:
        raise Misconfigured(
            f"source {source!r} is not in the settings, which have: {', '.join(known)}",
            reason="unknown_source",
        )
    return Store.look(in_store(given, store_folder).store, clock=SystemClock()).switches


class Typed:
    """Commands for a person to type, with the options without which they would mean another store
    or other settings. Made in the thread that runs the command."""

    def __init__(self, store_folder: Path | None) -> None:
        named = (("--config", named_file()), ("--store", store_folder))
        self._where = [word for name, path in named if path for word in (name, str(path))]

    def __call__(self, command: str, source: str, *options: str) -> str:
        """`headrace resume press --store pictures`."""
        return shlex.join(["headrace", command, source, *options, *self._where])


def terms_line(source: str, settings: SourceSettings, switch: Switch, typed: Typed) -> str:
    """`feed: 2 requests a second, burst 20 (settings or --rate say 10 and 20: ...)`."""
    rate = settings.rate if switch.rate is None else switch.rate
    burst = settings.burst if switch.burst is None else switch.burst
    line = f"{source}: {rate:g} requests a second, burst {burst:,}"
    if switch.rate is None and switch.burst is None:
        return f"{line}, as the settings say"
    return (
        f"{line} (settings or --rate say {settings.rate:g} and {settings.burst:,}: "
        f"{typed('budget', source, '--reset')})"
    )


class Changes:
    """What to tell a run's person of one source's switches, as they change."""

    def __init__(self, source: str, settings: SourceSettings, store: Path) -> None:
        self._source = source
        self._settings = settings
        self._typed = Typed(store)
        self._before = Switch()

    def told(self, switch: Switch) -> Iterator[str]:
        """A line for each thing that differs from what was told last."""
        before, self._before = self._before, switch
        if switch.pause is not None and switch.pause != before.pause:
            yield (
                f"{self._source} is paused: {switch.pause.reason}. Its requests wait for: "
                f"{self._typed('resume', self._source)}"
            )
        if before.pause is not None and switch.pause is None:
            yield f"{self._source} goes on"
        for host, at_ms in switch.unblocked.items():
            if before.unblocked.get(host) != at_ms:
                yield f"{bucket_of(self._source, host)}: what blocked it is over"
        if (switch.rate, switch.burst) != (before.rate, before.burst):
            yield terms_line(self._source, self._settings, switch, self._typed)
