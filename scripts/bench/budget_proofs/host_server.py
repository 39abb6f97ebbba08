#!/usr/bin/env python3
"""The host of the benchmark's sources, in a process of its own: answers as it is told to, and keeps
a log of what arrived and when. Prints its address, serves until SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from scripts.bench.budget_proofs.answers import Asked, Body, Shown

_MOST_ARRIVALS = 2_000_000
_GRANTED = re.compile(rb"\r\nX-Granted-At: (\d+)\r\n", re.IGNORECASE)
_FEEDS = "feed"


@dataclass(slots=True)
class Behaviour:
    """How a source answers. Its feeds always answer well, unless `feeds_too`."""

    latency_s: float = 0.0
    never: bool = False  # take the request and say nothing
    status: int = 200
    retry_after: str | None = None
    gate: int = 0  # hold requests until so many wait, answer all with `status`, then be well
    times: int | None = None  # so many answers with `status`, then be well; None: for ever
    feeds_too: bool = False


@dataclass(slots=True)
class Arrival:
    """One request, when it had arrived as a whole, and its answer."""

    at_ns: int  # monotonic
    wall_ns: int
    path: str
    granted_us: int  # when its token was granted, by the budget's storage; 0: none was told
    status: int = 0
    answered_ns: int = 0


@dataclass(slots=True)
class Source:
    """One source's log and how it behaves."""

    behaviour: Behaviour = field(default_factory=Behaviour)
    arrivals: list[Arrival] = field(default_factory=list)
    gated: list[Callable[[], None]] = field(default_factory=list)
    open: int = 0  # requests without an answer yet
    most_open: int = 0


class Host:
    """Every source."""

    def __init__(self) -> None:
        self.shown = Shown()
        self.sources: dict[str, Source] = {}

    def source(self, name: str) -> Source:
        return self.sources.setdefault(name, Source())

    def told(self, path: str) -> object:
        """The bench asks or orders something."""
        match path.strip("/").split("/", 3)[1:]:
            case ["behave", name, told]:
                self.source(name).behaviour = Behaviour(**json.loads(unquote(told)))
                return "ok"
            case ["count"]:
                return {
                    name: {"arrived": len(s.arrivals), "open": s.open, "most_open": s.most_open}
                    for name, s in self.sources.items()
                }
            case ["log", name]:
                return [asdict(arrival) for arrival in self.source(name).arrivals]
            case ["anew"]:
                for source in self.sources.values():
                    source.arrivals, source.most_open = [], source.open
                return "ok"
            case _:
                return "what?"


class Connection(asyncio.Protocol):
    """One kept-alive connection; requests come one at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._asked = b""
        self._waiting: Source | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._waiting is not None:
            self._waiting.open -= 1
            self._waiting = None

    def data_received(self, data: bytes) -> None:
        self._asked += data
        if self._asked.endswith(b"\r\n\r\n"):
            head, self._asked = self._asked, b""
            path = head.split(b" ", 2)[1].decode()
            if path.startswith("/-/"):
                self._write(Body(json.dumps(self._host.told(path)).encode(), "application/json"))
            else:
                self._arrived(path, head)

    def _arrived(self, path: str, head: bytes) -> None:
        asked = Asked.read(path)
        source = self._host.source(asked.source)
        granted = _GRANTED.search(head)
        arrival = Arrival(
            time.monotonic_ns(), time.time_ns(), path, int(granted[1]) if granted else 0
        )
        if len(source.arrivals) < _MOST_ARRIVALS:
            source.arrivals.append(arrival)
        source.open += 1
        source.most_open = max(source.most_open, source.open)
        self._waiting = source
        self._decide(asked, source, arrival)

    def _decide(self, asked: Asked, source: Source, arrival: Arrival) -> None:
        behaviour = source.behaviour
        later = asyncio.get_running_loop().call_later
        if asked.kind == _FEEDS and not behaviour.feeds_too:
            self._answer(asked, source, arrival, None)
        elif behaviour.never:
            return
        elif behaviour.gate:
            refused = _only_refusal(behaviour)
            source.gated.append(lambda: self._answer(asked, source, arrival, refused))
            if len(source.gated) >= behaviour.gate:
                source.behaviour = Behaviour(latency_s=behaviour.latency_s)
                waiting, source.gated = source.gated, []
                for answer in waiting:
                    answer()
        else:
            refusal = self._refusal(source)
            later(behaviour.latency_s, self._answer, asked, source, arrival, refusal)

    def _refusal(self, source: Source) -> Behaviour | None:
        behaviour = source.behaviour
        if behaviour.status == 200 or behaviour.times == 0:
            return None
        if behaviour.times is not None:
            behaviour.times -= 1
        return _only_refusal(behaviour)

    def _answer(
        self, asked: Asked, source: Source, arrival: Arrival, refusal: Behaviour | None
    ) -> None:
        if self._waiting is None:  # the other side has gone
            return
        self._waiting = None
        source.open -= 1
        if refusal is None:
            host, port = self._transport.get_extra_info("sockname")[:2]
            body = self._host.shown.find(asked, f"http://{host}:{port}")
        else:
            body = Body(b"not now", "text/plain", status=refusal.status)
        arrival.status, arrival.answered_ns = body.status, time.monotonic_ns()
        self._write(body, refusal.retry_after if refusal else None)

    def _write(self, body: Body, retry_after: str | None = None) -> None:
        lines = [f"HTTP/1.1 {body.status} {'OK' if body.status < 300 else 'No'}"]
        lines += [f"Content-Type: {body.content_type}", f"Content-Length: {len(body.content)}"]
        lines += [f"Location: {body.location}"] if body.location else []
        lines += [f"Retry-After: {retry_after}"] if retry_after is not None else []
        head = "\r\n".join([*lines, "", ""]).encode()
        self._transport.write(head + body.content[: body.cut_at])
        if body.cut_at is not None:
            self._transport.close()


def _only_refusal(behaviour: Behaviour) -> Behaviour:
    return Behaviour(status=behaviour.status, retry_after=behaviour.retry_after)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    host = Host()
    server = await loop.create_server(lambda: Connection(host), "127.0.0.1", port, backlog=1024)
    address, bound = server.sockets[0].getsockname()[:2]
    print(f"http://{address}:{bound}", flush=True)
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
