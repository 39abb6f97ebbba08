"""A media of a post as records remember it: where the post is told anew, and which of its media it
is."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.errors import Malformed
from core.sources.json_page import child
from core.sources.resolve import resolve
from core.sources.weibo_address import Shape, shape_of


@dataclass(frozen=True, slots=True)
class Ref:
    """One media."""

    post: str  # the address at which the interface tells its post
    shape: Shape
    key: str

    def text(self) -> str:
        """As it stands in `MediaRecord.ref`."""
        return json.dumps({"post": self.post, "pick": self.key})


def read_ref(text: str) -> Ref:
    """Raises `Malformed` for what is no ref of ours: anyone who may publish can write one."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_ref() from error
    post, key = resolve(child(told, "post"), None), child(told, "pick")
    shape = shape_of(post) if isinstance(post, str) else None
    if not isinstance(post, str) or shape is None or not isinstance(key, str):
        raise _no_ref()
    return Ref(post, shape, key)


def _no_ref() -> Malformed:
    return Malformed("the media's ref names no post of Weibo's", reason="bad_ref")
