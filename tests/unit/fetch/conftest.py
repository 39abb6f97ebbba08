"""A site, a fetcher and a partial for each test that asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fetching import HeldPartial, Net, net
from tests.support.site import Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def web() -> Iterator[Net]:
    with net() as made:
        yield made


@pytest.fixture
def partial(tmp_path: Path) -> HeldPartial:
    return HeldPartial(tmp_path / "partial")
