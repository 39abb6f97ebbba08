"""Whatever order pieces, marks, plans and clearings come in, from workers alive or thought dead:
what is kept of a video is what the plainest account of it says."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.staged import GONE, a_piece, staged_video
from tests.support.store import MEDIA, open_store

PIECES = 4
PIECE = st.integers(0, PIECES - 1)
GENERATION = st.integers(1, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("plan"), st.sampled_from("ab")),
        st.tuples(st.just("renew"), st.integers(2, 4), st.sampled_from("cd")),
        st.tuples(st.just("put"), PIECE, st.sampled_from([b"x", b"yy"]), st.sampled_from("tuv")),
        st.tuples(st.just("leave"), PIECE, st.sampled_from("tuv")),
        st.tuples(st.just("bury"), PIECE, GENERATION),
        st.tuples(st.just("join"), st.sampled_from("tuv")),
        st.tuples(st.just("clear")),
    ),
    max_size=25,
)


def renewal(generation, sign):
    return staged_video(PIECES, sign=sign).model_copy(update={"generation": generation})


class Account:
    """One video, in the store and in plain words."""

    def __init__(self, store):
        self.store = store
        self.clear()

    def clear(self):
        self.store.videos.clear(MEDIA)
        self.sign, self.pieces, self.marks = None, {}, set()
        self.readings = {}

    def plan(self, sign):
        made = self.store.videos.put_plan(staged_video(PIECES, sign=sign))
        assert made == (self.sign is None)
        self.sign = self.sign or sign

    def renew(self, generation, sign):
        self.store.videos.renew_plan(renewal(generation, sign))
        if self.sign is not None:
            self.readings.setdefault(generation, sign)

    def put(self, piece, content, token):
        self.store.videos.put(MEDIA, piece, a_piece(self.store, piece, content, token=token))
        if self.sign is not None:
            self.pieces.setdefault(piece, content)

    def leave(self, piece, token):
        """A download that nobody finishes."""
        a_piece(self.store, piece, b"half", token=token)

    def bury(self, piece, generation):
        self.store.videos.bury(MEDIA, piece, generation, GONE)
        if self.sign is not None:
            self.marks.add((piece, generation))

    def join(self, token):
        (self.store.videos.workspace(MEDIA, token) / "joined.ts").write_bytes(b"half")

    def check(self):
        videos = self.store.videos
        expected = None if self.sign is None else staged_video(PIECES, sign=self.sign)
        if self.readings:
            newest = max(self.readings)
            expected = renewal(newest, self.readings[newest])
        assert videos.plan(MEDIA) == expected
        for generation in (1, 2):
            standing = videos.standing(MEDIA, PIECES, generation)
            dead = {piece for piece, marked in self.marks if marked == generation}
            assert standing.present == self.pieces.keys()
            assert standing.dead.keys() == dead - self.pieces.keys()
            both = standing.present | standing.dead.keys()
            assert standing.missing == tuple(sorted(set(range(PIECES)) - both))
        for piece, content in self.pieces.items():
            assert videos.path(MEDIA, piece).read_bytes() == content


@settings(max_examples=60)
@given(STEPS)
def test_a_video_is_what_was_told_of_it(steps):
    with tempfile.TemporaryDirectory() as folder, closing(open_store(Path(folder) / "s")) as store:
        account = Account(store)
        for step, *about in steps:
            getattr(account, step)(*about)
        account.check()
        account.clear()

        assert list((store.root / "staging").glob("ab/*")) == []
