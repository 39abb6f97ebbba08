"""One url of a sitemap as a post: the images and videos that its page shows. Of an image only the
address counts (its title and caption were dropped from the format), and `lastmod` is the page's
date, not the picture's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from core.model.post import Author, MediaKind, Post, Rendition
from core.sources.dates import read_date
from core.sources.drafts import MediaDraft, Offer
from core.sources.media_types import media_type
from core.sources.resolve import Unusable, resolve
from core.sources.values import digest_of, kept_key, line_of, number_of, text_of
from core.sources.xml_names import children, first_text


def read_url(element: Element, base: str | None, draft: MediaDraft, now: float) -> Post:
    """The post; what gave no media goes into `draft`. `now` is Unix time: videos expire."""
    for number, image in enumerate(children(element, "image:image"), 1):
        _image(image, base, draft, f"image {number}")
    videos = [
        video
        for number, video in enumerate(children(element, "video:video"), 1)
        if _takes(video, base, draft, number, now)
    ]
    published = (_date(video, "video:publication_date", draft) for video in videos)
    address = resolve(first_text(element, "loc"), base)
    link = address if isinstance(address, str) else None
    return Post(
        key=kept_key(link or text_of(first_text(element, "loc")) or digest_of(element.itertext())),
        text=_description(videos),
        link=link,
        author=next(filter(None, map(_uploader, videos)), None),
        created_at=next(filter(None, published), None),
        updated_at=_date(element, "lastmod", draft),
        media=tuple(draft.media),
        notes=tuple(dict.fromkeys(draft.notes)),
    )


def _image(image: Element, base: str | None, draft: MediaDraft, what: str) -> None:
    addresses = list(_texts(image, "image:loc"))
    if not addresses:
        draft.skip(draft.place(what), "empty_image")
    for raw in addresses:
        match resolve(raw, base):
            case Unusable(reason=reason):
                draft.skip(draft.place(what), reason)
            case url:
                draft.offer([Offer(draft.place(what), MediaKind.IMAGE, Rendition(url=url))])


def _texts(element: Element, name: str) -> Iterator[str]:
    for child in children(element, name):
        if text := "".join(child.itertext()).strip():
            yield text


def _takes(video: Element, base: str | None, draft: MediaDraft, number: int, now: float) -> bool:
    """Offer the video; False when it gives no media, with the reason in the draft."""
    where = draft.place(f"video {number}")
    found = _refused(video, now) or _offer(video, base, where)
    if isinstance(found, Unusable):
        draft.skip(where, found.reason)
        return False
    draft.offer([found])
    return True


def _refused(video: Element, now: float) -> Unusable | None:
    expires = read_date(first_text(video, "video:expiration_date") or "")
    if expires and expires < datetime.fromtimestamp(now, UTC):
        return Unusable("expired")
    if _yes(video, "video:requires_subscription"):
        return Unusable("requires_subscription")
    if _yes(video, "video:live"):
        return Unusable("live")
    if first_text(video, "video:content_loc") is None and first_text(video, "video:player_loc"):
        return Unusable("player_only")
    return None


def _yes(video: Element, name: str) -> bool:
    return (first_text(video, name) or "").lower() in ("yes", "true", "1")


def _offer(video: Element, base: str | None, where: str) -> Offer | Unusable:
    url = resolve(first_text(video, "video:content_loc"), base)
    if isinstance(url, Unusable):
        return url
    kind = media_type(url, medium="video")
    if isinstance(kind, Unusable):
        return kind
    poster = resolve(first_text(video, "video:thumbnail_loc"), base)
    return Offer(
        where=where,
        kind=kind.kind,
        rendition=Rendition(url=url, manifest=kind.manifest),
        title=line_of(first_text(video, "video:title")),
        poster=poster if isinstance(poster, str) else None,
        duration_s=number_of(first_text(video, "video:duration")),
    )


def _description(videos: list[Element]) -> str | None:
    """The only video's; several have one each, and a post has one text."""
    return text_of(first_text(videos[0], "video:description")) if len(videos) == 1 else None


def _uploader(video: Element) -> Author | None:
    for uploader in children(video, "video:uploader"):
        if name := line_of(uploader.text):
            return Author(name=name, id=line_of(uploader.get("info")))
    return None


def _date(element: Element, name: str, draft: MediaDraft) -> datetime | None:
    """A date that can't be read is noted and costs nothing else."""
    text = first_text(element, name)
    found = read_date(text) if text else None
    if text and found is None:
        draft.notes.append(f"{name}: not a date: {text[:100]!r}")
    return found
