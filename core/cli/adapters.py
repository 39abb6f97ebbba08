"""`headrace sources`: what Headrace reads, and what each kind of source needs. Asks nobody."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from core.cli.options import json_option, settings_options
from core.cli.wording import table
from core.settings import Settings
from core.sources import ADAPTERS, Adapter, Described, Signs

_HEAD = ("adapter", "reads", "example", "settings")


@dataclass(frozen=True, slots=True)
class Kind:
    """One adapter, as a person chooses it."""

    adapter: str
    reads: str
    example: str | None  # an address
    needs: str | None  # a token or cookie, and where to get it
    sources: tuple[str, ...]  # of the settings, that use it


@click.command()
@json_option
@settings_options
def sources(given: Settings, as_json: bool) -> None:
    """List the kinds of sources: what each reads, an address of it, and what it needs.

    The settings choose one for a source with `adapter`; without that, an address is read as what
    its first bytes are.

    \b
    Example:
      [sources.press]
      adapter = "sitemap"
    """  # noqa: D301 - click marks a verbatim paragraph so
    kinds = [kind_of(adapter, given) for adapter in ADAPTERS.values()]
    if as_json:
        click.echo(json.dumps({"sources": [asdict(kind) for kind in kinds]}))
        return
    for line in told(kinds):
        click.echo(line)


def kind_of(adapter: Adapter, given: Settings) -> Kind:
    """What an adapter says of itself; its docstring where it says nothing."""
    described = adapter if isinstance(adapter, Described) else None
    in_words = (inspect.getdoc(type(adapter)) or adapter.name).partition("\n\n")[0]
    used_by = (name for name, one in given.sources.items() if one.adapter == adapter.name)
    return Kind(
        adapter=adapter.name,
        reads=described.about if described else " ".join(in_words.split()),
        example=described.example if described else None,
        needs=adapter.needs if isinstance(adapter, Signs) else None,
        sources=tuple(used_by),
    )


def told(kinds: list[Kind]) -> Iterator[str]:
    """A table, and below it what some of them need."""
    rows = [(one.adapter, one.reads, one.example or "-", ", ".join(one.sources)) for one in kinds]
    yield from table(_HEAD, rows, left=len(_HEAD))
    for one in kinds:
        if one.needs:
            yield ""
            yield f"{one.adapter} needs {one.needs}"
