"""`headrace dead`: what failed for good, shown, tried again or forgotten, by a person's choice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from core.assemble import rabbitmq_app
from core.cli import dead_entries
from core.cli.dead_entries import Entry, Selected
from core.cli.options import in_store, json_option, settings_options, store_option
from core.cli.wording import count, printable, table
from core.queue import dead_letters
from core.queue.dead_letters import Letter, Requeued
from core.settings import Settings
from core.steps.reopened import Telling
from core.steps.trigger import submitted

_HEAD = ("source", "id", "reason", "status", "attempts", "last failure", "subject")
_MOST = 1000  # letters listed of a source, unless more are asked for


def _selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which letters are meant."""
    for option in (
        click.option("--reason", metavar="WORD", help="Only letters with this reason: gone."),
        click.option(
            "--id", "ids", multiple=True, metavar="ID", help="Only this task. May be repeated."
        ),
        click.option(
            "--source",
            "sources",
            multiple=True,
            metavar="NAME",
            help="Only this source. May be repeated. Default: every source of the settings.",
        ),
    ):
        command = option(command)
    return command


def _act_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command that changes something takes."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing."),
        click.option("--all", "everything", is_flag=True, help="Mean every letter."),
    ):
        command = option(command)
    return _selection_options(command)


@click.group()
def dead() -> None:
    """List, requeue or discard dead letters.

    A task ends dead when trying again can't help (a 404, a file that is no media), or after its
    last attempt. Its letter stays until a person requeues or discards it.
    """


@dead.command("list")
@_selection_options
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_MOST,
    metavar="N",
    help=f"Read at most so many letters of a source. Default: {_MOST}.",
)
@store_option
@json_option
@settings_options
def list_letters(
    given: Settings,
    store_folder: Path | None,
    limit: int,
    as_json: bool,
    **selected: Any,  # noqa: ANN401 - exactly the parameters of Selected
) -> None:
    """Show dead letters, oldest first. Looking changes nothing, however often.

    With --store the folder is asked instead of RabbitMQ, as for a store that `headrace crawl`
    fills: what ended there without its file.

    \b
    Examples:
      headrace dead list --source feed
      headrace dead list --reason gone --json
      headrace dead list --store pictures
    """  # noqa: D301 - click marks a verbatim paragraph so
    chosen = Selected(given, **selected)
    if store_folder is None:
        entries = list(dead_entries.letters(chosen, limit))
    else:
        entries = list(dead_entries.ends(in_store(given, store_folder), chosen, limit))
    if as_json:
        click.echo(json.dumps({"letters": [asdict(entry) for entry in entries]}))
    else:
        _show(entries)


@dead.command()
@_act_options
@settings_options
def requeue(
    given: Settings,
    everything: bool,
    dry_run: bool,
    **selected: Any,  # noqa: ANN401 - exactly the parameters of Selected
) -> None:
    """Give dead tasks another life: their attempts begin anew.

    Each is opened again in the store, published and confirmed before its letter goes; killed in the
    middle, the command repeats at most what it had begun.

    \b
    Examples:
      headrace dead requeue --reason timeout --dry-run
      headrace dead requeue --id image-6f1d0c...
      headrace dead requeue --source feed
    """  # noqa: D301 - click marks a verbatim paragraph so
    chosen = Selected(given, **selected)
    chosen.insist(everything=everything)
    app = rabbitmq_app(given)
    try:
        for source in chosen.sources:
            done = dead_letters.requeue(
                chosen.url,
                source,
                chosen.selection,
                # No older than any purge: what a person requeues now, no earlier purge means.
                reopen=lambda task: submitted(app.reopen(task), app.store, app.clock),
                publisher=Telling(app.publisher, app.ledger),
                dry_run=dry_run,
            )
            _tell_requeued(source, done, dry_run=dry_run)
    finally:
        app.close()


@dead.command()
@_act_options
@settings_options
def discard(
    given: Settings,
    everything: bool,
    dry_run: bool,
    **selected: Any,  # noqa: ANN401 - exactly the parameters of Selected
) -> None:
    """Delete dead letters. The store keeps how their media ended.

    \b
    Example:
      headrace dead discard --source feed --reason gone --dry-run
    """  # noqa: D301 - click marks a verbatim paragraph so
    chosen = Selected(given, **selected)
    chosen.insist(everything=everything)
    for source in chosen.sources:
        gone = dead_letters.discard(chosen.url, source, chosen.selection, dry_run=dry_run)
        click.echo(f"{source}: {_would(dry_run)}discarded {count(len(gone), 'letter')}")
        _name(gone)


def _show(entries: Sequence[Entry]) -> None:
    if not entries:
        click.echo("No dead letters.")
        return
    for line in table(_HEAD, [_row(entry) for entry in entries], left=len(_HEAD)):
        click.echo(printable(line))


def _row(entry: Entry) -> list[str]:
    cells = (
        entry.source,
        entry.id,
        entry.reason,
        entry.http_status,
        entry.attempts,
        entry.last_failure,
    )
    return [*("-" if cell is None else str(cell) for cell in cells), entry.subject]


def _tell_requeued(source: str, done: Requeued, *, dry_run: bool) -> None:
    click.echo(f"{source}: {_would(dry_run)}requeued {count(len(done.published), 'task')}")
    _name(done.published)
    for letter in done.unreadable:
        click.echo(
            f"{source}: {letter.id} can't be read ({printable(letter.message)}) and would only die "
            "again: look at it in the console, then discard it",
            err=True,
        )


def _name(letters: Iterable[Letter]) -> None:
    for letter in letters:
        click.echo(printable(f"  {letter.id}  {letter.reason}  {letter.subject}"))


def _would(dry_run: bool) -> str:
    return "would have " if dry_run else ""
