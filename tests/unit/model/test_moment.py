from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from core.model.moment import Moment


class Record(BaseModel):
    at: Moment


def test_a_moment_is_written_for_people_and_other_programs():
    assert Record(at=1_795_971_746.8116958).model_dump_json() == (
        '{"at":"2026-11-29T17:02:26.811696+00:00"}'
    )


@given(st.floats(min_value=0, max_value=4e9))
def test_a_moment_survives_its_record(seconds):
    record = Record(at=seconds)

    assert Record.model_validate_json(record.model_dump_json()) == record
