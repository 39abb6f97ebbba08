from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Refused
from core.store.paths import Paths, number, plain

PATHS = Paths(Path("/store"))


def test_an_object_lies_under_its_digest():
    digest = "abcd" + "0" * 60

    assert PATHS.object(digest) == Path("/store/objects/sha256/ab/cd") / digest


def test_an_end_lies_under_its_media_and_generation():
    assert PATHS.end("abc", 3) == Path("/store/media/ab/abc.3.json")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "/etc", "a" * 101, "é", "a.b", "a\n", "C:x"],
)
def test_row_28_a_name_that_could_leave_its_folder_is_refused(name):
    with pytest.raises(Refused, match="no input decides a path"):
        plain(name)


@pytest.mark.parametrize("digest", ["", "ab", "AB" * 32, "zz" * 32, "../" + "a" * 61, "a" * 65])
def test_what_is_no_digest_names_no_object(digest):
    with pytest.raises(Refused, match="no SHA-256"):
        PATHS.object(digest)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("1.json", 1), ("000012.json", 12), ("walk.json", None), ("1.open", None), ("²", None)],
)
def test_only_numbered_files_have_a_number(name, expected):
    assert number(name, ".json") == expected
