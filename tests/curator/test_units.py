"""What the ledger promised to one unit is not spent on another."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.curator.tables.promises import word_for
from lapwing.errors import IncompatibleLosses, InvalidParameter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("person,visit,row\n1,1,1\n1,2,1\n2,3,2\n")
    return tmp_path


def opened(folder: Path, unit: Any, allowance: lw.Loss | None = None, dataset: str = "visits") -> lw.PrivateTable:
    allowance = allowance or lw.PureDP(1)
    return lw.open(folder / "visits.csv", unit=unit, allowance=allowance, ledger=folder / "ledger.db", dataset=dataset)


@pytest.mark.parametrize("unit", ["visit", "row", lw.EACH_ROW])
def test_an_allowance_per_person_is_not_spent_per_something_else(folder: Path, unit: Any) -> None:
    lw.Ledger(folder / "ledger.db").open("visits", lw.PureDP(1))
    opened(folder, "person")
    with pytest.raises(InvalidParameter, match="per person, and this table is per"):
        opened(folder, unit)
    with pytest.raises(InvalidParameter, match="per person, and this table is per"):
        lw.open(folder / "visits.csv", unit=unit, ledger=folder / "ledger.db", dataset="visits")


def test_what_the_owner_writes_down_counts(folder: Path) -> None:
    lw.Ledger(folder / "ledger.db").open("visits", lw.PureDP(1))
    for unit in ("visit", lw.EACH_ROW):
        assert opened(folder, unit, lw.PureDP(1, unit="person")).context.unit == "person"


def test_a_column_called_row_is_not_each_row(folder: Path) -> None:
    opened(folder, lw.EACH_ROW, dataset="rows")
    with pytest.raises(InvalidParameter, match="per row, and this table is per “row”") as caught:
        opened(folder, "row", dataset="rows")
    assert "another dataset= name" in str(caught.value)
    opened(folder, "row", dataset="columns")
    with pytest.raises(InvalidParameter, match="per “row”, and this table is per row"):
        opened(folder, lw.EACH_ROW, dataset="columns")
    with pytest.raises(InvalidParameter, match="every row is a unit of its own"):
        opened(folder, "person", lw.PureDP(1, unit="row"), dataset="persons")


def test_every_column_has_a_word_of_its_own() -> None:
    names = ["row", "“row”", "““row””", "Row", "person", "“"]
    words = [word_for(name) for name in names]
    assert len({*words, word_for(lw.EACH_ROW)}) == len(names) + 1


def test_a_word_that_nobody_wrote_survives_what_is_done_with_a_loss() -> None:
    for loss in (lw.PureDP(1), lw.ApproxDP(1, 1e-6), lw.ZCDP(1)):
        for one in (loss, pickle.loads(pickle.dumps(loss))):
            assert type(one.unit) is not str
        said = type(loss)(*([1, 1e-6] if isinstance(loss, lw.ApproxDP) else [1]), unit="person")
        assert type(said.unit) is str
        assert loss == said


@pytest.mark.parametrize(
    ("promised", "written"),
    [
        (lw.ZCDP(2), "lw.ZCDP(2, unit='person')"),
        (lw.ZCDP(0.1, 1e-6), "lw.ZCDP(0.1, 1e-06, unit='person')"),
        (lw.ApproxDP(0.3, 0), "lw.ApproxDP(0.3, 0, unit='person')"),
        (lw.PureDP(1 / 3), "lw.PureDP(0.33333333333333304, unit='person')"),
        (lw.ZCDP(Fraction(1000, 3)), "lw.ZCDP(Fraction(375299968947541333, 1125899906842624), unit='person')"),
    ],
)
def test_whoever_follows_the_errors_of_a_table_of_rows_spends_what_the_ledger_has(
    folder: Path, promised: lw.Loss, written: str
) -> None:
    ledger = lw.Ledger(folder / "ledger.db")
    ledger.open("visits", promised)
    other = lw.PureDP if not isinstance(promised, lw.PureDP) else lw.ZCDP
    with pytest.raises(InvalidParameter, match="every row is about another person") as first:
        opened(folder, lw.EACH_ROW, other(0.01))
    assert f"allowance={written};" in first.value.hint
    with pytest.raises(IncompatibleLosses, match="leave allowance= out") as second:
        opened(folder, lw.EACH_ROW, other(0.01, unit="person"))
    assert f"Write {written} or a smaller one" in str(second.value)
    before = ledger.entries()
    assert opened(folder, lw.EACH_ROW, eval(written, {"lw": lw, "Fraction": Fraction})).context.unit == "person"
    assert ledger.entries() == before


def test_a_column_of_another_name_is_told_the_allowance_of_the_ledger(folder: Path) -> None:
    opened(folder, "person", lw.ApproxDP(3, 1e-5))
    with pytest.raises(InvalidParameter, match="If they are the same, write allowance=") as caught:
        opened(folder, "visit")
    assert "lw.ApproxDP(3, 1e-05, unit='person')" in caught.value.hint


def test_a_number_is_no_allowance_and_the_error_writes_one(folder: Path) -> None:
    with pytest.raises(InvalidParameter) as caught:
        opened(folder, "person", 2)  # type: ignore[arg-type]
    assert str(caught.value) == "allowance = 2: a number alone is no guarantee. Write allowance=lw.PureDP(2)."
