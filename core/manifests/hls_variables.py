"""EXT-X-DEFINE: variables, and their values in place of `{$NAME}`. Neither of the common Python
parsers knows them, and an address with one left in it is another address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from core.errors import Malformed, TooLarge
from core.manifests.hls_text import Text

MAX_VARIABLES = 1000
MAX_VALUE_CHARS = 8192
MAX_EXPANDED_CHARS = 64 * 1024**2  # in all: a few bytes of manifest could else fill the memory

_REFERENCE = re.compile(r"\{\$([A-Za-z0-9_-]+)\}")
_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Variables:
    """The variables of one playlist, in the order of its lines: none is known before its tag."""

    def __init__(self, text: Text, imported: Mapping[str, str]) -> None:
        self._text = text
        self._imported = imported
        self._expanded_chars = 0
        self.defined: dict[str, str] = {}

    def expand(self, raw: str, line: int) -> str:
        """`raw` with its variables' values. Raises `Malformed` for one that is not defined."""
        if "{$" not in raw:
            return raw
        parts: list[str] = []
        size = at = 0
        for reference in _REFERENCE.finditer(raw):
            value = self._value(reference[1], line)
            parts += (raw[at : reference.start()], value)
            size += len(value)
            at = reference.end()
            if size > MAX_VALUE_CHARS:
                raise self._text.malformed(line, "value_too_long", "its variables make it too long")
        return self._counted("".join([*parts, raw[at:]]), line)

    def define(self, attributes: Mapping[str, str], line: int) -> None:
        """One EXT-X-DEFINE. Raises `Malformed`."""
        found = [kind for kind in ("NAME", "IMPORT", "QUERYPARAM") if kind in attributes]
        if len(found) != 1:
            raise self._bad(line, "it takes one of NAME, IMPORT and QUERYPARAM")
        name = attributes[found[0]]
        if not _NAME.fullmatch(name) or name in self.defined:
            raise self._bad(line, f"{name[:40]!r} is no name, or is defined already")
        if len(self.defined) >= MAX_VARIABLES:
            raise self._bad(line, f"more than {MAX_VARIABLES} variables")
        match found[0]:
            case "NAME":
                value = attributes.get("VALUE")
            case "IMPORT":
                value = self._imported.get(name)
            case _:
                value = self._parameter(name)
        if value is None or len(value) > MAX_VALUE_CHARS:
            raise self._unknown(name, line)
        self.defined[name] = value

    def _value(self, name: str, line: int) -> str:
        try:
            return self.defined[name]
        except KeyError:
            raise self._unknown(name, line) from None

    def _counted(self, expanded: str, line: int) -> str:
        self._expanded_chars += len(expanded)
        if self._expanded_chars > MAX_EXPANDED_CHARS:
            words = "its variables make the manifest too large"
            raise self._text.refused(TooLarge, line, "manifest_too_large", words)
        return expanded

    def _parameter(self, name: str) -> str | None:
        """A query parameter's value in the playlist's own, final address, decoded."""
        for pair in urlsplit(self._text.url).query.split("&"):
            given, equals, value = pair.partition("=")
            if equals and unquote(given) == name:
                decoded = unquote(value)
                return decoded if decoded and decoded.isprintable() and '"' not in decoded else None
        return None

    def _bad(self, line: int, words: str) -> Malformed:
        return self._text.malformed(line, "bad_define", f"EXT-X-DEFINE: {words}")

    def _unknown(self, name: str, line: int) -> Malformed:
        words = f"the variable {name[:40]!r} has no value here"
        return self._text.malformed(line, "unknown_variable", words)
