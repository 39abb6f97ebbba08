"""Bilibili's playurl answer as a manifest: `dash` offers files of pictures and of sound, `durl` one
file or several parts. Its own address lives on, those in it die within hours: each piece says how
it is asked for anew. No I/O.

Nothing in such a body is a mark of its own, so it is known by the address's last word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from core.manifests.playlists import (
    MediaPlaylist,
    MediaRendition,
    MediaSegment,
    Multivariant,
    RenditionKind,
    Spans,
    Variant,
)
from core.manifests.playurl_offer import Offer, PartFile, Stream, read_offer
from core.model.plan import Container

NAME = "playurl"
# Some of its hosts refuse a request without a range.
HEADERS = (("Range", "bytes=0-"),)

_DEFAULT = "sound"  # the group of what plays anywhere
_CONTAINERS = {".flv": Container.FLV, ".mp4": Container.FMP4, ".m4s": Container.FMP4}


def is_one(url: str) -> bool:
    """Whether what lies at `url` is read here."""
    return urlsplit(url).path.rstrip("/").rpartition("/")[2] == NAME


def parse(body: bytes, url: str) -> Multivariant | MediaPlaylist:
    """What the answer at `url`, its final address, offers. Raises as `read_offer`."""
    offer = read_offer(body, url)
    if offer.parts:
        return _played_in_turn(offer)
    return Multivariant(
        url=url,
        variants=tuple(_variants(offer)),
        renditions=tuple(
            _sound(one, group, offer) for group, found in offer.sounds.items() for one in found
        ),
        format=NAME,
        notes=tuple(offer.notes),
    )


def reference(url: str, pick: str) -> str:
    """How a file is asked for anew: where, and which of those that are offered there."""
    return json.dumps({NAME: url, "pick": pick}, separators=(",", ":"))


def _variants(offer: Offer) -> Iterator[Variant]:
    """Each picture with each kind of sound: `choose` takes lossless or Dolby only where its codec
    is among the wanted ones, since of equals it takes the first."""
    offered = [group for group, found in offer.sounds.items() if found]
    groups: list[str | None] = [*offered] or [None]
    for picture in offer.pictures:
        for group in groups:
            beside = offer.sounds[group][0].codecs if group else None
            yield Variant(
                url=_called(picture, offer),
                bandwidth=picture.bandwidth,
                codecs=",".join(filter(None, [picture.codecs, beside])) or None,
                width=picture.width,
                height=picture.height,
                frame_rate=picture.frame_rate,
                name=picture.label,
                audio_group=group,
                inline=partial(_one_file, picture, offer),
            )


def _sound(one: Stream, group: str, offer: Offer) -> MediaRendition:
    return MediaRendition(
        kind=RenditionKind.AUDIO,
        group=group,
        name=one.pick,
        autoselect=group == _DEFAULT,
        url=_called(one, offer),
        codecs=one.codecs,
        bandwidth=one.bandwidth,
        inline=partial(_one_file, one, offer),
    )


def _called(one: Stream, offer: Offer) -> str:
    """For people: nothing is asked for under it but the answer."""
    return f"{offer.url}#{one.pick}"


def _one_file(one: Stream, offer: Offer, _: Spans) -> MediaPlaylist:
    """Each m4s is a whole fragmented MP4: one request gets it."""
    segment = _segment(one, 0, offer.duration_s, offer.url)
    return MediaPlaylist(url=offer.url, segments=(segment,), ended=True, container=Container.FMP4)


def _played_in_turn(offer: Offer) -> MediaPlaylist:
    """Each part begins its time and its codecs anew, so each is a discontinuity."""
    segments = (
        _segment(part, number, part.duration_s, offer.url)
        for number, part in enumerate(offer.parts)
    )
    return MediaPlaylist(
        url=offer.url,
        segments=tuple(segments),
        ended=True,
        container=_container(offer),
        notes=tuple(offer.notes),
    )


def _segment(one: Stream | PartFile, number: int, duration_s: float, url: str) -> MediaSegment:
    return MediaSegment(
        url=one.addresses[0],
        duration_s=duration_s,
        sequence=number,
        discontinuity=number,
        alternatives=one.addresses[1:],
        size_bytes=one.size_bytes,
        ref=reference(url, one.pick),
        headers=HEADERS,
    )


def _container(offer: Offer) -> Container:
    """By the first part's extension, else by the format's name; the bytes have the last word."""
    suffix = PurePosixPath(urlsplit(offer.parts[0].addresses[0]).path).suffix.lower()
    told = Container.FLV if "flv" in offer.file_format.lower() else Container.FMP4
    return _CONTAINERS.get(suffix, told)
