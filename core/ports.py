"""The seams: what the steps need of the ledger, the budget and the queue. Each has one contract
suite in tests/contract, run over every implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.model.end import Failure
from core.model.partial import Validators
from core.model.task import Kind, Task

# --- the ledger ---


@dataclass(frozen=True, slots=True)
class Lease:
    """The task may run. `task` has the attempts and crashes of message and ledger merged (the
    larger counts)."""

    task: Task
    token: str


@dataclass(frozen=True, slots=True)
class Held:
    """Another delivery runs it; its lease ends in `delay_s` seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Early:
    """It must not run for another `delay_s` seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Superseded:
    """A newer copy or generation was published: this one is acknowledged and dropped."""


@dataclass(frozen=True, slots=True)
class Vanished:
    """The last run's lease ended without release, renewal or publication: it crashed. `task` is
    merged as in `Lease`."""

    task: Task


@dataclass(frozen=True, slots=True)
class OpenWork:
    """What a source has open besides what lies ready in its lanes."""

    leased: int
    delayed: int
    pages: int = 0  # of both together, those that read feeds
    fragments: int = 0  # of both together, the pieces of videos


class Ledger(Protocol):
    """What is open just now: leases, attempts, serials, delays. It may be lost at any moment at
    the cost of a few repeated requests; the message and the store carry what must survive.
    Raises `SharedStateDown`."""

    def begin(self, task: Task, *, lease_s: float) -> Lease | Held | Early | Superseded | Vanished:
        """Take the task's lease, unless one of the other answers holds. An expired lease that
        nobody ended answers `Vanished` (and stays so until a copy is published or `begin` is
        called with a larger serial)."""

    def renew(self, task: Task, token: str, *, lease_s: float, progress: bool = False) -> bool:
        """Prolong the lease from now; False when another token holds it. A lease that the ledger
        forgot is taken anew. `progress` wipes the crashes counted so far."""

    def published(self, copy: Task, *, delay_s: float, token: str | None) -> None:
        """`copy` was published and confirmed with a delay: keep its serial if it is the highest,
        its attempts, crashes and the time before which no copy runs; end the lease if `token`
        holds it (or none does)."""

    def release(self, task: Task, token: str) -> None:
        """End the lease in good order, if `token` still holds it: nothing is counted, the copy
        may run again at once."""

    def release_later(self, task: Task, token: str) -> None:
        """As `release`, as soon as it can be told: for whoever knows that the shared state is away.
        Asks nobody."""

    def catch_up(self) -> None:
        """Whether work can go on after trouble: returns once a task could be begun, and every lease
        is released that this process gave up, or asked for, without an answer. Until then
        `SharedStateDown`: trouble of ours is no task's crash."""

    def finish(self, task: Task) -> None:
        """The task's end is durable: forget it, whoever holds it (later copies find the end in
        the store)."""

    def holds(self, task_id: str) -> bool:
        """Whether the task is known: leased, delayed, or told of since its first copy (which leaves
        nothing here while it lies in its lane)."""

    def join(self, media: str, generation: int, piece: int) -> int:
        """A piece of a video is present or dead: how many distinct pieces of this generation are
        known to be; 0 once a newer generation was told of. May forget (a flush); the store is the
        truth."""

    def forget_join(self, media: str) -> None:
        """The video has ended: forget its pieces, of every generation."""

    def forget_delayed(self, source: str) -> None:
        """What was delayed of a source was purged: nothing of it is open any more. One that is not
        of the purge counts again as soon as it comes back too early or is put off again."""

    def open_work(self, source: str) -> OpenWork:
        """Leased and delayed tasks of a source; neither can drift (sorted sets by time)."""


# --- the budget ---


@dataclass(frozen=True, slots=True)
class BucketKey:
    """One bucket and its terms. `name` is a source, or `source/host` for sources spread over
    many hosts."""

    name: str
    rate: float  # tokens a second
    burst: int  # tokens at most


@dataclass(frozen=True, slots=True)
class Granted:
    """The request may go out now. Its answer, if it is a refusal, is told with `era`: whatever was
    granted before a slowdown belongs to the event that brought it."""

    era: int = 0  # the time of its buckets' last slowdown, on the storage's clock; 0: none yet
    troubled: bool = False  # failures are being counted: a good answer is to be told


@dataclass(frozen=True, slots=True)
class Reserved:
    """A token is reserved, due in `wait_s`: wait, then `confirm` with `ticket`."""

    wait_s: float
    ticket: str


