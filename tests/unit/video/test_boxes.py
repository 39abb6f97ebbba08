"""fMP4 pieces end where their last box ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DamagedPiece
from core.video.boxes import Boxes


def box(body, *, large=False):
    if large:
        return b"\0\0\0\x01mdat" + (16 + len(body)).to_bytes(8, "big") + body
    return (8 + len(body)).to_bytes(4, "big") + b"moof" + body


BOXES = st.lists(
    st.builds(box, st.binary(max_size=30), large=st.booleans()), min_size=1, max_size=5
)


def feed(chunks):
    boxes = Boxes(4)
    for chunk in chunks:
        boxes.feed(chunk)
    boxes.end()


@given(BOXES, st.integers(1, 40))
def test_whole_boxes_pass_however_they_are_cut_into_chunks(boxes, size):
    content = b"".join(boxes)

    feed(content[at : at + size] for at in range(0, len(content), size))


@given(BOXES, st.data())
def test_boxes_that_are_cut_anywhere_within_name_their_piece(boxes, data):
    last = boxes[-1]
    cut = data.draw(st.integers(1, len(last) - 1))

    with pytest.raises(DamagedPiece, match="piece 4 ends within a box"):
        feed([b"".join(boxes)[:-cut]])


@pytest.mark.parametrize(
    "content", [b"\0\0\0\x04moof", bytes(16), b"\0\0\0\x10\x01\x02\x03\x04" * 2]
)
def test_what_can_be_no_box_names_its_piece(content):
    with pytest.raises(DamagedPiece, match="where a box should begin"):
        feed([content])
