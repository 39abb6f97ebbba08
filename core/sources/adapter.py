"""What a source adapter is: it builds requests and parses bytes, and does no I/O of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, Protocol

from core.model.post import FeedPage
from core.model.request import Request


@dataclass(frozen=True, slots=True)
class PageInput:
    """The bytes of one page and where they came from."""

    stream: BinaryIO  # seekable, at its start
    url: str  # the final address, against which relative ones resolve; "file:..." for a local file
    content_type: str | None = None  # the header, as sent
    cursor: str | None = None  # the one that asked for this page


class Adapter(Protocol):
    """One kind of feed."""

    name: str
    many_hosts: bool  # its media lie on many hosts: a bucket each, under the source's own

    def request(self, address: str, cursor: str | None) -> Request | None:
        """How to ask for a page; None: it is read on from the body that the walk keeps."""

    def parse(self, page: PageInput) -> FeedPage:
        """Posts, next cursor and what was skipped. Raises `Malformed` only when nothing of the
        page can be read."""
