import io

from core.cli.lines import Lines, ended_line, meters_line, page_line
from core.cli.progress import Meters
from core.cli.videos import VideoMeter
from core.model.post import Skipped
from core.model.walk import WalkPage
from tests.support.runs import dead_end, got_end, incomplete_end, payload


def meters(elapsed_s: float = 10.0, **changes: object) -> Meters:
    fields = {
        "found": 120,
        "got": 80,
        "known": 3,
        "failed": 1,
        "incomplete": 0,
        "got_bytes": 4_100_000,
        "files_per_s": 8.0,
        "bytes_per_s": 410_000.0,
        "blocked_s": 0.0,
        "running": (),
    }
    return Meters(elapsed_s=elapsed_s, **(fields | changes))


def a_page(*skipped: Skipped) -> WalkPage:
    media = (payload(1), payload(2))
    return WalkPage(
        walk="w", feed="f", page=3, media=media, new_posts=1, skipped=skipped, read_at=1.0
    )


def test_what_was_got_is_told_with_type_size_address_and_name():
    line = ended_line(got_end(1, b"x" * 34_000), "library/feed/1.jpg")

    assert line == (
        "got      image/jpeg 34 KB  https://pictures.example/1.jpg -> library/feed/1.jpg"
    )


def test_what_ended_dead_is_told_with_its_cause():
    assert ended_line(dead_end(1), None) == "dead     404 gone  https://pictures.example/1.jpg"


def test_an_incomplete_video_is_told_with_the_pieces_it_lacks():
    line = ended_line(incomplete_end(1, (2, 6), 20), None)

    assert line == "incomplete: pieces 3, 7 of 20  https://pictures.example/1.jpg"


def test_a_video_that_its_source_has_not_whole_is_told_so():
    line = ended_line(incomplete_end(1, (), 20), None)

    assert line.startswith("incomplete: segments that the source itself lacks  https://")


def test_a_page_is_told_with_what_gave_no_media():
    odd = [Skipped(where=f"line {number}", reason="not_http_url") for number in range(5)]

    assert page_line(a_page()) == "page     3: 2 media, 1 new post"
    assert page_line(a_page(*odd)).endswith(
        "without media: line 0 not_http_url, line 1 not_http_url, line 2 not_http_url and 2 more"
    )


def test_the_meters_are_one_line():
    assert meters_line(meters()) == (
        "10 s: found 120, got 80 (4.1 MB), known 3, failed 1; 8.0 files/s, 410 KB/s"
    )
    assert meters_line(meters(blocked_s=12.0)).endswith("a source rests for 12 s yet")


def test_incomplete_videos_are_counted_only_where_there_are_some():
    assert meters_line(meters(incomplete=2)).startswith(
        "10 s: found 120, got 80 (4.1 MB), known 3, failed 1, incomplete 2; "
    )


def test_each_video_under_way_has_a_line_beneath():
    stream = io.StringIO()
    videos = [VideoMeter("https://videos.example/\x1b.m3u8", 12, 1_200)]
    Lines(stream, lambda _end: None).tick(meters(videos=videos))

    assert stream.getvalue().splitlines()[1] == (
        "video    12 of 1,200 pieces  https://videos.example/\N{REPLACEMENT CHARACTER}.m3u8"
    )


def test_how_it_goes_is_told_every_ten_seconds_only():
    stream = io.StringIO()
    lines = Lines(stream, lambda _end: None)
    for elapsed_s in (0.0, 9.9, 10.1, 10.3, 20.0, 20.2):
        lines.tick(meters(elapsed_s))

    assert [line.split(":")[0] for line in stream.getvalue().splitlines()] == ["10 s", "20 s"]


def test_an_ended_media_is_written_at_once():
    stream = io.StringIO()
    Lines(stream, lambda end: f"library/{end.media[:2]}").ended(got_end(1))

    assert stream.getvalue().endswith("\n")
    assert " -> library/" in stream.getvalue()
