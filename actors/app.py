"""The process's app, and how an actor is declared on it. The only import-time effect: lazy objects
are built from the settings; no connection is opened."""

from __future__ import annotations

import dramatiq

from core.assemble import process_app

app = process_app()
broker = app.broker
dramatiq.set_broker(broker)  # `dramatiq actors` asks for the global one
