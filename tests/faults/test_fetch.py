"""Sources, disks and shutdowns at their worst, on real sockets with tiny deadlines."""

from __future__ import annotations

import contextlib
import errno
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import HeadraceError, Released, StorageDown, Timeout, Unreachable
from core.fetch import connection
from core.fetch.deadline import WatchedTLSSocket
from core.fetch.sink import Sink
from core.model.request import Request
from tests.support.fetching import HeldPartial, Net, net, terms_of
from tests.support.media import jpeg
from tests.support.site import Exchange, Site, answer, cut, drip, drip_headers, hang, whole

BODY = jpeg(size_bytes=20_000)
ENDLESS_S = 15.0  # what drips or hangs here would go on for a minute, or for minutes


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def partial(tmp_path: Path) -> HeldPartial:
    return HeldPartial(tmp_path / "partial")


def _seconds(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


# --- fact 11: no drip holds a thread past its deadline ---


def test_fact_11_a_server_that_says_nothing_is_left_at_the_idle_deadline(site: Site) -> None:
    site.on("/", hang())
    with net(idle_s=0.2) as web, pytest.raises(Timeout, match=r"no byte for 0\.2 s"):
        web.page(site.url("/"))


def test_fact_11_dripping_headers_end_at_the_total_deadline(site: Site) -> None:
    site.on("/", drip_headers(every_s=0.02))

    def ask() -> None:
        with net(idle_s=5.0, total_s=0.5) as web, pytest.raises(Timeout, match="not done within"):
            web.page(site.url("/"))

    assert _seconds(ask) < ENDLESS_S


def test_fact_11_a_dripping_body_ends_at_the_total_deadline(
    site: Site, partial: HeldPartial
) -> None:
    site.on("/", drip(bytes(10_000), every_s=0.02, ETag='"1"'))

    def ask() -> None:
        with net(idle_s=5.0, total_s=1.5) as web, pytest.raises(Timeout, match="not done within"):
            web.download(site.url("/"), partial)

    assert _seconds(ask) < ENDLESS_S
    assert partial.path.stat().st_size > 0
    assert partial.validators is not None


def test_fact_11_dripping_chunk_lengths_end_at_the_total_deadline(
    site: Site, partial: HeldPartial
) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.head(200, {"Transfer-Encoding": "chunked"})
        for _ in range(1000):
            exchange.raw(b"0")
            exchange.wait(0.02)

    site.on("/", behave)
    with net(idle_s=5.0, total_s=0.4) as web, pytest.raises(Timeout):
        web.download(site.url("/"), partial)


def test_a_body_under_the_minimum_rate_is_left(site: Site, partial: HeldPartial) -> None:
    site.on("/", drip(bytes(10_000), every_s=0.02))
    slow = {"min_rate_window_s": 0.3, "min_bytes_per_s": 1000.0}
    with net(**slow) as web, pytest.raises(Timeout) as caught:
        web.download(site.url("/"), partial)

    assert caught.value.reason == "too_slow"


def test_a_slow_but_steady_body_is_waited_for(site: Site, partial: HeldPartial) -> None:
    site.on("/", drip(BODY, every_s=0.15, size=1000))
    with net(idle_s=2.0) as web:
        got = web.download(site.url("/"), partial)

    assert got.size_bytes == len(BODY)


def test_a_name_server_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def stuck(host: str, port: int, flags: int = 0) -> list[Any]:
        if flags:
            raise connection.socket.gaierror(-2, "not a literal")
        over.wait(10)
        return []

    monkeypatch.setattr(connection, "_look_up", stuck)
    try:
        with net(connect_s=0.1) as web, pytest.raises(Timeout, match="name server"):
            web.page("http://slow.example/")
    finally:
        over.set()


# --- orderly ends ---


def test_a_shutdown_in_mid_body_hands_back_what_is_held(site: Site, partial: HeldPartial) -> None:
    site.on("/", drip(BODY, every_s=0.02, size=100, ETag='"1"'), whole(BODY, etag='"1"'))
    with net() as web:
        with web.fetcher.visit(terms_of()) as visit, pytest.raises(Released):
            visit.download(Request(site.url("/")), partial, lambda _: web.stop.set())
        held = partial.path.stat().st_size
        web.stop.clear()
        got = web.download(site.url("/"), partial)

    assert 0 < held < len(BODY)
    assert (got.fetched.resumed, partial.path.read_bytes()) == (True, BODY)


def test_a_shutdown_wakes_a_read_that_waits(site: Site) -> None:
    site.on("/", hang())

    def ask() -> None:
        with net(idle_s=60.0) as web:
            timer = threading.Timer(0.2, web.stop.set)
            timer.start()
            with pytest.raises(Released):
                web.page(site.url("/"))
            timer.join()

    assert _seconds(ask) < ENDLESS_S


def test_a_step_longer_than_its_time_is_handed_over(site: Site, partial: HeldPartial) -> None:
    site.on("/", drip(BODY, every_s=0.02, size=100, ETag='"1"'))
    with net(hand_over_s=1.0) as web, pytest.raises(Released, match="handed back"):
        web.download(site.url("/"), partial)

    assert partial.validators is not None


def test_a_step_that_could_not_be_resumed_is_not_handed_over_but_has_an_end(
    site: Site, partial: HeldPartial
) -> None:
    """It would start from zero each time, and never end: so it gets longer, then a counted
    failure."""
    site.on("/", drip(BODY, every_s=0.02, size=100))
    with net(hand_over_s=0.2) as web, pytest.raises(Timeout, match=r"0\.5 s"):
        web.download(site.url("/"), partial)


def test_a_page_has_one_steps_time(site: Site) -> None:
    site.on("/", drip(BODY, every_s=0.02, size=100))
    with net(hand_over_s=0.2) as web, pytest.raises(Timeout):
        web.page(site.url("/"))


# --- disks ---


def _full_after(room: int) -> Callable[[Sink, memoryview], int]:
    """What stands for writing on a disk that takes `room` bytes."""
    append = Sink._append

    def _append(sink: Sink, data: memoryview) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = append(sink, data[:room])
        room -= count
        return count

    return _append


def test_a_disk_that_fills_up_is_the_stores_trouble_and_what_is_held_is_exact(
    site: Site, partial: HeldPartial, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.serve("/", BODY, etag='"1"')
    monkeypatch.setattr(Sink, "_append", _full_after(7000))
    with net() as web:
        with pytest.raises(StorageDown, match="No space left"):
            web.download(site.url("/"), partial)
        monkeypatch.undo()
        held = partial.path.read_bytes()
        got = web.download(site.url("/"), partial)

    assert held == BODY[:7000]
    assert partial.path.read_bytes() == BODY
    assert got.fetched.resumed


def test_a_folder_that_is_gone_is_the_stores_trouble(site: Site, tmp_path: Path) -> None:
    site.serve("/", BODY)
    with net() as web, pytest.raises(StorageDown):
        web.download(site.url("/"), HeldPartial(tmp_path / "gone" / "partial"))


def test_every_cut_ends_with_an_exact_file(site: Site, tmp_path: Path) -> None:
    """Cut after any number of bytes, again and again: the attempts add up to the file."""
    cuts = [0, 1, 2, 999, 5000, len(BODY) - 1]
    with net() as web:
        for after in cuts:
            path = f"/{after}"
            partial = HeldPartial(tmp_path / path[1:])
            site.on(path, cut(BODY, after, ETag='"1"'), whole(BODY, etag='"1"'))
            for _ in range(2):
                with contextlib.suppress(HeadraceError):
                    web.download(site.url(path), partial)

            assert partial.path.read_bytes() == BODY


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", str(path)]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", str(path) + ".crt"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    with path.open("ab") as both:
        both.write(Path(str(path) + ".crt").read_bytes())
    return path


@pytest.fixture
def tls_site(certificate: Path) -> Iterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Site(tls=context) as running:
        yield running


@pytest.fixture
def trusting(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    """A fetcher that knows the site's certificate, with short deadlines."""
    context = ssl.create_default_context(cafile=str(certificate))
    context.sslsocket_class = WatchedTLSSocket
    made = connection.Door

    def door(guard: Any, watch: Any) -> connection.Door:
        return made(guard, watch, tls=lambda: context)

    monkeypatch.setattr("core.fetch.fetcher.Door", door)
    with net(idle_s=2.5, total_s=8.0) as web:
        yield web


def test_an_unknown_certificate_is_refused(tls_site: Site) -> None:
    tls_site.serve("/", BODY)
    with net() as web, pytest.raises(Unreachable) as caught:
        web.page(tls_site.url("/"))

    assert caught.value.reason == "tls"
    assert tls_site.requests == []


def test_a_file_comes_over_tls(tls_site: Site, trusting: Net, partial: HeldPartial) -> None:
    tls_site.serve("/", bytes(3_000_000))

    assert trusting.download(tls_site.url("/"), partial).size_bytes == 3_000_000
    assert len(tls_site.requests) == 1


def test_fact_11_deadlines_hold_over_tls(tls_site: Site, trusting: Net) -> None:
    tls_site.on("/silent", hang())
    tls_site.on("/slow", drip_headers(every_s=0.02))

    with pytest.raises(Timeout, match=r"no byte for 2\.5 s"):
        trusting.page(tls_site.url("/silent"))
    with pytest.raises(Timeout, match="not done within 8 s"):
        trusting.page(tls_site.url("/slow"))


def test_a_pause_shorter_than_the_idle_deadline_breaks_no_tls_record(
    tls_site: Site, trusting: Net, partial: HeldPartial
) -> None:
    tls_site.on("/", drip(BODY, every_s=1.2, size=10_000))

    assert trusting.download(tls_site.url("/"), partial).size_bytes == len(BODY)


def test_a_server_that_never_shakes_hands_is_left_at_the_connect_deadline(site: Site) -> None:
    with net(connect_s=0.3) as web:
        began = time.monotonic()
        with pytest.raises((Timeout, Unreachable)):
            web.page(site.url("/").replace("http:", "https:"))

    assert time.monotonic() - began < ENDLESS_S


def test_secrets_do_not_follow_a_downgrade(tls_site: Site, site: Site, trusting: Net) -> None:
    terms = terms_of(
        secret_headers={"Authorization": "Bearer hush"},
        secret_query={"key": "hush"},
        secret_hosts=("127.0.0.1",),
    )
    tls_site.redirect("/a", site.url("/b"))
    site.on("/b", answer(200, body=b"x"))

    trusting.page(tls_site.url("/a"), terms)

    assert tls_site.requests[0].path == "/a?key=hush"
    assert site.requests[0].path == "/b"
    assert site.requests[0].headers["Authorization"] is None
