"""Several units in one data set: what was promised to a household is not paid for by what a patient lost."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner
from vandals import forge

from lapwing.cli.ledger import app
from lapwing.errors import BudgetExceeded, IncompatibleLosses, InvalidParameter, LedgerDamaged
from lapwing.privacy import ZCDP, Loss, PureDP
from lapwing.privacy.ledger import Ledger


def patient(epsilon: float) -> PureDP:
    return PureDP(epsilon, unit="patient")


def household(epsilon: float) -> PureDP:
    return PureDP(epsilon, unit="household")


@pytest.fixture
def ledger(place: str) -> Ledger:
    fresh = Ledger(place)
    fresh.open("visits", patient(3))
    fresh.open("visits", household(10))
    return fresh


def test_each_unit_has_an_allowance_of_its_own(ledger: Ledger, place: str) -> None:
    ledger.charge("visits", [patient(0.5), household(2)])
    ledger.charge("visits", [household(3), patient(0.25)])  # in any order
    assert ledger.units("visits") == ["household", "patient"]
    assert ledger.remaining("visits", "patient") == patient(2.25)
    assert ledger.remaining("visits", unit="household") == household(5)
    assert ledger.spent("visits", "household") == household(5)
    Ledger(place)


def test_either_allowance_refuses_and_then_nothing_is_spent_on_the_other(ledger: Ledger) -> None:
    for losses in ([patient(1), household(11)], [patient(4), household(1)]):
        with pytest.raises(BudgetExceeded) as caught:
            ledger.charge("visits", losses)
        assert caught.value.requested == max(losses, key=lambda loss: loss.epsilon)
    assert ledger.spent("visits", "patient") == patient(0)
    assert ledger.spent("visits", "household") == household(0)
    assert [entry.act for entry in ledger.entries()] == ["open", "open"]


@pytest.mark.parametrize("loss", [patient(0.1), household(0.1), [patient(0.1)], PureDP(0.1)])
def test_a_charge_that_leaves_a_unit_out_is_refused_and_says_what_to_write(ledger: Ledger, loss: Loss) -> None:
    with pytest.raises(IncompatibleLosses, match=r"list with the loss for every unit: .*for_group\(k\)"):
        ledger.charge("visits", loss)
    assert ledger.spent("visits", "patient") == patient(0)


def test_a_charge_names_no_unit_twice_and_none_that_nobody_knows(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="exactly one loss per unit"):
        ledger.charge("visits", [patient(0.1), patient(0.1), household(1)])
    with pytest.raises(InvalidParameter, match="exactly one loss"):
        ledger.charge("visits", [])
    with pytest.raises(IncompatibleLosses, match="no data set named has an allowance per doctor"):
        ledger.charge("visits", [patient(0.1), household(1), PureDP(1, unit="doctor")])
    for nonsense in ("PureDP(1)", ["PureDP(1)"], 0.1, None):
        with pytest.raises(InvalidParameter):
            ledger.charge("visits", nonsense)  # type: ignore[arg-type]


def test_after_the_first_charge_no_unit_is_promised_anything_new(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("visits", patient(3))
    ledger.open("others", patient(3))
    ledger.charge("visits", patient(0))  # costs nothing, but who knows about a household
    with pytest.raises(InvalidParameter, match="before the first charge"):
        ledger.open("visits", household(100))
    ledger.open("visits", patient(2))  # less for a known unit is fine
    ledger.open("others", household(10))  # nothing was charged there
    assert ledger.units("visits") == ["patient"]


def test_a_join_charges_each_data_set_for_its_own_units(ledger: Ledger) -> None:
    ledger.open("wards", PureDP(1, unit="ward"))
    ledger.charge(["visits", "wards"], [patient(0.5), household(2), PureDP(0.25, unit="ward")])
    assert ledger.remaining("wards") == PureDP(0.75, unit="ward")
    assert ledger.remaining("visits", "patient") == patient(2.5)
    with pytest.raises(IncompatibleLosses, match="'wards' has an allowance per ward"):
        ledger.charge(["visits", "wards"], [patient(0.5), household(2)])


def test_units_may_be_counted_by_different_accountants(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("visits", ZCDP(1, unit="patient"))
    ledger.open("visits", PureDP(4, unit="household", relation="replace"))
    ledger.charge("visits", [patient(1), PureDP(3, unit="household", relation="replace")])
    assert ledger.remaining("visits", "patient") == ZCDP(0.5, unit="patient")
    with pytest.raises(IncompatibleLosses, match="another relation"):
        ledger.charge("visits", [patient(0.1), household(0.1)])
    with pytest.raises(IncompatibleLosses, match="counted in ZCDP"):
        ledger.open("visits", patient(1))


def test_an_analyst_may_be_bounded_for_one_unit_and_what_was_spent_before_counts(ledger: Ledger, place: str) -> None:
    ledger.charge("visits", [patient(0.25), household(1)], analyst="ada")
    ledger.open("visits", household(3), analyst="ada")
    assert ledger.analysts("visits") == ledger.analysts("visits", "household") == ["ada"]
    assert ledger.analysts("visits", "patient") == []
    assert ledger.remaining("visits", analyst="ada") == household(2)
    ledger.charge("visits", [patient(0.25), household(2)], analyst="ada")
    with pytest.raises(BudgetExceeded, match="per household"):
        ledger.charge("visits", [patient(0.25), household(0.1)], analyst="ada")
    ledger.charge("visits", [patient(0.25), household(0.1)], analyst="bob")
    with pytest.raises(InvalidParameter, match="allowances per household and per patient"):
        ledger.open("visits", PureDP(1, unit="doctor"), analyst="ada")
    Ledger(place)


def test_the_unit_must_be_named_where_there_are_several(ledger: Ledger) -> None:
    for unit in (None, "doctor", 5):
        with pytest.raises(InvalidParameter, match="allowances per household and per patient"):
            ledger.remaining("visits", unit)  # type: ignore[arg-type]


def test_a_key_is_bound_to_the_loss_of_every_unit(ledger: Ledger) -> None:
    first = ledger.charge("visits", [patient(0.5), household(2)], key="q")
    assert ledger.charge("visits", [household(2), patient(0.5)], key="q") == first
    with pytest.raises(InvalidParameter, match="another question"):
        ledger.charge("visits", [patient(0.5), household(1)], key="q")


def test_spending_moved_from_one_unit_to_another_is_found(ledger: Ledger, place: str) -> None:
    ledger.charge("visits", [patient(1), household(2)])
    forge(place, "UPDATE budget SET spent_size = 0 WHERE unit = 'household'")
    with pytest.raises(LedgerDamaged, match="totals"):
        Ledger(place)


def test_the_command_line_shows_every_unit(ledger: Ledger, place: str) -> None:
    ledger.charge("visits", [patient(0.5), household(2)])
    ledger.open("visits", household(3), analyst="ada")
    shown = CliRunner().invoke(app, ["show", place], env={"COLUMNS": "300"}).output.split("\n")
    lines = [" ".join(line.split()) for line in shown if "ε" in line]
    assert lines == [
        "visits ε = 2 (add_remove, per household) ε = 8 (add_remove, per household)",
        "ada ε = 0 (add_remove, per household) ε = 3 (add_remove, per household)",
        "visits ε = 0.5 (add_remove, per patient) ε = 2.5 (add_remove, per patient)",
    ]
