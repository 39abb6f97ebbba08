"""The task record: small, self-describing, frozen. A message carries its JSON form and nothing
else.

It never holds a cookie, a token from the settings or a query parameter that the source names as
secret."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import Malformed
from core.model.ids import (
    discover_task_id,
    fragment_task_id,
    media_task_id,
    verify_task_id,
)
from core.model.post import MediaKind, Rendition

FORMAT = 2  # the version written; a newer one in a message is delayed, not guessed at
SOURCE_PATTERN = r"[a-z0-9_-]{1,40}"


class Kind(StrEnum):
    """What a task does; also the actor's name and the lane's second half."""

    DISCOVER = "discover"
    FRAGMENT = "fragment"
    MANIFEST = "manifest"
    IMAGE = "image"
    VERIFY = "verify"


class State(StrEnum):
    """Where a task stands. `failed` waits for its next attempt; `done` and `dead` are final."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# Ids name folders of the store: whatever could lead elsewhere is no id.
Id = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
TaskId = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,120}$")]
# Anyone who may publish can write a record: numbers that no ledger or header could hold are none.
Count = Annotated[int, Field(ge=0, le=2**53)]
Seconds = Annotated[float, Field(ge=0, le=2.0**40, allow_inf_nan=False)]


class DiscoverPayload(_Frozen):
    """Read one page of a feed."""

    kind: Literal["discover"] = "discover"
    feed: Id
    adapter: str
    address: str  # the feed's own, secrets struck out; "file:..." is kept in the walk
    walk: Id
    page: int = 1  # from 1
    cursor: str | None = None  # the adapter's, from the page before


class _MediaPayload(_Frozen):
    """What a feed said of a media that is to be got."""

    media: Id
    media_kind: MediaKind
    url: str
    rendition: Rendition | None = None  # what the feed said of the address
    post: Id
    feed: Id
    position: int = 0  # of the media in its post
    title: str | None = None
    author: str | None = None
    created_at: str | None = None  # ISO 8601, UTC
    referer: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)  # none of them secret
    ref: str | None = None  # with which the adapter asks for its addresses once more


class ImagePayload(_MediaPayload):
    """Stream one plain file: an image, or a video that is one file."""

    kind: Literal["image"] = "image"
    hashes: dict[str, str] = Field(default_factory=dict)  # of `url`: algorithm -> promised hex
    # Other plain files of the same media, the more wanted first: few, since a message is small.
    alternatives: tuple[Rendition, ...] = ()


class ManifestPayload(_MediaPayload):
    """Read a video's manifest, write its plan, publish its fragments."""

    kind: Literal["manifest"] = "manifest"


class FragmentPayload(_Frozen):
    """Put one piece of a video's plan into staging."""

    kind: Literal["fragment"] = "fragment"
    media: Id
    piece: Annotated[int, Field(ge=0)]  # its number in the plan
    pieces: Annotated[int, Field(ge=1)]  # how many the plan has
    layout: Annotated[int, Field(ge=1, le=2**53)] = 1  # which of the video's plans numbers them
    url: str
    start: int | None = None  # byte range, where the plan names one
    length: int | None = None
    referer: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)  # none of them secret
    alternatives: tuple[str, ...] = ()  # where the same bytes lie too
    size_bytes: Annotated[int, Field(ge=1)] | None = None  # of the whole resource, where told
    ref: str | None = None  # with which the adapter asks for its addresses once more


class VerifyPayload(_Frozen):
    """Join a video whose every piece is present or dead."""

    kind: Literal["verify"] = "verify"
    media: Id
    round: int = 0  # how often it found pieces missing


MediaPayload = Annotated[ImagePayload | ManifestPayload, Field(discriminator="kind")]
Payload = Annotated[
    DiscoverPayload | ImagePayload | ManifestPayload | FragmentPayload | VerifyPayload,
    Field(discriminator="kind"),
]


