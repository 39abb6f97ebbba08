"""IIIF Presentation 2 and 3: a manifest's canvases are posts, what is painted on them their media;
collections are read member by member. Annotations that are not painted, and those that lie in files
of their own, are left out."""

from __future__ import annotations

from collections.abc import Iterator

from core.model.post import Author, FeedPage
from core.sources.adapter import PageInput
from core.sources.body import MAX_ITEMS, malformed, too_large
from core.sources.descent import Place, Reading, TreeAdapter
from core.sources.drafts import MediaDraft, PageDraft
from core.sources.iiif_canvas import About, read_canvas
from core.sources.iiif_words import id_of, label_of, type_of
from core.sources.json_page import Item, items_of, load_json
from core.sources.resolve import Unusable, base_of, resolve

ACCEPT = (
    'application/ld+json;profile="http://iiif.io/api/presentation/3/context.json", '
    "application/ld+json;q=0.9, application/json;q=0.8, */*;q=0.5"
)
_MEMBERS = ("items", "members", "manifests", "collections")  # the first is 3's, the others 2's


class IiifAdapter(TreeAdapter):
    """Manifests and collections. The cursor is a place in the collection's tree."""

    name = "iiif"
    about = "IIIF Presentation 2 and 3: manifests and collections"
    example = "https://iiif.example/book/1/manifest"
    accept = ACCEPT

    def read(self, page: PageInput, place: Place) -> Reading:
        return _read(page, place)


def _read(page: PageInput, _place: Place) -> Reading:
    told = load_json(page, "a IIIF manifest or collection")
    match type_of(told):
        case "manifest":
            return Reading(_manifest(told, page))
        case "collection":
            return _collection(told, page)
        case other:
            words = f"its type is {other[:40]!r}; a IIIF manifest or collection was expected"
            raise malformed(page, "not_a_manifest", words)


def _manifest(told: Item, page: PageInput) -> FeedPage:
    if not isinstance(told.get("items"), list) and not isinstance(told.get("sequences"), list):
        raise malformed(page, "no_items", "a IIIF manifest without a list of canvases")
    draft, base = PageDraft(), base_of(page.url)
    link = resolve(id_of(told), base)
    about = About(
        title=label_of(told.get("label")),
        author=_provider(told),
        link=base if isinstance(link, Unusable) else link,
    )
    for number, canvas in enumerate(_canvases(told), 1):
        if number > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} canvases")
        _add(canvas, f"canvas {number}", base, about, draft)
    return draft.finish(None).model_copy(update={"newest_first": False})


def _canvases(told: Item) -> Iterator[object]:
    """Sequences of 2 are orders of the same canvases; what two of them name is one post."""
    for parent, name in (
        (told, "items"),
        *((one, "canvases") for one in items_of(told.get("sequences"))),
    ):
        found = parent.get(name)
        yield from found if isinstance(found, list) else ()


def _add(canvas: object, where: str, base: str | None, about: About, draft: PageDraft) -> None:
    """One canvas by itself: what is wrong with it costs no other."""
    if not isinstance(canvas, dict):
        draft.skip(where, "not_an_object")
        return
    media = MediaDraft(where)
    try:
        post = read_canvas(canvas, base, about, media)
    except (ValueError, RecursionError):  # a value that no record can hold
        draft.skip(where, "unreadable_item")
        return
    draft.add(where, post, media.skipped)


def _provider(told: Item) -> Author | None:
    for provider in items_of(told.get("provider")):
        if name := label_of(provider.get("label")):
            return Author(name=name, id=id_of(provider))
    return None


def _collection(told: Item, page: PageInput) -> Reading:
    """A collection of 2 that is too long is a chain of pages: `first`, then each one's `next`."""
    draft, base = PageDraft(), base_of(page.url)
    children: list[str] = []
    for number, member in enumerate(_members(told), 1):
        if number > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} members")
        match resolve(_address(member), base):
            case Unusable(reason=reason):
                draft.skip(f"member {number}", reason)
            case address:
                children.append(address)
    following = draft.next_page(_address(told.get("next") or told.get("first")), base)
    read = draft.finish(None).model_copy(update={"newest_first": False})
    return Reading(read, tuple(dict.fromkeys(children)), following)


def _members(told: Item) -> Iterator[object]:
    for name in _MEMBERS:
        found = told.get(name)
        yield from found if isinstance(found, list) else ()


def _address(reference: object) -> object:
    return id_of(reference) if isinstance(reference, dict) else reference
