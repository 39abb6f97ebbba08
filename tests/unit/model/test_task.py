from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Malformed
from core.model.task import FORMAT, NewerFormat, parse_task, subject
from tests.support.tasks import a_discover_task, an_image_payload, an_image_task

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("task", [an_image_task(attempts=2, serial=3), a_discover_task(page=4)])
def test_a_record_survives_its_message(task):
    through_json = json.loads(json.dumps(task.to_message()))

    assert parse_task(through_json) == task


def test_a_message_stays_small_by_leaving_defaults_out():
    record = an_image_task().to_message()

    assert "attempts" not in record
    assert "headers" not in record["payload"]


def test_a_newer_format_is_told_apart_from_damage():
    with pytest.raises(NewerFormat):
        parse_task({"format": FORMAT + 1, "anything": "else"})


def test_a_damaged_record_names_the_field():
    record = an_image_task().to_message()
    record["payload"]["url"] = 7

    with pytest.raises(Malformed, match=r"payload\.image\.url"):
        parse_task(record)


@pytest.mark.parametrize("source", ["", "UPPER", "dot.ted", "x" * 41, "a b"])
def test_a_source_that_could_not_name_a_lane_is_refused(source):
    record = an_image_task().to_message() | {"source": source}

    with pytest.raises(Malformed, match="source"):
        parse_task(record)


@given(json_values)
def test_whatever_a_message_carries_the_answer_is_typed(value):
    with pytest.raises((Malformed, NewerFormat)):
        parse_task(value)


def test_the_subject_shows_no_query():
    task = an_image_task(payload=an_image_payload("https://cdn.example/a.jpg?sig=abc"))

    assert subject(task) == "https://cdn.example/a.jpg"


@pytest.mark.parametrize("media", ["", "../../etc", "a/b", "a\0b", "a.b", "x" * 65, "a\n"])
def test_an_id_that_could_lead_out_of_the_store_is_no_id(media):
    record = an_image_task().to_message()
    record["payload"]["media"] = media

    with pytest.raises(Malformed, match=r"payload\.image\.media"):
        parse_task(record)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("serial", 10**30),
        ("serial", -1),
        ("generation", 2**64),
        ("not_before", float("nan")),
        ("not_before", float("inf")),
        ("waited_s", 1e300),
        ("id", "../x"),
        ("id", "x" * 200),
    ],
)
def test_a_number_or_id_that_nothing_could_hold_is_refused(field, value):
    record = an_image_task().to_message() | {field: value}

    with pytest.raises(Malformed, match=field):
        parse_task(record)
