"""A page that is one JSON value, read within a bound; and ways to take it apart that bear anything
in it. Sources change their JSON without a word: what is missing or of another type is None."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from core.sources.adapter import PageInput
from core.sources.body import malformed, read_body

MAX_JSON_BYTES = 32 * 1024**2  # read as a whole, it takes up to twenty times its size
SOURCE_JSON_BYTES = 8 * 1024**2  # of a named source: a page of a hundred posts has less than one

Item = Mapping[str, object]


def child(item: object, *path: str) -> object:
    """What lies at the end of `path`; None where any step of it is missing."""
    for name in path:
        if not isinstance(item, dict):
            return None
        item = item.get(name)
    return item


def item_of(value: object) -> Item:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> Iterator[Item]:
    """The objects of a list, or of an object that is one by its keys ("0", "1", ...)."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def load_json(page: PageInput, what: str, *, max_bytes: int = MAX_JSON_BYTES) -> Item:
    """The object that a page is. `what` was expected, for the error. Raises as `load_value`."""
    found = load_value(page, max_bytes=max_bytes)
    if not isinstance(found, dict):
        raise malformed(page, "not_a_feed", f"its JSON is no object; {what} was expected")
    return found


def load_value(page: PageInput, *, max_bytes: int = MAX_JSON_BYTES) -> object:
    """Whatever a page is. Raises `Malformed`, with the reason `truncated` for a page that is cut:
    what is lost may be the address of the next one."""
    text = _decoded(read_body(page, max_bytes=max_bytes), page)
    try:
        found, end = DECODER.raw_decode(text)
    except RecursionError as error:
        raise malformed(page, "too_deep", "its JSON nests without end") from error
    except json.JSONDecodeError as error:
        raise malformed(page, *_fault(text, error)) from error
    if text[end:].strip():
        raise malformed(page, "bad_json", f"its JSON goes on behind its end, at character {end}")
    return found


def _whole(digits: str) -> int | str:
    """A number; as the text it is where Python refuses to count so far (thousands of digits)."""
    try:
        return int(digits)
    except ValueError:
        return digits


DECODER = json.JSONDecoder(parse_int=_whole)
_ENDS = {"{": "}", "[": "]"}


def _decoded(body: bytes, page: PageInput) -> str:
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding).lstrip("\ufeff \t\r\n")
    except UnicodeDecodeError as error:
        cut = error.end >= len(body)
        words = f"not {encoding} at byte {error.start}"
        raise malformed(page, "truncated" if cut else "bad_json", words) from error


def _fault(text: str, error: json.JSONDecodeError) -> tuple[str, str]:
    """A cut page is refused whole: what is lost may be the address of the next one."""
    place = f"line {error.lineno}, column {error.colno}"
    whole = text.rstrip()
    end = _ENDS.get(whole[:1])
    if end and (not whole.endswith(end) or error.pos >= len(whole)):
        return "truncated", f"its JSON is cut off ({place}); fetch it again"
    return "bad_json", f"its JSON can't be read: {error.msg} ({place})"
