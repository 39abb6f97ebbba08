"""How IIIF's two versions say the same: ids, types and labels."""

from __future__ import annotations

from core.sources.json_page import Item
from core.sources.values import line_of, text_of

_DEPTH = 4  # a label is a text in a list in a map of languages


def id_of(item: Item) -> str | None:
    """`id` in 3, `@id` in 2."""
    return text_of(item.get("id")) or text_of(item.get("@id"))


def type_of(item: Item) -> str:
    """`Manifest`, `sc:Manifest`, `dctypes:Image`: in lower case and without its vocabulary."""
    told = item.get("type") or item.get("@type")
    if isinstance(told, list):
        told = next((one for one in told if isinstance(one, str)), None)
    return (line_of(told) or "").rpartition(":")[2].lower()


def label_of(value: object, depth: int = _DEPTH) -> str | None:
    """The first text of a label: a text, a list, a map of languages, or `@value`."""
    if depth and isinstance(value, dict):
        return label_of(value.get("@value") or list(value.values()), depth - 1)
    if depth and isinstance(value, list):
        return next((text for one in value if (text := label_of(one, depth - 1))), None)
    return line_of(value)
