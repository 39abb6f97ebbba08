"""On which terms sources are fetched just now: what the settings say, with what people switched
over it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import SecretStr

from core.errors import Misconfigured
from core.manifests import SelectionPolicy
from core.model.source import SourceTerms
from core.model.switch import Switch
from core.secret import FileSecret
from core.settings import SourceSettings
from core.sources import Adapter, Secrets, Signs, adapter

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """Called with a source. Raises `Misconfigured` for an unknown one."""

    settings: Callable[[str], SourceTerms]
    switch: Callable[[str], Switch]
    _made: dict[tuple[str, float | None, int | None], SourceTerms] = field(default_factory=dict)
    _before: dict[str, SourceTerms] = field(default_factory=dict)  # what `renew` put aside

    def __call__(self, source: str) -> SourceTerms:
        switch = self.switch(source)
        key = source, switch.rate, switch.burst
        made = self._made.get(key)  # making them anew costs 7 µs a task
        if made is None:
            made = self._made[key] = self._new(source, switch)
        return made

    def renew(self, source: str) -> None:
        """The source was switched: the next task reads the files that its secrets are in anew, so
        that a renewed cookie needs no restart. Reads nothing itself."""
        for key in [key for key in self._made if key[0] == source]:
            self._before[source] = self._made.pop(key)

    def _new(self, source: str, switch: Switch) -> SourceTerms:
        terms = _switched(self.settings(source), switch)
        before = self._before.pop(source, None)
        if before is not None and _secrets(before) != _secrets(terms):
            logger.info("source %s: its secrets were read again, and are used from now on", source)
        return terms


def _secrets(terms: SourceTerms) -> tuple[dict[str, str], dict[str, str]]:
    return terms.secret_headers, terms.secret_query


def _switched(terms: SourceTerms, switch: Switch) -> SourceTerms:
    rate = terms.rate if switch.rate is None else switch.rate
    return replace(terms, rate=rate, burst=terms.burst if switch.burst is None else switch.burst)


def source_terms(name: str, settings: SourceSettings) -> SourceTerms:
    """A source's settings as the fetcher and the budget need them, with its files' secrets as they
    are now. Raises `Misconfigured` for a token or cookie that its adapter can't use."""
    chosen = adapter(settings.adapter)
    signed = _signed(name, chosen, settings)
    return SourceTerms(
        name=name,
        rate=settings.rate,
        burst=settings.burst,
        many_hosts=chosen.many_hosts,
        headers=dict(settings.headers),
        secret_headers={**signed.headers, **_plain(name, settings.secret_headers)},
        secret_query={**signed.query, **_plain(name, settings.secret_query)},
        secret_hosts=(*settings.secret_hosts, *signed.hosts),
        user_agent=settings.user_agent,
        inherit_query=settings.inherit_query,
        max_height=settings.max_height,
        quality=settings.quality,
        codecs=settings.codecs,
        max_file_bytes=settings.max_file_bytes,
        max_page_bytes=settings.max_page_bytes,
    )


def _signed(name: str, chosen: Adapter, settings: SourceSettings) -> Secrets:
    token, cookie = (
        _now(name, secret) if secret else None for secret in (settings.token, settings.cookie)
    )
    if isinstance(chosen, Signs):
        return chosen.secrets(token=token, cookie=cookie)
    if token or cookie:
        raise Misconfigured(
            f"sources.{name}: its adapter {chosen.name!r} uses no token and no cookie; "
            "secret_headers go to any host that secret_hosts names"
        )
    return Secrets()


def _plain(name: str, hidden: Mapping[str, SecretStr]) -> dict[str, str]:
    return {key: _now(name, secret) for key, secret in hidden.items()}


def _now(name: str, secret: SecretStr) -> str:
    """A secret in a file may be another than at the start. One that can't be read just now, as
    while somebody writes it, stays what it was at the start."""
    if not isinstance(secret, FileSecret):
        return secret.get_secret_value()
    try:
        return secret.read_again().get_secret_value()
    except ValueError as error:
        logger.warning("source %s: %s; what it held at the start is used", name, error)
        return secret.get_secret_value()


def selection_policy(settings: SourceSettings, max_height: int | None = None) -> SelectionPolicy:
    """What a source's settings want of a manifest; `max_height` wins over theirs."""
    return SelectionPolicy(
        max_height=max_height or settings.max_height,
        quality=settings.quality,
        codecs=settings.codecs,
        language=settings.language,
        subtitles=settings.subtitles,
    )
