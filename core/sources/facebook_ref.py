"""A node of the Graph API as media records remember it: where it is asked for anew."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.errors import Malformed
from core.model.post import MediaKind
from core.sources.json_page import child
from core.sources.resolve import resolve


@dataclass(frozen=True, slots=True)
class Ref:
    """What a media is at the API that named it."""

    api: str  # "https://graph.facebook.com/v27.0"
    id: str  # of the photo or video
    kind: MediaKind
    album: str | None = None  # that may have more than its post lists; only until it is looked at

    def text(self) -> str:
        """As it stands in `MediaRecord.ref`."""
        told = {"node": f"{self.api}/{self.id}", "pick": str(self.kind)}
        return json.dumps(told | ({"album": self.album} if self.album else {}))


def read_ref(text: str) -> Ref:
    """Raises `Malformed` for what is no ref of ours: anyone who may publish can write one."""
    try:
        told = json.loads(text)
        node, album = resolve(child(told, "node"), None), child(told, "album")
        kind = MediaKind(str(child(told, "pick")))
    except (ValueError, RecursionError) as error:
        raise _no_ref() from error
    if not isinstance(node, str) or not isinstance(album, str | None):
        raise _no_ref()
    api, _, ident = node.rpartition("/")
    return Ref(api, ident, kind, album)


def _no_ref() -> Malformed:
    return Malformed("the media's ref names no node of the Graph API", reason="bad_ref")
