"""Turns a video's manifest into a plan, durably, and its plan into fragment tasks. Asks once in a
generation at most: the first durable reading holds for as long as that is open."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from core import errors
from core.fetch.fetcher import Fetcher, PageBody, Visit
from core.manifests import (
    Origin,
    SelectionPolicy,
    build_plan,
    choose,
    parse,
    read_wanted,
    refusal_of,
    refusing_statuses,
)
from core.model.addresses import strike
from core.model.plan import Plan
from core.model.request import Request
from core.model.secrecy import Secrecy
from core.model.source import SourceTerms
from core.model.task import ManifestPayload, Task
from core.model.video import StagedVideo
from core.steps.actions import Action, Publish
from core.steps.depths import OpenDepth
from core.steps.part_of_file import spans_of
from core.steps.renewal import renewed, unrenewed
from core.steps.run import Run
from core.steps.video_tasks import VideoTasks
from core.store.store import Store

logger = logging.getLogger(__name__)

KEY_BYTES = 16  # of AES-128
HELD_BACK_S = 15.0  # how long a manifest waits when enough fragments are open
# Fragments are published at 10,000/s and more, so most are let in within a second: the thread waits
# for so long, and only then does the manifest go round.
ADMISSION_WAIT_S, ADMISSION_TRIES = 2.0, 20
ONE_AT_A_TIME_S = 5.0


@dataclass(frozen=True, slots=True)
class ManifestStep:
    """The step of a `manifest` task."""

    store: Store
    fetcher: Fetcher
    terms: Callable[[str], SourceTerms]
    policy: Callable[[str], SelectionPolicy]
    open_fragments: OpenDepth
    high_water: int
    tasks: VideoTasks
    # Told that a video is on its way; what it returns raises where its pieces can't be joined.
    on_plan: Callable[[], Callable[[], None]] = lambda: lambda: None

    def __call__(self, run: Run) -> Iterator[Action]:
        """Yield the video's watchdog and fragments; the join at once if nothing is missing."""
        payload = run.task.payload
        assert isinstance(payload, ManifestPayload)  # noqa: S101 - the lane says so
        insist = self.on_plan()
        yield from self._fan_out(run, self._planned(run, payload), insist)

    def _planned(self, run: Run, payload: ManifestPayload) -> StagedVideo:
        """The plan of this generation, read now if nobody has read it."""
        staged = self.store.videos.plan(payload.media)
        if staged is None:
            self._hold_back(run.task)
            return self._keep(self._read(run, payload))
        if self._is_old(staged, run.task.generation):
            self._hold_back(run.task)
            return self._renew(run, payload, staged)
        return staged

    # --- the plan ---

    def _is_old(self, staged: StagedVideo, generation: int) -> bool:
        """Whether pieces are to be got from addresses that an earlier generation read: signed ones
        will have expired. A video of which all is there needs none."""
        if staged.generation >= generation:
            return False
        return bool(self.store.videos.standing_of(staged, generation).missing)

    def _renew(self, run: Run, payload: ManifestPayload, kept: StagedVideo) -> StagedVideo:
        """The plan of this generation. Where the manifest is gone for good, `kept` goes on: what it
        names may still be there."""
        try:
            following = renewed(kept, self._read(run, payload))
        except errors.Permanent as error:
            logger.warning(
                "video %s: its manifest can't be read again, so its pieces are asked for where "
                "they were before: %s",
                payload.media,
                error,
            )
            following = unrenewed(kept, run.task.generation)
        run.check()
        self.store.videos.renew_plan(following)
        return self._kept(payload.media, run.task.generation)

    def _hold_back(self, task: Task) -> None:
        """Only by fragments: manifests that wait must not keep each other waiting."""
        open_fragments = self.open_fragments(task.source)
        if open_fragments > self.high_water:
            raise errors.Backpressure(
                f"{task.source} has {open_fragments} fragments open, over its high-water mark of "
                f"{self.high_water}: the next manifest waits",
                delay_s=HELD_BACK_S,
            )

    def _keep(self, staged: StagedVideo) -> StagedVideo:
        self.store.videos.put_plan(staged)
        return self._kept(staged.payload.media, staged.generation)

    def _kept(self, media: str, generation: int) -> StagedVideo:
        """What stands, whoever read it."""
        kept = self.store.videos.plan(media)
        if kept is None or kept.generation > generation:  # this very moment, by another worker
            raise errors.LeaseLost(f"video {media} has ended, or goes on in a later generation")
        return kept

    def _read(self, run: Run, payload: ManifestPayload) -> StagedVideo:
        terms = self.terms(run.task.source)
        with self.fetcher.visit(terms, on_first_token=run.granted) as visit:
            try:
                reading = _Reading(visit, run, payload)
                plan = self._plan(reading, terms)
                keys = {url: reading.key(url) for url in plan.key_urls}
            finally:
                run.token_wait_s = visit.token_wait_s
        return StagedVideo(
            source=run.task.source,
            payload=payload,
            plan=plan,
            keys=keys,
            generation=run.task.generation,
            read_at=self.tasks.clock.now(),
        )

    def _plan(self, reading: _Reading, terms: SourceTerms) -> Plan:
        payload = reading.payload
        body, final_url = reading.get(payload.url)
        found = parse(body, final_url)
        choice = choose(found, self.policy(terms.name))
        origin = Origin(
            media=payload.media,
            source=terms.name,
            manifest_url=payload.url,
            final_url=final_url,
            manifest_sha256=hashlib.sha256(body).hexdigest(),
            secrecy=Secrecy.of(terms),
            inherit_query=terms.inherit_query,
        )
        spans = spans_of(reading.visit, reading.request)
        playlists = read_wanted(found, choice, reading.get, spans, query_of=origin.query_of)
        return build_plan(origin, choice, playlists)

    # --- what follows ---

    def _fan_out(
        self, run: Run, staged: StagedVideo, insist: Callable[[], None]
    ) -> Iterator[Action]:
        media, generation, source = staged.payload.media, run.task.generation, run.task.source
        if staged.layout == generation > 1:
            self._drop_others(staged)
        standing = self.store.videos.standing_of(staged, generation)
        if not standing.missing:
            yield Publish((self.tasks.verify(source, media, generation),))
            return
        insist()
        with self._alone(source):
            self._hold_back(run.task)  # the manifest took its time: others were let in meanwhile
            yield Publish((self.tasks.watchdog(source, media, generation),))
            for window in self.tasks.fragments(staged, standing.missing, generation):
                run.check()
                yield window

    @contextmanager
    def _alone(self, source: str) -> Iterator[None]:
        """One video of a source at a time. Until its fragments lie in their lane nobody can count
        them: two at once would both find it empty, and let in both of their videos."""
        for _ in range(ADMISSION_TRIES):
            with self.store.videos.admission(source) as alone:
                if alone:
                    yield
                    return
            self.tasks.clock.sleep(ADMISSION_WAIT_S / ADMISSION_TRIES)
        raise errors.Backpressure(
            f"another video of {source} is being let in: the next manifest waits",
            delay_s=ONE_AT_A_TIME_S,
        )

    def _drop_others(self, staged: StagedVideo) -> None:
        dropped = self.store.videos.drop_others(staged.payload.media, staged.layout)
        if dropped:
            logger.warning(
                "video %s: its manifest describes other pieces than when it was begun, %d now: the "
                "%d that were there are dropped",
                staged.payload.media,
                len(staged.plan.pieces),
                dropped,
            )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The small bodies that a plan is made from, fetched in one visit."""

    visit: Visit
    run: Run
    payload: ManifestPayload

    def get(self, url: str) -> tuple[bytes, str]:
        """A manifest and its final address."""
        page = self._page(url)
        return page.stream.read(), page.url

    def key(self, url: str) -> str:
        """A key in hex. Raises `Malformed` for one of another length than a key has."""
        key = self._page(url).stream.read(KEY_BYTES + 1)
        if len(key) != KEY_BYTES:
            more = "more than that" if len(key) > KEY_BYTES else f"{len(key)}"
            raise errors.Malformed(
                f"{strike(url)}: a key has {KEY_BYTES} bytes, the answer has {more}: does the "
                "source want a login for it?",
                reason="bad_key",
            )
        return key.hex()

    def request(self, url: str) -> Request:
        """How the video's manifest asks for anything."""
        self.run.check()
        return Request(url, self.payload.referer, dict(self.payload.headers))

    def _page(self, url: str) -> PageBody:
        refusing = refusing_statuses(url)
        page = self.visit.page(replace(self.request(url), read_also=refusing))
        if refusing and page.status in refusing:
            raise refusal_of(url)
        return page
