"""What every test may rely on: the suite's servers, Hypothesis's profiles, and no settings of the
person who runs it."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "tests.support.rabbitmq",
    "tests.support.redis",
    "tests.support.rendered",
    "tests.support.workers",
]

# The cores are shared by everything that a test run starts: a slow example proves nothing.
_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("laptop", max_examples=60, **_CALM)
settings.register_profile("ci", max_examples=100, derandomize=True, print_blob=True, **_CALM)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("ci" if os.environ.get("CI") else "laptop")
    for name in list(os.environ):
        if name.startswith("HEADRACE_") and not name.startswith("HEADRACE_TEST_"):
            del os.environ[name]
