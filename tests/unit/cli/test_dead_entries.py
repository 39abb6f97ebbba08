"""What a store says of media that ended without their file."""

from pathlib import Path

import pytest

from core.cli.dead_entries import Selected, ends
from core.settings import Settings
from core.steps.ends import write_end
from core.store.media import Media
from tests.support.runs import an_app, dead_end, got_end


def test_a_few_dead_among_many_got_are_found_without_reading_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    app = an_app(tmp_path)
    for number in range(200):
        write_end(app.store, got_end(number))
    for number in (300, 301):
        write_end(app.store, dead_end(number))
    app.close()
    read: list[str] = []
    newest = Media.newest
    monkeypatch.setattr(
        Media, "newest", lambda media, ident: read.append(ident) or newest(media, ident)
    )
    chosen = Selected(Settings(store=tmp_path), (), (), None)

    found = list(ends(Settings(store=tmp_path), chosen, 1000))

    assert [one.reason for one in found] == ["gone", "gone"]
    assert len(read) == 2


def test_what_was_got_in_a_later_generation_is_not_dead(tmp_path: Path):
    app = an_app(tmp_path)
    write_end(app.store, dead_end(1))
    app.store.media.reopen(dead_end(1).media, 1)
    write_end(app.store, got_end(1, generation=2))
    app.close()
    chosen = Selected(Settings(store=tmp_path), (), (), None)

    assert list(ends(Settings(store=tmp_path), chosen, 1000)) == []
