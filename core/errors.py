"""Every way a step can end other than well. The class decides what happens next; nobody reads
messages later.

HeadraceError
├── Transient    the source's answer or the content made this attempt fail: tried again, counted
│   ├── Timeout  ServerTrouble  Truncated (DamagedPiece)  EmptyBody  Unreachable  Unexpected
├── Permanent    trying again can't help: a dead letter
│   ├── Gone  Forbidden  Malformed  Mismatch  TooLarge  NotMedia  Exhausted
│   └── Refused  a rule of ours said no before or while asking: AddressRefused  Unsupported
├── Postponed    not now, and nobody's fault: waits, is not counted
│   ├── Throttled  SourceBlocked  SourcePaused  SignedOut  Offline  HostBusy  BudgetSpent
│   ├── LeaseHeld  TooEarly  Backpressure  PiecesMissing
│   └── Released  LeaseLost  Crashed
└── Trouble      something of ours is down: no attempt, the delivery goes back
    └── StorageDown  BrokerDown  SharedStateDown  OutOfResources  Misconfigured
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.model.request import Asked
    from core.model.task import Task


class HeadraceError(Exception):
    """`reason` is a short stable word for records, headers and `--json`; the message is for
    people."""

    reason = "error"

    def __init__(
        self, message: str, *, reason: str | None = None, http_status: int | None = None
    ) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason
        self.http_status = http_status
        self.task: Task | None = (
            None  # the record as the ledger merged it, set where a task is performed
        )
        self.token: str | None = None  # the lease under which it ran, if one was taken
        self.asked: Asked | None = None  # the last request of the visit that it ended, if any


class Transient(HeadraceError):
    """This attempt failed; another may not."""

    reason = "transient"


class Timeout(Transient):
    """Connect, idle or total deadline passed, or the body came slower than the minimum rate."""

    reason = "timeout"


class Unreachable(Transient):
    """No connection: name not found, refused, reset before an answer, TLS failed."""

    reason = "unreachable"


class ServerTrouble(Transient):
    """A 5xx, 408 or 425 answer."""

    reason = "server_trouble"


class Truncated(Transient):
    """Fewer bytes than the answer announced, or a file without its end marker."""

    reason = "truncated"


class DamagedPiece(Truncated):
    """One piece of a video is not what its plan says: cut, or under another key. `piece` is its
    number; got again, it may be whole."""

    reason = "damaged_piece"

    def __init__(self, message: str, *, piece: int) -> None:
        super().__init__(message)
        self.piece = piece


class EmptyBody(Transient):
    """A successful answer without a byte."""

    reason = "empty_body"


class Unexpected(Transient):
    """An exception nobody foresaw: our bug, tried again a bounded number of times."""

    reason = "internal_error"


class Permanent(HeadraceError):
    """Trying again can't help."""

    reason = "permanent"


class Gone(Permanent):
    """404 or 410."""

    reason = "gone"


class Forbidden(Permanent):
    """401, 403 or 451: the source does not let us."""

    reason = "forbidden"


class Malformed(Permanent):
    """The answer can't be read as what it should be; names the place."""

    reason = "malformed"


class NotMedia(Permanent):
    """The bytes are no image or video (`html_instead_of_media` and kin)."""

    reason = "not_media"


class Mismatch(Permanent):
    """The bytes differ from what the record promises (hash)."""

    reason = "mismatch"


class TooLarge(Permanent):
    """Past the size cap."""

    reason = "too_large"


class Exhausted(Permanent):
    """Out of attempts, crashes or age; the cause is in the message."""

    reason = "exhausted"


class Refused(Permanent):
    """A rule of Headrace said no; the message names the rule."""

    reason = "refused"


class AddressRefused(Refused):
    """Scheme, private, loopback, link-local or otherwise forbidden address."""

    reason = "address_refused"


class Unsupported(Refused):
    """Something Headrace does not fetch (yet), by name: `unsupported_manifest`."""

    reason = "unsupported"


class Postponed(HeadraceError):
    """Not now. `delay_s` is how long at least, from now; None means «as the policy says»."""

    reason = "postponed"

    def __init__(
        self,
        message: str,
        *,
        delay_s: float | None = None,
        reason: str | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message, reason=reason, http_status=http_status)
        self.delay_s = delay_s


class Throttled(Postponed):
    """The source's answer to this request was «slower» (429, 503 with Retry-After)."""

    reason = "throttled"


class SourceBlocked(Postponed):
    """The source said «slower» a while ago: nothing of it goes out until its block ends."""

    reason = "source_blocked"


class SourcePaused(Postponed):
    """A person, or an expired login, paused the source: nothing of it goes out until it is resumed
    by a person."""

    reason = "source_paused"


class SignedOut(Postponed):
    """The source no longer takes the cookie or token that the settings have for it: it is paused
    until a person renews them."""

    reason = "signed_out"


class Offline(Postponed):
    """Nothing anywhere can be reached: this machine's network is away, and no task pays for it."""

    reason = "offline"


class HostBusy(Postponed):
    """One host of a source that has many asked us to wait, or its own tokens are spent: its tasks
    wait, the source's others go on."""

    reason = "host_busy"


class BudgetSpent(Postponed):
    """The first token is due too far ahead: back to the lane's head, nothing charged."""

    reason = "budget_spent"


class LeaseHeld(Postponed):
    """Another delivery of this task is running."""

    reason = "lease_held"


class TooEarly(Postponed):
    """The ledger says that this task must not run yet."""

    reason = "too_early"


class Backpressure(Postponed):
    """The source has more open work than its high-water mark."""

    reason = "backpressure"


class PiecesMissing(Postponed):
    """Pieces of a video are still on their way: it is looked at again."""

    reason = "pieces_missing"


class Released(Postponed):
    """This process hands back what it holds (shutdown, or a step of over ten minutes)."""

    reason = "released"


class LeaseLost(Postponed):
    """Somebody else holds the lease now: our work is dropped, theirs counts."""

    reason = "lease_lost"


class Crashed(Postponed):
    """The last run of this task vanished without a word (counted apart from attempts)."""

    reason = "crashed"


class Trouble(HeadraceError):
    """Something of ours is down. Never an attempt; the delivery goes back and waits."""

    reason = "trouble"


class StorageDown(Trouble):
    """The store can't be written or read: disk full, folder gone, permission."""

    reason = "storage_down"


class BrokerDown(Trouble):
    """RabbitMQ did not take or confirm what we published."""

    reason = "broker_down"


class SharedStateDown(Trouble):
    """Redis did not answer: no budget, so no request goes out."""

    reason = "shared_state_down"


class OutOfResources(Trouble):
    """This machine has no file descriptor, buffer or memory left."""

    reason = "out_of_resources"


class Misconfigured(Trouble):
    """The settings can't be right; names the key and what to write instead."""

    reason = "misconfigured"
