import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.app import App
from core.cli.census import Census, Standing
from core.cli.report import JsonLine, MediaReport, Report, Totals
from core.errors import StorageDown
from core.model.end import EndState, Failure
from core.model.post import MediaKind, Skipped
from core.model.walk import WalkPage, WalkState
from tests.support.runs import (
    ADDRESS,
    RECORD,
    a_walk,
    an_app,
    close,
    dead_end,
    file_away,
    got_end,
    incomplete_end,
    payload,
    read_page,
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = an_app(tmp_path)
    yield app
    app.close()


@pytest.fixture
def census() -> Iterator[Census]:
    census = Census()
    yield census
    census.close()


def reports(app: App, census: Census, *, details: bool = True) -> list[MediaReport]:
    report = Report(app.store, app.settings, census, details=details)
    return list(report.media([RECORD]))


def test_what_the_run_got_is_done_and_what_was_there_is_known(app: App, census: Census):
    a_walk(app.store, 1, 2)
    for number in (1, 2):
        file_away(app.store, got_end(number, b"%d" % number), b"%d" % number)
    census.settle(payload(1).media, Standing.DONE, 1)

    assert [one.standing for one in reports(app, census)] == [Standing.DONE, Standing.KNOWN]


def test_a_file_is_told_by_its_digest_and_its_name(app: App, census: Census):
    a_walk(app.store, 1)
    end = got_end(1, b"bytes")
    file_away(app.store, end, b"bytes")

    [told] = reports(app, census)

    assert end.file
    assert told.sha256 == end.file.sha256
    assert told.path
    assert (app.store.root / told.path).read_bytes() == b"bytes"


def test_without_an_end_a_media_is_incomplete(app: App, census: Census):
    a_walk(app.store, 1)

    [told] = reports(app, census)

    assert (told.standing, told.reason) == (Standing.INCOMPLETE, "not_finished")


def test_a_dead_media_that_was_opened_again_is_incomplete(app: App, census: Census):
    a_walk(app.store, 1)
    app.store.media.end(dead_end(1))
    app.store.media.reopen(payload(1).media, 1)

    [told] = reports(app, census)

    assert told.standing is Standing.INCOMPLETE


def test_a_dead_and_a_refused_media_have_their_reasons(app: App, census: Census):
    a_walk(app.store, 1, 2)
    app.store.media.end(dead_end(1))
    refusal = Failure(reason="address_refused", message="no", passing=False, refused=True)
    app.store.media.end(dead_end(2, state=EndState.REFUSED, failure=refusal))

    told = reports(app, census, details=False)

    assert [(one.standing, one.reason) for one in told] == [
        (Standing.FAILED, "gone"),
        (Standing.REFUSED, "address_refused"),
    ]


def test_an_incomplete_video_is_reported_with_what_it_lacks(app: App, census: Census):
    a_walk(app.store, 1)
    app.store.media.end(incomplete_end(1, (2, 6), 20))
    stream = io.StringIO()
    [told] = reports(app, census)

    with JsonLine(stream, Totals()) as line:
        line.add(told)
    [entry] = json.loads(stream.getvalue())["media"]

    assert (told.standing, told.reason) == (Standing.INCOMPLETE, "incomplete")
    assert entry["state"] == "incomplete"
    assert entry["missing"] == [2, 6]


def test_a_media_on_several_pages_and_walks_is_told_once(app: App, census: Census):
    walk = a_walk(app.store, 1, 2, state=None)
    read_page(app.store, walk, 2, 2, 3)
    close(app.store, walk, WalkState.COMPLETE)
    a_walk(app.store, 1, 4)

    assert len(reports(app, census)) == 4


def test_a_feed_stands_as_its_newest_walk(app: App, census: Census):
    report = Report(app.store, app.settings, census)
    a_walk(app.store, 1, state=WalkState.BROKEN)
    [broken] = report.feeds([RECORD])
    a_walk(app.store, 1, state=WalkState.COMPLETE)
    [complete] = report.feeds([RECORD])
    a_walk(app.store, 1, state=None)
    [still_open] = report.feeds([RECORD])

    assert (broken.complete, complete.complete, still_open.complete) == (False, True, False)
    assert broken.address == ADDRESS


def test_a_feed_is_told_without_the_password_in_its_address(app: App, census: Census):
    opened = RECORD.model_copy(update={"address": "https://ada:pw@pictures.example/f?token=t"})

    [told] = Report(app.store, app.settings, census).feeds([opened])

    assert told.address == "https://pictures.example/f?token=***"


def test_the_json_is_one_line_whose_counts_add_up():
    stream, totals = io.StringIO(), Totals()
    with JsonLine(stream, totals) as line:
        for number, standing in enumerate(Standing):
            media = MediaReport(f"https://pictures.example/{number}\n", MediaKind.IMAGE, standing)
            totals.add(media)
            line.add(media)
    result = json.loads(stream.getvalue())

    assert stream.getvalue().count("\n") == 1
    assert [entry["state"] for entry in result["media"]] == [*Standing]
    assert result["found"] == 5
    assert result["failed"] == 2
    assert result["got"] + result["known"] + result["failed"] + result["incomplete"] == 5


def test_the_json_of_nothing_is_an_object_too():
    stream = io.StringIO()
    with JsonLine(stream, Totals()):
        pass

    assert json.loads(stream.getvalue())["media"] == []


def test_the_json_can_be_read_also_when_the_store_failed_meanwhile():
    stream = io.StringIO()

    def told_until_it_failed() -> None:
        with JsonLine(stream, Totals()) as line:
            line.add(MediaReport("u", MediaKind.IMAGE, Standing.DONE))
            raise StorageDown("the disk is gone")

    with pytest.raises(StorageDown):
        told_until_it_failed()

    assert [entry["url"] for entry in json.loads(stream.getvalue())["media"]] == ["u"]


def test_a_run_is_whole_only_if_nothing_is_missing():
    totals = Totals()
    for standing in (Standing.DONE, Standing.KNOWN):
        totals.add(MediaReport("u", MediaKind.IMAGE, standing))
    whole = totals.whole
    totals.add(MediaReport("u", MediaKind.IMAGE, Standing.INCOMPLETE))

    assert whole
    assert not totals.whole


def test_what_the_newest_reading_of_a_feed_lacks_is_told_of_all_its_pages(app: App, census: Census):
    a_walk(app.store, 1)
    walk = app.store.walks.open_or_resume(RECORD.feed, now=2_000_000.0)[0]
    fewer = Skipped(where="item 3", reason="incomplete: 9 of 18")
    for number in (1, 2):
        page = WalkPage(
            walk=walk.walk,
            feed=RECORD.feed,
            page=number,
            skipped=(Skipped(where="item 1", reason="no_media"), *[fewer] * 12),
            gone_at_source=number,
            read_at=1.0,
        )
        app.store.walks.end_page(page)

    [told] = Report(app.store, app.settings, census).feeds([RECORD])

    assert (told.fewer, told.gone_at_source, told.complete) == (24, 3, False)
    assert len(told.fewer_named) == 20
    assert told.fewer_named[0] == "page 1, item 3: incomplete: 9 of 18"
    assert told.fewer_named[-1] == "page 2, item 3: incomplete: 9 of 18"


def test_a_feed_that_was_never_read_lacks_nothing(app: App, census: Census):
    [told] = Report(app.store, app.settings, census).feeds([RECORD])

    assert (told.end, told.fewer, told.gone_at_source) == (None, 0, 0)


def test_what_was_got_is_counted_without_a_look_at_its_page_or_its_record(
    app: App, census: Census, monkeypatch: pytest.MonkeyPatch
):
    a_walk(app.store, *range(100))
    for number in range(100):
        census.settle(payload(number).media, Standing.DONE, 1)
    read: list[Path] = []
    monkeypatch.setattr(app.store._disk, "before", lambda _what, path: read.append(path))

    assert len(reports(app, census, details=False)) == 100
    assert len(read) < 10
