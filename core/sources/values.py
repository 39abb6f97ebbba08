"""Reads what feeds write into single fields: texts, counts, seconds, hashes. What can't be read is
None: an optional field never costs a post."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable

from core.model.addresses import STRUCK, strike

MAX_LINE_CHARS = 1000  # titles and names travel in messages, which stay small

_ADDRESS = re.compile("https?://", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_HEX_DIGITS = {"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}


def text_of(value: object) -> str | None:
    """A text of any length; numbers are ids and become text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) else None
    # JSON can spell half a surrogate pair, which no record can hold.
    clean = str(value).encode("utf-8", "replace").decode("utf-8").strip()
    return clean or None


def line_of(value: object) -> str | None:
    """A text on one line, cut at `MAX_LINE_CHARS`."""
    text = text_of(value)
    return " ".join(text.split())[:MAX_LINE_CHARS] or None if text else None


def number_of(value: object) -> float | None:
    """A positive number. Zero means «unknown» in lengths, widths and durations alike."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Compared before any conversion: an int may be too long for a float.
        return float(value) if 0 < value < 10**15 else None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return number_of(float(value.strip()))
    return None


def count_of(value: object) -> int | None:
    """A positive whole number; a fraction is dropped."""
    number = number_of(value)
    return int(number) or None if number is not None else None


def hash_of(algorithm: object, digest: object) -> dict[str, str]:
    """`{"md5": hex}` under the algorithm's Python name; empty where nothing can be checked."""
    name = (line_of(algorithm) or "md5").lower().replace("-", "")
    text = (line_of(digest) or "").lower()
    if len(text) != _HEX_DIGITS.get(name) or not re.fullmatch("[0-9a-f]+", text):
        return {}
    return {name: text}


def kept_key(key: str) -> str:
    """A key as a record may keep it. An address with secrets in it goes without them, and with a
    digest of the whole: two that differ by nothing else may be two pictures."""
    if not _ADDRESS.match(key):
        return key
    kept = strike(key)
    if STRUCK not in kept and "@" not in key.partition("//")[2].partition("/")[0]:
        return key
    return f"{kept}#{digest_of([key])}"


def digest_of(parts: Iterable[str | None]) -> str:
    """A key for content that has none of its own."""
    joined = "\0".join(part or "" for part in parts)
    return "digest:" + hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]
