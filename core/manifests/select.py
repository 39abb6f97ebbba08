"""Which of a manifest's offers are got: the best picture that is wanted, its sound, its subtitles
if they are asked for; and why, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.manifests.codecs import AUDIO, VIDEO, families, is_audio_only
from core.manifests.playlists import (
    Inline,
    MediaPlaylist,
    MediaRendition,
    Multivariant,
    RenditionKind,
    Variant,
)
from core.manifests.wanted import quality_rank, rank
from core.model.plan import TrackKind

PREFERRED_CODECS = ("avc", "hevc", "av1", "vp9")  # among pictures of one size: what plays anywhere


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """What a person wants."""

    max_height: int | None = None  # pixels
    quality: tuple[str, ...] = ()  # names, the most wanted first; none is better than the height
    codecs: tuple[str, ...] = PREFERRED_CODECS  # families, the most wanted first
    language: str | None = None  # of sound and subtitles: "en" is also «en-GB»
    subtitles: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """One media playlist to read, and the track that it makes."""

    url: str
    kind: TrackKind | None  # None: only its segments tell
    codecs: str | None = None
    language: str | None = None
    name: str | None = None
    width: int | None = None
    height: int | None = None
    bandwidth: int | None = None
    inline: Inline | None = field(default=None, compare=False, repr=False)  # nothing to ask for


@dataclass(frozen=True, slots=True)
class Choice:
    """What is got of a manifest. The first of `wanted` has the pictures."""

    wanted: tuple[Wanted, ...]
    why: str  # for people
    variant: Variant | None = None  # None: the manifest is a media playlist, there was no choice
    audio: MediaRendition | None = None  # None: inside the variant, or there is none
    subtitles: tuple[MediaRendition, ...] = ()
    audio_only: bool = False  # nothing else is offered
    notes: tuple[str, ...] = ()


def choose(manifest: Multivariant | MediaPlaylist, policy: SelectionPolicy) -> Choice:
    """The choice by `policy`. I-frame streams are not among what can be chosen."""
    if isinstance(manifest, MediaPlaylist):
        only = Wanted(manifest.url, None)
        return Choice((only,), "the manifest has one set of segments")
    videos = [variant for variant in manifest.variants if not _has_sound_only(variant)]
    variant = _best(videos or _spoken(manifest.variants, policy), policy)
    notes: list[str] = []
    audio = _sound(manifest, variant, policy, notes) if videos else None
    subtitles = _subtitles(manifest, variant, policy, notes) if policy.subtitles else ()
    if not videos:
        notes.append("only sound is offered, no pictures")
    return Choice(
        wanted=_wanted(variant, audio, subtitles, has_pictures=bool(videos)),
        why=_why(variant, audio, len(videos or manifest.variants), policy),
        variant=variant,
        audio=audio,
        subtitles=subtitles,
        audio_only=not videos,
        notes=tuple(notes),
    )


def _has_sound_only(variant: Variant) -> bool:
    told = variant.height is None and is_audio_only(variant.codecs)
    return variant.has_sound_only or told


def _spoken(variants: Sequence[Variant], policy: SelectionPolicy) -> Sequence[Variant]:
    """Of what has no pictures, that in the wanted language, or where none is, in the first's."""
    best = max(variants, key=lambda variant: _speaks(variant, policy.language))
    return [variant for variant in variants if variant.language == best.language]


# --- the picture ---


def _best(variants: Sequence[Variant], policy: SelectionPolicy) -> Variant:
    """The largest picture up to the height, or of those the wanted quality; when all are higher,
    the smallest. Of one size, the preferred codecs, then the most bandwidth; of equals, the first:
    the others are its mirrors."""
    told = [one for one in variants if one.height is not None or _named(one, policy)] or variants
    fitting = [variant for variant in told if _fits(variant, policy)]
    if fitting:
        return max(fitting, key=lambda v: (_named(v, policy), _area(v), *_quality(v, policy)))
    return min(told, key=lambda v: (_area(v), *(-part for part in _quality(v, policy))))


def _named(variant: Variant, policy: SelectionPolicy) -> int:
    """The more, the more its quality is wanted; 0 where nobody named it."""
    size = variant.width, variant.height
    return len(policy.quality) + quality_rank(variant.name, size, policy.quality)


def _fits(variant: Variant, policy: SelectionPolicy) -> bool:
    return policy.max_height is None or (variant.height or 0) <= policy.max_height


def _area(variant: Variant) -> int:
    return (variant.width or 0) * (variant.height or 0)


def _quality(variant: Variant, policy: SelectionPolicy) -> tuple[int, ...]:
    found = families(variant.codecs)
    ranks = (rank(found & VIDEO, policy.codecs), rank(found & AUDIO, policy.codecs))
    return (*ranks, variant.bandwidth)


