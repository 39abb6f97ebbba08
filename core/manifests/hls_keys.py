"""EXT-X-KEY: which key and IV hold for a segment or an init part, settled where it is read: no
later resume or reorder can shift an IV."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import Malformed, Unsupported
from core.manifests.hls_reader import Reader
from core.manifests.hls_text import Line
from core.model.plan import KeyRef

_IDENTITY = "identity"
_IV = re.compile(r"0[xX]([0-9a-fA-F]{1,32})")


@dataclass(frozen=True, slots=True)
class _Key:
    """What one tag said of one key format."""

    method: str
    format: str
    url: str | None = None  # where we could use it
    iv: str | None = None  # 32 hex digits; None: the segment's sequence number


class Keys:
    """The keys in force at one line. There may be one a key format, all for the same key."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._by_format: dict[str, _Key] = {}

    def read(self, line: Line) -> None:
        """One EXT-X-KEY. Raises `Malformed`; one we lack is refused where needed."""
        attributes = self._reader.attributes(line)
        method = attributes.get("METHOD", "")
        key_format = attributes.get("KEYFORMAT", _IDENTITY).lower()
        if not method:
            raise self._bad(line.number, "without a METHOD")
        if method == "NONE":
            self._by_format.clear()
        elif method == "AES-128" and key_format == _IDENTITY:
            self._by_format[key_format] = self._usable(attributes, line)
        else:
            self._by_format[key_format] = _Key(method, key_format)

    def of_segment(self, sequence: int, line: int) -> KeyRef | None:
        """For a media segment. Raises `Unsupported` for what we can't decrypt."""
        key = self._in_force(line)
        if key is None or key.url is None:
            return None
        return KeyRef(url=key.url, iv=key.iv or f"{sequence:032x}")

    def of_init(self, line: int) -> KeyRef | None:
        """For an init part, which has no sequence number: its key must tell the IV (RFC 8216,
        4.3.2.5)."""
        key = self._in_force(line)
        if key is None or key.url is None:
            return None
        if key.iv is None:
            words = "an encrypted EXT-X-MAP whose EXT-X-KEY has no IV"
            raise self._reader.text.malformed(line, "map_encrypted_without_iv", words)
        return KeyRef(url=key.url, iv=key.iv)

    def _in_force(self, line: int) -> _Key | None:
        usable = self._by_format.get(_IDENTITY)
        if not self._by_format or (usable is not None and usable.url is not None):
            return usable
        key = next(iter(self._by_format.values()))
        words = (
            f"encrypted with METHOD={key.method[:40]}, KEYFORMAT={key.format[:60]}: Headrace "
            "decrypts AES-128 with identity keys only"
        )
        raise self._reader.text.refused(Unsupported, line, "drm_unsupported", words)

    def _usable(self, attributes: dict[str, str], line: Line) -> _Key:
        if "URI" not in attributes:
            raise self._bad(line.number, "without a URI")
        url = self._reader.absolute(attributes["URI"], line.number)
        return _Key("AES-128", _IDENTITY, url, self._iv(attributes.get("IV"), line.number))

    def _iv(self, raw: str | None, line: int) -> str | None:
        if raw is None:
            return None
        found = _IV.fullmatch(raw.strip())
        if found is None:
            raise self._bad(line, f"the IV {raw[:40]!r} is not 0x and up to 32 hex digits")
        return found[1].lower().rjust(32, "0")

    def _bad(self, line: int, words: str) -> Malformed:
        return self._reader.text.malformed(line, "bad_key", f"EXT-X-KEY {words}")
