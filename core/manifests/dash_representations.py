"""The representations of a period, each with what it says of itself or inherits from its adaptation
set. Segments are not looked at here: most representations are never asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from core.errors import TooLarge
from core.manifests.codecs import AUDIO, VIDEO, families
from core.manifests.dash_periods import Period, is_nothing
from core.manifests.dash_reader import frame_rate, line_of, whole_number
from core.manifests.dash_xml import Document
from core.model.plan import Container, TrackKind

MAX_REPRESENTATIONS = 10_000  # of all periods

_MOST_PIXELS = 100_000  # of a side
_MOST_BANDWIDTH = 10**12  # bits a second
_KINDS = {
    "video": TrackKind.VIDEO,
    "audio": TrackKind.AUDIO,
    "text": TrackKind.SUBTITLES,
}
_TEXTS = frozenset(["wvtt", "stpp", "tx3g", "c608", "c708"])
_CONTAINERS = {
    "mp4": Container.FMP4,
    "iso.segment": Container.FMP4,
    "quicktime": Container.FMP4,
    "webm": Container.WEBM,
    "x-matroska": Container.WEBM,
    "mp2t": Container.TS,
    "vtt": Container.VTT,
    "ttml+xml": Container.TTML,
}
# Who protects, by the system's id (RFC 4122) or the scheme's name.
_SYSTEMS = {
    "edef8ba9-79d6-4ace-a3c8-27dcd51d21ed": "Widevine",
    "9a04f079-9840-4286-ab92-e65be0885f95": "PlayReady",
    "94ce86fb-07ff-4f43-adb8-93d2fa968ca2": "FairPlay",
    "f239e769-efa3-4850-9c16-a903c6932efb": "Primetime",
    "5e629af5-38da-4063-8977-97ffbd9902d4": "Marlin",
    "e2719d58-a985-b3c9-781a-b030af78d30e": "ClearKey",
    "1077efec-c0b2-4d02-ace3-3c1e52e2fb4b": "ClearKey",
}
_COMMON = "urn:mpeg:dash:mp4protection:2011"  # says how it is encrypted, not who has the keys
_TRICK = "trickmode"  # in the scheme of what is for seeking, whoever named it


@dataclass(frozen=True, slots=True)
class Representation:
    """One quality of one track of one period."""

    period: Period
    levels: tuple[Element, ...]  # MPD, Period, AdaptationSet and Representation, outermost first
    id: str
    set_number: int  # of its adaptation set in the period, from 0
    set_id: str | None
    kind: TrackKind
    container: Container | None  # None: one that we don't read
    mime: str
    codecs: str | None = None
    width: int | None = None  # pixels
    height: int | None = None  # pixels
    frame_rate: float | None = None
    bandwidth: int = 0  # bits a second; 0: not told
    language: str | None = None
    label: str | None = None
    roles: frozenset[str] = frozenset()
    protection: tuple[str, ...] = ()  # the DRM's names; empty: in the clear

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        return f"{self.period.place}, representation {self.id[:60]!r}"

    @property
    def has_sound(self) -> bool:
        """Whether its codecs name sound, be it beside pictures."""
        return bool(families(self.codecs) & AUDIO)


def read_representations(document: Document, periods: list[Period]) -> list[list[Representation]]:
    """Those of each period that are a picture, sound or text of their own, in the manifest's
    order."""
    found: list[list[Representation]] = []
    count = 0
    for period in periods:
        of_period: list[Representation] = []
        for one in _of_period(document, period):
            count += 1
            if count > MAX_REPRESENTATIONS:
                words = f"more than {MAX_REPRESENTATIONS:,} representations"
                raise document.refused(TooLarge, "manifest_too_large", words)
            of_period.append(one)
        found.append(of_period)
    return found


def _of_period(document: Document, period: Period) -> Iterator[Representation]:
    for set_number, adaptation in enumerate(period.element.findall("AdaptationSet")):
        if is_nothing(adaptation):
            continue
        for number, element in enumerate(adaptation.findall("Representation")):
            levels = (document.root, period.element, adaptation, element)
            one = _read(period, levels, set_number, number)
            if isinstance(one, str):
                document.note(f"{period.place}: {one}")
            elif not is_nothing(element):
                yield one


def _read(
    period: Period, levels: tuple[Element, ...], set_number: int, number: int
) -> Representation | str:
    """A representation; in words, why it is left out."""
    adaptation, element = levels[2:]
    told = dict(adaptation.attrib) | dict(element.attrib)
    mime, codecs = told.get("mimeType", "").strip().lower(), line_of(told.get("codecs"))
    width, height = _side(told.get("width")), _side(told.get("height"))
    kind = _kind(codecs, told.get("contentType"), mime, adaptation, has_size=bool(width))
    if kind is None:
        return f"{line_of(mime) or 'a set without a type'} is neither picture, sound nor text"
    if _is_trick(adaptation) or _is_trick(element):
        return "pictures for seeking (trick mode) are left out"
    if element.get("dependencyId", "").strip():
        return "layers that only refine another representation are left out"
    bandwidth = whole_number(told.get("bandwidth")) or 0
    return Representation(
        period=period,
        levels=levels,
        id=element.get("id", "").strip() or str(number),
        set_number=set_number,
        set_id=adaptation.get("id"),
        kind=kind,
        container=_container(mime),
        mime=mime,
        codecs=codecs,
        width=width if height else None,
        height=height if width else None,
        frame_rate=frame_rate(told.get("frameRate")),
        bandwidth=bandwidth if bandwidth <= _MOST_BANDWIDTH else 0,
        language=_language(told.get("lang")),
        label=_label(element) or _label(adaptation),
        roles=frozenset(role.get("value", "") for role in adaptation.findall("Role")),
        protection=_protection(adaptation, element),
    )


def _kind(
    codecs: str | None, content: str | None, mime: str, adaptation: Element, *, has_size: bool
) -> TrackKind | None:
    """By its codecs, which nobody writes without meaning them; else by what is said of it."""
    found = families(codecs)
    if found:
        return TrackKind.VIDEO if found & VIDEO else TrackKind.AUDIO if found & AUDIO else None
    if (codecs or "").partition(".")[0].lower() in _TEXTS:
        return TrackKind.SUBTITLES
    told = [content or "", mime.partition("/")[0]]
    told += [one.get("contentType", "") for one in adaptation.findall("ContentComponent")]
    kinds = [_KINDS[word.strip()] for word in told if word.strip() in _KINDS]
    if kinds:
        return TrackKind.VIDEO if TrackKind.VIDEO in kinds[1:] else kinds[0]
    if "ttml" in mime:
        return TrackKind.SUBTITLES
    return TrackKind.VIDEO if has_size and not mime.startswith("image/") else None


def _container(mime: str) -> Container | None:
    """Nearly every manifest is of fMP4, also where it does not say so."""
    subtype = mime.partition(";")[0].partition("/")[2]
    return _CONTAINERS.get(subtype) if subtype else Container.FMP4


def _is_trick(element: Element) -> bool:
    properties = (*element.findall("EssentialProperty"), *element.findall("SupplementalProperty"))
    return any(_TRICK in one.get("schemeIdUri", "").lower() for one in properties)


def _protection(*levels: Element) -> tuple[str, ...]:
    """What protects it; a definition above the adaptation set protects only what refers to it."""
    found = [one for level in levels for one in level.findall("ContentProtection")]
    names = dict.fromkeys(filter(None, map(_system, found)))
    return tuple(names) or (("common encryption",) if found else ())


def _system(protection: Element) -> str | None:
    scheme = protection.get("schemeIdUri", "").strip().lower()
    if scheme == _COMMON:
        return None
    name = scheme.removeprefix("urn:uuid:")
    return _SYSTEMS.get(name) or line_of(name) or "a system without a name"


def _side(raw: str | None) -> int | None:
    found = whole_number(raw)
    return found if found and found <= _MOST_PIXELS else None


def _language(raw: str | None) -> str | None:
    found = line_of(raw)
    return None if found in ("und", "zxx", "mul") else found


def _label(element: Element) -> str | None:
    return next((text for one in element.findall("Label") if (text := line_of(one.text))), None)
