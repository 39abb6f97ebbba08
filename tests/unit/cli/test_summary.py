from core.cli.census import Standing
from core.cli.report import FeedReport, MediaReport
from core.cli.summary import Summary
from core.model.end import Failure
from core.model.post import MediaKind
from core.model.walk import WalkEnd, WalkState

URL = "https://pictures.example/1.jpg"


def missing(standing: Standing, **failure: object) -> MediaReport:
    fields = {"reason": "gone", "message": f"{URL}: status 404", "passing": False, "attempts": 1}
    return MediaReport(URL, MediaKind.IMAGE, standing, Failure.model_validate(fields | failure))


def told(*media: MediaReport, feeds: tuple[FeedReport, ...] = (), interrupted: bool = False):
    said: list[str] = []
    summary = Summary(said.append)
    summary.feeds(feeds)
    for report in media:
        summary.media(report)
    summary.end(2.0, interrupted=interrupted)
    return summary, said


def test_everything_got_is_one_line():
    summary, said = told(MediaReport(URL, MediaKind.IMAGE, Standing.DONE))

    assert summary.whole
    assert said == [
        "Found 1 media in 2.0 s: got 1 (0 B), known 0, failed 0, refused 0, incomplete 0."
    ]


def test_a_missing_media_is_named_with_its_reason_and_its_address_once():
    summary, said = told(missing(Standing.FAILED, http_status=404))

    assert not summary.whole
    assert said[0] == f"failed   404 gone  {URL}: status 404 (1 attempt)"


def test_a_passing_fault_calls_for_the_same_command():
    _, said = told(missing(Standing.FAILED, passing=True))

    assert said[-1] == "1 media failed by a fault that may pass: the same command tries again."


def test_a_lasting_fault_calls_for_retry_dead():
    _, said = told(missing(Standing.FAILED), missing(Standing.FAILED))

    assert said[-1].startswith("2 media failed for good")
    assert "--retry-dead" in said[-1]


def test_an_incomplete_video_names_its_pieces_and_what_mends_it():
    message = "pieces 3, 7 of 20 can't be had (gone: status 404)"
    holed = missing(Standing.INCOMPLETE, reason="incomplete", message=message)
    passing = missing(Standing.INCOMPLETE, reason="incomplete", message=message, passing=True)

    summary, said = told(holed, passing)

    assert not summary.whole
    assert said[0] == f"incomplete: {message}  {URL} (1 attempt)"
    assert any("--retry-dead asks for those, and only those" in line for line in said)
    assert any("the same command fetches the pieces" in line for line in said)


def test_a_refused_address_names_the_flag_that_permits_it():
    _, said = told(missing(Standing.REFUSED, reason="address_refused", refused=True))

    assert "--allow-network" in said[-1]


def test_a_broken_feed_is_named_and_the_run_is_not_whole():
    end = WalkEnd(
        walk="w",
        feed="f",
        state=WalkState.BROKEN,
        reason="gone",
        message="page 1: status 404",
        pages=0,
        closed_at=1.0,
    )
    summary, said = told(feeds=(FeedReport("https://pictures.example/feed.rss", end),))

    assert not summary.whole
    assert said[0] == "feed     gone  https://pictures.example/feed.rss: page 1: status 404"


def complete(**lacks: object) -> FeedReport:
    end = WalkEnd(
        walk="w",
        feed="f",
        state=WalkState.COMPLETE,
        reason="last_page",
        pages=1,
        closed_at=1.0,
    )
    return FeedReport("https://pictures.example/feed.rss", end, **lacks)


def test_posts_that_show_less_than_they_announce_are_named():
    named = ("page 2, item 3: incomplete: 9 of 18",)
    summary, said = told(feeds=(complete(fewer=1, fewer_named=named),))

    assert summary.whole  # everything found was got
    assert said[0] == f"feed     https://pictures.example/feed.rss: {named[0]}"
    assert len(said) == 2


def test_many_posts_that_show_less_are_counted_and_not_listed_for_ever():
    named = tuple(f"page 1, item {n}: incomplete: 9 of 18" for n in range(20))
    _, said = told(feeds=(complete(fewer=1_020, fewer_named=named),))

    assert len(said) == 22
    assert said[20].endswith(": ... and 1,000 more posts with fewer media than announced")


def test_media_that_vanished_from_their_posts_are_counted():
    _, said = told(feeds=(complete(gone_at_source=3),))

    assert said[0].endswith(": 3 media gone at the source; what was got of them stays")


def test_an_interrupted_run_says_how_to_go_on():
    open_feed = FeedReport("https://pictures.example/feed.rss", None)
    _, said = told(feeds=(open_feed,), interrupted=True)

    assert said[-1].startswith("Interrupted in good order. The same command goes on")


def test_an_address_from_a_feed_cannot_drive_the_terminal():
    _, said = told(MediaReport("https://x/\x1b[2J\n", MediaKind.IMAGE, Standing.INCOMPLETE))

    assert all("\x1b" not in line and "\n" not in line for line in said)


def test_what_an_interrupted_run_left_is_counted_and_not_listed_for_ever():
    left = MediaReport(URL, MediaKind.IMAGE, Standing.INCOMPLETE)
    _, said = told(*[left] * 1_000, interrupted=True)

    assert len(said) < 30
    assert "... and 980 more that were not finished" in said


def test_a_source_that_was_given_up_is_named_and_nothing_is_whole_then():
    said: list[str] = []
    summary = Summary(said.append)
    summary.left({"mill": "it is paused (the cookie expired)"})

    [line] = said
    assert line.startswith("source mill: it is paused (the cookie expired): ")
    assert line.endswith("what is open of it is left for the next run")
    assert not summary.whole
