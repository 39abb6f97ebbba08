"""What Weibo's refusals mean: never an empty page, always the source's own case."""

from __future__ import annotations

import pytest

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
from tests.support.weibo import ADAPTER, AJAX, INDEX, MOBILE, OPEN, answer, read

HTML = b"<!DOCTYPE html><html><head><title>x</title></head></html>"


def _refused(body: object, url: str, **told: object) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        read(body, url, **told)
    return caught.value


@pytest.mark.parametrize(
    ("code", "words", "error"),
    [
        (10022, "IP requests out of rate limit!", Throttled),
        ("10023", "User requests out of rate limit!", Throttled),
        (10024, "", Throttled),
        (10009, "Too many pending tasks, system is busy!", ServerTrouble),
        (10014, "Insufficient app permissions!", Forbidden),
        ("21327", "expired_token", SignedOut),
        (21301, "", SignedOut),
        ("21332", "invalid_access_token", SignedOut),
        (20003, "User does not exists!", Gone),
        (20101, "", Gone),
        # A number that an older table used for something else: the words count.
        (20003, "Permission denied", Forbidden),
        (99999, "what nobody has seen", Permanent),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 403])
def test_an_error_of_the_open_api_is_what_its_words_and_number_mean(
    code: object, words: str, error: type[HeadraceError], status: int
) -> None:
    found = _refused({"error_code": code, "error": words, "request": "/2/"}, OPEN, status=status)

    if code == 99999 and status == 403:
        error = Forbidden  # then the status is all that is known
    assert type(found) is error


def test_an_error_does_not_repeat_a_token() -> None:
    found = _refused({"error_code": 1, "error": "bad 2.00AbCdEfGhIjKlMnOpQrStUvWxYz1"}, OPEN)

    assert "AbCdEf" not in str(found)


@pytest.mark.parametrize("url", [INDEX, MOBILE, AJAX])
@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        ({"ok": -100, "url": "https://passport.weibo.com/x"}, SignedOut, "signed_out"),
        ({"ok": "-100"}, SignedOut, "signed_out"),
        ({"ok": -2, "msg": "x"}, SignedOut, "signed_out"),
        ({"ok": 0, "errno": "100005", "msg": "请求需要登录"}, SignedOut, "signed_out"),
        ({"ok": 0, "msg": "请先登录"}, SignedOut, "signed_out"),
        ({"ok": 0, "url": "https://m.weibo.cn/c/verify?x=1", "msg": ""}, SignedOut, "challenge"),
        ({"ok": 1, "url": "https://m.weibo.cn/c/verify?x=1"}, SignedOut, "challenge"),
        ({"url": "https://passport.weibo.com/visitor"}, SignedOut, "signed_out"),
        ({"ok": 0, "msg": "请求过于频繁，歇歇吧"}, Throttled, "throttled"),
        ({"ok": 0, "msg": "请求过于频繁", "data": {"cards": []}}, Throttled, "throttled"),
        ({"ok": 0, "msg": "words that nobody knows"}, Throttled, "throttled"),
        ({"ok": 0, "msg": "服务开小差", "data": {"cards": []}}, Throttled, "throttled"),
        ({"ok": 0, "msg": "服务开小差", "data": {"list": []}}, Throttled, "throttled"),
        ({"ok": 0, "message": "busy", "data": {"list": []}}, Throttled, "throttled"),
        ({"ok": 0, "msg": "暂无法访问", "data": {"cards": []}}, Forbidden, "permission"),
        ({"ok": 1, "msg": "请求过于频繁", "data": {"list": []}}, Throttled, "throttled"),
        ({"msg": "服务开小差", "data": {"list": []}}, Throttled, "throttled"),
        ({"ok": 0, "error_code": 10001, "data": {"list": []}}, ServerTrouble, "server_trouble"),
        ({"ok": 0, "msg": "该账号已注销"}, Gone, "gone_or_forbidden"),
        ({"ok": 0, "msg": "用户设置了隐私"}, Forbidden, "permission"),
        ({"ok": 0, "msg": "微博不存在，请稍后再试"}, Gone, "gone_or_forbidden"),
        ({"ok": 0}, Throttled, "throttled"),
        ({"ok": 0, "msg": "用户不存在"}, Gone, "gone_or_forbidden"),
        ({"ok": 0, "msg": "暂无查看权限"}, Forbidden, "permission"),
        ({"ok": 0, "error_code": 20101}, Gone, "gone_or_forbidden"),
    ],
)
def test_a_web_interfaces_refusal_is_what_it_means(
    url: str, body: object, error: type[HeadraceError], reason: str
) -> None:
    found = _refused(body, url)

    assert type(found) is error
    assert found.reason == reason


