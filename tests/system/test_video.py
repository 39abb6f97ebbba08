"""Videos that come in pieces, from feed to file in both modes: what was filed plays as the source's
own pieces do, frame by frame, whatever was interrupted, lost or dead on the way."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import redis

from core.store.store import Store
from scripts.sample_site.site import MIMES
from tests.support.clock import FakeClock
from tests.support.command import (
    FAST,
    LOOPBACK,
    QUICK_TO_GIVE_UP,
    Started,
    checked,
    headrace,
    objects,
    told,
    until,
)
from tests.support.rendered import Frames, ffmpeg, frames
from tests.support.site import Behaviour, Site, answer, hang, whole
from tests.support.workers import Workers

pytestmark = pytest.mark.system

MEDIA = Path(__file__).parents[2] / "scripts" / "sample_site" / "media"
FLOOD, NIGHT, BROOK = "flood/index.m3u8", "night/index.m3u8", "brook/brook.m3u8"
ALL = (FLOOD, NIGHT, BROOK)
NIGHT_MANIFEST = ["/night/index.m3u8", "/night/night.key"]  # each later generation reads it again
NIGHT_PIECES = [f"/night/night-{number}.ts" for number in range(7, 11)]


@pytest.fixture(autouse=True)
def _ffmpeg() -> None:
    if which("ffmpeg") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("ffmpeg is missing")


@pytest.fixture
def site() -> Iterator[Site]:
    """The sample site's videos, under a list of one at /list.txt, to be made to misbehave."""
    with Site() as site:
        for path in sorted(MEDIA.glob("*/*")):
            site.serve(address_of(path), path.read_bytes(), **how(path))
        yield site


def address_of(path: Path) -> str:
    return f"/{path.relative_to(MEDIA).as_posix()}"


def how(path: Path, **more: Any) -> dict[str, Any]:
    mime = MIMES.get(path.suffix, "application/octet-stream")
    return {"content_type": mime, "etag": f'"{path.stat().st_size}"'} | more


def well(address: str, **more: Any) -> Behaviour:
    """The piece at an address as it should be answered."""
    path = MEDIA / address[1:]
    return whole(path.read_bytes(), **how(path, **more))


def listed(site: Site, *videos: str) -> str:
    """The address of a list of these."""
    lines = "".join(f"{site.url(f'/{video}')}\n" for video in videos)
    site.serve("/list.txt", lines.encode(), content_type="text/plain")
    return site.url("/list.txt")


def crawl(address: str, cwd: Path, *more: object, **env: str) -> subprocess.CompletedProcess[str]:
    return headrace("crawl", address, "--to", "store", *LOOPBACK, *FAST, *more, cwd=cwd, **env)


def played(video: str, folder: Path) -> Frames:
    """What a player shows of a manifest and its pieces, which it reads by itself."""
    copy = folder / f"{video.partition('/')[0]}.mkv"
    source = ("-allowed_extensions", "ALL", "-i", MEDIA / video)
    ffmpeg(*source, "-map", "0:v:0", "-map", "0:a:0", "-c", "copy", copy)
    return frames(copy)


def filed(store: Path) -> set[Frames]:
    """What a player shows of each file in the store."""
    return {frames(path) for path in (store / "objects").rglob("*") if path.is_file()}


def half_got(store: Path) -> list[str]:
    """The media of which something is staged."""
    return list(Store.look(store, clock=FakeClock()).staging.media())


def in_place(store: Path) -> int:
    """How many pieces are."""
    return sum(1 for _ in store.glob("staging/*/*.pieces/000*"))


# --- the whole way ---


def test_every_video_plays_as_its_pieces_do(site: Site, tmp_path: Path):
    run = crawl(listed(site, *ALL), tmp_path, "--json")

    assert run.returncode == 0, run.stderr
    assert told(run)["got"] == 3
    assert filed(tmp_path / "store") == {played(video, tmp_path) for video in ALL}
    assert checked(tmp_path / "store").returncode == 0
    assert half_got(tmp_path / "store") == []


def test_every_piece_and_the_key_are_asked_for_once(site: Site, tmp_path: Path):
    crawl(listed(site, *ALL), tmp_path)
    asked = [seen.path for seen in site.requests]

    assert len(asked) == len(set(asked))
    assert "/brook/large.m3u8" in asked
    assert "/brook/small.m3u8" not in asked


def test_a_rerun_asks_for_nothing_of_a_video(site: Site, tmp_path: Path):
    address = listed(site, NIGHT)
    crawl(address, tmp_path)
    before = len(site.requests)

    again = crawl(address, tmp_path, "--json")

    assert told(again)["known"] == 1
    assert [seen.path for seen in site.requests[before:]] == ["/list.txt"]


