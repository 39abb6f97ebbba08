"""The benchmark measures what it says it measures."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from core.fetch.inspect import inspect
from scripts.bench.measure import Cost, cpu_s, family, middle, peak_bytes
from scripts.bench.origin import Gallery


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
