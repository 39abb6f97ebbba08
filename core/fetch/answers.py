"""What an answer's status means: one table. Later nobody reads a status again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from core.errors import (
    Forbidden,
    Gone,
    HeadraceError,
    Permanent,
    ServerTrouble,
    SignedOut,
    Throttled,
)

RETRY_AFTER_CAP_S = 86_400.0  # whoever asks for more is asked again after a day

_GONE = frozenset([404, 410])
_FORBIDDEN = frozenset([401, 403, 451])
_PASSING = frozenset([408, 425])
_SLOWER = frozenset([420, 429])  # 420: what some sites said before 429 existed

_SECONDS = re.compile(r"-?\d+(?:\.\d+)?")


_WANTS = "does it need a Referer, a header or a secret in the settings?"
_WITHHELD = (
    "its secrets go by https only: ask it so, or name it in secret_hosts as «http://HOST», where "
    "anybody on the way may read them"
)


def error_of(
    status: int,
    headers: Mapping[str, str],
    what: str,
    now: float,
    *,
    signed_in: bool = False,
    withheld: bool = False,
) -> HeadraceError:
    """The error that an unsuccessful answer is. `what` was asked for, struck out; `now` is Unix
    time; `signed_in` when our credentials went with the request, `withheld` when they did not for
    its being http."""
    if status in _SLOWER or (status == 503 and "Retry-After" in headers):
        delay_s = retry_after_s(headers, now)
        return Throttled(
            f"{what}: status {status}, the source says slower; will ask again "
            + ("later" if delay_s is None else f"in {delay_s:.0f} s"),
            delay_s=delay_s,
            http_status=status,
        )
    if status == 401 and signed_in:
        return SignedOut(
            f"{what}: status 401, the cookie or token in the settings is not taken any more",
            http_status=status,
        )
    if status in _GONE:
        return Gone(f"{what}: status {status}, it is gone", http_status=status)
    if status in _FORBIDDEN:
        return Forbidden(
            f"{what}: status {status}, the source does not let us; "
            + (_WITHHELD if withheld else _WANTS),
            http_status=status,
        )
    if 400 <= status < 500 and status not in _PASSING:
        return Permanent(f"{what}: status {status}", reason="client_error", http_status=status)
    return ServerTrouble(f"{what}: status {status}", http_status=status)


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """How long the source asks to wait: 0 for a time past, None when it does not say or says
    nonsense; capped."""
    told = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(told):
        wait_s = float(told[:20])
    else:
        date = http_date(told)
        if date is None:
            return None
        wait_s = date - now
    return min(max(0.0, wait_s), RETRY_AFTER_CAP_S)


def http_date(text: str) -> float | None:
    """An HTTP date as Unix time; None for anything else."""
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
