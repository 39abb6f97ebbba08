"""`headrace submit`: feeds put into RabbitMQ for the workers; answers at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from core.app import App
from core.assemble import rabbitmq_app
from core.cli.census import Census
from core.cli.feeding import Feeding, orders
from core.cli.leftovers import Order
from core.cli.options import settings_options
from core.cli.wording import printable, table
from core.errors import BrokerDown
from core.model.addresses import strike
from core.model.task import DiscoverPayload
from core.ports import Copy
from core.settings import Settings
from core.steps.trigger import find_feed

_HEAD = ("feed", "walk", "task", "address")


@click.command()
@click.argument("feeds", nargs=-1, required=True, metavar="FEED_URL|FILE...")
@click.option(
    "--unfinished",
    is_flag=True,
    help="Submit too what earlier runs left: media without an end, or failed by a fault that may "
    "pass. For a store that an embedded run began, or when RabbitMQ's data is lost; harmless when "
    "they are in the queues already.",
)
@click.option(
    "--retry-dead",
    is_flag=True,
    help="With --unfinished: also what failed for good.",
)
@settings_options
def submit(
    given: Settings,
    feeds: tuple[str, ...],
    unfinished: bool,
    retry_dead: bool,
) -> None:
    """Put feeds into RabbitMQ, for `dramatiq actors` processes to crawl.

    Prints the ids of each feed, its walk and its task, and returns once RabbitMQ has confirmed
    them. Submitting a feed whose walk is open resumes that walk, and asks for the news after it.

    \b
    Example:
      headrace submit https://pictures.example/feed.rss
      dramatiq actors --processes 2 --threads 8
      headrace status
    """  # noqa: D301 - click marks a verbatim paragraph so
    if retry_dead and not unfinished:
        raise click.UsageError("--retry-dead goes with --unfinished")
    app = rabbitmq_app(given)
    try:
        submitted = orders(app, [find_feed(given, name) for name in feeds])
        with _told_once():
            _publish(app, submitted, unfinished=unfinished, retry_dead=retry_dead)
    finally:
        app.close()
    for line in table(_HEAD, [_row(order) for order in submitted], left=len(_HEAD)):
        click.echo(printable(line))


def _publish(app: App, submitted: list[Order], *, unfinished: bool, retry_dead: bool) -> None:
    if not unfinished:
        app.publisher.publish([Copy(order.task) for order in submitted])
        return
    census = Census()
    try:
        Feeding(app, submitted, census, retry_dead=retry_dead, say=_tell).feed()
    finally:
        census.close()


def _tell(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _told_once() -> Iterator[None]:
    """While RabbitMQ is waited for, the log says why; once that was in vain, only this is news."""
    heard: set[str] = set()
    publishing = logging.getLogger("core.queue.link")

    def hear(record: logging.LogRecord) -> bool:
        heard.add(record.getMessage())
        return True

    publishing.addFilter(hear)
    try:
        yield
    except BrokerDown as error:
        if str(error) not in heard:
            raise
        words = "RabbitMQ was waited for in vain: submit again once it is there, which is harmless"
        raise BrokerDown(words, reason=error.reason) from error
    finally:
        publishing.removeFilter(hear)


def _row(order: Order) -> tuple[str, str, str, str]:
    payload = order.task.payload
    assert isinstance(payload, DiscoverPayload)  # noqa: S101 - an order reads a feed
    return order.feed.feed, payload.walk, order.task.id, strike(order.feed.address)
