"""Dates as feeds write them."""

from __future__ import annotations

import pytest

from core.sources.dates import read_date


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("Sat, 07 Mar 2026 09:05:06 GMT", "2026-03-07T09:05:06"),
        ("6 Mar 26 23:30 +0530", "2026-03-06T18:00:00"),
        ("Thu, 05 Mar 2026 08:00:00 EST", "2026-03-05T13:00:00"),
        ("Thu, 05 Mar 2026 08:00:00 CET", "2026-03-05T07:00:00"),
        ("Thu, 05 Mar 2026 08:00:00 GMT+2", "2026-03-05T06:00:00"),
        ("Thu, 05 Mar 2026 08:00:00 UTC-05:30", "2026-03-05T13:30:00"),
        ("Tue, 03 Mar 2026 00:00:00 Z", "2026-03-03T00:00:00"),
        ("Tue, 03 Mar 2026 00:00:00 -0000", "2026-03-03T00:00:00"),
        ("Tue, 3 Mar 2026 10:11", "2026-03-03T10:11:00"),
        ("Tue Mar  3 10:00:00 2026", "2026-03-03T10:00:00"),
        ("04 Mar 2026", "2026-03-04T00:00:00"),
        ("2026-03-07T23:30:00.250-05:00", "2026-03-08T04:30:00.250000"),
        ("2026-03-07t23:30:00z", "2026-03-07T23:30:00"),
        ("2026-03-07T23:30:00+0100", "2026-03-07T22:30:00"),
        ("2026-03-07 23:30", "2026-03-07T23:30:00"),
        ("2026-03-07", "2026-03-07T00:00:00"),
    ],
)
def test_a_date_is_read_in_utc(text: str, utc: str) -> None:
    found = read_date(f"  {text}\n")

    assert found is not None
    assert found.isoformat() == f"{utc}+00:00"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a date",
        "2026",
        "99999",
        "1772960706",
        "2026-13-01",
        "0000-00-00T00:00:00Z",
        "Mon, 32 Jan 2026 10:00:00 GMT",
        "Thu, 05 Mar 2026 25:00:00 GMT",
        "Sat, 7 Mar 2026 9:05 PM",
        "Sat, 7 Mar 2026 09:05:06 XYZ",
        "2026-03-04T10:11:12 EST",
        "0001-01-01T00:00:00+05:00",
        "2 Mar 2026 10:00:00 +9999",
        "1" * 10_000,
        "\ud800",
    ],
)
def test_what_names_no_certain_moment_is_no_date(text: str) -> None:
    assert read_date(text) is None
