import io

from rich.console import Console

from core.cli.bars import drawn
from core.cli.videos import VideoMeter
from core.model.post import Rendition
from core.steps.run import Run
from tests.support.tasks import a_fragment_task, an_image_payload, an_image_task
from tests.unit.cli.test_lines import meters


def shown(**changes: object) -> list[str]:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(drawn(meters(**changes)))
    return console.file.getvalue().splitlines()


def a_run(bytes_read: int, *, size_bytes: int | None = None) -> Run:
    rendition = Rendition(url="https://pictures.example/film.mp4", size_bytes=size_bytes)
    payload = an_image_payload("https://pictures.example/film.mp4?sig=1", rendition=rendition)
    task = an_image_task(payload=payload)
    return Run(task, token="t", renew_until=1e9, granted=print, bytes_read=bytes_read)


def test_the_run_has_a_bar_and_its_numbers():
    whole, numbers = shown()

    assert "84 of 120 media" in whole
    assert numbers.startswith("10 s: found 120, got 80")


def test_a_large_file_has_a_bar_of_its_own_and_no_query():
    lines = shown(running=[a_run(34_000_000, size_bytes=68_000_000)])

    assert "34.0 MB of 68.0 MB  https://pictures.example/film.mp4" in lines[-1]
    assert "sig" not in lines[-1]


def test_a_file_of_unknown_size_tells_what_came():
    assert "34.0 MB  https" in shown(running=[a_run(34_000_000)])[-1]


def test_small_files_and_the_seventh_large_one_have_none():
    running = [a_run(10_000), *(a_run(2_000_000 + number) for number in range(9))]

    assert len(shown(running=running)) == 2 + 6


def test_a_video_in_pieces_has_a_bar_and_its_pieces_have_none():
    fragment = Run(
        a_fragment_task(), token="t", renew_until=1e9, granted=print, bytes_read=5_000_000
    )
    videos = [VideoMeter("https://videos.example/talk.m3u8", 12, 200)]

    lines = shown(videos=videos, running=[fragment])

    assert len(lines) == 3
    assert lines[-1].endswith("12 of 200 pieces  https://videos.example/talk.m3u8")


def test_an_incomplete_video_has_ended_for_the_bar():
    assert "85 of 120 media" in shown(incomplete=1)[0]


def test_nothing_found_yet_is_drawn_too():
    assert "0 of 0 media" in shown(found=0, got=0, known=0, failed=0)[0]