# --- what goes with it ---


def _sound(
    manifest: Multivariant, variant: Variant, policy: SelectionPolicy, notes: list[str]
) -> MediaRendition | None:
    """The rendition of the variant's audio group; None when the variant holds it itself."""
    if variant.audio_group is None:
        return None
    group = _group(manifest, RenditionKind.AUDIO, variant.audio_group)
    if not group:
        notes.append(f"the audio group {variant.audio_group!r} is not there: is it inside?")
        return None
    best = max(group, key=lambda rendition: _fitness(rendition, policy))
    if policy.language and not _speaks(best, policy.language):
        notes.append(f"no audio in the language {policy.language!r}")
    is_inside = best.inline is None and best.url in (None, variant.url)
    return None if is_inside else best


def _fitness(rendition: MediaRendition, policy: SelectionPolicy) -> tuple[int, ...]:
    """The language setting, then DEFAULT, then AUTOSELECT; of several qualities the preferred
    codec, then the most bandwidth; `max` leaves the first of equals."""
    preferred = rank(families(rendition.codecs) & AUDIO, policy.codecs)
    spoken = _speaks(rendition, policy.language)
    return spoken, rendition.default, rendition.autoselect, preferred, rendition.bandwidth


def _speaks(offered: Variant | MediaRendition, language: str | None) -> int:
    """2: the language itself; 1: a kind of it, or that of which it is one; 0: another."""
    told, wanted = (offered.language or "").lower(), (language or "").lower()
    if not told or not wanted:
        return 0
    if told == wanted:
        return 2
    return int(told.partition("-")[0] == wanted.partition("-")[0])


def _subtitles(
    manifest: Multivariant, variant: Variant, policy: SelectionPolicy, notes: list[str]
) -> tuple[MediaRendition, ...]:
    """Those of the variant's group in the wanted language; all of them where none is, or none is
    wanted."""
    group = _group(manifest, RenditionKind.SUBTITLES, variant.subtitles_group)
    files = [rendition for rendition in group if rendition.url is not None]
    if not files:
        notes.append("no subtitles are offered with this picture")
    spoken = [rendition for rendition in files if _speaks(rendition, policy.language)]
    return tuple(spoken or files)


def _group(manifest: Multivariant, kind: RenditionKind, name: str | None) -> list[MediaRendition]:
    return [
        rendition
        for rendition in manifest.renditions
        if rendition.kind is kind and rendition.group == name
    ]


def _wanted(
    variant: Variant,
    audio: MediaRendition | None,
    subtitles: Iterable[MediaRendition],
    *,
    has_pictures: bool,
) -> tuple[Wanted, ...]:
    first = Wanted(
        url=variant.url,
        kind=TrackKind.VIDEO if has_pictures else TrackKind.AUDIO,
        codecs=variant.codecs,
        width=variant.width,
        height=variant.height,
        bandwidth=variant.bandwidth or None,
        language=variant.language,
        inline=variant.inline,
    )
    beside = [(TrackKind.AUDIO, audio)] if audio else []
    beside += [(TrackKind.SUBTITLES, rendition) for rendition in subtitles]
    others = [
        Wanted(
            url=found.url,
            kind=kind,
            codecs=found.codecs,
            language=found.language,
            name=found.name,
            bandwidth=found.bandwidth or None,
            inline=found.inline,
        )
        for kind, found in beside
        if found.url is not None
    ]
    return (first, *others)


# --- in words ---


def _why(
    variant: Variant, audio: MediaRendition | None, count: int, policy: SelectionPolicy
) -> str:
    words = f"{describe(variant)}: {_reason(variant, count, policy)}"
    if audio is None:
        return words
    return f"{words}; audio {audio.name or audio.group}" + (
        f" ({audio.language})" if audio.language else ""
    )


def _reason(variant: Variant, count: int, policy: SelectionPolicy) -> str:
    if count == 1:
        return "the only variant"
    if _named(variant, policy):
        return f"the wanted quality, of {count} variants"
    if variant.height is None:
        return f"the most bandwidth of {count} variants, none of which tells its size"
    if policy.max_height is None:
        return f"the best of {count} variants"
    if variant.height > policy.max_height:
        return f"the smallest of {count} variants, all of them over {policy.max_height} lines"
    return f"the best of {count} variants up to {policy.max_height} lines"


def describe(variant: Variant) -> str:
    """1920x1080 avc1.640028,mp4a.40.2 5.3 Mbit/s."""
    size = f"{variant.width}x{variant.height}" if variant.height else "size not told"
    bits = f"{variant.bandwidth / 1e6:.1f} Mbit/s" if variant.bandwidth else "bandwidth not told"
    return " ".join(filter(None, (size, variant.codecs, bits)))
