"""The terms on which a source is fetched: what fetcher, budget and steps need of its settings."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceTerms:
    """One source. Secrets are plain here and must never be logged: hence no repr of them."""

    name: str
    rate: float  # requests a second
    burst: int
    many_hosts: bool = False  # a bucket for each host under the source's own, on the same terms
    headers: dict[str, str] = field(default_factory=dict)
    secret_headers: dict[str, str] = field(default_factory=dict, repr=False)
    secret_query: dict[str, str] = field(default_factory=dict, repr=False)
    secret_hosts: tuple[str, ...] = ()  # «http://HOST» where they may go without encryption too
    user_agent: str | None = None
    # Of a media in several plain files:
    max_height: int | None = None  # pixels, of a video
    quality: tuple[str, ...] = ()  # names, the most wanted first
    codecs: tuple[str, ...] = ()  # families, of videos of one size, the most wanted first
    inherit_query: bool = False  # a manifest's query goes with its pieces on the same host
    max_file_bytes: int = 4 * 1024**3
    max_page_bytes: int = 64 * 1024**2
