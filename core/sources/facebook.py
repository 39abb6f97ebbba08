"""A page's posts, photos and videos by Facebook's Graph API, with a token of the user's own. Its
files' addresses die (`oe` is their end in hexadecimal) and are named anew by photo or video id.

Read otherwise than one might: a page is taken to be newest first only where its own dates say so,
since the feed edges are ranked; hidden, scheduled and expired posts are skipped and not stored, so
that they are news once everybody may see them; a picture at an album's cut is looked for in the
album, of which only what names no other post is the post's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

from core.errors import Gone, Malformed, Misconfigured, ServerTrouble, Unsupported
from core.model.addresses import strike
from core.model.post import FeedPage, MediaKind, Post, Rendition
from core.model.request import Request
from core.sources.adapter import Ask, PageInput, Secrets
from core.sources.body import MAX_ITEMS, leads_back, malformed, too_large
from core.sources.drafts import PageDraft
from core.sources.facebook_address import (
    GRAPH_HOST,
    SECRET,
    api_of,
    asked,
    edge_of,
    first_address,
    half_as_many,
    is_of_site,
    next_address,
    node_address,
)
from core.sources.facebook_answer import TOO_MUCH, graph_request, read_answer
from core.sources.facebook_look import SecondLook
from core.sources.facebook_node import (
    Draft,
    photo_post,
    picture_renditions,
    video_post,
    video_renditions,
)
from core.sources.facebook_post import read_post
from core.sources.facebook_ref import read_ref
from core.sources.facebook_usage import rest_s
from core.sources.json_page import Item, child
from core.sources.pasted import refuse_secrets
from core.sources.resolve import Unusable, resolve
from core.sources.second_look import asked_once
from core.sources.values import line_of

_TOKEN = re.compile(r"[!-~]+")  # what one header word can carry
_EXPIRY = re.compile(r"[0-9A-Fa-f]{1,10}")
_READERS: dict[str, Callable[[Item, Draft], Post | None]] = {
    "photos": photo_post,
    "videos": video_post,
    "video_reels": video_post,
}


class FacebookAdapter:
    """Pages of the Graph API. The cursor is the next page's absolute address without its token."""

    name = "facebook"
    many_hosts = True  # files lie on a delivery network of many names
    stop_after_known = 20  # the feed edges are ranked
    repeats = 10  # unrelated posts with the same bytes: a picture that stands for removed ones
    about = "a Facebook page's posts, photos and videos, by the Graph API"
    example = "https://www.facebook.com/PAGE"
    needs = (
        "token: a page or system user token with pages_read_engagement (and "
        "pages_read_user_content for visitors' posts), from the app's dashboard at "
        "developers.facebook.com"
    )

    def reads(self, address: str) -> bool:
        """On Facebook's own hosts: other sites have versions in their paths too."""
        try:
            return is_of_site(address) and bool(first_address(address))
        except (Unsupported, ValueError):
            return False

    def check(self, address: str) -> None:
        refuse_secrets(address, SECRET)

    def request(self, address: str, cursor: str | None) -> Request | None:
        if cursor is None:
            self.check(address)
            return graph_request(first_address(address))
        if isinstance(resolve(cursor, None), Unusable):
            raise Malformed(f"{strike(address)}: its cursor is no address", reason="bad_cursor")
        return graph_request(asked(cursor))

    def parse(self, page: PageInput) -> FeedPage:
        try:
            body = read_answer(page, "a list of posts")
        except ServerTrouble as error:
            smaller = half_as_many(page.url) if error.reason == TOO_MUCH else None
            if smaller is None:
                raise
            return FeedPage(posts=(), cursor=smaller, notes=(f"asked again for half: {error}",))
        nodes = body.get("data")
        if not isinstance(nodes, list):
            raise malformed(page, "not_a_feed", "no list of posts in it; a Graph API edge has one")
        if len(nodes) > MAX_ITEMS:
            raise too_large(page, f"{MAX_ITEMS} posts")
        return _read(page, body, nodes)

    def complete(self, page: FeedPage, ask: Ask) -> FeedPage:
        return SecondLook(ask).complete(page)

    def expires_at(self, url: str) -> float | None:
        try:
            told = parse_qs(urlsplit(url).query).get("oe", [""])[-1]
        except ValueError:  # no address
            return None
        return float(int(told, 16)) if _EXPIRY.fullmatch(told) else None

    def renew(self, ref: str, ask: Ask) -> tuple[Rendition, ...]:
        node = read_ref(ref)
        is_video = node.kind is MediaKind.VIDEO
        fields = "id,source,format" if is_video else "id,images,picture"
        url = node_address(node.api, node.id, fields)
        found = asked_once(lambda: read_answer(ask(graph_request(url)), "a photo or video"))
        renditions = video_renditions(found) if is_video else picture_renditions(found)
        if not renditions:
            raise Gone(
                f"{strike(url)}: the {node.kind} is there, but names no file any more",
                reason="gone_at_source",
            )
        return renditions

    def secrets(self, *, token: str | None, cookie: str | None) -> Secrets:
        if cookie is not None:
            raise Misconfigured("facebook: the Graph API takes no cookie; give it a token instead")
        if token is None:
            return Secrets()
        if not _TOKEN.fullmatch(token):
            raise Misconfigured(
                "facebook: the token has blanks or other letters than a header carries; "
                "write it alone, without «Bearer»"
            )
        return Secrets(headers={"Authorization": f"Bearer {token}"}, hosts=(GRAPH_HOST,))


def _read(page: PageInput, body: Item, nodes: Sequence[object]) -> FeedPage:
    draft = PageDraft()
    reader = _READERS.get(edge_of(page.url), read_post)
    for number, node in enumerate(nodes, 1):
        _add(node, Draft(f"item {number}", api_of(page.url)), reader, draft)
    # Only the lack of `next` ends an edge: pages are filtered after they are cut, down to nothing.
    following = child(body, "paging", "next")
    cursor = next_address(following, page.url) if following is not None else None
    if isinstance(cursor, Unusable):
        draft.skip("next page", cursor.reason)
        cursor = None
    if cursor is not None and cursor == page.cursor:
        raise leads_back(page)
    found = draft.finish(cursor)
    update = {"newest_first": _newest_first(found.posts), "rest_s": rest_s(page.headers)}
    return found.model_copy(update=update)


def _add(
    node: object, draft: Draft, reader: Callable[[Item, Draft], Post | None], page: PageDraft
) -> None:
    """One node by itself: what is wrong with it costs no other."""
    if not isinstance(node, dict):
        page.skip(draft.where, "not_an_object")
        return
    draft.where = line_of(node.get("id")) or draft.where
    try:
        post = reader(node, draft)
    except (ValueError, RecursionError):  # a value that no record can hold
        page.skip(draft.where, "unreadable_item")
        return
    if post is None:
        page.skipped += draft.skipped
    else:
        page.add(draft.where, post, draft.skipped)


def _newest_first(posts: Iterable[Post]) -> bool:
    """By their dates. The first one is left out: a page may have put it on top."""
    dates: list[datetime] = [post.created_at for post in posts if post.created_at][1:]
    return all(newer >= older for newer, older in pairwise(dates))
