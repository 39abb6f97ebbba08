"""An answer of Weibo's, or what its refusal means: told in the body, which comes with any status,
by a redirect to where one logs in, or by a status that only Weibo uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
from core.sources.json_page import SOURCE_JSON_BYTES, Item, child, load_json
from core.sources.values import line_of, text_of
from core.sources.weibo_address import Shape, shape_of

CHALLENGE = "challenge"
GONE = "gone_or_forbidden"

_LOGIN = -100
_LOGIN_ERRNO = "100005"
_REFUSED = frozenset([418, 432])
_LOGIN_HOST = re.compile(r"(?:.+\.)?(?:passport\..+|login\.sina\..+)")
_LOGIN_PATH = re.compile(r"/(?:new)?(?:sso|login|signin|visitor)\b", re.IGNORECASE)
_CHALLENGE_PATH = re.compile(r"verif|captcha|challenge|geetest", re.IGNORECASE)
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
_PAGE_WORDS = (
    ("limit", re.compile("频繁|过快|太快")),
    ("gone", re.compile("不存在|已被?删除|已被作者删除|注销|违规")),
    ("permission", re.compile("权限|仅粉丝可见|不可见|无法访问|无法查看|客户端查看|隐私")),
)
# Said beside the others too: «it does not exist, try again later».
_WEB_WORDS = (
    *_PAGE_WORDS,
    ("limit", re.compile("繁忙|稍后|歇")),
    ("login", re.compile("登录|登陆")),
)
_NOTHING_HERE = re.compile("没有内容|没有更多|没有微博|暂无(?!法)")


@dataclass(frozen=True, slots=True)
class _Asked:
    """An answer, and what was asked for."""

    page: PageInput
    shape: Shape | None
    one_post: bool

    def of_the_post(self, words: str) -> Gone:
        """A refusal that says nothing of the source. Which of the two it is, nobody tells."""
        said = f"{strike(self.page.url)}: {words}"
        return Gone(said, reason=GONE, http_status=self.page.status)


def read_answer(page: PageInput, shape: Shape | None, *, one_post: bool = False) -> Item:
    """The object that an answer is; an empty one where it says that the list has ended. Raises what
    a refusal in it means, and `Malformed` for a successful answer that can't be read.

    A single post that is gone, hidden or kept for the site's app is told in more ways than anybody
    has listed: of `one_post`, all is about that post but what is known to concern the source."""
    asked = _Asked(page, shape, one_post)
    _check_place(asked)
    try:
        body = load_json(page, "an answer of Weibo's", max_bytes=SOURCE_JSON_BYTES)
    except Malformed as error:
        raise _unreadable(asked, error) from error
    if shape is Shape.OPEN:
        return _open(asked, body)
    if shape is None:
        return body
    return _web(asked, body)


def _check_place(asked: _Asked) -> None:
    """A redirect away from a list's interface ends where one logs in, or at a check for guests."""
    url = asked.page.url
    if asked.shape is None or shape_of(url) is not None or url.startswith("file:"):
        return
    if asked.one_post:
        raise _sent_elsewhere(asked, url)
    raise _signed_out(asked.page, "it led there, to where one logs in, instead of answering")


def _unreadable(asked: _Asked, error: Malformed) -> HeadraceError:
    page = asked.page
    if page.status >= 400:
        return _by_status(asked, "its body says nothing that can be read")
    if asked.shape is None or error.reason != "html_instead_of_feed":
        return error
    if not asked.one_post:  # whatever its words: every page of the site has «privacy» below
        return _signed_out(page, "a page for people came instead of data, as for guests")
    meaning = _meaning(head(page).decode("utf-8", "ignore"), _PAGE_WORDS)
    if meaning is None:
        return asked.of_the_post("a page for people came instead of the post")
    return _meant(asked, meaning, f"a page for people came instead of the post ({meaning})")


def _by_status(asked: _Asked, words: str) -> HeadraceError:
    status = asked.page.status
    said = f"{strike(asked.page.url)}: status {status}: {words}"
    if status in _REFUSED:
        return Throttled(f"{said}; Weibo refuses so who asks too often", http_status=status)
    may_be_of_one = asked.shape is Shape.OPEN or asked.one_post
    if status == 401 or (status == 403 and not may_be_of_one):
        return _signed_out(asked.page, f"status {status}: {words}")
    if status == 403:
        return Forbidden(said, http_status=status)
    if status in (404, 410):
        return Gone(said, http_status=status)
    if status >= 500:
        return ServerTrouble(said, http_status=status)
    return Permanent(said, reason="client_error", http_status=status)


# --- the open API ---


