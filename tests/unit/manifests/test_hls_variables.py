"""EXT-X-DEFINE."""

from __future__ import annotations

import pytest

from core.errors import HeadraceError
from core.manifests import hls_variables
from tests.support.manifests import BASE, URL, media, multivariant, segments, variant

DEFINE = '#EXT-X-DEFINE:NAME="n",VALUE="v"'


def reason_of(*lines: str, url: str = URL) -> str:
    with pytest.raises(HeadraceError) as caught:
        media(*lines, url=url)
    return caught.value.reason


def test_a_variable_is_replaced_in_addresses_and_quoted_values():
    found = media(
        DEFINE,
        '#EXT-X-MAP:URI="{$n}/i.mp4"',
        '#EXT-X-KEY:METHOD=AES-128,URI="{$n}/{$n}.key"',
        *segments("{$n}.m4s"),
    ).segments[0]

    assert found.url == BASE + "v.m4s"
    assert found.init
    assert found.init.url == BASE + "v/i.mp4"
    assert found.key
    assert found.key.url == BASE + "v/v.key"


def test_a_variable_may_hold_another():
    found = media(DEFINE, '#EXT-X-DEFINE:NAME="m",VALUE="{$n}{$n}"', *segments("{$m}.ts"))

    assert found.segments[0].url == BASE + "vv.ts"


def test_a_media_playlist_imports_what_the_multivariant_one_defined():
    above = multivariant(DEFINE, *variant("{$n}.m3u8"))
    found = media('#EXT-X-DEFINE:IMPORT="n"', *segments("{$n}.ts"), variables=above.variables)

    assert above.variants[0].url == BASE + "v.m3u8"
    assert found.segments[0].url == BASE + "v.ts"


def test_what_is_not_imported_is_not_known():
    with pytest.raises(HeadraceError, match="has no value"):
        media(*segments("{$n}.ts"), variables={"n": "v"})


def test_a_query_parameter_of_the_final_address_is_decoded():
    found = media(
        '#EXT-X-DEFINE:QUERYPARAM="t"', *segments("a.ts?t={$t}"), url=URL + "?x=1&t=a%2Fb"
    )

    assert found.segments[0].url == BASE + "a.ts?t=a/b"


@pytest.mark.parametrize("query", ["", "?t", "?t=", "?t=%22", "?t=%0a", "?s=1"])
def test_a_query_parameter_without_a_value_is_refused(query: str):
    lines = ['#EXT-X-DEFINE:QUERYPARAM="t"', *segments("a.ts")]

    assert reason_of(*lines, url=URL + query) == "unknown_variable"


@pytest.mark.parametrize(
    "lines",
    [
        segments("{$n}.ts"),
        [*segments("{$n}.ts"), DEFINE],
        [DEFINE.replace('"n"', '"N"'), *segments("{$n}.ts")],
        ['#EXT-X-DEFINE:IMPORT="n"', *segments("a.ts")],
        ['#EXT-X-DEFINE:NAME="n"', *segments("a.ts")],
    ],
)
def test_a_variable_without_a_value_is_refused(lines: list[str]):
    assert reason_of(*lines) == "unknown_variable"


@pytest.mark.parametrize(
    "lines",
    [
        [DEFINE, DEFINE],
        ['#EXT-X-DEFINE:NAME="a b",VALUE="v"'],
        ['#EXT-X-DEFINE:NAME="n",IMPORT="n"'],
        ['#EXT-X-DEFINE:VALUE="v"'],
    ],
)
def test_a_define_that_can_not_be_is_refused(lines: list[str]):
    assert reason_of(*lines, *segments("a.ts")) == "bad_define"


def test_doubling_variables_can_not_fill_the_memory():
    doubling = [
        f'#EXT-X-DEFINE:NAME="v{number}",VALUE="{{$v{number - 1}}}{{$v{number - 1}}}"'
        for number in range(1, 60)
    ]

    assert reason_of('#EXT-X-DEFINE:NAME="v0",VALUE="xx"', *doubling, *segments("a.ts")) == (
        "value_too_long"
    )


def test_a_long_value_used_often_can_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hls_variables, "MAX_EXPANDED_CHARS", 10_000)
    long = f'#EXT-X-DEFINE:NAME="n",VALUE="{"x" * 4000}"'

    assert reason_of(long, *segments("{$n}", "{$n}", "{$n}")) == "manifest_too_large"
