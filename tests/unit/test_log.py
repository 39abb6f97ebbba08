import logging
from collections.abc import Callable, Iterator

import pytest

from core import log


@pytest.fixture
def stderr(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """What was written to stderr since the last call; the logging of before comes back."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield lambda: capsys.readouterr().err
    root.setLevel(level)
    root.handlers[:] = handlers


def fail() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("core.x").exception("it broke")


def test_a_record_is_one_line_of_time_level_and_message(stderr: Callable[[], str]):
    log.set_up()
    logging.getLogger("core.x").warning("first\nsecond\r\x1b[31m")

    line = stderr()
    assert line.count("\n") == 1
    assert line[19:].startswith(" WARNING first | second")
    assert "\x1b" not in line


def test_what_happens_is_told_with_debug_only(stderr: Callable[[], str]):
    log.set_up()
    logging.getLogger("core.x").info("quiet")
    log.set_up(debug=True)
    logging.getLogger("core.x").debug("loud")

    said = stderr()
    assert "quiet" not in said
    assert said.count("loud") == 1


def test_a_password_in_an_address_is_struck(stderr: Callable[[], str]):
    log.set_up()
    logging.getLogger("core.x").warning("no amqp://user:secret@host:5672/%2F nor redis://:s3@h/0")

    said = stderr()
    assert "secret" not in said
    assert "s3" not in said
    assert "amqp://host:5672/%2F" in said


def test_a_traceback_is_one_line_unless_it_is_asked_for(stderr: Callable[[], str]):
    log.set_up()
    fail()
    short = stderr()
    log.set_up(debug=True)
    fail()

    assert short.count("\n") == 1
    assert "ValueError: two | lines" in short
    assert "Traceback" in stderr()


def test_pika_is_quiet(stderr: Callable[[], str]):
    log.set_up(debug=True)
    logging.getLogger("pika.adapters").error("socket closed")

    assert stderr() == ""


def test_setting_up_twice_says_everything_once(stderr: Callable[[], str]):
    log.set_up()
    log.set_up()
    logging.getLogger("core.x").warning("once")

    assert stderr().count("once") == 1
