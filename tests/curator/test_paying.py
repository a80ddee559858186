"""How questions are paid for: before anything is read, by whoever asks, for every unit that was promised something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.curator.ask import central as releasing
from lapwing.errors import BudgetExceeded, EngineUnreachable, IncompatibleLosses, InvalidParameter, UnsupportedQuery

PATIENT = lw.PureDP(3, unit="patient")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("who,age\n" + "\n".join(f"{i % 5},{i}" for i in range(20)))
    (tmp_path / "drugs.csv").write_text("who,dose\n" + "\n".join(f"{i % 5},{i}" for i in range(20)))
    return tmp_path


def opened(folder: Path, name: str = "visits", **more: Any) -> lw.PrivateTable:
    options = {"unit": "who", "allowance": PATIENT, "ledger": folder / "ledger.db", **more}
    return lw.open(folder / f"{name}.csv", **options)


def count(table: lw.PrivateTable, **more: Any) -> lw.Answer:
    return table.agg(lw.count()).release(**{"epsilon": 0.5, **more})


def count_by_age(table: lw.PrivateTable, **more: Any) -> lw.Answer:
    """Of so many groups that Gaussian noise is smaller, so that a delta is spent."""
    grouped = table.bounded(max_groups_per_unit=30).group_by(years="CAST(age AS number)", keys={"years": range(30)})
    return grouped.agg(lw.count()).release(**{"epsilon": 0.5, **more})


def both(folder: Path, **more: Any) -> lw.PrivateTable:
    return opened(folder).having_rows_in(opened(folder, "drugs", **more))


def test_a_join_charges_both_data_sets_in_the_ledger_that_both_name(folder: Path) -> None:
    assert count(both(folder)).loss == lw.PureDP(0.5, unit="patient")
    ledger = lw.Ledger(folder / "ledger.db")
    assert ledger.spent("visits") == ledger.spent("drugs") == lw.PureDP(0.5, unit="patient")
    with pytest.raises(UnsupportedQuery, match="different ledgers"):
        both(folder, ledger=folder / "other.db")


def test_a_join_tells_the_least_that_remains(folder: Path) -> None:
    assert count(both(folder, allowance=lw.PureDP(1, unit="patient"))).remaining == lw.PureDP(0.5, unit="patient")


def test_a_join_is_asked_by_whoever_opened_either_table(folder: Path) -> None:
    opened(folder, "drugs")
    lw.Ledger(folder / "ledger.db").open("drugs", lw.PureDP(0.75, unit="patient"), analyst="ada")
    table = both(folder, analyst="ada", population=10**6)
    count(table)
    with pytest.raises(BudgetExceeded):
        count(table)
    with pytest.raises(InvalidParameter, match="publishing one"):
        count(table, delta=1e-5)
    with pytest.raises(UnsupportedQuery, match="bob"):
        opened(folder, analyst="bob").having_rows_in(opened(folder, "drugs", analyst="ada"))


def test_the_answer_tells_what_remains_to_the_one_who_asked(folder: Path) -> None:
    table = opened(folder, analyst="ada")
    ledger = lw.Ledger(folder / "ledger.db")
    ledger.open("visits", lw.PureDP(1, unit="patient"), analyst="ada")
    assert count(table).remaining == table.remaining() == lw.PureDP(0.5, unit="patient")
    assert table.agg(lw.count()).quote(epsilon=0.5).remaining == lw.PureDP(0.5, unit="patient")
    assert count(table, analyst="bob").remaining == lw.PureDP(2, unit="patient")
    count(table, analyst="bob", epsilon=1.75)
    assert table.remaining() == ledger.remaining("visits", analyst="ada") == lw.PureDP(0.25, unit="patient")


def test_who_opens_a_table_again_says_whom_it_is_about(folder: Path) -> None:
    opened(folder)
    with pytest.raises(InvalidParameter, match=r"per patient.*allowance=lw\.PureDP\(3, unit='patient'\)"):
        opened(folder, allowance=None)
    with pytest.raises(InvalidParameter, match="per patient"):  # per "who", a second promise by mistake
        opened(folder, allowance=lw.PureDP(3))
    assert lw.Ledger(folder / "ledger.db").units("visits") == ["patient"]
    count(opened(folder))


def test_an_allowance_that_no_question_could_be_charged_to_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidParameter, match="add_remove"):
        opened(folder, allowance=lw.PureDP(3, relation="replace"))
    assert lw.Ledger(folder / "ledger.db").datasets() == []


def test_what_is_no_allowance_and_no_mapping_is_told_what_to_write(folder: Path) -> None:
    for wrong in ({"allowance": 3}, {"max_units_per": [4]}, {"ledger": 5}, {"analyst": 5}, {"dataset": "a\nb"}):
        with pytest.raises(InvalidParameter):
            count(opened(folder, **wrong))


def test_an_owner_may_promise_something_to_a_person_and_the_table_name_its_column(folder: Path) -> None:
    ledger = lw.Ledger(folder / "ledger.db")
    ledger.open("visits", lw.PureDP(3))
    count(opened(folder, allowance=lw.PureDP(3, unit="person")))
    assert ledger.spent("visits") == lw.PureDP(0.5)


def test_a_household_pays_for_as_many_patients_as_it_may_have(folder: Path) -> None:
    ledger = lw.Ledger(folder / "ledger.db")
    ledger.open("visits", PATIENT)
    ledger.open("visits", lw.PureDP(10, unit="household"))
    with pytest.raises(InvalidParameter, match=r"max_units_per=\{'household': 4\}"):
        count(opened(folder))
    assert len(ledger.entries()) == 2
    with pytest.raises(InvalidParameter, match="has no allowance per family"):
        opened(folder, max_units_per={"family": 4})
    table = opened(folder, max_units_per={"household": 4})
    answer = count(table, key="q")
    assert (answer.loss, answer.remaining) == (lw.PureDP(0.5, unit="patient"), lw.PureDP(2.5, unit="patient"))
    assert table.remaining() == table.agg(lw.count()).quote(epsilon=1).remaining == answer.remaining
    assert ledger.spent("visits", "household") == lw.PureDP(2, unit="household")
    with pytest.raises(InvalidParameter, match="another question"):
        count(opened(folder, max_units_per={"household": 2}), key="q")
    with pytest.raises(BudgetExceeded, match="per household"):
        count(table, epsilon=2.25)
    opened(folder, "drugs")
    joined = table.having_rows_in(opened(folder, "drugs"))
    count(joined)
    assert ledger.spent("visits", "household") == lw.PureDP(4, unit="household")
    for wrong in (0, 2.5, "4"):
        with pytest.raises(InvalidParameter):
            opened(folder, max_units_per={"household": wrong})


def test_a_description_says_how_many_patients_a_household_has(folder: Path) -> None:
    ledger = lw.Ledger(folder / "ledger.db")
    for unit in ("patient", "household"):
        ledger.open("visits", lw.PureDP(3, unit=unit))
    facts = "source: visits.csv\nunit: who\nallowance: {epsilon: 3, unit: patient}\nledger: ledger.db\nmax_units_per: "
    (folder / "visits.yaml").write_text(facts + "{household: 4}")
    count(lw.open_described(folder / "visits.yaml"))
    assert ledger.spent("visits", "household") == lw.PureDP(2, unit="household")
    (folder / "wrong.yaml").write_text(facts + "4")
    with pytest.raises(InvalidParameter, match=r"max_units_per: \{household: 4\}"):
        lw.open_described(folder / "wrong.yaml")


def test_accountants_of_unit_types_may_differ(folder: Path) -> None:
    ledger = lw.Ledger(folder / "ledger.db")
    ledger.open("visits", lw.PureDP(3, unit="patient"))
    ledger.open("visits", lw.ZCDP(9, unit="household"))
    count(opened(folder, max_units_per={"household": 4}))
    assert ledger.spent("visits", "household") == lw.ZCDP(2, unit="household")  # (4 · 0.5)² / 2


@pytest.mark.parametrize(
    ("allowance", "asked", "hint"),
    [
        (
            lw.PureDP(3),
            {"epsilon": None, "rho": 0.1},
            r"Write epsilon=0\.5\. A rho needs .*ZCDP.* cannot be changed later",
        ),
        (
            lw.PureDP(3),
            {"delta": 1e-6},
            r"epsilon=0\.5 without delta=\. For secret keys, declare them: keys=.*ApproxDP\(3, 1e-5\)",
        ),
        (lw.ApproxDP(3, 1e-5), {"epsilon": None, "rho": 0.1}, "Write epsilon=0.5, with or without delta=1e-6"),
    ],
)
def test_a_question_priced_in_another_kind_is_told_which_to_use(
    folder: Path, allowance: lw.Loss, asked: Any, hint: str
) -> None:
    table = opened(folder, allowance=allowance)
    with pytest.raises(IncompatibleLosses, match=hint):
        count_by_age(table, **asked)
    assert table.context.ledger is not None
    assert len(table.context.ledger.entries()) == 1


def test_every_kind_is_charged_the_right_amount(folder: Path) -> None:
    approximate = opened(folder, allowance=lw.ApproxDP(3, 2**-16), dataset="a")
    assert count(approximate).remaining == lw.ApproxDP(2.5, 2**-16, unit="who")
    assert count_by_age(approximate, delta=2**-17).remaining == lw.ApproxDP(2, 2**-17, unit="who")
    assert count(approximate, delta=2**-17).remaining == lw.ApproxDP(1.5, 2**-17, unit="who"), "no delta is needed"
    concentrated = opened(folder, allowance=lw.ZCDP(1), dataset="z")
    assert count(concentrated).remaining == lw.ZCDP(0.875, unit="who")
    assert count(concentrated, epsilon=None, rho=0.375).remaining == lw.ZCDP(0.5, unit="who")
    with pytest.raises(BudgetExceeded, match=r"requested ρ = 0\.125, δ = 1e-06"):
        count_by_age(concentrated, delta=1e-6)


def test_a_key_needs_a_ledger_that_keeps_the_answer(folder: Path) -> None:
    with pytest.raises(InvalidParameter, match="ledger"):
        count(opened(folder, allowance=None, ledger=None), key="monday")


def test_what_failed_stays_charged_and_the_key_finds_its_charge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, ledger = opened(folder), folder / "ledger.db"
    away = (folder / "visits.csv").rename(folder / "away.csv")
    with pytest.raises(EngineUnreachable):
        count(table, key="q")
    assert table.remaining() == lw.PureDP(2.5, unit="patient")
    away.rename(folder / "visits.csv")
    for other in ({"epsilon": 0.25}, {"confidence": 0.9}, {"analyst": "ada"}, {"epsilon": None, "within": 20}):
        with pytest.raises(InvalidParameter, match="another question"):
            count(table, key="q", **other)
    renamed = lw.open(
        folder / "visits.csv", unit="who", name="again", dataset="visits", allowance=PATIENT, ledger=ledger
    )
    for another in (table.where("age = '3'"), opened(folder, "drugs"), renamed):
        with pytest.raises(InvalidParameter, match="another question"):
            count(another, key="q")
    answer = count(table, key="q")
    assert table.remaining() == answer.remaining == lw.PureDP(2.5, unit="patient")
    monkeypatch.setattr(releasing, "look", None)  # the data is not looked at again
    again = count(table, key="q")
    assert again.to_json() == answer.to_json()
    assert "costs ε = 0.5 (add_remove, per patient) · ε = 2.5 remains" in str(answer)
    for shown in (str(again), again._repr_html_()):
        assert "the first time; free this time" in shown
        assert "remains" not in shown


ASK = """
import os, signal, sys
import lapwing as lw
from lapwing.privacy import Ledger
step, folder = sys.argv[1:]
table = lw.open(folder + "/visits.csv", unit="who", allowance=lw.PureDP(3), ledger=folder + "/ledger.db")
act = getattr(Ledger, step.partition(" ")[2] or "units")
def killed(self, *arguments, **more):
    if step.startswith("after"):
        act(self, *arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)
