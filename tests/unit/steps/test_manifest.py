"""A manifest becomes a durable plan and its fragments, with as few requests as it takes."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest

from core import errors
from core.fetch.fetcher import Fetcher
from core.manifests import SelectionPolicy
from core.model.end import Failure
from core.model.source import SourceTerms
from core.model.task import FragmentPayload, Kind, Task, VerifyPayload, media_task
from core.settings import FetchSettings
from core.steps.actions import Publish
from core.steps.manifest import HELD_BACK_S, ManifestStep
from core.steps.video_tasks import WATCHDOG_S, WINDOW, VideoTasks
from tests.support import dash
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.fetching import LOOPBACK
from tests.support.site import Site, answer
from tests.support.store import open_store
from tests.support.tasks import a_run
from tests.support.videos import MEDIA, SOURCE, QuickDisk, a_manifest_payload, a_plan

GONE = Failure(reason="gone", message="404", passing=False)
CLEAR = """#EXTM3U
#EXT-X-TARGETDURATION:2
#EXTINF:2,
0.ts
#EXTINF:2,
1.ts
#EXT-X-ENDLIST
"""
ENCRYPTED = """#EXTM3U
#EXT-X-TARGETDURATION:2
#EXT-X-KEY:METHOD=AES-128,URI="one.key"
#EXTINF:2,
0.ts
#EXTINF:2,
1.ts
#EXT-X-KEY:METHOD=AES-128,URI="two.key"
#EXTINF:2,
2.ts
#EXT-X-KEY:METHOD=AES-128,URI="one.key",IV=0x0000000000000000000000000000002a
#EXTINF:2,
3.ts
#EXT-X-ENDLIST
"""
MASTER = """#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",DEFAULT=YES,URI="sound.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=9000,RESOLUTION=1920x1080,AUDIO="a"
large.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=3000,RESOLUTION=640x360,AUDIO="a"
small.m3u8
"""


class Reading:
    """One store, one site, one step."""

    def __init__(self, root: Path, site: Site) -> None:
        self.site = site
        self.store = open_store(root, disk=QuickDisk)
        self.clock = FakeClock()
        self.terms = SourceTerms(SOURCE, 10.0, 20)
        self.policy = SelectionPolicy()
        self.open_fragments = 0
        fetcher = Fetcher(
            FetchSettings(allow_networks=LOOPBACK, min_free_bytes=0),
            OpenBudget(),
            self.clock,
            threading.Event(),
            self.store.staging.free_bytes,
        )
        self.step = ManifestStep(
            store=self.store,
            fetcher=fetcher,
            terms=lambda _source: self.terms,
            policy=lambda _source: self.policy,
            open_fragments=lambda _source: self.open_fragments,
            high_water=10,
            tasks=VideoTasks(5, self.clock),
        )

    def serve(self, **bodies: str) -> None:
        for name, body in bodies.items():
            self.site.serve(f"/{name}.m3u8", body.encode())

    def task(self, path: str = "/index.m3u8", **fields: object) -> Task:
        payload = a_manifest_payload(url=self.site.url(path), **fields)
        return media_task(SOURCE, payload, generation=1)

    def run(self, task: Task | None = None, *, token: str = "t1") -> list[Publish]:
        return list(self.step(a_run(task or self.task(), token)))

    def asked(self) -> list[str]:
        return [seen.path for seen in self.site.requests]


@pytest.fixture
def reading(tmp_path):
    with Site() as site:
        reading = Reading(tmp_path, site)
        yield reading
        reading.store.close()


def fragments(actions: list[Publish]) -> list[FragmentPayload]:
    copies = [copy for action in actions for copy in action.copies]
    return [c.task.payload for c in copies if isinstance(c.task.payload, FragmentPayload)]


def test_each_piece_gets_a_task_that_names_all_it_needs(reading):
    reading.serve(index=CLEAR)

    found = fragments(reading.run(reading.task(referer="https://post.example/1")))

    assert [(one.piece, one.pieces, one.url) for one in found] == [
        (0, 2, reading.site.url("/0.ts")),
        (1, 2, reading.site.url("/1.ts")),
    ]
    assert found[0].referer == "https://post.example/1"


def test_a_byte_range_goes_into_the_task(reading):
    lines = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n#EXT-X-BYTERANGE:100@50\nall.ts\n"
    reading.serve(index=lines + "#EXT-X-ENDLIST\n")

    (found,) = fragments(reading.run())

    assert (found.start, found.length) == (50, 100)


def test_the_plan_is_durable_before_anything_is_published(reading):
    reading.serve(index=CLEAR)

    next(iter(reading.step(a_run(reading.task(), "t1"))))

    assert len(reading.store.videos.plan(MEDIA).plan.pieces) == 2


def test_the_watchdog_is_published_before_the_fragments_and_rests(reading):
    reading.serve(index=CLEAR)

    ((watchdog,), *_) = [action.copies for action in reading.run()]

    assert isinstance(watchdog.task.payload, VerifyPayload)
    assert watchdog.delay_s == WATCHDOG_S[0]
    assert watchdog.task.not_before == reading.clock.now() + WATCHDOG_S[0]


def test_many_fragments_are_published_in_windows(reading):
    lines = "".join(f"#EXTINF:1,\n{n}.ts\n" for n in range(WINDOW + 1))
    reading.serve(index=f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n{lines}#EXT-X-ENDLIST\n")

    assert [len(action.copies) for action in reading.run()] == [1, WINDOW, 1]


def test_a_rerun_asks_for_nothing_and_leaves_out_what_is_there(reading):
    reading.serve(index=CLEAR)
    reading.run()
    piece = reading.store.staging.take(f"{MEDIA}-000000", "t9")
    piece.path.write_bytes(b"here")
    reading.store.videos.put(MEDIA, 0, piece.path)

    found = fragments(reading.run(token="t2"))

    assert [one.piece for one in found] == [1]
    assert reading.asked() == ["/index.m3u8"]


def test_what_died_in_this_generation_is_left_out_and_in_the_next_is_not(reading):
    reading.serve(index=CLEAR)
    reading.run()
    reading.store.videos.bury(MEDIA, 1, 1, GONE)

    later = reading.task().model_copy(update={"generation": 2})

    assert [one.piece for one in fragments(reading.run())] == [0]
    assert [one.piece for one in fragments(reading.run(later))] == [0, 1]


def again(reading: Reading, generation: int = 2) -> Task:
    return reading.task().model_copy(update={"generation": generation})


def test_a_later_generation_reads_the_manifest_once_more_and_no_oftener(reading):
    reading.serve(index=CLEAR)
    reading.run()

    reading.run(again(reading))
    reading.run(again(reading), token="t2")

    assert reading.asked() == ["/index.m3u8"] * 2


def test_a_later_generation_publishes_what_is_missing_at_its_new_addresses(reading):
    reading.serve(index=CLEAR)
    reading.run()
    piece = reading.store.staging.take(f"{MEDIA}-000000", "t9")
    piece.path.write_bytes(b"here")
    reading.store.videos.put(MEDIA, 0, piece.path)
    reading.serve(index=CLEAR.replace(".ts", ".ts?sign=b"))

    found = fragments(reading.run(again(reading)))

    assert [(one.piece, one.url) for one in found] == [(1, reading.site.url("/1.ts?sign=b"))]


def test_a_later_generation_asks_for_the_keys_anew(reading):
    reading.serve(index=ENCRYPTED)
    for key in ("one.key", "two.key"):
        reading.site.serve(f"/{key}", bytes(range(16)))
    reading.run()
    reading.serve(index=ENCRYPTED.replace(".key", ".key?b"))

    reading.run(again(reading))

    staged = reading.store.videos.plan(MEDIA)
    assert staged.layout == 1
    assert set(staged.keys) == {reading.site.url(f"/{one}.key?b") for one in ("one", "two")}


def test_a_later_generation_of_which_nothing_is_missing_asks_for_nothing(reading):
    reading.serve(index=CLEAR)
    reading.run()
    for number in range(2):
        piece = reading.store.staging.take(f"{MEDIA}-{number:06d}", "t9")
        piece.path.write_bytes(b"here")
        reading.store.videos.put(MEDIA, number, piece.path)

    ((copy,),) = [action.copies for action in reading.run(again(reading))]

    assert copy.task.kind is Kind.VERIFY
    assert reading.asked() == ["/index.m3u8"]


def test_a_renewed_plan_waits_too_while_its_source_has_too_many_fragments_open(reading):
    reading.serve(index=CLEAR)
    reading.run()
    reading.open_fragments = 11

    with pytest.raises(errors.Backpressure):
        reading.run(again(reading))


def test_the_first_durable_reading_of_a_generation_wins(reading):
    reading.serve(index=CLEAR)
    reading.run()
    renew_plan = reading.store.videos.renew_plan

    def slower(staged):
        renew_plan(staged.model_copy(update={"plan": a_plan(3), "layout": 2}))
        renew_plan(staged)

    reading.store.videos.renew_plan = slower

    found = fragments(reading.run(again(reading)))

    assert [(one.pieces, one.layout) for one in found] == [(3, 2)] * 3


def test_whoever_reads_for_a_generation_that_is_over_lets_it_be(reading):
    reading.serve(index=CLEAR)
    reading.run()
    renew_plan = reading.store.videos.renew_plan

    def overtaken(staged):
        renew_plan(staged.model_copy(update={"generation": 3}))
        renew_plan(staged)

    reading.store.videos.renew_plan = overtaken

    with pytest.raises(errors.LeaseLost):
        reading.run(again(reading))


@pytest.mark.parametrize("body", [None, "<html>gone</html>", CLEAR.replace("#EXT-X-ENDLIST", "")])
def test_a_manifest_that_is_no_plan_any_more_leaves_the_one_that_is_kept(reading, body):
    reading.serve(index=CLEAR)
    reading.run()
    if body is None:
        reading.site.on("/index.m3u8", answer(410))
    else:
        reading.serve(index=body)

    found = fragments(reading.run(again(reading)))
    reading.run(again(reading), token="t2")

    assert [one.url for one in found] == [reading.site.url(f"/{n}.ts") for n in range(2)]
    assert len(reading.asked()) == 2
    assert reading.store.videos.plan(MEDIA).read_at is None


def test_a_video_of_which_nothing_is_missing_is_joined_at_once(reading):
    reading.serve(index=CLEAR)
    reading.run()
    for piece in range(2):
        reading.store.videos.bury(MEDIA, piece, 1, GONE)

    ((copy,),) = [action.copies for action in reading.run()]

    assert (copy.task.kind, copy.delay_s) == (Kind.VERIFY, 0.0)


def test_the_first_durable_plan_wins(reading):
    reading.serve(index=CLEAR)
    put_plan = reading.store.videos.put_plan

    def slower(staged):
        first = staged.model_copy(update={"plan": a_plan(3)})
        put_plan(first)
        return put_plan(staged)

    reading.store.videos.put_plan = slower

    assert [one.pieces for one in fragments(reading.run())] == [3, 3, 3]


def test_each_key_is_asked_for_once_and_kept_with_the_plan(reading):
    reading.serve(index=ENCRYPTED)
    reading.site.serve("/one.key", bytes(range(16)))
    reading.site.serve("/two.key", bytes(range(16, 32)))

    reading.run()

    assert reading.asked() == ["/index.m3u8", "/one.key", "/two.key"]
    assert reading.store.videos.plan(MEDIA).keys == {
        reading.site.url("/one.key"): bytes(range(16)).hex(),
        reading.site.url("/two.key"): bytes(range(16, 32)).hex(),
    }


@pytest.mark.parametrize("body", [b"k" * 15, b"k" * 17, b"<html>log in</html>"])
def test_a_key_of_another_length_is_refused_by_name(reading, body):
    reading.serve(index=ENCRYPTED)
    reading.site.serve("/one.key", body)

    with pytest.raises(errors.Malformed) as caught:
        reading.run()

    assert caught.value.reason == "bad_key"
    assert reading.store.videos.plan(MEDIA) is None


def test_only_the_chosen_playlists_are_asked_for(reading):
    reading.serve(index=MASTER, small=CLEAR, sound=CLEAR.replace(".ts", ".aac"))
    reading.policy = SelectionPolicy(max_height=400)

    reading.run()

    assert reading.asked() == ["/index.m3u8", "/small.m3u8", "/sound.m3u8"]


def test_row_14_the_sound_of_the_chosen_variant_is_fetched_too(reading):
    reading.serve(index=MASTER, large=CLEAR, sound=CLEAR.replace(".ts", ".aac"))

    found = fragments(reading.run())

    assert [one.url.rpartition("/")[2] for one in found] == ["0.ts", "1.ts", "0.aac", "1.aac"]


def test_a_manifest_waits_while_its_source_has_too_many_fragments_open(reading):
    reading.open_fragments = 11

    with pytest.raises(errors.Backpressure) as caught:
        reading.run()

    assert caught.value.delay_s == HELD_BACK_S
    assert reading.asked() == []


def test_a_planned_video_waits_too_and_its_manifest_is_not_asked_for_again(reading):
    reading.serve(index=CLEAR)
    reading.run()
    reading.open_fragments = 11

    with pytest.raises(errors.Backpressure):
        reading.run()

    assert reading.asked() == ["/index.m3u8"]


def test_a_video_that_only_wants_its_join_does_not_wait(reading):
    reading.serve(index=CLEAR)
    reading.run()
    for piece in range(2):
        reading.store.videos.bury(MEDIA, piece, 1, GONE)
    reading.open_fragments = 11

    assert len(reading.run()) == 1


def test_a_dash_manifest_is_read_too(reading):
    reading.site.serve("/index.m3u8", dash.one(dash.template(duration=4)))

    found = fragments(reading.run())

    assert [one.url for one in found] == [reading.site.url(f"/{n}.m4s") for n in (1, 2)]


def test_row_18_a_manifests_query_goes_with_its_pieces_if_the_source_says_so(reading):
    reading.terms = SourceTerms(SOURCE, 10.0, 20, inherit_query=True)
    reading.serve(index=CLEAR)
    reading.site.redirect("/index.m3u8", "/there/index.m3u8?token=T")
    reading.site.serve("/there/index.m3u8", CLEAR.encode())

    found = fragments(reading.run())

    assert [one.url for one in found] == [
        reading.site.url(f"/there/{n}.ts?token=T") for n in (0, 1)
    ]


def test_secrets_go_out_with_the_request_and_into_no_task_and_no_plan(reading):
    reading.terms = SourceTerms(
        SOURCE, 10.0, 20, secret_query={"key": "hush"}, secret_hosts=("127.0.0.1",)
    )
    reading.serve(index=CLEAR)
    reading.site.serve("/index.m3u8?key=hush", CLEAR.encode())

    actions = reading.run()

    assert reading.asked() == ["/index.m3u8?key=hush"]
    assert "hush" not in reading.store.videos.plan(MEDIA).model_dump_json()
    assert not [one for one in fragments(actions) if "hush" in one.url]


def test_pieces_that_nobody_here_can_join_are_not_published(reading):
    reading.serve(index=CLEAR)

    def insist():
        raise errors.Transient("there is no ffmpeg", reason="no_ffmpeg")

    step = dataclasses.replace(reading.step, on_plan=lambda: insist)
    published = []

    with pytest.raises(errors.Transient):
        published.extend(step(a_run(reading.task(), "t1")))

    assert published == []
    assert reading.store.videos.plan(MEDIA) is not None


def test_a_lost_lease_ends_the_reading_before_the_next_request(reading):
    reading.serve(index=MASTER, large=CLEAR, sound=CLEAR)
    run = a_run(reading.task(), "t1")
    run.lose()

    with pytest.raises(errors.LeaseLost):
        list(reading.step(run))

    assert reading.asked() == []


# --- our own secrets, put into a manifest by its source ---

TOKEN = "hush-and-nobody-hears"
ECHOED = f"""#EXTM3U
#EXT-X-TARGETDURATION:2
#EXT-X-KEY:METHOD=AES-128,URI="one.key?auth={TOKEN}"
#EXTINF:2,
0.ts?t={TOKEN}&n=1
#EXT-X-ENDLIST
"""


def signed_in(reading: Reading) -> None:
    reading.terms = SourceTerms(
        SOURCE,
        10.0,
        20,
        secret_headers={"Authorization": f"Bearer {TOKEN}"},
        secret_hosts=("127.0.0.1",),
    )


def test_a_header_token_that_a_manifest_repeats_is_in_no_plan_and_no_task(reading):
    signed_in(reading)
    reading.serve(index=ECHOED)
    reading.site.serve("/one.key", b"k" * 16)

    published = reading.run()

    files = [path for path in reading.store.root.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in repr(published)
    [fragment] = fragments(published)
    assert fragment.url.endswith("/0.ts?n=1")
    [seen] = reading.site.asked("/one.key")
    assert seen.headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_header_token_that_a_manifest_repeats_is_in_no_error(reading):
    signed_in(reading)
    reading.serve(index=CLEAR.replace("0.ts", f"ftp://other.example/{TOKEN}"))

    with pytest.raises(errors.HeadraceError) as caught:
        reading.run()

    assert TOKEN not in str(caught.value)