@pytest.mark.parametrize("url", [MOBILE, AJAX])
@pytest.mark.parametrize(
    ("status", "error"),
    [(418, Throttled), (432, Throttled), (403, SignedOut), (404, Gone), (400, Permanent)],
)
@pytest.mark.parametrize("body", [b"", HTML, {}])
def test_a_status_that_says_it_all_needs_no_body(
    url: str, status: int, error: type[HeadraceError], body: object
) -> None:
    found = _refused(body, url, status=status)

    assert type(found) is error
    assert found.http_status == status


@pytest.mark.parametrize("url", [OPEN, INDEX, MOBILE, AJAX])
@pytest.mark.parametrize("words", ["", "隐私政策", "微博不存在", "暂无查看权限", "违规举报"])
def test_a_page_for_people_instead_of_a_list_is_a_lost_login(url: str, words: str) -> None:
    assert type(_refused(HTML + words.encode(), url)) is SignedOut


def test_an_empty_list_under_a_refusing_status_is_no_end() -> None:
    found = _refused({"ok": 0, "data": {"cards": []}}, MOBILE, status=403)

    assert type(found) is SignedOut


@pytest.mark.parametrize(
    "final",
    [
        "https://passport.weibo.com/visitor/visitor?entry=miniblog",
        "https://visitor.passport.weibo.cn/visitor/visitor",
        "https://login.sina.com.cn/sso/login.php",
        "http://127.0.0.1:8123/signin",
    ],
)
@pytest.mark.parametrize("body", [HTML, {"ok": 1, "data": {"list": []}}])
def test_a_redirect_away_from_the_interface_is_a_lost_login(final: str, body: object) -> None:
    found = _refused(body, final, feed=AJAX)

    assert type(found) is SignedOut
    assert "resume" in str(found)


@pytest.mark.parametrize(
    ("body", "url"),
    [
        ({"ok": 1, "data": {}}, MOBILE),
        ({"ok": 1, "data": None}, AJAX),
        ({"ok": 1, "data": {"list": "x"}}, AJAX),
        ({"ok": 1}, MOBILE),
        ({}, OPEN),
        ({"statuses": None}, OPEN),
        ({"ok": 1, "data": {"tabsInfo": {}}}, INDEX.partition("&")[0]),
    ],
)
def test_a_success_without_a_list_is_malformed_and_no_empty_page(body: object, url: str) -> None:
    with pytest.raises(Malformed) as caught:
        ADAPTER.parse(answer(body, url))

    assert caught.value.reason == "no_items"


def test_a_cut_answer_is_called_truncated() -> None:
    with pytest.raises(Malformed) as caught:
        read(b'{"ok": 1, "data": {"list": [{"id": 5', AJAX)

    assert caught.value.reason == "truncated"


@pytest.mark.parametrize("words", ["这里还没有内容", "没有更多了", ""])
def test_the_end_of_a_list_is_no_refusal(words: str) -> None:
    page = read({"ok": 0, "msg": words, "data": {"cards": []}}, MOBILE, cursor="since_id=7")

    assert page.cursor is None
    assert page.notes == ()


def test_a_member_with_nothing_is_told() -> None:
    page = read({"ok": 0, "msg": "这里还没有内容"}, INDEX)

    assert page.posts == ()
    assert "no such member" in page.notes[0]
