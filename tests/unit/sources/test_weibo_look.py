"""The second look at a post, and new addresses for its media."""

from __future__ import annotations

import pytest

from core.errors import (
    Forbidden,
    Gone,
    Malformed,
    ServerTrouble,
    SignedOut,
    Throttled,
    Timeout,
    Truncated,
)
from core.sources.adapter import PageInput
from core.sources.weibo_address import Shape
from core.sources.weibo_ref import Ref
from tests.support.weibo import (
    ADAPTER,
    SIGNED,
    Site,
    ajax,
    always,
    answer,
    info,
    mobile,
    pic,
    timeline,
)

SHOW = "https://m.weibosite.test/statuses/show?id=Lm5"


def _listed(shown: int, announced: int = 18, **told: object) -> dict[str, object]:
    pics = [pic(f"p{number}") for number in range(shown)]
    return {"id": "1", "bid": "Lm5", "pic_num": announced, "pics": pics} | told


def _whole(count: int, **told: object) -> dict[str, object]:
    return {"ok": 1, "data": _listed(count, **told)}


def test_row_3_more_pictures_than_the_list_shows_are_looked_for() -> None:
    site = always(_whole(18))
    page = ADAPTER.complete(mobile(_listed(9)), site)

    assert [request.url for request in site.asked] == [SHOW]
    assert len(page.posts[0].media) == 18
    assert page.posts[0].notes == ()
    assert page.skipped == ()


def test_row_3_a_post_that_stays_short_is_called_incomplete() -> None:
    page = ADAPTER.complete(mobile(_listed(9)), always(_whole(9)))

    assert len(page.posts[0].media) == 9
    assert page.posts[0].announced == 18
    assert page.posts[0].notes == ("incomplete: 9 of 18",)
    assert [one.model_dump() for one in page.skipped] == [
        {"where": "1", "reason": "incomplete: 9 of 18"}
    ]


def test_row_3_what_the_second_look_adds_is_kept_even_if_more_is_missing() -> None:
    page = ADAPTER.complete(mobile(_listed(9)), always(_whole(12)))

    assert len(page.posts[0].media) == 12
    assert page.posts[0].notes == ("incomplete: 12 of 18",)


def test_row_3_the_desktop_asks_its_own_interface() -> None:
    infos = {name: info(name) for name in "ab"}
    site = always({"ok": 1, "id": 1, "pic_num": 2, "pic_ids": ["a", "b"], "pic_infos": infos})
    post = {"id": 1, "mblogid": "Rz", "pic_num": 2, "pic_ids": ["a", "b"], "pic_infos": {}}

    page = ADAPTER.complete(ajax(post), site)

    assert [request.url for request in site.asked] == [
        "https://weibosite.test/ajax/statuses/show?id=Rz"
    ]
    assert [media.key for media in page.posts[0].media] == ["a", "b"]
    assert page.skipped == ()


def test_row_3_the_open_api_can_only_say_that_some_are_missing() -> None:
    page = timeline({"id": 1, "pic_num": 2, "original_pic": "https://w.test/large/a.jpg"})
    site = always({})

    assert ADAPTER.complete(page, site) == page
    assert site.asked == []
    assert page.posts[0].notes == ("incomplete: 1 of 2",)


MORE = '… <a href="/status/Lm5">全文</a>'
CUT = {"id": "1", "bid": "Lm5", "isLongText": True, "text": "Begin" + MORE}
CUT_NOTE = "its text is cut off; the whole stands on its own page"


def test_a_text_that_the_mobile_list_cuts_is_told_whole_by_its_own_page() -> None:
    site = always({"ok": 1, "data": CUT | {"text": "Begin<br />and end"}})
    page = ADAPTER.complete(mobile(CUT), site)

    assert [request.url for request in site.asked] == [SHOW]
    assert page.posts[0].text == "Begin\nand end"
    assert page.posts[0].notes == ()


def test_a_text_that_the_desktop_list_cuts_is_asked_for_as_a_long_one() -> None:
    post = {"id": 1, "mblogid": "Rz", "isLongText": True, "text_raw": "Begin…"}
    whole = post | {"ok": 1, "longText": {"content": "Begin and end"}}
    site = always(whole)

    page = ADAPTER.complete(ajax(post), site)

    assert [request.url for request in site.asked] == [
        "https://weibosite.test/ajax/statuses/show?id=Rz&isGetLongText=true"
    ]
    assert (page.posts[0].text, page.posts[0].notes) == ("Begin and end", ())


def test_one_look_brings_the_rest_of_the_text_and_of_the_pictures() -> None:
    site = always(_whole(18, isLongText=True, text="Begin and end"))
    page = ADAPTER.complete(mobile(_listed(9, isLongText=True, text="Begin" + MORE)), site)

    assert len(site.asked) == 1
    assert len(page.posts[0].media) == 18
    assert page.posts[0].text == "Begin and end"


