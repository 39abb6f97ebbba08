"""`headrace budget`: a source's rate and burst, shown or changed while workers run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from core.cli.options import RATE, number, settings_options, store_option
from core.cli.switching import Typed, source_argument, switches_for, terms_line
from core.settings import Settings


@click.command()
@source_argument
@click.option(
    "--rate", type=RATE, callback=number, metavar="R", help="Requests a second at most, from now."
)
@click.option(
    "--burst",
    type=click.IntRange(min=1),
    metavar="B",
    help="Requests at once after a pause, from now.",
)
@click.option("--reset", is_flag=True, help="Go back to what the settings say.")
@store_option
@settings_options
def budget(
    given: Settings,
    source: str,
    store_folder: Path | None,
    reset: bool,
    **wished: Any,  # noqa: ANN401 - rate and burst, None where not given
) -> None:
    """Show a source's rate and burst, or change them while workers run.

    A change wins over the settings at every worker and every crawl of the store, within a second
    and without a restart, until --reset; it is kept in the store. However a source's rate is
    changed, a slowdown that the source itself asked for stays: `headrace status` shows what is
    granted just now.

    \b
    Examples:
      headrace budget pictures
      headrace budget pictures --rate 0.5 --burst 2
      headrace budget pictures --reset
    """  # noqa: D301 - click marks a verbatim paragraph so
    changes = {name: value for name, value in wished.items() if value is not None}
    if reset and changes:
        raise click.UsageError("--reset goes back to the settings: it takes no --rate or --burst")
    if reset:
        changes = {"rate": None, "burst": None}
    switches = switches_for(given, source, store_folder)
    if changes:
        switch = switches.change(source, lambda before: before.model_copy(update=changes))
    else:
        switch = switches.read().of(source)
    click.echo(terms_line(source, given.source(source), switch, Typed(store_folder)))
