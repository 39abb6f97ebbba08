"""Whether this machine is offline, told from which requests of this process found nobody at the
other end. Pure and for one process: no I/O, no time, one lock."""

from __future__ import annotations

import threading

from core.fetch.connection import NO_SUCH_HOST, OFFLINE

ENOUGH_TASKS = 3  # distinct ones that reached nobody
ENOUGH_SURE = 2  # failures of any tasks, where the system itself says that there is no network
MAX_HOSTS = 4096  # remembered as answering; a list has any number


class Reachability:
    """One host that can't be reached is the host's affair, and its tasks pay for it. When nobody
    can be reached, hosts among them that used to answer, it is this machine's, and none does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answering: dict[str, None] = {}  # the last to answer is the last
        self._silent: set[str] = set()  # of those, who failed since the last answer of anybody
        self._tasks: set[str] = set()  # that failed since then
        self._failures = 0  # since then
        self._is_credible = False  # a failure since then was of a host that used to answer

    def answered(self, host: str) -> None:
        """Any answer at all came from `host`. The network is there, then: who failed meanwhile did
        so by itself, and until it answers again its failures say nothing about this machine."""
        with self._lock:
            for silent in self._silent:
                self._answering.pop(silent, None)
            self._answering.pop(host, None)
            self._answering[host] = None
            if len(self._answering) > MAX_HOSTS:
                self._answering.pop(next(iter(self._answering)))
            self._begin_anew()

    def failed(self, host: str, task: str, reason: str) -> bool:
        """A request of `task` got no connection to `host`, for a reason as the connection names it:
        whether this machine is offline."""
        with self._lock:
            is_known = host in self._answering
            if reason == NO_SUCH_HOST and not is_known:
                return False  # a name server answered, and there was never such a host
            if is_known:
                self._silent.add(host)
            self._is_credible |= is_known or not self._answering
            self._failures += 1
            if len(self._tasks) < ENOUGH_TASKS:
                self._tasks.add(task)
            return self._is_credible and self._is_enough(is_sure=reason == OFFLINE)

    def _is_enough(self, *, is_sure: bool) -> bool:
        if len(self._tasks) >= ENOUGH_TASKS:
            return True
        return is_sure and (self._failures >= ENOUGH_SURE or not self._answering)

    def _begin_anew(self) -> None:
        self._silent.clear()
        self._tasks.clear()
        self._failures, self._is_credible = 0, False
