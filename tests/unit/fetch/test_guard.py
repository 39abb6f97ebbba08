from __future__ import annotations

import errno
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import AddressRefused, Unreachable
from core.fetch.connection import Door
from core.fetch.guard import AddressGuard
from tests.support.fetching import Net, net
from tests.support.site import Site


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("0.0.0.0", "unspecified"),
        ("10.1.2.3", "private"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("169.254.1.1", "link-local"),
        ("169.254.169.254", "cloud metadata"),
        ("100.100.100.200", "cloud metadata"),
        ("168.63.129.16", "cloud metadata"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("198.18.0.1", "benchmarking"),
        ("203.0.113.7", "documentation"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fd12:3456::1", "private"),
        ("fd00:ec2::254", "cloud metadata"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("2001::1", "reserved"),
        ("64:ff9b:1::1", "reserved"),
        ("100::1", "reserved"),
        ("::7f00:1", "reserved"),
    ],
)
def test_an_address_off_the_public_internet_is_refused_by_name(address: str, rule: str) -> None:
    with pytest.raises(AddressRefused, match=f" is a {rule} address") as caught:
        AddressGuard().check(address, "host.example")

    assert caught.value.reason == "address_refused"
    assert "host.example" in str(caught.value)
    assert "--allow-network" in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2002:c0a8:1::1",
    ],
)
def test_a_private_address_within_an_ipv6_one_is_refused(address: str) -> None:
    with pytest.raises(AddressRefused):
        AddressGuard().check(address, "host.example")


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_a_public_address_passes(address: str) -> None:
    AddressGuard().check(address, "host.example")


def test_an_allowed_network_passes_and_its_neighbour_does_not() -> None:
    guard = AddressGuard(["10.1.0.0/16"])

    guard.check("10.1.2.3", "host.example")
    guard.check("::ffff:10.1.2.3", "host.example")
    with pytest.raises(AddressRefused):
        guard.check("10.2.0.1", "host.example")


@pytest.mark.parametrize(
    "url",
    ["ftp://host.example/x", "file:///etc/passwd", "gopher://x/", "data:text/plain,x", "x.jpg"],
)
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused, match="only http and https"):
        AddressGuard().check_scheme(url, url)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "0x7f.1", "0177.0.0.1", "2130706433", "127.1", "[::1]", "0"],
)
def test_loopback_is_refused_however_it_is_spelt(site: Site, host: str) -> None:
    site.serve("/", b"secret")
    with net(allow_networks=()) as strict, pytest.raises(AddressRefused):
        strict.page(site.url("/", host=host))

    assert site.connections == 0


def test_a_redirect_to_a_refused_address_is_refused(site: Site) -> None:
    site.redirect("/", "http://127.0.0.2:9/latest/meta-data")
    with (
        net(allow_networks=("127.0.0.1/32",)) as strict,
        pytest.raises(AddressRefused, match=r"127\.0\.0\.2 is a loopback address"),
    ):
        strict.page(site.url("/"))


def test_a_redirect_to_another_scheme_is_refused(site: Site, web: Net) -> None:
    site.redirect("/", "file:///etc/passwd")

    with pytest.raises(AddressRefused, match="only http and https"):
        web.page(site.url("/"))


def test_a_name_that_is_rebound_after_a_check_reaches_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is resolved once, and what is checked is what is connected to: the second, private
    answer is never asked for."""
    answers = [[(2, ("198.18.0.1", site.port))], [(2, ("127.0.0.1", site.port))]]
    monkeypatch.setattr("core.fetch.connection.resolve", lambda *_: answers.pop(0))
    with net(allow_networks=()) as strict, pytest.raises(AddressRefused, match=r"198\.18\.0\.1"):
        strict.page(f"http://rebound.example:{site.port}/")

    assert len(answers) == 1
    assert site.connections == 0


def test_a_name_with_a_refused_and_an_allowed_address_uses_the_allowed_one(
    site: Site, web: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [(2, ("10.0.0.1", site.port)), (2, ("127.0.0.1", site.port))]
    monkeypatch.setattr("core.fetch.connection.resolve", lambda *_: both)
    site.serve("/", b"ok")

    assert web.page(f"http://two.example:{site.port}/") == b"ok"


def test_a_proxy_in_the_environment_is_not_used(
    site: Site, web: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    site.serve("/", b"straight")

    assert web.page(site.url("/")) == b"straight"


def test_the_failure_of_the_preferred_address_is_told(
    web: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [(2, ("127.0.0.1", 9)), (10, ("::1", 9))]
    codes = [errno.ECONNREFUSED, errno.ENETUNREACH]

    def fail(*_: object) -> None:
        raise OSError(codes.pop(0), "failed")

    monkeypatch.setattr("core.fetch.connection.resolve", lambda *_: both)
    monkeypatch.setattr(Door, "_connect", fail)

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1 port 9") as caught:
        web.page("http://two.example:9/")

    assert caught.value.reason == "unreachable"
    assert codes == []


def test_a_machine_without_a_network_says_so(web: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(Door, "_connect", no_network)

    with pytest.raises(Unreachable) as caught:
        web.page("http://127.0.0.1:9/")

    assert caught.value.reason == "offline"


@given(st.one_of(st.ip_addresses(), st.sampled_from(["10.9.8.7", "::1"]).map(ip_address)))
def test_whatever_passes_is_global_by_pythons_own_table_too(
    address: IPv4Address | IPv6Address,
) -> None:
    try:
        AddressGuard().check(str(address), "host.example")
    except AddressRefused:
        return
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address

    assert inner.is_global
