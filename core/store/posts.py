"""What was found: posts in versions, and which of them a feed is known to have shown before.
Addresses are struck out like in every record; a signature that changes is no change of a post."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from core.clock import Clock
from core.errors import StorageDown
from core.model.moment import Moment
from core.model.post import Post
from core.store import content, records
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
    gone_at_source: tuple[str, ...] = ()  # media that this feed showed before, and no longer does
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

    def newest_first(self, post: str) -> Iterator[PostVersion]:
        """The same, newest first, each read when it is asked for."""
        found = (self._read(post, version) for version in range(self._newest(post), 0, -1))
        return (version for version in found if version is not None)

    def vanished(self, posts: Iterable[Post], *, source: str, feed: str, walk: str) -> int:
        """How many media are gone from `posts` with the versions that this walk wrote of them."""
        gone = 0
        for ident in sorted({post.id(source) for post in posts}):
            newest = self.newest(ident)
            if newest is not None and (newest.feed, newest.first_seen_in) == (feed, walk):
                gone += len(newest.gone_at_source)
        return gone

    # --- what a post is ---

    def _find(self, ident: str, post: Post, visit: _Visit) -> _Finding:
        struck = content.struck(post)
        digest = content.digest(struck)
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
        if proof is not None:
            gone = self._vanished(version, proof)
            version = version.model_copy(update={"gone_at_source": gone})
        return _Finding(ident, seen, (newest + 1, version))

    def _unchanged(self, ident: str, proof: Mark, visit: _Visit) -> _Finding:
        if proof.walk == visit.walk:  # this page is read again: the answer is the same
            return _Finding(ident, proof.seen)
        if self._completed(visit.feed, proof.walk):
            return _Finding(ident, Seen.KNOWN)
        again = proof.model_copy(update={"walk": visit.walk})
        return _Finding(ident, proof.seen, mark=again)

    def _vanished(self, version: PostVersion, proof: Mark) -> tuple[str, ...]:
        """Media ids that this feed's last whole reading, or one since, showed and `version` does
        not. A reading that lacks something proves nothing, nor does another feed's."""
        if content.is_doubtful(version.post):
            return ()
        gone: dict[str, None] = {}
        for number in range(proof.version, 0, -1):
            before = self._read(version.id, number)
            if before is None or (before.feed != version.feed and number != proof.version):
                continue
            gone.update(dict.fromkeys(_missing(before, version)))
            if not content.is_doubtful(before.post):
                break
        return tuple(gone)

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
        kept = self._disk.read(path)
        try:
            return None if kept is None else records.decode(Mark, path, kept)
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
                encoded = records.encode(version)
                unnamed[ident] = self._disk.write_unnamed([encoded], durable=False)
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
        costs one look, no folder of its own, and a thousand versions twenty looks."""
        there, missing = 0, 1
        while self._has(ident, missing):
            there, missing = missing, 2 * missing
        while missing - there > 1:
            between = (there + missing) // 2
            there, missing = (between, missing) if self._has(ident, between) else (there, between)
        return there

    def _has(self, ident: str, version: int) -> bool:
        return self._disk.stat(self._paths.version(ident, version)) is not None

    def _read(self, ident: str, version: int) -> PostVersion | None:
        return records.read(self._disk, self._paths.version(ident, version), PostVersion)


def _missing(before: PostVersion, after: PostVersion) -> Iterator[str]:
    """The ids of media that the one shows and the other does not. What has no key is known by its
    address, whose signature may be another now."""
    shown = {*after.media, *map(content.address, after.post.media)}
    for media, record in zip(before.media, before.post.media, strict=True):
        if media not in shown and (record.key or content.address(record) not in shown):
            yield media
