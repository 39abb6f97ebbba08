"""A video whose pieces all lie in a folder, ready to be assembled: said in few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.model.plan import Container, KeyRef, Part, Piece, Plan, Segment, Track, TrackKind
from core.model.post import MediaKind
from core.model.task import ManifestPayload
from core.model.video import StagedVideo
from core.video.assemble import Assembled, assemble
from core.video.ffmpeg import Ffmpeg
from core.video.shortfall import Doubts
from tests.support.rendered import Cut, encrypt

URL = "https://media.example/index.m3u8"


def nothing() -> None:
    """A check that lets everything go on."""


@dataclass
class Film:
    """Pieces and tracks under construction."""

    folder: Path
    pieces: list[Piece] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)

    def piece(self, content: bytes) -> int:
        """One more piece; its number."""
        number = len(self.pieces)
        self.path(number).write_bytes(content)
        self.pieces.append(Piece(url=f"https://media.example/{number}"))
        return number

    def path(self, number: int) -> Path:
        return self.folder / f"piece-{number}"

    def part(self, content: bytes, key: bytes | None = None, iv: int | bytes = 0) -> Part:
        """A piece and its use; encrypted with `key`."""
        if key is None:
            return Part(piece=self.piece(content))
        url = f"https://media.example/{key.hex()}.key"
        self.keys[url] = key.hex()
        told = iv if isinstance(iv, bytes) else iv.to_bytes(16, "big")
        number = self.piece(encrypt(content, key, iv))
        return Part(piece=number, key=KeyRef(url=url, iv=told.hex()))

    def segments(
        self, cut: Cut, *, discontinuity: int = 0, chosen: Sequence[int] | None = None
    ) -> tuple[Segment, ...]:
        """Segments of one second, in the clear."""
        init = None if cut.init is None else self.part(cut.init)
        numbers = range(len(cut.segments)) if chosen is None else chosen
        return tuple(
            segment(self.part(cut.segments[number]), init=init, discontinuity=discontinuity)
            for number in numbers
        )

    def track(
        self,
        *segments: Segment,
        kind: TrackKind = TrackKind.VIDEO,
        container: Container = Container.TS,
        **more: Any,
    ) -> None:
        self.tracks.append(Track(kind=kind, container=container, segments=segments, **more))

    def staged(self) -> StagedVideo:
        plan = Plan(
            media="m1",
            source="mill",
            manifest_url=URL,
            manifest_sha256="0" * 64,
            final_urls=(URL,),
            pieces=tuple(self.pieces),
            tracks=tuple(self.tracks),
            duration_s=self.tracks[0].duration_s,
            chosen="the only variant",
        )
        payload = ManifestPayload(
            media="m1", media_kind=MediaKind.VIDEO, url=URL, post="p1", feed="f1"
        )
        return StagedVideo(source="mill", payload=payload, plan=plan, keys=self.keys)

    def assembled(
        self,
        ffmpeg: Ffmpeg | None = None,
        check: Callable[[], None] = nothing,
        doubts: Doubts | None = None,
    ) -> Assembled:
        """Made in a new workspace."""
        workspace = self.folder / f"work-{len(list(self.folder.glob('work-*')))}"
        workspace.mkdir()
        tool = ffmpeg or Ffmpeg.find()
        return assemble(self.staged(), self.path, workspace, tool, check, doubts)


def segment(part: Part | None, **more: Any) -> Segment:
    """One second, numbered 0 unless it matters."""
    return Segment(**({"part": part, "duration_s": 1.0, "sequence": 0} | more))


def encrypted(film: Film, cut: Cut, key: bytes, first: int) -> list[Segment]:
    """Segments under the IVs that their sequence numbers give, from `first` on."""
    return [
        segment(film.part(content, key, first + number), sequence=first + number)
        for number, content in enumerate(cut.segments)
    ]
