"""What a source adapter is: it builds requests and parses bytes, and does no I/O of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, runtime_checkable

from core.errors import HeadraceError
from core.model.post import FeedPage, Rendition
from core.model.request import Request


@dataclass(frozen=True, slots=True)
class PageInput:
    """The bytes of one page and where they came from."""

    stream: BinaryIO  # seekable, at its start
    url: str  # the final address, against which relative ones resolve; "file:..." for a local file
    content_type: str | None = None  # the header, as sent
    cursor: str | None = None  # the one that asked for this page
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)  # names in any case
    read_at: float = 0.0  # Unix time, for dates that are told as «5 minutes ago»
    feed: str = ""  # the feed's own address, as the settings name it


Ask = Callable[[Request], PageInput]
"""Fetches what else is needed, within the task's budget and deadline. Raises as a fetch does."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What signs a request, and the hosts that may see it."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    hosts: tuple[str, ...] = ()  # exact names


class Adapter(Protocol):
    """One kind of feed."""

    name: str
    many_hosts: bool  # its media lie on many hosts: a bucket each, under the source's own
    stop_after_known: int  # known posts in a row that end a walk, where the settings do not say

    def request(self, address: str, cursor: str | None) -> Request | None:
        """How to ask for a page; None: it is read on from the body that the walk keeps."""

    def parse(self, page: PageInput) -> FeedPage:
        """Posts, next cursor and what was skipped. Raises `Malformed` only when nothing of the
        page can be read."""


@runtime_checkable
class Described(Protocol):
    """An adapter that says what it is for, to people who choose one."""

    about: str  # what it reads, in a few words
    example: str  # an address that it reads


@runtime_checkable
class Recognises(Protocol):
    """An adapter of a source whose addresses are known by their looks."""

    def reads(self, address: str) -> bool:
        """Whether this is the address of a feed of its source. Asks nobody, never raises."""


@runtime_checkable
class Completes(Protocol):
    """An adapter whose pages leave out what has to be asked for apart."""

    def complete(self, page: FeedPage, ask: Ask) -> FeedPage:
        """The page as `parse` gave it, with what was left out. What can't be had is noted in its
        post, which stays; what concerns the whole source (throttled, signed out) is raised."""


@runtime_checkable
class Renews(Protocol):
    """An adapter whose media's addresses die."""

    def expires_at(self, url: str) -> float | None:
        """Unix time when this address dies, by its own mark; None where it has none."""

    def renew(self, ref: str, ask: Ask) -> tuple[Rendition, ...]:
        """Today's addresses of the media that `MediaRecord.ref` names, best first. Raises `Gone`
        when the source has it no more."""


@runtime_checkable
class PassesOver(Protocol):
    """An adapter whose feeds are trees: of many pages, one that can't be had costs only itself."""

    def passed_over(self, cursor: str | None, error: HeadraceError) -> FeedPage | None:
        """What the walk goes on with in place of the page that `cursor` asks for, which can't be
        had, now or with any attempt left; None where the walk ends with it. Asks nobody."""


@runtime_checkable
class ChecksAddresses(Protocol):
    """An adapter of a source whose addresses people copy with their token in them."""

    def check(self, address: str) -> None:
        """Raise `Misconfigured` for a feed's address that must not be stored as it is."""


@runtime_checkable
class Signs(Protocol):
    """An adapter of a source that knows its readers."""

    needs: str  # in words, for people: which token or cookie, and where they get it

    def secrets(self, *, token: str | None, cookie: str | None) -> Secrets:
        """How the settings' `token` and `cookie` go with its requests. Raises `Misconfigured` for
        one that it can't use."""


@runtime_checkable
class KnowsPlaceholders(Protocol):
    """An adapter of a source that shows a picture of its own in the place of one it removed."""

    def is_placeholder(self, url: str) -> bool:
        """Whether such a picture lies at this address. Signatures in it are struck out."""


@runtime_checkable
class NoticesRepeats(Protocol):
    """An adapter of a source where the same picture is not posted over and over by people."""

    repeats: int  # the same bytes under so many posts that share nothing else are a stand-in
