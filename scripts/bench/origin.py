#!/usr/bin/env python3
"""The server that the benchmarks load: distinct valid JPEGs, or the fragments of a video, as cheap
to serve as Python can, so that it is the crawler that is measured. Prints its address, serves until
SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench.film import Film

PICTURE = Path(__file__).resolve().parents[1] / "sample_site" / "media" / "dawn.jpg"
_COMMENT = b"\xff\xfe"  # a JPEG comment: what makes each image its own and fills it up


class Served:
    """When each file was asked for."""

    def __init__(self) -> None:
        self.times: list[float] = []  # monotonic seconds

    def steady_per_s(self) -> float:
        """The rate of the middle four fifths, free of start and end."""
        first, last = len(self.times) // 10, len(self.times) - 1 - len(self.times) // 10
        return (last - first) / (self.times[last] - self.times[first]) if last > first else 0.0


class Gallery(Served):
    """Images of exactly `size_bytes`, as many as are asked for; only a comment's head differs."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__()
        self._picture = PICTURE.read_bytes()[2:]  # after the start marker
        comment_bytes = size_bytes - len(self._picture) - 2 - len(_COMMENT)
        if not 64 <= comment_bytes <= 0xFFFF:
            low = len(self._picture) + 4
            raise SystemExit(f"--bytes: between {low + 64} and {low + 0xFFFF}")
        self._head = b"\xff\xd8" + _COMMENT + comment_bytes.to_bytes(2, "big")
        self._fill = b"~" * (comment_bytes - 2 - 32)  # after the length and what is its own

    def image(self, name: str) -> tuple[bytes, ...]:
        """The parts of one image; another name, other bytes."""
        self.times.append(time.monotonic())
        own = hashlib.blake2s(name.encode(), digest_size=16).hexdigest().encode()
        return self._head, own, self._fill, self._picture

    def listed(self, run: str, count: int, address: str) -> str:
        """`count` addresses that belong to one run."""
        return "\n".join(f"{address}/image/{run}/{n:06d}.jpg" for n in range(count))

    def find(self, path: str) -> tuple[str, *tuple[bytes, ...]]:
        """The type and the parts of a file; of any other path nothing, which counts as lost."""
        return ("image/jpeg", *self.image(path)) if path.startswith("/image/") else ("text/plain",)


class Cinema(Served):
    """One video, whole or its beginning, under a name for each run."""

    def __init__(self, film: Film) -> None:
        super().__init__()
        self._film = film

    def listed(self, run: str, count: int, address: str) -> str:
        """One manifest, of `count` fragments."""
        return f"{address}/film/{run}/{count}/index.m3u8"

    def find(self, path: str) -> tuple[str, *tuple[bytes | memoryview, ...]]:
        """The type and the parts of a manifest or a fragment."""
        match path.strip("/").split("/"):
            case ["film", _, count, "index.m3u8"]:
                return "application/vnd.apple.mpegurl", self._film.manifest(int(count))
            case ["film", _, _, name]:
                self.times.append(time.monotonic())
                return "video/mp2t", *self._film.fragment(int(name.removesuffix(".ts")))
            case _:
                return "text/plain", b""


class Connection(asyncio.Protocol):
    """One kept-alive connection; requests come one at a time."""

    def __init__(self, shown: Gallery | Cinema, latency_s: float) -> None:
        self._shown, self._latency_s = shown, latency_s
        self._asked = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._asked += data
        if self._asked.endswith(b"\r\n\r\n"):
            path = self._asked.split(b" ", 2)[1].decode()
            self._asked = b""
            if self._latency_s:
                asyncio.get_running_loop().call_later(self._latency_s, self._answer, path)
            else:
                self._answer(path)

    def _answer(self, path: str) -> None:
        kind, *parts = self._find(path)
        size = sum(map(len, parts))
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\r\n"
        self._transport.write(b"".join([head.encode(), *parts]))

    def _find(self, path: str) -> tuple[str, *tuple[bytes | memoryview, ...]]:
        match path.strip("/").split("/"):
            case ["list", run, count]:
                host, port = self._transport.get_extra_info("sockname")[:2]
                listed = self._shown.listed(run, int(count), f"http://{host}:{port}")
                return "text/plain", listed.encode()
            case ["count"]:
                told = {"served": len(self._shown.times), "steady": self._shown.steady_per_s()}
                return "application/json", json.dumps(told).encode()
            case ["count", "anew"]:
                self._shown.times.clear()
                return "text/plain", b"counting anew\n"
            case _:
                return self._shown.find(path)


async def serve(shown: Gallery | Cinema, latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(
        lambda: Connection(shown, latency_s), "127.0.0.1", 0, backlog=128
    )
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}", flush=True)
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=30_000)
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--film", type=Path, help="a folder of fragments to serve instead")
    options = parser.parse_args()
    shown = Cinema(Film(options.film, options.bytes)) if options.film else Gallery(options.bytes)
    asyncio.run(serve(shown, options.latency_ms / 1000))


if __name__ == "__main__":
    main()
