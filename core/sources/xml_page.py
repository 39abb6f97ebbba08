"""Reads a feed's XML strictly, one child of the channel at a time, so that memory follows the
largest item and not the page. No DTD, no entities, no nesting without end; opens nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from xml.etree.ElementTree import Element

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from core.sources.adapter import PageInput
from core.sources.body import malformed
from core.sources.resolve import base_of, nested_base
from core.sources.xml_names import BASE, name_of
from core.xml_cut import is_cut

MAX_DEPTH = 200  # feeds need ten, XHTML inside them some tens


@dataclass(frozen=True, slots=True)
class Dialect:
    """A family of documents whose children are read one by one."""

    roots: frozenset[str]
    containers: frozenset[str]  # what may lie between the root and those children
    missing: str  # how another document is described: "neither RSS nor Atom"


FEEDS = Dialect(
    frozenset(["rss", "rdf:RDF", "atom:feed"]), frozenset(["channel"]), "neither RSS nor Atom"
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A child of the channel or feed, and what relative addresses in it resolve against."""

    name: str
    element: Element
    base: str | None


class IllFormedXml(Exception):
    """The bytes break XML's rules; `cut` when they only end too early."""

    def __init__(self, words: str, *, cut: bool) -> None:
        super().__init__(words)
        self.cut = cut


def feed_children(body: bytes, page: PageInput, dialect: Dialect = FEEDS) -> Iterator[Placed]:
    """Every child of the channel or feed, complete, dropped after it was looked at. Raises
    `Malformed` for a DTD, another kind of document and endless nesting; `IllFormedXml`."""
    reading = _Reading(page, dialect)
    try:
        for event, element in iterparse(BytesIO(body), events=("start", "end"), forbid_dtd=True):
            if event == "start":
                reading.open(element)
            else:
                yield from reading.close(element)
    except DefusedXmlException as error:
        words = "its XML has a DTD; the rule is: no DTD and no entities, as they can read files"
        raise malformed(page, "xml_dtd_refused", words) from error
    except ParseError as error:
        if not reading.complete:  # what stands behind the end of the feed is no part of it
            raise IllFormedXml(str(error), cut=is_cut(error)) from error
    except (LookupError, ValueError) as error:  # an encoding that expat can't read
        raise IllFormedXml(str(error), cut=False) from error


class _Reading:
    """The open elements, from the root inwards."""

    def __init__(self, page: PageInput, dialect: Dialect) -> None:
        self.complete = False
        self._page = page
        self._dialect = dialect
        self._containers = dialect.roots | dialect.containers
        self._open: list[Placed] = []

    def open(self, element: Element) -> None:
        name = name_of(element)
        base = self._open[-1].base if self._open else base_of(self._page.url)
        if not self._open and name not in self._dialect.roots:
            self._refuse_root(name)
        if len(self._open) >= MAX_DEPTH:
            words = f"its XML nests deeper than {MAX_DEPTH} elements"
            raise malformed(self._page, "too_deep", words)
        if raw := element.get(BASE):
            base = nested_base(raw, base)
            element.set(BASE, base or "")  # absolute now, for whoever reads the element later
        self._open.append(Placed(name, element, base))

    def close(self, element: Element) -> Iterator[Placed]:
        placed = self._open.pop()
        self.complete = not self._open
        if 1 <= len(self._open) <= 2 and all(p.name in self._containers for p in self._open):
            yield placed
            self._open[-1].element.remove(element)

    def _refuse_root(self, name: str) -> None:
        if name.rpartition(":")[2].lower() == "html":
            words = "an HTML page came instead of a feed; check the address"
            raise malformed(self._page, "html_instead_of_feed", words)
        words = f"its XML is <{name[:40]}>, {self._dialect.missing}"
        raise malformed(self._page, "not_a_feed", words)
