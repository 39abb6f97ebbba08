"""Keys: which holds where, and with which IV."""

from __future__ import annotations

import pytest

from core.errors import AddressRefused, HeadraceError, Unsupported
from core.model.plan import KeyRef
from tests.support.manifests import BASE, media, segments

KEY = '#EXT-X-KEY:METHOD=AES-128,URI="k.key"'
WITH_IV = KEY + ",IV=0x0A"
FOREIGN = '#EXT-X-KEY:METHOD=AES-128,URI="skd://x",KEYFORMAT="com.example.drm"'
SAMPLE = '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k.key"'


def iv(number: int) -> str:
    return f"{number:032x}"


def keys(*lines: str) -> list[KeyRef | None]:
    return [segment.key for segment in media(*lines).segments]


def reason_of(*lines: str) -> str:
    with pytest.raises(HeadraceError) as caught:
        media(*lines)
    return caught.value.reason


def test_without_an_iv_the_media_sequence_number_is_it():
    found = keys("#EXT-X-MEDIA-SEQUENCE:7", KEY, *segments("a.ts", "b.ts", "c.ts", "d.ts"))

    assert [key.iv for key in found if key] == [iv(7), iv(8), iv(9), iv(10)]


def test_a_gap_counts_for_the_iv():
    found = keys(KEY, *segments("a.ts"), "#EXT-X-GAP", *segments("b.ts", "c.ts"))

    assert found[2] == KeyRef(url=BASE + "k.key", iv=iv(2))


@pytest.mark.parametrize("written", ["0x0A", "0X0a", "0x" + "0" * 31 + "A"])
def test_an_iv_is_padded_on_the_left_and_the_same_for_every_segment(written: str):
    found = keys(f"{KEY},IV={written}", *segments("a.ts", "b.ts"))

    assert [key.iv for key in found if key] == [iv(10), iv(10)]


def test_the_same_key_with_a_new_iv_is_a_change():
    found = keys(f"{KEY},IV=0x01", *segments("a.ts"), f"{KEY},IV=0x02", *segments("b.ts"))

    assert [key.iv for key in found if key] == [iv(1), iv(2)]


def test_keys_rotate_and_end():
    other = KEY.replace("k.key", "k2.key")
    found = keys(
        KEY,
        *segments("a.ts"),
        other,
        *segments("b.ts"),
        "#EXT-X-KEY:METHOD=NONE",
        *segments("c.ts"),
    )

    assert [key and key.url for key in found] == [BASE + "k.key", BASE + "k2.key", None]


def test_a_key_outlasts_a_discontinuity():
    found = keys(WITH_IV, *segments("a.ts"), "#EXT-X-DISCONTINUITY", *segments("b.ts"))

    assert found[0] == found[1]


def test_a_map_has_the_key_that_held_at_its_own_tag():
    found = media('#EXT-X-MAP:URI="i.mp4"', WITH_IV, *segments("a.m4s")).segments[0]

    assert found.init
    assert found.init.key is None
    assert found.key == KeyRef(url=BASE + "k.key", iv=iv(10))


@pytest.mark.parametrize("tag", [SAMPLE, FOREIGN, SAMPLE.replace("SAMPLE-AES", "SAMPLE-AES-CTR")])
def test_what_we_can_not_decrypt_is_refused_by_name(tag: str):
    with pytest.raises(Unsupported) as caught:
        media(tag, *segments("a.ts"))

    assert caught.value.reason == "drm_unsupported"


def test_a_map_that_we_can_not_decrypt_is_refused():
    assert reason_of(
        SAMPLE, '#EXT-X-MAP:URI="i.mp4"', "#EXT-X-KEY:METHOD=NONE", *segments("a")
    ) == ("drm_unsupported")


def test_one_of_several_key_formats_is_enough_when_it_is_ours():
    found = keys(FOREIGN, KEY, *segments("a.ts"))

    assert found[0] == KeyRef(url=BASE + "k.key", iv=iv(0))


def test_a_key_that_no_segment_needs_refuses_nothing():
    found = keys(*segments("a.ts"), SAMPLE, "#EXT-X-GAP", *segments("b.ts"))

    assert found == [None, None]


def test_identity_by_name_is_ours():
    assert keys(f'{KEY},KEYFORMAT="identity",KEYFORMATVERSIONS="1"', *segments("a.ts"))[0]


@pytest.mark.parametrize(
    "tag",
    [
        "#EXT-X-KEY:",
        '#EXT-X-KEY:URI="k.key"',
        "#EXT-X-KEY:METHOD=AES-128",
        f"{KEY},IV=0A",
        f"{KEY},IV=0x",
        f"{KEY},IV=0x{'0' * 33}",
        f"{KEY},IV=0xg",
    ],
)
def test_a_key_that_can_not_be_is_malformed(tag: str):
    assert reason_of(tag, *segments("a.ts")) == "bad_key"


def test_a_key_is_asked_for_over_http_only():
    with pytest.raises(AddressRefused):
        media(KEY.replace("k.key", "file:///etc/shadow"), *segments("a.ts"))


@pytest.mark.parametrize(
    "tag",
    [
        "#EXT-X-KEY:METHOD",
        '#EXT-X-KEY:METHOD=AES-128,URI="k',
        "#EXT-X-KEY:=x",
        '#EXT-X-KEY:A=b c=d"e"',
    ],
)
def test_a_damaged_attribute_list_is_malformed(tag: str):
    assert reason_of(tag, *segments("a.ts")) == "bad_attributes"


def test_commas_and_equals_signs_in_quotes_belong_to_the_value():
    found = keys('#EXT-X-KEY:METHOD=AES-128, URI="k?n=1,2&m=3" ,IV=0x1,', *segments("a.ts"))

    assert found[0] == KeyRef(url=BASE + "k?n=1,2&m=3", iv=iv(1))
