"""The sample site: three open feeds and three named sources with their media, served on loopback by
the standard library. Its addresses are absolute, so they are written when the port is known."""

from __future__ import annotations

import contextlib
import mimetypes
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import urlsplit

from scripts.sample_site.answers import Answer, Resource, answer, missing
from scripts.sample_site.bilibili import Bilibili
from scripts.sample_site.facebook import Facebook
from scripts.sample_site.speaking import Asked, Speaker
from scripts.sample_site.weibo import Weibo

HERE = Path(__file__).parent
PLACEHOLDER = "http://sample.invalid"  # stands in the feeds for the address of the day
FEEDS = ("pictures.rss", "notebook.json", "walk.txt")
SAME_BYTES = {
    "/media/dawn-again.jpg": "/media/dawn.jpg",
    "/archive/reeds.webp": "/media/reeds.webp",
}
DEAD_LINK = "/media/bridge.jpg"
VIDEOS = {  # manifests, and what each has: pieces that are got for it
    "/media/brook/brook.m3u8": 11,  # the larger picture and its sound, each with its init part
    "/media/flood/index.m3u8": 4,
    "/media/night/index.m3u8": 4,
}
MIMES = {
    ".rss": "application/rss+xml",
    ".json": "application/feed+json",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".m3u8": "application/vnd.apple.mpegurl",
    ".ts": "video/mp2t",
    ".m4s": "video/iso.segment",
    ".key": "application/octet-stream",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that was answered."""

    method: str
    path: str
    range: str
    status: int
    sent_bytes: int
    at: float  # monotonic seconds


class _Server(ThreadingHTTPServer):
    """Knows its open connections, so that closing leaves no thread behind."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, site: SampleSite, port: int) -> None:
        self.site = site
        self.open: set[socket.socket] = set()
        self.closing = False
        super().__init__(("127.0.0.1", port), _Handler)

    def hang_up(self) -> None:
        """End the connections that clients keep open; their threads then end by themselves."""
        self.closing = True
        for connection in list(self.open):
            _hang_up(connection)


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # its client was faster
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms behind its headers
    timeout = 60
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)
        if self.server.closing:  # accepted a moment before
            _hang_up(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._send(self.server.site.respond(self), with_body=True)

    def do_HEAD(self) -> None:
        self._send(self.server.site.respond(self), with_body=False)

    def _send(self, reply: Answer, *, with_body: bool) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(reply.body)

    def log_message(self, *args: object) -> None:
        """Quiet: the site keeps its own log."""


class SampleSite:
    """Serves while its context is open. `log` gets a line a request."""

    def __init__(
        self, port: int = 0, *, latency_s: float = 0.0, log: IO[str] | None = None
    ) -> None:
        self._port, self._latency_s, self._log = port, latency_s, log
        self._lock = threading.Lock()
        self.requests: list[Seen] = []

    def __enter__(self) -> SampleSite:
        self._server = _Server(self, self._port)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.resources = dict(_resources(self.address))
        now = time.time()
        self.facebook = Facebook(self.address, now)
        self.weibo = Weibo(self.address, now)
        self.bilibili = Bilibili(self.address, now)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    @property
    def feeds(self) -> tuple[str, ...]:
        """The feeds' addresses: Media RSS, JSON Feed, text list."""
        return tuple(f"{self.address}/{name}" for name in FEEDS)

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        """The named sources."""
        return self.facebook, self.weibo, self.bilibili

    def begin_anew(self) -> None:
        """The named sources throttle once more, and give out what is dead once more."""
        for speaker in self.speakers:
            speaker.begin_anew()

    def respond(self, request: BaseHTTPRequestHandler) -> Answer:
        """Answer after the latency, and note it."""
        reply = self._answer(Asked.of(request.path, request.headers))
        path = urlsplit(request.path).path
        if self._latency_s:
            time.sleep(self._latency_s)
        asked = request.headers.get("Range", "-")
        sent = len(reply.body) if request.command == "GET" else 0
        self._note(Seen(request.command, path, asked, reply.status, sent, time.monotonic()))
        return reply

    def _answer(self, asked: Asked) -> Answer:
        for speaker in self.speakers:
            reply = speaker.answer(asked)
            if reply is not None:
                return reply
        found = self.resources.get(asked.path)
        return answer(found, asked.headers) if found else missing(asked.path)

    def _note(self, seen: Seen) -> None:
        with self._lock:
            self.requests.append(seen)
            if self._log is not None:
                line = (seen.method, seen.path, seen.range, seen.status, seen.sent_bytes)
                print(*line, sep="\t", file=self._log, flush=True)


def _resources(address: str) -> Iterator[tuple[str, Resource]]:
    """Every address of the site. Looked up whole, so that no path can lead anywhere else."""
    for file in sorted((HERE / "feeds").iterdir()):
        body = file.read_bytes().replace(PLACEHOLDER.encode(), address.encode())
        yield f"/{file.name}", Resource(body, MIMES[file.suffix])
    files = (file for file in sorted((HERE / "media").rglob("*")) if file.is_file())
    media = {f"/{file.relative_to(HERE).as_posix()}": _media(file) for file in files}
    yield from media.items()
    for path, original in SAME_BYTES.items():
        yield path, media[original]
    yield "/", _front_page(address)


def _media(file: Path) -> Resource:
    guess = MIMES.get(file.suffix) or mimetypes.guess_type(file.name)[0]
    return Resource(file.read_bytes(), guess or "application/octet-stream")


def _front_page(address: str) -> Resource:
    links = "".join(f'<li><a href="{address}/{name}">{name}</a></li>' for name in FEEDS)
    page = f"<!doctype html><title>The Mill Pond</title><h1>The Mill Pond</h1><ul>{links}</ul>"
    return Resource(page.encode(), "text/html; charset=utf-8")
