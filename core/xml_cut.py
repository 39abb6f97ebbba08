"""Whether XML that can't be parsed only ends too early: then another answer may be whole."""

from __future__ import annotations

from xml.etree.ElementTree import ParseError
from xml.parsers.expat import errors as expat_errors

# What expat says only when the bytes end too early.
_CUT = frozenset(
    expat_errors.codes[message]
    for message in (
        expat_errors.XML_ERROR_NO_ELEMENTS,
        expat_errors.XML_ERROR_UNCLOSED_TOKEN,
        expat_errors.XML_ERROR_PARTIAL_CHAR,
        expat_errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)


def is_cut(error: ParseError) -> bool:
    """Whether nothing is wrong with what there is of the document."""
    return error.code in _CUT