@dataclass(frozen=True, slots=True)
class Denied:
    """Nothing was charged; a token is due in `wait_s` at the earliest. `blocked` when the source
    told us to stop. `bucket` is the one that keeps the others waiting."""

    wait_s: float
    blocked: bool = False
    bucket: str = ""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A source's «slower» and what it came to."""

    pace: float  # share of the bucket's rate that is granted from now on, (0, 1]
    blocked_s: float  # nothing is granted for so long
    is_news: bool  # False: one more answer to a request that was granted before the slowdown


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person may want to know of a bucket. The last three figures are of the requests of
    about the last ten seconds, two of them means: what one request waited and took. All are 0.0
    once nothing went out for a while."""

    rate: float  # of its terms, requests a second
    burst: int
    pace: float  # share of the rate that is granted just now
    blocked_s: float  # until it is open again; 0.0: it is
    slowdowns: int  # since the storage knows of the bucket
    requests_per_s: float  # that went out
    waited_s: float  # what a request waited for its token, on average
    asked_s: float  # what the request itself took, on average


class Budget(Protocol):
    """Token buckets by source, shared by every worker. In any window of any length t at most
    burst + rate * t grants. Raises `SharedStateDown`: then nothing goes out.

    A slowdown halves a bucket's pace, empties it and closes it for a while; promises are void.
    After each clean window in which something was granted the pace climbs a step, up to 1."""

    def take(
        self, buckets: Sequence[BucketKey], *, horizon_s: float
    ) -> Granted | Reserved | Denied:
        """One token of every bucket in `buckets` together: at once, within `horizon_s`, or not.
        The era of `Granted` may be told of any of them; it is troubled if one of them is."""

    def confirm(self, buckets: Sequence[BucketKey], ticket: str) -> Granted | Reserved | Denied:
        """Turn a due reservation into a grant. `Reserved` again (same ticket) for a rest of the
        wait, `Denied` when a block or a flush voided it: take anew."""

    def throttled(self, bucket: str, *, era: int, seconds: float | None) -> Slowdown:
        """A request granted in `era` was answered «slower», for `seconds` if it said so (0 or less:
        it gave a time that is past). The bucket is closed for that long, at least for a jittered
        backoff that doubles with each slowdown in a row; a longer block stands. The pace halves
        once an era, however many tell of it."""

    def failed(self, bucket: str, *, era: int, task: str, enough: int) -> Slowdown | None:
        """A request of `task`, granted in `era`, had no answer, or one of trouble on the other
        side. Once `enough` distinct tasks failed and nothing was answered since: a slowdown with
        the backoff. After one that nothing answered, one failure of the new era is enough."""

    def unblock(self, bucket: str, *, age_s: float) -> float:
        """A person said `age_s` ago that what blocks the bucket is a mistake: a block that began
        before is over, for whoever has heard of it too, and comes back by nobody's telling. The
        pace stays as low as it is, and climbs. How long a later block lasts yet; 0.0: none does.
        Said twice it does no more."""

    def answered(self, bucket: str) -> None:
        """A request had a good answer: the failures that were counted are forgotten, a host's and
        its source's."""

    def used(self, bucket: str, *, waited_s: float, asked_s: float) -> None:
        """A request is over: what it waited for its token and what it took. Told to the storage
        now and then, for `standing`; lost figures matter to nobody."""

    def blocked_for(self, bucket: str) -> float:
        """Seconds until the bucket's block ends; 0.0 when open."""

    def standing(self, bucket: str) -> Standing | None:
        """How the bucket stands; None when the storage knows nothing of it."""


# --- the queue ---


@dataclass(frozen=True, slots=True)
class Copy:
    """A task to publish, and how long it rests before it reaches its lane (0: at once)."""

    task: Task
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A task that ended dead, and why."""

    task: Task
    failure: Failure


class Publisher(Protocol):
    """Publishes and returns only when everything was confirmed. Raises `BrokerDown`: nothing is
    known to be published then, and publishing again is harmless."""

    def publish(self, window: Sequence[Copy]) -> None:
        """Put copies on their lanes, or on their way there through the delay queues."""

    def bury(self, letter: DeadLetter) -> None:
        """Put a dead letter into its source's dead queue, with headers for people."""


class Depths(Protocol):
    """How much work lies ready."""

    def ready(self, source: str, *kinds: Kind) -> int:
        """Messages ready in the source's lanes of these kinds; without any, in all its own. Raises
        `BrokerDown`."""


# --- the half got ---


class Partial(Protocol):
    """A half got file with one writer. Staging hands it out; the fetcher fills it."""

    path: Path
    validators: Validators | None  # of the answer whose first bytes it holds

    def keep(self, validators: Validators) -> None:
        """Remember the answer, for a successor."""

    def restart(self) -> None:
        """Drop the bytes and what is remembered."""
