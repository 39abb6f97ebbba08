"""What the Graph API's refusals mean, by code, whatever their status."""

from __future__ import annotations

import pytest

from core import errors
from core.errors import HeadraceError
from core.sources.facebook import FacebookAdapter
from core.sources.facebook_answer import read_answer
from tests.support.graph import API, PAGE, answer, refused


def _error(body: object, status: int = 400, **headers: str) -> HeadraceError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with pytest.raises(HeadraceError) as caught:
        read_answer(answer(body, status=status, headers=named), "posts")
    return caught.value


@pytest.mark.parametrize("status", [200, 400, 403, 500])
@pytest.mark.parametrize("code", [4, 17, 32, 341, 613, 80000, 80001, 80014])
def test_a_limit_is_throttled_with_any_status(code: int, status: int) -> None:
    error = _error(refused(code), status)

    assert isinstance(error, errors.Throttled)
    assert error.delay_s is None


@pytest.mark.parametrize(("code", "subcode"), [(190, 463), (190, None), (102, 467)])
def test_a_dead_token_signs_the_source_out(code: int, subcode: int | None) -> None:
    error = _error(refused(code, subcode))

    assert isinstance(error, errors.SignedOut)
    assert "new token" in str(error)


def test_the_message_of_a_token_error_is_not_repeated_for_it_may_hold_the_token() -> None:
    token = "EAAB" + "x" * 60

    assert token not in str(_error(refused(190, message=f"Malformed access token {token}")))
    assert token not in str(_error(refused(2, message=f"odd: {token}"), 500))


def test_a_policy_block_stops_the_source_with_its_own_reason() -> None:
    error = _error(refused(368))

    assert isinstance(error, errors.SignedOut)
    assert error.reason == "policy_block"


@pytest.mark.parametrize("code", [3, 10, 200, 299])
def test_a_missing_permission_is_forbidden(code: int) -> None:
    error = _error(refused(code), 403)

    assert isinstance(error, errors.Forbidden)
    assert error.reason == "permission"


@pytest.mark.parametrize(("code", "subcode"), [(100, 33), (803, None)])
def test_no_such_object_is_gone(code: int, subcode: int | None) -> None:
    assert isinstance(_error(refused(code, subcode)), errors.Gone)


@pytest.mark.parametrize("code", [1, 2])
def test_trouble_over_there_is_tried_again(code: int) -> None:
    assert isinstance(_error(refused(code), 400), errors.ServerTrouble)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, errors.Permanent),
        (400, errors.Permanent),
        (403, errors.Forbidden),
        (404, errors.Gone),
        (500, errors.ServerTrouble),
    ],
)
@pytest.mark.parametrize("fault", ["text", 7, [], {"code": "x"}, {"code": 9999}, {"code": [4]}])
def test_an_unknown_code_means_what_its_status_does(
    fault: object, status: int, kind: type[HeadraceError]
) -> None:
    assert type(_error({"error": fault}, status)) is kind


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"err', {"data": []}, []])
def test_a_body_that_says_nothing_leaves_the_status(body: object) -> None:
    assert type(_error(body, 500)) is errors.ServerTrouble
    assert type(_error(body, 403)) is errors.Forbidden


def test_a_single_post_that_is_too_much_is_trouble_and_no_loop() -> None:
    body = refused(1, message="Please reduce the amount of data you're asking for")
    url = f"{API}/{PAGE}/posts?limit=1"

    with pytest.raises(errors.ServerTrouble):
        FacebookAdapter().parse(answer(body, url=url, status=500))
