"""Gets one plain file, in the best rendition that its source serves: streams it to a partial,
checks it, commits it as an object."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core import errors
from core.clock import Clock
from core.fetch.fetcher import Download, Fetcher
from core.fetch.inspect import MANIFEST, Inspected, inspect
from core.model.addresses import strike
from core.model.end import EndState, MediaEnd, MediaFile
from core.model.post import Rendition
from core.model.request import Request
from core.model.source import SourceTerms
from core.model.task import ImagePayload, ManifestPayload, Task, media_task
from core.ports import Copy
from core.steps.actions import Action, Publish
from core.steps.elsewhere import from_first
from core.steps.ends import media_end
from core.steps.expiry import Offered, Renewal
from core.steps.placeholders import Placeholders
from core.steps.run import Run
from core.steps.tries import Tries
from core.store.staging import StagedPartial
from core.store.store import Store

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImageStep:
    """The step of an `image` task."""

    store: Store
    fetcher: Fetcher
    terms: Callable[[str], SourceTerms]
    clock: Clock
    renewal: Callable[[str], Renewal]
    placeholders: Callable[[str], Placeholders] = Placeholders

    def __call__(self, run: Run) -> Iterator[Action]:
        """Yield the media's end once its object is durable; or, where the address turns out to be a
        manifest's, the task that reads it."""
        payload = run.task.payload
        assert isinstance(payload, ImagePayload)  # noqa: S101 - the lane says so
        if payload.rendition is not None and payload.rendition.manifest is not None:
            yield Publish((_manifest_copy(run.task, payload, None),))
            return
        terms = self.terms(run.task.source)
        partial = self.store.staging.take(payload.media, run.token)
        tries = Tries.of(payload)
        try:
            if self._is_planned(payload, partial):
                yield Publish((_manifest_copy(run.task, payload, None),))
                return
            download, inspected = self._download(run, payload, partial, tries)
            run.fetched()
            self._file(run.task.source, payload, partial, download)
            yield self._end(run, terms, tries, download, inspected)
            partial.remove()
        except errors.Released:
            partial.hand_over()
            raise
        except errors.Unsupported as error:
            if error.reason != MANIFEST:
                raise
            yield Publish((_manifest_copy(run.task, payload, tries.now),))
        finally:
            partial.close()

    def _is_planned(self, payload: ImagePayload, partial: StagedPartial) -> bool:
        """Whether an earlier run found a manifest: then there is its plan. Looked for only where
        the listing of the shelf showed its folder, which spares two looks an image."""
        return partial.has_pieces and self.store.videos.plan(payload.media) is not None

    def _download(
        self, run: Run, payload: ImagePayload, partial: StagedPartial, tries: Tries
    ) -> tuple[Download, Inspected]:
        """The file, and what it is: an address that gives something else may be renewed too."""
        renewal, stand_ins = self.renewal(run.task.source), self.placeholders(run.task.source)
        headers = dict(payload.headers)
        with self.fetcher.visit(self.terms(run.task.source), on_first_token=run.granted) as visit:

            def fetch(url: str) -> tuple[Download, Inspected]:
                stand_ins.check_address(url)
                request = Request(url, payload.referer, headers, identity=tries.identity)
                download = visit.download(request, partial, run.progress)
                with _dropping_what_is_wrong(partial):
                    stand_ins.check_address(download.fetched.final_url)
                    return download, _checked(partial.path, payload, tries, download)

            def fetch_anywhere(found: Rendition) -> tuple[Download, Inspected]:
                with tries.trying(found):
                    return from_first((found.url, *found.backups), fetch)

            try:
                offered = Offered(tries.beginning_with(partial.validators), payload.ref)
                return renewal.get(visit, offered, fetch_anywhere)
            finally:
                run.token_wait_s = visit.token_wait_s

    def _file(
        self, source: str, payload: ImagePayload, partial: StagedPartial, download: Download
    ) -> None:
        """Make the bytes an object. What they were filed for is noted before the end is written, so
        that a run that dies between the two notes it; its rerun does not count itself."""
        stand_ins = self.placeholders(source)
        with _dropping_what_is_wrong(partial):
            stand_ins.check_bytes(self.store.repeats, payload, download.sha256)
        self.store.objects.put(partial.path, download.sha256)
        stand_ins.note(self.store.repeats, payload, download.sha256)

    def _end(
        self,
        run: Run,
        terms: SourceTerms,
        tries: Tries,
        download: Download,
        inspected: Inspected,
    ) -> MediaEnd:
        return media_end(
            run.task,
            tries.payload,
            terms.secret_query,
            kind=inspected.kind,
            state=EndState.GOT,
            attempts=run.task.attempts + 1,
            ended_at=self.clock.now(),
            fetched=download.fetched,
            file=MediaFile(
                sha256=download.sha256,
                size_bytes=download.size_bytes,
                type_sniffed=inspected.type,
                extension=inspected.extension,
                width=inspected.width,
                height=inspected.height,
                checked=inspected.checked,
                trailing_bytes=inspected.trailing_bytes,
            ),
            notes=tries.notes,
        )


def _manifest_copy(task: Task, payload: ImagePayload, found: Rendition | None) -> Copy:
    """The same media, in the same generation, by its manifest; `found` is the rendition that turned
    out to be one."""
    fields = payload.model_dump(exclude={"kind", "hashes", "alternatives"})
    if found is not None and found in payload.alternatives:
        fields |= {"url": found.url, "rendition": found}
    return Copy(
        media_task(
            task.source,
            ManifestPayload.model_validate(fields),
            generation=task.generation,
            max_attempts=task.max_attempts,
        )
    )


@contextmanager
def _dropping_what_is_wrong(partial: StagedPartial) -> Iterator[None]:
    """Wrong bytes are dropped, so that the next attempt starts from nothing."""
    try:
        yield
    except (errors.Permanent, errors.Transient):
        partial.restart()
        raise


def _checked(path: Path, payload: ImagePayload, tries: Tries, download: Download) -> Inspected:
    """What the bytes are, and that they are those which the feed promises of this rendition."""
    inspected = inspect(path, download.content)
    if tries.is_best:
        _check_promised_hashes(path, payload, download)
    return inspected


def _check_promised_hashes(path: Path, payload: ImagePayload, download: Download) -> None:
    for algorithm, promised in payload.hashes.items():
        found = download.sha256 if algorithm == "sha256" else _digest(path, algorithm)
        if found != promised.lower():
            raise errors.Mismatch(
                f"{strike(payload.url)}: {algorithm} is {found}, the feed promises {promised}",
                reason="hash_mismatch",
            )


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.new(algorithm, usedforsecurity=False)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
