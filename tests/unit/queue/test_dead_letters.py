import pytest

from core.clock import SystemClock
from core.model.task import State
from core.queue import depth
from core.queue.dead_letters import Letter, Selection, browse, merged
from core.queue.publisher import RabbitPublisher
from tests.support.dead_letters import letter, listed, picture


@pytest.fixture
def publisher(vhost_url):
    with RabbitPublisher(vhost_url, ["feed", "press"], SystemClock()) as made:
        yield made


# --- pure ---


def a_letter(ident="a", *, generation=1, reason="gone"):
    task = picture(1, id=ident, generation=generation)
    return Letter(ident, "feed", {"reason": reason}, b"", task)


def test_lists_merge_by_task_and_the_later_letter_stands():
    both = merged([a_letter(reason="timeout"), a_letter("b"), a_letter(reason="gone")])

    assert [(one.id, one.reason) for one in both] == [("a", "gone"), ("b", "gone")]


def test_a_higher_generation_stands_wherever_it_lies():
    (one,) = merged([a_letter(generation=2), a_letter(generation=1)])

    assert one.generation == 2


@pytest.mark.parametrize(
    ("selection", "meant"),
    [
        (Selection(), True),
        (Selection(ids=frozenset({"a", "b"})), True),
        (Selection(ids=frozenset({"b"})), False),
        (Selection(reason="gone"), True),
        (Selection(reason="timeout"), False),
        (Selection(kind="image"), True),
        (Selection(kind="discover"), False),
        (Selection(ids=frozenset({"a"}), reason="timeout"), False),
    ],
)
def test_a_selection_holds_when_each_of_its_conditions_does(selection, meant):
    assert selection.matches(a_letter()) is meant


# --- on RabbitMQ ---


@pytest.mark.rabbitmq
def test_a_listed_letter_tells_why(publisher, vhost_url):
    publisher.bury(letter(picture(1)))
    (one,) = browse(vhost_url, "feed")

    assert (one.kind, one.reason, one.message) == ("image", "gone", "404 for the picture")
    assert one.subject == "https://a.example/1.jpg"
    assert one.task == picture(1, state=State.DEAD)


@pytest.mark.rabbitmq
def test_listing_fifty_times_changes_nothing(publisher, vhost_url):
    for number in range(12):
        publisher.bury(letter(picture(number)))
    first = listed(vhost_url)

    assert all(listed(vhost_url) == first for _ in range(50))
    assert depth.read(vhost_url, ["feed"]).dead == {"feed": 12}
    assert depth.read(vhost_url, ["feed"]).dropped == 0


@pytest.mark.rabbitmq
def test_a_listing_that_is_broken_off_changes_nothing(publisher, vhost_url):
    for number in range(5):
        publisher.bury(letter(picture(number)))
    before = listed(vhost_url)
    some = browse(vhost_url, "feed")
    next(some)
    next(some)
    some.close()

    assert listed(vhost_url) == before


@pytest.mark.rabbitmq
def test_a_listing_may_be_bounded(publisher, vhost_url):
    for number in range(5):
        publisher.bury(letter(picture(number)))

    assert listed(vhost_url, limit=2) == [picture(0).id, picture(1).id]


@pytest.mark.rabbitmq
def test_a_source_without_a_dead_queue_has_no_letters(vhost_url):
    assert listed(vhost_url, "nobody") == []
