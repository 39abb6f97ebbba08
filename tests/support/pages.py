"""Pages for adapters, as short as a test can say them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from core.model.post import FeedPage
from core.sources import PageInput, adapter

DATA = Path(__file__).parents[1] / "data" / "sources"
URL = "https://site.example.com/feed"


def page_input(body: bytes | str, *, url: str = URL, **kwargs: Any) -> PageInput:
    raw = body.encode() if isinstance(body, str) else body
    return PageInput(stream=BytesIO(raw), url=url, **kwargs)


def parse(name: str, body: bytes | str, *, url: str = URL, **kwargs: Any) -> FeedPage:
    return adapter(name).parse(page_input(body, url=url, **kwargs))


def rss(*items: str, channel: str = "") -> str:
    """An RSS feed of `<item>`s whose insides are given."""
    inside = "".join(f"<item>{item}</item>" for item in items)
    return (
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"'
        ' xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<channel><title>Invented</title>{channel}{inside}</channel></rss>"
    )
