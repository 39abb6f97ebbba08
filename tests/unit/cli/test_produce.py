from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner

from core.app import App
from core.cli import main
from core.cli import produce as command
from core.cli.hang_ups import HANG_UPS
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


def test_once_a_walk_that_nobody_has_read_is_said_to_be_open(world: World):
    written(PRESS)
    produced("--once")

    _, out = produced("--once")

    assert "is still open at page 1" in out


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
    assert "mill   failed  not asked: broker_down" in result.stdout


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


def test_a_file_without_feeds_keeps_the_old_ones(producer: Producer, caplog):
    command._take_over(producer, written("[sources.mill]\n"))

    assert feeds(producer) == {"press"}
    assert "the old ones stay: there is no feed to ask" in caplog.text


def test_a_file_with_another_store_keeps_the_old_one(producer: Producer, caplog, tmp_path: Path):
    command._take_over(producer, written(f'store = "{tmp_path}/other"\n{MILL}'))

    assert feeds(producer) == {"press"}
    assert "store changed, which takes a restart" in caplog.text


@pytest.fixture
def hang_ups():
    before = signal.getsignal(signal.SIGHUP)
    yield HANG_UPS
    HANG_UPS.take()
    signal.signal(signal.SIGHUP, before)


def test_sighup_is_noted_before_the_command_is_imported(hang_ups, monkeypatch):
    found: list[object] = []

    def imported(_module: str) -> object:
        found.append(signal.getsignal(signal.SIGHUP))
        return command

    monkeypatch.setattr(main, "_imported", imported)
    main.headrace.get_command(Context(main.headrace), "produce")

    assert found == [hang_ups._note]


def test_a_command_that_does_not_reload_ends_at_sighup(hang_ups):
    before = signal.getsignal(signal.SIGHUP)
    main.headrace.get_command(Context(main.headrace), "status")

    assert signal.getsignal(signal.SIGHUP) is before


def test_a_sighup_that_came_while_it_started_is_acted_on(
    world: World, hang_ups, monkeypatch: pytest.MonkeyPatch
):
    app = world.app(load(written(PRESS)))
    taken: list[Path | None] = []

    def take_over(_producer: Producer, file: Path | None) -> None:
        taken.append(file)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(command, "_take_over", take_over)
    monkeypatch.setattr(command, "scheduler", GivenTime)
    hang_ups.listen()
    os.kill(os.getpid(), signal.SIGHUP)
    command._produce(app, Path("headrace.toml"))

    assert taken == [Path("headrace.toml")]
    assert not hang_ups.take()


def test_the_file_that_was_found_at_the_start_is_the_one_that_is_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    written(PRESS)
    asked: list[Path | None] = []
    monkeypatch.setattr(command, "_produce", lambda _app, file: asked.append(file))

    assert run(["produce"]) == 0
    assert asked == [Path("headrace.toml")]


def test_what_it_asks_is_told_without_v(world: World, monkeypatch: pytest.MonkeyPatch, capfd):
    written(PRESS)
    monkeypatch.setattr(command, "_produce", lambda app, _file: told(app))

    def told(_app: App) -> None:
        logging.getLogger("core.producer.producer").info("feed press: walk w1 begins")

    assert run(["produce"]) == 0
    assert "feed press: walk w1 begins" in capfd.readouterr().err


REFUSED = (
    '[sources.keeper]\nadapter = "bilibili"\n[feeds.read]\nsource = "keeper"\n'
    'address = "https://www.bilibili.com/read/cv1"\n'
)


@pytest.mark.parametrize("once", [True, False])
def test_an_address_that_its_adapter_refuses_is_told_before_any_feed_is_asked(
    world: World, once: bool, capsys
):
    written(PRESS + REFUSED)

    assert run(["produce", *(["--once"] if once else [])]) == 2
    assert "feeds.read.address: https://www.bilibili.com/read/cv1" in capsys.readouterr().err
    assert world.publisher.published == []
