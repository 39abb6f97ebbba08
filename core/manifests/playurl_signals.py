"""What an answer of Bilibili's API means before anything in it is read. HTTP says 200 to most
refusals, and a demand for a captcha even has code 0: nothing here is ever taken for an empty page.

Codes by what public clients make of them; 62004 («under review») and -10403 are guesses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from core.errors import (
    Forbidden,
    Gone,
    HeadraceError,
    Malformed,
    ServerTrouble,
    SignedOut,
    Throttled,
)
from core.model.addresses import strike

UNKNOWN_CODE = "unknown_code"  # the reason of a refusal that may be of one video, or of all
REFUSING = frozenset([412])  # the status that goes with code -412
ADDRESS_REFUSED_S = 6 * 3600.0  # no answer says how long; public clients wait for hours

_MAX_WORDS = 100
_RISK_PAGE = b"_riskdata_"
_CODE = re.compile(r"-?\d{1,9}")
_ADDRESS_REFUSED = -412
_RISK_CONTROL = -352


def _signed_out(said: str) -> HeadraceError:
    return SignedOut(f"{said}: not signed in; renew the source's cookie (SESSDATA)")


def _too_often(said: str) -> HeadraceError:
    return Throttled(f"{said}: too frequent; will ask again later")


def _overload(said: str) -> HeadraceError:
    return ServerTrouble(said)


def _no_permission(said: str) -> HeadraceError:
    return Forbidden(f"{said}: this account may not see it", reason="permission")


def _under_review(said: str) -> HeadraceError:
    return Forbidden(f"{said}: under review; a later crawl may find it", reason="under_review")


def _gone(said: str) -> HeadraceError:
    return Gone(f"{said}: it is gone")


_MEANINGS: dict[int, Callable[[str], HeadraceError]] = {
    -101: _signed_out,
    -401: _signed_out,
    -509: _too_often,
    -799: _too_often,
    -500: _overload,
    -502: _overload,
    -503: _overload,
    -504: _overload,
    -403: _no_permission,
    -10403: _no_permission,
    62012: _no_permission,
    62004: _under_review,
    -404: _gone,
    62002: _gone,
}


def data_of(answer: Mapping[str, object], url: str) -> Mapping[str, object]:
    """What the answer holds. Raises what its code means; `Malformed` for JSON that is no such
    answer."""
    code, told = _code(answer.get("code")), strike(url)
    if code is None:
        raise Malformed(f"{told}: its JSON is no answer of this API", reason="not_an_answer")
    if code != 0:
        raise _meaning(code, told, _words(answer.get("message")))
    data = answer.get("data", answer.get("result"))
    if not isinstance(data, dict):
        raise Malformed(f"{told}: an answer that holds nothing", reason="not_an_answer")
    if "v_voucher" in data and not any(data[name] for name in data if name != "v_voucher"):
        raise challenged(url, "it asks for a captcha (v_voucher) under code 0")
    return data


def refuse_risk_page(head: bytes, url: str) -> None:
    """Raise for a page by which the site asks who is there."""
    if _RISK_PAGE in head:
        raise challenged(url, "a risk-control page came instead of an answer")


def address_refused(url: str) -> Throttled:
    """The status 412, or the code -412."""
    return Throttled(
        f"{strike(url)}: the source refuses this machine's address (412); will ask again in hours",
        delay_s=ADDRESS_REFUSED_S,
        http_status=412,
    )


def challenged(url: str, what: str) -> SignedOut:
    """A person has to look: nothing here answers a challenge."""
    return SignedOut(
        f"{strike(url)}: {what}; open the site with the account of the cookie, and resume the "
        "source when it answers there",
        reason="challenge",
    )


def _meaning(code: int, told: str, words: str) -> HeadraceError:
    if code == _RISK_CONTROL:
        return challenged(told, f"risk control, code {code}")
    if code == _ADDRESS_REFUSED:
        return address_refused(told)
    said = f"{told}: code {code}" + (f" ({words})" if words else "")
    if (meaning := _MEANINGS.get(code)) is not None:
        return meaning(said)
    return ServerTrouble(f"{said}, which nobody here knows", reason=UNKNOWN_CODE)


def _code(raw: object) -> int | None:
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        return None
    text = str(raw) if isinstance(raw, str) or abs(raw) < 10**9 else ""
    return int(text) if _CODE.fullmatch(text) else None


def _words(raw: object) -> str:
    """Its message on one line; some are only the code once more."""
    if not isinstance(raw, str) or _CODE.fullmatch(raw.strip()):
        return ""
    clean = raw.encode("utf-8", "replace").decode("utf-8")
    return " ".join(clean.split())[:_MAX_WORDS]
