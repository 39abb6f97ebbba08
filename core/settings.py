"""The settings: one frozen tree, read from `headrace.toml` and the environment, unknown names
refused with their place.

The only file that reads the environment. Secrets never show: `SecretStr` prints as stars."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from core.errors import Misconfigured
from core.secret import FileSecret
from core.settings_file import explain, read_tree
from core.settings_values import (
    Count,
    CronLine,
    Duration,
    HeaderName,
    HeaderValue,
    LanguageTag,
    Pattern,
    Positive,
    SecretHost,
    Slots,
)

# Pydantic looks for plugins in all that is installed, and Headrace has none: 0.02 s of each start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

DEFAULT_FILE = "headrace.toml"
SOURCE_NAME = re.compile(r"[a-z0-9_-]{1,40}")
RESERVED_SOURCES = frozenset({"headrace"})
DEFAULT_SOURCE = "feed"  # what an address outside the settings belongs to

AdapterName = Literal[
    "feed",
    "rss",
    "atom",
    "jsonfeed",
    "sitemap",
    "iiif",
    "list",
    "facebook",
    "bilibili",
    "weibo",
    "mastodon",
]
ADAPTERS: tuple[str, ...] = get_args(AdapterName)
CodecName = Literal[
    "avc", "hevc", "av1", "vp9", "vp8", "dolby_vision", "aac", "ac3", "eac3", "opus", "mp3", "flac"
]


def _secret(value: object, info: ValidationInfo) -> object:
    """A secret is a string, `{ env = "NAME" }` or `{ file = "PATH" }`, read here. A relative path
    begins beside the settings' file, like the store's."""
    match value:
        case {"env": str(name), **rest} if not rest:
            return _from_environment(name)
        case {"file": str(path), **rest} if not rest:
            return FileSecret(Path(info.context or "", path))
        case dict():
            raise ValueError('a secret is a string, { env = "NAME" } or { file = "PATH" }')
        case _:
            return value


def _from_environment(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise ValueError(f"the environment variable {name} is not set") from None


Secret = Annotated[SecretStr, BeforeValidator(_secret)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceSettings(_Frozen):
    """`[sources.NAME]`: one site, or one family of feeds, with its budget."""

    adapter: AdapterName = "feed"
    rate: Positive = 10.0  # requests a second, however many workers run
    burst: Count = 20  # requests at once after a pause
    # Tasks that ask the source at a time, in one process; None: a quarter of its threads.
    concurrency: Slots | None = None
    headers: dict[HeaderName, HeaderValue] = {}  # sent with every request of the source
    # Sent to `secret_hosts` only; never in a message, log or record.
    secret_headers: dict[HeaderName, Secret] = {}
    # Added to addresses on `secret_hosts`; struck out everywhere else.
    secret_query: dict[str, Secret] = {}
    # Exact host names. Secrets go by https only, or to this machine; "http://HOST" lets them go to
    # that host by http too.
    secret_hosts: tuple[SecretHost, ...] = ()
    token: Secret | None = None  # what the adapter signs its requests with, where it does
    cookie: Secret | None = None  # the same for sources that know their readers by a cookie
    user_agent: HeaderValue | None = None
    max_file_bytes: Count = 4 * 1024**3
    max_page_bytes: Count = 64 * 1024**2
    max_height: Count | None = None  # pixels; of what is offered of a video, the best up to it
    # Names of qualities, the most wanted first; none of them is got over max_height.
    quality: tuple[Annotated[str, Field(min_length=1, max_length=60)], ...] = ()
    codecs: tuple[CodecName, ...] = ("avc", "hevc", "av1", "vp9")  # the most wanted first
    language: LanguageTag | None = None  # of sound and subtitles, where a manifest offers several
    subtitles: bool = False  # get them too
    # A walk ends after so many posts in a row that are known and not pinned; None: as the adapter
    # has it.
    stop_after_known: Count | None = None
    placeholders: tuple[Pattern, ...] = ()  # addresses of «removed» pictures; * is anything
    # The same bytes under so many posts that share nothing else are a stand-in, and not filed once
    # more; 0: never; None: as the adapter has it.
    repeats: Annotated[int, Field(ge=0, le=1000)] | None = None
    # The query of a manifest's address goes with its pieces, where they are of the same host.
    inherit_query: bool = False


class FeedSettings(_Frozen):
    """`[feeds.NAME]`: an address that is read again and again."""

    source: str
    address: Annotated[str, Field(min_length=1)]
    every: Annotated[Duration, Field(ge=1)] = 3600.0  # seconds between two runs
    cron: CronLine | None = None  # five fields in local time, instead of `every`
    jitter: Duration = 0.0  # seconds: each run is late by up to this; the first by 10 s at most

    def model_post_init(self, _context: object) -> None:
        """A feed has one timetable."""
        if self.cron is not None and "every" in self.model_fields_set:
            raise ValueError("give every or cron, not both")


class RetrySettings(_Frozen):
    """`[retries]`: exponential backoff with full jitter, between a floor and a cap."""

    max_attempts: Count = 5
    base_s: Positive = 2.0
    floor_s: Positive = 1.0
    cap_s: Positive = 3600.0
    max_crashes: Count = 8
    max_wait_s: Positive = 7 * 86_400.0  # postponed while the source was open


class FetchSettings(_Frozen):
    """`[fetch]`: deadlines and bounds of every request."""

    connect_s: Positive = 10.0
    idle_s: Positive = 20.0
    total_s: Positive = 3600.0
    min_bytes_per_s: Positive = 1024.0  # mean over any `min_rate_window_s`
    min_rate_window_s: Positive = 60.0
    max_redirects: Annotated[int, Field(ge=0, le=20)] = 8
    min_free_bytes: Annotated[int, Field(ge=0)] = 256 * 1024**2  # kept free on the store's disk
    hand_over_s: Positive = 600.0  # a longer step goes back to its lane's head, with what it has
    user_agent: str = "Headrace (+https://github.com/headrace/headrace)"
    allow_networks: tuple[str, ...] = ()  # refused by default: private, loopback, link-local, ...

    @field_validator("allow_networks")
    @classmethod
    def _networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            ipaddress.ip_network(network)
        return networks


class LeaseSettings(_Frozen):
    """`[lease]`."""

    seconds: Positive = 30.0


class BackpressureSettings(_Frozen):
    """`[backpressure]`: open tasks of a source, past which its walks wait, and below which they go
    on."""

    high_water: Count = 2000
    low_water: Count = 1000

    def model_post_init(self, _context: object) -> None:
        """The marks are in order."""
        if self.low_water > self.high_water:
            raise ValueError(
                f"low_water ({self.low_water}) lies above high_water ({self.high_water}): give "
                "both, the lower one for instance half of the other"
            )


class BrokerSettings(_Frozen):
    """`[broker]`: RabbitMQ."""

    url: Secret = SecretStr("amqp://guest:guest@127.0.0.1:5672/%2F")


class RedisSettings(_Frozen):
    """`[redis]`."""

    url: Secret = SecretStr("redis://127.0.0.1:6379/0")


class Settings(_Frozen):
    """Everything. Every default runs on a laptop without a service."""

    store: Path = Path("headrace-store")  # a relative one in a file lies beside the file
    sources: dict[str, SourceSettings] = {}
    feeds: dict[str, FeedSettings] = {}
    broker: BrokerSettings = BrokerSettings()
    redis: RedisSettings = RedisSettings()
    retries: RetrySettings = RetrySettings()
    lease: LeaseSettings = LeaseSettings()
    fetch: FetchSettings = FetchSettings()
    backpressure: BackpressureSettings = BackpressureSettings()

    @field_validator("sources")
    @classmethod
    def _names(cls, sources: dict[str, SourceSettings]) -> dict[str, SourceSettings]:
        for name in sources:
            if not SOURCE_NAME.fullmatch(name):
                raise ValueError(f"{name!r}: a source's name is 1 to 40 of a-z, 0-9, _ and -")
            if name in RESERVED_SOURCES:
                raise ValueError(f"{name!r} is a name of our own: choose another")
        return sources

    def model_post_init(self, _context: object) -> None:
        """Feeds name sources that exist."""
        for name, feed in self.feeds.items():
            if feed.source not in self.all_sources():
                raise ValueError(f"feeds.{name}.source: there is no [sources.{feed.source}]")

    def all_sources(self) -> dict[str, SourceSettings]:
        """The configured sources and the one that every other address belongs to."""
        return {DEFAULT_SOURCE: SourceSettings()} | self.sources

    def source(self, name: str) -> SourceSettings:
        """One source. Raises `Misconfigured` for a name that the settings lack."""
        try:
            return self.all_sources()[name]
        except KeyError:
            raise Misconfigured(
                f"source {name!r} is not in the settings: add [sources.{name}] to {DEFAULT_FILE}",
                reason="unknown_source",
            ) from None


def find_file(explicit: Path | None) -> Path | None:
    """`--config`, else HEADRACE_CONFIG, else headrace.toml in the working folder, else none."""
    if explicit is not None:
        return explicit
    if named := os.environ.get("HEADRACE_CONFIG"):
        return Path(named)
    default = Path(DEFAULT_FILE)
    return default if default.is_file() else None


def load(explicit: Path | None = None) -> Settings:
    """The settings from file and environment (HEADRACE_STORE, HEADRACE_RABBITMQ_URL,
    HEADRACE_REDIS_URL win over the file). Raises `Misconfigured` naming file, key and fault."""
    path = find_file(explicit)
    tree = read_tree(path) if path else {}
    if path and isinstance(tree.get("store"), str):
        # Every process that reads the file means the same store, wherever it was started.
        tree["store"] = str(path.absolute().parent / tree["store"])
    for variable, (section, key) in {
        "HEADRACE_RABBITMQ_URL": ("broker", "url"),
        "HEADRACE_REDIS_URL": ("redis", "url"),
    }.items():
        if variable in os.environ:
            tree.setdefault(section, {})[key] = os.environ[variable]
    if "HEADRACE_STORE" in os.environ:
        tree["store"] = os.environ["HEADRACE_STORE"]
    try:
        return Settings.model_validate(tree, context=path and path.absolute().parent)
    except ValidationError as error:
        raise Misconfigured(explain(path, error), reason="bad_settings") from None
