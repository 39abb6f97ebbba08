from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import errors
from core.ledger.memory import MemoryLedger
from core.model.end import Failure
from core.model.source import SourceTerms
from core.model.task import DiscoverPayload, Kind
from core.ports import Copy
from core.queue.embedded import EmbeddedQueue
from core.steps.depths import open_depth, whole_depth
from core.steps.ends import dead_end, write_end
from tests.support.clock import FakeClock
from tests.support.reading import ADDRESS, Killed, Reading, copies_of, ending, pages_of, publish_of
from tests.support.tasks import a_discover_task, an_image_task


@pytest.fixture
def reading(tmp_path):
    reading = Reading(tmp_path)
    yield reading
    reading.store.close()


def test_every_page_is_read_once_and_the_walk_is_complete(reading):
    reading.serve_pages([["c", "b"], ["a"]])

    requests = reading.crawl()

    assert requests == [ADDRESS, f"{ADDRESS}?page=2"]
    assert reading.got() == {"a", "b", "c"}
    assert reading.endings() == ["last_page"]


def test_a_second_crawl_costs_one_request_and_gets_nothing_twice(reading):
    reading.serve_pages([["c", "b"], ["a"]])
    reading.crawl()

    requests = reading.crawl()

    assert requests == [ADDRESS]
    assert reading.endings() == ["last_page", "nothing_new"]


def test_only_what_is_new_is_published(reading):
    reading.serve_pages([["b"], ["a"]])
    reading.crawl()
    reading.serve_pages([["c", "b"], ["a"]])

    copies = copies_of(reading.step, reading.trigger())

    pictures = [copy.task.payload.url for copy in copies if copy.task.kind == "image"]
    assert pictures == ["https://pictures.example/c.jpg"]


def test_row_4_an_interrupted_first_run_loses_neither_the_older_nor_the_newer(reading):
    # given a first run that dies after its first page
    old = [f"{number:02}" for number in range(20, 0, -1)]
    reading.serve_pages([old[:5], old[5:10], old[10:15], old[15:]])
    reading.trigger()
    reading.work(tasks=1)
    reading.queue.clear()
    # when newer posts push the pages down, and the feed is crawled again
    everything = ["23", "22", "21", *old]
    reading.serve_pages([everything[start : start + 5] for start in range(0, 23, 5)])
    reading.crawl()

    assert reading.got() >= {"21", "22", "23"} | set(old[5:])
    assert reading.endings() == ["last_page", "nothing_new"]


def test_what_an_interrupted_walk_saw_does_not_end_the_next_one(reading):
    reading.serve_pages([["b"], ["a"]])
    task = reading.trigger()
    reading.perform(task)  # page 1 recorded, page 2 never read
    broken = dead_end(
        reading.queue.pop(), Failure(reason="gone", message="404", passing=False), reading.clock, ()
    )
    write_end(reading.store, broken)
    reading.queue.clear()

    reading.crawl()

    assert reading.got() == {"a", "b"}
    assert reading.endings() == ["gone", "last_page"]


def test_an_empty_page_with_a_next_one_does_not_end_a_walk(reading):
    reading.serve_pages([["b"], [], ["a"]])

    reading.crawl()

    assert reading.got() == {"a", "b"}


@pytest.mark.parametrize("died_before", [0, 1, 2])
def test_a_page_whose_worker_died_is_read_again_and_nothing_is_missing(reading, died_before):
    reading.serve_pages([["b"], ["a"]])
    task = reading.trigger()
    reading.queue.clear()
    with contextlib.suppress(Killed):
        reading.perform(task, actions=died_before)

    reading.queue.append(task)  # the redelivery
    reading.work()

    assert reading.got() == {"a", "b"}
    assert reading.endings() == ["last_page"]


def test_a_media_that_is_a_manifest_goes_to_the_manifest_lane(reading):
    reading.site[ADDRESS] = json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": "Mill pond",
            "items": [
                {
                    "id": "1",
                    "attachments": [
                        {"url": "https://media.example/v.m3u8", "mime_type": "video/mp4"},
                        {
                            "url": "https://media.example/live",
                            "mime_type": "application/vnd.apple.mpegurl",
                        },
                    ],
                }
            ],
        }
    ).encode()

    copies = copies_of(reading.step, reading.trigger())

    assert {copy.task.kind for copy in copies} == {Kind.MANIFEST}


