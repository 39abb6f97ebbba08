"""What Bilibili calls the qualities of a video: «1080P+», «4K», by their numbers. The lists name
what exists, which is more than what is offered to the account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.manifests.playurl_numbers import count_of, line_of

_MOST = 100


def qualities(data: Mapping[str, object]) -> dict[int, str]:
    """Names by number. The short ones of the older list tell «1080P+» from «1080P», which some of
    the newer list's do not."""
    newer = ((one.get("quality"), one.get("new_description")) for one in _formats(data))
    older = zip(_list(data, "accept_quality"), _list(data, "accept_description"), strict=False)
    found: dict[int, str] = {}
    for number, words in (*newer, *((number, _short(words)) for number, words in older)):
        known, name = count_of(number), line_of(words)
        if known and name:
            found[known] = name
    return found


def _short(words: object) -> str | None:
    """«1080P+» of «高清 1080P+»; all of it where there is no such word."""
    told = line_of(words) or ""
    return next((word for word in told.split() if word[0].isascii()), told)


def _formats(data: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield from (one for one in _list(data, "support_formats") if isinstance(one, dict))


def _list(data: Mapping[str, object], name: str) -> list[object]:
    found = data.get(name)
    return found[:_MOST] if isinstance(found, list) else []
