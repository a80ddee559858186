"""What the ledger promised to one unit is not spent on another."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.curator.tables.promises import word_for
from lapwing.errors import InvalidParameter


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