class Task(_Frozen):
    """One unit of work and its history."""

    id: TaskId
    store: Id | None = None  # the store it belongs to: a worker with another leaves it alone
    source: str = Field(pattern=f"^{SOURCE_PATTERN}$")
    payload: Payload
    state: State = State.PENDING
    attempts: Count = 0  # failures that count, in this generation
    crashes: Count = 0  # runs that vanished without a word, in this generation
    max_attempts: Count = 5
    generation: Count = 1  # raised by a person's requeue
    serial: Count = 0  # raised by each published copy: of two, the later one counts
    # When a person (or the producer) submitted what it follows from, however late it is published:
    # Unix time in ms. Messages of format 1 lack it.
    submitted_ms: Count | None = None
    not_before: Seconds | None = None  # Unix seconds
    lease_until: Seconds | None = None  # Unix seconds
    waited_s: Seconds = 0.0  # spent postponed while the source was open: the age that counts
    first_failure: Seconds | None = None  # Unix seconds
    last_failure: Seconds | None = None  # Unix seconds
    last_reason: str | None = None
    format: int = FORMAT

    @property
    def kind(self) -> Kind:
        """Which actor performs it."""
        return Kind(self.payload.kind)

    @property
    def origin_ms(self) -> int:
        """`submitted_ms`; for a message that lacks it the serial, which begins as that."""
        return self.serial if self.submitted_ms is None else self.submitted_ms

    def is_before(self, purged_before: int | None) -> bool:
        """Whether a purge that was marked so means this task."""
        return purged_before is not None and self.origin_ms < purged_before

    def to_message(self) -> dict[str, Any]:
        """The JSON form that a message carries."""
        record = self.model_dump(mode="json", exclude_defaults=True)
        record["payload"]["kind"] = self.payload.kind
        return record | {"format": FORMAT}


class NewerFormat(Exception):
    """A message written by a newer Headrace than this one: to be delayed for a worker that can
    read it."""


def parse_task(record: object) -> Task:
    """Read a message's record. Raises `Malformed` naming the field, `NewerFormat` for a version
    above ours."""
    if (
        isinstance(record, dict)
        and isinstance(record.get("format"), int)
        and record["format"] > FORMAT
    ):
        raise NewerFormat(f"task format {record['format']}; this worker reads up to {FORMAT}")
    try:
        return Task.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "record"
        raise Malformed(
            f"task record: {place}: {first['msg']}", reason="bad_task_record"
        ) from error


def discover_task(source: str, payload: DiscoverPayload, *, max_attempts: int = 5) -> Task:
    """The task that reads `payload`'s page."""
    ident = discover_task_id(payload.feed, payload.walk, payload.page)
    return Task(id=ident, source=source, payload=payload, max_attempts=max_attempts)


def fragment_task(
    source: str, payload: FragmentPayload, *, generation: int = 1, max_attempts: int = 5
) -> Task:
    """The task that gets one piece of a video."""
    return Task(
        id=fragment_task_id(payload.media, payload.piece),
        source=source,
        payload=payload,
        generation=generation,
        max_attempts=max_attempts,
    )


def verify_task(
    source: str, payload: VerifyPayload, *, generation: int = 1, max_attempts: int = 5
) -> Task:
    """The task that joins a video."""
    return Task(
        id=verify_task_id(payload.media),
        source=source,
        payload=payload,
        generation=generation,
        max_attempts=max_attempts,
    )


def media_task(
    source: str,
    payload: ImagePayload | ManifestPayload,
    *,
    generation: int = 1,
    max_attempts: int = 5,
) -> Task:
    """The task that gets `payload`'s media, whichever way it is got."""
    return Task(
        id=media_task_id(payload.kind, payload.media),
        source=source,
        payload=payload,
        generation=generation,
        max_attempts=max_attempts,
    )


def subject(task: Task) -> str:
    """What the task is about, for people: an address without its query, or a page of a feed."""
    match task.payload:
        case ImagePayload(url=url) | ManifestPayload(url=url):
            return url.partition("?")[0]
        case FragmentPayload(url=url, piece=piece, pieces=pieces):
            return f"{url.partition('?')[0]} (piece {piece + 1} of {pieces})"
        case VerifyPayload(media=media):
            return f"video {media}"
        case DiscoverPayload(address=address, page=page):
            return f"{address.partition('?')[0]} page {page}"
        case _ as never:
            assert_never(never)
