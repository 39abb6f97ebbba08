"""Plain files got by image tasks from a site that misbehaves, into a real store."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from core.fetch.fetcher import Fetcher
from core.model.end import MediaEnd
from core.model.source import SourceTerms
from core.settings import FetchSettings
from core.sources import Renews
from core.steps.expiry import Renewal
from core.steps.image import ImageStep
from core.steps.placeholders import Placeholders
from core.steps.run import Run
from core.store.files import Disk
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.site import Site
from tests.support.store import open_store
from tests.support.tasks import a_run, an_image_payload, an_image_task


class Getting:
    """One store, one site, one step."""

    def __init__(self, root: Path, site: Site, disk: type[Disk] = Disk) -> None:
        self.site = site
        self.store = open_store(root, disk=disk)
        self.clock = FakeClock()
        self.stop = threading.Event()
        settings = FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0)
        fetcher = Fetcher(
            settings, OpenBudget(), self.clock, self.stop, self.store.staging.free_bytes
        )
        self.terms = SourceTerms("feed", 10.0, 20)
        self.renews: Renews | None = None
        self.placeholders = Placeholders("feed")
        self.step = ImageStep(
            self.store,
            fetcher,
            lambda _source: self.terms,
            self.clock,
            lambda _source: Renewal(self.renews, self.clock),
            lambda _source: self.placeholders,
        )

    def run(
        self,
        path: str = "/x.jpg",
        *,
        token: str = "t1",
        run: type[Run] = Run,
        generation: int = 1,
        **fields: Any,
    ) -> Any:
        """The one action of a run."""
        payload = an_image_payload(self.site.url(path), **fields)
        task = an_image_task(payload=payload, attempts=1, generation=generation)
        (end,) = self.step(a_run(task, token, run))
        return end

    def object_of(self, end: MediaEnd) -> bytes:
        return self.store.objects.path(end.file.sha256).read_bytes()
