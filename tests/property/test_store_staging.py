"""A partial has one writer, whatever order takes, hand-overs, crashes and zombies come in."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.model.partial import Validators
from tests.support.store import MEDIA, open_store, sha256

CONTENT = bytes(range(256)) * 4
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "write", "hand_over", "restart", "zombie", "commit"]),
        st.integers(1, 300),
    ),
    max_size=30,
)


class Mill:
    """One media's workers: one that holds the lease, and those that think they do."""

    def __init__(self, store):
        self.store = store
        self.current = None
        self.zombies = []
        self.number = 0

    def take(self, _):
        if self.current is not None:
            self.zombies.append(self.current)  # its lease ran out; it does not know
        self.number += 1
        self.current = self.store.staging.take(MEDIA, f"t{self.number}")

    def write(self, size):
        advance(self.current, size)

    def restart(self, _):
        self.current.restart()

    def hand_over(self, _):
        self.current.hand_over()
        self.current = None

    def zombie(self, size):
        before = held_by(self.current)
        for late in self.zombies:
            if late.path.exists():
                advance(late, size)
        assert held_by(self.current) == before

    def commit(self, _):
        """An object, and then a crash before its record."""
        held = held_by(self.current)
        self.current.path.write_bytes(held)
        self.store.objects.put(self.current.path, sha256(held))
        self.current.close()
        self.current = None

    def check(self):
        held = held_by(self.current)
        assert CONTENT.startswith(held)
        assert not held or self.current.path.stat().st_nlink == 1
        assert not held or self.current.validators is not None


def held_by(partial):
    return partial.path.read_bytes() if partial.path.exists() else b""


def advance(partial, size):
    """The writer goes on where its file stops, with the next bytes of the media."""
    if partial.validators is None:
        partial.restart()
        partial.keep(Validators(url="http://mill.example/x", etag='"1"'))
    with partial.path.open("ab") as file:
        held = file.tell()
        file.write(CONTENT[held : held + size])


@given(STEPS)
def test_a_partial_has_one_writer_and_only_whole_beginnings(steps):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "s")
        mill = Mill(store)
        for step, size in steps:
            if mill.current is None:
                mill.take(0)
            getattr(mill, step)(size)
            if mill.current is not None:
                mill.check()
        for path in (store.root / "objects").rglob("*"):
            assert path.is_dir() or sha256(path.read_bytes()) == path.name
        store.close()
