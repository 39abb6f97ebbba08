"""One entry of a list as a post: an address alone, or columns of which one is the address. A post's
key is its address and not its number: a line added on top would make every other a new post."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from core.model.post import Author, MediaRecord, Post, Rendition
from core.sources.dates import read_date
from core.sources.media_types import by_extension
from core.sources.resolve import Unusable, resolve
from core.sources.values import count_of, hash_of, kept_key, line_of, text_of

ADDRESS = "url"  # the column that every row needs

Found = Post | Unusable | None  # None: it says nothing

_HASHES = ("md5", "sha1", "sha256", "sha512")
_TEXTS = ("caption", "text")
# Nine digits are 1973 in seconds; twelve would be the year 5138, so they are milliseconds.
_UNIX_TIME = re.compile(r"(\d{9,11}|\d{12,13})(?:\.\d{1,9})?", re.ASCII)


def address_post(text: str) -> Post | Unusable:
    """The post of an address alone."""
    return _post(text, {})


def value_post(value: object) -> Post | Unusable:
    """The post of a JSON value: an object of columns, or an address."""
    if isinstance(value, str):
        return address_post(value)
    if not isinstance(value, dict):
        return Unusable("not_an_object")
    columns: dict[str, object] = {}
    for name, told in value.items():
        columns.setdefault(name.strip().lower(), told)
    return row_post(columns)


def row_post(columns: Mapping[str, object]) -> Post | Unusable:
    """The post of a row by its columns, named in lower case."""
    address = columns.get(ADDRESS)
    if _says_nothing(address):
        return Unusable("no_url")
    if not isinstance(address, str):
        return Unusable("url_not_text")
    if "\N{REPLACEMENT CHARACTER}" in address:  # what stands for bytes that are no UTF-8
        return Unusable("not_utf8")
    return _post(address, columns)


def _post(address: str, columns: Mapping[str, object]) -> Post | Unusable:
    url = resolve(address, None)
    if isinstance(url, Unusable):
        relative = url.reason == "relative_without_base"
        return Unusable("not_http_url") if relative else url
    kind = by_extension(url)
    if isinstance(kind, Unusable):
        return kind
    key = kept_key(url)
    if not columns:
        rendition = Rendition(url=url, manifest=kind.manifest)
        return Post(key=key, media=(MediaRecord(kind=kind.kind, renditions=(rendition,)),))
    rendition = Rendition(
        url=url,
        manifest=kind.manifest,
        width=count_of(columns.get("width")),
        height=count_of(columns.get("height")),
    )
    record = MediaRecord(kind=kind.kind, renditions=(rendition,), hashes=_hashes(columns))
    return _described(key, record, columns)


def _described(key: str, record: MediaRecord, columns: Mapping[str, object]) -> Post:
    told = columns.get("created_at")
    created = None if _says_nothing(told) else _moment(told)
    lost = created is None and not _says_nothing(told)
    texts = (columns.get(name) for name in _TEXTS)
    return Post(
        key=key,
        title=line_of(_or_none(columns.get("title"))),
        text=next((text for told in texts if (text := text_of(_or_none(told)))), None),
        author=_author(columns.get("author")),
        created_at=created,
        media=(record,),
        notes=(f"created_at: not a date: {str(told)[:100]!r}",) if lost else (),
    )


def _says_nothing(value: object) -> bool:
    """Whether a cell is empty: tables are written by programs whose nothing is «nan»."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124 - nan


def _or_none(value: object) -> object:
    return None if _says_nothing(value) else value


def _hashes(columns: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _HASHES:
        if name in columns:
            found |= hash_of(name, columns[name])
    return found


def _author(value: object) -> Author | None:
    told = value.get("name") if isinstance(value, dict) else value
    name = line_of(_or_none(told))
    return Author(name=name) if name else None


def _moment(value: object) -> datetime | None:
    """A date in words, or Unix time in seconds or milliseconds."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value) if number else line_of(value) or ""
    unix = _UNIX_TIME.fullmatch(text)
    if not unix:
        return read_date(text)
    told = int(unix[1])
    return datetime.fromtimestamp(told if len(unix[1]) < 12 else told / 1000, UTC)
