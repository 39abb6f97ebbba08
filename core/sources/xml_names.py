"""XML names with the prefixes that this project uses, whatever a document calls them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from xml.etree.ElementTree import Element

BASE = "{http://www.w3.org/XML/1998/namespace}base"

# What a prefix means where a document uses it without saying so.
WELL_KNOWN = {
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
}
# Compared in lower case without a last slash: Media RSS is written with and without it.
_PREFIXES = {address.lower().rstrip("/"): f"{name}:" for name, address in WELL_KNOWN.items()} | {
    "": "",
    "http://purl.org/atom/ns#": "atom:",
    "http://purl.org/rss/1.0": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://backend.userland.com/rss2": "",
    "http://www.sitemaps.org/schemas/sitemap/0.9": "",
    "https://www.sitemaps.org/schemas/sitemap/0.9": "",
    "http://www.google.com/schemas/sitemap/0.84": "",
    "https://www.google.com/schemas/sitemap-image/1.1": "image:",
    "https://www.google.com/schemas/sitemap-video/1.1": "video:",
}


@lru_cache(maxsize=1024)
def _name(tag: str) -> str:
    namespace, _, local = tag.rpartition("}")
    prefix = _PREFIXES.get(namespace.lstrip("{").lower().rstrip("/"), "other:")
    return prefix + local


def name_of(element: Element) -> str:
    """`media:content`, `atom:entry`; RSS's and sitemaps' own elements have no prefix."""
    return _name(element.tag) if isinstance(element.tag, str) else "other:"


def children(element: Element, *names: str) -> Iterator[Element]:
    """The direct children of these names, in the document's order."""
    return (child for child in element if name_of(child) in names)


def first_text(element: Element, *names: str) -> str | None:
    """The text of the first child that has any, by the names' order."""
    for name in names:
        for child in children(element, name):
            if text := "".join(child.itertext()).strip():
                return text
    return None
