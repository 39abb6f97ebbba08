"""The actors on a budget that is recorded: `dramatiq scripts.bench.budget_proofs.actors`."""

from __future__ import annotations

from dataclasses import replace

from core.assemble import rabbitmq_app, use
from core.settings import load
from scripts.bench.budget_proofs.recording import recorded_budget

_settings = load()
_app = rabbitmq_app(_settings)
use(replace(_app, budget=recorded_budget(_settings.redis.url.get_secret_value(), _app.clock)))

from actors import discover, fragment, image, manifest, verify  # noqa: E402 - after `use`

__all__ = ["discover", "fragment", "image", "manifest", "verify"]
