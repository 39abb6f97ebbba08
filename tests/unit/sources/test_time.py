"""No text of a source's choosing keeps a worker busy: the worst that is known for each expression
which reads texts of any length."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from core.sources.body import behind_prologue, is_html
from core.sources.dates import read_date
from core.sources.resolve import resolve
from core.sources.values import kept_key, line_of, number_of
from core.sources.weibo_dates import read_moment
from core.sources.weibo_text import linked_pictures, plain
from core.sources.xml_repair import repaired

BYTES = 200_000
BOUND_S = 0.3
TEXTS = [
    '<img alt="[a]"',
    ' alt="[a]"',
    " alt=[a]",
    "<a ",
    'href="',
    'href="x',
    "<",
    "</a",
    "<br ",
    "<!--",
    "<!---->",
    "<?",
    "<![CDATA[",
    "&",
    "&#",
    " ",
    "\n",
    "A",
    "1",
    "GMT ",
    "/",
    "?a=",
    "#",
]
BEFORE = ["", "<img", "<a ", "<?xml ", "https://", "<!--"]
READERS: dict[str, Callable[[str], object]] = {
    "plain": plain,
    "linked_pictures": lambda text: list(linked_pictures(text)),
    "repaired": lambda text: repaired(text.encode(), text),
    "is_html": lambda text: is_html(text.encode()),
    "behind_prologue": lambda text: behind_prologue(text.encode()),
    "read_date": read_date,
    "read_moment": lambda text: read_moment(text, 1.0),
    "resolve": lambda text: resolve(text, "https://a.example/"),
    "line_of": line_of,
    "number_of": number_of,
    "kept_key": kept_key,
}


def seconds(name: str, text: str) -> float:
    """Of the processor."""
    began = time.process_time()
    READERS[name](text)
    return time.process_time() - began


@pytest.mark.parametrize("name", READERS)
def test_the_worst_text_is_read_in_no_time(name: str) -> None:
    for before in BEFORE:
        for text in TEXTS:
            worst = (before + text * (BYTES // len(text)))[:BYTES]
            for whole in (worst, worst + "\0"):
                # The interpreter's own housekeeping may fall into one reading, not into each.
                assert any(seconds(name, whole) < BOUND_S for _ in range(5)), (name, before, text)
