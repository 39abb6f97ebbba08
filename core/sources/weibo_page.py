"""The posts of one page while it is read: each by itself, so that what is wrong with one costs no
other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.model.post import FeedPage, Post, Skipped
from core.sources.adapter import PageInput
from core.sources.body import MAX_ITEMS, malformed, too_large
from core.sources.json_page import Item
from core.sources.weibo_draft import Place
from core.sources.weibo_post import key_of, not_a_post

Found = tuple[Post, Sequence[Skipped]]
Read = Callable[[Item, str, Place], Found]
"""A post, and what of it gave no media. `str` is where it stands: its id, or «item 3»."""


class PostPage:
    """What a page gave so far."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._posts: dict[str, Post] = {}
        self._skipped: list[Skipped] = []
        self.notes: list[str] = []

    def skip(self, where: str, reason: str) -> None:
        """Something that gives no post or no media."""
        self._skipped.append(Skipped(where=where, reason=reason))

    def add(self, status: object, where: str, read: Read) -> None:
        """One entry of the list."""
        if not isinstance(status, dict):
            self.skip(where, "not_an_object")
            return
        where = key_of(status) or where
        reason = not_a_post(status)
        if reason is not None:
            self.skip(where, reason)
            return
        try:
            post, skipped = read(status, where, self._place)
        except (ValueError, RecursionError):  # a value that no record can hold
            self.skip(where, "unreadable_item")
            return
        self._keep(where, post, skipped)

    def finish(self, cursor: str | None) -> FeedPage:
        """The page. Apart from pinned posts the newest stand first."""
        return FeedPage(
            posts=tuple(self._posts.values()),
            cursor=cursor,
            skipped=tuple(self._skipped),
            notes=tuple(self.notes),
            newest_first=True,
        )

    def _keep(self, where: str, post: Post, skipped: Sequence[Skipped]) -> None:
        if post.key in self._posts:  # a pinned post stands in its own time's place once more
            self.skip(where, "duplicate")
            return
        self._posts[post.key] = post
        self._skipped += skipped
        if not post.media and not skipped:
            self.skip(where, "no_media")


def entries_of(page: PageInput, listed: object, what: str) -> Sequence[object]:
    """The list that a page is about. Raises `Malformed` where there is none."""
    if isinstance(listed, dict):  # by number, as PHP writes a list with a gap
        listed = list(listed.values())
    if not isinstance(listed, list):
        raise malformed(page, "no_items", f"no list of {what} in it")
    if len(listed) > MAX_ITEMS:
        raise too_large(page, f"{MAX_ITEMS} {what}")
    return listed