def test_max_height_chooses_the_smaller_picture(site: Site, tmp_path: Path):
    run = crawl(listed(site, BROOK), tmp_path, "--max-height", 50)
    asked = {seen.path for seen in site.requests}

    assert run.returncode == 0
    assert "/brook/small.m3u8" in asked
    assert "/brook/large.m3u8" not in asked


# --- interrupted ---


@pytest.mark.parametrize("index", range(4))
def test_an_encrypted_video_killed_at_any_piece_goes_on_to_the_same_frames(
    index: int, site: Site, tmp_path: Path
):
    address, stuck = listed(site, NIGHT), NIGHT_PIECES[index]
    site.on(stuck, hang(), well(stuck))

    with Started(
        "crawl", address, "--to", "store", *LOOPBACK, *FAST, "--concurrency", "1", cwd=tmp_path
    ) as run:
        # The next piece is asked for while the one before is being put in its place.
        until(lambda: bool(site.asked(stuck)) and in_place(tmp_path / "store") == index)
        run.kill()
    before = len(site.requests)
    after = crawl(address, tmp_path)
    asked_again = [seen.path for seen in site.requests[before:]]

    assert after.returncode == 0, after.stdout
    assert filed(tmp_path / "store") == {played(NIGHT, tmp_path)}
    assert sorted(asked_again) == sorted(["/list.txt", *NIGHT_PIECES[index:]])
    assert half_got(tmp_path / "store") == []


def test_status_tells_how_far_a_video_is(site: Site, tmp_path: Path):
    address, stuck = listed(site, NIGHT), NIGHT_PIECES[2]
    site.on(stuck, hang(), well(stuck))

    with Started(
        "crawl", address, "--to", "store", *LOOPBACK, *FAST, "--concurrency", "1", cwd=tmp_path
    ):
        until(lambda: bool(site.asked(stuck)))
        status = headrace("status", "--store", "store", cwd=tmp_path)

    assert f"video    2 of 4 pieces  {site.url('/' + NIGHT)}" in status.stdout


# --- incomplete ---


def test_a_dead_piece_makes_the_video_incomplete_and_only_it_is_asked_for_again(
    site: Site, tmp_path: Path
):
    address, dead = listed(site, NIGHT), NIGHT_PIECES[2]
    site.on(dead, answer(404))

    first = crawl(address, tmp_path, "--json")
    files = objects(tmp_path / "store")
    dead_list = headrace("dead", "list", "--store", "store", cwd=tmp_path)
    plain = crawl(address, tmp_path)
    site.on(dead, well(dead))
    before = len(site.requests)
    mended = crawl(address, tmp_path, "--retry-dead")

    [entry] = told(first)["media"]
    assert (first.returncode, plain.returncode, mended.returncode) == (1, 1, 0)
    assert (entry["state"], entry["reason"], entry["missing"]) == ("incomplete", "incomplete", [2])
    assert files == {}
    assert "incomplete: piece 3 of 4" in first.stderr
    assert "(piece 3 of 4)" in dead_list.stdout
    assert "--retry-dead" in plain.stdout
    assert sorted(seen.path for seen in site.requests[before:]) == sorted(
        ["/list.txt", *NIGHT_MANIFEST, dead]
    )
    assert filed(tmp_path / "store") == {played(NIGHT, tmp_path)}


def test_a_piece_that_failed_in_passing_is_asked_for_again_by_any_rerun(site: Site, tmp_path: Path):
    (tmp_path / "headrace.toml").write_text("[retries]\nmax_attempts = 1\n")
    address, failing = listed(site, FLOOD), "/flood/flood-1.ts"
    site.on(failing, answer(500), well(failing))

    first = crawl(address, tmp_path)
    second = crawl(address, tmp_path)

    assert first.returncode == 1
    assert "the same command fetches the pieces that are missing" in first.stdout
    assert second.returncode == 0, second.stdout
    assert len(site.asked("/flood/flood-0.ts")) == 1
    assert filed(tmp_path / "store") == {played(FLOOD, tmp_path)}


def test_addresses_that_expired_are_read_anew_by_a_rerun(site: Site, tmp_path: Path):
    manifest = (MEDIA / FLOOD).read_text()
    address, last = listed(site, FLOOD), "/flood/flood-3.ts"
    site.on(last, answer(403), well(last))
    serve_signed(site, manifest, "a")

    first = crawl(address, tmp_path)
    serve_signed(site, manifest, "b")
    before = len(site.requests)
    mended = crawl(address, tmp_path, "--retry-dead")

    assert (first.returncode, mended.returncode) == (1, 0)
    asked_again = [
        seen.path for seen in site.requests[before:]
    ]  # the video is opened beside the walk
    assert sorted(asked_again) == sorted(["/list.txt", f"/{FLOOD}", f"{last}?b"])
    assert asked_again.index(f"/{FLOOD}") < asked_again.index(f"{last}?b")
    assert filed(tmp_path / "store") == {played(FLOOD, tmp_path)}


