"""A site that misbehaves, on loopback: each path has a script of behaviours, and everything asked
of it is remembered.

    with Site() as site:
        site.serve("/x.jpg", body, etag='"1"')            # well behaved: Range, If-Range, HEAD
        site.on("/y.jpg", cut(body, after=100), whole(body))  # first so, then so; the last repeats
        fetch(site.url("/x.jpg"))
        assert site.requests[0].headers["User-Agent"] == ...
"""

from __future__ import annotations

import gzip
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import responses
from typing import Any

from scripts.servers.process import free_port
from tests.support.site_server import Handler, Server

GENERIC = "application/octet-stream"


@dataclass(frozen=True)
class Seen:
    """A request as the site saw it."""

    method: str
    path: str  # with its query
    headers: Message  # names in any case; `headers["Range"]` is None where none was sent
    at: float  # monotonic seconds


class Exchange:
    """What a behaviour can do with one request."""

    def __init__(self, handler: Handler, seen: Seen, closing: threading.Event) -> None:
        self._handler = handler
        self._closing = closing
        self.method, self.path, self.headers = seen.method, seen.path, seen.headers

    def head(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        """The status line and headers, just as told: no length is added."""
        lines = [f"HTTP/1.1 {status} {responses.get(status, 'Odd')}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.raw("\r\n".join([*lines, "\r\n"]).encode("latin-1"))

    def answer(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        """A whole answer with its true length."""
        self.head(status, {"Content-Length": str(len(body))} | dict(headers or {}))
        if self.method != "HEAD":
            self.raw(body)

    def raw(self, data: bytes) -> None:
        """Bytes on the wire."""
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def wait(self, seconds: float) -> None:
        """A pause that ends with the site; afterwards writing fails."""
        if self._closing.wait(seconds):
            raise ConnectionAbortedError("the site is closing")

    def drop(self) -> None:
        """Close the connection in good order (FIN), whatever was promised."""
        self._handler.close_connection = True

    def reset(self) -> None:
        """Close it with a reset."""
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # on, 0 seconds
        self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.drop()


Behaviour = Callable[[Exchange], None]


class Site:
    """Behaviours by path. Threads only; ends everything it started."""

    def __init__(self, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Seen] = []
        self._scripts: dict[str, list[Behaviour]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        # Not of the kernel's choosing: once the site has ended, nobody else is given its port.
        self._server = Server((host, free_port()), self._exchange, tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.host, self.port = host, int(self._server.server_address[1])
        self._scheme = "http" if tls is None else "https"

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()

    def url(self, path: str = "/", *, host: str | None = None) -> str:
        """The address of a path; `host` for another name of this machine."""
        return f"{self._scheme}://{host or self.host}:{self.port}{path}"

    def on(self, path: str, *behaviours: Behaviour) -> None:
        """What happens there: one a request, the last one for ever. Query strings don't matter."""
        with self._lock:
            self._scripts[path] = list(behaviours)

    def serve(self, path: str, body: bytes, **how: Any) -> None:
        """A well behaved file; `how` as for `whole`."""
        self.on(path, whole(body, **how))

    def redirect(self, path: str, to: str, status: int = 302, **headers: str) -> None:
        """A redirect, for ever."""
        self.on(path, answer(status, {"Location": to} | headers))

    def asked(self, path: str) -> list[Seen]:
        """The requests for one path, in order."""
        with self._lock:
            return [seen for seen in self.requests if seen.path.partition("?")[0] == path]

    @property
    def connections(self) -> int:
        """How many were accepted so far."""
        return self._server.connections

    def _behaviour(self, seen: Seen) -> Behaviour:
        """Take the next behaviour of the script."""
        with self._lock:
            self.requests.append(seen)
            script = self._scripts.get(seen.path.partition("?")[0], [answer(404)])
            return script.pop(0) if len(script) > 1 else script[0]

    def _exchange(self, handler: Handler) -> None:
        """One request."""
        seen = Seen(handler.command, handler.path, handler.headers, time.monotonic())
        try:
            self._behaviour(seen)(Exchange(handler, seen, self._closing))
        except OSError:
            handler.close_connection = True  # the client went away, or the site is closing


# --- behaviours ---


def answer(status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Behaviour:
    """A plain answer."""
    return lambda exchange: exchange.answer(status, headers, body)


def whole(
    body: bytes,
    *,
    content_type: str = GENERIC,
    etag: str | None = None,
    last_modified: str | None = None,
    ranges: bool = True,
    headers: Mapping[str, str] | None = None,
    delay_s: float = 0.0,
) -> Behaviour:
    """A file served rightly: 200, 206, 416, If-Range honoured. `ranges=False` ignores Range."""
    told = {"Content-Type": content_type} | dict(headers or {})
    told |= {"ETag": etag} if etag else {}
    told |= {"Last-Modified": last_modified} if last_modified else {}

    def behave(exchange: Exchange) -> None:
        exchange.wait(delay_s)
        asked = _range(exchange, len(body)) if ranges else None
        guard = exchange.headers["If-Range"]
        if asked is None or (guard is not None and guard not in (etag, last_modified)):
            exchange.answer(200, told, body)
        elif asked.start >= len(body):
            exchange.answer(416, told | {"Content-Range": f"bytes */{len(body)}"})
        else:
            span = f"bytes {asked.start}-{asked.stop - 1}/{len(body)}"
            exchange.answer(206, told | {"Content-Range": span}, body[asked.start : asked.stop])

    return behave


def _range(exchange: Exchange, size: int) -> range | None:
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", exchange.headers["Range"] or "")
    if match is None:
        return None
    return range(int(match[1]), min(int(match[2]) + 1 if match[2] else size, size))


def cut(body: bytes, after: int, *, reset: bool = False, **headers: str) -> Behaviour:
    """Promise the whole length, send `after` bytes, hang up. Header names with `_` for `-`."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Length": str(len(body))} | _named(headers))
        exchange.raw(body[:after])
        exchange.reset() if reset else exchange.drop()

    return behave


def no_length(body: bytes, **headers: str) -> Behaviour:
    """The end of the connection is the end of the body."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, {"Connection": "close"} | _named(headers))
        exchange.raw(body)
        exchange.drop()

    return behave


def chunked(body: bytes, *, size: int = 1000, broken_after: int | None = None) -> Behaviour:
    """Chunked coding; `broken_after` chunks comes nonsense."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, {"Transfer-Encoding": "chunked"})
        for index, start in enumerate(range(0, len(body), size)):
            if index == broken_after:
                exchange.raw(b"zz\r\nnonsense\r\n")
                return exchange.drop()
            piece = body[start : start + size]
            exchange.raw(b"%x\r\n%s\r\n" % (len(piece), piece))
        return exchange.raw(b"0\r\n\r\n")

    return behave


def gzipped(body: bytes, *, status: int = 200, **headers: str) -> Behaviour:
    """Content-coded, whatever was asked for."""
    return answer(status, {"Content-Encoding": "gzip"} | _named(headers), gzip.compress(body))


def hang() -> Behaviour:
    """Take the request and say nothing."""
    return lambda exchange: exchange.wait(60.0)


def drip(body: bytes, *, every_s: float, size: int = 1, **headers: str) -> Behaviour:
    """A body that comes `size` bytes at a time."""

    def behave(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Length": str(len(body))} | _named(headers))
        for start in range(0, len(body), size):
            exchange.raw(body[start : start + size])
            exchange.wait(every_s)

    return behave


def drip_headers(*, every_s: float, count: int = 10_000) -> Behaviour:
    """Headers that never end."""

    def behave(exchange: Exchange) -> None:
        exchange.raw(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(count):
            exchange.raw(b"x")
            exchange.wait(every_s)

    return behave


def raw(data: bytes) -> Behaviour:
    """Any bytes, then hang up: an answer of your own making."""

    def behave(exchange: Exchange) -> None:
        exchange.raw(data)
        exchange.drop()

    return behave


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
