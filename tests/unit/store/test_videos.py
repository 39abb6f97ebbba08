"""What is kept of a video while it is got: one plan, whole pieces, marks of dead ones."""

from __future__ import annotations

import os
import shutil

import pytest

from core.errors import Refused, StorageDown
from core.model.end import Failure
from core.store.files import Disk
from core.store.store import Store
from core.store.videos import Standing
from tests.support.staged import GONE, a_piece, put, staged_video
from tests.support.store import MEDIA, POST, SOURCE, open_store

OTHER = Failure(reason="timeout", message="no answer", passing=True)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "s")
    opened.videos.put_plan(staged_video())
    yield opened
    opened.close()


@pytest.fixture
def shelf(tmp_path):
    return tmp_path / "s" / "staging" / "ab"


def names(shelf):
    return sorted(str(path.relative_to(shelf)) for path in shelf.rglob("*"))


# --- the plan ---


def test_a_plan_is_read_back_as_it_was_put(store: Store):
    assert store.videos.plan(MEDIA) == staged_video()


def test_a_media_without_a_plan_has_none(store: Store):
    assert store.videos.plan(POST) is None


def test_the_first_plan_stands(store: Store):
    assert not store.videos.put_plan(staged_video(sign="b"))
    assert store.videos.plan(MEDIA) == staged_video(sign="a")


def test_the_first_of_all_is_told_that_it_was(store: Store):
    assert store.videos.put_plan(staged_video(media=POST))


def test_the_plan_that_came_second_leaves_nothing(store: Store, shelf):
    store.videos.put_plan(staged_video(sign="b"))

    assert names(shelf) == [f"{MEDIA}.pieces", f"{MEDIA}.pieces/plan.json"]


def test_the_plan_is_its_owners_alone(store: Store, shelf):
    assert (shelf / f"{MEDIA}.pieces" / "plan.json").stat().st_mode & 0o777 == 0o600


def test_a_lone_surrogate_in_a_title_does_not_lose_the_plan(store: Store):
    staged = staged_video(media=POST)
    payload = staged.payload.model_copy(update={"title": "wheel \ud83d"})
    staged = staged.model_copy(update={"payload": payload})
    store.videos.put_plan(staged)

    assert store.videos.plan(POST) == staged


def test_a_damaged_plan_is_named(store: Store, shelf):
    (shelf / f"{MEDIA}.pieces" / "plan.json").write_bytes(b"{")

    with pytest.raises(StorageDown, match=r"plan\.json is damaged"):
        store.videos.plan(MEDIA)


def test_a_plan_of_a_newer_format_is_not_guessed_at(store: Store, shelf):
    (shelf / f"{MEDIA}.pieces" / "plan.json").write_bytes(b'{"format": 2}')

    with pytest.raises(StorageDown, match="format 2"):
        store.videos.plan(MEDIA)


def test_a_plan_of_18_000_pieces_is_kept_on_one_line(store: Store, shelf):
    staged = staged_video(18_000, media="ab" + "1" * 30)
    store.videos.put_plan(staged)
    kept = shelf / f"{staged.payload.media}.pieces" / "plan.json"

    assert store.videos.plan(staged.payload.media) == staged
    assert kept.stat().st_size < 6_000_000


# --- a manifest that was read again ---


def renewal(generation: int = 2, *, layout: int = 1, sign: str = "b"):
    changes = {"generation": generation, "layout": layout}
    return staged_video(sign=sign).model_copy(update=changes)


def test_a_later_reading_is_the_plan_from_there_on(store: Store):
    store.videos.renew_plan(renewal(2))
    store.videos.renew_plan(renewal(10, sign="c"))

    assert store.videos.plan(MEDIA) == renewal(10, sign="c")


def test_the_first_reading_of_a_generation_stands(store: Store):
    store.videos.renew_plan(renewal(2, sign="b"))
    store.videos.renew_plan(renewal(2, sign="c"))

    assert store.videos.plan(MEDIA) == renewal(2, sign="b")


def test_a_reading_of_an_older_generation_changes_nothing(store: Store):
    store.videos.renew_plan(renewal(3, sign="c"))
    store.videos.renew_plan(renewal(2, sign="b"))

    assert store.videos.plan(MEDIA) == renewal(3, sign="c")


