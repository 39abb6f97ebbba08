"""Puts one piece of a video into its staging, whole; and has the video joined when it is the last.
Never looks at the plan: it may be large, and the task names all that is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core import errors
from core.fetch import types
from core.fetch.fetcher import Fetcher
from core.model.addresses import strike
from core.model.post import Rendition
from core.model.request import Request, Span
from core.model.source import SourceTerms
from core.model.task import FragmentPayload
from core.steps.actions import Action, Publish
from core.steps.elsewhere import from_first
from core.steps.expiry import Offered, Renewal, no_renewal
from core.steps.joining import Joining
from core.steps.run import Run
from core.store.staging import StagedPartial
from core.store.store import Store
from core.video.heads import is_transport_stream

_NO_PIECES = frozenset({"html", "json"})  # a login or error page with status 200


@dataclass(frozen=True, slots=True)
class FragmentStep:
    """The step of a `fragment` task."""

    store: Store
    fetcher: Fetcher
    terms: Callable[[str], SourceTerms]
    joining: Joining
    renewal: Callable[[str], Renewal] = no_renewal

    def __call__(self, run: Run) -> Iterator[Action]:
        """Yield the join, if this was the last piece. A piece that is there, or is known as dead in
        this generation, is not asked for again."""
        payload = run.task.payload
        assert isinstance(payload, FragmentPayload)  # noqa: S101 - the lane says so
        if not self._is_settled(payload, run.task.generation):
            self._get(run, payload)
        run.check()
        if copies := self.joining.after(run.task):
            yield Publish(copies)

    def _is_settled(self, payload: FragmentPayload, generation: int) -> bool:
        videos, piece = self.store.videos, payload.piece
        if videos.has(payload.media, piece, payload.layout):
            return True
        return videos.buried(payload.media, piece, generation) is not None

    def _get(self, run: Run, payload: FragmentPayload) -> None:
        ident = f"{payload.media}-{payload.piece:06d}"
        partial = self.store.staging.take(ident, run.token)
        try:
            self._download(run, payload, partial)
            run.fetched()
            self.store.videos.put(
                payload.media, payload.piece, partial.path, payload.layout, clear=False
            )
            partial.remove()  # which looks for others' only where there were any: 0.1 ms a piece
        except errors.Released:
            partial.hand_over()
            raise
        finally:
            partial.close()

    def _download(self, run: Run, payload: FragmentPayload, partial: StagedPartial) -> None:
        terms = self.terms(run.task.source)
        identity = f"{payload.media}-{payload.piece}" if payload.ref is not None else None
        with self.fetcher.visit(terms, on_first_token=run.granted) as visit:

            def fetch(url: str) -> None:
                headers = dict(payload.headers)
                request = Request(url, payload.referer, headers, identity=identity)
                got = visit.download(request, partial, run.progress, span=_span(payload))
                _refuse_page(partial, url)
                if payload.size_bytes is not None:
                    _check_size(got.size_bytes, payload.size_bytes, partial, url)

            def fetch_anywhere(found: Rendition) -> None:
                from_first((found.url, *found.backups), fetch)

            renewal = self.renewal(run.task.source)
            try:
                piece = Rendition(url=payload.url, backups=payload.alternatives)
                renewal.get(visit, Offered((piece,), payload.ref), fetch_anywhere)
            finally:
                run.token_wait_s = visit.token_wait_s


def _check_size(found: int, told: int, partial: StagedPartial, url: str) -> None:
    """A file that came whole by HTTP's word may be another than the manifest means."""
    if found != told:
        partial.restart()
        raise errors.Truncated(
            f"{strike(url)}: {found:,} bytes, its manifest says {told:,}",
            reason="size_mismatch",
        )


def _span(payload: FragmentPayload) -> Span | None:
    if payload.start is None or payload.length is None:
        return None
    return Span(payload.start, payload.length)


def _refuse_page(partial: StagedPartial, url: str) -> None:
    """A page where a piece should be goes, so that another attempt starts from nothing."""
    head = _head(partial.path)
    if is_transport_stream(head):  # as most are: no need to read them as text
        return
    name = types.name_of_other(head)
    if name in _NO_PIECES:
        partial.restart()
        raise errors.NotMedia(
            f"{strike(url)}: {name} instead of a piece of a video",
            reason=f"{name}_instead_of_media",
        )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(types.HEAD_BYTES)
    except OSError as error:
        raise errors.StorageDown(
            f"{path}: {error.strerror}; check the store's disk and permissions"
        ) from error
