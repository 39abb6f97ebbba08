"""The connections of the pool: the only code that opens a socket to a source. Each asks the guard
about the address it connects to; none ever goes through a proxy."""

from __future__ import annotations

import errno
import functools
import queue
import socket
import ssl
import threading
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import urllib3
import urllib3.connection
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.ssl_ import create_urllib3_context

from core.errors import (
    AddressRefused,
    HeadraceError,
    Malformed,
    OutOfResources,
    Timeout,
    Unreachable,
)
from core.fetch.deadline import Watch, WatchedSocket, WatchedTLSSocket
from core.fetch.guard import AddressGuard

if TYPE_CHECKING:
    from urllib3._base_connection import BaseHTTPConnection, BaseHTTPSConnection

_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
_MAX_ADDRESSES = 4  # tried one after another, within the one connect deadline
NO_CONNECTION = "no_connection"  # in time
NO_SUCH_HOST = "no_such_host"
OFFLINE = "offline"
_EXHAUSTED = frozenset([errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
# No name server or no network: this machine is offline, most likely; but a domain's own broken name
# server looks like it, and so does a host of IPv6 alone where there is none.
_OFFLINE = frozenset([socket.EAI_AGAIN, errno.ENETUNREACH, errno.ENETDOWN])
_NO_NAME = frozenset([socket.EAI_NONAME, socket.EAI_NODATA])  # a name server answered

SocketAddress = tuple[Any, ...]


@functools.cache
def tls_context() -> ssl.SSLContext:
    """One for the process: loading the authorities takes as long as several requests."""
    context = create_urllib3_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    context.load_verify_locations(DEFAULT_CA_BUNDLE_PATH)
    context.sslsocket_class = WatchedTLSSocket
    return context


@dataclass(slots=True)
class Door:
    """What a session's connections share."""

    guard: AddressGuard
    watch: Watch
    tls: Callable[[], ssl.SSLContext] = tls_context
    opened: int = 0  # connections so far: tells a fresh one from a reused one

    def dial(self, host: str, port: int, timeout_s: float) -> WatchedSocket:
        """Connect to the first address of `host` that the guard lets pass and that answers."""
        self.opened += 1
        addresses = self._allowed(host, resolve(host, port, timeout_s))[:_MAX_ADDRESSES]
        failures: list[OSError] = []
        for family, address in addresses:
            try:
                return self._connect(family, address, timeout_s / len(addresses))
            except OSError as error:
                failures.append(error)
        # The first is the one that the system prefers; a later one may be of a protocol that this
        # machine does not even speak.
        raise _not_connected(host, addresses[0][1], failures[0]) from failures[0]

    def _allowed(
        self, host: str, found: list[tuple[int, SocketAddress]]
    ) -> list[tuple[int, SocketAddress]]:
        """Those that the guard lets pass. Raises its refusal when there is none."""
        allowed, refusal = [], None
        for family, address in found:
            try:
                self.guard.check(str(address[0]), host)
                allowed.append((family, address))
            except AddressRefused as error:
                refusal = refusal or error
        if refusal is not None and not allowed:
            raise refusal
        return allowed

    def _connect(self, family: int, address: SocketAddress, timeout_s: float) -> WatchedSocket:
        sock = WatchedSocket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(*_NO_DELAY)
            sock.settimeout(timeout_s)
            sock.connect(address)
        except BaseException:
            sock.close()
            raise
        sock.watch = self.watch
        return sock


def resolve(host: str, port: int, timeout_s: float) -> list[tuple[int, SocketAddress]]:
    """The addresses of a name, as (family, socket address). A literal, in any spelling that the
    system takes for one, asks no name server."""
    try:
        return _look_up(host, port, socket.AI_NUMERICHOST)
    except UnicodeError as error:
        raise Malformed(f"{host[:80]!r} is no host name", reason="bad_address") from error
    except socket.gaierror:
        return _look_up_in_time(host, port, timeout_s)


def _look_up(host: str, port: int, flags: int = 0) -> list[tuple[int, SocketAddress]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in found]


def _look_up_in_time(host: str, port: int, timeout_s: float) -> list[tuple[int, SocketAddress]]:
    """Asking a name server has no timeout of its own: a dead one would hold the thread for up to
    half a minute, so a thread of no importance waits for it."""
    answer: queue.SimpleQueue[list[tuple[int, SocketAddress]] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answer.put(_look_up(host, port))
        except OSError as error:
            answer.put(error)

    threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
    try:
        found = answer.get(timeout=timeout_s)
    except queue.Empty:
        raise Timeout(
            f"{host}: no answer from the name server in {timeout_s:g} s", reason=NO_CONNECTION
        ) from None
    if isinstance(found, OSError):
        raise translated(host, found) from found
    return found


def _not_connected(host: str, address: SocketAddress, error: OSError) -> HeadraceError:
    where = f"{host} ({address[0]} port {address[1]})"
    if isinstance(error, TimeoutError):
        return Timeout(f"{where}: no connection in time", reason=NO_CONNECTION)
    return translated(where, error)


def translated(where: str, error: OSError) -> HeadraceError:
    """What a failed connection means: the source's trouble, or ours."""
    if error.errno in _EXHAUSTED:
        return OutOfResources(
            f"{where}: {error.strerror}: raise this process's limits, or lower the concurrency"
        )
    return Unreachable(f"{where}: {error.strerror or error}", reason=_reason(error))


def _reason(error: OSError) -> str | None:
    if error.errno in _OFFLINE:
        return OFFLINE
    is_nameless = isinstance(error, socket.gaierror) and error.errno in _NO_NAME
    return NO_SUCH_HOST if is_nameless else None


class _Guarded:
    """Mixed into urllib3's connections."""

    door: Door
    _dns_host: str
    port: int

    def _new_conn(self) -> WatchedSocket:
        return self.door.dial(self._dns_host.strip("[]"), self.port, self.door.watch.connect_s)


class _HTTPConnection(_Guarded, urllib3.connection.HTTPConnection):
    """Plain."""


class _HTTPSConnection(_Guarded, urllib3.connection.HTTPSConnection):
    """TLS, always verified, with the process's one context."""

    def connect(self) -> None:
        """Shake hands within the connect deadline, then read under the watch."""
        self.ssl_context = self.door.tls()
        super().connect()
        if isinstance(self.sock, WatchedTLSSocket):
            self.sock.watch = self.door.watch


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection
    door: Door

    def _new_conn(self) -> BaseHTTPConnection:
        connection = super()._new_conn()
        connection.door = self.door  # type: ignore[attr-defined]
        return connection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection
    door: Door

    def _new_conn(self) -> BaseHTTPSConnection:
        connection = super()._new_conn()
        connection.door = self.door  # type: ignore[attr-defined]
        return connection


class GuardedPools(urllib3.PoolManager):
    """The pools of one session."""

    def __init__(self, door: Door, *, hosts: int, connections: int) -> None:
        super().__init__(num_pools=hosts, maxsize=connections)
        self._door = door
        self.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}

    def pool(self, scheme: str, host: str, port: int | None) -> urllib3.HTTPConnectionPool:
        """The pool of a host, by a short key: 1 µs to find, where the library's of 25 fields takes
        5."""
        key = (scheme, host, port or urllib3.connection.port_by_scheme[scheme])
        with self.pools.lock:
            pools = cast(
                "MutableMapping[tuple[str, str, int], urllib3.HTTPConnectionPool]", self.pools
            )
            pool = pools.get(key)
            if pool is None:
                pool = pools[key] = self._new_pool(*key)
        return pool

    def _new_pool(
        self,
        scheme: str,
        host: str,
        port: int,
        request_context: dict[str, Any] | None = None,
    ) -> urllib3.HTTPConnectionPool:
        pool = super()._new_pool(scheme, host, port, request_context)
        pool.door = self._door  # type: ignore[attr-defined]
        return pool
