from __future__ import annotations

from core.model.switch import Switch
from core.steps.terms import Terms
from tests.support.fetching import terms_of


def test_what_was_switched_lies_over_the_settings_and_goes_with_the_switch() -> None:
    switches = {"mill": Switch()}
    terms = Terms(terms_of, switches.__getitem__)
    told = [terms("mill")]
    for switch in (Switch(rate=0.5), Switch(rate=0.5, burst=3), Switch()):
        switches["mill"] = switch
        told.append(terms("mill"))

    assert [(one.rate, one.burst) for one in told] == [(10.0, 20), (0.5, 20), (0.5, 3), (10.0, 20)]


def test_terms_are_made_once() -> None:
    made: list[str] = []
    terms = Terms(lambda name: made.append(name) or terms_of(name), lambda _: Switch())

    assert terms("mill") is terms("mill")
    assert made == ["mill"]
