"""A Graph API as tests say it: answers by path, and what was asked of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

from core.errors import HeadraceError
from core.model.post import FeedPage
from core.model.request import Request
from core.sources import PageInput
from core.sources.facebook import FacebookAdapter

API = "https://graph.example.com/v27.0"
PAGE = "900100200300401"
EDGE = f"{API}/{PAGE}/published_posts?fields=id&limit=5"


def answer(
    body: object, *, url: str = EDGE, status: int = 200, headers: Mapping[str, str] | None = None
) -> PageInput:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return PageInput(BytesIO(raw), url, status=status, headers=headers or {})


def edge(*nodes: object, following: object = None, **more: Any) -> PageInput:
    body: dict[str, object] = {"data": list(nodes)}
    if following is not None:
        body["paging"] = {"next": following}
    return answer(body, **more)


def read(*nodes: object, **more: Any) -> FeedPage:
    return FacebookAdapter().parse(edge(*nodes, **more))


def refused(code: int, subcode: int | None = None, message: str = "(#0) Invented") -> object:
    return {"error": {"message": message, "code": code, "error_subcode": subcode}}


def photo(ident: str, *, attached: str = "photo", **more: object) -> dict[str, Any]:
    """An attachment that is one picture."""
    src = f"https://scontent.fbimg.test/v/{ident}_n.jpg?oh=00_a&oe=6A800000"
    return {
        "type": attached,
        "media_type": "photo",
        "media": {"image": {"src": src, "width": 720, "height": 480}},
        "target": {"id": ident},
    } | more


def post(ident: str, *attachments: object, **more: object) -> dict[str, Any]:
    return {"id": f"{PAGE}_{ident}", "attachments": {"data": list(attachments)}} | more


def sizes(ident: str, *widths: int) -> dict[str, Any]:
    """A photo node with square images."""
    images = [
        {"source": f"https://scontent.fbimg.test/v/{ident}_{w}.jpg", "width": w, "height": w}
        for w in widths
    ]
    return {"id": ident, "images": images}


class Graph:
    """Answers by path, else by photo id; remembers what was asked. An error is raised."""

    def __init__(self, **photos: object) -> None:
        self.photos: dict[str, object] = photos
        self.paths: dict[str, list[object]] = {}
        self.asked: list[str] = []
        self.headers: dict[str, str] = {}

    def on(self, path: str, *bodies: object) -> None:
        """What stands there: one a request, the last one for ever."""
        self.paths[path] = list(bodies)

    def __call__(self, request: Request) -> PageInput:
        self.asked.append(request.url)
        parts = urlsplit(request.url)
        script = self.paths.get(parts.path)
        found = self._nodes(parts.query) if script is None else script[0]
        if script and len(script) > 1:
            script.pop(0)
        if isinstance(found, HeadraceError):
            raise found
        status = 400 if isinstance(found, dict) and "error" in found else 200
        return answer(found, url=request.url, status=status, headers=self.headers)

    def _nodes(self, query: str) -> object:
        """One id that is not to be had fails the whole request."""
        ids = parse_qs(query).get("ids", ["0"])[0].split(",")
        found: dict[str, object] = {}
        for ident in ids:
            node = self.photos.get(ident, refused(100, 33))
            if isinstance(node, dict) and "error" in node:
                return node
            found[ident] = node
        return found
