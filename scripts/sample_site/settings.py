"""The settings with which Headrace reads the sample site's named sources: a file a secret, as a
person would keep them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scripts.sample_site import bilibili, facebook, weibo, weibo_posts

FILE = "headrace.toml"


@dataclass(frozen=True, slots=True)
class Named:
    """A source with its one feed."""

    source: str
    adapter: str
    secret_kind: str  # "token" or "cookie"
    secret: str
    feed: str
    path: str  # of the feed, with its query


NAMED = (
    Named("facebook", "facebook", "token", facebook.TOKEN, "society", facebook.EDGE),
    Named(
        "weibo",
        "weibo",
        "cookie",
        weibo.COOKIE,
        "miller",
        f"{weibo.MOBILE}?type=uid&value={weibo_posts.MEMBER}",
    ),
    Named(
        "weibo-desktop",
        "weibo",
        "cookie",
        weibo.COOKIE,
        "miller-desktop",
        f"{weibo.DESKTOP}?uid={weibo_posts.MEMBER}&page=1&feature=0",
    ),
    Named(
        "weibo-open",
        "weibo",
        "token",
        weibo.TOKEN,
        "miller-open",
        f"{weibo.OPEN}?uid={weibo_posts.MEMBER}",
    ),
    Named(
        "bilibili",
        "bilibili",
        "cookie",
        bilibili.COOKIE,
        "keeper",
        f"{bilibili.DYNAMICS}?host_mid={bilibili.MEMBER}",
    ),
)


def write(folder: Path, address: str, more: str = "") -> Path:
    """Write the settings for the site at `address` into `folder`, with `more` behind them. Their
    path."""
    tables = [_table(one, folder, address) for one in NAMED]
    for one in NAMED:
        secret = secret_file(folder, one.source)
        secret.touch(mode=0o600)
        secret.write_text(f"{one.secret}\n", encoding="utf-8")
    settings = folder / FILE
    settings.write_text("\n".join([*tables, more]), encoding="utf-8")
    return settings


def secret_file(folder: Path, source: str) -> Path:
    """Where a source's token or cookie stands."""
    return folder / f"{source}.secret"


def _table(one: Named, folder: Path, address: str) -> str:
    """The site's feeds are short: one known post ends a walk. Its host is no host of the source's,
    so that it has to be named as one which may see the secret."""
    return f"""[sources.{one.source}]
adapter = "{one.adapter}"
rate = 40
{one.secret_kind} = {{ file = "{secret_file(folder, one.source)}" }}
secret_hosts = ["127.0.0.1"]
stop_after_known = 1

[feeds.{one.feed}]
source = "{one.source}"
address = "{address}{one.path}"
"""
