"""What is added to a request as it goes out, and where it may go: the source's secrets, to its own
hosts only, and never over plain http once https was spoken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from core.errors import Malformed
from core.model.addresses import is_plain, with_parameters
from core.model.request import Request
from core.model.source import SourceTerms

_IN_ADDRESSES = "%/:=&?~#+!$,;'@()*[]"  # what an address may hold as it is


@dataclass(frozen=True, slots=True)
class Credentials:
    """One source's headers and secrets."""

    terms: SourceTerms
    user_agent: str

    def without_secrets(self, url: str) -> str:
        """`url` without user, password, fragment and without our own secrets, should a site have
        put them back into a redirect."""
        if is_plain(url):
            return url
        parts = urlsplit(url)
        pairs = [pair for pair in parts.query.split("&") if not self._is_secret(pair)]
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=host, query="&".join(pairs), fragment=""))

    def _is_secret(self, pair: str) -> bool:
        name, _, value = pair.partition("=")
        return self.terms.secret_query.get(unquote(name)) in (value, unquote(value))

    def may_go_to(self, url: str, *, was_secure: bool) -> bool:
        """Whether secrets may go with a request to `url`; `was_secure` after any https hop."""
        parts = urlsplit(url)
        downgraded = was_secure and parts.scheme != "https"
        return not downgraded and (parts.hostname or "").lower() in self.terms.secret_hosts

    @property
    def has_secrets(self) -> bool:
        """Whether there is anything to sign in with."""
        return bool(self.terms.secret_headers or self.terms.secret_query)

    def address(self, url: str, *, trusted: bool) -> str:
        """The address as it goes out."""
        return with_parameters(url, self.terms.secret_query) if trusted else url

    def headers(self, request: Request, own: Mapping[str, str], *, trusted: bool) -> dict[str, str]:
        """Every header but the cookies of the visit: later ones win, whatever their case."""
        layers: list[Mapping[str, str]] = [
            {"User-Agent": self.terms.user_agent or self.user_agent, "Accept": "*/*"},
            self.terms.headers,
            request.headers,
            {"Referer": quote(request.referer, safe=_IN_ADDRESSES)} if request.referer else {},
            own,
            self.terms.secret_headers if trusted else {},
        ]
        merged: dict[str, tuple[str, str]] = {}
        for layer in layers:
            for name, value in layer.items():
                merged[name.lower()] = (name, _sendable(name, value))
        return dict(merged.values())


def _sendable(name: str, value: str) -> str:
    """A header that HTTP can carry: a feed's line break in one would smuggle in another."""
    plain = name.isascii() and name.isprintable() and " " not in name and ":" not in name
    if not plain or not value.isprintable() or max(value, default="") > "\xff":
        raise Malformed(f"the header {name[:40]!r} can't be sent", reason="bad_header")
    return value
