"""A delivery and the thread's current one."""

from __future__ import annotations

import pytest

from core.queue.delivery import CurrentDelivery, Delivery, NoDelivery, Origin, current
from core.queue.lanes import HEADRACE
from core.queue.message import to_message
from tests.support.queue import FakeOwner, a_delivery
from tests.support.tasks import an_image_task


def test_fact_3_a_delivery_bears_the_queues_own_name() -> None:
    message = to_message(an_image_task()).copy(queue_name="elsewhere")
    origin = Origin("feed.image", 1, FakeOwner(), received_at=0.0)

    assert Delivery(message, an_image_task(), origin).queue_name == HEADRACE


def test_a_new_delivery_carries_no_outcome() -> None:
    assert a_delivery().outcome is None


def test_two_deliveries_of_one_message_are_two() -> None:
    task = an_image_task()
    first, second = a_delivery(task), a_delivery(task)

    assert first != second
    assert len({first, second}) == 2


def test_a_delivery_in_a_log_shows_no_address() -> None:
    delivery = a_delivery(an_image_task("https://pictures.example/1.jpg?signature=abc"))

    assert "signature" not in f"{delivery} {delivery!r}"


def test_a_grant_is_told_to_the_consumer() -> None:
    owner = FakeOwner()
    delivery = a_delivery(consumer=owner)
    delivery.granted(prompt=False)

    assert owner.grants == [delivery]
    assert not delivery.prompt


def test_the_current_delivery_is_the_one_in_process() -> None:
    middleware, delivery = CurrentDelivery(), a_delivery()
    middleware.before_process_message(None, delivery)

    assert current() is delivery


@pytest.mark.parametrize("ending", ["after_process_message", "after_skip_message"])
def test_no_delivery_is_current_after_its_end(ending: str) -> None:
    middleware, delivery = CurrentDelivery(), a_delivery()
    middleware.before_process_message(None, delivery)
    getattr(middleware, ending)(None, delivery)

    with pytest.raises(NoDelivery):
        current()
