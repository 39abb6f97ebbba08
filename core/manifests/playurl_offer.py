"""Bilibili's playurl answer as values: its tracks (`dash`), or its parts (`durl`), each with all
its addresses. Every field may stand in one of two spellings, in both, or be null.

Addresses of peer nodes (`mcdn`) come last: they are other people's machines, on other ports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from urllib.parse import urlsplit

from core.errors import Forbidden, Malformed, TooLarge, Truncated, Unsupported
from core.manifests.playurl_numbers import count_of, decimal_of, line_of
from core.manifests.playurl_qualities import qualities
from core.manifests.playurl_signals import data_of, refuse_risk_page
from core.manifests.resolving import NoAddress, resolved
from core.model.addresses import strike

MAX_ANSWER_BYTES = 4 * 1024**2
MAX_TRACKS = 500
MAX_PARTS = 2000  # of a few minutes each
MAX_ALTERNATIVES = 4  # addresses beside the first: each is asked before a file is given up

_FAMILIES = {7: "avc1", 12: "hev1", 13: "av01"}  # codecid, where `codecs` is missing
_CODEC_ORDER = {7: 0, 12: 1, 13: 2}
_ENCRYPTED_SOUND = frozenset([100008, 100009, 100010])
_PREVIEW = "试看"
_PEER_NODES = ".mcdn."
_SHORT = 0.8  # of its length: parts that last less are a preview, or not all
_HEAD_BYTES = 64 * 1024
_MAX_NOTES = 20


@dataclass(frozen=True, slots=True)
class Stream:
    """One file of pictures or of sound."""

    pick: str  # "video/80/7": which one it is, in every answer of this video
    addresses: tuple[str, ...]  # of the same bytes, the first to be asked first
    codecs: str | None = None
    label: str | None = None  # of its quality, in the source's words: «1080P+»
    bandwidth: int = 0  # bits a second; 0: not told
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    frame_rate: float | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PartFile:
    """One of the files that play one after the other."""

    pick: str  # "part/2"
    addresses: tuple[str, ...]
    duration_s: float
    size_bytes: int | None


@dataclass(slots=True)
class Offer:
    """All that an answer offers; either `parts`, or `pictures` and perhaps sound."""

    url: str
    duration_s: float = 0.0
    file_format: str = ""  # of the parts, in its words: "flv", "mp4", "hdflv2"
    pictures: list[Stream] = field(default_factory=list)  # best first
    sounds: dict[str, list[Stream]] = field(default_factory=dict)  # "sound", "lossless", "dolby"
    parts: list[PartFile] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)  # by quality number
    notes: list[str] = field(default_factory=list)

    def note(self, words: str) -> None:
        """Something a person may want to know, once."""
        if len(self.notes) < _MAX_NOTES and words not in self.notes:
            self.notes.append(words)

    def refused(self, reason: str, words: str) -> Malformed:
        """The error for what can't be used."""
        return Malformed(f"{strike(self.url)}: {words}", reason=reason)

    def file(self, pick: str) -> Stream | PartFile | None:
        """The one that `pick` names; None where it is offered no more."""
        files: list[Stream | PartFile] = [
            *self.pictures,
            *chain(*self.sounds.values()),
            *self.parts,
        ]
        return next((one for one in files if one.pick == pick), None)


def read_offer(body: bytes, url: str) -> Offer:
    """What the answer at `url` offers. Raises as `data_of`, `Forbidden` (`preview_only`),
    `Unsupported` (`drm`), or `Malformed` where nothing in it can be got."""
    refuse_risk_page(body[:_HEAD_BYTES], url)
    data = data_of(_loaded(body, url), url)
    offer = Offer(url, file_format=line_of(data.get("format")) or "")
    offer.duration_s = (decimal_of(data.get("timelength")) or 0.0) / 1000
    _refuse_previews(data, offer)
    offer.labels = qualities(data)
    if isinstance(dash := data.get("dash"), dict) and dash:
        _read_tracks(dash, offer)
    elif isinstance(durl := data.get("durl"), list) and durl:
        _read_parts(durl, offer)
    else:
        raise offer.refused("empty_manifest", "neither tracks nor parts are offered")
    return offer


def _loaded(body: bytes, url: str) -> Mapping[str, object]:
    told = strike(url)
    if len(body) > MAX_ANSWER_BYTES:
        raise TooLarge(f"{told}: over {MAX_ANSWER_BYTES:,} bytes", reason="manifest_too_large")
    try:
        found = json.loads(body)
    except RecursionError as error:
        raise Malformed(f"{told}: its JSON nests without end", reason="too_deep") from error
    except ValueError as error:  # of JSON, of its encoding, or of a number without end
        whole = body.rstrip()
        if whole.startswith(b"{") and not whole.endswith(b"}"):
            raise Truncated(f"{told}: its JSON is cut off") from error
        raise Malformed(f"{told}: no JSON came, an answer was expected", reason="bad_json") from (
            error
        )
    if not isinstance(found, dict):
        raise Malformed(f"{told}: its JSON is no answer of this API", reason="not_an_answer")
    return found


def _refuse_previews(data: Mapping[str, object], offer: Offer) -> None:
    named = data.get("accept_description")
    words = [word for word in named if isinstance(word, str)] if isinstance(named, list) else []
    if any(_PREVIEW in word for word in words) or data.get("is_preview") in (1, True):
        raise _preview(offer, "only a preview is offered")
    if data.get("is_drm") is True:
        raise _protected(offer)


def _preview(offer: Offer, what: str) -> Forbidden:
    words = f"{strike(offer.url)}: {what}: the video is paid for, and not by this account"
    return Forbidden(words, reason="preview_only")


