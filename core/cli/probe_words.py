"""What `headrace probe` found, for people and for programs. Addresses are struck out in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, assert_never

from core.cli.wording import count, duration, printable, table
from core.fetch.types import Sniffed
from core.manifests import Choice, MediaPlaylist, Multivariant, Wanted
from core.manifests.codecs import AUDIO, families
from core.manifests.playlists import MediaRendition, RenditionKind, Variant
from core.model.addresses import strike
from core.model.plan import Plan, Track
from core.model.post import FeedPage, MediaRecord, Post

_POSTS_SHOWN = 5
_MEDIA_SHOWN = 4  # of a post
_NOTES_SHOWN = 10
_INLINE = "inline"  # reads segments; it is no property of what is offered
_HEAD = ("", "size", "codecs", "bandwidth", "audio", "subtitles")
_COLUMN = 10  # where what a line says begins


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why it would not be got."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class FileFound:
    """A plain file."""

    url: str
    final_url: str
    type: Sniffed  # by its first bytes
    type_told: str | None  # by its header


@dataclass(frozen=True, slots=True)
class FeedFound:
    """A feed's first page that has posts."""

    url: str
    final_url: str
    adapter: str
    page: FeedPage
    told_by: str = "bytes"  # what chose the adapter: "settings", "address" or "bytes"
    source: str = "feed"  # on whose terms it was asked
    pages: int = 1  # how many were read
    needs: str | None = None  # what its source wants, where the settings lack it


@dataclass(frozen=True, slots=True)
class ManifestFound:
    """A manifest; either a plan can be made of it, or it is refused."""

    url: str
    offer: Multivariant | MediaPlaylist
    choice: Choice
    plan: Plan | None
    refused: Refusal | None = None
    secret_names: tuple[str, ...] = ()  # query parameters that are struck out too


Found = FileFound | FeedFound | ManifestFound


def is_refused(found: Found) -> bool:
    """Whether nothing would be got."""
    match found:
        case ManifestFound(refused=refused):
            return refused is not None
        case FeedFound() | FileFound():
            return False
        case _ as never:
            assert_never(never)


# --- for people ---


def told(found: Found) -> Iterator[str]:
    """Lines that nothing in a feed or manifest can colour or break."""
    return map(printable, _told(found))


def _told(found: Found) -> Iterator[str]:
    match found:
        case FileFound():
            yield f"{found.type.kind} file {strike(found.final_url)}"
            yield _line("type", found.type.type)
            if found.type_told and found.type_told.partition(";")[0].strip() != found.type.type:
                yield _line("header", f"says {found.type_told}; the bytes have the last word")
        case FeedFound():
            yield from _told_feed(found)
        case ManifestFound():
            yield f"{_format(found).upper()} manifest {strike(found.offer.url)}"
            if isinstance(found.offer, Multivariant):
                yield from _told_offer(found.offer, found.choice)
            yield _line("chosen", found.choice.why)
            yield from _told_plan(found)
        case _ as never:
            assert_never(never)


def _told_feed(found: FeedFound) -> Iterator[str]:
    page = found.page
    media = sum(len(post.media) for post in page.posts)
    more = ", and more pages" if page.cursor else ""
    yield f"feed {strike(found.final_url)}"
    yield _line("read as", f"{found.adapter}, told by its {found.told_by}")
    if found.needs:
        yield _line("needs", found.needs)
    if found.pages > 1:
        yield _line("looked at", f"{count(found.pages, 'page')}, the last of which")
    yield _line("holds", f"{count(len(page.posts), 'post')}, {media:,} media{more}")
    for post in page.posts[:_POSTS_SHOWN]:
        yield _line("post", post.title or strike(post.key))
        for record in post.media[:_MEDIA_SHOWN]:
            best = record.renditions[0]
            how = f" ({best.manifest})" if best.manifest else ""
            yield _line("", f"{record.kind}{how}  {strike(best.url)}")
    for skipped in page.skipped[:_NOTES_SHOWN]:
        yield _line("skipped", f"{skipped.where}: {skipped.reason}")


def _format(found: ManifestFound) -> str:
    return found.offer.format if isinstance(found.offer, Multivariant) else "hls"


def _told_offer(offer: Multivariant, choice: Choice) -> Iterator[str]:
    rows = [_row(variant, choice) for variant in offer.variants]
    yield from table(_HEAD, rows, left=len(_HEAD))
    beside = {RenditionKind.AUDIO: "audio", RenditionKind.SUBTITLES: "subtitles"}
    for rendition in offer.renditions:
        if word := beside.get(rendition.kind):
            taken = rendition == choice.audio or rendition in choice.subtitles
            yield _line(f"* {word}" if taken else f"  {word}", _described(rendition))


def _row(variant: Variant, choice: Choice) -> Sequence[str]:
    return (
        "*" if variant is choice.variant else "",
        f"{variant.width}x{variant.height}" if variant.height else "-",
        variant.codecs or "-",
        f"{variant.bandwidth / 1e6:.1f} Mbit/s" if variant.bandwidth else "-",
        variant.audio_group or ("in it" if families(variant.codecs) & AUDIO else "-"),
        variant.subtitles_group or "-",
    )


