"""What every test of videos starts from."""

from __future__ import annotations

import pytest

from tests.support.assembling import Film


@pytest.fixture
def film(tmp_path):
    return Film(tmp_path)
