import contextlib
import os
import shlex
import socket
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pika
import pytest
import redis

from scripts.servers.process import Process, ServerTrouble, check_free, find_binary, free_port
from scripts.servers.rabbitmq import call_api
from scripts.servers.services import _USUAL, Services

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ROOT / "scripts" / "services"

pytestmark = pytest.mark.system


def services(command, folder):
    return subprocess.run(
        [sys.executable, SERVICES, command, "--dir", folder],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def addresses(folder):
    """What a shell knows that has read the env file."""
    told = subprocess.run(
        ["sh", "-c", f". {shlex.quote(str(folder / 'env'))} && env"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    ).stdout
    return dict(line.split("=", 1) for line in told.splitlines() if line.startswith("HEADRACE_"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rabbitmq_server):
    """Both services up, in a folder whose name a careless script would break at. (Asks for the
    suite's own RabbitMQ only in order to be skipped where there is none.)"""
    made = tmp_path_factory.mktemp("private services")
    with contextlib.ExitStack() as stack:
        for port in _USUAL.values():
            stack.enter_context(taken(port))
        started = services("up", made)
    assert started.returncode == 0, started.stderr
    yield made
    services("down", made)


@contextlib.contextmanager
def taken(port):
    """Somebody listens there: us, unless others do. What is started meanwhile has ports of its own,
    whatever else is started and stopped on this machine."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            listener.listen()
        yield


# --- the servers ---


def test_up_prints_where_things_are_and_no_password(folder):
    told = services("status", folder)

    assert told.returncode == 0
    assert "Console   http://127.0.0.1:" in told.stdout
    for address in addresses(folder).values():
        assert address.rpartition("@")[0].rpartition(":")[2] not in told.stdout


def test_ports_that_others_have_are_left_to_them(folder):
    assert Services(folder).redis.port != _USUAL["redis"]
    assert Services(folder).rabbitmq.ports.amqp != _USUAL["amqp"]


def test_the_env_file_is_its_owners_alone(folder):
    for name in ("env", "services.json", "rabbitmq/rabbitmq.conf", "redis/redis.conf"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_the_addresses_in_the_env_file_work(folder):
    known = addresses(folder)
    with redis.Redis.from_url(known["HEADRACE_REDIS_URL"]) as client:
        assert client.ping()
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
    connection = pika.BlockingConnection(pika.URLParameters(known["HEADRACE_RABBITMQ_URL"]))
    connection.close()


def test_without_the_password_nobody_gets_into_redis(folder):
    with (
        redis.Redis(host="127.0.0.1", port=Services(folder).redis.port) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


def test_without_the_password_nobody_gets_into_rabbitmq(folder):
    with pytest.raises(ServerTrouble, match="401"):
        call_api(Services(folder).rabbitmq.api.replace("headrace:", "guest:"), "GET", "overview")


def test_prometheus_may_read(folder):
    with urllib.request.urlopen(Services(folder).metrics, timeout=10) as answer:
        assert b"rabbitmq_" in answer.read()


def test_up_again_starts_nothing_anew(folder):
    before = Services(folder).pids()

    assert services("up", folder).returncode == 0
    assert Services(folder).pids() == before


def test_what_was_kept_is_there_after_down_and_up(folder):
    known = addresses(folder)
    with redis.Redis.from_url(known["HEADRACE_REDIS_URL"]) as client:
        client.set("kept", "yes")
    with pika.BlockingConnection(pika.URLParameters(known["HEADRACE_RABBITMQ_URL"])) as connection:
        connection.channel().queue_declare(
            "kept", durable=True, arguments={"x-queue-type": "quorum"}
        )
    down = services("down", folder)
    pids = Services(folder).pids()
    up = services("up", folder)

    assert (down.returncode, up.returncode) == (0, 0)
    assert "Stopped RabbitMQ and Redis" in down.stdout
    assert pids == {"RabbitMQ": None, "Redis": None}
    assert addresses(folder) == known
    with redis.Redis.from_url(known["HEADRACE_REDIS_URL"]) as client:
        assert client.get("kept") == b"yes"
    with pika.BlockingConnection(pika.URLParameters(known["HEADRACE_RABBITMQ_URL"])) as connection:
        connection.channel().queue_declare("kept", passive=True)


# --- without servers ---


def test_status_and_down_of_an_empty_folder_create_nothing(tmp_path):
    folder = tmp_path / "none"

    assert services("status", folder).returncode == 3
    assert services("down", folder).stdout == "Nothing was running.\n"
    assert not folder.exists()


def test_a_stranger_who_got_our_pid_is_left_alone(tmp_path):
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        pid_file = tmp_path / "pid"
        pid_file.write_text(f"{stranger.pid} 12345\n")

        assert Process("RabbitMQ", pid_file).stop() is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_ignores_the_polite_signal_is_ended_all_the_same(tmp_path):
    stubborn = Process("stubborn", tmp_path / "pid")
    log = tmp_path / "log"
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    stubborn.start([sys.executable, "-c", program + "; time.sleep(60)"], os.environ, log)
    while not log.read_text():
        assert stubborn.pid()

    assert stubborn.stop(grace_s=0.2) is True
    assert stubborn.pid() is None


def test_a_missing_server_is_told_with_the_package_to_install():
    with pytest.raises(ServerTrouble, match="install rabbitmq-server"):
        find_binary(["/no/such/rabbitmq-server"], "rabbitmq-server")


def test_a_port_that_another_process_has_is_told(rabbitmq_server):
    if rabbitmq_server.node is None:
        pytest.skip("needs a port that is taken")

    with pytest.raises(ServerTrouble, match="taken by another process"):
        check_free("RabbitMQ", [rabbitmq_server.node.ports.amqp])


def test_a_damaged_note_of_the_ports_is_told_with_the_way_out(tmp_path):
    (tmp_path / "services.json").write_text("{")
    told = services("status", tmp_path)

    assert told.returncode == 1
    assert "services.json can't be read" in told.stderr


def test_a_free_port_is_free():
    check_free("anything", [free_port()])


def test_a_port_is_given_once_and_never_one_that_the_system_may_give_to_others():
    given = [free_port() for _ in range(50)]

    assert len(set(given)) == 50
    assert not set(given) & set(_USUAL.values())
    assert max(given) < 32_768


def test_the_requeue_script_is_the_command():
    told = subprocess.run(
        [ROOT / "scripts" / "requeue_dead_letters.py", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0
    assert "headrace dead requeue" in told.stdout
