"""A post of the sample site's in the words of m.weibo.cn, of weibo.com and of the open API. Lists
show nine pictures of a post at most, the beginning of a long text, and of videos an address that is
dead already; a post's own page has it all. The open API has no such page, and no videos."""

from __future__ import annotations

from collections.abc import Callable

from scripts.sample_site.weibo_posts import LISTED_AT_ONCE, MEMBER, NAME, Film, Note, Picture

Where = Callable[..., str]
"""The address of a file: of a picture by its size's name, of a film with a ticket."""


def mobile(note: Note, picture_at: Where, film_at: Where, *, is_listed: bool) -> object:
    """As m.weibo.cn tells it."""
    shown = note.pictures[:LISTED_AT_ONCE] if is_listed else note.pictures
    status: dict[str, object] = {
        "id": note.ident,
        "mid": note.ident,
        "bid": note.short,
        "created_at": note.created,
        "text": f"{note.words}{_more(note) if is_listed else note.rest}",
        "isLongText": bool(note.rest),
        "user": {"id": int(MEMBER), "screen_name": NAME},
        "pic_num": len(note.pictures),
        "pics": [_mobile_picture(one, picture_at, film_at) for one in shown],
        "visible": {"type": 0, "list_id": 0},
    }
    if note.film:
        status["page_info"] = _mobile_film(note.film, picture_at, film_at, is_dead=is_listed)
    return status


def _more(note: Note) -> str:
    return f'...<a href="/status/{note.short}">全文</a>' if note.rest else "<br />"


def _mobile_picture(picture: Picture, picture_at: Where, film_at: Where) -> object:
    told: dict[str, object] = {
        "pid": picture.ident,
        "url": picture_at(picture, "orj360"),
        "large": {"size": "large", "url": picture_at(picture, "large")},
    }
    if picture.film:
        told |= {"type": "livephoto", "videoSrc": film_at(picture.film)}
    return told


def _mobile_film(film: Film, picture_at: Where, film_at: Where, *, is_dead: bool) -> object:
    cover = picture_at(Picture(film.ident, film.cover), "large")
    return {
        "type": "video",
        "object_id": film.ident,
        "page_pic": {"url": cover},
        "urls": {"mp4_720p_mp4": film_at(film.file, is_dead=is_dead)},
        "media_info": {"duration": 2},
    }


def desktop(note: Note, picture_at: Where, film_at: Where, *, is_listed: bool) -> object:
    """As weibo.com tells it: the order of the pictures apart from what they are."""
    shown = note.pictures[:LISTED_AT_ONCE] if is_listed else note.pictures
    status: dict[str, object] = {
        "id": int(note.ident),
        "idstr": note.ident,
        "mblogid": note.short,
        "created_at": note.created,
        "text_raw": note.words + ("..." if note.rest else ""),
        "isLongText": bool(note.rest),
        "user": {"id": int(MEMBER), "idstr": MEMBER, "screen_name": NAME},
        "pic_num": len(note.pictures),
        "pic_ids": [one.ident for one in note.pictures],
        "pic_infos": {
            one.ident: _desktop_picture(one, picture_at, film_at) for one in reversed(shown)
        },
        "isTop": int(note.is_pinned),
        "visible": {"type": 0, "list_id": 0},
    }
    if note.film:
        status["page_info"] = _desktop_film(note.film, picture_at, film_at, is_dead=is_listed)
    return status


def _desktop_picture(picture: Picture, picture_at: Where, film_at: Where) -> object:
    told: dict[str, object] = {
        name: {"url": picture_at(picture, folder), "width": width, "height": width * 2 // 3}
        for name, folder, width in (("thumbnail", "wap180", 60), ("largest", "large", 240))
    }
    told |= {"pic_id": picture.ident, "type": picture.kind}
    return told | ({"video": film_at(picture.film)} if picture.film else {})


def _desktop_film(film: Film, picture_at: Where, film_at: Where, *, is_dead: bool) -> object:
    """Among the qualities stands a sheet of stills, as it does there."""
    cover = picture_at(Picture(film.ident, film.cover), "large")
    entries = [
        {
            "meta": {"label": "scrubber_hd", "quality_index": 720, "type": 3},
            "play_info": {"mime": "image/jpeg", "url": cover},
        },
        {
            "meta": {"label": "mp4_720p", "quality_index": 720, "type": 1},
            "play_info": {
                "mime": "video/mp4",
                "url": film_at(film.file, is_dead=is_dead),
                "width": 160,
                "height": 90,
            },
        },
    ]
    return {
        "object_type": "video",
        "object_id": film.ident,
        "page_pic": cover,
        "media_info": {"duration": 2, "playback_list": entries},
    }


def open_api(note: Note, picture_at: Where) -> object:
    """As the open API tells it: thumbnails, and a word about what it leaves out of the text."""
    status: dict[str, object] = {
        "id": int(note.ident),
        "mid": note.ident,
        "idstr": note.ident,
        "created_at": note.created,
        "text": note.words + ("..." if note.rest else ""),
        "truncated": bool(note.rest),
        "user": {"id": int(MEMBER), "idstr": MEMBER, "screen_name": NAME},
        "pic_urls": [{"thumbnail_pic": picture_at(one, "thumbnail")} for one in note.pictures],
        "visible": {"type": 0, "list_id": 0},
    }
    if note.pictures:
        status["original_pic"] = picture_at(note.pictures[0], "large")
    return status