def test_a_renewed_plan_is_its_owners_alone(store: Store, shelf):
    store.videos.renew_plan(renewal(2))

    mode = (shelf / f"{MEDIA}.pieces" / "plan.2.json").stat().st_mode
    assert mode & 0o777 == 0o600


def test_a_reading_that_comes_after_the_end_leaves_nothing(store: Store, shelf, tmp_path):
    store.videos.clear(MEDIA)
    store.videos.renew_plan(renewal(2))

    assert list(shelf.iterdir()) == []
    assert list((tmp_path / "s" / "staging" / "unnamed").iterdir()) == []


def test_pieces_of_two_layouts_stand_beside_each_other(store: Store):
    put(store, 1, b"of the first")
    store.videos.put(MEDIA, 1, a_piece(store, 1, b"of the third"), 3)

    assert store.videos.path(MEDIA, 1).read_bytes() == b"of the first"
    assert store.videos.path(MEDIA, 1, 3).read_bytes() == b"of the third"


def test_only_pieces_of_the_layout_asked_for_are_present(store: Store):
    put(store, 0, b"of the first")
    store.videos.put(MEDIA, 1, a_piece(store, 1, b"of the third"), 3)
    store.videos.renew_plan(renewal(3, layout=3))

    assert store.videos.standing(MEDIA, 3, 1, 1).present == {0}
    assert store.videos.standing(MEDIA, 3, 1, 2).present == set()
    assert store.videos.standing_of(renewal(3, layout=3), 3).present == {1}


def test_other_layouts_are_dropped_and_nothing_else(store: Store, shelf):
    put(store, 0, b"of the first")
    store.videos.put(MEDIA, 1, a_piece(store, 1, b"of the third"), 3)
    store.videos.bury(MEDIA, 2, 1, GONE)
    store.videos.renew_plan(renewal(3, layout=3))

    assert store.videos.drop_others(MEDIA, 3) == 1
    assert sorted(path.name for path in (shelf / f"{MEDIA}.pieces").iterdir()) == [
        "000001.3",
        "000002.1.dead.json",
        "plan.3.json",
        "plan.json",
    ]


def test_a_piece_of_a_later_layout_is_discarded_alone(store: Store):
    put(store, 1, b"of the first")
    store.videos.put(MEDIA, 1, a_piece(store, 1, b"of the third"), 3)
    store.videos.discard(MEDIA, 1, 3)

    assert (store.videos.has(MEDIA, 1), store.videos.has(MEDIA, 1, 3)) == (True, False)


# --- pieces ---


def test_a_piece_that_was_put_is_there(store: Store):
    put(store, 1, b"segment 1")

    assert store.videos.has(MEDIA, 1)
    assert store.videos.path(MEDIA, 1).read_bytes() == b"segment 1"


def test_a_piece_that_was_not_put_is_not_there(store: Store):
    assert not store.videos.has(MEDIA, 1)


def test_a_piece_is_read_only(store: Store):
    put(store, 1, b"segment 1")

    assert store.videos.path(MEDIA, 1).stat().st_mode & 0o777 == 0o444


def test_the_first_of_two_pieces_stands(store: Store):
    put(store, 1, b"segment 1", token="t1")
    put(store, 1, b"another answer", token="t2")

    assert store.videos.path(MEDIA, 1).read_bytes() == b"segment 1"


def test_putting_a_piece_clears_everybodys_partials_of_it(store: Store, shelf):
    a_piece(store, 1, b"seg", token="left")
    a_piece(store, 1, b"segm", token="handed")
    store.staging.take(f"{MEDIA}-000001", "handed").hand_over()
    put(store, 1, b"segment 1")

    assert names(shelf) == [
        f"{MEDIA}.pieces",
        f"{MEDIA}.pieces/000001",
        f"{MEDIA}.pieces/plan.json",
    ]


def test_putting_a_piece_leaves_partials_of_others_alone(store: Store):
    other = a_piece(store, 2, b"segment 2")
    media = store.staging.take(MEDIA, "t1")
    media.restart()
    put(store, 1, b"segment 1")

    assert other.exists()
    assert media.path.exists()


def test_putting_again_what_is_there_is_harmless(store: Store):
    partial = a_piece(store, 1, b"segment 1")
    store.videos.put(MEDIA, 1, partial)
    store.videos.put(MEDIA, 1, partial)

    assert store.videos.path(MEDIA, 1).read_bytes() == b"segment 1"