def _described(rendition: MediaRendition) -> str:
    words = [
        rendition.name or "without a name",
        f"({rendition.language})" if rendition.language else "",
        rendition.codecs or "",
        f"{rendition.bandwidth / 1000:.0f} kbit/s" if rendition.bandwidth else "",
        f"group {rendition.group}",
        "default" if rendition.default else "",
        "" if rendition.url else "inside the video",
    ]
    return " ".join(filter(None, words))


def _told_plan(found: ManifestFound) -> Iterator[str]:
    notes = dict.fromkeys([*found.offer.notes, *found.choice.notes])
    if found.plan is not None:
        yield _line("length", duration(found.plan.duration_s))
        for track in found.plan.tracks:
            yield _line(str(track.kind), _track(track))
        notes |= dict.fromkeys(found.plan.notes)
    for note in list(notes)[:_NOTES_SHOWN]:
        yield _line("note", note)
    if found.refused is not None:
        yield _line("refused", f"{found.refused.reason}: {found.refused.message}")


def _track(track: Track) -> str:
    words = [
        f"{count(len(track.segments), 'segment')} of {track.container}",
        duration(track.duration_s),
        _encryption(track),
        f"{count(len(track.gaps), 'gap')}: the source lacks them" if track.gaps else "",
    ]
    return ", ".join(filter(None, words))


def _encryption(track: Track) -> str:
    keys = _keys(track)
    return f"AES-128 with {count(len(keys), 'key')}" if keys else "not encrypted"


def _keys(track: Track) -> set[str]:
    parts = [part for one in track.segments for part in (one.init, one.part) if part is not None]
    return {part.key.url for part in parts if part.key is not None}


def _line(word: str, words: str) -> str:
    return f"{word:<{_COLUMN}} {words}"


# --- for programs ---


def record(found: Found) -> dict[str, Any]:
    """The JSON object."""
    match found:
        case FileFound():
            what = {"what": "file", "kind": found.type.kind, "type": found.type.type}
            return _about(found.url, found.final_url) | what | {"type_told": found.type_told}
        case FeedFound():
            return _about(found.url, found.final_url) | _feed_record(found)
        case ManifestFound():
            return _about(found.url, found.offer.url) | _manifest_record(found)
        case _ as never:
            assert_never(never)


def refusal_record(url: str, refused: Refusal) -> dict[str, Any]:
    """The JSON object when there is nothing else to say."""
    return {"url": strike(url), "what": "unknown", "refused": asdict(refused)}


def _about(url: str, final_url: str) -> dict[str, Any]:
    return {"url": strike(url), "final_url": strike(final_url), "refused": None}


def _feed_record(found: FeedFound) -> dict[str, Any]:
    return {
        "what": "feed",
        "adapter": found.adapter,
        "told_by": found.told_by,
        "source": found.source,
        "needs": found.needs,
        "pages": found.pages,
        "posts": [_post(post) for post in found.page.posts[:_POSTS_SHOWN]],
        "post_count": len(found.page.posts),
        "media_count": sum(len(post.media) for post in found.page.posts),
        "more_pages": found.page.cursor is not None,
        "skipped": len(found.page.skipped),
    }


def _post(post: Post) -> dict[str, Any]:
    return {"title": post.title, "media": [_media(media) for media in post.media[:_MEDIA_SHOWN]]}


def _media(media: MediaRecord) -> dict[str, Any]:
    best = media.renditions[0]
    return {"kind": media.kind, "url": strike(best.url), "manifest": best.manifest}


def _manifest_record(found: ManifestFound) -> dict[str, Any]:
    offer, choice, plan, secret = found.offer, found.choice, found.plan, found.secret_names
    offered = offer if isinstance(offer, Multivariant) else None
    return {
        "what": _format(found),
        "refused": asdict(found.refused) if found.refused else None,
        "variants": [_struck(one, secret) for one in offered.variants] if offered else [],
        "renditions": [_struck(one, secret) for one in offered.renditions] if offered else [],
        "chosen": [_chosen(wanted, secret) for wanted in choice.wanted],
        "why": choice.why,
        "duration_s": plan.duration_s if plan else None,
        "fragments": len(plan.pieces) if plan else None,
        "tracks": [_track_record(track) for track in plan.tracks] if plan else [],
        "notes": list(plan.notes if plan else (*offer.notes, *choice.notes)),
    }


def _struck(offered: Variant | MediaRendition, secret: Sequence[str]) -> dict[str, Any]:
    told = {one.name: getattr(offered, one.name) for one in fields(offered)}
    url = None if offered.url is None else _chosen(offered, secret)
    return {name: value for name, value in told.items() if name != _INLINE} | {"url": url}


def _chosen(offered: Variant | MediaRendition | Wanted, secret: Sequence[str]) -> str:
    """Its address; of what stands in the manifest itself, with its name there."""
    address, _, name = (offered.url or "").partition("#")
    struck = strike(address, secret)
    return f"{struck}#{name}" if offered.inline is not None and name else struck


def _track_record(track: Track) -> dict[str, Any]:
    return {
        "kind": track.kind,
        "container": track.container,
        "segments": len(track.segments),
        "gaps": list(track.gaps),
        "duration_s": track.duration_s,
        "encryption": "AES-128" if _keys(track) else None,
        "keys": len(_keys(track)),
    }
