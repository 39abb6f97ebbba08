"""Mends the faults of hand-made XML that leave no doubt about what was meant: bare ampersands,
HTML's named characters, control characters, undeclared prefixes, encodings that expat lacks."""

from __future__ import annotations

import re
from html.entities import html5
from xml.sax.saxutils import escape

from core.sources.xml_names import WELL_KNOWN

# Only encodings of the web: some of Python's are slow on purpose-made input.
_ENCODING = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-ascii|latin-?1|iso-?8859-?\d{1,2}|(?:windows|cp)-?\d{3,4}"
    r"|koi8-[ru]|gb[k\d]{1,5}|big5|euc-(?:jp|kr)|shift[_-]jis|iso-2022-(?:jp|kr)",
    re.IGNORECASE,
)
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]{0,200}\?>", re.IGNORECASE)
_DECLARED = re.compile(rb"""<\?xml\b[^>]{0,150}?\bencoding\s*=\s*["']([\w.:-]{1,40})""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AMPERSAND = re.compile(r"&(?:#(\d{1,7});|#[xX]([0-9a-fA-F]{1,6});|([A-Za-z][A-Za-z0-9]{1,31});)?")
_ROOT = re.compile(r"<(?:rss|rdf:RDF|feed|urlset|sitemapindex)\b")
_OWN = frozenset(["amp", "lt", "gt", "quot", "apos"])


def repaired(body: bytes, content_type: str | None) -> bytes:
    """The document as UTF-8 without declaration, mended."""
    text = _decoded(body, content_type)
    text = text.lstrip("\ufeff")
    # Only at the start: looked for everywhere, each blank of a run would be tried to its end.
    declared = _DECLARATION.match(text)
    text = text[declared.end() :] if declared else text
    text = _escaped(_ILLEGAL.sub("", text))
    return _with_prefixes(text).encode("utf-8").lstrip()


def _decoded(body: bytes, content_type: str | None) -> str:
    """By byte-order mark, declaration, header, else UTF-8; what can't be read is replaced."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace")
    declared = _DECLARED.search(body[:300])
    told = _CHARSET.search(content_type or "")
    name = declared[1].decode("ascii") if declared else told[1] if told else "utf-8"
    try:
        return body.decode(name if _ENCODING.fullmatch(name) else "utf-8", "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


def _escaped(text: str) -> str:
    """Outside CDATA, where an ampersand is only that."""
    pieces, at = [], 0
    while (start := text.find("<![CDATA[", at)) >= 0 and (end := text.find("]]>", start)) >= 0:
        pieces += [_AMPERSAND.sub(_mend, text[at:start]), text[start : end + 3]]
        at = end + 3
    return "".join([*pieces, _AMPERSAND.sub(_mend, text[at:])])


def _mend(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        return found[0] if name in _OWN else _named(name)
    if not decimal and not hexadecimal:
        return "&amp;"
    code = int(decimal) if decimal else int(hexadecimal, 16)
    legal = code <= 0x10FFFF and not _ILLEGAL.match(chr(code))
    return found[0] if legal else ""


def _named(name: str) -> str:
    characters = html5.get(f"{name};")
    return escape(characters) if characters else f"&amp;{name};"


def _with_prefixes(text: str) -> str:
    missing = [
        f' xmlns:{prefix}="{address}"'
        for prefix, address in WELL_KNOWN.items()
        if f"<{prefix}:" in text and f"xmlns:{prefix}" not in text
    ]
    root = _ROOT.search(text)
    if not root:
        return text
    return text[: root.end()] + "".join(missing) + text[root.end() :]