def _open(asked: _Asked, body: Item) -> Item:
    code, told = text_of(body.get("error_code")), line_of(body.get("error"))
    if code is None and told is None:
        if asked.page.status >= 400:
            raise _by_status(asked, "its body names no error")
        return body
    meaning = _meaning(told or "", _OPEN_WORDS) or _OPEN_CODES.get(code or "", "")
    said = _LONG_WORD.sub("***", told or "no word why")[:200]
    raise _meant(asked, meaning, f"error {code}: {said}")


def _meaning(words: str, table: tuple[tuple[str, re.Pattern[str]], ...]) -> str | None:
    return next((meaning for meaning, pattern in table if pattern.search(words)), None)


def _meant(asked: _Asked, meaning: str, words: str) -> HeadraceError:
    status, said = asked.page.status, f"{strike(asked.page.url)}: {words}"
    if meaning in ("token", "login"):
        return _signed_out(asked.page, words)
    known: dict[str, HeadraceError] = {
        "limit": Throttled(said, http_status=status),
        "permission": Forbidden(said, reason="permission", http_status=status),
        "gone": Gone(said, reason=GONE, http_status=status),
        "passing": ServerTrouble(said, http_status=status),
    }
    unknown = _by_status(asked, words) if status >= 400 else None
    return known.get(meaning) or unknown or Permanent(said, reason="refused_by_source")


# --- the two web interfaces ---


def _web(asked: _Asked, body: Item) -> Item:
    ok = _number(body.get("ok"))
    elsewhere = text_of(body.get("url"))
    if ok == _LOGIN or text_of(body.get("errno")) == _LOGIN_ERRNO:
        raise _signed_out(asked.page, "it asks to log in")
    if elsewhere and ok != 1 and not isinstance(body.get("data"), dict):
        raise _sent_elsewhere(asked, elsewhere)
    if ok is not None and ok < 0:
        words = f"ok {ok}, which it says of sessions"
        raise asked.of_the_post(words) if asked.one_post else _signed_out(asked.page, words)
    refuses = ok == 0 or asked.page.status >= 400 or body.get("error_code") is not None
    if refuses or _refuses_with_nothing(ok, body):
        return _not_ok(asked, body)
    if elsewhere and body.get("data") is None and "id" not in body:
        raise _sent_elsewhere(asked, elsewhere)
    return body


def _refuses_with_nothing(ok: int | None, body: Item) -> bool:
    """Whether a list came empty with words that are no list's end, though `ok` does not say 0."""
    told = _words(body)
    return bool(told) and _lists_nothing(body) and (ok is None or bool(_meaning(told, _WEB_WORDS)))


def _not_ok(asked: _Asked, body: Item) -> Item:
    told, code = _words(body), text_of(body.get("error_code"))
    meaning = _meaning(told, _WEB_WORDS)
    if meaning is None and _has_ended(asked, body, told):
        return {}
    meaning = meaning or _OPEN_CODES.get(code or "")
    status = asked.page.status
    if meaning is None and (status in _REFUSED or (status >= 400 and not told)):
        raise _by_status(asked, f"it refuses ({told[:200] or 'no word why'})")
    words = f"it refuses ({told[:200] or 'no word why'})"
    if asked.one_post and meaning in (None, "login"):
        raise asked.of_the_post(words)
    # What it says varies; whatever it is, it refuses, and asking on at once is no answer to that.
    raise _meant(asked, meaning or "limit", words)


def _words(body: Item) -> str:
    return next(filter(None, (line_of(body.get(name)) for name in ("msg", "message"))), "")


def _has_ended(asked: _Asked, body: Item, told: str) -> bool:
    """By its words. An empty list tells only where nothing else does: refusals have one."""
    if told:
        return _NOTHING_HERE.search(told) is not None
    is_plain = asked.page.status < 400 and body.get("error_code") is None
    return is_plain and _lists_nothing(body)


def _lists_nothing(body: Item) -> bool:
    return [] in [child(body, "data", name) for name in ("cards", "list")]


def _sent_elsewhere(asked: _Asked, address: str) -> HeadraceError:
    try:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    except ValueError:
        host, path = "", ""
    if _LOGIN_HOST.fullmatch(host) or _LOGIN_PATH.search(path):
        return _signed_out(asked.page, "it asks to log in")
    if asked.one_post and not _CHALLENGE_PATH.search(path):
        return asked.of_the_post(f"it leads to {strike(address)[:200]} instead of the post")
    words = "Weibo wants to know that a person asks: open the site in a browser with this login and"
    return SignedOut(
        f"{strike(asked.page.url)}: {words} do what it wants ({strike(address)[:200]}), then "
        "resume",
        reason=CHALLENGE,
        http_status=asked.page.status,
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
