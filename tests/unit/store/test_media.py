from __future__ import annotations

import json

import pytest

from core.errors import StorageDown
from core.model.end import EndState
from tests.support.store import MEDIA, dead, got, open_store


@pytest.fixture
def media(tmp_path):
    store = open_store(tmp_path / "s")
    yield store.media
    store.close()


def test_a_new_media_is_in_its_first_generation_and_has_no_end(media):
    assert media.generation(MEDIA) == 1
    assert media.ended(MEDIA, 1) is None
    assert media.newest(MEDIA) is None


def test_an_end_comes_back_as_it_was_written(media):
    end = got()
    media.end(end)

    assert media.ended(MEDIA, 1) == end


def test_the_first_end_of_a_generation_stands(media):
    assert media.end(got(b"first"))
    assert not media.end(dead())
    assert media.newest(MEDIA) == got(b"first")


def test_a_later_end_answers_for_an_earlier_generation(media):
    media.end(dead())
    media.end(got(generation=2))

    assert media.ended(MEDIA, 1) == got(generation=2)
    assert media.ended(MEDIA, 3) is None


def test_the_newest_got_counts_over_a_newer_dead(media):
    media.end(got(b"old"))
    media.end(got(b"new", generation=2))
    media.end(dead(generation=3))

    assert media.newest(MEDIA) == got(b"new", generation=2)


def test_without_a_got_the_newest_end_counts(media):
    media.end(dead())
    media.end(dead(generation=2, state=EndState.REFUSED))

    assert media.newest(MEDIA).generation == 2


def test_what_is_to_be_got_is_the_generation_that_has_no_end(media):
    assert media.open_generation(MEDIA) == 1
    media.end(dead())
    assert media.open_generation(MEDIA) is None
    media.reopen(MEDIA, 1)
    assert media.open_generation(MEDIA) == 2
    media.end(got(generation=2))
    assert media.open_generation(MEDIA) is None


def test_reopening_begins_the_next_generation(media):
    media.end(dead())

    assert media.reopen(MEDIA, 1) == 2
    assert media.generation(MEDIA) == 2
    assert media.ended(MEDIA, 2) is None


def test_reopening_twice_is_reopening_once(media):
    media.end(dead())

    assert media.reopen(MEDIA, 1) == media.reopen(MEDIA, 1) == media.reopen(MEDIA, 2) == 2


def test_an_open_media_is_not_reopened(media):
    assert media.reopen(MEDIA, 1) == 1
    assert media.reopen(MEDIA, 7) == 1


def test_an_older_generation_is_not_reopened(media):
    media.end(dead())
    media.end(dead(generation=2))

    assert media.reopen(MEDIA, 1) == 2


def test_generations_count_like_numbers_not_like_words(media):
    for generation in range(1, 12):
        media.end(dead(generation=generation))

    assert media.generation(MEDIA) == 11
    assert media.ended(MEDIA, 1).generation == 11


def test_all_gives_every_media_with_the_end_that_counts(media):
    media.end(dead(media="b1"))
    media.end(got(media="a1"))
    media.end(dead(media="a1", generation=2))
    media.reopen("c1", 1)

    assert [(end.media, end.state) for end in media.all()] == [("a1", "got"), ("b1", "dead")]


def test_strange_files_beside_the_records_do_no_harm(media, tmp_path):
    media.end(got())
    (tmp_path / "s" / "media" / ".DS_Store").write_bytes(b"")
    (tmp_path / "s" / "media" / "ab" / "Thumbs.db").write_bytes(b"")
    (tmp_path / "s" / "media" / "ab" / f"{MEDIA}.1.json~").write_bytes(b"")

    assert [end.media for end in media.all()] == [MEDIA]
    assert media.generation(MEDIA) == 1


def test_a_damaged_end_is_told_by_name(media, tmp_path):
    media.end(got())
    path = tmp_path / "s" / "media" / "ab" / f"{MEDIA}.1.json"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(StorageDown, match=r"1\.json is damaged"):
        media.ended(MEDIA, 1)


def test_a_record_is_json_for_people(media, tmp_path):
    media.end(got())
    record = json.loads((tmp_path / "s" / "media" / "ab" / f"{MEDIA}.1.json").read_text())

    assert record["format"] == 1
    assert record["state"] == "got"


# --- asked of a million ---


def test_what_was_got_at_once_is_told_by_its_record(media):
    media.end(got(title='"state": "got",\n"state": "dead",'))

    assert media.was_got_at_once(MEDIA)


@pytest.mark.parametrize("state", [one for one in EndState if one is not EndState.GOT])
def test_what_ended_otherwise_was_not_got_at_once_whatever_its_title_says(media, state):
    media.end(dead(state=state, title='\n "state": "got",\n'))

    assert not media.was_got_at_once(MEDIA)


def test_what_was_got_later_was_not_got_at_once(media):
    media.end(dead())
    media.reopen(MEDIA, 1)
    media.end(got(generation=2))

    assert not media.was_got_at_once(MEDIA)
    assert not media.was_got_at_once("b" * 32)


def test_a_torn_record_was_not_got_at_once(media, tmp_path):
    media.end(got())
    (path,) = (tmp_path / "s" / "media").glob("*/*.json")
    path.write_bytes(path.read_bytes()[:-2])

    assert not media.was_got_at_once(MEDIA)
