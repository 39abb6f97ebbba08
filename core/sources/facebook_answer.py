"""A Graph API answer, or what its refusal means: by the error code in the body, which comes with
any status; by the status only where the body says nothing."""

from __future__ import annotations

import re

from core.errors import (
    Forbidden,
    Gone,
    HeadraceError,
    Malformed,
    Permanent,
    ServerTrouble,
    SignedOut,
    Throttled,
)
from core.model.addresses import strike
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.facebook_usage import rest_s
from core.sources.json_page import SOURCE_JSON_BYTES, Item, child, load_json
from core.sources.values import count_of, line_of

TOO_MUCH = "too_much_asked"  # the reason of a refusal that fewer posts or fields would not meet

# Statuses whose body says more: 400 and 500 are used for everything, limits included.
READ_ALSO = frozenset([400, 401, 403, 404, 500])

_LIMITS = frozenset([4, 17, 32, 341, 613, *range(80000, 80015)])
_TOKEN = frozenset([102, 190])
_PERMISSION = frozenset([3, 10, *range(200, 300)])
_NO_OBJECT = frozenset([(100, 33), (803, None)])
_PASSING = frozenset([1, 2])
_POLICY_BLOCK = 368
_TOKEN_STATES = {
    458: "the app is no longer installed",
    459: "Facebook wants its owner to log in there first",
    460: "the password was changed",
    463: "it has expired",
    464: "its owner's account is not confirmed",
    467: "it is no longer valid",
    492: "its owner no longer has a role on the page",
}
_LIKE_A_TOKEN = re.compile(r"[\w|.-]{32,}")  # some messages repeat the token


def graph_request(url: str) -> Request:
    """How the API is asked."""
    return Request(url, headers={"Accept": "application/json"}, read_also=READ_ALSO)


def read_answer(page: PageInput, what: str) -> Item:
    """The object that an answer is. Raises what a refusal in it means, whatever its status; and
    `Malformed` for a successful answer that can't be read."""
    try:
        body = load_json(page, what, max_bytes=SOURCE_JSON_BYTES)
    except Malformed as error:
        if page.status < 400:
            raise
        raise _by_status(page, "its body says nothing that can be read") from error
    if body.get("error") is not None:
        raise _refusal(page, body["error"])
    if page.status >= 400:
        raise _by_status(page, "its body names no error")
    return body


def _refusal(page: PageInput, fault: object) -> HeadraceError:
    code, subcode = (count_of(child(fault, name)) for name in ("code", "error_subcode"))
    status = page.status
    if code in _LIMITS:
        words = _words(page, fault, "its limit is reached")
        return Throttled(words, delay_s=rest_s(page.headers), http_status=status)
    if code in _TOKEN or code == _POLICY_BLOCK:
        return _signed_out(page, code, subcode)
    if code in _PERMISSION:
        words = _words(page, fault, "the token lacks a permission for this")
        return Forbidden(words, reason="permission", http_status=status)
    if (code, subcode) in _NO_OBJECT:
        words = _words(page, fault, "there is no such object, or not for this token")
        return Gone(words, reason="gone_or_forbidden", http_status=status)
    if code in _PASSING or child(fault, "is_transient") is True:
        return _passing(page, fault, code)
    return _by_status(page, _words(page, fault, "it refuses"))


def _signed_out(page: PageInput, code: int | None, subcode: int | None) -> SignedOut:
    """Facebook's own words are left out: they may repeat the token."""
    named = f"{_shown(page)}: error {code}" + (f"/{subcode}" if subcode else "")
    if code == _POLICY_BLOCK:
        words = (
            f"{named}: blocked by Facebook's policies; look there for what it wants, then resume"
        )
        return SignedOut(words, reason="policy_block", http_status=page.status)
    state = _TOKEN_STATES.get(subcode or 0, "the token is not taken")
    words = f"{named}: {state}; put a new token into the settings, then resume the source"
    return SignedOut(words, http_status=page.status)


def _passing(page: PageInput, fault: object, code: int | None) -> ServerTrouble:
    too_much = code == 1 and "reduce the amount" in (_message(fault) or "").lower()
    words = _words(page, fault, "more was asked for than it gives" if too_much else "it failed")
    return ServerTrouble(words, reason=TOO_MUCH if too_much else None, http_status=page.status)


def _by_status(page: PageInput, words: str) -> HeadraceError:
    """As the fetcher reads statuses of answers without a body of interest."""
    status = page.status
    said = f"{_shown(page)}: status {status}: {words}"
    if status in (401, 403):
        return Forbidden(said, http_status=status)
    if status in (404, 410):
        return Gone(said, http_status=status)
    if status >= 500:
        return ServerTrouble(said, http_status=status)
    return Permanent(said, reason="client_error", http_status=status)


def _words(page: PageInput, fault: object, meaning: str) -> str:
    code, subcode = (count_of(child(fault, name)) for name in ("code", "error_subcode"))
    named = f"error {code}" + (f"/{subcode}" if subcode else "") if code else "an error"
    return f"{_shown(page)}: {named}: {meaning} ({_message(fault) or 'no word why'})"


def _shown(page: PageInput) -> str:
    """The node or edge: the fields that are asked of it would fill the message."""
    return strike(page.url).partition("?")[0]


def _message(fault: object) -> str | None:
    told = line_of(child(fault, "message")) or line_of(fault)
    return _LIKE_A_TOKEN.sub("***", told)[:200] if told else None
