from __future__ import annotations

import logging
from pathlib import Path

import pytest

from core.cli import submit as command
from core.cli.main import run
from core.errors import BrokerDown
from tests.support.producing import World

WHY = "RabbitMQ at amqp://mill.example/ can't be reached: refused"


@pytest.fixture
def world(alone: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(alone, monkeypatch, {})
    monkeypatch.setattr(command, "rabbitmq_app", world.app)
    return world


def test_what_the_log_has_told_of_rabbitmq_is_not_told_again(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys
):
    def waited(_window: object) -> None:
        logging.getLogger("core.queue.link").warning("%s", WHY)
        raise BrokerDown(WHY)

    monkeypatch.setattr(world.publisher, "publish", waited)

    assert run(["submit", "https://press.example/rss"]) == 1
    said = capsys.readouterr().err
    assert said.count(WHY) == 1
    assert "submit again once it is there" in said


def test_what_the_log_has_not_told_is_told_whole(world: World, capsys):
    world.publisher.down = BrokerDown(WHY)

    assert run(["submit", "https://press.example/rss"]) == 1
    assert capsys.readouterr().err == f"headrace: {WHY}\n"


def test_an_address_that_its_adapter_refuses_is_not_submitted(world: World, capsys):
    Path("headrace.toml").write_text(
        '[sources.keeper]\nadapter = "bilibili"\n[feeds.read]\nsource = "keeper"\n'
        'address = "https://www.bilibili.com/read/cv1"\n'
    )

    assert run(["submit", "read"]) == 2
    assert "feeds.read.address: https://www.bilibili.com/read/cv1" in capsys.readouterr().err
    assert world.publisher.published == []
