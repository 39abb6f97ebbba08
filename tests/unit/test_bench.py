"""The benchmark measures what it says it measures."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from core.fetch.inspect import inspect
from scripts.bench.film import PACKET_BYTES, Film
from scripts.bench.long_video import planned
from scripts.bench.measure import Cost, cpu_s, family, middle, peak_bytes
from scripts.bench.origin import Cinema, Gallery


def test_every_image_has_exactly_the_size_and_bytes_of_its_own():
    gallery = Gallery(30_000)
    images = [b"".join(gallery.image(f"{number:06d}.jpg")) for number in range(50)]

    assert {len(image) for image in images} == {30_000}
    assert len({hashlib.sha256(image).digest() for image in images}) == 50


def test_an_image_passes_the_crawlers_own_check(tmp_path: Path):
    file = tmp_path / "image"
    file.write_bytes(b"".join(Gallery(30_000).image("000001.jpg")))

    found = inspect(file)

    assert (found.type, found.width, found.height) == ("image/jpeg", 960, 640)
    assert found.trailing_bytes == 0


@pytest.mark.parametrize("size_bytes", [1000, 200_000])
def test_a_size_that_the_picture_cannot_have_is_refused(size_bytes: int):
    with pytest.raises(SystemExit, match="--bytes: between"):
        Gallery(size_bytes)


def test_the_steady_rate_leaves_start_and_end_out():
    gallery = Gallery(30_000)
    slow_start, even, slow_end = [-100.0], [n / 10 for n in range(18)], [500.0]
    gallery.times = slow_start + even + slow_end

    assert gallery.steady_per_s() == pytest.approx(10.0, rel=0.1)


def test_no_rate_is_told_of_a_single_image():
    gallery = Gallery(30_000)
    gallery.times = [1.0]

    assert gallery.steady_per_s() == 0.0


def test_the_median_is_taken_of_each_measure_by_itself():
    costs = [Cost(1.0, 30.0, 7.0, 100), Cost(2.0, 10.0, 9.0, 300), Cost(9.0, 20.0, 8.0, 200)]

    assert middle(costs) == Cost(2.0, 20.0, 8.0, 200)


def test_a_process_knows_itself_and_what_it_used():
    own = family(os.getpid())

    assert own[0] == os.getpid()
    assert cpu_s(own[:1]) > 0
    assert peak_bytes(own[:1]) > 1_000_000


# --- videos ---

FLOOD = Path(__file__).parents[2] / "scripts" / "sample_site" / "media" / "flood"


@pytest.fixture
def film(tmp_path: Path) -> Film:
    """Three fragments, named as a rendered film's are."""
    for number in range(3):
        content = (FLOOD / f"flood-{number}.ts").read_bytes()
        (tmp_path / f"{number}.ts").write_bytes(content)
    return Film(tmp_path, 25_000)


def test_a_fragment_is_filled_with_packets_that_play_nothing(film: Film):
    fragment = b"".join(film.fragment(1))
    packets = [fragment[at : at + PACKET_BYTES] for at in range(0, len(fragment), PACKET_BYTES)]

    assert 25_000 - PACKET_BYTES < len(fragment) <= 25_000
    assert fragment.startswith((FLOOD / "flood-1.ts").read_bytes())
    assert all(packet[0] == 0x47 and len(packet) == PACKET_BYTES for packet in packets)


def test_a_fragment_larger_than_what_is_asked_for_is_refused(film: Film, tmp_path: Path):
    with pytest.raises(SystemExit, match="--bytes: the largest fragment has"):
        Film(tmp_path, 5_000)


def test_a_manifest_has_as_many_fragments_as_its_address_says(film: Film):
    cinema = Cinema(film)
    address = cinema.listed("run", 2, "http://127.0.0.1:1")
    kind, manifest = cinema.find(address.removeprefix("http://127.0.0.1:1"))

    assert kind == "application/vnd.apple.mpegurl"
    assert bytes(manifest).count(b".ts") == 2
    assert cinema.times == []


def test_only_fragments_are_counted(film: Film):
    cinema = Cinema(film)
    cinema.find("/film/run/2/1.ts")

    assert len(cinema.times) == 1


def test_the_plan_of_a_film_has_each_fragment_once(film: Film):
    staged = planned(film)

    assert [piece.url for piece in staged.plan.pieces] == [
        f"http://film.invalid/{number}.ts" for number in range(3)
    ]
