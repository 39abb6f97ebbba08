"""A DASH manifest's bytes as a tree of elements, within bounds, and the errors that name a place in
it. No DTD, no entities; knows what XML is, not what an element means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import TypeVar
from xml.etree.ElementTree import Element

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from core.errors import HeadraceError, Malformed, TooLarge, Truncated
from core.model.addresses import strike
from core.xml_cut import is_cut

MAX_MANIFEST_BYTES = 16 * 1024**2
MAX_ELEMENTS = 400_000  # a day of two-second segments of eight tracks, each with an S of its own
MAX_DEPTH = 40  # MPD needs eight
MAX_NOTES = 20

Refusal = TypeVar("Refusal", bound=HeadraceError)

_HEAD_BYTES = 64 * 1024
_ROOT = "MPD"
# Possessive: a head of nothing but comments must not be tried in exponentially many ways.
_PROLOG = r"\s*+(?:(?><\?xml[^>]*>|<!--.*?-->)\s*+)*+"
_MPD = re.compile(rf"{_PROLOG}<(?:[\w.-]+:)?MPD(?![\w.:-])", re.DOTALL)
_XML = re.compile(r"\s*+<\?xml\b")
_HTML = re.compile(rf"{_PROLOG}<(?:!doctype\s+html|html)\b", re.DOTALL | re.IGNORECASE)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Document:
    """A manifest being read, and what there is to say of it. Names have no prefix: what is of
    another namespace than the root is called "other:"."""

    url: str
    root: Element
    notes: list[str] = field(default_factory=list)

    def note(self, words: str) -> None:
        """Something a person may want to know, once."""
        if len(self.notes) < MAX_NOTES and words not in self.notes:
            self.notes.append(words)

    def refused(self, kind: type[Refusal], reason: str, words: str) -> Refusal:
        """An error that names the manifest."""
        return kind(f"{strike(self.url)}: {words}", reason=reason)

    def malformed(self, reason: str, words: str) -> Malformed:
        """The error for what can't mean anything."""
        return self.refused(Malformed, reason, words)


def begins_one(body: bytes) -> bool:
    """Whether this is, or begins like, a DASH manifest and nothing else that we know."""
    head = body[:_HEAD_BYTES]
    if head.startswith(_UTF_16):
        text = head.decode("utf-16", "replace")
    else:
        text = head.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    if _MPD.match(text):
        return True
    return _XML.match(text) is not None and _HTML.match(text) is None


def read_document(body: bytes, url: str) -> Document:
    """The manifest in `body`. Raises `Malformed` for what is none, `TooLarge` for one without end,
    `Truncated` for one that breaks off."""
    if len(body) > MAX_MANIFEST_BYTES:
        words = f"a manifest of over {MAX_MANIFEST_BYTES:,} bytes"
        raise TooLarge(f"{strike(url)}: {words}", reason="manifest_too_large")
    reading = _Reading(url)
    try:
        reading.read(body)
    except DefusedXmlException as error:
        words = "its XML has a DTD; the rule is: no DTD and no entities, as they can read files"
        raise _malformed(url, "xml_dtd_refused", words) from error
    except ParseError as error:
        if not reading.complete:  # what stands behind the end of the root is no part of it
            raise _broken(url, error) from error
    except (LookupError, ValueError) as error:  # an encoding that expat can't read
        raise _malformed(url, "bad_xml", f"no XML that can be read: {error}") from error
    if reading.root is None:  # expat says so itself
        raise _malformed(url, "empty_manifest", "the manifest is empty")
    _strip_prefixes(reading.root)
    return Document(url, reading.root)


class _Reading:
    """Elements as they open and close, counted."""

    def __init__(self, url: str) -> None:
        self.root: Element | None = None
        self.complete = False
        self._url = url
        self._depth = 0
        self._count = 0

    def read(self, body: bytes) -> None:
        for event, element in iterparse(BytesIO(body), events=("start", "end"), forbid_dtd=True):
            if event == "start":
                self._open(element)
            else:
                self._depth -= 1
                self.complete = self._depth == 0

    def _open(self, element: Element) -> None:
        if self.root is None:
            self.root = element
            if (name := _local(element)) != _ROOT:
                words = f"no manifest: its XML is <{name[:40]}>, not <MPD>"
                raise _malformed(self._url, "not_a_manifest", words)
        self._depth += 1
        self._count += 1
        if self._depth > MAX_DEPTH:
            words = f"its XML nests deeper than {MAX_DEPTH} elements"
            raise _malformed(self._url, "too_deep", words)
        if self._count > MAX_ELEMENTS:
            words = f"more than {MAX_ELEMENTS:,} elements"
            raise TooLarge(f"{strike(self._url)}: {words}", reason="manifest_too_large")


def _malformed(url: str, reason: str, words: str) -> Malformed:
    return Malformed(f"{strike(url)}: {words}", reason=reason)


def _broken(url: str, error: ParseError) -> HeadraceError:
    if is_cut(error):
        return Truncated(f"{strike(url)}: the manifest breaks off ({error})")
    return _malformed(url, "bad_xml", f"no well-formed XML: {error}")


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _strip_prefixes(root: Element) -> None:
    """Once all is read: the parser compares names while elements are open."""
    namespace = root.tag.rpartition("}")[0]
    for element in _elements(root):
        own, _, name = element.tag.rpartition("}")
        element.tag = name if own == namespace else f"other:{name}"


def _elements(root: Element) -> Iterator[Element]:
    return (element for element in root.iter() if isinstance(element.tag, str))
