"""DASH (ISO/IEC 23009-1), static presentations: bytes and their address become what a manifest
offers. No I/O; segments are read only of what is chosen, and nothing of them is asked for twice.

A presentation is told like a multivariant playlist: pictures are its variants, sound and text its
renditions, and each brings its segments with it. A period is a discontinuity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from urllib.parse import quote

from core.manifests.dash_periods import read_periods
from core.manifests.dash_representations import Representation, read_representations
from core.manifests.dash_tracks import Tracks
from core.manifests.dash_xml import Document, begins_one, read_document
from core.manifests.playlists import MediaRendition, Multivariant, RenditionKind, Variant
from core.model.plan import TrackKind

__all__ = ["begins_one", "parse"]

MAX_OFFERS = 500  # of a kind

_SOUND, _TEXT = "audio", "subtitles"  # the groups' names
_NOT_FIRST = frozenset(["alternate", "supplementary", "commentary", "dub", "description", "sign"])


def parse(body: bytes, url: str) -> Multivariant:
    """What the manifest at `url`, its final address, offers.

    Raises `Malformed`, `TooLarge`, `Unsupported` (live, or parts that lie elsewhere), or
    `Truncated` where it breaks off. What is wrong with segments, or protected, is raised where they
    are read."""
    document = read_document(body, url)
    periods = read_periods(document)
    tracks = Tracks(document, read_representations(document, periods))
    pictures = _first_views(document, tracks.offered(TrackKind.VIDEO))
    sounds = tracks.offered(TrackKind.AUDIO)
    if not pictures and not sounds:
        raise document.malformed("empty_manifest", "neither pictures nor sound in the manifest")
    texts = _readable_texts(document, tracks.offered(TrackKind.SUBTITLES))
    first = [_variant(one, tracks, bool(sounds), bool(texts)) for one in pictures[:MAX_OFFERS]]
    alone = [_variant(one, tracks, False, bool(texts)) for one in sounds[:MAX_OFFERS]]
    renditions = [*_sounds(sounds, tracks), *_texts(texts, tracks)] if pictures else []
    return Multivariant(
        url=url,
        variants=tuple(first or alone),
        renditions=tuple(renditions),
        format="dash",
        notes=tuple(document.notes),
    )


def _first_views(document: Document, found: list[Representation]) -> list[Representation]:
    """Without another camera or a sign language's picture, which would win by its size."""
    first = [one for one in found if not one.roles & _NOT_FIRST]
    if first and len(first) < len(found):
        document.note(f"{len(found) - len(first)} pictures of another view are left out")
    return first or found


def _readable_texts(document: Document, found: list[Representation]) -> list[Representation]:
    readable = [one for one in found if _is_text(one)]
    others = {one.codecs or one.mime for one in found if not _is_text(one)}
    for name in sorted(others):
        document.note(f"subtitles in {name or 'a format that is not told'} are not read")
    return readable


def _is_text(one: Representation) -> bool:
    return one.container is not None and one.container.is_text


def _variant(one: Representation, tracks: Tracks, has_sounds: bool, has_texts: bool) -> Variant:
    return Variant(
        url=_address(one, tracks),
        bandwidth=one.bandwidth,
        codecs=one.codecs,
        width=one.width,
        height=one.height,
        frame_rate=one.frame_rate,
        audio_group=_SOUND if has_sounds and not one.has_sound else None,
        subtitles_group=_TEXT if has_texts else None,
        language=one.language if one.kind is TrackKind.AUDIO else None,
        has_sound_only=one.kind is TrackKind.AUDIO,
        inline=partial(tracks.read, one),
    )


def _sounds(found: Sequence[Representation], tracks: Tracks) -> list[MediaRendition]:
    """The default is what is called main, else what stands first, in whatever qualities."""
    main = [one for one in found if "main" in one.roles] or list(found)
    default = main[0].language if main else None
    return [
        _rendition(
            one,
            tracks,
            default=one in main and one.language == default,
            autoselect=not one.roles & _NOT_FIRST,
        )
        for one in found[:MAX_OFFERS]
    ]


def _texts(found: Sequence[Representation], tracks: Tracks) -> list[MediaRendition]:
    return [_rendition(one, tracks, default=False, autoselect=True) for one in found[:MAX_OFFERS]]


def _rendition(
    one: Representation, tracks: Tracks, *, default: bool, autoselect: bool
) -> MediaRendition:
    is_text = one.kind is TrackKind.SUBTITLES
    return MediaRendition(
        kind=RenditionKind.SUBTITLES if is_text else RenditionKind.AUDIO,
        group=_TEXT if is_text else _SOUND,
        name=one.label or one.id,
        language=one.language,
        default=default,
        autoselect=autoselect,
        forced=bool(one.roles & {"forced-subtitle", "forced_subtitle"}),
        url=_address(one, tracks),
        codecs=one.codecs,
        bandwidth=one.bandwidth,
        inline=partial(tracks.read, one),
    )


def _address(one: Representation, tracks: Tracks) -> str:
    """For people: nothing is asked for under it but the manifest."""
    return f"{tracks.document.url}#{quote(one.id)}"
