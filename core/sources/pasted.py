"""Addresses as people paste them from an API's console: with their token in the query, where it
would be stored with the feed and shown with it."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from core.errors import Misconfigured
from core.model.addresses import strike


def refuse_secrets(address: str, names: Collection[str]) -> None:
    """Raise `Misconfigured` for an address with one of the parameters `names`, which are in lower
    case."""
    try:
        query = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    except ValueError:  # no address: whoever reads it says so
        return
    for name, value in query:
        if value and name.lower() in names:
            raise Misconfigured(
                f"{strike(address, names)}: the address holds {name}, a secret that would be "
                "stored with the feed: put it into `token` in the settings of its source, and "
                f"leave {name} out of the address",
                reason="secret_in_address",
            )
