"""Reading a tree of pages: an index's children are pages, or indexes themselves, and each is a
request of its own. The cursor is JSON of bounded size: what is asked next, and of every open index
the next children and where to go on in it, which is asked again when they are used up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import HeadraceError, Malformed, Permanent, Transient
from core.fetch.answers import error_of
from core.model.addresses import strike
from core.model.post import FeedPage, Skipped
from core.model.request import Request
from core.sources.adapter import PageInput
from core.sources.body import CUT_REASONS
from core.sources.resolve import base_of

MAX_DEPTH = 3  # indexes in indexes
CHILDREN_HELD = 50
_HELD_CHARS = 8000  # of those children's addresses together: cursors travel in messages

# What an answer says of one page: all but «slower», and what a server means to do better later.
_OF_ONE_PAGE = frozenset(range(400, 500)) - {408, 420, 425, 429}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Onward(_Frozen):
    """Where an index is gone on with."""

    ask: str
    behind: int = Field(default=0, ge=0)  # its entries that are done
    after: str | None = None  # the last of them: an index may have changed since


class _Level(_Frozen):
    """An open index: the children that come next, and what comes after them."""

    address: str
    held: tuple[str, ...] = ()
    onward: _Onward | None = None


class Place(_Onward):
    """What is asked, and the open indexes above it, the outermost first."""

    kept: bool = False  # read from the body that the walk keeps
    open: tuple[_Level, ...] = Field(default=(), max_length=MAX_DEPTH)

    def up(self) -> Place | None:
        """What comes when this page is done; None at the tree's end."""
        for depth in range(len(self.open) - 1, -1, -1):
            level, above = self.open[depth], self.open[:depth]
            if level.held:
                rest = level.model_copy(update={"held": level.held[1:]})
                return Place(ask=level.held[0], open=(*above, rest))
            if level.onward:
                return Place(**level.onward.model_dump(), open=above)
        return None

    def down(self, address: str, children: Sequence[str], following: str | None) -> Place | None:
        """The first of the children of this page, which turned out to be an index at `address`.
        `following` is where that index goes on by its own word."""
        held = tuple(_held(children[self._begin(children) :]))
        done = self._begin(children) + len(held)
        onward = _Onward(ask=following) if following else None
        if done < len(children):
            onward = _Onward(ask=address, behind=done, after=held[-1])
        level = _Level(address=address, held=held, onward=onward)
        return Place(ask=address, open=(*self.open, level)).up()

    def again(self, address: str, behind: int) -> Place:
        """The same page from another entry on. A feed's own page is kept by its walk."""
        return Place(ask=address, behind=behind, kept=not self.open, open=self.open)

    def _begin(self, children: Sequence[str]) -> int:
        if self.after is not None and self.after in children:
            return children.index(self.after) + 1
        return self.behind


def _held(children: Sequence[str]) -> Iterator[str]:
    chars = 0
    for number, child in enumerate(children[:CHILDREN_HELD]):
        chars += len(child)
        if number and chars > _HELD_CHARS:
            return
        yield child


@dataclass(frozen=True, slots=True)
class Reading:
    """What one page of the tree holds."""

    page: FeedPage  # its cursor is not looked at
    children: Sequence[str] = ()  # absolute addresses, in their order, from the first
    following: str | None = None  # another page of the same index
    behind: int | None = None  # entries that are done, where more of this page are left


class TreeAdapter:
    """What adapters of trees have alike. The cursor is a place in the tree."""

    many_hosts = False
    stop_after_known = 1
    accept: str  # the header that asks for a page

    def read(self, page: PageInput, place: Place) -> Reading:
        """One document: what it shows, and where the walk goes from it."""
        raise NotImplementedError

    def request(self, address: str, cursor: str | None) -> Request | None:
        return tree_request(address, cursor, self.accept)

    def parse(self, page: PageInput) -> FeedPage:
        return read_tree(page, self.read)

    def passed_over(self, cursor: str | None, error: HeadraceError) -> FeedPage | None:
        return passed_over(cursor, error)


def tree_request(address: str, cursor: str | None, accept: str) -> Request | None:
    """The request for a page of the tree; None where it is read from the kept body."""
    place = Place(ask=address) if cursor is None else _place(cursor, address)
    if place.kept or place.ask.startswith("file:"):
        return None
    # A child that is refused costs only itself, and where there is none the walk has to say so.
    read_also = _OF_ONE_PAGE if place.open else frozenset()
    return Request(place.ask, headers={"Accept": accept}, read_also=read_also)


def read_tree(page: PageInput, read: Callable[[PageInput, Place], Reading]) -> FeedPage:
    """The page, and where the walk goes from it. A child that can't be read is skipped with its
    reason. Raises `Malformed` for the feed's own page, and for what may be whole another time."""
    place = Place(ask=page.url) if page.cursor is None else _place(page.cursor, page.url)
    try:
        if page.status >= 400:
            raise error_of(page.status, page.headers, strike(page.url), page.read_at)
        reading = read(page, place)
    except Permanent as error:
        if not place.open or error.reason in CUT_REASONS:
            raise
        return _without(place, error)
    return _placed(reading, page, place)


def passed_over(cursor: str | None, error: HeadraceError) -> FeedPage | None:
    """The walk without a child that can't be had; None for the feed's own page, and for what says
    nothing of a single one. An index that can't be had again costs the children that come next."""
    if cursor is None or not isinstance(error, Permanent | Transient):
        return None
    try:
        place = Place.model_validate_json(cursor)
    except ValidationError:
        return None
    return _without(place, error) if place.open else None


def _without(place: Place, error: HeadraceError) -> FeedPage:
    above = place.up()
    skipped = Skipped(where=strike(place.ask), reason=error.reason)
    return FeedPage(posts=(), cursor=_cursor(above), skipped=(skipped,), notes=(str(error),))


def _placed(reading: Reading, page: PageInput, place: Place) -> FeedPage:
    address = page.url if base_of(page.url) else place.ask
    if reading.behind is not None:
        return _led(reading, place.again(address, reading.behind))
    if not reading.children and reading.following is None:
        return _led(reading, place.up())
    if len(place.open) >= MAX_DEPTH:
        return _led(reading, place.up(), Skipped(where=strike(address), reason="nested_too_deep"))
    above = {place.ask, address, *(level.address for level in place.open)}
    children = [child for child in reading.children if child not in above]
    loops = (child for child in reading.children if child in above)
    skipped = (Skipped(where=strike(child), reason="loop") for child in loops)
    return _led(reading, place.down(address, children, reading.following), *skipped)


def _led(reading: Reading, following: Place | None, *skipped: Skipped) -> FeedPage:
    told = {"cursor": _cursor(following), "skipped": (*reading.page.skipped, *skipped)}
    return reading.page.model_copy(update=told)


def _cursor(place: Place | None) -> str | None:
    return place.model_dump_json(exclude_defaults=True) if place else None


def _place(cursor: str, address: str) -> Place:
    try:
        return Place.model_validate_json(cursor)
    except ValidationError as error:
        words = f"{strike(address)}: {cursor[:60]!r} is no cursor of this feed; start a new walk"
        raise Malformed(words, reason="bad_cursor") from error