def _protected(offer: Offer) -> Unsupported:
    return Unsupported(
        f"{strike(offer.url)}: protected (DRM): Headrace does not get it", reason="drm"
    )


# --- tracks ---


def _read_tracks(dash: Mapping[str, object], offer: Offer) -> None:
    offer.duration_s = offer.duration_s or decimal_of(dash.get("duration")) or 0.0
    if not offer.duration_s:
        raise offer.refused("no_duration", "nothing tells how long it is")
    offer.pictures = _streams("video", _objects(dash.get("video")), offer)
    if not offer.pictures:
        raise offer.refused("empty_manifest", "no pictures are offered")
    flac, dolby = _object(dash.get("flac")), _object(dash.get("dolby"))
    offer.sounds = {
        "sound": _streams("audio", _objects(dash.get("audio")), offer),
        "lossless": _streams("audio", _objects([flac.get("audio")]), offer),
        "dolby": _streams("audio", _objects(dolby.get("audio")), offer),
    }


def _streams(kind: str, items: Iterator[Mapping[str, object]], offer: Offer) -> list[Stream]:
    """Best first, each pick once: of two that are called alike the one with more bandwidth."""
    found = [one for item in items if (one := _stream(kind, item, offer)) is not None]
    found.sort(key=_worth)
    return list({one.pick: one for one in reversed(found)}.values())[::-1]


def _worth(stream: Stream) -> tuple[int, ...]:
    _, quality, codec = stream.pick.split("/")
    return -int(quality), _CODEC_ORDER.get(int(codec), len(_CODEC_ORDER)), -stream.bandwidth


def _stream(kind: str, item: Mapping[str, object], offer: Offer) -> Stream | None:
    quality, codec = count_of(item.get("id")) or 0, count_of(item.get("codecid")) or 0
    if quality in _ENCRYPTED_SOUND:
        offer.note(f"sound {quality} is encrypted and left out")
        return None
    if item.get("bilidrm_uri") or item.get("widevine_pssh"):
        raise _protected(offer)
    pick = f"{kind}/{quality}/{codec}"
    addresses = _addresses(item, ("baseUrl", "base_url"), ("backupUrl", "backup_url"), offer)
    if not addresses:
        offer.note(f"{pick} has no address that can be asked for")
        return None
    return Stream(
        pick=pick,
        addresses=addresses,
        codecs=line_of(item.get("codecs")) or _FAMILIES.get(codec),
        label=offer.labels.get(quality) if kind == "video" else None,
        bandwidth=count_of(item.get("bandwidth")) or 0,
        width=count_of(item.get("width")),
        height=count_of(item.get("height")),
        frame_rate=decimal_of(_either(item, "frameRate", "frame_rate")),
        size_bytes=count_of(item.get("size")),
    )


# --- parts ---


def _read_parts(durl: list[object], offer: Offer) -> None:
    """In their `order`, in which they need not stand. A number that lacks is a part that lacks."""
    items = [_object(one) for one in durl[: MAX_PARTS + 1]]
    if len(items) > MAX_PARTS:
        raise offer.refused("too_many_parts", f"over {MAX_PARTS:,} parts")
    numbers = [count_of(item.get("order")) or place for place, item in enumerate(items, 1)]
    if sorted(numbers) != list(range(1, len(items) + 1)):
        told = ", ".join(map(str, sorted(numbers)[:20]))
        raise offer.refused("missing_part", f"parts {told} are offered: others lack, or repeat")
    for number, item in sorted(zip(numbers, items, strict=True), key=lambda pair: pair[0]):
        offer.parts.append(_part(number, item, len(items), offer))
    lasts_s = sum(part.duration_s for part in offer.parts)
    if lasts_s < _SHORT * offer.duration_s:
        words = f"the parts last {lasts_s:,.0f} s of {offer.duration_s:,.0f} s"
        raise _preview(offer, words)


def _part(number: int, item: Mapping[str, object], count: int, offer: Offer) -> PartFile:
    length_ms = decimal_of(item.get("length"))
    duration_s = length_ms / 1000 if length_ms else offer.duration_s / count
    addresses = _addresses(item, ("url",), ("backup_url", "backupUrl"), offer)
    if not addresses or not duration_s:
        what = "length" if addresses else "address that can be asked for"
        raise offer.refused("missing_part", f"part {number} has no {what}")
    size_bytes = count_of(item.get("size"))
    if size_bytes is None:
        offer.note(f"part {number}: its size is not told")
    return PartFile(f"part/{number}", addresses, duration_s, size_bytes)


# --- fields ---


def _addresses(
    item: Mapping[str, object], first: tuple[str, ...], others: tuple[str, ...], offer: Offer
) -> tuple[str, ...]:
    backups = _either(item, *others)
    raw = [_either(item, *first), *(backups if isinstance(backups, list) else [backups])]
    found: list[str] = []
    for one in raw:
        if isinstance(one, str):
            try:
                found.append(resolved(one, offer.url))
            except NoAddress as error:
                offer.note(str(error))
    return tuple(sorted(dict.fromkeys(found), key=_is_peer_node))[: 1 + MAX_ALTERNATIVES]


def _is_peer_node(url: str) -> bool:
    return _PEER_NODES in f".{urlsplit(url).hostname}."


def _either(item: Mapping[str, object], *names: str) -> object:
    return next((item[name] for name in names if item.get(name)), None)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    items = value if isinstance(value, list) else []
    yield from (item for item in items[:MAX_TRACKS] if isinstance(item, dict))