if step != "none":
    setattr(Ledger, act.__name__, killed)
print(table.agg(lw.count()).release(epsilon=0.5, key="q").to_json())
"""


def test_killed_around_the_record_nothing_was_shown_and_the_key_finds_what_was_kept(folder: Path) -> None:
    def ask(step: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([sys.executable, "-c", ASK, step, str(folder)], capture_output=True, env=dict(os.environ))

    kept = []
    for step in ("after charge", "before record", "after record"):
        result = ask(step)
        assert (result.returncode, result.stdout) == (-signal.SIGKILL, b""), result.stderr
        [charge] = [entry for entry in lw.Ledger(folder / "ledger.db").entries() if entry.act == "charge"]
        kept.append(charge.number)
    assert set(kept) == {2}
    first, second = ask("none"), ask("none")
    assert first.stdout == second.stdout != b"", first.stderr
    assert lw.Ledger(folder / "ledger.db").spent("visits") == lw.PureDP(0.5, unit="who")


def test_the_note_of_an_answer_without_a_ledger_names_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = lw.open({"x": np.array([1, 2])}, unit=lw.EACH_ROW, ledger=lw.NO_LEDGER)
    assert lw.NO_LEDGER in table.agg(lw.count()).release(epsilon=1).notes
    assert not list(tmp_path.iterdir())
