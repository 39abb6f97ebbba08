"""What a run says at its end: each thing that is missing with its reason, the counts, what next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from core.cli.census import Standing
from core.cli.report import FeedReport, MediaReport, Totals
from core.cli.wording import cause, count, duration, printable, size
from core.model.walk import WalkState

_INCOMPLETE_AGAIN = "{media} incomplete: the same command fetches the pieces that are missing."
_INCOMPLETE_FOR_GOOD = (
    "{media} incomplete, with pieces that failed for good: the same command with --retry-dead asks "
    "for those, and only those, once more."
)

Say = Callable[[str], None]
_UNFINISHED_NAMED = 20  # of what an interrupted run left; what failed is named in full


@dataclass(slots=True)
class Summary:
    """Tells a run's end, line by line, to `say`."""

    say: Say
    totals: Totals = field(default_factory=Totals)
    _remedies: Counter[str] = field(default_factory=Counter)
    _broken: bool = False
    _unfinished: int = 0
    _stranded: bool = False

    @property
    def whole(self) -> bool:
        """Whether every feed was read and everything found was got."""
        return self.totals.whole and not self._broken and not self._stranded

    def left(self, reasons: Mapping[str, str]) -> None:
        """Name the sources that nothing could be done for any more."""
        for source, why in reasons.items():
            self._stranded = True
            self.say(
                printable(f"source {source}: {why}: what is open of it is left for the next run")
            )

    def feeds(self, reports: Iterable[FeedReport]) -> None:
        """Name the feeds that were not read to their end, and what their posts lack."""
        for report in reports:
            for line in _lacks(report):
                self.say(printable(line))
            if not report.complete:
                self._broken = True
                self.say(printable(_feed_line(report)))

    def media(self, report: MediaReport) -> None:
        """Count one media; name it when it is missing."""
        self.totals.add(report)
        if report.standing in (Standing.DONE, Standing.KNOWN):
            return
        self._remedies[_remedy(report)] += 1
        if report.failure is None:
            self._unfinished += 1
            if self._unfinished > _UNFINISHED_NAMED:
                return
        self.say(printable(_missing_line(report)))

    def end(self, elapsed_s: float, *, interrupted: bool) -> None:
        """The counts, and what a person can do."""
        if (more := self._unfinished - _UNFINISHED_NAMED) > 0:
            self.say(f"... and {more:,} more that were not finished")
        self.say(_counts_line(self.totals, elapsed_s))
        for remedy, media in sorted(self._remedies.items()):
            self.say(remedy.format(media=count(media, "media", "media")))
        if interrupted:
            self.say("Interrupted in good order. The same command goes on where this one stopped.")
        elif self._broken:
            self.say("A feed was not read to its end: the same command reads it again.")


def _lacks(report: FeedReport) -> Iterator[str]:
    """What the feed's own pages say of media that nobody could be sent for."""
    for named in report.fewer_named:
        yield f"feed     {report.address}: {named}"
    if (more := report.fewer - len(report.fewer_named)) > 0:
        posts = count(more, "more post")
        yield f"feed     {report.address}: ... and {posts} with fewer media than announced"
    if gone := report.gone_at_source:
        media = count(gone, "media", "media")
        yield f"feed     {report.address}: {media} gone at the source; what was got of them stays"


def _feed_line(report: FeedReport) -> str:
    if report.end is None:
        return f"feed     not finished  {report.address}"
    assert report.end.state is WalkState.BROKEN  # noqa: S101 - a complete one is not told
    return f"feed     {report.end.reason}  {report.address}: {report.end.message}"


def _missing_line(report: MediaReport) -> str:
    if report.failure is None:
        return f"{report.standing:<8} {report.reason}  {report.url}"
    tried = count(report.failure.attempts, "attempt")
    message = report.failure.message.removeprefix(f"{report.url}: ")
    if report.standing is Standing.INCOMPLETE:  # the message begins with the pieces' numbers
        return f"{report.standing}: {message}  {report.url} ({tried})"
    return f"{report.standing:<8} {cause(report.failure)}  {report.url}: {message} ({tried})"


def _remedy(report: MediaReport) -> str:
    failure = report.failure
    if failure is None:
        return "{media} not finished: the same command goes on with them."
    if report.standing is Standing.INCOMPLETE:
        return _INCOMPLETE_AGAIN if failure.passing else _INCOMPLETE_FOR_GOOD
    if failure.passing:
        return "{media} failed by a fault that may pass: the same command tries again."
    if failure.reason == "address_refused":
        return (
            "{media} refused for their address: if you trust it, --allow-network CIDR permits "
            "it, together with --retry-dead."
        )
    if failure.refused:
        return "{media} refused by a rule of Headrace, which the reason names."
    return "{media} failed for good: the same command with --retry-dead asks for them once more."


def _counts_line(totals: Totals, elapsed_s: float) -> str:
    counts = totals.standings
    parts = [
        f"got {counts[Standing.DONE]:,} ({size(totals.got_bytes)})",
        f"known {counts[Standing.KNOWN]:,}",
        f"failed {counts[Standing.FAILED]:,}",
        f"refused {counts[Standing.REFUSED]:,}",
        f"incomplete {counts[Standing.INCOMPLETE]:,}",
    ]
    return f"Found {totals.found:,} media in {duration(elapsed_s)}: {', '.join(parts)}."
