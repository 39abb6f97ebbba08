from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from core.model.switch import Switch
from core.secret import FileSecret
from core.settings import SourceSettings
from core.steps.terms import Terms, source_terms
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


# --- secrets in files ---


@dataclass
class Renewed:
    """A source whose cookie lies in a file, its terms, and what the log says."""

    path: Path
    log: pytest.LogCaptureFixture

    def __post_init__(self) -> None:
        self.write("SUB=1")
        settings = SourceSettings(adapter="weibo", cookie=FileSecret(self.path))
        self.terms = Terms(lambda name: source_terms(name, settings), lambda _: Switch())
        self.log.set_level("INFO", "core.steps.terms")

    def write(self, cookie: str) -> None:
        self.path.write_text(cookie + "\n")

    def cookie(self) -> str:
        return self.terms("mill").secret_headers["Cookie"]


@pytest.fixture
def renewed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Renewed:
    return Renewed(tmp_path / "mill.cookie", caplog)


def test_a_cookie_that_changes_in_its_file_is_not_noticed_in_mid_run(renewed: Renewed) -> None:
    told = [renewed.cookie()]
    renewed.write("SUB=2")

    assert [*told, renewed.cookie()] == ["SUB=1", "SUB=1"]


def test_a_renewed_cookie_is_used_once_its_source_is_switched(renewed: Renewed) -> None:
    told = [renewed.cookie()]
    renewed.write("SUB=2")
    renewed.terms.renew("mill")

    assert [*told, renewed.cookie()] == ["SUB=1", "SUB=2"]
    assert "source mill: its secrets were read again" in renewed.log.text
    assert "SUB=" not in renewed.log.text


def test_another_source_that_is_switched_reads_nothing_here(renewed: Renewed) -> None:
    told = [renewed.cookie()]
    renewed.write("SUB=2")
    renewed.terms.renew("forge")

    assert [*told, renewed.cookie()] == ["SUB=1", "SUB=1"]


def test_secrets_that_are_the_same_are_not_worth_a_line(renewed: Renewed) -> None:
    renewed.cookie()
    renewed.terms.renew("mill")
    renewed.cookie()

    assert renewed.log.text == ""


def test_a_file_that_is_gone_when_its_source_goes_on_is_told_and_costs_no_task(
    renewed: Renewed,
) -> None:
    renewed.path.unlink()
    renewed.terms.renew("mill")

    assert renewed.cookie() == "SUB=1"
    assert "can't be read: No such file or directory" in renewed.log.text
