"""What goes wrong with Redis, told in our words."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import redis

from core.errors import Misconfigured, SharedStateDown
from core.shared_state.server import OfServer, RedisServer
from tests.support.queue import eventually
from tests.support.redis import RedisProcess, running_redis

pytestmark = pytest.mark.redis

COUNT = "return redis.call('INCR', KEYS[1])"


@pytest.fixture
def server(redis_url: str) -> Iterator[RedisServer]:
    server = RedisServer(redis_url)
    yield server
    server.close()


def test_a_server_is_not_connected_to_before_it_is_asked() -> None:
    server = RedisServer("redis://127.0.0.1:1/0")

    server.script(COUNT)


def test_a_script_answers(server: RedisServer) -> None:
    assert server.run(server.script(COUNT), ["a"], []) == 1


def test_the_clock_is_the_server_s_in_microseconds(server: RedisServer, redis_url: str) -> None:
    told = server.run(server.script("return now()"), [], [])
    with redis.Redis.from_url(redis_url) as client:
        seconds, _ = client.time()

    assert abs(told / 1_000_000 - seconds) < 60


def test_numbers_keep_their_sixteen_digits_on_the_way_into_redis(server: RedisServer) -> None:
    keep = server.script("redis.call('SET', KEYS[1], 1764434809123457)")
    server.run(keep, ["a"], [])

    assert server.run(server.script("return redis.call('GET', KEYS[1])"), ["a"], []) == (
        b"1764434809123457"
    )


def test_a_script_that_the_server_forgot_is_told_again(server: RedisServer, redis_url: str) -> None:
    count = server.script(COUNT)
    server.run(count, ["a"], [])
    with redis.Redis.from_url(redis_url) as client:
        client.script_flush()

    assert server.run(count, ["a"], []) == 2


def test_threads_have_connections_of_their_own(server: RedisServer) -> None:
    whoami = server.script("return redis.call('ECHO', ARGV[1])")
    heard: dict[str, bytes] = {}

    def ask(name: str) -> None:
        heard[name] = server.run(whoami, [], [name])

    threads = [threading.Thread(target=ask, args=(f"t{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert heard == {f"t{number}": f"t{number}".encode() for number in range(8)}


def test_connections_of_dead_threads_are_closed(server: RedisServer, redis_url: str) -> None:
    plain = server.script("return 1")
    for _ in range(20):
        thread = threading.Thread(target=server.run, args=(plain, [], []))
        thread.start()
        thread.join()

    with redis.Redis.from_url(redis_url) as client:
        eventually(lambda: len(client.client_list(_type="normal")) <= 4, "they are closed")


def test_a_refused_connection_is_shared_state_down() -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = RedisServer(f"redis://127.0.0.1:{port}/3")

        with pytest.raises(SharedStateDown, match=rf"127\.0\.0\.1:{port}/3: no connection"):
            server.run(server.script(COUNT), ["a"], [])


def test_a_server_that_does_not_answer_is_shared_state_down() -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        server = RedisServer(f"redis://127.0.0.1:{mute.getsockname()[1]}/0?socket_timeout=0.1")

        with pytest.raises(SharedStateDown, match="does not answer in time"):
            server.run(server.script(COUNT), ["a"], [])
        server.close()


def test_a_server_that_comes_back_is_found_again(own_redis: RedisProcess) -> None:
    server = RedisServer(own_redis.url)
    count = server.script(COUNT)
    server.run(count, ["a"], [])
    own_redis.kill()
    with pytest.raises(SharedStateDown):
        server.run(count, ["a"], [])
    own_redis.start()

    assert server.run(count, ["a"], []) == 1
    server.close()


def test_a_restart_between_two_calls_is_not_even_noticed(own_redis: RedisProcess) -> None:
    server = RedisServer(own_redis.url)
    count = server.script(COUNT)
    server.run(count, ["a"], [])
    own_redis.kill()
    own_redis.start()

    assert server.run(count, ["a"], []) == 1
    server.close()


def test_a_full_memory_says_what_to_do() -> None:
    with running_redis("--maxmemory", "1") as full:
        server = RedisServer(full.url)

        with pytest.raises(SharedStateDown, match="its memory is full"):
            server.run(server.script(COUNT), ["a"], [])
        server.close()


def test_a_wrong_password_says_what_to_correct_and_never_what_it_was() -> None:
    with running_redis("--requirepass", "right") as locked:
        url = locked.url.replace("redis://", "redis://:wr0ng@")
        server = RedisServer(url)

        with pytest.raises(SharedStateDown, match=r"correct redis\.url") as caught:
            server.run(server.script(COUNT), ["a"], [])
        server.close()

    assert "wr0ng" not in str(caught.value)
    assert f"127.0.0.1:{locked.port}/0" in str(caught.value)


def test_a_missing_password_says_what_to_correct() -> None:
    with running_redis("--requirepass", "right") as locked:
        server = RedisServer(locked.url)

        with pytest.raises(SharedStateDown, match=r"correct redis\.url"):
            server.run(server.script(COUNT), ["a"], [])
        server.close()


def test_a_server_that_refuses_a_command_is_shared_state_down(server: RedisServer) -> None:
    with pytest.raises(SharedStateDown, match="refused a command"):
        server.run(server.script("return redis.call('NOSUCH')"), [], [])


def test_a_connection_serves_on_after_a_refused_command(server: RedisServer) -> None:
    with pytest.raises(SharedStateDown):
        server.run(server.script("return redis.call('NOSUCH')"), [], [])

    assert server.run(server.script(COUNT), ["a"], []) == 1


def test_an_address_that_is_none_names_the_setting() -> None:
    with pytest.raises(Misconfigured, match=r"redis\.url"):
        RedisServer("http://127.0.0.1/")


def test_a_unix_socket_is_an_address_too() -> None:
    assert RedisServer("unix:///run/redis.sock?db=2").address == "/run/redis.sock/2"


# --- which start of the server it is ---

ECHO = "return ARGV[1]"


def run_id(server: RedisServer) -> bytes:
    told = server.run(server.script(ECHO), [], [OfServer.RUN_ID])
    assert isinstance(told, bytes)
    return told


def test_a_script_is_told_which_start_of_the_server_it_runs_on(
    server: RedisServer, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert run_id(server).decode() == client.info("server")["run_id"]


def test_processes_and_threads_are_told_the_same(server: RedisServer, redis_url: str) -> None:
    told = [run_id(server), run_id(RedisServer(redis_url))]
    thread = threading.Thread(target=lambda: told.append(run_id(server)))
    thread.start()
    thread.join()

    assert len(set(told)) == 1


def test_it_is_asked_once_a_connection(server: RedisServer, redis_url: str) -> None:
    run_id(server)
    with redis.Redis.from_url(redis_url) as client:
        client.config_resetstat()
        for _ in range(5):
            run_id(server)

        assert "cmdstat_info" not in client.info("commandstats")


def test_a_server_that_was_started_again_is_another(own_redis: RedisProcess) -> None:
    server = RedisServer(own_redis.url)
    before = run_id(server)
    own_redis.kill()
    own_redis.start()

    assert run_id(server) != before
    server.close()


def test_a_user_who_may_not_ask_is_told_what_is_missing(own_redis: RedisProcess) -> None:
    with redis.Redis.from_url(own_redis.url) as client:
        client.execute_command("ACL", "SETUSER", "default", "-info")
    server = RedisServer(own_redis.url)

    with pytest.raises(SharedStateDown, match="info"):
        run_id(server)
    server.close()
