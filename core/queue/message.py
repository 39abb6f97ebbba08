"""Task records as Dramatiq messages: the only place that knows both forms."""

from __future__ import annotations

from dataclasses import replace

from dramatiq import Message
from dramatiq.errors import DecodeError

from core.errors import Malformed
from core.model.task import Kind, Task, parse_task
from core.queue.lanes import HEADRACE


def to_message(task: Task) -> Message[None]:
    """The message whose one argument is the task's record and whose actor is its kind's."""
    return Message(
        queue_name=HEADRACE,
        actor_name=task.kind.value,
        args=(task.to_message(),),
        kwargs={},
        options={},
    )


def unsent(task: Task) -> Message[None]:
    """The message of a task that stays in this process and goes along as it is: no record of it is
    made, and no id drawn, which costs a system call."""
    return Message(
        queue_name=HEADRACE,
        actor_name=task.kind.value,
        args=({},),
        kwargs={},
        options={},
        message_id=task.id,
    )


def encode(task: Task) -> bytes:
    """The body that goes into a lane."""
    return to_message(task).encode()


def decode(body: bytes) -> tuple[Message[None], Task]:
    """A body back into message and task. Raises `Malformed` for one that can't be read, NewerFormat
    for one that a newer Headrace wrote."""
    try:
        message = Message.decode(body)
    except DecodeError as error:
        raise Malformed("message body is not JSON of a task", reason="bad_message") from error
    if message.actor_name not in list(Kind):  # a list: a garbled name may not even hash
        raise Malformed(f"no actor is called {message.actor_name!r}", reason="unknown_actor")
    if len(message.args) != 1:
        raise Malformed("message carries no task record", reason="bad_message")
    task = parse_task(message.args[0])
    if task.kind != message.actor_name:
        raise Malformed(
            f"a {task.kind} task was sent to actor {message.actor_name!r}", reason="bad_message"
        )
    # Fact 3: a body whose queue_name is another's would kill the worker thread. Options are none
    # of a body's business: an `eta` would have Dramatiq hold it in memory (fact 7).
    return replace(message, queue_name=HEADRACE, kwargs={}, options={}), task
