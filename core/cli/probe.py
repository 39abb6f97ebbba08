"""`headrace probe`: what an address offers, and what would be got of it. Asks within the source's
budget, stores nothing."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import click

from core.budget.budget import TokenBudget
from core.cli import probe_words
from core.cli.options import json_option, networks, settings_options
from core.cli.probe_feed import Target, read_feed, target_of
from core.cli.probe_words import FileFound, Found, ManifestFound, Refusal
from core.clock import SystemClock
from core.errors import HeadraceError, Misconfigured
from core.fetch import types
from core.fetch.fetcher import Fetcher, PageBody, Visit
from core.manifests import Origin, SelectionPolicy, build_plan, choose, parse, read_wanted
from core.model.request import Request
from core.model.secrecy import Secrecy
from core.settings import Settings
from core.sources.one_media import is_file
from core.steps.part_of_file import spans_of
from core.steps.terms import selection_policy, source_terms

EXIT_REFUSED = 1
_NO_SECRETS = Secrecy()


@click.command()
@click.argument("address", metavar="URL")
@click.option("--source", metavar="NAME", help="Ask on the terms of this source of the settings.")
@click.option(
    "--max-height",
    type=click.IntRange(min=1),
    metavar="H",
    help="The best picture of at most so many lines. Default: the source's setting, else any.",
)
@click.option(
    "--allow-network",
    multiple=True,
    callback=networks,
    metavar="CIDR",
    help="Permit requests to an address range that is refused by default: 127.0.0.0/8.",
)
@json_option
@settings_options
def probe(
    given: Settings,
    address: str,
    source: str | None,
    max_height: int | None,
    allow_network: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what an address offers, and what would be got of it. Nothing is stored.

    \b
    a manifest  its variants, sound, subtitles, length and encryption; what is chosen and why
    a feed      which adapter reads it and why, its first posts and their media
    a file      its type, by its first bytes; the rest is not fetched

    Exit status: 0 when Headrace would get it; 1 when it would not, with the reason.

    \b
    Example:
      headrace probe https://videos.example/talk/index.m3u8 --max-height 720
    """  # noqa: D301 - click marks a verbatim paragraph so
    target = _target(given, address, source)
    policy = selection_policy(target.settings, max_height)
    secrecy = Secrecy.of(source_terms(target.source, target.settings))
    try:
        with _visit(given, target, allow_network) as visit:
            found = look(visit, target, policy, secrecy)
    except Misconfigured:
        raise
    except HeadraceError as error:
        if not as_json:
            raise
        refused = Refusal(error.reason, secrecy.text(str(error)))
        click.echo(json.dumps(probe_words.refusal_record(target.address, refused)))
        click.get_current_context().exit(EXIT_REFUSED)
    lines = [json.dumps(probe_words.record(found))] if as_json else probe_words.told(found)
    for line in lines:
        click.echo(secrecy.text(line))
    click.get_current_context().exit(EXIT_REFUSED if probe_words.is_refused(found) else 0)


def look(
    visit: Visit, target: Target, policy: SelectionPolicy, secrecy: Secrecy = _NO_SECRETS
) -> Found:
    """Ask, and tell by the bytes what it is. Raises what the answer or its bytes mean."""
    request = target.adapter.request(target.address, None) or Request(target.address)
    page = visit.page(request, enough=is_file)
    head = page.stream.read(types.HEAD_BYTES)
    page.stream.seek(0)
    sniffed = types.sniff(head) if is_file(head) else None
    if sniffed is not None:
        return FileFound(target.address, page.url, sniffed, page.content_type)
    if types.is_manifest(head):
        return _manifest(visit, target, policy, page, secrecy)
    return read_feed(visit, target, page, SystemClock())


def _manifest(
    visit: Visit,
    target: Target,
    policy: SelectionPolicy,
    page: PageBody,
    secrecy: Secrecy,
) -> ManifestFound:
    """What it offers is shown also when what would be chosen is refused."""
    body = page.stream.read()
    offer = parse(body, page.url)
    choice = choose(offer, policy)
    digest = hashlib.sha256(body).hexdigest()
    origin = Origin(
        media="",
        source=target.source,
        manifest_url=target.address,
        final_url=page.url,
        manifest_sha256=digest,
        secrecy=secrecy,
        inherit_query=target.settings.inherit_query,
    )
    found = partial(ManifestFound, target.address, offer, choice, secret_names=tuple(secrecy.names))
    try:
        get, spans = partial(_got, visit), spans_of(visit, Request)
        playlists = read_wanted(offer, choice, get, spans, query_of=origin.query_of)
        return found(build_plan(origin, choice, playlists))
    except HeadraceError as error:
        return found(None, Refusal(error.reason, str(error)))


def _got(visit: Visit, url: str) -> tuple[bytes, str]:
    page = visit.page(Request(url))
    return page.stream.read(), page.url


def _target(given: Settings, address: str, source: str | None) -> Target:
    target = target_of(given, address, source)
    if target.address.startswith("file:"):
        raise click.UsageError("probe asks an address: http://... or https://...")
    return target


@contextmanager
def _visit(given: Settings, target: Target, allow_network: tuple[str, ...]) -> Iterator[Visit]:
    """A visit on the source's terms, with a bucket of its own."""
    clock = SystemClock()
    allowed = (*given.fetch.allow_networks, *allow_network)
    fetcher = Fetcher(
        given.fetch.model_copy(update={"allow_networks": allowed}),
        TokenBudget.memory(clock),
        clock,
        threading.Event(),
        free_bytes=lambda: sys.maxsize,  # nothing is kept
    )
    try:
        terms = source_terms(target.source, target.settings)
        with fetcher.visit(terms) as visit:
            yield visit
    finally:
        fetcher.close()
