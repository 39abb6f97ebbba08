from __future__ import annotations

import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from core.app import App
from core.cli import produce as command
from core.cli.main import run
from core.errors import BrokerDown
from core.model.switch import Pause, Switch
from core.producer.producer import Producer
from core.settings import load
from tests.support.producing import GivenTime, World

PRESS = '[feeds.press]\nsource = "feed"\naddress = "https://press.example/rss"\n'
MILL = '[feeds.mill]\nsource = "feed"\naddress = "https://mill.example/rss"\n'
GONE = '[feeds.gone]\nsource = "feed"\naddress = "list-that-is-not-there.txt"\n'


@pytest.fixture(autouse=True)
def logging_of_before():
    root = logging.getLogger()
    loggers = [root, logging.getLogger("core.producer"), logging.getLogger("core.cli.produce")]
    before = [(logger, logger.level) for logger in loggers]
    handlers = root.handlers[:]
    yield
    root.handlers[:] = handlers
    for logger, level in before:
        logger.setLevel(level)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Its app is what the command gets, whatever the settings."""
    world = World(tmp_path, monkeypatch, {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "rabbitmq_app", world.app)
    return world


def written(text: str) -> Path:
    path = Path("headrace.toml")
    path.write_text(text, encoding="utf-8")
    return path


def produced(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command.produce, arguments, standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.return_value, result.stdout


def test_without_a_feed_it_says_where_one_goes(world: World, capsys: pytest.CaptureFixture[str]):
    written("")

    assert run(["produce"]) == 2
    assert "add [feeds.NAME] with source and address" in capsys.readouterr().err


def test_once_asks_each_feed_once_and_says_what_came_of_it(world: World):
    written(PRESS + MILL)

    status, out = produced("--once")

    assert status == 0
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [
        ["press", "asked", "walk"],
        ["mill", "asked", "walk"],
    ]
    assert len(world.publisher.published) == 2
    assert len(world.closed) == 1


def test_once_exits_with_1_when_a_feed_could_not_be_asked_and_asks_the_others(world: World):
    written(GONE + PRESS)

    status, out = produced("--once")

    assert status == 1
    assert "gone   failed  'list-that-is-not-there.txt' is neither an address" in out
    assert len(world.publisher.published) == 1


def test_once_a_feed_that_is_held_is_no_failure(world: World):
    app = world.app(load(written(PRESS)))
    pause = Pause(reason="for tonight", since=1.0)
    app.store.switches.change("feed", lambda _before: Switch(pause=pause))
    app.close()

    status, out = produced("--once")

    assert status == 0
    assert "press  held  source feed is paused: for tonight" in out


def test_once_says_what_was_asked_before_the_broker_went(world: World):
    written(PRESS + MILL)
    publish = world.publisher.publish

    def once(window: object) -> None:
        publish(window)
        world.publisher.down = BrokerDown("RabbitMQ is not there")

    world.publisher.publish = once
    result = CliRunner().invoke(command.produce, ["--once"], standalone_mode=False)

    assert isinstance(result.exception, BrokerDown)
    assert "press  asked" in result.stdout
    assert "mill" not in result.stdout


# --- SIGHUP ---


@pytest.fixture
def producer(world: World):
    app = world.app(load(written(PRESS)))
    producer = Producer(app, GivenTime())
    producer.start()
    yield producer
    producer.close()


def feeds(producer: Producer) -> set[str]:
    return {job.id for job in producer._scheduler.get_jobs()}


def test_a_good_file_is_taken_over(producer: Producer):
    command._take_over(producer, written(MILL))

    assert feeds(producer) == {"mill"}


@pytest.mark.parametrize(
    "bad",
    [
        "[feeds.mill\n",
        '[feeds.mill]\nsource = "none"\naddress = "x"\n',
        MILL + 'every = "soon"\n',
        MILL + 'cron = "* * * *"\n',
    ],
)
def test_a_bad_file_keeps_the_old_feeds_and_says_why(
    producer: Producer, caplog: pytest.LogCaptureFixture, bad: str
):
    command._take_over(producer, written(bad))

    assert feeds(producer) == {"press"}
    [line] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert line.message.startswith(
        "the settings are not taken over, the old ones stay: headrace.toml: "
    )


def test_a_file_that_is_gone_keeps_the_old_feeds(producer: Producer, caplog):
    command._take_over(producer, Path("gone.toml"))

    assert feeds(producer) == {"press"}
    assert "gone.toml: No such file" in caplog.text


def test_what_it_asks_is_told_without_v(world: World, monkeypatch: pytest.MonkeyPatch, capfd):
    written(PRESS)
    monkeypatch.setattr(command, "_produce", lambda app, _file: told(app))

    def told(_app: App) -> None:
        logging.getLogger("core.producer.producer").info("feed press: walk w1 begins")

    assert run(["produce"]) == 0
    assert "feed press: walk w1 begins" in capfd.readouterr().err
