from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from core.errors import StorageDown
from core.model.walk import FeedRecord
from core.store import records
from core.store.files import Disk
from core.store.paths import Paths

RECORD = FeedRecord(feed="f", source="s", adapter="rss", address="http://mill.example/ü")
PATH = Path("/store/feeds/f.json")


def test_a_record_comes_back_as_it_was():
    assert records.decode(FeedRecord, PATH, records.encode(RECORD)) == RECORD


def test_a_record_is_readable_as_it_stands():
    assert "http://mill.example/ü" in records.encode(RECORD).decode()


def test_a_lone_surrogate_survives():
    record = RECORD.model_copy(update={"address": "a\ud800"})

    assert records.decode(FeedRecord, PATH, records.encode(record)) == record


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[]", b"{}", b"\xff", b'{"format":1}', b"[" * 100_000]
)
def test_a_damaged_record_names_its_file_and_what_to_do(content):
    with pytest.raises(StorageDown, match=r"f\.json is damaged .*restore the file"):
        records.decode(FeedRecord, PATH, content)


def test_every_cut_of_a_record_is_damage():
    whole = records.encode(RECORD)
    for length in range(len(whole.rstrip())):
        with pytest.raises(StorageDown, match="damaged"):
            records.decode(FeedRecord, PATH, whole[:length])


def test_a_newer_record_is_not_guessed_at():
    newer = records.encode(RECORD).replace(b'"format": 1', b'"format": 2')
    with pytest.raises(StorageDown, match=r"format 2.*reads up to 1"):
        records.decode(FeedRecord, PATH, newer)


def test_a_compact_record_is_one_line_that_names_its_format_and_reads_the_same():
    compact = records.encode_compact(RECORD.model_copy(update={"address": "a\ud800"}))

    assert compact.count(b"\n") == 1
    assert b'"format":1' in compact
    assert records.decode(FeedRecord, PATH, compact).address == "a\ud800"


class Part(BaseModel):
    format: int = 1
    feed: str


def a_file(tmp_path, content):
    path = tmp_path / "f.json"
    path.write_bytes(content)
    return Disk(Paths(tmp_path), "mill"), path


def test_of_a_record_a_part_can_be_read(tmp_path):
    disk, path = a_file(tmp_path, records.encode(RECORD))

    assert records.read(disk, path, Part) == Part(feed="f")
    assert records.read(disk, path.with_name("g.json"), Part) is None


def test_a_part_is_read_also_beside_a_lone_surrogate(tmp_path):
    record = RECORD.model_copy(update={"address": "a\ud800"})
    disk, path = a_file(tmp_path, records.encode(record))

    assert records.read(disk, path, Part) == Part(feed="f")


@pytest.mark.parametrize("content", [b"", b"{", b'{"format":1}', b'{"format":2,"feed":"f"}'])
def test_a_part_of_what_is_damaged_or_newer_is_told_like_the_whole(tmp_path, content):
    disk, path = a_file(tmp_path, content)

    with pytest.raises(StorageDown, match=r"f\.json (is damaged|has format 2)"):
        records.read(disk, path, Part)
