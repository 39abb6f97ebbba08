"""What every command accepts: `--config` and `-v`, before the command's name or after it."""

from __future__ import annotations

import functools
import ipaddress
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from core import log, settings

_CONFIG = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file. Default: HEADRACE_CONFIG, else headrace.toml in this folder.",
)
_VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Log what happens, step by step.")

store_option = click.option(
    "--store",
    "store_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The store folder. Default: `store` in the settings.",
)
RATE = click.FloatRange(min=0, min_open=True, max=1e6)  # requests a second
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command `--config` and `-v`, and the settings as its first argument `given`."""

    def with_settings(
        context: click.Context,
        /,
        config_file: Path | None,
        verbose: bool,
        **rest: Any,  # noqa: ANN401 - whatever the command takes
    ) -> Any:  # noqa: ANN401 - whatever it returns
        before = context.find_object(dict) or {}
        log.set_up(debug=verbose or before.get("verbose", False))
        loaded = settings.load(config_file or before.get("config_file"))
        return command(given=loaded, **rest)

    functools.update_wrapper(with_settings, command)
    return _CONFIG(_VERBOSE(click.pass_context(with_settings)))


def group_options(group: Callable[..., Any]) -> Callable[..., Any]:
    """Accept the same before the command's name."""

    def remember(context: click.Context, /, config_file: Path | None, verbose: bool) -> None:
        context.obj = {"config_file": config_file, "verbose": verbose}

    functools.update_wrapper(remember, group)
    return _CONFIG(_VERBOSE(click.pass_context(remember)))


def named_file() -> Path | None:
    """The file that `--config` names, before the command's name or after it. Asked in the thread
    that runs the command."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    named: Path | None = context.params.get("config_file")
    return named or (context.find_object(dict) or {}).get("config_file")


def in_store(given: settings.Settings, folder: Path | None) -> settings.Settings:
    """The settings with another store folder, if one is named."""
    return given if folder is None else given.model_copy(update={"store": folder})


def networks(
    _context: click.Context, _parameter: click.Parameter, ranges: tuple[str, ...]
) -> tuple[str, ...]:
    """Check address ranges such as 127.0.0.0/8; a callback of click's."""
    for network in ranges:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise click.BadParameter(f"{error}; write a range such as 127.0.0.0/8") from None
    return ranges


def number(
    _context: click.Context, _parameter: click.Parameter, rate: float | None
) -> float | None:
    """Refuse NaN, which no range does: it is neither below nor above. A callback of click's."""
    if rate is not None and math.isnan(rate):
        raise click.BadParameter("nan is no number of requests.")
    return rate
