"""Media RSS and enclosures: what an item's elements offer. A group is one object in several
renditions, siblings are several objects, a thumbnail is a poster and never a media."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from core.model.post import Rendition
from core.sources.drafts import MediaDraft, Offer
from core.sources.media_types import media_type
from core.sources.resolve import Unusable, resolve
from core.sources.values import count_of, hash_of, line_of, number_of
from core.sources.xml_names import BASE, children, first_text, name_of

Found = tuple[str, Offer | Unusable]  # where it stands, and what it is


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What may stand on a content, its group or its item. Read once an element: an item of many
    thousand contents would else be read as many times."""

    title: str | None
    poster: str | None
    hashes: dict[str, str]

    def around(self, offer: Offer) -> Offer:
        """The offer with what it does not say itself."""
        return replace(
            offer,
            title=offer.title or self.title,
            poster=offer.poster or self.poster,
            hashes=offer.hashes or self.hashes,
        )


_IANA = "http://www.iana.org/assignments/relation/"


def gather_media(item: Element, base: str | None, draft: MediaDraft) -> None:
    """Everything an RSS item or Atom entry offers, groups first: what repeats their addresses is
    the same object."""
    outer = _surroundings(item, base)
    for number, group in enumerate(children(item, "media:group"), 1):
        place = draft.place(f"group {number}")
        inner_base = group.get(BASE, base)
        inner = _surroundings(group, inner_base)
        offers = _usable(_contents(group, inner_base, place), draft)
        draft.offer(outer.around(inner.around(offer)) for offer in offers)
    for sibling in _contents(item, base, draft.where):
        draft.offer(outer.around(offer) for offer in _usable([sibling], draft))
    for number, _ in enumerate(children(item, "media:player"), 1):
        draft.skip(draft.place(f"player {number}"), "player_only")
    for enclosure in _enclosures(item, base, draft):
        draft.offer(outer.around(offer) for offer in _usable([enclosure], draft))
    if len(draft.media) > 1:
        draft.drop_hashes(outer.hashes)


def _usable(found: Iterable[Found], draft: MediaDraft) -> list[Offer]:
    offers = []
    for where, one in found:
        match one:
            case Unusable(reason=reason):
                draft.skip(where, reason)
            case offer:
                offers.append(offer)
    return offers


def _contents(parent: Element, base: str | None, place: str) -> Iterator[Found]:
    for number, content in enumerate(children(parent, "media:content"), 1):
        where = f"{place}, content {number}"
        inner_base = content.get(BASE, base)
        offer = content_offer(content.attrib, inner_base, where)
        if isinstance(offer, Offer):
            yield where, _surroundings(content, inner_base).around(offer)
        elif not content.get("url") and next(children(content, "media:player"), None) is not None:
            yield where, Unusable("player_only")
        else:
            yield where, offer


def content_offer(attributes: Mapping[str, str], base: str | None, where: str) -> Offer | Unusable:
    """What one `media:content` says by its attributes."""
    url = resolve(attributes.get("url"), base)
    if isinstance(url, Unusable):
        return url
    mime = line_of(attributes.get("type"))
    kind = media_type(url, mime, (attributes.get("medium") or "").strip().lower())
    if isinstance(kind, Unusable):
        return kind
    kilobits = number_of(attributes.get("bitrate"))
    return Offer(
        where=where,
        kind=kind.kind,
        guessed=kind.guessed,
        rendition=Rendition(
            url=url,
            mime=mime,
            width=count_of(attributes.get("width")),
            height=count_of(attributes.get("height")),
            bitrate=count_of(kilobits * 1000) if kilobits else None,
            size_bytes=count_of(attributes.get("fileSize")),
            is_default=(attributes.get("isDefault") or "").strip().lower() == "true",
            manifest=kind.manifest,
        ),
        duration_s=number_of(attributes.get("duration")),
        sample=(attributes.get("expression") or "").strip().lower() == "sample",
    )


def file_offer(
    url: object, mime: object, length: object, base: str | None, where: str
) -> Offer | Unusable:
    """What an enclosure says: an address, a type, and a length that is often 0, empty or wrong."""
    address = resolve(url, base)
    if isinstance(address, Unusable):
        return address
    kind = media_type(address, line_of(mime))
    if isinstance(kind, Unusable):
        return kind
    rendition = Rendition(
        url=address, mime=line_of(mime), size_bytes=count_of(length), manifest=kind.manifest
    )
    return Offer(where=where, kind=kind.kind, guessed=kind.guessed, rendition=rendition)


def _enclosures(item: Element, base: str | None, draft: MediaDraft) -> Iterator[Found]:
    for number, element in enumerate(filter(_is_enclosure, item), 1):
        where = draft.place(f"enclosure {number}")
        address = element.get("url") or element.get("href")
        offer = file_offer(
            address, element.get("type"), element.get("length"), element.get(BASE, base), where
        )
        if isinstance(offer, Offer):
            offer = replace(offer, title=line_of(element.get("title")))
        yield where, offer


def _is_enclosure(element: Element) -> bool:
    name = name_of(element)
    return name == "enclosure" or (name == "atom:link" and relation(element) == "enclosure")


def relation(link: Element) -> str:
    """An Atom link's relation; the full IANA address means the same as its last word."""
    return (link.get("rel") or "alternate").strip().removeprefix(_IANA).lower()


def _surroundings(element: Element, base: str | None) -> Surroundings:
    hashes: dict[str, str] = {}
    for told in children(element, "media:hash"):
        hashes |= hash_of(told.get("algo"), told.text)
    return Surroundings(
        title=line_of(first_text(element, "media:title")),
        poster=_poster(element, base),
        hashes=hashes,
    )


def _poster(element: Element, base: str | None) -> str | None:
    for thumbnail in children(element, "media:thumbnail"):
        address = resolve(thumbnail.get("url"), thumbnail.get(BASE, base))
        if isinstance(address, str):
            return address
    return None