def serve_signed(site: Site, manifest: str, sign: str) -> None:
    """The flood's manifest, with a signature in each address."""
    body = manifest.replace(".ts", f".ts?{sign}").encode()
    site.serve(f"/{FLOOD}", body, content_type=MIMES[".m3u8"])


def test_without_ffmpeg_no_piece_is_asked_for_and_the_next_run_with_it_gets_the_video(
    site: Site, tmp_path: Path
):
    (tmp_path / "headrace.toml").write_text(QUICK_TO_GIVE_UP)
    address = listed(site, FLOOD)

    first = crawl(address, tmp_path, "--json", PATH="", IMAGEIO_FFMPEG_EXE="/nowhere")
    asked = [seen.path for seen in site.requests]
    mended = crawl(address, tmp_path)

    [entry] = told(first)["media"]
    assert (first.returncode, mended.returncode) == (1, 0)
    assert entry["reason"] == "no_ffmpeg"
    assert asked == ["/list.txt", f"/{FLOOD}"]
    assert filed(tmp_path / "store") == {played(FLOOD, tmp_path)}


# --- on RabbitMQ ---


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_workers_file_the_same_frames(workers: Workers, site: Site, tmp_path: Path):
    workers.start()

    workers.headrace("submit", listed(site, *ALL))
    workers.wait_for(done=3)
    until(lambda: half_got(workers.store) == [])

    assert filed(workers.store) == {played(video, tmp_path) for video in ALL}
    assert workers.letters() == []


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_a_dead_piece_is_a_letter_and_its_requeue_fetches_only_it(
    workers: Workers, site: Site, tmp_path: Path
):
    dead = NIGHT_PIECES[2]
    site.on(dead, answer(404))
    workers.start()
    workers.headrace("submit", listed(site, NIGHT))
    until(lambda: ends(workers) == ["incomplete"])
    [letter] = workers.letters()
    site.on(dead, well(dead))
    before = len(site.requests)

    again = workers.headrace("dead", "requeue", "--id", letter["id"])
    workers.wait_for(done=1)

    assert letter["subject"] == f"{site.url(dead)} (piece 3 of 4)"
    assert "requeued 1 task" in again.stdout, again.stderr
    assert [seen.path for seen in site.requests[before:]] == [*NIGHT_MANIFEST, dead]
    assert filed(workers.store) == {played(NIGHT, tmp_path)}


@pytest.mark.rabbitmq
@pytest.mark.redis
@pytest.mark.timeout(180)
def test_a_flush_of_redis_in_the_middle_costs_no_file(workers: Workers, site: Site, tmp_path: Path):
    pieces = [address_of(path) for path in MEDIA.glob("*/*.ts")]
    for piece in pieces:
        site.on(piece, well(piece, delay_s=0.3))
    workers.start()

    workers.headrace("submit", listed(site, FLOOD, NIGHT))
    until(lambda: sum(bool(site.asked(piece)) for piece in pieces) >= 4)
    with redis.Redis.from_url(workers.env["HEADRACE_REDIS_URL"]) as client:
        client.flushall()
    workers.wait_for(done=2, within_s=120.0)

    assert filed(workers.store) == {played(video, tmp_path) for video in (FLOOD, NIGHT)}
    assert workers.letters() == []


@pytest.mark.rabbitmq
@pytest.mark.redis
@pytest.mark.timeout(240)
def test_workers_killed_while_they_get_a_video_lose_nothing(
    workers: Workers, site: Site, tmp_path: Path
):
    for path in MEDIA.glob("*/*.ts"):
        site.on(address_of(path), well(address_of(path), delay_s=0.2))
    moments = random.Random(16)
    workers.headrace("submit", listed(site, FLOOD, NIGHT))

    for _ in range(3):
        workers.start()
        seen = len(site.requests) + moments.randrange(1, 5)
        until(lambda seen=seen: len(site.requests) >= seen or len(ends(workers)) == 2)
        workers.kill()
    workers.start()
    workers.wait_for(done=2, within_s=180.0)
    until(lambda: half_got(workers.store) == [])

    assert filed(workers.store) == {played(video, tmp_path) for video in (FLOOD, NIGHT)}
    assert workers.letters() == []


def ends(workers: Workers) -> list[str]:
    """The states of the media in the workers' store."""
    files = (workers.store / "media").glob("*/*.json")
    return [json.loads(file.read_text())["state"] for file in files]
