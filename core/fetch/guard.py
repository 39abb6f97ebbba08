"""The address guard: which network addresses a request may go to. Asked where a connection is made,
about the very address connected to, so that no redirect, rebinding or odd spelling gets past it."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import urlsplit

from core.errors import AddressRefused

SCHEMES = frozenset(["http", "https"])

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network

# The first match names the rule. Written out, because Python's own `is_private` and kin changed
# between patch releases, and because metadata services deserve their name.
_REFUSED: tuple[tuple[_Network, str], ...] = tuple(
    (ip_network(network), rule)
    for network, rule in (
        ("169.254.169.254/32", "cloud metadata"),
        ("169.254.170.2/32", "cloud metadata"),
        ("100.100.100.200/32", "cloud metadata"),
        ("168.63.129.16/32", "cloud metadata"),
        ("192.0.0.192/32", "cloud metadata"),
        ("fd00:ec2::254/128", "cloud metadata"),
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
    )
)
_GLOBAL_UNICAST = ip_network("2000::/3")  # every other IPv6 address is reserved, or not routed
_NAT64 = ip_network("64:ff9b::/96")


class AddressGuard:
    """Refuses what is not on the public internet, except within the allowed networks."""

    def __init__(self, allow_networks: Iterable[str] = ()) -> None:
        self._allowed = tuple(ip_network(network) for network in allow_networks)

    def check_scheme(self, url: str, shown: str) -> None:
        """Refuse anything but `http` and `https`; `shown` is the address for the message."""
        scheme = urlsplit(url).scheme.lower()
        if scheme not in SCHEMES:
            raise AddressRefused(
                f"refused {shown}: only http and https are fetched, not {scheme or 'no scheme'}"
            )

    def check(self, numeric: str, host: str) -> None:
        """Refuse a numeric address; `host` is the name that led to it. Raises `AddressRefused`."""
        address = ip_address(numeric.partition("%")[0])
        for face in (address, *_embedded(address)):
            rule = self._rule(face)
            if rule is not None:
                raise AddressRefused(
                    f"refused {host}: {numeric} is a {rule} address; "
                    f"--allow-network {face}/{face.max_prefixlen} would allow it (for workers: "
                    "fetch.allow_networks in the settings)"
                )

    def _rule(self, address: _Address) -> str | None:
        """Why an address is refused; None when it is not."""
        if any(address in network for network in self._allowed):
            return None
        for network, rule in _REFUSED:
            if address in network:
                return rule
        if address.version == 4 or address in _GLOBAL_UNICAST or _embedded(address):
            return None
        return "reserved"


def _embedded(address: _Address) -> tuple[IPv4Address, ...]:
    """The IPv4 address that an IPv6 one leads to: mapped, NAT64 or 6to4."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return () if address.sixtofour is None else (address.sixtofour,)
