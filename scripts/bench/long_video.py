"""One long and one large video from manifest to file, without a network: what planning, keeping and
joining so many pieces takes. Each runs in a process of its own, so that its peak is its own."""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from core.clock import SystemClock
from core.manifests import ByteRange, Origin, build_plan, choose, parse, read_wanted
from core.model.ids import feed_id, media_id, post_id
from core.model.post import MediaKind
from core.model.task import ManifestPayload
from core.model.video import StagedVideo
from core.settings import SourceSettings
from core.steps.assembler import ToolAssembler
from core.steps.terms import selection_policy
from core.store.store import Store
from core.video.shortfall import Doubts
from scripts.bench.film import Film, render
from scripts.bench.measure import BenchTrouble

ROOT = Path(__file__).resolve().parents[2]
URL = "http://film.invalid/index.m3u8"
MEDIA = media_id("feed", URL)
_LARGE_PIECE_BYTES = 5_000_000
_THREADS = 8
_MARGIN = 1.1  # of disk beyond what is written


def measure(work: Path, long_fragments: int, large_gb: float) -> None:
    """Print what both take. One that the disk has no room for is left out, and said so."""
    large_bytes = round(large_gb * 1e9)
    for name, fragments, size_bytes in (
        ("long", long_fragments, long_fragments * 2_500),
        ("large", large_bytes // _LARGE_PIECE_BYTES, large_bytes),
    ):
        if not fragments:
            continue
        needed = round(3 * size_bytes * _MARGIN)  # pieces, what is joined of them, and the file
        if shutil.disk_usage(work).free < needed:
            print(f"without the {name} video: it wants {needed / 1e9:.0f} GB of free disk")
            continue
        _in_a_process(work / name, name, fragments, size_bytes // fragments)


def _in_a_process(folder: Path, name: str, fragments: int, piece_bytes: int) -> None:
    print(f"\nThe {name} video: {fragments:,} pieces of {piece_bytes:,} bytes", flush=True)
    render(folder / "film", fragments)  # here, so that ffmpeg's peak below is the join's
    command = [sys.executable, "-m", "scripts.bench.long_video", str(folder)]
    command += [str(piece_bytes)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    if subprocess.run(command, check=False, env=environment).returncode:
        raise BenchTrouble(f"the {name} video was not joined: see {folder}")


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Print what a part took, and the peak so far."""
    began = time.monotonic()
    yield
    seconds, peak = time.monotonic() - began, _peak_mb(resource.RUSAGE_SELF)
    print(f"  {part:<34} {seconds:7.2f} s   peak {peak:,.0f} MB", flush=True)


def main() -> None:
    """`long_video FOLDER PIECE_BYTES`: the film in FOLDER/film, in this process."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("piece_bytes", type=int)
    options = parser.parse_args()
    film = Film(options.folder / "film", options.piece_bytes)
    store = Store.open(
        options.folder / "store", exclusive=True, clock=SystemClock(), writer="bench"
    )
    try:
        _whole_way(store, film)
    finally:
        store.close()


def _whole_way(store: Store, film: Film) -> None:
    with timed("manifest read, plan made"):
        staged = planned(film)
    with timed("plan kept and read back"):
        store.videos.put_plan(staged)
        size = (store.videos.path(MEDIA, 0).parent / "plan.json").stat().st_size
        kept = store.videos.plan(MEDIA)
    assert kept == staged
    with timed(f"pieces put, {_THREADS} threads"):
        _put(store, film)
    with timed("looked whether all are there"):
        standing = store.videos.standing(MEDIA, len(film), 1)
    assert len(standing.present) == len(film)
    with timed("joined, remuxed, probed"):
        workspace = store.videos.workspace(MEDIA, "bench")
        made = ToolAssembler()(
            staged, lambda piece: store.videos.path(MEDIA, piece), workspace, lambda: None, Doubts()
        )
    print(
        f"  plan {size / 1e6:.1f} MB; {made.type} of {made.duration_s:,.0f} s, "
        f"{made.path.stat().st_size / 1e6:,.1f} MB; ffmpeg's peak at most "
        f"{_peak_mb(resource.RUSAGE_CHILDREN):,.0f} MB"
    )
    assert abs((made.duration_s or 0) - len(film)) < 0.02 * len(film)


def planned(film: Film) -> StagedVideo:
    """The plan of the whole film, by the same steps as a manifest's task takes."""
    body = film.manifest(len(film))
    offer = parse(body, URL)
    choice = choose(offer, selection_policy(SourceSettings()))
    origin = Origin(MEDIA, "feed", URL, URL, hashlib.sha256(body).hexdigest())
    payload = ManifestPayload(
        media=MEDIA,
        media_kind=MediaKind.VIDEO,
        url=URL,
        post=post_id("feed", URL),
        feed=feed_id("feed", URL),
    )
    plan = build_plan(origin, choice, read_wanted(offer, choice, _unasked, _no_span))
    return StagedVideo(source="feed", payload=payload, plan=plan)


def _unasked(url: str) -> tuple[bytes, str]:
    raise AssertionError(f"{url}: the manifest has no other")


def _no_span(urls: Sequence[str], part: ByteRange) -> bytes:
    raise AssertionError(f"{urls}: the manifest names no index ({part})")


def _put(store: Store, film: Film) -> None:
    def put(piece: int) -> None:
        partial = store.staging.take(f"{MEDIA}-{piece:06d}", f"t{threading.get_ident()}")
        with partial.path.open("wb") as file:
            file.writelines(film.fragment(piece))
        store.videos.put(MEDIA, piece, partial.path)
        partial.close()

    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(put, range(len(film))):
            pass


def _peak_mb(whose: int) -> float:
    return resource.getrusage(whose).ru_maxrss / 1024


if __name__ == "__main__":
    main()
