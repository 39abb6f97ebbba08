"""`headrace library`: the names for people, made anew from the records."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.opened import opened_store
from core.cli.options import in_store, settings_options, store_option
from core.cli.wording import count
from core.settings import Settings


@click.command()
@click.option("--rebuild", is_flag=True, required=True, help="Name every file that was got.")
@store_option
@settings_options
def library(given: Settings, store_folder: Path | None, rebuild: bool) -> None:  # noqa: ARG001 - asks for the deed
    """Give everything that was got its name in library/ again.

    Nothing is removed: for a fresh library delete the folder first; its names are links or copies,
    the files themselves lie in objects/.

    \b
    Example:
      headrace library --rebuild --store pictures
    """  # noqa: D301 - click marks a verbatim paragraph so
    with opened_store(in_store(given, store_folder)) as store:
        named = store.library.rebuild(store.media.all())
        click.echo(f"{store.root / 'library'}: {count(named, 'media has', 'media have')} a name")
