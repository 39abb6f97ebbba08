from __future__ import annotations

import pytest
from requests.structures import CaseInsensitiveDict

from core.errors import (
    Forbidden,
    Gone,
    HeadraceError,
    Permanent,
    ServerTrouble,
    SignedOut,
    Throttled,
)
from core.fetch.answers import RETRY_AFTER_CAP_S, error_of, retry_after_s

NOW = 1_784_000_000.0  # Tue, 14 Jul 2026 03:33:20 GMT


def _error(status: int, **headers: str) -> HeadraceError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_of(status, CaseInsensitiveDict(named), "http://x.example/", NOW)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, Gone),
        (410, Gone),
        (401, Forbidden),
        (403, Forbidden),
        (451, Forbidden),
        (429, Throttled),
        (420, Throttled),
        (408, ServerTrouble),
        (425, ServerTrouble),
        (500, ServerTrouble),
        (502, ServerTrouble),
        (503, ServerTrouble),
        (522, ServerTrouble),
        (600, ServerTrouble),
        (304, ServerTrouble),
        (400, Permanent),
        (405, Permanent),
        (416, Permanent),
    ],
)
def test_a_status_means_one_error(status: int, kind: type[HeadraceError]) -> None:
    error = _error(status)

    assert type(error) is kind
    assert error.http_status == status
    assert "http://x.example/" in str(error)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("told", "wait_s"),
    [
        ("8", 8.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Tue, 14 Jul 2026 03:33:28 GMT", 8.0),
        ("Tuesday, 14-Jul-26 03:33:28 GMT", 8.0),
        ("Tue Jul 14 03:33:28 2026", 8.0),
        ("Tue, 14 Jul 2026 03:33:12 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("1e9", None),
        ("99999999999999999999999999", RETRY_AFTER_CAP_S),
        ("Fri, 31 Dec 9999 23:59:59 GMT", RETRY_AFTER_CAP_S),
        ("Fri, 99 Dec 2026 99:59:59 GMT", None),
    ],
)
def test_row_12_retry_after_is_read_in_every_form(
    status: int, told: str, wait_s: float | None
) -> None:
    """inputs.tsv row 12: seconds, dates, the past and garbage; also for 503."""
    error = _error(status, Retry_After=told)

    assert isinstance(error, Throttled)
    assert error.delay_s == pytest.approx(wait_s)


def test_no_retry_after_leaves_the_wait_to_the_policy() -> None:
    assert retry_after_s({}, NOW) is None


def test_a_403_asks_for_the_referer_and_is_not_called_gone() -> None:
    assert "Referer" in str(_error(403))


@pytest.mark.parametrize(("status", "kind"), [(401, SignedOut), (403, Forbidden), (404, Gone)])
def test_only_a_401_says_that_what_we_signed_in_with_is_not_taken_any_more(
    status: int, kind: type[HeadraceError]
) -> None:
    error = error_of(status, {}, "http://x.example/", NOW, signed_in=True)

    assert type(error) is kind
