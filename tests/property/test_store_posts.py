"""The known rule, over random histories of walks: known is what an earlier completed walk of this
feed has shown and what has not changed since."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.model.walk import WalkState
from core.store.posts import Seen
from tests.support.store import SOURCE, open_store, post, walk_end

FEEDS = ("left", "right")
STEPS = st.lists(
    st.tuples(st.sampled_from(FEEDS), st.sampled_from(["see", "see", "end", "break"]))
    .flatmap(lambda step: st.tuples(st.just(step), st.sampled_from("abc")))
    .map(lambda pair: (*pair[0], pair[1])),
    max_size=25,
)


@dataclass
class Model:
    """What one feed has shown of the post."""

    walk: int = 1
    shown: str | None = None
    walks: set[int] = field(default_factory=set)  # that showed it since it last changed
    completed: set[int] = field(default_factory=set)

    def see(self, text: str) -> bool:
        known = text == self.shown and bool(self.walks & self.completed)
        if text != self.shown:
            self.shown, self.walks = text, set()
        self.walks.add(self.walk)
        return known

    def end(self, state: WalkState) -> None:
        if state is WalkState.COMPLETE:
            self.completed.add(self.walk)
        self.walk += 1


@given(STEPS)
def test_known_is_what_an_earlier_completed_walk_of_the_feed_showed_unchanged(steps):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "s")
        models = {feed: Model() for feed in FEEDS}
        for feed, step, text in steps:
            model = models[feed]
            walk = f"w{model.walk}"
            if step == "see":
                expected = model.see(text)
                seen = store.posts.put(post(text=text), source=SOURCE, feed=feed, walk=walk)
                assert (seen is Seen.KNOWN) == expected
            else:
                state = WalkState.COMPLETE if step == "end" else WalkState.BROKEN
                store.walks.close(walk_end(walk, state, feed))
                model.end(state)
        store.close()


@given(STEPS)
def test_the_same_page_read_again_gets_the_same_answer_and_no_version(steps):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "s")
        walks = dict.fromkeys(FEEDS, 1)
        for feed, step, text in steps:
            walk = f"w{walks[feed]}"
            if step == "see":
                first = store.posts.put(post(text=text), source=SOURCE, feed=feed, walk=walk)
                versions = store.posts.versions(post().id(SOURCE))
                again = store.posts.put(post(text=text), source=SOURCE, feed=feed, walk=walk)
                assert again is first
                assert store.posts.versions(post().id(SOURCE)) == versions
            else:
                state = WalkState.COMPLETE if step == "end" else WalkState.BROKEN
                store.walks.close(walk_end(walk, state, feed))
                walks[feed] += 1
        store.close()


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=15))
def test_versions_tell_the_history_of_a_feed(texts):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "s")
        for number, text in enumerate(texts):
            store.posts.put(post(text=text), source=SOURCE, feed="left", walk=f"w{number}")
        kept = [version.post.text for version in store.posts.versions(post().id(SOURCE))]
        store.close()

    assert kept == [
        text for text, before in zip(texts, [None, *texts], strict=False) if text != before
    ]
