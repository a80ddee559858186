"""What a ledger promises against some parties only is never taken for a promise against everybody."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from lapwing.cli.ledger import app
from lapwing.errors import BudgetExceeded, IncompatibleLosses
from lapwing.privacy import ZCDP, ApproxDP, PureDP, Trust
from lapwing.privacy.ledger import Ledger

SERVERS = Trust(
    towards="either server alone", not_towards="both together", behaviour="semi-honest", assumes=("AES-128", "SHA-256")
)
OTHERS = replace(SERVERS, towards="the analyzer")


def loss(epsilon: float, trust: Trust | None = SERVERS) -> ApproxDP:
    return ApproxDP(epsilon, 1e-9, relation="replace", trust=trust)


@pytest.fixture
def ledger(place: str) -> Ledger:
    fresh = Ledger(place)
    fresh.open("people", loss(1))
    return fresh


def test_an_allowance_keeps_its_trust(ledger: Ledger, place: str) -> None:
    ledger.charge("people", loss(0.25))
    again = Ledger(place)
    assert again.remaining("people").trust == again.spent("people").trust == SERVERS
    assert str(again.remaining("people")).endswith("(replace, per person, towards either server alone)")
    [charge] = [entry.body for entry in again.entries() if entry.act == "charge"]
    assert "towards either server alone" in charge["losses"][0]
    with pytest.raises(BudgetExceeded, match="towards either server alone"):
        ledger.charge("people", loss(0.9))


def test_a_loss_that_holds_against_more_is_charged_and_one_against_others_is_not(ledger: Ledger) -> None:
    ledger.charge("people", PureDP(0.25, relation="replace"))
    ledger.charge("people", loss(0.25, replace(SERVERS, assumes=("AES-128",))))
    assert ledger.remaining("people").epsilon == 0.5  # type: ignore[attr-defined]
    for trust in (OTHERS, replace(SERVERS, behaviour="malicious"), replace(SERVERS, assumes=("AES-128", "RSA"))):
        with pytest.raises(IncompatibleLosses, match="the data set was promised more"):
            ledger.charge("people", loss(0.1, trust))
    assert ledger.remaining("people").epsilon == 0.5  # type: ignore[attr-defined]


def test_a_promise_to_everybody_is_not_spent_on_a_loss_that_holds_against_some(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("people", loss(1, None))
    with pytest.raises(IncompatibleLosses, match="Open it with an allowance of that trust"):
        ledger.charge("people", loss(0.1))
    ledger.open("rho", ZCDP(1, 1e-6, relation="replace", trust=SERVERS))
    ledger.charge("rho", loss(0.5))
    assert ledger.spent("rho").trust == SERVERS


def test_a_trust_is_not_exchanged_by_opening_again_or_for_an_analyst(ledger: Ledger) -> None:
    ledger.open("people", loss(1))
    ledger.open("people", loss(0.5), analyst="ada")
    for trust in (None, OTHERS):
        with pytest.raises(IncompatibleLosses, match="under another trust"):
            ledger.open("people", loss(1, trust))
        with pytest.raises(IncompatibleLosses, match="under another trust"):
            ledger.open("people", loss(0.1, trust), analyst="bob")
    with pytest.raises(IncompatibleLosses, match="another relation"):
        ledger.open("people", ApproxDP(1, 1e-9, trust=SERVERS))


def test_ledgers_without_a_trust_are_written_as_ever(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("people", PureDP(1))
    [entry] = ledger.entries()
    assert entry.body["relation"] == "add_remove"
    assert ledger.remaining("people") == PureDP(1)


def test_the_command_shows_against_whom_an_allowance_holds(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    Ledger(path).open("people", loss(1))
    shown = CliRunner().invoke(app, ["show", str(path)], env={"COLUMNS": "300"})
    assert shown.exit_code == 0
    assert "either server alone" in shown.output
