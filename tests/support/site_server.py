"""The server under `Site`: a thread a connection, all of which end with it."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.server.exchange(self)

    def do_HEAD(self) -> None:
        self.server.exchange(self)

    def log_message(self, *_: Any) -> None:
        """The log is `site.requests`."""


class Server(ThreadingHTTPServer):
    daemon_threads = False  # joined by server_close: nothing outlives the test
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        exchange: Callable[[Handler], None],
        tls: ssl.SSLContext | None,
    ) -> None:
        self.exchange = exchange
        self.connections = 0  # accepted so far
        self._tls = tls
        self._open: set[socket.socket] = set()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """As TCPServer does it: without looking up this machine's name."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        self._open.add(request)
        super().process_request(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._tls is not None:
            request = self._tls.wrap_socket(request, server_side=True)
            self._open.add(request)
        super().finish_request(request, client_address)
        if self._tls is not None:
            self._open.discard(request)
            request.close()

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error here."""

    def close_connections(self) -> None:
        """Wake the threads that wait for a next request."""
        for request in list(self._open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)