def test_a_partial_that_is_closed_after_the_put_leaves_nothing(store: Store, shelf):
    partial = store.staging.take(f"{MEDIA}-000001", "t1")
    partial.restart()
    store.videos.put(MEDIA, 1, partial.path)
    partial.close()

    assert [name for name in names(shelf) if "pieces" not in name] == []


def test_a_partial_that_is_gone_without_a_piece_is_trouble(store: Store):
    partial = a_piece(store, 1, b"segment 1")
    partial.unlink()

    with pytest.raises(StorageDown, match="fetched again"):
        store.videos.put(MEDIA, 1, partial)


def test_a_zombies_late_bytes_do_not_reach_the_piece(store: Store):
    zombie = a_piece(store, 1, b"seg", token="t1")
    with zombie.open("ab") as late:
        put(store, 1, b"segment 1", token="t2")
        late.write(b"LATE")

    assert store.videos.path(MEDIA, 1).read_bytes() == b"segment 1"


def test_a_partial_that_still_shares_its_bytes_with_a_piece_is_not_written_to(store: Store):
    """The process died between the piece's name and the partial's end."""
    partial = a_piece(store, 1, b"segment 1")
    os.link(partial, store.videos.path(MEDIA, 1))
    with store.staging.take(f"{MEDIA}-000001", "t2").path.open("ab") as file:
        file.write(b"!")

    assert store.videos.path(MEDIA, 1).read_bytes() == b"segment 1"


# --- marks ---


def test_a_buried_piece_tells_why(store: Store):
    store.videos.bury(MEDIA, 2, 1, GONE)

    assert store.videos.buried(MEDIA, 2, 1) == GONE


def test_a_piece_that_was_not_buried_tells_nothing(store: Store):
    assert store.videos.buried(MEDIA, 2, 1) is None


def test_a_mark_of_an_older_generation_does_not_count(store: Store):
    store.videos.bury(MEDIA, 2, 1, GONE)

    assert store.videos.buried(MEDIA, 2, 2) is None
    assert store.videos.standing(MEDIA, 3, 2).missing == (0, 1, 2)


def test_the_first_mark_of_a_generation_stands(store: Store):
    store.videos.bury(MEDIA, 2, 1, GONE)
    store.videos.bury(MEDIA, 2, 1, OTHER)

    assert store.videos.buried(MEDIA, 2, 1) == GONE


def test_each_generation_has_its_own_mark(store: Store):
    store.videos.bury(MEDIA, 2, 1, GONE)
    store.videos.bury(MEDIA, 2, 2, OTHER)

    assert store.videos.buried(MEDIA, 2, 2) == OTHER


# --- doubts ---


def test_the_sizes_of_doubted_pieces_are_told_by_piece_and_layout(store: Store):
    for piece, size_bytes, layout in [(0, 10, 1), (0, 12, 1), (2, 9, 1), (2, 9, 1), (0, 7, 3)]:
        store.videos.doubt(MEDIA, piece, size_bytes, layout)

    assert store.videos.doubted(MEDIA) == {0: {10, 12}, 2: {9}}
    assert store.videos.doubted(MEDIA, 3) == {0: {7}}
    assert store.videos.doubted(POST) == {}


def test_a_doubt_is_no_piece(store: Store):
    store.videos.doubt(MEDIA, 0, 10)

    assert store.videos.standing(MEDIA, 3, 1).missing == (0, 1, 2)
    assert store.videos.drop_others(MEDIA, 2) == 0


# --- how far it is ---


def test_each_piece_is_present_dead_or_missing(store: Store):
    put(store, 0, b"segment 0")
    store.videos.bury(MEDIA, 2, 1, GONE)

    assert store.videos.standing(MEDIA, 4, 1) == Standing(frozenset({0}), {2: GONE}, (1, 3))


def test_a_piece_that_came_in_spite_of_its_mark_is_present(store: Store):
    store.videos.bury(MEDIA, 2, 1, GONE)
    put(store, 2, b"segment 2")

    assert store.videos.standing(MEDIA, 3, 1) == Standing(frozenset({2}), {}, (0, 1))


