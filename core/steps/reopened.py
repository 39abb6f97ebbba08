"""Media that a person opened again: whether a copy of their task is on its way already. Each
reading of their feed finds them open, also the one that mends a crash between opening and
publishing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.errors import SharedStateDown
from core.model.ids import media_task_id, verify_task_id
from core.model.task import Kind, ManifestPayload, MediaPayload, Task
from core.ports import Copy, DeadLetter, Ledger, Publisher
from core.steps.actions import published_by
from core.store.store import Store

logger = logging.getLogger(__name__)

_BY_A_PERSON = (Kind.IMAGE, Kind.MANIFEST, Kind.VERIFY)


@dataclass(frozen=True, slots=True)
class Reopened:
    """For every page of this process."""

    store: Store
    ledger: Ledger

    def wanted(
        self, source: str, feed: str, media: Sequence[MediaPayload], due: Mapping[str, int]
    ) -> dict[str, int]:
        """What of `due`, which are media and their generations, is to be published. Not a later
        generation of which the ledger was told, or whose video is planned: that was after the
        confirm of what gets it. Raises `SharedStateDown`."""
        under_way = {
            one.media
            for one in media
            if due.get(one.media, 1) > 1
            and self._is_under_way(one, due[one.media])
            and not self._was_lost(source, feed, one.media, due[one.media])
        }
        return {one: generation for one, generation in due.items() if one not in under_way}

    def published(self, parent: Task, copies: Iterable[Copy]) -> None:
        """A run of `parent` had these published: they are confirmed."""
        tell(self.ledger, (published_by(parent, copy) for copy in copies))

    def _is_under_way(self, payload: MediaPayload, generation: int) -> bool:
        if self.ledger.holds(media_task_id(payload.kind, payload.media)):
            return True
        if not isinstance(payload, ManifestPayload):
            return False
        staged = self.store.videos.plan(payload.media)
        if staged is not None and staged.generation >= generation:
            return True
        return self.ledger.holds(verify_task_id(payload.media))

    def _was_lost(self, source: str, feed: str, media: str, generation: int) -> bool:
        """Whether nothing of the source was open at a moment since, with RabbitMQ's data or by a
        purge, and no reading has come to its end that would have published it anew."""
        opened_at = self.store.media.reopened_at(media, generation)
        idle_at = self.store.walks.idle_at(source)
        if opened_at is None or idle_at is None or idle_at <= opened_at:
            return False
        return self.store.walks.are_lost(feed, source)


@dataclass(frozen=True, slots=True)
class Telling:
    """Publishes what a person opened again, and tells the ledger of it. A crash in between costs a
    copy that nobody needs."""

    publisher: Publisher
    ledger: Ledger

    def publish(self, window: Sequence[Copy]) -> None:
        self.publisher.publish(window)
        tell(self.ledger, window)

    def bury(self, letter: DeadLetter) -> None:
        self.publisher.bury(letter)


def tell(ledger: Ledger, copies: Iterable[Copy]) -> None:
    """Of the first copies of later generations, which leave nothing in the ledger by themselves."""
    for copy in copies:
        if _is_reopened(copy.task) and copy.delay_s <= 0:
            try:
                ledger.published(copy.task, delay_s=0.0, token=None)
            except SharedStateDown as error:
                logger.debug("%s: that it was published was not told: %s", copy.task.id, error)
                return


def _is_reopened(task: Task) -> bool:
    return task.generation > 1 and task.kind in _BY_A_PERSON
