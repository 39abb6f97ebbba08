from __future__ import annotations

import random
import tracemalloc

import pytest

from core.store import sorting
from core.store.sorting import sorted_lines


def lines(count: int, seed: int = 1) -> list[bytes]:
    rng = random.Random(seed)
    return [f"{rng.randrange(count)}\n".encode() for _ in range(count)]


@pytest.mark.parametrize("held", [1, 7, 100, 1000])
def test_each_line_comes_once_in_order(tmp_path, held):
    given = lines(300)

    assert list(sorted_lines(given, tmp_path, held=held)) == sorted(set(given))


def test_nothing_gives_nothing():
    assert list(sorted_lines([])) == []


def test_no_more_files_are_open_than_a_process_may_have(tmp_path, monkeypatch):
    put_aside, made = sorting._put_aside, []

    def noting(*given):
        made.append(put_aside(*given))
        return made[-1]

    monkeypatch.setattr(sorting, "_put_aside", noting)
    found = sorted_lines(lines(1000), tmp_path, held=2)
    next(found)
    still_open = sum(not file.closed for file in made)

    assert len(made) > 200
    assert still_open <= sorting._MOST_FILES
    found.close()


def test_its_files_are_gone_with_it(tmp_path):
    found = sorted_lines(lines(100), tmp_path, held=10)
    next(found)
    found.close()

    assert list(tmp_path.iterdir()) == []


def test_ten_times_the_lines_take_no_more_memory(tmp_path):
    def peak_bytes(count: int) -> int:
        given = (f"{number * 7919 % count:064}\n".encode() for number in range(count))
        tracemalloc.start()
        try:
            assert sum(1 for _ in sorted_lines(given, tmp_path, held=2000)) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few = peak_bytes(4_000)

    assert peak_bytes(40_000) < 2.5 * few
