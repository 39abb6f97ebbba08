"""Videos for tests: plans, tasks, a network that is a dictionary, a disk that does not wait."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from core import errors
from core.model.plan import Container, Part, Piece, Plan, Segment, Track, TrackKind
from core.model.post import MediaKind
from core.model.source import SourceTerms
from core.model.task import ManifestPayload, Task, media_task
from core.model.video import StagedVideo
from core.store.files import Disk

MEDIA = "ab" + "0" * 30
SOURCE = "feed"
MANIFEST = "https://media.example/v/index.m3u8"


class QuickDisk(Disk):
    """Does not wait for the medium: these tests cut no power."""

    def sync(self, path: Path, *, mode: int | None = None) -> None:
        if mode is not None:
            path.chmod(mode)


def a_manifest_payload(media: str = MEDIA, **fields: object) -> ManifestPayload:
    about: dict[str, object] = {
        "media": media,
        "media_kind": MediaKind.VIDEO,
        "url": MANIFEST,
        "post": "p" * 32,
        "feed": "f" * 16,
        "title": "The race",
    }
    return ManifestPayload.model_validate(about | fields)


def a_manifest_task(media: str = MEDIA, **fields: object) -> Task:
    return media_task(SOURCE, a_manifest_payload(media)).model_copy(update=fields)


def body_of(piece: int) -> bytes:
    return b"<piece %d>" % piece


def manifest_of(pieces: int, *, sign: str = "", seconds: float = 2) -> bytes:
    """`sign` stands in every piece's address, as a signature that expires does."""
    lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:2"]
    lines += [line for n in range(pieces) for line in (f"#EXTINF:{seconds},", f"{n}.ts{sign}")]
    return "\n".join([*lines, "#EXT-X-ENDLIST", ""]).encode()


def whole(pieces: int) -> bytes:
    return b"".join(map(body_of, range(pieces)))


def a_plan(pieces: int, *, gaps: Sequence[int] = (), media: str = MEDIA) -> Plan:
    """A plan of one track; `gaps` are numbers of segments that the source lacks."""
    parts = {n: Part(piece=n) for n in range(pieces)} | dict.fromkeys(gaps)
    segments = [Segment(part=part, duration_s=2.0, sequence=n) for n, part in parts.items()]
    track = Track(kind=TrackKind.VIDEO, container=Container.TS, segments=tuple(segments))
    return Plan(
        media=media,
        source=SOURCE,
        manifest_url=MANIFEST,
        manifest_sha256="0" * 64,
        final_urls=(MANIFEST,),
        pieces=tuple(Piece(url=f"https://media.example/v/{n}.ts") for n in range(pieces)),
        tracks=(track,),
        duration_s=2.0 * len(segments),
        chosen="the manifest has one set of segments",
    )


def a_staged(pieces: int, **fields: object) -> StagedVideo:
    return StagedVideo(source=SOURCE, payload=a_manifest_payload(), plan=a_plan(pieces, **fields))


def number_of(url: str) -> int:
    return int(Path(url.partition("?")[0]).stem)


@dataclass
class Net:
    """The network: answers by address, and what was asked of it."""

    manifest: bytes
    asked: Counter[str] = field(default_factory=Counter)
    faults: dict[int, Callable[[], BaseException]] = field(default_factory=dict)  # by piece
    manifest_fault: Callable[[], BaseException] | None = None
    expired: set[str] = field(default_factory=set)  # signatures of addresses
    cost: Callable[[], None] = lambda: None

    @contextmanager
    def visit(self, _terms: SourceTerms, **_told: object) -> Iterator[Net]:
        self.prompt, self.token_wait_s = True, 0.0
        yield self

    def page(self, request):
        self.asked[request.url] += 1
        if self.manifest_fault is not None:
            raise self.manifest_fault()
        return SimpleNamespace(stream=io.BytesIO(self.manifest), url=request.url)

    def download(self, request, partial, progress, *, span=None):
        self.asked[request.url] += 1
        self.cost()
        piece = number_of(request.url)
        if "?" + request.url.partition("?")[2] in self.expired:
            raise forbidden()
        if piece in self.faults:
            raise self.faults[piece]()
        partial.path.write_bytes(body_of(piece))
        progress(len(body_of(piece)))
        return SimpleNamespace()

    def asked_of(self, piece: int) -> int:
        """How often a piece was asked for, under whatever signature."""
        addresses = (url for url in self.asked if url.partition("?")[0].endswith(f"/{piece}.ts"))
        return sum(self.asked[url] for url in addresses)


def forbidden() -> BaseException:
    """Its address has expired."""
    return errors.Forbidden("https://media.example: 403", http_status=403)


def gone() -> BaseException:
    """The piece is not there, for good."""
    return errors.Gone("https://media.example: 404", http_status=404)


def trouble() -> BaseException:
    """The piece may be there another time."""
    return errors.ServerTrouble("https://media.example: 502", http_status=502)
