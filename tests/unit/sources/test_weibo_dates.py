from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.weibo_dates import CHINA, DAY_S, HOUR_S, MINUTE_S, read_moment
from tests.support.weibo import READ_AT


@pytest.mark.parametrize(
    ("text", "told", "within_s"),
    [
        ("Sat Jun 20 09:58:01 +0800 2026", "2026-06-20T09:58:01+08:00", None),
        ("Sat Jun 20 09:58:01 -0530 2026", "2026-06-20T15:28:01+00:00", None),
        ("刚刚", "2026-06-20T10:00:00+08:00", MINUTE_S),
        ("30秒前", "2026-06-20T09:59:30+08:00", MINUTE_S),
        ("5分钟前", "2026-06-20T09:55:00+08:00", MINUTE_S),
        ("3小时前", "2026-06-20T07:00:00+08:00", HOUR_S),
        ("2天前", "2026-06-18T10:00:00+08:00", DAY_S),
        ("今天 08:15", "2026-06-20T08:15:00+08:00", MINUTE_S),
        ("昨天 08:15", "2026-06-19T08:15:00+08:00", MINUTE_S),
        ("06-14", "2026-06-14T00:00:00+08:00", DAY_S),
        ("06-14 08:15", "2026-06-14T08:15:00+08:00", MINUTE_S),
        ("12-31", "2025-12-31T00:00:00+08:00", DAY_S),
        ("2025-12-31", "2025-12-31T00:00:00+08:00", DAY_S),
        ("2025-12-31 08:15", "2025-12-31T08:15:00+08:00", MINUTE_S),
        ("2025-12-31 08:15:30", "2025-12-31T08:15:30+08:00", None),
    ],
)
def test_a_moment_is_told_with_how_exact_it_is(
    text: str, told: str, within_s: float | None
) -> None:
    found = read_moment(text, READ_AT)

    assert found.at == datetime.fromisoformat(told)
    assert found.within_s == within_s


@pytest.mark.parametrize("text", ["", None, 7, "soon", "06-31", "Sat Foo 20 09:58:01 +0800 2026"])
def test_what_names_no_moment_is_none(text: object) -> None:
    assert read_moment(text, READ_AT).at is None


@pytest.mark.parametrize("text", ["3小时前", "昨天 08:15", "06-14", "刚刚"])
def test_a_relative_moment_needs_to_know_when_it_was_read(text: str) -> None:
    assert read_moment(text, 0.0).at is None


def test_yesterday_is_counted_in_china() -> None:
    before_midnight_in_london = datetime(2026, 6, 19, 23, 0, tzinfo=UTC).timestamp()

    found = read_moment("昨天 08:15", before_midnight_in_london)

    assert found.at == datetime(2026, 6, 19, 8, 15, tzinfo=CHINA)


@given(st.text(max_size=40), st.floats(0, 4e9))
def test_reading_a_moment_never_fails(text: str, read_at: float) -> None:
    found = read_moment(text, read_at)

    assert found.at is None or found.at.utcoffset() == timedelta(0)


@given(st.integers(0, 99_999), st.sampled_from(["秒", "分钟", "小时", "天"]))
def test_what_is_past_is_past(count: int, unit: str) -> None:
    found = read_moment(f"{count}{unit}前", READ_AT)

    assert found.at is not None
    assert found.at.timestamp() <= READ_AT
