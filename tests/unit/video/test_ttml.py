"""Plain TTML as cues."""

from __future__ import annotations

import pytest

from core.errors import Malformed
from core.video.ttml import read_ttml


def tt(body: str, more: str = "") -> bytes:
    return (
        '<?xml version="1.0"?><tt xmlns="http://www.w3.org/ns/ttml" '
        f'xmlns:ttp="http://www.w3.org/ns/ttml#parameter" {more}><head/>'
        f"<body>{body}</body></tt>"
    ).encode()


def read(body: str, more: str = "") -> list[tuple[float, float, str]]:
    return [(one.start_s, one.end_s, one.text) for one in read_ttml(tt(body, more))]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("00:00:01.500", 1.5),
        ("01:00:01", 3601.0),
        ("00:00:01:15", 1.5),
        ("90m", 5400.0),
        ("1.5s", 1.5),
        ("1500ms", 1.5),
        ("45f", 1.5),
        ("3t", 3.0),
    ],
)
def test_times_come_in_every_form(written: str, seconds: float):
    assert read(f'<div><p begin="{written}" end="9000s">a</p></div>') == [(seconds, 9000.0, "a")]


def test_a_document_tells_its_own_frames_and_ticks():
    more = 'ttp:frameRate="24" ttp:frameRateMultiplier="1000 1001" ttp:tickRate="1000"'

    assert read('<div><p begin="24f" end="2500t">a</p></div>', more) == [(1.001, 2.5, "a")]


def test_times_count_from_where_the_element_around_begins():
    inner = '<p begin="1s" dur="2s">a</p><p begin="1s" end="99s">b</p>'

    assert read(f'<div begin="10s" dur="5s">{inner}</div>') == [
        (11.0, 13.0, "a"),
        (11.0, 15.0, "b"),
    ]


def test_spans_with_times_of_their_own_are_cues_of_their_own():
    inner = '<span begin="0s" end="1s">one</span><span begin="1s" end="2s">two</span>'

    assert read(f'<div><p begin="5s" end="9s">{inner}</p></div>') == [
        (5.0, 6.0, "one"),
        (6.0, 7.0, "two"),
    ]


def test_a_text_is_lines_without_the_blanks_that_lay_out_its_xml():
    inner = "\n   Mind   the <span>weir</span>,<br/>\n<br/> 2 &lt; 3 --&gt; go\n"

    assert read(f'<div><p begin="0s" end="1s">{inner}</p></div>') == [
        (0.0, 1.0, "Mind the weir,\n2 &lt; 3 --&gt; go")
    ]


@pytest.mark.parametrize(
    "told", ["", 'begin="1s"', 'begin="2s" end="1s"', 'begin="x" end="y"', 'begin="0s" end="0s"']
)
def test_what_has_no_time_to_show_is_no_cue(told: str):
    assert read(f"<div><p {told}>a</p></div>") == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"WEBVTT",
        b"<html/>",
        tt("<div>")[:-9],
        b'<?xml version="1.0" encoding="klingon"?><tt/>',
        b'<!DOCTYPE tt [<!ENTITY a "b">]><tt/>',
        tt('<div begin="0s">' * 60 + "</div>" * 60),
        tt('<div><p begin="0s" end="1s">' + "<span>" * 60 + "</span>" * 60 + "</p></div>"),
    ],
    ids=range(8),
)
def test_what_is_no_ttml_or_has_no_end_is_said_to_be_so(content: bytes):
    with pytest.raises(Malformed, match="no plain TTML"):
        list(read_ttml(content))
