"""What one run knows of a page's second looks: what earlier ones were answered, and what it was
itself. An answer counts only once its adapter has gone on from it: what a run stumbled over is
asked for anew by the next."""

from __future__ import annotations

import base64
import hashlib
import io
from collections import Counter

from core import errors
from core.clock import Clock
from core.errors import HeadraceError
from core.fetch.fetcher import Visit, in_any_case
from core.model.look import KeptAnswer, KeptLooks
from core.model.request import Request
from core.sources.adapter import PageInput

_MOST_ANSWERS = 1000
_MOST_BYTES = 32 * 1024**2  # of all answers together
_MOST_AGE_S = 86_400.0  # a page that takes a day is another by then
_UNKEPT = frozenset(["set-cookie"])  # of an answer's headers

# What an adapter may go on from.
_REFUSALS: dict[str, type[HeadraceError]] = {
    kind.__name__: kind
    for kind in (
        errors.Gone,
        errors.Forbidden,
        errors.Malformed,
        errors.NotMedia,
        errors.TooLarge,
        errors.Permanent,
        errors.ServerTrouble,
        errors.Timeout,
        errors.Truncated,
        errors.EmptyBody,
        errors.Unreachable,
    )
}


class Answers:
    """Of one run."""

    def __init__(self, before: KeptLooks, visit: Visit, clock: Clock) -> None:
        since = clock.now() - _MOST_AGE_S
        self._kept = {key: one for key, one in before.answers.items() if one.at >= since}
        self.were_there = bool(before.answers)
        self.are_new = False  # some are, that the next run will not have to ask for
        self._visit = visit
        self._clock = clock
        self._size_bytes = sum(len(one.body) for one in self._kept.values())
        self._asked: Counter[str] = Counter()  # an adapter may ask for the same twice
        self._last: tuple[str, KeptAnswer] | None = None

    def recall(self, request: Request) -> PageInput | None:
        """The answer to `request`, if it is known. Raises a refusal that is."""
        address = _digest(request)
        self._asked[address] += 1
        known = self._kept.get(self._key(request))
        if known is None:
            return None
        if known.error is not None:
            refusal = _REFUSALS[known.error]
            raise refusal(known.message, reason=known.reason, http_status=known.http_status)
        return PageInput(
            io.BytesIO(base64.b64decode(known.body)),
            known.url,
            known.content_type,
            status=known.status,
            headers=in_any_case(known.headers),
            read_at=known.at,
        )

    def came(self, request: Request, given: PageInput) -> int:
        """It was answered; with how many bytes."""
        body = given.stream.read()
        given.stream.seek(0)
        headers = {k: self._visit.struck(v) for k, v in given.headers.items()}
        text = self._visit.struck(body.decode("latin-1"))  # a letter a byte, and back again
        answer = KeptAnswer(
            at=self._clock.now(),
            url=self._visit.struck(given.url),
            content_type=given.content_type,
            status=given.status,
            headers={k: v for k, v in headers.items() if k.lower() not in _UNKEPT},
            body=base64.b64encode(text.encode("latin-1")).decode("ascii"),
        )
        self._last = self._key(request), answer
        return len(body)

    def refused(self, request: Request, error: HeadraceError) -> None:
        """It was not answered."""
        if type(error).__name__ in _REFUSALS:
            answer = KeptAnswer(
                at=self._clock.now(),
                error=type(error).__name__,
                reason=error.reason,
                message=self._visit.struck(str(error)),
                http_status=error.http_status,
            )
            self._last = self._key(request), answer

    def accept_last(self) -> None:
        """The adapter asks on: what came last was of use to it."""
        if self._last is None:
            return
        (key, answer), self._last = self._last, None
        self._size_bytes += len(answer.body)
        if len(self._kept) < _MOST_ANSWERS and self._size_bytes <= _MOST_BYTES:
            self._kept[key] = answer
            self.are_new = True

    def kept(self) -> KeptLooks:
        """All that the next run need not ask for."""
        return KeptLooks(answers=self._kept)

    def _key(self, request: Request) -> str:
        address = _digest(request)
        return f"{address}-{self._asked[address]}"


def _digest(request: Request) -> str:
    """What is asked for; addresses themselves may tell too much."""
    return hashlib.sha256(request.url.encode("utf-8", "surrogatepass")).hexdigest()[:32]
