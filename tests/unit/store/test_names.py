from __future__ import annotations

import pytest

from core.store.names import MAX_BYTES, component, folders, name
from tests.support.store import MEDIA, ended, got


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The wheel", "The wheel"),
        ("../../escape.bin", "_.._escape.bin"),
        ("C:\\x", "C__x"),
        ("a/../../b", "a_.._.._b"),
        ("/etc/passwd", "_etc_passwd"),
        ("nul\0byte", "nul_byte"),
        ("line\nbreak\u2028more", "line break more"),
        (".hidden", "hidden"),
        ("~root", "root"),
        ("-rf", "rf"),
        ("ends with dots. . .", "ends with dots"),
        ("exe.\u202egpj", "exe.gpj"),
        ("half\ud800surrogate", "half_surrogate"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("com1", "_com1"),
        ("console", "console"),
        ("水車", "水車"),
        ("e\u0301", "é"),
        ("a" * 300, "a" * 254),
    ],
)
def test_row_28_a_text_becomes_a_harmless_component(text, expected):
    assert component(text, "fallback") == expected


@pytest.mark.parametrize("text", [None, "", ".", "..", "...", "/", "  ", "\0", "\u200b", "___"])
def test_what_leaves_nothing_gets_the_fallback(text):
    assert component(text, "fallback") == "fallback"


def test_a_name_tells_date_title_and_id():
    assert name(got()) == f"2024-05-06_The wheel_{MEDIA[:8]}.jpg"


def test_a_name_without_date_and_title_is_what_the_address_calls_it():
    end = got(created_at=None, title=None, url="http://mill.example/a%20wheel.tar.JPG?w=1")

    assert name(end) == f"a wheel.tar_{MEDIA[:8]}.jpg"


@pytest.mark.parametrize("url", ["http://mill.example/", "http://mill.example", "", "http://x/%2F"])
def test_an_address_that_calls_it_nothing_still_tells_the_id(url):
    end = got(created_at=None, title=None, url=url)

    assert name(end).endswith(f"_{MEDIA[:8]}.jpg")
    assert "/" not in name(end)


@pytest.mark.parametrize("date", ["yesterday", "2024-13-45", "9999999999", ""])
def test_a_bad_date_is_no_date(date):
    assert name(got(created_at=date)) == f"The wheel_{MEDIA[:8]}.jpg"


def test_a_long_title_is_cut_on_a_character_and_keeps_id_and_extension():
    made = name(got(title="水" * 200))

    assert len(made.encode()) in range(MAX_BYTES - 4, MAX_BYTES + 1)
    assert made.endswith(f"水_{MEDIA[:8]}.jpg")


def test_a_strange_extension_is_left_out():
    end = got()
    file = end.file.model_copy(update={"extension": "/../x"})

    assert name(end.model_copy(update={"file": file})).endswith(MEDIA[:8])


def test_folders_are_source_author_and_year():
    assert folders(got()) == ("mill", "Ada Miller", "2024")
    assert folders(ended(author=None, created_at=None, state="dead")) == (
        "mill",
        "unknown",
        "undated",
    )
