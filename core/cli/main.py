"""The `headrace` command: its commands by name, and what a failure of theirs says and exits with.

A command's module is imported when the command runs, so that `--help` answers at once."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from types import ModuleType
from typing import NamedTuple

import click

from core.cli.hang_ups import HANG_UPS
from core.cli.interrupts import EXIT_INTERRUPTED, ending_at_ctrl_c
from core.cli.options import group_options
from core.errors import HeadraceError, Misconfigured

EXIT_FAILED = 1
EXIT_USAGE = 2


class _Entry(NamedTuple):
    module: str  # which has the command, or the group, under the entry's name
    summary: str
    reloads: bool = False  # SIGHUP has it read its settings anew, and must not end it before


COMMANDS = {
    "crawl": _Entry("core.cli.crawl", "Read feeds and get their media, in this one process."),
    "submit": _Entry("core.cli.submit", "Put feeds into RabbitMQ, for workers to crawl."),
    "produce": _Entry(
        "core.cli.produce", "Ask feeds for news by their timetables, for workers.", reloads=True
    ),
    "status": _Entry("core.cli.status", "Show what is open, done and dead, by source."),
    "dead": _Entry("core.cli.dead", "List, requeue or discard dead letters."),
    "pause": _Entry("core.cli.pause", "Let nothing of a source go out, until it is resumed."),
    "resume": _Entry("core.cli.pause", "Let a paused source go on."),
    "budget": _Entry("core.cli.budget", "Show or change a source's rate while workers run."),
    "purge": _Entry("core.cli.purge", "Drop what waits of a source."),
    "sources": _Entry("core.cli.adapters", "List the kinds of sources, and what each needs."),
    "probe": _Entry("core.cli.probe", "Show what an address offers, and what would be got."),
    "sums": _Entry("core.cli.sums", "Merge the store's checksums into SHA256SUMS."),
    "library": _Entry("core.cli.library", "Make the library's names for people anew."),
}


class _Commands(click.Group):
    """Finds commands in the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if entry.reloads:
            HANG_UPS.listen()  # its imports take longer than a person who reloads at once
        with ending_at_ctrl_c():
            command = getattr(_imported(entry.module), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - the table says so
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def _imported(module: str) -> ModuleType:
    """Import without looking for rubbish among thousands of new classes, where none is: 0.05 s of
    0.6; nor ever after."""
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.freeze()
        gc.enable()


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace", message="headrace %(version)s")
@group_options
def headrace() -> None:
    """Headrace gets the images and videos that feeds show, never faster than a source allows, and
    files each with where it came from.

    \b
    Begin with:
      headrace crawl https://pictures.example/feed.rss --to pictures
    """  # noqa: D301 - click marks a verbatim paragraph so


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status; what a person can cause ends in one message."""
    try:
        status = headrace.main(arguments, prog_name="headrace", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except OSError as error:
        # Everybody translates their own: this one is the output's. A reader that has enough is no
        # fault; Python would complain once more when it flushes.
        if not isinstance(error, BrokenPipeError):
            click.echo(f"headrace: {error}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except HeadraceError as error:
        click.echo(f"headrace: {error}", err=True)
        return EXIT_USAGE if isinstance(error, Misconfigured) else EXIT_FAILED
    return status if isinstance(status, int) else 0


def _open_closed_streams() -> None:
    """Started without stdout or stderr, as by some schedulers: what is said goes nowhere, and no
    file of the store gets the number that others take for them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def main() -> None:
    """The entry point."""
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A title that the terminal's encoding lacks must not end a crawl.
        sys.stdout.reconfigure(errors="replace")
    status = run()
    gc.freeze()  # everything goes now: taking it apart piece by piece would cost 0.1 s
    sys.exit(status)
