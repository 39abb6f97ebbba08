"""The app that runs use at the same time, and which changes with the settings under them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from core.app import App


class Lending:
    """Lends the newest app; closes an older one once its last run has given it back."""

    def __init__(self, app: App) -> None:
        self._changed = threading.Condition()
        self._app = app
        self._lent: Counter[int] = Counter()  # runs by their app's identity

    @property
    def newest(self) -> App:
        """The app that is lent now."""
        return self._app

    @property
    def is_lent(self) -> bool:
        """Whether a run uses an app now."""
        with self._changed:
            return any(self._lent.values())

    @contextmanager
    def lend(self) -> Iterator[App]:
        """The newest app, open for as long as the context is."""
        with self._changed:
            app = self._app
            self._lent[id(app)] += 1
        try:
            yield app
        finally:
            with self._changed:
                self._lent[id(app)] -= 1
                is_over = self._is_back(app) and app is not self._app
                self._changed.notify_all()
            if is_over:
                app.close()

    def replace(self, app: App) -> None:
        """From now on `app` is lent."""
        with self._changed:
            before, self._app = self._app, app
            is_over = self._is_back(before)
        if is_over:
            before.close()

    def close(self) -> None:
        """Wait for the runs under way, and close what they use. Nothing is to be lent any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lent)
        self._app.close()

    def _is_back(self, app: App) -> bool:
        if self._lent[id(app)]:
            return False
        del self._lent[id(app)]
        return True
