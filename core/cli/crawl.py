"""`headrace crawl`: feeds read and their media got in this one process, without any service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from core.cli.embedded_run import EmbeddedRun
from core.cli.options import RATE, in_store, networks, number, settings_options
from core.settings import Settings
from core.steps.trigger import Feed, find_feed

DEFAULT_CONCURRENCY = 8
_MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the flags ask for; None leaves it to the settings."""

    rate: float | None
    burst: int | None
    concurrency: int | None
    max_height: int | None
    allow_network: tuple[str, ...]
    retry_dead: bool
    as_json: bool


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED_URL|FILE...")
@click.option(
    "--to",
    "store_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The store folder, made if it is missing. Default: `store` in the settings.",
)
@click.option(
    "--rate",
    type=RATE,
    callback=number,
    metavar="R",
    help="Requests a second at most. Default: 10.",
)
@click.option(
    "--burst",
    type=click.IntRange(min=1),
    metavar="B",
    help="Requests at once after a pause. Default: 20.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=_MOST_THREADS),
    metavar="C",
    help=f"Media asked for at a time. Default: {DEFAULT_CONCURRENCY}.",
)
@click.option(
    "--max-height",
    type=click.IntRange(min=1),
    metavar="H",
    help="Of what a video's manifest offers, the best picture of at most so many lines. Default: "
    "the source's setting, else the best.",
)
@click.option(
    "--allow-network",
    multiple=True,
    callback=networks,
    metavar="CIDR",
    help="Permit requests to an address range that is refused by default (private, loopback, "
    "link-local): 127.0.0.0/8. May be repeated.",
)
@click.option(
    "--retry-dead", is_flag=True, help="Ask again also for what ended for good, such as a 404."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="End with one JSON object on one line of stdout; progress goes to stderr.",
)
@settings_options
@click.pass_context
def crawl(
    context: click.Context,
    /,
    given: Settings,
    feeds: tuple[str, ...],
    store_folder: Path | None,
    **flags: Any,  # noqa: ANN401 - exactly the fields of Wishes
) -> None:
    """Read feeds and get every image and video that they show.

    A feed is an address (RSS, Media RSS, Atom, JSON Feed, a sitemap, IIIF, a list of addresses), a
    file with one, or the name of a feed in the settings. The address of a picture, a video or a
    manifest (HLS, DASH) is a list of one. The store folder then holds each file once by its SHA-256
    (objects/), names for people (library/), where each came from (media/), and SHA256SUMS.

    Run the same command again at any time: it goes on where the last run stopped, however that
    ended, asks each feed for what is new, and gets nothing twice. Ctrl-C ends in good order.

    `headrace pause`, `resume`, `budget` and `purge` with --store DIR reach a crawl while it runs.
    When for two minutes all that is open belongs to sources that are paused, or where nobody
    answers, the run ends and leaves it to the next one. So it does where a source has answered
    nothing but "slower" for ten minutes beyond the longest wait that it named.

    Exit status: 0 when everything found was got, now or before; 1 when something is missing, which
    is listed with its reason; 2 when the command or the settings can't be right; 130 after Ctrl-C.

    A video whose manifest names pieces (HLS, DASH, Bilibili's playurl) is got piece by piece and
    joined to one file. Where pieces can't be had, it is incomplete: no file has a hole, what was
    got is kept, and a later run fetches only what is missing.

    \b
    With --json the object is
      {"media": [{"url", "kind", "state", "reason", "object", "path"}, ...],
       "found", "got", "known", "failed", "incomplete", "bytes"}
    state is one of done (got in this run), known (got before), failed, incomplete (not ended, or a
    video with pieces missing, whose numbers in the plan, from 0, then stand as "missing") and
    refused (by a rule of Headrace); "failed" counts both failed and refused; object is the SHA-256
    of the file, path its name within DIR; "bytes" is the size of what this run got.

    \b
    Examples:
      headrace crawl https://pictures.example/feed.rss --to pictures
      headrace crawl addresses.txt --to pictures --rate 2 --burst 4 --json
    """  # noqa: D301 - click marks a verbatim paragraph so
    wishes = Wishes(**flags)
    chosen = [find_feed(given, name) for name in feeds]
    run = EmbeddedRun(
        wished(in_store(given, store_folder), chosen, wishes),
        chosen,
        retry_dead=wishes.retry_dead,
        as_json=wishes.as_json,
    )
    context.exit(run.perform())


def wished(given: Settings, feeds: Sequence[Feed], wishes: Wishes) -> Settings:
    """The settings with what the flags ask for the feeds' sources."""
    asked = {"rate": wishes.rate, "burst": wishes.burst, "max_height": wishes.max_height}
    changes = {name: value for name, value in asked.items() if value is not None}
    sources = dict(given.sources)
    for source in {feed.record.source for feed in feeds}:
        before = given.source(source)
        slots = wishes.concurrency or before.concurrency or DEFAULT_CONCURRENCY
        sources[source] = before.model_copy(update=changes | {"concurrency": slots})
    allowed = (*given.fetch.allow_networks, *wishes.allow_network)
    fetch = given.fetch.model_copy(update={"allow_networks": allowed})
    return given.model_copy(update={"sources": sources, "fetch": fetch})
