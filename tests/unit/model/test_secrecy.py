"""Secrets by their values, wherever a source puts them back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.secrecy import Secrecy
from core.model.source import SourceTerms

TOKEN = "EAAB-token/of+mine"
QUOTED = "EAAB-token%2Fof%2Bmine"


def secrecy(**terms: dict[str, str]) -> Secrecy:
    return Secrecy.of(SourceTerms("mill", rate=1.0, burst=1, **terms))


BEARER = secrecy(secret_headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        (f"https://a.example/x?access_token={TOKEN}", "https://a.example/x"),
        (f"https://a.example/x?b=1&tk={QUOTED}&c=2", "https://a.example/x?b=1&c=2"),
        ("https://a.example/x?tk=Bearer+EAAB-token%2Fof%2Bmine", "https://a.example/x"),
        (f"https://a.example/bot{TOKEN}/f.jpg", "https://a.example/bot***/f.jpg"),
        (f"https://a.example/x?u=https%3A%2F%2Fb%3Ft%3D{QUOTED}", None),
        ("https://a.example/x?access_token=another", "https://a.example/x?access_token=another"),
    ],
)
def test_an_address_loses_a_token_by_its_value(url: str, kept: str | None) -> None:
    found = BEARER.address(url)

    assert found == kept or kept is None
    assert TOKEN not in found
    assert QUOTED not in found


def test_a_text_loses_it_and_nothing_else() -> None:
    ref = f'{{"at":"https://a.example/x?tk={TOKEN}&b=1","pick":"2#3"}}'

    assert BEARER.text(ref) == '{"at":"https://a.example/x?b=1","pick":"2#3"}'
    assert BEARER.text(f"key {TOKEN}") == "key ***"


@pytest.mark.parametrize(
    ("headers", "url", "kept"),
    [
        ({"X-Key": "12"}, "https://a.example/?page=12", "https://a.example/?page=12"),
        ({"X-Key": "hush"}, "https://a.example/?k=hush", "https://a.example/"),
        (
            {"Cookie": "uid=123456789012345678; SUB=_2A25abcdefghijkl"},
            "https://a.example/?mid=123456789012345678&s=_2A25abcdefghijkl",
            "https://a.example/?mid=123456789012345678",
        ),
    ],
    ids=["too short to tell", "a whole header", "a cookie, but no number of a person"],
)
def test_what_counts_as_a_secret(headers: dict[str, str], url: str, kept: str) -> None:
    assert secrecy(secret_headers=headers).address(url) == kept


def test_a_source_without_secrets_keeps_every_address_as_it_is() -> None:
    url = "https://user@a.example/x?a=&&b#c"

    assert secrecy().address(url) == secrecy().text(url) == url


LETTERS = st.text("abcXYZ019-_/+=%&? \"'", min_size=8, max_size=30)


@given(secret=LETTERS, before=st.text("a/?&=1", max_size=9), after=st.text("a/?&=1", max_size=9))
def test_no_secret_is_left_in_any_text(secret: str, before: str, after: str) -> None:
    known = secrecy(secret_query={"key": secret})
    found = known.text(f"https://a.example/{before}{secret}{after}")

    assert secret not in found