def test_a_text_whose_own_page_cuts_it_too_keeps_its_note() -> None:
    page = ADAPTER.complete(mobile(CUT), always({"ok": 1, "data": CUT}))

    assert page.posts[0].text == "Begin… 全文"
    assert page.posts[0].notes == (CUT_NOTE,)


def test_a_text_that_cant_be_had_whole_is_kept_with_the_reason() -> None:
    def refuse(_: int, __: object) -> object:
        raise Gone("x")

    listed = mobile(CUT)
    page = ADAPTER.complete(listed, Site(refuse))

    assert page.posts[0].text == "Begin… 全文"
    assert page.posts[0].notes == (
        CUT_NOTE,
        "the rest of its text can't be had (its own page: gone)",
    )
    assert page.skipped == listed.skipped


def test_another_post_at_the_address_changes_nothing() -> None:
    other = {"ok": 1, "data": CUT | {"id": "2", "text": "Another"}}
    page = mobile(CUT)

    assert ADAPTER.complete(page, always(other)).posts == page.posts


def test_the_open_api_can_only_say_that_a_text_is_cut() -> None:
    site = always({})
    page = ADAPTER.complete(timeline({"id": 1, "text": "Begin…", "truncated": True}), site)

    assert site.asked == []
    assert page.posts[0].notes == ("its text is cut off; the open API gives no more of it",)


@pytest.mark.parametrize(
    "post",
    [
        _listed(9, 9),
        {"id": "1", "pics": [pic("a", type="livephoto", videoSrc=SIGNED)], "pic_num": 1},
        {"id": "1", "pic_num": 0},
    ],
)
def test_a_post_that_is_whole_is_not_asked_for(post: object) -> None:
    site = always({})
    ADAPTER.complete(mobile(post), site)

    assert site.asked == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Gone("x"), "gone"),
        (Forbidden("x"), "forbidden"),
        (ServerTrouble("x"), "server_trouble"),
        (Malformed("x"), "malformed"),
    ],
)
def test_a_post_that_cant_be_had_stays_with_a_note(error: Exception, reason: str) -> None:
    page = ADAPTER.complete(mobile(_listed(9), {"id": "2"}), always(error))

    assert [post.key for post in page.posts] == ["1", "2"]
    assert len(page.posts[0].media) == 9
    assert page.posts[0].notes == (f"incomplete: 9 of 18 (its own page: {reason})",)


def test_what_may_pass_is_asked_for_twice() -> None:
    site = Site(lambda number, _: ServerTrouble("x") if number == 1 else _whole(18))

    page = ADAPTER.complete(mobile(_listed(9)), site)

    assert len(page.posts[0].media) == 18


@pytest.mark.parametrize(
    "error", [Throttled("x"), SignedOut("x"), Timeout("x")], ids=lambda error: type(error).__name__
)
def test_what_concerns_the_source_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        ADAPTER.complete(mobile(_listed(9)), always(error))


HTML = "<!DOCTYPE html><html><body>{}</body></html>"


@pytest.mark.parametrize(
    ("answered", "reason"),
    [
        ({"ok": 0, "msg": "words that nobody knows"}, "gone_or_forbidden"),
        ({"ok": 0}, "gone_or_forbidden"),
        ({"ok": 0, "msg": "请先登录"}, "gone_or_forbidden"),
        ({"ok": -2}, "gone_or_forbidden"),
        ({"ok": 0, "msg": "该微博因违规已无法查看"}, "gone_or_forbidden"),
        ({"ok": 0, "msg": "请登录客户端查看"}, "permission"),
        ({"ok": 0, "msg": "由于作者隐私设置，你没有查看"}, "permission"),
        ({"ok": 0, "url": "https://m.weibosite.test/sorry"}, "gone_or_forbidden"),
        (HTML.format("x").encode(), "gone_or_forbidden"),
        (HTML.format("无法访问").encode(), "permission"),
        (answer(b"", SHOW, status=403), "forbidden"),
        (answer({"ok": 0, "msg": "x"}, SHOW, status=403), "gone_or_forbidden"),
        (answer({"ok": 0, "msg": "x"}, SHOW, status=400), "gone_or_forbidden"),
        (answer(b"", SHOW, status=404), "gone"),
        (answer(HTML.format("x").encode(), "https://m.weibosite.test/"), "gone_or_forbidden"),
        (answer(b'{"ok": 1, "da', SHOW), "truncated"),
        (answer(b"", SHOW), "empty"),
    ],
)
def test_a_refusal_that_may_be_the_posts_own_costs_its_post_a_note(
    answered: object, reason: str
) -> None:
    def reply(_number: int, _request: object) -> object:
        if isinstance(answered, PageInput):
            answered.stream.seek(0)
        return answered

    page = ADAPTER.complete(mobile(_listed(9), {"id": "2"}), Site(reply))

    assert [post.key for post in page.posts] == ["1", "2"]
    assert page.posts[0].notes == (f"incomplete: 9 of 18 (its own page: {reason})",)


