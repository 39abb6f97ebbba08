"""What was found: posts in versions, and which of them a feed is known to have shown before.
Addresses are struck out like in every record; a signature that changes is no change of a post."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from core.clock import Clock
from core.errors import StorageDown
from core.model.addresses import is_plain, strike
from core.model.moment import Moment
from core.model.post import MediaRecord, Post
from core.store import records
from core.store.files import Disk

logger = logging.getLogger(__name__)

_MAX_RACES = 8  # other walks that may store a version of the same post in the same moment


class Seen(StrEnum):
    """What a feed's page tells of a post, as far as this feed's earlier walks go."""

    NEW = "new"  # no completed walk of this feed has shown it
    CHANGED = "changed"  # this feed showed it before, with other content
    KNOWN = "known"  # seen in an earlier completed walk of this feed, and unchanged


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PostVersion(_Frozen):
    """`posts/ab/ID.VERSION.json`. It also proves that `feed` showed it in walk `first_seen_in`."""

    format: int = 1
    id: str  # post id
    source: str
    feed: str
    first_seen_in: str  # walk id
    first_seen_at: Moment
    seen: Seen
    digest: str  # of the content
    media: tuple[str, ...]  # media ids, in the post's order
    post: Post


class Mark(_Frozen):
    """`posts/ab/ID.seen.FEED`: in which walk a feed last first showed a version. May be lost: the
    post is then new once more, which costs a page's tasks and no file. Hence it is never synced."""

    format: int = 1
    walk: str
    version: int
    digest: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class _Visit:
    """Where posts are seen."""

    source: str
    feed: str
    walk: str


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a post is, and what is to be written of it."""

    id: str
    seen: Seen
    draft: tuple[int, PostVersion] | None = None  # under which number
    mark: Mark | None = None


class Posts:
    """`posts/ab/`. `completed` tells whether a walk of a feed ran to its end."""

    def __init__(self, disk: Disk, clock: Clock, completed: Callable[[str, str], bool]) -> None:
        self._disk = disk
        self._paths = disk.paths
        self._clock = clock
        self._completed = completed

    def put(self, post: Post, *, source: str, feed: str, walk: str) -> Seen:
        """Store one post. `put_page` is far cheaper for many."""
        return self.put_page([post], source=source, feed=feed, walk=walk)[0]

    def put_page(self, posts: Sequence[Post], *, source: str, feed: str, walk: str) -> list[Seen]:
        """Store a page's posts and say of each, in order, what it is; all durable on return. When
        a page shows one post twice, the first stands for both."""
        visit = _Visit(source, feed, walk)
        first: dict[str, Post] = {}
        for post in posts:
            first.setdefault(post.id(source), post)
        findings = {ident: self._find(ident, post, visit) for ident, post in first.items()}
        for lost in self._write_versions([*findings.values()]):
            findings[lost] = self._put_again(lost, first[lost], visit)
        news = [ident for ident, finding in findings.items() if finding.seen is not Seen.KNOWN]
        self._disk.sync_all({self._paths.posts(ident) for ident in news})
        for finding in findings.values():
            self._write_mark(finding, feed)
        return [findings[post.id(source)].seen for post in posts]

    def newest(self, post: str) -> PostVersion | None:
        """The newest version of a post id."""
        newest = self._newest(post)
        return self._read(post, newest) if newest else None

    def versions(self, post: str) -> list[PostVersion]:
        """Every version of a post id, oldest first."""
        found = (self._read(post, version) for version in range(1, self._newest(post) + 1))
        return [version for version in found if version is not None]

    # --- what a post is ---

    def _find(self, ident: str, post: Post, visit: _Visit) -> _Finding:
        struck = _struck(post)
        digest = _digest(struck)
        newest = self._newest(ident)
        proof = self._proof(ident, newest, visit.feed)
        if proof is not None and proof.digest == digest:
            return self._unchanged(ident, proof, visit)
        seen = Seen.NEW if proof is None else Seen.CHANGED
        latest = self._read(ident, newest) if newest else None
        if latest is not None and latest.digest == digest:  # stored by another feed
            mark = Mark(walk=visit.walk, version=newest, digest=digest, seen=seen)
            return _Finding(ident, seen, mark=mark)
        version = PostVersion(
            id=ident,
            source=visit.source,
            feed=visit.feed,
            first_seen_in=visit.walk,
            first_seen_at=self._clock.now(),
            seen=seen,
            digest=digest,
            media=tuple(record.id(visit.source) for record in post.media),
            post=struck,
        )
        return _Finding(ident, seen, (newest + 1, version))

    def _unchanged(self, ident: str, proof: Mark, visit: _Visit) -> _Finding:
        if proof.walk == visit.walk:  # this page is read again: the answer is the same
            return _Finding(ident, proof.seen)
        if self._completed(visit.feed, proof.walk):
            return _Finding(ident, Seen.KNOWN)
        again = proof.model_copy(update={"walk": visit.walk})
        return _Finding(ident, proof.seen, mark=again)

    def _proof(self, ident: str, newest: int, feed: str) -> Mark | None:
        """What this feed showed last: a version that it wrote itself, or its mark where that is of
        the same version or a newer one. Other feeds prove nothing."""
        if not newest:  # a mark is never without a version: no need to look
            return None
        mark = self._mark(ident, feed)
        for version in range(newest, 0, -1):
            if mark is not None and version <= mark.version:
                break
            found = self._read(ident, version)
            if found is not None and found.feed == feed:
                return Mark(
                    walk=found.first_seen_in,
                    version=version,
                    digest=found.digest,
                    seen=found.seen,
                )
        return mark

    def _mark(self, ident: str, feed: str) -> Mark | None:
        path = self._paths.mark(ident, feed)
        content = self._disk.read(path)
        try:
            return None if content is None else records.decode(Mark, path, content)
        except StorageDown:
            logger.debug("%s was torn by a crash and does not count", path)
            return None

    # --- what is written ---

    def _write_versions(self, findings: list[_Finding]) -> list[str]:
        """Write new versions, contents durable before names; the ids whose number another walk took
        first."""
        unnamed: dict[str, Path] = {}
        lost = []
        drafts = {finding.id: finding.draft for finding in findings if finding.draft is not None}
        try:
            for ident, (_, version) in drafts.items():
                content = records.encode(version)
                unnamed[ident] = self._disk.write_unnamed([content], durable=False)
            self._disk.sync_all(unnamed.values())
            for ident, (version_number, _) in drafts.items():
                path = self._paths.version(ident, version_number)
                if not self._disk.place(unnamed[ident], path):
                    lost.append(ident)
        finally:
            for file in unnamed.values():
                self._disk.discard(file)
        return lost

    def _put_again(self, ident: str, post: Post, visit: _Visit) -> _Finding:
        for _ in range(_MAX_RACES):
            finding = self._find(ident, post, visit)
            if not self._write_versions([finding]):
                return finding
        raise StorageDown(
            f"post {ident} got {_MAX_RACES} versions from other walks while one was written: "
            "the page will be read again"
        )

    def _write_mark(self, finding: _Finding, feed: str) -> None:
        if finding.mark is not None:
            path = self._paths.mark(finding.id, feed)
            self._disk.replace(path, [records.encode(finding.mark)], durable=False)

    # --- files ---

    def _newest(self, ident: str) -> int:
        """The number of the newest version, 0 before the first. They have no gaps, so a new post
        costs one look, and no folder of its own."""
        newest = 0
        while self._disk.stat(self._paths.version(ident, newest + 1)) is not None:
            newest += 1
        return newest

    def _read(self, ident: str, version: int) -> PostVersion | None:
        return records.read(self._disk, self._paths.version(ident, version), PostVersion)


def _digest(post: Post) -> str:
    """Of the content alone. Fields at their defaults don't count, so that a field which a later
    version adds does not make every post a changed one; nor do an adapter's notes."""
    content = post.model_dump(mode="json", exclude_defaults=True, exclude={"notes"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _struck(post: Post) -> Post:
    """The post as a record may hold it: no credentials or signatures in addresses."""
    if all(map(is_plain, _addresses(post))):  # as most are: spares three copies a post
        return post
    media = tuple(_struck_media(record) for record in post.media)
    return post.model_copy(update={"link": post.link and strike(post.link), "media": media})


def _addresses(post: Post) -> Iterator[str]:
    """Every address in a post that a record could tell too much with."""
    for media in post.media:
        yield from (rendition.url for rendition in media.renditions)
        yield from filter(None, (media.referer, media.poster))
    if post.link:
        yield post.link


def _struck_media(record: MediaRecord) -> MediaRecord:
    renditions = tuple(
        rendition.model_copy(update={"url": strike(rendition.url)})
        for rendition in record.renditions
    )
    return record.model_copy(
        update={
            "renditions": renditions,
            "referer": record.referer and strike(record.referer),
            "poster": record.poster and strike(record.poster),
        }
    )
