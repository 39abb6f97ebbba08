"""A video is joined when all of it is there, told incomplete when it can't be, looked after till
then."""

from __future__ import annotations

import dataclasses

import pytest

from core import errors
from core.model.end import EndState, Failure
from core.model.post import MediaKind
from core.model.source import SourceTerms
from core.model.task import FragmentPayload, Kind, Task, VerifyPayload, verify_task
from core.steps.run import Run
from core.steps.verify import VerifyStep
from tests.support.tasks import a_run
from tests.support.video_world import VideoWorld
from tests.support.videos import MEDIA, SOURCE, a_manifest_task, a_staged, body_of, whole

GONE = Failure(reason="gone", message="404", passing=False, http_status=404, attempts=1)
PASSING = Failure(reason="timeout", message="too slow", passing=True, attempts=5)


class Looking(VideoWorld):
    """A world whose video is planned; its pieces come by hand."""

    def planned(self, **fields) -> Looking:
        about = {name: fields.pop(name) for name in ("generation", "read_at") if name in fields}
        staged = a_staged(self.pieces, **fields)
        self.store.videos.put_plan(staged.model_copy(update=about))
        return self

    def have(self, *pieces: int) -> Looking:
        for piece in pieces:
            partial = self.store.staging.take(f"{MEDIA}-{piece:06d}", "t")
            partial.path.write_bytes(body_of(piece))
            self.store.videos.put(MEDIA, piece, partial.path)
        return self

    def lose(self, *pieces: int, failure: Failure = GONE, generation: int = 1) -> Looking:
        for piece in pieces:
            self.store.videos.bury(MEDIA, piece, generation, failure)
        return self

    @property
    def step(self) -> VerifyStep:
        return self.performer.steps[Kind.VERIFY]

    def task(self, *, looks: int = 0, generation: int = 1) -> Task:
        payload = VerifyPayload(media=MEDIA, round=looks)
        return verify_task(SOURCE, payload, generation=generation)

    def run(self, task: Task | None = None) -> list:
        return list(self.step(a_run(task or self.task(), "t1")))

    def look(self, task: Task | None = None) -> tuple[list, errors.PiecesMissing, Run]:
        """A run that finds pieces missing: what it asks for, its word, and the run."""
        run = a_run(task or self.task(), "t1")
        actions = []
        with pytest.raises(errors.PiecesMissing) as caught:
            actions.extend(self.step(run))
        return actions, caught.value, run


@pytest.fixture
def looking(tmp_path):
    world = Looking(tmp_path, 4)
    yield world
    world.store.close()


def kinds_of(actions) -> list[Kind]:
    return [copy.task.kind for action in actions for copy in action.copies]


def pieces_of(actions) -> list[int]:
    copies = [copy for action in actions for copy in action.copies]
    return [c.task.payload.piece for c in copies if isinstance(c.task.payload, FragmentPayload)]


# --- all there ---


def test_a_whole_video_becomes_an_object_and_a_record(looking):
    (end,) = looking.planned().have(0, 1, 2, 3).run()

    assert (end.state, end.kind, end.title) == (EndState.GOT, MediaKind.VIDEO, "The race")
    assert looking.store.objects.path(end.file.sha256).read_bytes() == whole(4)
    assert (end.file.extension, end.file.width, end.file.checked) == (".mp4", 160, "probe")
    assert (end.video.planned, len(end.video.pieces), end.video.missing) == (4, 4, ())
    assert (end.video.tool, end.video.duration_s) == ("a list", 8.0)


