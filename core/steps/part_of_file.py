"""A small part of a large file, read into memory: the index that a manifest names. Anything else
than just these bytes is no answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.errors import Malformed, Truncated
from core.fetch.fetcher import Visit
from core.manifests import ByteRange, Spans
from core.model.addresses import strike
from core.model.request import Request
from core.sources.one_media import is_file
from core.steps.elsewhere import from_first

_PARTIAL = 206


def spans_of(visit: Visit, request_of: Callable[[str], Request]) -> Spans:
    """The way for a manifest's reader to ask, at the first of a file's addresses that serves."""

    def span(urls: Sequence[str], part: ByteRange) -> bytes:
        return from_first(urls, lambda url: _span(visit, request_of(url), part))

    return span


def _span(visit: Visit, request: Request, part: ByteRange) -> bytes:
    wanted = f"bytes={part.start}-{part.end - 1}"
    asked = Request(request.url, request.referer, {**request.headers, "Range": wanted})
    page = visit.page(asked, enough=is_file)  # the whole file came: its head is enough to know it
    told = page.headers.get("Content-Range", "").strip()
    if page.status != _PARTIAL or not told.startswith(f"bytes {part.start}-{part.end - 1}/"):
        raise Malformed(
            f"{strike(page.url)}: asked for its bytes {part.start:,} to {part.end - 1:,}, it sent "
            "others: its host gives no parts of files, and this one can't be used without",
            reason="range_ignored",
        )
    body = page.stream.read()
    if len(body) != part.length:
        raise Truncated(f"{strike(page.url)}: {len(body):,} bytes of {part.length:,} came")
    return body
