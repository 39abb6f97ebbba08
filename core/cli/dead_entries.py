"""Which dead tasks a person means, and what is shown of them: from their letters in RabbitMQ, or
from the ends in a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from core.cli.wording import missing_pieces
from core.clock import SystemClock
from core.model.end import EndState, MediaEnd
from core.model.ids import fragment_task_id, media_task_id
from core.model.task import Kind
from core.queue import dead_letters
from core.queue.dead_letters import Letter, Selection
from core.queue.envelope import iso
from core.settings import Settings
from core.store.store import Store


@dataclass(frozen=True, slots=True)
class Entry:
    """One dead task, from its letter or from the store."""

    id: str
    source: str
    kind: str
    reason: str
    message: str
    subject: str
    http_status: int | None
    attempts: int | None
    last_failure: str | None  # ISO 8601, UTC


class Selected:
    """What the options select."""

    def __init__(
        self, given: Settings, sources: tuple[str, ...], ids: tuple[str, ...], reason: str | None
    ) -> None:
        for source in sources:
            given.source(source)  # an unknown one gets its own message
        self.sources = sources or tuple(given.all_sources())
        self.selection = Selection(ids=frozenset(ids), reason=reason)
        self.url = given.broker.url.get_secret_value()
        self._named = bool(sources or ids or reason)

    def insist(self, *, everything: bool) -> None:
        """Nothing is done to every letter by leaving the options out."""
        if not self._named and not everything:
            raise click.UsageError(
                "say which letters are meant: --source, --id or --reason; or --all for every one"
            )

    def covers(self, end: MediaEnd) -> bool:
        """Whether a media's end in the store is meant."""
        assert end.failure is not None  # noqa: S101 - asked of ends without a file only
        return (
            end.source in self.sources
            and self.selection.reason in (None, end.failure.reason)
            and (not self.selection.ids or bool(self.selection.ids & _task_ids(end)))
        )


def letters(chosen: Selected, limit: int) -> Iterator[Entry]:
    """What RabbitMQ holds, one entry a task, at most `limit` letters of each source read."""
    for source in chosen.sources:
        read = list(dead_letters.browse(chosen.url, source, limit))
        if len(read) == limit:
            click.echo(f"{source}: read the first {limit:,} letters (see --limit)", err=True)
        for letter in dead_letters.merged(read):
            if chosen.selection.matches(letter):
                yield _entry(letter)


def _entry(letter: Letter) -> Entry:
    headers = letter.headers
    return Entry(
        id=letter.id,
        source=letter.source,
        kind=letter.kind,
        reason=letter.reason,
        message=letter.message,
        subject=letter.subject,
        http_status=headers.get("http_status"),
        attempts=headers.get("attempts"),
        last_failure=headers.get("last_failure"),
    )


def ends(given: Settings, chosen: Selected, limit: int) -> Iterator[Entry]:
    """What the store says, at most `limit`."""
    store = Store.look(given.store, clock=SystemClock())
    found = map(store.media.newest, store.sums.without_file())
    for end in found:
        if end is not None and end.state is not EndState.GOT and chosen.covers(end):
            yield _entry_of(end)
            limit -= 1
            if limit == 0:
                return


def _task_ids(end: MediaEnd) -> frozenset[str]:
    """Those of every task that such an end may be of."""
    missing = end.video.missing if end.video else ()
    kinds = (Kind.IMAGE, Kind.MANIFEST, Kind.VERIFY)
    return frozenset(media_task_id(kind, end.media) for kind in kinds).union(
        fragment_task_id(end.media, piece) for piece in missing
    )


def _entry_of(end: MediaEnd) -> Entry:
    assert end.failure is not None  # noqa: S101 - asked of ends without a file only
    kind = Kind.IMAGE if end.video is None else Kind.VERIFY
    lacks = f" ({missing_pieces(end.video)})" if end.state is EndState.INCOMPLETE else ""
    return Entry(
        id=media_task_id(kind, end.media),
        source=end.source,
        kind=kind.value,
        reason=end.failure.reason,
        message=end.failure.message,
        subject=end.url + lacks,
        http_status=end.failure.http_status,
        attempts=end.failure.attempts,
        last_failure=iso(end.failure.last_failure or end.ended_at),
    )
