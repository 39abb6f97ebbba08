"""Pictures as Weibo's web interfaces tell them: sizes by name, and what moves about them.

A picture that Weibo removed is a redirect to a drawing that says so. Nothing official names these
drawings' addresses; public programs that get or host pictures there test for them after a download
(`/images/default_d_h_large.gif` in all of them; with w, s and without d in one)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from core.model.post import Rendition
from core.sources.json_page import Item, child, item_of, items_of
from core.sources.values import count_of, line_of, number_of
from core.sources.weibo_draft import Film, PostDraft
from core.sources.weibo_video import sized

# The best first. «original» is 1080 pixels wide, «largecover» is cut.
_SIZES = ("largest", "mw2000", "original", "large", "bmiddle", "thumbnail")

# By the shape of the picture and the size that was asked for.
_STAND_IN = re.compile(r"/images/default_(?:d_)?[hws]_[a-z]+[0-9]*\.gif")


def is_stand_in(url: str) -> bool:
    """Whether this address shows what stands for removed pictures."""
    try:
        return _STAND_IN.fullmatch(urlsplit(url).path) is not None
    except ValueError:
        return False


def add_desktop(draft: PostDraft, told: Item, ident: str | None, *, beside: bool = False) -> None:
    """An entry of `pic_infos`."""
    ident = line_of(told.get("pic_id")) or ident
    what = f"picture {ident}" if ident else "a picture"
    sizes = (_size(draft, told.get(name), name) for name in _SIZES)
    key = draft.picture(what, sizes, key=ident, beside=beside)
    if line_of(told.get("type")) == "livephoto":
        _add_motion(draft, what, told.get("video"), key)


def add_mobile(draft: PostDraft, pics: object, older_films: object) -> None:
    """A post's `pics`: a list, or an object by number."""
    pictures = list(items_of(pics))
    films = dict(_films_by_place(pictures, _texts(older_films)))
    for number, told in enumerate(pictures):
        ident = line_of(told.get("pid"))
        what = f"picture {ident or number + 1}"
        if line_of(told.get("type")) == "video":
            _add_mixed_video(draft, what, told, ident)
            continue
        sizes = (_size(draft, told.get("large"), "large"), _size(draft, told))
        key = draft.picture(what, sizes, key=ident)
        if number in films:
            _add_motion(draft, what, films.pop(number), key)
    for film in films.values():  # of which picture is not told
        _add_motion(draft, "a live photo", film, None)


def _add_mixed_video(draft: PostDraft, what: str, told: Item, ident: str | None) -> None:
    """A video among pictures, whose picture is its cover."""
    found = sized(draft, told.get("videoSrc"))
    cover = line_of(child(told, "large", "url")) or told.get("url")
    film = Film(
        [found] if found else [],
        key=line_of(told.get("object_id")) or (f"{ident}:video" if ident else None),
        poster=cover,
        duration_s=number_of(told.get("duration")),
    )
    draft.film(what, film)


def _add_motion(draft: PostDraft, what: str, raw: object, still: str | None) -> None:
    """The moving half of a live photo. The address may be a page of the site's that leads on to
    the file: it is that page which is asked for, since it signs the file's address anew."""
    found = draft.rendition(raw)
    film = Film(
        [found] if found else [],
        key=f"{still}:live" if still else None,
        motion_of=still,
    )
    draft.film(f"{what}, its film", film, beside=still is None)


def _films_by_place(pictures: list[Item], older: list[str]) -> Iterator[tuple[int, object]]:
    """Which picture has which moving half. Older answers list the films apart, in the order of the
    live photos; newer ones have both, and then the picture's own word counts."""
    live = [n for n, told in enumerate(pictures) if line_of(told.get("type")) == "livephoto"]
    told = {n: pictures[n].get("videoSrc") for n in live if line_of(pictures[n].get("videoSrc"))}
    if told:
        yield from told.items()
        return
    places = live or (list(range(len(pictures))) if len(pictures) == len(older) else [])
    for number, film in enumerate(older):
        yield (places[number] if number < len(places) else -1 - number), film


def _texts(raw: object) -> list[str]:
    return [one for one in raw if isinstance(one, str) and one] if isinstance(raw, list) else []


def _size(draft: PostDraft, raw: object, name: str | None = None) -> Rendition | None:
    """One size; widths and heights stand beside the address or in `geo`, some as text."""
    told = item_of(raw)
    geo: Mapping[str, object] = item_of(told.get("geo")) or told
    return draft.rendition(
        told.get("url"),
        width=count_of(geo.get("width")),
        height=count_of(geo.get("height")),
        quality=name,
    )