@pytest.mark.parametrize(
    ("answered", "error"),
    [
        ({"ok": 0, "msg": "请求过于频繁"}, Throttled),
        ({"ok": 0, "msg": "系统繁忙"}, Throttled),
        ({"ok": -100}, SignedOut),
        ({"ok": 0, "errno": "100005"}, SignedOut),
        ({"ok": 0, "url": "https://passport.weibo.com/x"}, SignedOut),
        ({"ok": 0, "url": "https://m.weibosite.test/c/verify?x=1"}, SignedOut),
        (HTML.format("操作过于频繁").encode(), Throttled),
        (answer(b"", SHOW, status=418), Throttled),
        (answer({"ok": 0, "msg": "x"}, SHOW, status=432), Throttled),
        (answer(b"", "https://passport.weibo.com/visitor/visitor"), SignedOut),
        (answer(b"", "https://weibo.com/login.php"), SignedOut),
    ],
)
def test_what_is_known_to_concern_the_source_is_raised(
    answered: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ADAPTER.complete(mobile(_listed(9)), always(answered))


def test_trouble_that_every_look_of_several_meets_is_the_sources() -> None:
    posts = [_listed(9, id=str(number), bid=f"Lm{number}") for number in range(3)]

    with pytest.raises(ServerTrouble):
        ADAPTER.complete(mobile(*posts), always(ServerTrouble("x")))


def test_a_refusal_in_the_second_looks_body_is_raised_as_what_it_means() -> None:
    with pytest.raises(SignedOut):
        ADAPTER.complete(mobile(_listed(9)), always({"ok": -100}))


def test_a_page_for_people_that_says_the_post_is_gone_is_no_lost_login() -> None:
    html = "<!DOCTYPE html><html><body>微博不存在或暂无查看权限</body></html>".encode()

    page = ADAPTER.complete(mobile(_listed(9)), always(html))

    assert "gone_or_forbidden" in page.posts[0].notes[0]


def test_another_post_than_the_asked_one_is_not_taken_for_it() -> None:
    page = ADAPTER.complete(mobile(_listed(9)), always(_whole(18, id="2")))

    assert page.posts[0].notes == ("incomplete: 9 of 18",)


# --- addresses that die ---

REF = Ref(SHOW, Shape.MOBILE, "p1:live").text()


def test_a_video_is_named_anew_by_its_post_and_key() -> None:
    told = pic("p1", type="livephoto", videoSrc="https://l.weibovid.test/new.mov?Expires=9")
    site = always({"ok": 1, "data": {"id": "1", "pics": [pic("p0"), told]}})

    (rendition,) = ADAPTER.renew(REF, site)

    assert rendition.url == "https://l.weibovid.test/new.mov?Expires=9"
    assert [request.url for request in site.asked] == [SHOW]
    assert site.asked[0].referer == "https://m.weibo.cn/"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"ok": 1, "data": {"id": "1", "pics": [pic("p1")]}}, "gone_at_source"),
        ({"ok": 1, "data": {"id": "1", "deleted": "1"}}, "gone_or_forbidden"),
        ({"ok": 0, "msg": "微博不存在或暂无查看权限"}, "gone_or_forbidden"),
        ({"ok": 0, "msg": "words that nobody knows"}, "gone_or_forbidden"),
        (b"<!DOCTYPE html><html></html>", "gone_or_forbidden"),
    ],
)
def test_a_video_whose_post_has_it_no_more_is_gone(body: object, reason: str) -> None:
    with pytest.raises(Gone) as caught:
        ADAPTER.renew(REF, always(body))

    assert caught.value.reason == reason


def test_a_cut_answer_for_a_video_is_asked_for_again() -> None:
    with pytest.raises(Truncated):
        ADAPTER.renew(REF, always(b'{"ok": 1, "data": {"id"'))


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "x",
        "[]",
        '{"post": 5}',
        '{"post": "https://evil.example/", "pick": "a"}',
        f'{{"post": "{SHOW}"}}',
        '{"post": "https://api.weibo.com/2/statuses/user_timeline.json", "pick": 5}',
        "[" * 100_000,
    ],
)
def test_what_is_no_ref_of_ours_is_malformed_and_asks_nobody(ref: str) -> None:
    site = always({})

    with pytest.raises(Malformed) as caught:
        ADAPTER.renew(ref, site)
    assert caught.value.reason == "bad_ref"
    assert site.asked == []


@pytest.mark.parametrize(
    ("url", "dies_at"),
    [
        (SIGNED, 1781924400.0),
        ("https://f.test/a.mp4?expires=5", None),
        ("https://f.test/a.mp4?Expires=soon", None),
        ("https://f.test/a.mp4?Expires=-5", None),
        ("https://f.test/a.mp4?Expires=" + "9" * 400, None),
        ("https://f.test/a.mp4?Expires=٣", None),
        ("https://wx1.weiboimg.test/large/a.jpg", None),
        ("https://[", None),
    ],
)
def test_an_address_dies_when_its_own_mark_says(url: str, dies_at: float | None) -> None:
    assert ADAPTER.expires_at(url) == dies_at
