"""An answer of Weibo's, or what its refusal means: told in the body, which comes with any status,
by a redirect to where one logs in, or by a status that only Weibo uses."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

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
from core.sources.adapter import PageInput
from core.sources.body import head
from core.sources.json_page import Item, child, load_json
from core.sources.values import line_of, text_of
from core.sources.weibo_address import Shape, shape_of

CHALLENGE = "challenge"
GONE = "gone_or_forbidden"

_LOGIN = -100
_LOGIN_ERRNO = "100005"
_REFUSED = frozenset([418, 432])
_LOGIN_HOST = re.compile(r"(?:.+\.)?(?:passport\..+|login\.sina\..+)")
_LONG_WORD = re.compile(r"[\w.-]{24,}")  # may be the token

# What the words say goes before what the number says: older tables give the numbers other meanings.
_OPEN_WORDS = (
    (
        "limit",
        re.compile(r"rate limit|out of .*limit|too (?:many requests|fast|frequent)", re.IGNORECASE),
    ),
    ("token", re.compile(r"token|auth(?:orize|entication) fail|expired", re.IGNORECASE)),
    ("permission", re.compile(r"permission|denied|unauthorized", re.IGNORECASE)),
    ("gone", re.compile(r"not? exist|deleted|not found", re.IGNORECASE)),
    ("passing", re.compile(r"busy|system error|unavailable|remote service", re.IGNORECASE)),
)
_OPEN_CODES = {
    **dict.fromkeys(["10022", "10023", "10024"], "limit"),
    **dict.fromkeys(["10013", "10014", "10006"], "permission"),
    **dict.fromkeys(["10001", "10002", "10003", "10009"], "passing"),
    **dict.fromkeys(["20003", "20101"], "gone"),
    **dict.fromkeys(map(str, range(21301, 21333)), "token"),
}
_WEB_WORDS = (
    ("limit", re.compile("频繁|过快|太快|繁忙|稍后|歇")),
    ("gone", re.compile("不存在|已被?删除|已被作者删除")),
    ("permission", re.compile("权限|仅粉丝可见|不可见")),
    ("login", re.compile("登录|登陆")),
)
_NOTHING_HERE = re.compile("没有内容|没有更多|没有微博|暂无")


def read_answer(page: PageInput, shape: Shape | None) -> Item:
    """The object that an answer is; an empty one where it says that the list has ended. Raises what
    a refusal in it means, and `Malformed` for a successful answer that can't be read."""
    _check_place(page, shape)
    try:
        body = load_json(page, "an answer of Weibo's")
    except Malformed as error:
        raise _unreadable(page, shape, error) from error
    if shape is Shape.OPEN:
        return _open(page, body)
    if shape is None:
        return body
    return _web(page, body)


def _check_place(page: PageInput, shape: Shape | None) -> None:
    """A redirect away from the interface ends where one logs in, or at a check for guests."""
    if shape is None or shape_of(page.url) is not None or page.url.startswith("file:"):
        return
    raise _signed_out(page, "it led there, to where one logs in, instead of answering")


def _unreadable(page: PageInput, shape: Shape | None, error: Malformed) -> HeadraceError:
    if page.status >= 400:
        return _by_status(page, shape, "its body says nothing that can be read")
    if shape is None or error.reason != "html_instead_of_feed":
        return error
    # A single post that is gone is answered so as well; then the page says it.
    meaning = _meaning(head(page).decode("utf-8", "ignore"), _WEB_WORDS)
    if meaning in ("gone", "permission"):
        return _meant(page, meaning, "a page for people says that it is gone, or not for us")
    return _signed_out(page, "a page for people came instead of data, as for guests")


def _by_status(page: PageInput, shape: Shape | None, words: str) -> HeadraceError:
    status = page.status
    said = f"{strike(page.url)}: status {status}: {words}"
    if status in _REFUSED:
        return Throttled(f"{said}; Weibo refuses so who asks too often", http_status=status)
    if status == 401 or (status == 403 and shape is not Shape.OPEN):
        return _signed_out(page, f"status {status}: {words}")
    if status == 403:
        return Forbidden(said, http_status=status)
    if status in (404, 410):
        return Gone(said, http_status=status)
    if status >= 500:
        return ServerTrouble(said, http_status=status)
    return Permanent(said, reason="client_error", http_status=status)


