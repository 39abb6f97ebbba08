"""An answer of Bilibili's API, whichever endpoint gave it."""

from __future__ import annotations

from core.manifests.playurl_signals import REFUSING, address_refused, data_of, refuse_risk_page
from core.sources.adapter import PageInput
from core.sources.body import head
from core.sources.json_page import SOURCE_JSON_BYTES, Item, load_json


def data_in(page: PageInput) -> Item:
    """What it holds. Raises what its code means, and `Malformed` for what is no answer."""
    refuse(page)
    body = load_json(page, "an answer of Bilibili's API", max_bytes=SOURCE_JSON_BYTES)
    return data_of(body, page.url)


def refuse(page: PageInput) -> None:
    """Raise for an answer that is refused before its body is one."""
    if page.status in REFUSING:
        raise address_refused(page.url)
    refuse_risk_page(head(page), page.url)
