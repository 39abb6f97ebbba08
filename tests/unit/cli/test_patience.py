import pytest
from dramatiq import Broker
from dramatiq.broker import MessageProxy

from core.cli.patience import PATIENCE_S, Patience
from core.errors import Gone, StorageDown
from core.queue.message import to_message
from tests.support.clock import FakeClock
from tests.support.tasks import an_image_task

FULL = StorageDown("cannot write store/x: No space left on device: free space on this disk")


class Ending:
    """Tasks that end, one after the other."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.patience = Patience(self.clock)

    def by(self, exception: BaseException | None, after_s: float = 0.0) -> None:
        self.clock.advance(after_s)
        message = MessageProxy(to_message(an_image_task()))
        self.patience.after_process_message(Broker(), message, exception=exception)


def test_a_store_that_stays_down_ends_the_run_with_what_to_do():
    ending = Ending()
    ending.by(FULL)
    ending.by(FULL, after_s=PATIENCE_S)

    with pytest.raises(StorageDown, match=r"free space on this disk .*the same command goes on"):
        ending.patience.check()


def test_a_moment_of_trouble_is_waited_out():
    ending = Ending()
    ending.by(FULL)
    ending.by(FULL, after_s=PATIENCE_S - 1)

    ending.patience.check()


@pytest.mark.parametrize("exception", [None, Gone("404")])
def test_whatever_ends_otherwise_renews_the_patience(exception: BaseException | None):
    ending = Ending()
    ending.by(FULL)
    ending.by(exception, after_s=PATIENCE_S - 1)
    ending.by(FULL)
    ending.clock.advance(PATIENCE_S - 1)

    ending.patience.check()
