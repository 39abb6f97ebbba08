"""One canvas as a post. An image that a service offers is asked for whole: `max`, or `full` where
the service speaks Image API 2.0, which has no other word (2.1 takes both). It may come smaller than
the manifest says, where the service has a bound."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from core.model.post import Author, MediaKind, Post, Rendition
from core.sources.drafts import MediaDraft, Offer
from core.sources.iiif_words import id_of, label_of, type_of
from core.sources.json_page import Item, items_of
from core.sources.media_types import UNSUPPORTED, MediaType, media_type
from core.sources.resolve import Unusable, resolve
from core.sources.values import count_of, digest_of, kept_key, line_of, number_of

Body = Item

_DEPTH = 6  # choices of choices
_MEDIA = {"image": "image", "video": "video", "movingimage": "video", "sound": "audio"}


@dataclass(frozen=True, slots=True)
class About:
    """What a manifest says that holds for each of its canvases."""

    title: str | None
    author: Author | None
    link: str | None


def read_canvas(canvas: Item, base: str | None, about: About, draft: MediaDraft) -> Post:
    """The post; what gave no media goes into `draft`."""
    poster = _poster(canvas, base)
    for number, group in enumerate(_painted(canvas), 1):
        where = draft.place(f"body {number}")
        offers: list[Offer] = []
        for body in group:
            found = _offers(body, base, where, poster)
            if isinstance(found, Unusable):
                draft.skip(where, found.reason)
            else:
                offers += found
        draft.offer(offers)
    label = label_of(canvas.get("label"))
    titles = dict.fromkeys(filter(None, (about.title, label)))
    return Post(
        key=kept_key(id_of(canvas) or digest_of([json.dumps(canvas, sort_keys=True)])),
        title=line_of(": ".join(titles)),
        link=about.link,
        author=about.author,
        media=tuple(draft.media),
        notes=tuple(dict.fromkeys(draft.notes)),
    )


def _painted(canvas: Item) -> Iterator[list[Body]]:
    """What is painted on it: each group is one media in several files."""
    for page in items_of(canvas.get("items")):
        for annotation in items_of(page.get("items")):
            if "painting" in str(annotation.get("motivation")):
                yield from _groups(annotation.get("body"))
    for annotation in items_of(canvas.get("images")):
        yield from _groups(annotation.get("resource"))


def _groups(body: object, depth: int = _DEPTH) -> Iterator[list[Body]]:
    """The alternatives of a choice are files of one video, but several pictures: of an object under
    ultraviolet light and under the sun's, say."""
    if isinstance(body, str):
        yield [{"id": body}]
    elif isinstance(body, list) and depth:
        for one in body:
            yield from _groups(one, depth - 1)
    elif isinstance(body, dict) and depth:
        inner = _inside(body)
        if inner is None:
            yield [body]
            return
        groups = list(_groups(inner, depth - 1))
        together = [one for group in groups for one in group]
        is_one = type_of(body) == "choice" and not any(type_of(b) == "image" for b in together)
        yield from [together] if is_one and together else groups


def _inside(body: Body) -> object:
    """What a choice or a part of a resource is of; None for a plain body."""
    match type_of(body):
        case "choice":
            told = body.get("items") or body.get("item")
            return [body.get("default"), *(told if isinstance(told, list) else [told])]
        case "specificresource":
            return body.get("source") or body.get("full") or []
        case _:
            return None


def _offers(body: Body, base: str | None, where: str, poster: str | None) -> list[Offer] | Unusable:
    """The whole image by its service first, then the file that the manifest names."""
    kind = _kind(body, base)
    if isinstance(kind, Unusable):
        return kind
    whole = _by_service(body, base)
    urls = dict.fromkeys(u for u in (whole, resolve(id_of(body), base)) if isinstance(u, str))
    return [
        Offer(
            where=where,
            kind=kind.kind,
            guessed=kind.guessed,
            rendition=Rendition(
                url=url,
                manifest=kind.manifest,
                mime=line_of(body.get("format")) if url != whole else None,
                width=count_of(body.get("width")),
                height=count_of(body.get("height")),
            ),
            poster=poster if kind.kind is MediaKind.VIDEO else None,
            duration_s=number_of(body.get("duration")),
        )
        for url in urls
    ]


def _kind(body: Body, base: str | None) -> MediaType | Unusable:
    told = type_of(body)
    if told and told not in _MEDIA:
        return UNSUPPORTED
    if _by_service(body, base) is not None:
        return MediaType(MediaKind.IMAGE)
    url = resolve(id_of(body), base)
    if isinstance(url, Unusable):
        return url
    return media_type(url, line_of(body.get("format")), _MEDIA.get(told))


def _by_service(body: Body, base: str | None) -> str | None:
    """The whole image at the body's image service; None where there is none that can scale."""
    for service in items_of(_listed(body.get("service"))):
        version = _image_api(service)
        address = resolve(id_of(service), base)
        if version and isinstance(address, str) and "level0" not in _told(service):
            size = "max" if version == 3 else "full"
            quality = "native" if version == 1 else "default"
            return f"{address.rstrip('/')}/full/{size}/0/{quality}.jpg"
    return None


def _listed(services: object) -> object:
    return services if isinstance(services, list) else [services]


def _image_api(service: Item) -> int:
    """The Image API's major version that a service speaks; 0 for another kind of service."""
    told = _told(service)
    names = ((3, "image/3"), (2, "image/2"), (1, "image/1"), (1, "image-api/1"))
    if type_of(service).startswith("imageservice"):
        return {"1": 1, "2": 2}.get(type_of(service)[-1], 3)
    return next((version for version, name in names if name in told), 0)


def _told(service: Item) -> str:
    return f"{service.get('@context')} {service.get('profile')}".lower()


def _poster(canvas: Item, base: str | None) -> str | None:
    for thumbnail in _groups(canvas.get("thumbnail")):
        address = resolve(id_of(thumbnail[0]), base)
        if isinstance(address, str):
            return address
    return None
