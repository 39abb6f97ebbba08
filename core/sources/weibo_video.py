"""A video as Weibo offers it: files of several qualities, among them what is no film at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.model.post import Rendition
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.values import count_of, line_of, number_of, text_of
from core.sources.weibo_draft import Film, PostDraft, parameter

LIVE_NOW = "live_now"
MOVIE_CARD = "movie_card"
MOVIE_TYPE = "5"  # a film in the cinemas that the post is about

# Single addresses beside or instead of the list of qualities, best first.
_SINGLE = (
    "mp4_1080p_mp4",
    "mp4_720p_mp4",
    "mp4_hd_mp4",
    "mp4_hd_url",
    "hevc_mp4_hd",
    "stream_url_hd",
    "mp4_sd_url",
    "mp4_ld_mp4",
    "stream_url",
    "replay_hd",
)
_TEMPLATE = re.compile(r"(\d{2,5})x(\d{2,5})\b")
_CODEC = re.compile("hevc|h265|av1|h264")
_CODECS = {"hevc": "hvc1", "h265": "hvc1", "av1": "av01", "h264": "avc1"}  # as manifests say them


def add_video(draft: PostDraft, what: str, card: Item, *, beside: bool = False) -> None:
    """The video of a `page_info`, or of a mixed post's item."""
    info = item_of(card.get("media_info"))
    if not info and not item_of(card.get("urls")):
        if not beside:
            draft.skip(what, "no_address")
        return
    wanted = beside  # what no count includes is missing from none
    if text_of(card.get("type")) == MOVIE_TYPE:
        draft.skip(what, MOVIE_CARD, wanted=wanted)
    elif count_of(info.get("live_status")) == 1:
        draft.skip(what, LIVE_NOW, wanted=wanted)
    else:
        draft.film(what, _film(draft, card, info), beside=beside)


def sized(draft: PostDraft, raw: object, name: str | None = None) -> Rendition | None:
    """A file of which only its address tells the size, and its address or `name` the quality."""
    found = draft.rendition(raw)
    if found is None:
        return None
    quality = line_of(parameter(found.url, "label")) or name
    told: dict[str, object] = {"quality": quality, "codecs": _named_codec(quality or "")}
    if size := _TEMPLATE.match(parameter(found.url, "template") or ""):
        told |= {"width": int(size[1]), "height": int(size[2])}
    return found.model_copy(update=told)


def _named_codec(quality: str) -> str | None:
    """By the name of a quality, which says so of the newer ones only."""
    found = _CODEC.search(quality)
    return _CODECS[found[0]] if found else None


def _film(draft: PostDraft, card: Item, info: Item) -> Film:
    listed = [*_listed(draft, info)]
    seconds = number_of(info.get("duration"))
    return Film(
        listed or [*_singles(draft, card, info)],
        key=_object_id(card, info),
        poster=_poster(card),
        duration_s=seconds or number_of(card.get("duration")),
    )


def _listed(draft: PostDraft, info: Item) -> Iterator[Rendition]:
    """The list of qualities, best first, without its sheets of stills, which claim the quality of
    the film that they are of."""
    entries = list(items_of(info.get("playback_list")))
    for entry in sorted(entries, key=_worth, reverse=True):
        told = item_of(entry.get("play_info"))
        mime = line_of(told.get("mime")) or ""
        if not mime.startswith("video/"):
            continue
        found = sized(draft, told.get("url"))
        if found is not None:
            yield found.model_copy(
                update={
                    "mime": mime,
                    "width": count_of(told.get("width")) or found.width,
                    "height": count_of(told.get("height")) or found.height,
                    "bitrate": count_of(told.get("bitrate")),
                    "size_bytes": count_of(told.get("size")),
                    "codecs": _codecs(told),
                    "quality": _quality_of(entry) or found.quality,
                }
            )


def _quality_of(entry: Item) -> str | None:
    """«720p» goes before «mp4_720p»: it is what the site's own player shows."""
    told = item_of(entry.get("play_info")), item_of(entry.get("meta"))
    names = (one.get(name) for name in ("quality_label", "label") for one in told)
    return next(filter(None, map(line_of, names)), None)


def _codecs(told: Item) -> str | None:
    named = (line_of(told.get(name)) for name in ("video_codecs", "audio_codecs"))
    return ",".join(filter(None, named)) or None


def _worth(entry: Item) -> tuple[bool, int, int, int]:
    """Whole files before the halves of streams that are sent in pieces, picture and sound apart."""
    told = item_of(entry.get("play_info"))
    area = (count_of(told.get("width")) or 0) * (count_of(told.get("height")) or 0)
    quality = count_of(child(entry, "meta", "quality_index")) or 0
    whole = (line_of(told.get("protocol")) or "general") != "dash"
    return whole, quality, area, count_of(told.get("bitrate")) or 0


def _singles(draft: PostDraft, card: Item, info: Item) -> Iterator[Rendition]:
    urls = item_of(card.get("urls"))
    for told in (urls, info):
        for name in _SINGLE:
            if line_of(told.get(name)) and (found := sized(draft, told.get(name), name)):
                yield found


def _object_id(card: Item, info: Item) -> str | None:
    """The same under both web interfaces; the mobile one has it in a link to the video's page."""
    for told in (card.get("object_id"), info.get("object_id"), info.get("media_id")):
        if found := line_of(told):
            return found
    link = line_of(card.get("page_url"))
    return parameter(link, "fid") if link else None


def _poster(card: Item) -> object:
    """An address, or an object that has one."""
    told = card.get("page_pic")
    return told if isinstance(told, str) else child(told, "url")
