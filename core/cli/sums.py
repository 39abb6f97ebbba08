"""`headrace sums`: the store's checksum lists, merged into SHA256SUMS."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.opened import opened_store
from core.cli.options import in_store, settings_options, store_option
from core.settings import Settings
from core.steps.placeholders import repeats_of


@click.command()
@click.option(
    "--rebuild",
    is_flag=True,
    help="Make the lists anew from the records first: slower, and right whatever happened to them.",
)
@store_option
@settings_options
def sums(given: Settings, store_folder: Path | None, rebuild: bool) -> None:
    """Merge the store's checksums into SHA256SUMS, after workers have filled it.

    (`headrace crawl` does this at its end.) Check the store with: sha256sum -c SHA256SUMS

    --rebuild also completes the lists of what the same bytes were filed for (repeats/), where the
    settings have a source look for pictures that stand for removed ones.

    \b
    Example:
      headrace sums --store pictures
    """  # noqa: D301 - click marks a verbatim paragraph so
    with opened_store(in_store(given, store_folder)) as store:
        if rebuild:
            store.sums.rebuild()
            sources = {name for name, one in given.all_sources().items() if repeats_of(one)}
            store.repeats.repair(store.media.all(), sources)
        click.echo(store.sums.merge())