def test_a_redelivered_page_is_not_asked_for_again(reading):
    reading.serve_pages([["b"], ["a"]])
    task = reading.trigger()
    reading.work(tasks=1)

    reading.perform(task)

    assert reading.asked == [ADDRESS]
    assert pages_of(reading.queue) == [2]  # its next page was confirmed before it was recorded


def test_a_redelivered_page_of_a_closed_walk_publishes_nothing(reading):
    reading.serve_pages([["b"], ["a"]])
    task = reading.trigger()
    reading.work()

    assert copies_of(reading.step, task) == []


def test_a_trigger_during_a_walk_is_followed_by_exactly_one_more(reading):
    reading.serve_pages([["b"], ["a"]])
    first = reading.trigger()
    reading.work(tasks=1)

    reading.trigger()
    reading.work()
    for _ in range(3):  # late copies
        reading.perform(first)
        reading.work()

    assert reading.endings() == ["last_page", "nothing_new"]


def test_a_walk_that_dies_between_its_end_and_the_one_that_follows_it_is_followed_all_the_same(
    reading,
):
    reading.serve_pages([["b"], ["a"]])
    reading.trigger()
    reading.work(tasks=1)
    last = reading.trigger()
    reading.queue.clear()
    with pytest.raises(Killed):
        reading.perform(last, actions=3)  # tasks, page, end; not what follows

    reading.perform(last)
    reading.work()

    assert reading.endings() == ["last_page", "nothing_new"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(before=st.integers(0, 9), loop=st.integers(1, 9))
def test_a_cursor_that_repeats_ends_the_walk_however_long_the_loop(tmp_path_factory, before, loop):
    reading = Reading(tmp_path_factory.mktemp("loop"))
    pages = before + loop
    for number in range(1, pages + 1):
        address = ADDRESS if number == 1 else f"{ADDRESS}?page={number}"
        following = number + 1 if number < pages else before + 1
        reading.serve(
            [f"k{number}"],
            address=address,
            following=ADDRESS if following == 1 else f"{ADDRESS}?page={following}",
        )

    requests = reading.crawl()

    assert reading.got() == {f"k{number}" for number in range(1, pages + 1)}
    assert reading.endings()[0] == ("leads_to_itself" if loop == 1 else "cursor_repeats")
    assert len(requests) <= 3 * pages + 3
    reading.store.close()


def test_a_media_that_two_posts_show_is_published_once(reading):
    reading.site[ADDRESS] = (
        b'{"version":"https://jsonfeed.org/version/1.1","items":['
        b'{"id":"1","attachments":[{"url":"https://p.example/x.jpg","mime_type":"image/jpeg"}]},'
        b'{"id":"2","attachments":[{"url":"https://p.example/x.jpg","mime_type":"image/jpeg"}]}]}'
    )

    copies = copies_of(reading.step, reading.trigger())

    assert [copy.task.payload.url for copy in copies] == ["https://p.example/x.jpg"]


def test_a_source_over_its_high_water_mark_gets_no_further_page(tmp_path):
    reading = Reading(tmp_path, high_water=10)
    reading.serve_pages([["a"]])
    reading.open_tasks = 11

    with pytest.raises(errors.Backpressure, match="passed its high-water mark of 10"):
        reading.perform(reading.trigger())

    assert reading.asked == []
    reading.store.close()


def test_a_held_page_waits_until_the_backlog_is_worked_off(tmp_path):
    reading = Reading(tmp_path, high_water=10, terms=SourceTerms("feed", 0.5, 1))
    reading.serve_pages([["a"], ["b"]])
    reading.open_tasks = 25

    with pytest.raises(errors.Backpressure) as held:
        reading.perform(reading.trigger())
    reading.open_tasks = 5  # the low-water mark: not below it yet
    with pytest.raises(errors.Backpressure):
        reading.perform(reading.queue[0])
    reading.open_tasks = 4
    reading.perform(reading.queue[0])

    assert held.value.delay_s == 40.0  # 20 tasks at 0.5/s
    assert reading.asked == [ADDRESS]
    reading.store.close()


def test_pages_that_wait_do_not_keep_each_other_waiting():
    clock = FakeClock()
    ledger = MemoryLedger(clock)
    queue = EmbeddedQueue({"feed": 4}, clock)
    for number in range(30):
        ready, held = (a_discover_task(walk=f"w{number}", page=page) for page in (1, 2))
        queue.publish([Copy(ready)])
        ledger.published(held.model_copy(update={"serial": 1}), delay_s=60.0, token=None)
    queue.publish([Copy(an_image_task())])

    assert open_depth(queue, ledger)("feed") == 1
    assert whole_depth(queue, ledger)("feed") == 61


def test_a_list_is_asked_for_once_and_read_on_from_what_the_walk_keeps(reading):
    address = "https://feeds.example/list.txt"
    lines = "\n".join(f"https://pictures.example/{number}.jpg" for number in range(1100))
    reading.site[address] = lines.encode()

    task, pictures = reading.trigger(address), 0
    while task.kind == "discover":
        copies = [copy.task for copy in publish_of(reading, task)]
        pictures += sum(copy.kind == "image" for copy in copies)
        task = copies[-1]

    assert reading.asked == [address]
    assert pictures == 1100


def test_lines_added_at_a_lists_end_are_found(reading):
    address = "https://feeds.example/list.txt"
    reading.site[address] = b"https://pictures.example/a.jpg\n"
    reading.crawl(address)
    reading.site[address] += b"https://pictures.example/b.jpg\n"

    reading.crawl(address)

    assert reading.got() == {"a", "b"}


def test_a_local_file_is_read_without_a_request(reading, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("https://pictures.example/a.jpg\n")

    requests = reading.crawl(str(path))

    assert requests == []
    assert reading.got() == {"a"}


def test_no_secret_parameter_is_in_a_message_or_a_page(tmp_path):
    terms = SourceTerms(
        "feed", 10.0, 20, secret_query={"key": "hush"}, secret_hosts=("feeds.example",)
    )
    reading = Reading(tmp_path, terms=terms)
    reading.serve(["a"], following=f"{ADDRESS}?page=2&key=hush")

    task = reading.trigger()
    copies = copies_of(reading.step, task)

    assert "hush" not in str([copy.task.to_message() for copy in copies])
    assert copies[-1].task.payload.cursor.endswith("?page=2")
    reading.store.close()


def test_a_walk_that_another_store_holds_is_named(reading):
    reading.serve_pages([["a"]])
    task = reading.trigger()
    payload = task.payload.model_copy(update={"walk": "20260101T000000000000"})

    with pytest.raises(errors.Malformed, match="is not in this store"):
        reading.perform(task.model_copy(update={"payload": payload}))


def test_media_that_a_person_requeued_is_published_in_its_new_generation(reading):
    reading.serve_pages([["a"]])
    task = reading.trigger()
    first = copies_of(reading.step, task)[0].task
    dead = dead_end(first, Failure(reason="gone", message="", passing=False), reading.clock, ())
    write_end(reading.store, dead)
    assert copies_of(reading.step, task) == []

    reading.store.media.reopen(first.payload.media, 1)

    assert copies_of(reading.step, task)[0].task.generation == 2
    assert isinstance(task.payload, DiscoverPayload)
    assert ending(first).generation == 1


def test_a_page_that_was_cut_is_asked_for_again_and_does_not_break_the_walk(reading):
    reading.serve_pages([["a"]])
    reading.site[ADDRESS] = reading.site[ADDRESS][:-30]

    with pytest.raises(errors.Truncated) as caught:
        reading.perform(reading.trigger())

    assert caught.value.reason == "truncated"


def test_a_page_whose_address_its_adapter_refuses_ends_its_walk_and_is_not_left_for_ever(reading):
    reading.serve_pages([["a"]])
    task = reading.trigger()
    other = {"adapter": "bilibili", "address": "https://www.bilibili.com/read/cv1"}
    payload = task.payload.model_copy(update=other)

    with pytest.raises(errors.Permanent, match="no address of Bilibili that can be read"):
        reading.perform(task.model_copy(update={"payload": payload}))
