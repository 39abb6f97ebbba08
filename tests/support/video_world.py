"""A world in which videos are got: a real store, ledger, performer and retry middleware; a queue, a
network and a joining tool that are lists. One thread: what happens at the same time happens inside
a hook, at a place that the test chooses."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import HeadraceError
from core.ledger.memory import MemoryLedger
from core.manifests import SelectionPolicy
from core.model.end import EndState, MediaEnd
from core.model.source import SourceTerms
from core.model.task import (
    FragmentPayload,
    Kind,
    Task,
    VerifyPayload,
)
from core.ports import Copy, DeadLetter
from core.queue.outcome import Settled, ToHead
from core.queue.retry import Retry
from core.steps.burial import Burial
from core.steps.decide import RetryPolicy
from core.steps.depths import fragment_depth
from core.steps.fragment import FragmentStep
from core.steps.heartbeat import Heartbeat
from core.steps.joining import Joining
from core.steps.manifest import ManifestStep
from core.steps.perform import Performer
from core.steps.reopening import Reopening
from core.steps.verify import VerifyStep
from core.steps.video_tasks import VideoTasks
from core.video.assemble import Assembled
from tests.support.budget import OpenBudget
from tests.support.clock import FakeClock
from tests.support.queue import a_delivery
from tests.support.store import open_store
from tests.support.videos import MEDIA, SOURCE, Net, QuickDisk, manifest_of, number_of

LEASE_S = 30.0
POLICY = RetryPolicy(base_s=2.0, cap_s=8.0, crash_base_s=2.0, crash_cap_s=8.0)


class Killed(BaseException):
    """The worker died here."""


@dataclass
class Message:
    due: float
    number: int
    task: Task


class VideoWorld:
    """Everything around the steps of a video. `hook` is called at each place where a worker may
    die or another may do something; it may raise `Killed`, or work on other messages."""

    def __init__(self, root: Path, pieces: int, *, high_water: int = 10_000) -> None:
        self.pieces = pieces
        self.clock = FakeClock()
        self.store = open_store(root, disk=QuickDisk)
        self.ledger = MemoryLedger(self.clock)
        self.net = Net(manifest_of(pieces))
        self.queue: list[Message] = []
        self.in_hand: list[Message] = []
        self.letters: list[DeadLetter] = []
        self.ends: list[MediaEnd] = []
        self.published: list[Task] = []
        self.hook: Callable[[str], None] = lambda _where: None
        self.stop = threading.Event()
        self.terms = SourceTerms(SOURCE, 10.0, 20)
        self._numbers = itertools.count()
        self._high_water = high_water
        self._build()

    # --- the publisher and the depths ---

    def publish(self, window: Sequence[Copy]) -> None:
        self.hook("publish")
        for copy in window:
            self.published.append(copy.task)
            self.put(copy.task, copy.delay_s)
        self.hook("published")

    def bury(self, letter: DeadLetter) -> None:
        self.hook("bury")
        self.letters.append(letter)

    def ready(self, source: str, *kinds: Kind) -> int:
        now = self.clock.now()
        free = (m for m in self.queue if m not in self.in_hand)
        return sum(m.due <= now and (not kinds or m.task.kind in kinds) for m in free)

    def put(self, task: Task, delay_s: float = 0.0) -> None:
        self.queue.append(Message(self.clock.now() + delay_s, next(self._numbers), task))

    # --- workers ---

    def deliver(self, message: Message, *, acked: bool = True) -> None:
        """One run, from the lane to the acknowledgement; without one the message stays."""
        self.in_hand.append(message)
        delivery = a_delivery(message.task)
        error: HeadraceError | None = None
        try:
            try:
                self.performer.perform(message.task, delivery.granted)
            except HeadraceError as fault:
                error = fault
            self.hook("after the run")
            self.retry.after_process_message(None, delivery, exception=error)
            self.hook("before the acknowledgement")
        except Killed:
            return
        finally:
            self.in_hand.remove(message)
        if isinstance(delivery.outcome, Settled) and acked:
            self.queue.remove(message)
        elif isinstance(delivery.outcome, ToHead):
            message.due = self.clock.now() + delivery.outcome.rest_s
        else:
            message.due = self.clock.now() + 5.0

    def due(self) -> list[Message]:
        """What may be handed on: joins first, which have slots of their own, then the oldest."""
        now = self.clock.now()
        free = (m for m in self.queue if m.due <= now and m not in self.in_hand)
        return sorted(free, key=lambda m: (m.task.kind is not Kind.VERIFY, m.due, m.number))

    def work(self, *, until_s: float = 400_000.0, deliveries: int = 100_000) -> None:
        """Work until nothing is open."""
        ends_at = self.clock.now() + until_s
        while self.queue:
            due = self.due()
            if not due:
                soonest = min(m.due for m in self.queue)
                assert soonest <= ends_at, f"still open: {[m.task.id for m in self.queue]}"
                self.clock.advance(max(0.0, soonest - self.clock.now()))
                continue
            deliveries -= 1
            assert deliveries > 0, "it goes round and round"
            self.deliver(due[0])

    def flush(self) -> None:
        self.ledger.clear()

    # --- what is there afterwards ---

    def end(self, generation: int = 1) -> MediaEnd | None:
        return next((e for e in self.store.media.ends(MEDIA) if e.generation == generation), None)

    def content(self, generation: int = 1) -> bytes | None:
        """The file's bytes; None where the generation has none."""
        end = self.end(generation)
        if end is None or end.state is not EndState.GOT:
            return None
        return self.store.objects.path(end.file.sha256).read_bytes()

    def copies(self, *, generation: int = 1) -> Counter[int]:
        """How often each fragment was published for the first time: retries not counted."""
        return Counter(
            task.payload.piece
            for task in self.published
            if isinstance(task.payload, FragmentPayload)
            and (task.generation, task.not_before) == (generation, None)
        )

    def verifies(self) -> list[Task]:
        return [task for task in self.published if isinstance(task.payload, VerifyPayload)]

    def requests(self) -> Counter[int]:
        """How often each piece was asked for."""
        return Counter(
            {
                number_of(url): self.net.asked_of(number_of(url))
                for url in self.net.asked
                if url.partition("?")[0].endswith(".ts")
            }
        )

    # --- building ---

    def _build(self) -> None:
        self.tasks = VideoTasks(5, self.clock)
        self.joining = Joining(self.store, self.ledger, self.tasks)
        terms = lambda _source: self.terms  # noqa: E731 - it is one line
        self.burial = Burial(
            store=self.store,
            ledger=self.ledger,
            publisher=self,
            joining=self.joining,
            terms=terms,
            clock=self.clock,
            on_end=self._on_end,
        )
        self.reopening = Reopening(
            store=self.store,
            tasks=self.tasks,
            terms=terms,
            clock=self.clock,
            on_end=self._on_end,
        )
        heartbeat = Heartbeat(self.ledger, self.clock, lease_s=LEASE_S)
        heartbeat.watch = lambda run: None  # beats are given, not waited for
        self.performer = Performer(
            store=self.store,
            ledger=self.ledger,
            budget=OpenBudget(),
            publisher=self,
            heartbeat=heartbeat,
            steps={
                Kind.MANIFEST: ManifestStep(
                    store=self.store,
                    fetcher=self.net,
                    terms=terms,
                    policy=lambda _source: SelectionPolicy(),
                    open_fragments=fragment_depth(self, self.ledger),
                    high_water=self._high_water,
                    tasks=self.tasks,
                ),
                Kind.FRAGMENT: FragmentStep(self.store, self.net, terms, self.joining),
                Kind.VERIFY: VerifyStep(
                    store=self.store,
                    ledger=self.ledger,
                    depths=self,
                    joining=self.joining,
                    tasks=self.tasks,
                    assembler=self._assemble,
                    terms=terms,
                    stop=self.stop,
                    clock=self.clock,
                ),
            },
            clock=self.clock,
            lease_s=LEASE_S,
            deadline_s=3600.0,
            on_end=self._on_end,
        )
        self.retry = Retry(self, self.ledger, POLICY, self.burial, self.clock, random.Random(0))
        self._hook_around(self.store.videos, "put_plan", "renew_plan", "put", "bury")
        self._hook_around(self.store.media, "end")
        self._hook_around(self.ledger, "join", "finish")

    def _hook_around(self, part: object, *names: str) -> None:
        for name in names:
            setattr(part, name, self._hooked(name, getattr(part, name)))

    def _hooked(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        def hooked(*args: object, **told: object) -> object:
            self.hook(f"before {name}")
            result = call(*args, **told)
            self.hook(f"after {name}")
            return result

        return hooked

    def _on_end(self, end: object) -> None:
        if isinstance(end, MediaEnd):
            self.ends.append(end)

    def _assemble(self, staged, piece_path, workspace, check, _doubts) -> Assembled:
        """Joins by appending: what counts here is which pieces, and in which order."""
        self.hook("assemble")
        check()
        path = workspace / "video.mp4"
        bodies = [piece_path(piece).read_bytes() for piece in range(len(staged.plan.pieces))]
        path.write_bytes(b"".join(bodies))
        return Assembled(
            path=path,
            extension=".mp4",
            type="video/mp4",
            width=160,
            height=90,
            duration_s=staged.plan.duration_s,
            expected_duration_s=staged.plan.duration_s,
            tool="a list",
            notes=(),
            pieces=tuple((len(body), "0" * 64) for body in bodies),
        )
