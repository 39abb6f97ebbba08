"""What is added to a request as it goes out, and where it may go: the source's secrets, to its own
hosts only, by https, and never over plain http once https was spoken."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import quote, unquote, unquote_plus, urlsplit, urlunsplit

from core.errors import Malformed
from core.model.addresses import is_plain, strike, with_parameters
from core.model.request import Request
from core.model.secrecy import Secrecy
from core.model.source import SourceTerms

OPENLY = "http://"  # before a host of `secret_hosts`: they may go there without encryption
_IN_ADDRESSES = "%/:=&?~#+!$,;'@()*[]"  # what an address may hold as it is


@dataclass(frozen=True, slots=True)
class Credentials:
    """One source's headers and secrets."""

    terms: SourceTerms
    user_agent: str

    def without_secrets(self, url: str) -> str:
        """`url` without user, password, fragment and without our own secrets, should a site have
        put them back into a redirect, under whatever name."""
        if is_plain(url):
            return url
        parts = urlsplit(url)
        values = Secrecy.of(self.terms).values
        pairs = [pair for pair in parts.query.split("&") if not self._is_secret(pair, values)]
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=host, query="&".join(pairs), fragment=""))

    def _is_secret(self, pair: str, values: Collection[str]) -> bool:
        name, _, value = pair.partition("=")
        told = (value, unquote(value), unquote_plus(value))
        return self.terms.secret_query.get(unquote(name)) in told or any(
            one in values for one in told
        )

    def struck(self, text: str) -> str:
        """Any text without our secrets, as it may be kept."""
        return Secrecy.of(self.terms).struck(text) if self.has_secrets else text

    def show(self, url: str) -> str:
        """An address for messages and records."""
        return self.struck(strike(url, self.terms.secret_query))

    def may_go_to(self, url: str, *, was_secure: bool) -> bool:
        """Whether secrets may go with a request to `url`; `was_secure` after any https hop."""
        if not self.terms.secret_hosts:
            return False
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if parts.scheme == "https":
            return host in self._hosts
        return not was_secure and self._may_be_heard(host)

    def are_withheld(self, url: str) -> bool:
        """Whether secrets are meant for the host of `url`, and only its scheme keeps them back."""
        host = (urlsplit(url).hostname or "").lower()
        is_open = urlsplit(url).scheme != "https" and not self._may_be_heard(host)
        return self.has_secrets and is_open and host in self._hosts

    @property
    def _hosts(self) -> frozenset[str]:
        return frozenset(host.removeprefix(OPENLY) for host in self.terms.secret_hosts)

    def _may_be_heard(self, host: str) -> bool:
        """Whether secrets may go to `host` without encryption: what stays on this machine nobody
        hears, and anything else a person has to allow by its name."""
        if OPENLY + host in self.terms.secret_hosts:
            return True
        return host in self._hosts and _is_loopback(host)

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


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _sendable(name: str, value: str) -> str:
    """A header that HTTP can carry: a feed's line break in one would smuggle in another."""
    plain = name.isascii() and name.isprintable() and " " not in name and ":" not in name
    if not plain or not value.isprintable() or max(value, default="") > "\xff":
        raise Malformed(f"the header {name[:40]!r} can't be sent", reason="bad_header")
    return value