# --- the open API ---


def _open(page: PageInput, body: Item) -> Item:
    code, told = text_of(body.get("error_code")), line_of(body.get("error"))
    if code is None and told is None:
        if page.status >= 400:
            raise _by_status(page, Shape.OPEN, "its body names no error")
        return body
    meaning = _meaning(told or "", _OPEN_WORDS) or _OPEN_CODES.get(code or "", "")
    said = _LONG_WORD.sub("***", told or "no word why")[:200]
    raise _meant(page, meaning, f"error {code}: {said}")


def _meaning(words: str, table: tuple[tuple[str, re.Pattern[str]], ...]) -> str | None:
    return next((meaning for meaning, pattern in table if pattern.search(words)), None)


def _meant(page: PageInput, meaning: str, words: str) -> HeadraceError:
    status, said = page.status, f"{strike(page.url)}: {words}"
    if meaning in ("token", "login"):
        return _signed_out(page, words)
    known: dict[str, HeadraceError] = {
        "limit": Throttled(said, http_status=status),
        "permission": Forbidden(said, reason="permission", http_status=status),
        "gone": Gone(said, reason=GONE, http_status=status),
        "passing": ServerTrouble(said, http_status=status),
    }
    unknown = _by_status(page, Shape.OPEN, words) if status >= 400 else None
    return known.get(meaning) or unknown or Permanent(said, reason="refused_by_source")


# --- the two web interfaces ---


def _web(page: PageInput, body: Item) -> Item:
    ok = _number(body.get("ok"))
    elsewhere = text_of(body.get("url"))
    if ok == _LOGIN or text_of(body.get("errno")) == _LOGIN_ERRNO:
        raise _signed_out(page, "it asks to log in")
    if elsewhere and ok != 1 and not isinstance(body.get("data"), dict):
        raise _sent_elsewhere(page, elsewhere)
    if ok is not None and ok < 0:
        raise _signed_out(page, f"ok {ok}, which it says of sessions")
    if ok == 0 or page.status >= 400 or body.get("error_code") is not None:
        return _not_ok(page, body)
    if elsewhere and body.get("data") is None and "id" not in body:
        raise _sent_elsewhere(page, elsewhere)
    return body


def _not_ok(page: PageInput, body: Item) -> Item:
    told = line_of(body.get("msg")) or line_of(body.get("message")) or ""
    meaning = _meaning(told, _WEB_WORDS)
    if meaning is None and _has_ended(body, told):
        return {}
    if meaning is None and (code := text_of(body.get("error_code"))):
        meaning = _OPEN_CODES.get(code)
    if meaning is None and page.status >= 400 and not told:
        raise _by_status(page, Shape.AJAX, "its body names no reason")
    # What it says varies; whatever it is, it refuses, and asking on at once is no answer to that.
    raise _meant(page, meaning or "limit", f"it refuses ({told[:200] or 'no word why'})")


def _has_ended(body: Item, told: str) -> bool:
    entries = [child(body, "data", name) for name in ("cards", "list")]
    return bool(_NOTHING_HERE.search(told)) or [] in entries


def _sent_elsewhere(page: PageInput, address: str) -> SignedOut:
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        host = ""
    if _LOGIN_HOST.fullmatch(host):
        return _signed_out(page, "it asks to log in")
    words = "Weibo wants to know that a person asks: open the site in a browser with this login and"
    return SignedOut(
        f"{strike(page.url)}: {words} do what it wants ({strike(address)[:200]}), then resume",
        reason=CHALLENGE,
        http_status=page.status,
    )


def _signed_out(page: PageInput, words: str) -> SignedOut:
    return SignedOut(
        f"{strike(page.url)}: {words}; put today's cookie or token into the settings, "
        "then resume the source",
        http_status=page.status,
    )


def _number(raw: object) -> int | None:
    """Of `ok`, whether it comes as a number, as text or as true."""
    if isinstance(raw, bool):
        return int(raw)
    text = text_of(raw) or ""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None