def test_signatures_are_struck_out_of_the_record(looking):
    staged = a_staged(4)
    signed = tuple(
        piece.model_copy(update={"url": piece.url + "?token=abc&key=hush"})
        for piece in staged.plan.pieces
    )
    plan = staged.plan.model_copy(
        update={"pieces": signed, "manifest_url": staged.plan.manifest_url + "?token=abc"}
    )
    looking.terms = SourceTerms(SOURCE, 10.0, 20, secret_query={"key": "hush"})
    looking.store.videos.put_plan(staged.model_copy(update={"plan": plan}))

    (end,) = looking.have(0, 1, 2, 3).run()

    assert "abc" not in end.model_dump_json()
    assert "hush" not in end.model_dump_json()
    assert end.video.pieces[0].url.endswith("0.ts?token=***&key=***")


def test_a_join_stops_when_the_process_ends_and_gives_the_task_back(looking):
    looking.planned().have(0, 1, 2, 3)
    looking.stop.set()

    with pytest.raises(errors.Released):
        looking.run()


def test_a_join_that_comes_to_nothing_leaves_no_copy_of_the_video(looking):
    def damaged(_staged, _piece_path, workspace, _check, _doubts):
        (workspace / "track0-000000").write_bytes(body_of(0))
        raise errors.DamagedPiece("piece 1 ends within a box", piece=1)

    looking.planned().have(0, 1, 2, 3)
    step = dataclasses.replace(looking.step, assembler=damaged)

    with pytest.raises(errors.DamagedPiece):
        list(step(a_run(looking.task(), "t1")))

    assert list(looking.store.root.glob("staging/*/*.join")) == []


def test_a_join_stops_when_another_holds_its_lease(looking):
    looking.planned().have(0, 1, 2, 3)
    run = a_run(looking.task(), "t1")
    run.lose()

    with pytest.raises(errors.LeaseLost):
        list(looking.step(run))


def test_a_video_without_a_plan_is_refused_by_name(looking):
    with pytest.raises(errors.Malformed) as caught:
        looking.run()

    assert caught.value.reason == "no_plan"


# --- some of it dead ---


def test_row_6_a_dead_piece_makes_no_file_and_is_named(looking):
    (end,) = looking.planned().have(0, 1, 3).lose(2).run()

    assert (end.state, end.file, end.video.missing) == (EndState.INCOMPLETE, None, (2,))
    assert end.failure.message.startswith("piece 3 of 4 can't be had (gone: 404)")
    assert looking.store.videos.has(MEDIA, 3)


def test_an_incomplete_video_is_passing_only_if_all_its_dead_are(looking):
    looking.planned().have(0, 1).lose(2, failure=PASSING)

    (passing,) = looking.lose(3, failure=PASSING).run()
    assert passing.failure.passing


def test_one_piece_that_is_gone_for_good_makes_the_video_so(looking):
    (end,) = looking.planned().have(0, 1).lose(2, failure=PASSING).lose(3).run()

    assert not end.failure.passing
    assert (end.failure.http_status, end.failure.attempts) == (404, 5)


@pytest.mark.parametrize(
    ("status", "read_at", "passing"),
    [
        (403, 1_000.0, True),
        (410, 1_000.0, True),
        (404, 1_000.0, False),  # not there, whatever the signature
        (403, 1_800.0, False),  # refused a minute after the manifest was read
        (403, None, False),  # and no fresh address was to be had
    ],
)
def test_a_piece_whose_address_expired_makes_the_video_one_to_try_again(
    looking, status, read_at, passing
):
    refused = GONE.model_copy(update={"http_status": status, "last_failure": 1_860.0})
    looking.planned(read_at=read_at).have(0, 1, 2).lose(3, failure=refused)

    (end,) = looking.run()

    assert end.failure.passing == passing
    assert ("may have expired" in end.failure.message) == passing


def test_a_piece_that_died_in_an_earlier_generation_is_missing_and_not_dead(looking):
    looking.planned(generation=2).have(0, 1, 3).lose(2, generation=1)

    actions, _, _ = looking.look(looking.task(generation=2))

    assert pieces_of(actions) == [2]