def test_of_a_video_that_nothing_is_staged_of_all_is_missing(store: Store):
    assert store.videos.standing(POST, 2, 1) == Standing(frozenset(), {}, (0, 1))


def test_a_number_past_the_plan_does_not_count(store: Store):
    put(store, 7, b"segment 7")
    store.videos.bury(MEDIA, 8, 1, GONE)

    assert store.videos.standing(MEDIA, 1, 1) == Standing(frozenset(), {}, (0,))


def test_a_piece_of_more_than_six_digits_is_told(store: Store):
    put(store, 1_000_000, b"segment")

    assert store.videos.standing(MEDIA, 1_000_001, 1).present == {1_000_000}


def test_the_standing_takes_one_look_at_the_folder(store: Store, monkeypatch):
    for piece in range(3):
        put(store, piece, b"segment")
    seen = []
    monkeypatch.setattr(Disk, "before", lambda _disk, what, path: seen.append((what, path.name)))
    store.videos.standing(MEDIA, 3, 1)

    assert seen == [("list", f"{MEDIA}.pieces")]


# --- the join ---


def test_a_workspace_is_an_empty_folder_on_the_stores_disk(store: Store):
    folder = store.videos.workspace(MEDIA, "t1")

    assert list(folder.iterdir()) == []
    assert folder.stat().st_dev == store.root.stat().st_dev


def test_a_workspace_that_is_taken_again_is_empty_again(store: Store):
    (store.videos.workspace(MEDIA, "t1") / "joined.ts").write_bytes(b"half")

    assert list(store.videos.workspace(MEDIA, "t1").iterdir()) == []


def test_a_workspace_of_a_run_that_may_be_alive_is_left_alone(store: Store):
    living = store.videos.workspace(MEDIA, "t1") / "joined.ts"
    living.write_bytes(b"half")
    store.videos.workspace(MEDIA, "t2")

    assert living.exists()


def test_a_workspace_in_which_nothing_happens_goes_with_the_next(store: Store):
    left = store.videos.workspace(MEDIA, "t1")
    (left / "joined.ts").write_bytes(b"half")
    for path in (left / "joined.ts", left):
        os.utime(path, (999_000.0, 999_000.0))  # the store's clock stands at 1,000,000
    store.videos.workspace(MEDIA, "t2")

    assert not left.exists()


def test_the_workspace_of_another_video_is_left_alone(store: Store):
    other = store.videos.workspace(MEDIA[:-1] + "1", "t1")
    os.utime(other, (0.0, 0.0))
    store.videos.workspace(MEDIA, "t1")

    assert other.exists()


@pytest.mark.parametrize("token", ["../../escape", "a.b", "x" * 200])
def test_a_token_of_any_form_stays_on_its_shelf(store: Store, shelf, token):
    assert store.videos.workspace(MEDIA, token).parent == shelf


# --- clearing ---


def filled(store: Store) -> None:
    put(store, 0, b"segment 0")
    store.videos.bury(MEDIA, 1, 1, GONE)
    a_piece(store, 2, b"seg")
    store.staging.take(MEDIA, "t1").restart()
    (store.videos.workspace(MEDIA, "t1") / "tracks").mkdir()
    (store.videos.workspace(MEDIA, "t2") / "joined.ts").write_bytes(b"half")


@pytest.mark.parametrize("part", ["videos", "staging"])
def test_clearing_leaves_nothing_of_the_video(store: Store, shelf, part):
    filled(store)
    getattr(store, part).clear(MEDIA)

    assert list(shelf.iterdir()) == []


def test_clearing_twice_is_harmless(store: Store, shelf):
    store.videos.clear(MEDIA)
    store.videos.clear(MEDIA)

    assert list(shelf.iterdir()) == []


def test_clearing_leaves_other_videos_alone(store: Store):
    neighbour = MEDIA[:-1] + "1"
    store.videos.put_plan(staged_video(media=neighbour))
    put(store, 0, b"segment 0", media=neighbour)
    partial = a_piece(store, 1, b"seg", media=neighbour)
    store.videos.clear(MEDIA)

    assert store.videos.has(neighbour, 0)
    assert partial.exists()


