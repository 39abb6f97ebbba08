"""Adapters come when they are asked for, and an address is known as well as if all were there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.sources import ADAPTERS, Recognises, recogniser
from core.sources.registry import _PLACES, Registry

OWN = {
    "facebook": ["https://www.facebook.com/harbour", "https://graph.facebook.com/v19.0/1/posts"],
    "bilibili": [
        "https://space.bilibili.com/123/dynamic",
        "https://t.bilibili.com/123",
        "https://www.bilibili.com/video/BV1xx411c7mD",
        "https://mirror.example/x/web-interface/view?aid=1",
    ],
    "weibo": [
        "https://weibo.com/u/1234567890",
        "https://m.weibo.cn/u/1234567890",
        "https://mirror.example/api/container/getIndex?containerid=1076031234567890",
        "https://mirror.example/ajax/statuses/mymblog?uid=1234567890",
        "https://mirror.example/2/statuses/user_timeline.json?uid=1234567890",
    ],
    "mastodon": ["https://pond.example/api/v1/accounts/1/statuses"],
}


def test_none_is_imported_before_it_is_asked_for():
    code = (
        "import sys, core.sources\n"
        "print(sorted(name for name in sys.modules if name.startswith('core.sources.')))"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "['core.sources.adapter', 'core.sources.registry']"


@pytest.mark.parametrize(("name", "address"), [(n, a) for n, all_ in OWN.items() for a in all_])
def test_a_named_sources_address_is_known_before_any_is_imported(name, address):
    fresh = Registry(_PLACES)

    knowing = [one.name for one in fresh.likely(address) if one.reads(address)]

    assert knowing[:1] == [name]
    assert recogniser(address) is ADAPTERS[name]


def test_every_adapter_that_knows_its_addresses_is_among_them():
    assert {name for name, one in ADAPTERS.items() if isinstance(one, Recognises)} == set(OWN)


def test_any_other_address_imports_nobody():
    assert list(Registry(_PLACES).likely("https://pictures.example/feed.rss")) == []


def test_there_is_one_of_each():
    assert all(ADAPTERS[name] is ADAPTERS[name] for name in ADAPTERS)
    assert [one.name for one in ADAPTERS.values()] == list(ADAPTERS)
