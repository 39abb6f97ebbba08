from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model import addresses
from core.model.addresses import strike, with_parameters, without_parameters


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://a.example/x?token=hush&w=1", "https://a.example/x?token=***&w=1"),
        ("https://user:pass@a.example/x", "https://a.example/x"),
        ("https://a.example/x?X-Amz-Signature=ab&q", "https://a.example/x?X-Amz-Signature=***&q"),
        ("https://a.example/x?Sig=ab#frag", "https://a.example/x?Sig=***"),
        ("https://a.example/x", "https://a.example/x"),
        ("http://[bad/x?token=hush", "http://[bad/x"),
    ],
)
def test_what_signs_or_opens_an_address_is_struck_out(address, shown):
    assert strike(address) == shown


def test_a_parameter_that_the_settings_name_is_struck_out():
    assert strike("https://a.example/?mykey=1&b=2", ["mykey"]) == "https://a.example/?mykey=***&b=2"


def test_a_secret_leaves_for_the_message_and_returns_for_the_request():
    address = "https://a.example/x?a=1&key=old"

    kept = without_parameters(address, ("key",))

    assert kept == "https://a.example/x?a=1"
    assert with_parameters(kept, {"key": "h&sh"}) == "https://a.example/x?a=1&key=h%26sh"


@given(st.text(max_size=60), st.sampled_from(["token", "Token", "%74oken", "X-Amz-Signature"]))
def test_striking_never_raises_and_never_keeps_a_token(text, name):
    assert "hush" not in strike(f"https://a.example/x?{text}&{name}=hush")


@given(st.from_regex(addresses._PLAIN, fullmatch=True))
def test_an_address_that_looks_plain_has_nothing_to_strike_out(address):
    assert addresses._struck(address, ()) == address
