"""The only HTTP session that Headrace can make. Its transport takes a token for every request that
goes out, and refuses one that carries no allowance; so nothing goes around the budget."""

from __future__ import annotations

import http.client
import logging
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import requests
import requests.adapters
import urllib3
import urllib3.exceptions
from requests.structures import CaseInsensitiveDict

from core.errors import HeadraceError, Malformed, Refused, ServerTrouble, Timeout, Unreachable
from core.fetch.allowance import Allowance
from core.fetch.connection import Door, GuardedPools

_HOSTS = 16  # pools a session keeps open
_NO_RETRY = urllib3.Retry(False)  # a retry is a request, which needs a token of its own

_FOREIGN = (
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)


class Outgoing(requests.PreparedRequest):
    """A GET ready to go, with the allowance that pays for it. `shown` is its address for messages,
    struck out. What the library's own preparation would do is done: its constructor is left out,
    and the address taken apart once, where it did so three times."""

    def __init__(
        self, url: str, headers: Mapping[str, str], allowance: Allowance, shown: str
    ) -> None:
        self.method = "GET"
        self.url = self.address = url
        parts = urlsplit(url)
        self.scheme, self.host, self.port = parts.scheme, parts.hostname or "", parts.port
        self.target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        self.headers = CaseInsensitiveDict(headers)
        self.body = None
        self.allowance = allowance
        self.shown = shown


class Bare(requests.Response):
    """An answer as it came off the wire. The library's constructor makes a cookie jar and a dozen
    fields that nobody reads here, and copies the headers: 15 of 300 us of a request's CPU."""

    def __init__(self, raw: urllib3.BaseHTTPResponse) -> None:
        self._content_consumed = False
        self.status_code, self.raw = raw.status, raw
        self.headers = cast("CaseInsensitiveDict[str]", raw.headers)  # in any case, as that is


class BudgetAdapter(requests.adapters.HTTPAdapter):
    """requests' transport, behind the budget and the guard."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.total_s = 0.0  # set by the visit
        super().__init__(pool_connections=_HOSTS, pool_maxsize=1)
        self.max_retries = _NO_RETRY

    poolmanager: GuardedPools

    def init_poolmanager(self, connections: int, maxsize: int, *_: object, **__: object) -> None:
        """Pools whose connections pass the guard."""
        self.poolmanager = GuardedPools(self.door, hosts=connections, connections=maxsize)

    def cert_verify(self, *_: object) -> None:
        """Nothing to do: every connection verifies with the one context of the process."""

    def send(
        self, request: requests.PreparedRequest, *_: object, **__: object
    ) -> requests.Response:
        """Take a token, then send. No caller can ask for a proxy, other timeouts or less TLS."""
        if not isinstance(request, Outgoing):
            raise Refused(
                "a request without an allowance: only a Visit may ask", reason="no_allowance"
            )
        self.door.guard.check_scheme(request.address, request.shown)
        request.allowance.take(request.host)
        self.door.watch.begin(self.total_s)
        try:
            response = self._asked(request)
        except HeadraceError as error:
            request.allowance.over(request.shown, error.reason)
            raise
        request.allowance.reached()
        return response

    def _asked(self, request: Outgoing) -> requests.Response:
        try:
            return self._ask(request)
        except _FOREIGN as error:
            raise _translated(error, request.shown) from error

    def _ask(self, request: Outgoing) -> requests.Response:
        """As the library's `send`, for a plain GET: what that looks up and parses anew for each
        request (the pool's key, proxies, certificates, cookies) took 40 of 300 µs of its CPU.
        The door has a deadline of its own for connecting, so the timeout is the slice always."""
        raw = self.poolmanager.pool(request.scheme, request.host, request.port).urlopen(
            "GET",
            request.target,
            headers=request.headers,
            retries=_NO_RETRY,
            redirect=False,
            assert_same_host=False,
            timeout=self.door.watch.slice_s,
            preload_content=False,
            decode_content=False,
        )
        return Bare(raw)


class Session(requests.Session):
    """One thread's connections to one source. Reads nothing of the environment: no proxies, no
    netrc, no certificate bundle of someone else's."""

    def __init__(self, door: Door) -> None:
        super().__init__()
        self.trust_env = False
        self.door = door
        self.transport = BudgetAdapter(door)
        self.adapters.clear()
        self.mount("http://", self.transport)
        self.mount("https://", self.transport)

    def ask(self, outgoing: Outgoing) -> requests.Response:
        """Send one request and read the answer's head. Redirects, cookies and statuses are the
        caller's."""
        opened = self.door.opened
        try:
            return self.transport.send(outgoing)
        except Unreachable:
            if self.door.opened > opened:
                raise
        # A kept connection that the other side closed just now says nothing about the source.
        return self.transport.send(outgoing)


def _translated(error: Exception, what: str) -> HeadraceError:
    """What a failure before or within an answer's head is in our own terms."""
    cause = _innermost(error)
    if isinstance(cause, http.client.RemoteDisconnected | ConnectionError):
        return Unreachable(f"{what}: the connection ended before an answer")
    if isinstance(error, urllib3.exceptions.SSLError):
        return Unreachable(f"{what}: no trusted TLS connection: {cause}", reason="tls")
    if isinstance(cause, TimeoutError):
        return Timeout(f"{what}: no answer in time")
    if isinstance(cause, http.client.HTTPException | urllib3.exceptions.HTTPError):
        return ServerTrouble(
            f"{what}: the answer is no HTTP: {type(cause).__name__}", reason="bad_answer"
        )
    if isinstance(cause, OSError):
        return Unreachable(f"{what}: {cause.strerror or type(cause).__name__}")
    return Malformed(f"{what}: can't be asked for: {type(cause).__name__}", reason="bad_address")


def _innermost(error: BaseException) -> BaseException:
    """What lies within the wrappings of requests and urllib3."""
    for inner in (error.__cause__, *error.args[::-1]):
        if isinstance(inner, BaseException):
            return _innermost(inner)
    return error


def quiet_logs() -> None:
    """urllib3 logs addresses with their queries, secrets and all: nothing of it is let out."""
    for name in ("urllib3.connection", "urllib3.connectionpool"):
        logging.getLogger(name).addFilter(_nothing)


def _nothing(_: logging.LogRecord) -> bool:
    return False
