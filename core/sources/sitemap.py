"""Sitemaps with the image and video extensions, and their indexes, read child by child. The pages
that a sitemap lists are never asked for: what they show stands in the sitemap, or is not told."""

from __future__ import annotations

from collections.abc import Sequence

from core.model.post import Post, Skipped
from core.sources.adapter import PageInput
from core.sources.body import MAX_ITEMS, malformed, read_body, too_large
from core.sources.descent import Place, Reading, TreeAdapter
from core.sources.drafts import MediaDraft, PageDraft
from core.sources.resolve import Unusable, resolve
from core.sources.sitemap_url import read_url
from core.sources.xml_names import first_text
from core.sources.xml_page import Dialect, IllFormedXml, Placed, feed_children
from core.sources.xml_repair import repaired

ACCEPT = "application/xml, text/xml;q=0.9, application/gzip;q=0.8, */*;q=0.5"
# A sitemap may list 50,000 pages with 1,000 images each, which would not fit into memory as posts.
# It is read from its start for each of these parts: smaller ones would cost more.
POSTS_A_PAGE = 10_000
MEDIA_A_PAGE = 20_000

_ROOTS = frozenset(["urlset", "sitemapindex"])
SITEMAPS = Dialect(_ROOTS, frozenset(), "neither a sitemap nor an index of them")


class SitemapAdapter(TreeAdapter):
    """Sitemaps. The cursor is a place in their tree."""

    name = "sitemap"
    about = "image and video sitemaps, and indexes of them"
    example = "https://site.example/sitemap.xml"
    accept = ACCEPT

    def read(self, page: PageInput, place: Place) -> Reading:
        return _read(page, place)


def _read(page: PageInput, place: Place) -> Reading:
    body = read_body(page)
    try:
        return _Draft(page, place.behind).read(body)
    except IllFormedXml as fault:
        if fault.cut:
            raise malformed(
                page, "truncated", f"it is cut off ({fault}); fetch it again"
            ) from fault
        note = f"not well-formed XML ({fault}); read after mending it"
    try:
        return _Draft(page, place.behind, note).read(repaired(body, page.content_type))
    except IllFormedXml as again:
        reason = "truncated" if again.cut else "bad_xml"
        raise malformed(page, reason, f"not readable as XML: {again}") from again


class _Draft:
    """What one document gives: posts of its urls, or addresses of its children. A document that has
    more than a page holds is read to its end all the same, so that a cut one is never half read."""

    def __init__(self, page: PageInput, behind: int, note: str | None = None) -> None:
        self._page = page
        self._behind = behind
        self._posts = PageDraft()
        self._posts.notes += [note] if note else []
        self._children: list[str] = []
        self._urls = self._maps = self._media = 0
        self._bare = _Bare(self._posts)
        self._full_at: int | None = None  # the last url that this page takes
        self._more = False

    def read(self, body: bytes) -> Reading:
        """Everything in it. Raises `Malformed` and `IllFormedXml`."""
        for entry in feed_children(body, self._page, SITEMAPS):
            if entry.name == "url":
                self._url(entry)
            elif entry.name == "sitemap":
                self._map(entry)
        self._bare.tell()
        read = self._posts.finish(None).model_copy(update={"newest_first": False})
        behind = self._full_at if self._more else None
        return Reading(read, self._children, behind=behind)

    def _map(self, entry: Placed) -> None:
        self._maps += 1
        if self._maps > MAX_ITEMS:
            raise too_large(self._page, f"{MAX_ITEMS} sitemaps")
        match resolve(first_text(entry.element, "loc"), entry.base):
            case Unusable(reason=reason):
                self._posts.skip(f"sitemap {self._maps}", reason)
            case address:
                self._children.append(address)

    def _url(self, entry: Placed) -> None:
        self._urls += 1
        self._more = self._full_at is not None
        if self._urls <= self._behind or self._more:
            return
        media = MediaDraft(f"url {self._urls}")
        try:
            post = read_url(entry.element, entry.base, media, self._page.read_at)
        except ValueError:  # a value that no record can hold
            self._posts.skip(media.where, "unreadable_item")
            return
        self._take(post, media.skipped)

    def _take(self, post: Post, skipped: Sequence[Skipped]) -> None:
        """A page without media is no post: most sitemaps list nothing else."""
        if post.media:
            self._posts.add(f"url {self._urls}", post, skipped)
        elif skipped:
            self._posts.skipped += skipped
        else:
            self._bare.add(self._urls)
        self._media += len(post.media)
        if len(self._posts.posts) >= POSTS_A_PAGE or self._media >= MEDIA_A_PAGE:
            self._full_at = self._urls


class _Bare:
    """Urls that show no media, told in runs: of a whole site's map they are tens of thousands."""

    def __init__(self, posts: PageDraft) -> None:
        self._posts = posts
        self._first = self._last = 0

    def add(self, url: int) -> None:
        """One more."""
        if url != self._last + 1:
            self.tell()
        self._first = self._first or url
        self._last = url

    def tell(self) -> None:
        """Note the run, if there is one."""
        if self._first:
            one = self._first == self._last
            where = f"url {self._first}" if one else f"urls {self._first} to {self._last}"
            self._posts.skip(where, "no_media")
        self._first = self._last = 0
