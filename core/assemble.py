"""The two ways to run: which broker, and where the shared state lies. They differ here and nowhere
else."""

from __future__ import annotations

import os

from core.app import App
from core.budget.budget import TokenBudget
from core.clock import SystemClock
from core.ledger.memory import MemoryLedger
from core.queue.broker import RabbitBroker
from core.queue.embedded import EmbeddedBroker, EmbeddedQueue
from core.queue.lanes import HEADRACE
from core.settings import Settings, load
from core.steps.ends import Observer, ignore

_chosen: list[App] = []


def embedded_app(settings: Settings, *, on_end: Observer = ignore) -> App:
    """Everything in this process, without a server; the store is locked for it alone."""
    clock = SystemClock()
    queue = EmbeddedQueue(_slots(settings), clock)
    return App(
        settings=settings,
        clock=clock,
        ledger=MemoryLedger(clock),
        budget=TokenBudget.memory(clock),
        publisher=queue,
        depths=queue,
        make_broker=lambda retry, stop: EmbeddedBroker(queue, retry=retry, stop=stop),
        exclusive=True,
        on_end=on_end,
    )


def rabbitmq_app(settings: Settings, *, on_end: Observer = ignore) -> App:
    """One of any number of processes around RabbitMQ and Redis; the store is shared."""
    # Here: an embedded run would pay 70 ms of its start for the two libraries.
    from core.ledger.redis import RedisLedger  # noqa: PLC0415
    from core.queue.publisher import RabbitPublisher  # noqa: PLC0415

    clock = SystemClock()
    url = settings.broker.url.get_secret_value()
    redis_url = settings.redis.url.get_secret_value()
    publisher = RabbitPublisher(url, tuple(settings.all_sources()), clock)
    ledger = RedisLedger(redis_url)
    budget = TokenBudget.redis(redis_url, clock)

    def hang_up() -> None:
        publisher.close()
        ledger.close()
        budget.close()

    return App(
        settings=settings,
        clock=clock,
        ledger=ledger,
        budget=budget,
        publisher=publisher,
        depths=publisher,
        make_broker=lambda retry, stop: RabbitBroker(
            url, _slots(settings), publisher=publisher, retry=retry, stop=stop, clock=clock
        ),
        exclusive=False,
        on_end=on_end,
        hang_up=hang_up,
    )


def use(app: App) -> None:
    """Have the actors of this process declared on `app`: before `actors` is imported."""
    _chosen[:] = [app]


def process_app() -> App:
    """The app that `use` chose; else, as under `dramatiq actors`, the settings' own."""
    return _chosen[0] if _chosen else rabbitmq_app(load())


def _slots(settings: Settings) -> dict[str, int | None]:
    """Of each source, and of what is shared: a join keeps a core busy."""
    slots = {name: source.concurrency for name, source in settings.all_sources().items()}
    return slots | {HEADRACE: os.cpu_count() or 1}
