"""The scheduler in its own thread, by the machine's clock and time zone."""

from __future__ import annotations

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.base import BaseScheduler

from core.errors import Misconfigured

RUNS_AT_ONCE = 8  # a run is over in milliseconds, unless something that it asks is slow to answer


def scheduler() -> BaseScheduler:
    """A scheduler that is not started. Raises `Misconfigured` when the machine does not say in
    which time zone it is."""
    try:
        return BackgroundScheduler(executors={"default": ThreadPoolExecutor(RUNS_AT_ONCE)})
    except (LookupError, ValueError) as error:  # tzlocal's, where TZ or /etc/localtime are wrong
        raise Misconfigured(
            f"the machine's time zone can't be told: {error}; set TZ, for instance to UTC",
            reason="bad_time_zone",
        ) from error