def test_addresses_of_an_earlier_generation_are_not_used_but_read_again(looking):
    looking.planned(generation=1).have(0, 1)

    actions, _, _ = looking.look(looking.task(generation=2))

    assert kinds_of(actions) == [Kind.MANIFEST]
    assert [copy.task.generation for action in actions for copy in action.copies] == [2]


@pytest.mark.parametrize("where", ["lane", "ledger"])
def test_a_manifest_that_is_about_to_be_read_again_is_not_published_twice(looking, where):
    looking.planned(generation=1).have(0, 1)
    manifest = a_manifest_task(generation=2)
    if where == "lane":
        looking.put(manifest)
    else:
        looking.ledger.begin(manifest, lease_s=30.0)

    actions, _, _ = looking.look(looking.task(generation=2))

    assert actions == []


def test_a_gap_is_a_hole_for_ever_and_named(looking):
    (end,) = looking.planned(gaps=(4, 5)).have(0, 1, 2, 3).run()

    assert (end.state, end.video.missing) == (EndState.INCOMPLETE, ())
    assert "segments 4, 5 (EXT-X-GAP)" in end.failure.message
    assert not end.failure.passing


def test_a_long_list_of_dead_pieces_is_cut_in_words_only(tmp_path):
    world = Looking(tmp_path, 50).planned().lose(*range(50))

    (end,) = world.run()
    world.store.close()

    assert end.failure.message.startswith("pieces 1, 2, 3")
    assert "and 30 more of 50" in end.failure.message
    assert len(end.video.missing) == 50


# --- not all there ---


def test_what_lies_in_the_lane_is_not_published_again(looking):
    looking.planned()
    looking.put(fragment(looking, 3))

    actions, _, _ = looking.look()

    assert actions == []


def test_what_the_ledger_knows_is_not_published_again(looking):
    looking.planned().have(0, 1)
    looking.ledger.begin(fragment(looking, 2), lease_s=30.0)

    actions, _, _ = looking.look()

    assert pieces_of(actions) == [3]


def fragment(looking: Looking, piece: int) -> Task:
    (publish,) = looking.tasks.fragments(looking.store.videos.plan(MEDIA), [piece], 1)
    return publish.copies[0].task


@pytest.mark.parametrize(("looks", "pause_s"), [(0, 900.0), (1, 3600.0), (2, 3600.0), (9, 3600.0)])
def test_the_pauses_between_looks_grow_to_an_hour(looking, looks, pause_s):
    _, error, run = looking.planned().look(looking.task(looks=looks))

    assert error.delay_s == pause_s
    assert run.task.payload.round == looks + 1


def test_waiting_for_pieces_is_no_age(looking):
    old = looking.task().model_copy(update={"waited_s": 600_000.0})

    _, _, run = looking.planned().look(old)

    assert run.task.waited_s == 0.0


def test_a_set_that_was_lost_is_taught_again(looking):
    looking.planned().have(0, 1, 2)

    looking.look()

    assert looking.ledger.join(MEDIA, 1, 3) == 4


def test_pieces_that_all_came_while_the_set_was_taught_are_joined_at_once(looking):
    looking.planned().have(0, 1, 2)
    join = looking.ledger.join

    def meanwhile(media, generation, piece):
        looking.have(3)
        join(media, generation, 3)  # the last fragment's own run, with a set that lacks others
        return join(media, generation, piece)

    looking.ledger.join = meanwhile
    looking.put(fragment(looking, 3))

    ((copy,),) = [action.copies for action in looking.run()]

    assert (copy.task.kind, copy.delay_s) == (Kind.VERIFY, 0.0)


def test_a_set_that_counts_a_piece_which_was_dropped_has_nobody_look_at_once(looking):
    looking.planned().have(0, 1, 2)
    for piece in range(4):
        looking.ledger.join(MEDIA, 1, piece)

    actions, error, _ = looking.look()

    assert kinds_of(actions) == [Kind.FRAGMENT]
    assert error.delay_s == 900.0
    assert looking.ledger.join(MEDIA, 1, 0) == 3
