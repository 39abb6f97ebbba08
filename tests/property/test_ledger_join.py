"""Whatever order and however often the pieces of videos are told in: distinct ones are counted."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.ledger.memory import MemoryLedger
from core.ledger.redis import RedisLedger
from core.ports import Ledger
from tests.support.clock import FakeClock
from tests.support.redis import flush

TOLD = st.lists(
    st.tuples(st.sampled_from(["m1", "m2"]), st.integers(1, 3), st.integers(0, 9)), max_size=60
)
PIECES = st.integers(1, 40)


def expected(told: list[tuple[str, int, int]]) -> list[int]:
    """By the words of the port, kept in the plainest way."""
    counts, newest = [], {}
    seen: set[tuple[str, int, int]] = set()
    for media, generation, piece in told:
        newest[media] = max(generation, newest.get(media, 0))
        seen.add((media, generation, piece))
        distinct = sum(one[:2] == (media, generation) for one in seen)
        counts.append(distinct if generation == newest[media] else 0)
    return counts


def answers(ledger: Ledger, told: list[tuple[str, int, int]]) -> list[int]:
    return [ledger.join(*one) for one in told]


@given(TOLD)
def test_distinct_pieces_of_the_newest_generation_are_counted(told):
    assert answers(MemoryLedger(FakeClock()), told) == expected(told)


@given(PIECES, st.data())
def test_whoever_tells_the_last_piece_finds_all_of_them(pieces, data):
    order = data.draw(st.permutations(range(pieces)))
    again = data.draw(st.lists(st.integers(0, pieces - 1), max_size=20))
    ledger = MemoryLedger(FakeClock())
    told = [ledger.join("m1", 1, piece) for piece in [*order[:-1], *again, order[-1]]]

    assert told[-1] == pieces


@given(PIECES, st.data())
def test_nobody_finds_all_of_them_after_a_flush_without_telling_all_again(pieces, data):
    flushed_after = data.draw(st.integers(1, pieces))
    ledger = MemoryLedger(FakeClock())
    for piece in range(flushed_after):
        ledger.join("m1", 1, piece)
    ledger.clear()
    told = [ledger.join("m1", 1, piece) for piece in range(flushed_after, pieces)]

    assert pieces not in told
    assert [ledger.join("m1", 1, piece) for piece in range(flushed_after)][-1] == pieces


@pytest.mark.redis
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=TOLD)
def test_redis_counts_them_too(redis_url, told):
    flush(redis_url)
    ledger = RedisLedger(redis_url)
    counted = answers(ledger, told)
    ledger.close()

    assert counted == expected(told)
