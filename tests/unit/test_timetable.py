from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.timetable import cron, in_words, seconds


@pytest.mark.parametrize(
    ("written", "meant_s"),
    [
        ("90s", 90.0),
        ("15m", 900.0),
        ("6h", 21_600.0),
        ("1d", 86_400.0),
        ("1h30m", 5400.0),
        ("0.5s", 0.5),
        (90, 90.0),
        (1.5, 1.5),
        (0, 0.0),
    ],
)
def test_a_duration_is_a_number_with_a_unit_or_seconds(written, meant_s):
    assert seconds(written) == meant_s


@pytest.mark.parametrize(
    "written",
    ["", "15", "15 minutes", "m", "-1s", "1w", "1h ", "1e3s", "٣s", "9999d", -1, True, None, [1]],
)
def test_anything_else_is_refused_with_what_would_do(written):
    with pytest.raises(ValueError, match=r'is no duration: write seconds, or .* "15m"'):
        seconds(written)


@pytest.mark.parametrize("written", [float("nan"), float("inf")])
def test_a_duration_without_end_is_none(written):
    with pytest.raises(ValueError, match="is no duration"):
        seconds(written)


@given(st.integers(0, 366 * 86_400))
def test_words_say_what_was_read(whole_s):
    assert seconds(in_words(whole_s)) == whole_s


def test_a_field_takes_lists_ranges_steps_and_names():
    read = cron("*/20 8-12/2,23 1,15 jan-mar,12 *")

    assert read.minutes == (0, 20, 40)
    assert read.hours == (8, 10, 12, 23)
    assert read.days == (1, 15)
    assert read.months == (1, 2, 3, 12)
    assert read.weekdays == (0, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("sunday", ["0", "7", "sun", "SUN", "0-0", "*/7"])
def test_sunday_is_0_and_7(sunday):
    assert cron(f"0 0 * * {sunday}").weekdays == (0,)


@pytest.mark.parametrize("weekend", ["sat-sun", "6-7", "6-0", "0,6"])
def test_a_week_may_end_with_its_sunday(weekend):
    assert cron(f"0 0 * * {weekend}").weekdays == (0, 6)


def test_an_open_step_goes_on_to_the_fields_end():
    assert cron("50/4 * * * *").minutes == (50, 54, 58)


@pytest.mark.parametrize(
    ("line", "either"),
    [("0 0 13 * fri", True), ("0 0 */2 * fri", False), ("0 0 13 * *", False)],
)
def test_of_a_day_and_a_weekday_either_will_do(line, either):
    assert cron(line).either_day is either


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("* * * *", r"has 4 fields, and cron has five: minute, hour, day of the month"),
        ("* * * * * *", "has 6 fields"),
        ("", "has 0 fields"),
        ("@daily", "has 1 fields"),
        ("60 * * * *", r"minute: 60 is not within 0 to 59"),
        ("* 24 * * *", r"hour: 24 is not within 0 to 23"),
        ("* * 0 * *", r"day of the month: 0 is not within 1 to 31"),
        ("* * * 13 *", r"month: 13 is not within 1 to 12"),
        ("* * * * 8", r"weekday: 8 is not within 0 to 7"),
        ("* * * * monday", r"weekday: 'monday' is no value of it"),
        ("a * * * *", r"minute: 'a' is no value of it"),
        ("5-3 * * * *", r"'5-3' runs backwards; write two ranges"),
        ("*/0 * * * *", r"'\*/0' has no step of 1 or more"),
        ("*/ * * * *", r"'\*/' has no step"),
        ("1, * * * *", r"minute: '' is no value of it"),
        ("-1 * * * *", r"minute: '' is no value of it"),
        ("0 0 31 2,4 *", "no year has such a day"),
    ],
)
def test_a_line_that_cron_would_not_take_is_refused_with_its_place(line, said):
    with pytest.raises(ValueError, match=said):
        cron(line)


def test_the_29th_of_february_comes():
    assert cron("0 0 29 2 *").days == (29,)


@given(st.text("0123456789*/-, abcdefghijklmnopqrstuvwxyz", max_size=30))
def test_any_line_is_read_or_refused(line):
    try:
        read = cron(line)
    except ValueError:
        return

    assert all((read.minutes, read.hours, read.days, read.months, read.weekdays))
