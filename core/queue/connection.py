"""How a connection to RabbitMQ is made and named, and what pika's exceptions mean to us. Opens
nothing when imported, and no message of ours ever holds the password."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pika
from pika.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelClosedByBroker,
    ConnectionBlockedTimeout,
    ConnectionClosedByBroker,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)

from core.errors import BrokerDown, HeadraceError, Misconfigured

HEARTBEAT_S = 60
BLOCKED_TIMEOUT_S = 30.0  # RabbitMQ under a memory or disk alarm: better «down» than a silent wait
FOREIGN = (AMQPError, OSError)  # what pika's blocking calls may raise
_SETTING = "[broker] url (or HEADRACE_RABBITMQ_URL)"
_REFUSALS = (AuthenticationError, ProbableAuthenticationError, ProbableAccessDeniedError)


def parameters(url: str, role: str) -> Any:  # noqa: ANN401 - pika is untyped
    """How to connect. `role` names the connection in the console: «publisher», «consumer».

    What the address's query sets (heartbeat, ...) wins. Raises `Misconfigured`."""
    quiet_pika()
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("amqp", "amqps"):
            raise ValueError(f"the scheme is {parts.scheme or 'missing'!r}, not amqp or amqps")
        if parts.username is not None and parts.password is None:
            raise ValueError("a user without a password")
        given = pika.URLParameters(url)
    except ValueError as error:
        raise Misconfigured(
            f"{_SETTING}: {address(url)}: {error}; write amqp://USER:PASSWORD@HOST:5672/%2F",
            reason="bad_broker_url",
        ) from None  # pika's own message may show the whole address
    _fill_in(given, set(parse_qs(parts.query)), role)
    return given


def _fill_in(given: Any, named: set[str], role: str) -> None:  # noqa: ANN401 - pika is untyped
    if "heartbeat" not in named:
        given.heartbeat = HEARTBEAT_S
    if "blocked_connection_timeout" not in named:
        given.blocked_connection_timeout = BLOCKED_TIMEOUT_S
    if "client_properties" not in named:
        given.client_properties = {
            "product": "Headrace",
            "connection_name": f"headrace {role} {socket.gethostname()}:{os.getpid()}",
        }


def address(url: str) -> str:
    """The address as people may see it: scheme, host, port and virtual host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that can't be read"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def quiet_pika() -> None:
    """Silence pika, which logs every failure several times with its traceback. Ours is logged once;
    a level that somebody set stands."""
    logger = logging.getLogger("pika")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


@contextmanager
def opened(url: str, role: str) -> Iterator[Any]:
    """A blocking connection for a short errand. Raises `BrokerDown` or `Misconfigured` for whatever
    pika raises within."""
    try:
        connection = pika.BlockingConnection(parameters(url, role))
    except FOREIGN as error:
        raise translate(error, url) from error
    try:
        yield connection
    except AMQPError as error:  # an OSError in the block may be another's: the store's
        raise translate(error, url) from error
    finally:
        close_quietly(connection)


def close_quietly(connection: Any) -> None:  # noqa: ANN401 - pika is untyped
    """Close what may be closed or broken already."""
    try:
        if connection.is_open:
            connection.close()
    except FOREIGN as error:
        logging.getLogger(__name__).debug("closing the connection: %r", error)


def translate(error: BaseException, url: str) -> HeadraceError:
    """What an exception of pika's (or of the socket) means to us: which address, what to do."""
    cause = root_cause(error)
    place = f"RabbitMQ at {address(url)}"
    if isinstance(cause, _REFUSALS):
        text = cause.args[0] if cause.args else cause
        return Misconfigured(
            f"{place} refuses us: {text}. Check user, password and virtual host in {_SETTING}",
            reason="broker_refuses",
        )
    if isinstance(cause, ConnectionBlockedTimeout):
        return BrokerDown(
            f"{place} takes no messages (memory or disk alarm, shown in its console): free some, "
            "Headrace goes on by itself",
            reason="broker_blocked",
        )
    if isinstance(cause, (ChannelClosedByBroker, ConnectionClosedByBroker)):
        return BrokerDown(f"{place} closed: {cause.reply_code} {cause.reply_text}")
    if isinstance(cause, OSError):
        what = cause.strerror or str(cause) or type(cause).__name__
        return BrokerDown(
            f"{place} can't be reached: {what}. Is it running (scripts/services status), and is "
            f"{_SETTING} right?"
        )
    return BrokerDown(f"{place}: connection lost: {cause!r}")


def root_cause(error: BaseException) -> BaseException:
    """The exception within pika's wrappers."""
    inner = [*getattr(error, "exceptions", ()), getattr(error, "exception", None), *error.args]
    wrapped = [one for one in inner if isinstance(one, BaseException)]
    return root_cause(wrapped[-1]) if wrapped else error
