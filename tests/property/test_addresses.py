"""The short ways that most addresses take lead where the long ones do."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from core.budget.budget import TokenBudget
from core.fetch import exchange
from core.fetch.fetcher import Fetcher
from core.settings import FetchSettings
from tests.support.clock import FakeClock
from tests.support.fetching import terms_of


def an_exchange() -> exchange.Exchange:
    clock = FakeClock()
    budget = TokenBudget.memory(clock)
    fetcher = Fetcher(FetchSettings(), budget, clock, threading.Event(), lambda: 10**12)
    return fetcher.visit(terms_of())._exchange


ASKS = an_exchange()


@given(st.from_regex(exchange._NORMAL, fullmatch=True))
def test_an_address_that_looks_normal_is_already_as_it_goes_over_the_wire(address):
    assert ASKS._normalized(address) == address
