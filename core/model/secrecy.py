"""A source's secrets, known by the names of their parameters and by their values: taken out of what
is written down, wherever a site puts them back into an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit, urlunsplit

from core.model.addresses import STRUCK, is_plain
from core.model.source import SourceTerms

_LEAST = 4  # letters: what is shorter stands anywhere by chance
_LEAST_ANYWHERE = 8  # the same outside of a parameter
# Cookies are not all secret: some name their owner, whose number stands in public addresses.
_LEAST_COOKIE = 16


@dataclass(frozen=True, slots=True)
class Secrecy:
    """Of one source."""

    names: frozenset[str] = frozenset()  # of parameters
    values: tuple[str, ...] = ()  # the longest first

    @classmethod
    def of(cls, terms: SourceTerms) -> Secrecy:
        """By its terms."""
        told = chain(terms.secret_query.values(), _of_headers(terms.secret_headers))
        values = sorted({one for one in told if len(one) >= _LEAST}, key=len, reverse=True)
        return cls(frozenset(terms.secret_query), tuple(values))

    def __bool__(self) -> bool:
        return bool(self.names or self.values)

    def address(self, url: str) -> str:
        """`url` without the parameters that are secret. Raises `ValueError` for no address."""
        if not self or (is_plain(url) and not any(value in url for value in self.values)):
            return url
        parts = urlsplit(url)
        pairs = parts.query.split("&")
        kept = [pair for pair in pairs if not self._is_secret(pair)]
        if len(kept) < len(pairs):
            url = urlunsplit(parts._replace(query="&".join(kept)))
        return self.struck(url)

    def text(self, text: str) -> str:
        """The same for a text that may hold addresses, which is not taken apart: what else is in it
        stays as it is."""
        if not self:
            return text
        pair, before = _pair(self.names, self.values), ""
        while before != text:  # the same again, right behind
            before, text = text, pair.sub(r"\1", text)
        return self.struck(text)

    def struck(self, text: str) -> str:
        """The text with each secret in it struck out, be it a parameter's or not."""
        for value in self.values:
            if len(value) >= _LEAST_ANYWHERE:
                for form in _forms(value):
                    text = text.replace(form, STRUCK)
        return text

    def _is_secret(self, pair: str) -> bool:
        name, _, value = pair.partition("=")
        if unquote(name) in self.names:
            return True
        return any(one in self.values for one in (value, unquote(value), unquote_plus(value)))


def _of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """What a header says as a whole, and what in it is secret by itself: what follows on «Bearer»,
    the cookies."""
    for name, value in headers.items():
        yield value.strip()
        if name.lower() == "cookie":
            for pair in value.split(";"):
                cookie = pair.partition("=")[2].strip().strip('"')
                if len(cookie) >= _LEAST_COOKIE and not cookie.isdigit():
                    yield cookie
        else:
            yield value.split()[-1] if value.split() else ""


def _forms(value: str) -> tuple[str, ...]:
    """How it may be written in an address; as it is first."""
    return tuple(dict.fromkeys((value, quote(value, safe=""), quote(value), quote_plus(value))))


@lru_cache(maxsize=64)
def _pair(names: frozenset[str], values: tuple[str, ...]) -> re.Pattern[str]:
    """One secret parameter, with the sign that parts it from its neighbours."""
    named = [rf'{re.escape(name)}=[^&#"\\\s]*' for name in sorted(names)]
    forms = "|".join(re.escape(form) for value in values for form in _forms(value))
    if forms:
        named.append(rf'[^?&#="\\\s]+=(?:{forms})(?![^&#"\\\s])')
    told = "|".join(named)
    return re.compile(rf"(\?)(?:{told})&|[?&](?:{told})")
