"""How a media ended: what was got, with its provenance, or why not. One is written for each
generation, exclusively."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from core.model.moment import Moment
from core.model.post import MediaKind


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EndState(StrEnum):
    """What became of a media."""

    GOT = "got"
    DEAD = "dead"
    INCOMPLETE = "incomplete"  # a video some of whose pieces can't be had; what was got is kept
    REFUSED = "refused"  # a rule of ours said no (address, unsupported kind)


class Fetched(_Frozen):
    """The HTTP side of what was got. Addresses have secrets and signatures struck out."""

    requested_url: str
    final_url: str
    redirects: tuple[str, ...] = ()
    status: int
    at: Moment
    etag: str | None = None
    last_modified: str | None = None
    type_told: str | None = None  # the Content-Type header
    resumed: bool = False  # some bytes came with an earlier attempt


class MediaFile(_Frozen):
    """The bytes: what they are, by their own testimony."""

    sha256: str
    size_bytes: int
    type_sniffed: str  # MIME type by magic bytes
    extension: str  # of the readable name, with the dot
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    checked: str = (  # "structure": to the end marker; "signature": its type by its head only;
        "structure"  # "probe": its streams and duration, by ffmpeg
    )
    trailing_bytes: int = 0  # after the end marker; kept


class PieceFile(_Frozen):
    """One piece of a video as it was got."""

    url: str  # struck out
    size_bytes: int
    sha256: str


class VideoRecord(_Frozen):
    """How a video was put together."""

    manifest_url: str  # struck out
    manifest_sha256: str
    chosen: str  # which renditions, in words
    planned: int = 0  # pieces in the plan
    pieces: tuple[PieceFile, ...] = ()  # by their number in the plan
    missing: tuple[int, ...] = ()  # numbers of pieces that can't be had
    expected_duration_s: float | None = None
    duration_s: float | None = None  # of the file, probed
    tool: str | None = None  # "ffmpeg 5.1.6"; None where the file is the source's own bytes
    notes: tuple[str, ...] = ()  # a picture header stripped, discontinuities, ...


class Failure(_Frozen):
    """Why a media was not got."""

    reason: str
    message: str
    passing: bool  # a transient fault: any rerun tries again; else only a person's requeue does
    refused: bool = False  # a rule of ours said no
    http_status: int | None = None
    exception: str | None = None  # class name
    attempts: int = 0
    crashes: int = 0
    first_failure: Moment | None = None
    last_failure: Moment | None = None
    worker: str | None = None  # host:pid


class MediaEnd(_Frozen):
    """`media/ab/ID.GENERATION.json`. `file` and `fetched` stand when got, `failure` when not."""

    format: int = 1
    media: str  # media id
    generation: int
    source: str
    kind: MediaKind
    state: EndState
    url: str  # as the feed gave it, struck out
    post: str
    feed: str
    position: int = 0
    title: str | None = None
    author: str | None = None
    created_at: str | None = None
    attempts: int = 0
    ended_at: Moment
    fetched: Fetched | None = None
    file: MediaFile | None = None
    failure: Failure | None = None
    video: VideoRecord | None = None  # of a video that came in pieces
    notes: tuple[str, ...] = ()  # such as why it is not the best rendition
