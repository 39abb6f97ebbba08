"""A feed's timetable as APScheduler wants it."""

from __future__ import annotations

from datetime import datetime, tzinfo

from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from core import timetable
from core.settings import FeedSettings
from core.timetable import WEEKDAYS, Cron


def trigger_of(feed: FeedSettings, first: datetime) -> BaseTrigger:
    """When the feed is asked, after its `first` run. Cron means the time zone of `first`."""
    if feed.cron is None:
        return IntervalTrigger(seconds=feed.every, start_date=first, jitter=feed.jitter or None)
    cron = timetable.cron(feed.cron)
    if not cron.either_day:
        return _cron_trigger(cron, feed.jitter, first.tzinfo)
    # APScheduler wants both to hold; in cron, of two restrictions, either will do.
    by_day = _cron_trigger(cron, feed.jitter, first.tzinfo, day_of_week="*")
    by_weekday = _cron_trigger(cron, feed.jitter, first.tzinfo, day="*")
    return OrTrigger([by_day, by_weekday])


def _cron_trigger(cron: Cron, jitter: float, zone: tzinfo | None, **instead: str) -> CronTrigger:
    fields = {
        "minute": _listed(cron.minutes),
        "hour": _listed(cron.hours),
        "day": _listed(cron.days),
        "month": _listed(cron.months),
        # By name: APScheduler's 0 is Monday, cron's is Sunday.
        "day_of_week": ",".join(WEEKDAYS[day] for day in cron.weekdays),
    }
    return CronTrigger(**fields | instead, timezone=zone, jitter=jitter or None)


def _listed(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))
