"""DASH manifests for tests: the fixtures, small ones written element by element, and films that
ffmpeg cut as a packager does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.manifests import (
    ByteRange,
    Choice,
    MediaPlaylist,
    Multivariant,
    SelectionPolicy,
    Spans,
    build_plan,
    choose,
    parse,
    read_wanted,
)
from core.model.plan import Plan
from core.model.post import MediaKind
from core.model.task import ManifestPayload
from core.model.video import StagedVideo
from core.video.assemble import Assembled, assemble
from core.video.ffmpeg import Ffmpeg
from tests.support.assembling import nothing
from tests.support.manifests import ANYTHING, no_span, origin
from tests.support.rendered import Frames, Rendered, ffmpeg

FOLDER = Path(__file__).parents[1] / "data" / "dash"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
BASE = "https://media.example.com/dash/"
URL = BASE + "index.mpd"
VIDEO = 'mimeType="video/mp4" codecs="avc1.64001f"'
AUDIO = 'mimeType="audio/mp4" codecs="mp4a.40.2"'


def fixture(name: str) -> Multivariant:
    return offered((FOLDER / name).read_bytes(), BASE + name)


def offered(body: bytes, url: str = URL) -> Multivariant:
    found = parse(body, url)
    assert isinstance(found, Multivariant)
    return found


def mpd(*inner: str, total: str | None = "PT8S", more: str = "") -> bytes:
    """A manifest around its periods."""
    length = f' mediaPresentationDuration="{total}"' if total else ""
    return (
        f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"{length} {more}>'
        f"{''.join(inner)}</MPD>"
    ).encode()


def period(*sets: str, more: str = "") -> str:
    return f"<Period {more}>{''.join(sets)}</Period>"


def adaptation(*inner: str, more: str = VIDEO) -> str:
    return f"<AdaptationSet {more}>{''.join(inner)}</AdaptationSet>"


def representation(*inner: str, id: str = "v", more: str = 'bandwidth="1000"') -> str:  # noqa: A002
    return f'<Representation id="{id}" {more}>{"".join(inner)}</Representation>'


def template(media: str = "$Number$.m4s", inner: str = "", **attributes: object) -> str:
    told = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<SegmentTemplate media="{media}"{told}>{inner}</SegmentTemplate>'


def timeline(*lines: str) -> str:
    return f"<SegmentTimeline>{''.join(f'<S {line}/>' for line in lines)}</SegmentTimeline>"


def one(*inner: str, total: str | None = "PT8S", more: str = "") -> bytes:
    """A manifest of one representation of pictures; `inner` stands in its adaptation set."""
    return mpd(period(adaptation(*inner, representation()), more=more), total=total)


def read(
    body: bytes,
    policy: SelectionPolicy = ANYTHING,
    url: str = URL,
    spans: Spans = no_span,
) -> tuple[Choice, list[MediaPlaylist]]:
    """What is chosen of a manifest, and its tracks. Only `spans` may be asked."""

    def refuse(asked: str) -> tuple[bytes, str]:
        raise AssertionError(asked)

    found = offered(body, url)
    choice = choose(found, policy)
    return choice, read_wanted(found, choice, refuse, spans)


def track(body: bytes, **policy: Any) -> MediaPlaylist:
    """The first track."""
    return read(body, SelectionPolicy(**policy))[1][0]


def names(playlist: MediaPlaylist) -> list[str]:
    """Where its segments lie, beside the manifest."""
    return [segment.url.removeprefix(BASE) for segment in playlist.segments]


def planned(
    body: bytes,
    policy: SelectionPolicy = ANYTHING,
    url: str = URL,
    spans: Spans = no_span,
    **changes: Any,
) -> Plan:
    return build_plan(origin(url, **changes), *read(body, policy, url, spans))


# --- films ---


@dataclass
class Presentation:
    """A folder as a site would serve it under `BASE`."""

    folder: Path
    works: list[Path] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return (self.folder / "index.mpd").read_bytes()

    def change(self, old: str, new: str) -> None:
        """Write the manifest otherwise; `old` is there."""
        text = self.body.decode()
        assert old in text
        (self.folder / "index.mpd").write_text(text.replace(old, new), encoding="utf-8")

    def span(self, urls: Sequence[str], part: ByteRange) -> bytes:
        """A part of a file of the folder."""
        content = (self.folder / urls[0].removeprefix(BASE)).read_bytes()
        return content[part.start : part.end]

    def assembled(self, body: bytes | None = None, policy: SelectionPolicy = ANYTHING) -> Assembled:
        """Plan and pieces, joined in a new workspace."""
        plan = planned(self.body if body is None else body, policy, spans=self.span)
        pieces = self.folder / f"pieces-{len(self.works)}"
        work = self.folder / f"work-{len(self.works)}"
        self.works.append(work)
        pieces.mkdir()
        work.mkdir()
        for number, piece in enumerate(plan.pieces):
            content = (self.folder / piece.url.removeprefix(BASE)).read_bytes()
            if piece.start is not None and piece.length is not None:
                content = content[piece.start : piece.start + piece.length]
            (pieces / str(number)).write_bytes(content)
        payload = ManifestPayload(
            media="m1", media_kind=MediaKind.VIDEO, url=URL, post="p1", feed="f1"
        )
        staged = StagedVideo(source="mill", payload=payload, plan=plan)
        return assemble(staged, lambda n: pieces / str(n), work, Ffmpeg.find(), nothing)

    def joined(self, rendered: Rendered, *files: str) -> Frames:
        """The frames of these files' bytes, one after the other."""
        content = b"".join((self.folder / name).read_bytes() for name in files)
        return rendered.frames_of(f"{self.folder.name}-joined.mp4", content)


def cut(film: Path, folder: Path, *options: object, streams: Sequence[str] = ("v", "a")) -> None:
    """Cut a film into segments of a second, as ffmpeg's packager does."""
    folder.mkdir()
    sets = " ".join(f"id={number},streams={of}" for number, of in enumerate(streams))
    ways = ("-c", "copy", "-f", "dash", "-seg_duration", "1", "-adaptation_sets", sets)
    ffmpeg("-i", film, *ways, *options, folder / "index.mpd")
