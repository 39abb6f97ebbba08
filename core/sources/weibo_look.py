"""One post asked for by itself: because its list shows fewer pictures than it says it has, or an
address of its media has died. What can't be had costs its own post a note; what concerns the whole
source is raised."""

from __future__ import annotations

from core.errors import EmptyBody, Gone, Permanent, ServerTrouble, Truncated
from core.model.addresses import strike
from core.model.post import FeedPage, Post, Rendition, Skipped
from core.sources.adapter import Ask, PageInput
from core.sources.body import malformed
from core.sources.json_page import item_of
from core.sources.weibo_address import Shape, post_address, shape_of, weibo_request
from core.sources.weibo_ajax import read_ajax
from core.sources.weibo_answer import GONE, read_answer
from core.sources.weibo_draft import place_of
from core.sources.weibo_mobile import read_mobile
from core.sources.weibo_post import incomplete, is_deleted, key_of, missing_of
from core.sources.weibo_ref import read_ref

# What a note can stand for: answers about one post. Timeouts and all that is postponed say
# something about the source.
_PASSING = (ServerTrouble, Truncated, EmptyBody)
_OF_THE_POST = (Permanent, *_PASSING)


def completed(page: FeedPage, ask: Ask) -> FeedPage:
    """The page with all that could be had."""
    posts, skipped = [], list(page.skipped)
    for post in page.posts:
        address = post_address(post.link) if post.link else None
        if not missing_of(post) or address is None or _is_told(post):
            posts.append(post)
            continue
        whole, why = _looked_at(post, address, ask)
        if len(whole.media) > len(post.media):
            skipped = [one for one in skipped if not _is_of(one, post)]
        if missing_of(whole):
            note = incomplete(whole)
            skipped.append(Skipped(where=post.key, reason=note))
            note = f"{note} ({why})" if why else note
            whole = whole.model_copy(update={"notes": (*whole.notes, note)})
        posts.append(whole)
    return page.model_copy(update={"posts": tuple(posts), "skipped": tuple(skipped)})


def renewed(ref_text: str, ask: Ask) -> tuple[Rendition, ...]:
    """Today's addresses of one media. Raises `Gone` where its post has it no more."""
    ref = read_ref(ref_text)
    answer = ask(weibo_request(ref.post, ref.shape))
    for media in read_shown(answer, ref.shape).media:
        if media.key == ref.key:
            return media.renditions
    raise Gone(
        f"{strike(answer.url)}: the post is there, but has media {ref.key} no more",
        reason="gone_at_source",
    )


def read_shown(answer: PageInput, shape: Shape) -> Post:
    """The one post of an answer. Raises `Gone` for one that was deleted."""
    body = read_answer(answer, shape)
    status = item_of(body.get("data")) or body
    if is_deleted(status) or not body:
        raise Gone(f"{strike(answer.url)}: the post is deleted", reason=GONE)
    if key_of(status) is None:
        raise malformed(answer, "not_a_post", "no post in it")
    read = read_mobile if shape is Shape.MOBILE else read_ajax
    try:
        post, _ = read(status, key_of(status) or "", place_of(answer, shape))
    except ValueError as error:  # a value that no record can hold
        raise malformed(answer, "unreadable_item", "its post can't be read") from error
    return post


def _looked_at(post: Post, address: str, ask: Ask) -> tuple[Post, str | None]:
    """The post with what a second look finds; else as it was, and why."""
    try:
        found = _asked_twice(address, ask)
    except _OF_THE_POST as error:
        return post, f"its own page: {error.reason}"
    if found.key != post.key or len(found.media) <= len(post.media):
        return post, None
    told = [count for count in (post.announced, found.announced) if count is not None]
    return post.model_copy(update={"media": found.media, "announced": max(told)}), None


def _asked_twice(address: str, ask: Ask) -> Post:
    """What may pass is given a second chance, since a post that is noted as incomplete stays so."""
    shape = shape_of(address)
    assert shape is not None  # noqa: S101 - `post_address` builds no other
    request = weibo_request(address, shape)
    try:
        return read_shown(ask(request), shape)
    except _PASSING:
        return read_shown(ask(request), shape)


def _is_told(post: Post) -> bool:
    """Whether it is noted as incomplete already: the open API has no second look."""
    return missing_of(post) > 0 and incomplete(post) in post.notes


def _is_of(one: Skipped, post: Post) -> bool:
    """Whether it says why the list had no media of the post."""
    return one.where == post.key or one.where.startswith(f"{post.key}, picture ")