def test_clearing_follows_no_link(store: Store, tmp_path, shelf):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_bytes(b"")
    (shelf / f"{MEDIA}.x.join").symlink_to(outside)
    (store.videos.workspace(MEDIA, "t1") / "link").symlink_to(outside)
    store.videos.clear(MEDIA)

    assert (outside / "keep").exists()
    assert list(shelf.iterdir()) == []


def test_what_a_crash_left_of_clearing_is_found_and_cleared(store: Store, shelf):
    put(store, 0, b"segment 0")
    (shelf / f"{MEDIA}.pieces").rename(shelf / f"{MEDIA}.w-1.gone")

    assert list(store.staging.media()) == [MEDIA]
    store.staging.clear(MEDIA)
    assert list(shelf.iterdir()) == []


def test_a_partial_of_a_piece_is_told_as_its_videos(store: Store):
    a_piece(store, 2, b"seg")
    shutil.rmtree(store.videos.path(MEDIA, 0).parent)

    assert list(store.staging.media()) == [MEDIA]


def test_a_partial_that_is_committed_does_not_take_the_video_with_it(store: Store):
    put(store, 0, b"segment 0")
    partial = store.staging.take(MEDIA, "t1")
    partial.restart()
    partial.remove()

    assert store.videos.has(MEDIA, 0)
    assert store.videos.plan(MEDIA) is not None


# --- what comes late ---


def test_a_piece_that_comes_after_the_end_is_dropped(store: Store, shelf):
    partial = a_piece(store, 0, b"segment 0")
    shutil.rmtree(shelf / f"{MEDIA}.pieces")
    store.videos.put(MEDIA, 0, partial)

    assert list(shelf.iterdir()) == []


def test_a_mark_that_comes_after_the_end_is_dropped(store: Store, shelf, tmp_path):
    store.videos.clear(MEDIA)
    store.videos.bury(MEDIA, 0, 1, GONE)

    assert list(shelf.iterdir()) == []
    assert list((tmp_path / "s" / "staging" / "unnamed").iterdir()) == []


def test_a_piece_that_comes_in_the_midst_of_clearing_is_not_left(store: Store, shelf, monkeypatch):
    partial = a_piece(store, 0, b"segment 0")
    place = store._disk.place

    def too_late(file, path, *, make_folder=True):
        store.videos.clear(MEDIA)
        partial.write_bytes(b"segment 0")
        return place(file, path, make_folder=make_folder)

    monkeypatch.setattr(store._disk, "place", too_late)
    store.videos.put(MEDIA, 0, partial)

    assert list(shelf.iterdir()) == []


def test_a_mark_of_a_video_that_never_was_planned_is_dropped(store: Store, tmp_path):
    store.videos.bury(POST, 0, 1, GONE)

    assert store.videos.buried(POST, 0, 1) is None
    assert not (tmp_path / "s" / "staging" / POST[:2]).exists()


def test_a_store_out_of_reach_drops_nothing(store: Store, shelf):
    partial = a_piece(store, 0, b"segment 0")
    shutil.rmtree(shelf.parent)

    with pytest.raises(StorageDown):
        store.videos.put(MEDIA, 0, partial)
    with pytest.raises(StorageDown):
        store.videos.bury(MEDIA, 0, 1, GONE)


@pytest.mark.parametrize("media", ["../x", "", "a/b", "a.b"])
def test_a_media_id_that_is_a_path_is_refused(store: Store, media):
    with pytest.raises(Refused):
        store.videos.path(media, 0)
    with pytest.raises(Refused):
        store.videos.workspace(media, "t1")
    with pytest.raises(Refused):
        store.videos.clear(media)


def test_the_source_of_a_staged_video_is_kept(store: Store):
    staged = store.videos.plan(MEDIA)

    assert staged is not None
    assert staged.source == SOURCE


# --- letting in ---


def test_one_at_a_time_lets_a_video_of_a_source_in(store: Store, tmp_path):
    beside = open_store(tmp_path / "s")
    with store.videos.admission(SOURCE) as first:
        with beside.videos.admission(SOURCE) as second, store.videos.admission(SOURCE) as third:
            pass
        with beside.videos.admission("press") as another:
            pass
    with beside.videos.admission(SOURCE) as later:
        pass
    beside.close()

    assert (first, second, third, another, later) == (True, False, False, True, True)


def test_no_name_leads_out_of_the_store(store: Store):
    with pytest.raises(Refused), store.videos.admission("../lock"):
        pass
