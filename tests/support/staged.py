"""A video that is half got: its plan, and pieces put as a fragment's step puts them."""

from __future__ import annotations

from pathlib import Path

from core.model.end import Failure
from core.model.plan import Container, KeyRef, Part, Piece, Plan, Segment, Track, TrackKind
from core.model.post import MediaKind
from core.model.task import ManifestPayload
from core.model.video import StagedVideo
from core.store.store import Store
from tests.support.store import FEED, MEDIA, POST, SOURCE, validators

KEY_URL = "http://mill.example/key"
GONE = Failure(reason="gone", message="404", passing=False)


def staged_video(pieces: int = 3, *, media: str = MEDIA, sign: str = "a") -> StagedVideo:
    """A plan of so many pieces; `sign` tells two plans of one media apart."""
    key = KeyRef(url=KEY_URL, iv="0" * 32)
    segments = tuple(
        Segment(part=Part(piece=piece, key=key), duration_s=6.0, sequence=piece)
        for piece in range(pieces)
    )
    plan = Plan(
        media=media,
        source=SOURCE,
        manifest_url=f"http://mill.example/index.m3u8?sign={sign}",
        manifest_sha256="0" * 64,
        final_urls=("http://mill.example/index.m3u8",),
        pieces=tuple(Piece(url=f"http://mill.example/{piece}.ts") for piece in range(pieces)),
        tracks=(Track(kind=TrackKind.VIDEO, container=Container.TS, segments=segments),),
        duration_s=6.0 * pieces,
        chosen="the only variant",
    )
    payload = ManifestPayload(
        media=media,
        media_kind=MediaKind.VIDEO,
        url="http://mill.example/index.m3u8",
        post=POST,
        feed=FEED,
    )
    return StagedVideo(source=SOURCE, payload=payload, plan=plan, keys={KEY_URL: "ab" * 16})


def a_piece(
    store: Store, piece: int, content: bytes, *, media: str = MEDIA, token: str = "t1"
) -> Path:
    """A downloaded partial of a piece."""
    partial = store.staging.take(f"{media}-{piece:06d}", token)
    partial.keep(validators())
    partial.path.write_bytes(content)
    return partial.path


def put(store: Store, piece: int, content: bytes, *, media: str = MEDIA, token: str = "t1") -> None:
    """One piece, got and kept."""
    partial = a_piece(store, piece, content, media=media, token=token)
    store.videos.put(media, piece, partial)
