"""Dead letters for tests: made, listed, requeued, and publishers that crash on the way."""

from __future__ import annotations

from core.errors import BrokerDown
from core.model.end import Failure
from core.model.states import Event, move
from core.model.task import State
from core.ports import DeadLetter
from core.queue.connection import opened
from core.queue.dead_letters import Selection, browse, requeue
from core.queue.message import decode
from tests.support.tasks import an_image_task

GONE = Failure(reason="gone", message="404 for the picture", passing=False, http_status=404)
EVERYTHING = Selection()
SLOW = Failure(reason="timeout", message="no answer", passing=True)


def picture(number, **fields):
    return an_image_task(f"https://a.example/{number}.jpg", **fields)


def letter(task, failure=GONE):
    return DeadLetter(task.model_copy(update={"state": State.DEAD}), failure)


def reopened(task):
    """What a store does at a requeue, without the store."""
    return move(task.model_copy(update={"state": State.DEAD}), Event.REQUEUED, now=0.0)


def listed(url, source="feed", limit=None):
    return [one.id for one in browse(url, source, limit)]


def on_the_lane(url, lane="feed.image"):
    with opened(url, "test") as connection:
        channel = connection.channel()
        bodies = []
        while (got := channel.basic_get(lane, auto_ack=True))[0]:
            bodies.append(got[2])
        return [decode(body)[1] for body in bodies]


def again(url, publisher, selection=EVERYTHING, **more):
    return requeue(url, "feed", selection, **({"reopen": reopened, "publisher": publisher} | more))


class CrashAfterConfirm:
    """A publisher whose process ends between the confirm and what comes next."""

    def __init__(self, real):
        self._real = real

    def publish(self, window):
        self._real.publish(window)
        raise BrokerDown("crashed here")

    def bury(self, letter):
        raise AssertionError("nothing is buried here")


class CrashBeforePublish(CrashAfterConfirm):
    def publish(self, window):
        raise BrokerDown("crashed here")
