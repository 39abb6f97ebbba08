"""What a CODECS attribute names, by family: enough to prefer one and to tell sound from
pictures."""

from __future__ import annotations

VIDEO = frozenset(["avc", "hevc", "av1", "vp9", "vp8", "dolby_vision", "other_video"])
AUDIO = frozenset(["aac", "ac3", "eac3", "opus", "mp3", "flac", "other_audio"])

# By what stands before the first dot (RFC 6381 and the registry of sample entries).
_FAMILIES = {
    "avc1": "avc",
    "avc3": "avc",
    "hvc1": "hevc",
    "hev1": "hevc",
    "av01": "av1",
    "vp09": "vp9",
    "vp9": "vp9",
    "vp08": "vp8",
    "vp8": "vp8",
    "dvh1": "dolby_vision",
    "dvhe": "dolby_vision",
    "dva1": "dolby_vision",
    "dvav": "dolby_vision",
    "dav1": "dolby_vision",
    "vvc1": "other_video",
    "vvi1": "other_video",
    "mp4v": "other_video",
    "mjpg": "other_video",
    "mp4a": "aac",
    "ac-3": "ac3",
    "ec-3": "eac3",
    "ac-4": "other_audio",
    "opus": "opus",
    "mp3": "mp3",
    "flac": "flac",
    "alac": "other_audio",
    "dtsc": "other_audio",
    "dtse": "other_audio",
    "dtsx": "other_audio",
    "vorbis": "other_audio",
}
# The object types of mp4a that are not AAC (ISO/IEC 14496-1).
_MP4A = {
    "mp4a.6b": "mp3",
    "mp4a.69": "mp3",
    "mp4a.40.34": "mp3",
    "mp4a.a5": "ac3",
    "mp4a.a6": "eac3",
}


def families(codecs: str | None) -> frozenset[str]:
    """The families in `codecs`; what is not known, captions among it, says nothing."""
    names = [name.strip() for name in (codecs or "").split(",")]
    return frozenset(family for name in names if (family := _family(name)))


def is_audio_only(codecs: str | None) -> bool:
    """Whether `codecs` names sound and nothing else that we know. Without codecs nobody can
    tell."""
    found = families(codecs)
    return bool(found & AUDIO) and not found & VIDEO


def _family(name: str) -> str | None:
    if name.lower() in _MP4A:
        return _MP4A[name.lower()]
    short = name.partition(".")[0].lower()
    return _FAMILIES.get(short) or (short if short in VIDEO | AUDIO else None)  # its own name
