"""What an owner learns from a check: exact counts, the same on every engine, and that it is not private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from everywhere import everywhere
from typer.testing import CliRunner

import lapwing as lw
from lapwing.cli.commands import app
from lapwing.curator.plan.limits import Frequencies, Means, trade_off
from lapwing.errors import InvalidParameter, LapwingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [
    # who, age (as text), region, weight
    ("ada", "34", "North", 60.0),
    ("ada", "34", "North", 60.0),
    ("ada", "NA", "South", None),
    ("ben", "150", "Moon", 300.0),
    ("ben", "", None, float("nan")),
    ("cy", "-3", "South", 70.0),
    (None, "50", "North", 80.0),
]
TYPES = {"who": "text", "age": "text", "region": "text", "weight": "number"}
DECLARED: dict[str, Any] = {
    "unit": "who",
    "types": {"age": "number"},
    "bounds": {"age": (0, 120), "weight": (40, 200)},
    "keys": {"region": ["North", "South"]},
}


def verify(check: lw.curator.Check) -> None:
    assert (check.rows, check.units, check.rows_without_unit, check.duplicates) == (7, 3, 1, 1)
    age, region, weight = check["age"], check["region"], check["weight"]
    assert (age.absent, age.unread, age.below, age.above) == (1, 1, 1, 1)
    assert [(one.text, one.cells) for one in age.examples] == [("NA", 1)]
    assert (region.absent, region.unread, region.elsewhere) == (1, 0, 1)
    assert [(one.text, one.cells) for one in region.others] == [("Moon", 1)]
    assert (weight.absent, weight.unread, weight.below, weight.above) == (1, 1, 0, 1)
    rows, regions = check.per_unit
    assert rows.frequencies.counts == {3: 1, 2: 1, 1: 1}
    assert regions.frequencies.counts == {2: 1, 1: 1}  # the moon is no region, and ben has no other
    assert [one.limit for one in rows.limits] == [1, 2, 3]
    mean, off = rows.limits[-1].means["weight"]
    assert (round(mean, 6), off) == (97.5, 0)  # (60 + 60 + 200 + 70) / 4


def test_a_check_counts_what_fits_on_every_engine(postgres_url: str, spark: SparkSession) -> None:
    for source in everywhere(ROWS, TYPES, postgres_url, spark).values():
        verify(lw.open(**source, **DECLARED).check())


def test_a_check_says_first_that_it_is_not_private(tmp_path: Path) -> None:
    check = _table(tmp_path).check()
    assert str(check).strip().startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in check._repr_html_()
    assert "'NA' (1)" in str(check)


def test_a_check_of_a_table_that_is_opened_for_an_analyst_is_refused(tmp_path: Path) -> None:
    table = _table(tmp_path, analyst="eve", ledger=tmp_path / "ledger.db", allowance=lw.PureDP(1, unit="who"))
    with pytest.raises(InvalidParameter, match="analyst"):
        table.check()


def test_a_check_of_computed_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"lw\.open"):
        _table(tmp_path).where("age > 3").check()


def test_a_check_spends_nothing_and_writes_nothing(tmp_path: Path) -> None:
    table = _table(tmp_path, ledger=tmp_path / "ledger.db", allowance=lw.PureDP(1, unit="who"))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    table.check()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_check_shows_the_objects_of_a_frame_that_cannot_be_read() -> None:
    cells = [3, 2.0, "4", "x", "x", None, " ", 10**30, True, "NA"]
    frames = (pd.DataFrame({"p": range(10), "n": cells}), {"p": np.arange(10), "n": np.array(cells, dtype=object)})
    for frame in frames:
        table = lw.open(frame, unit="p", types={"n": "integer"}, bounds={"n": (0, 3)}, missing="NA")
        found = table.check()["n"]
        assert (found.rows, found.absent, found.unread, found.above) == (10, 3, 4, 1)
        assert [(one.text, one.cells) for one in found.examples] == [("x", 2), (str(10**30), 1), ("true", 1)]
    odd = pd.DataFrame({"p": range(2), "n": [1j, 2], "t": pd.to_datetime(["2026-01-01", None])})
    check = lw.open(odd, unit="p", types={"n": "number", "t": "number"}).check()
    assert [(check[name].absent, check[name].unread) for name in ("n", "t")] == [(0, 1), (1, 1)]


def test_the_command_checks_a_file_and_leaves_a_ledger_alone(tmp_path: Path) -> None:
    _table(tmp_path)
    description = tmp_path / "visits.yaml"
    description.write_text("source: visits.csv\nunit: who\nledger: ledger.db\nallowance: {epsilon: 1}\n")
    done = CliRunner().invoke(app, ["check", str(description), "--bounds", "age=0:120"])
    assert done.exit_code == 0, done.output
    assert "NOT PRIVATE" in done.output
    assert "'NA' (1)" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["visits.csv", "visits.yaml"]


def test_a_file_with_semicolons_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who;age\nada;34\n")
    try:
        hints = lw.open(path, unit=lw.EACH_ROW).check().hints
    except LapwingError as refused:  # or even earlier
        hints = (str(refused),)
    assert any("delimiter=';'" in hint for hint in hints)


def test_records_that_are_left_out_because_they_are_no_utf8_are_told(tmp_path: Path) -> None:
    path = tmp_path / "names[1].csv"
    path.write_bytes("who,name\n1,Ada\n2,René\n3,Zoë\n".encode("latin-1"))
    [hint] = lw.open(path, unit="who").check().hints
    assert hint.startswith("Lines that are not UTF-8 (Latin-1, perhaps): 2.")
    path.write_text("who,name\n1,Ada\n2,René\n3,Zoë\n", encoding="utf-8")
    assert lw.open(path, unit="who").check().hints == ()


def test_the_recommended_limit_has_the_smallest_error() -> None:
    found = Frequencies({1: 1000, 10: 100, 1000: 1})
    limits, best = trade_off(found, 1.0)
    assert best == min(limits, key=lambda one: one.error).limit == 10  # 990 rows lost, instead of 3,000 of noise
    assert limits[0].kept == 1101
    assert limits[-1].kept == found.total
    assert trade_off(found, 100.0)[1] == 1000


def test_means_over_a_fair_sample_weigh_units_by_the_rows_they_keep() -> None:
    means = Means("x", ((1, 1, 10.0, 0.0), (9, 1, 0.0, 4.0)))  # one unit with 10, one with nine values around 0
    assert means.over_all() == 1.0
    at = means.over_kept(1)
    assert at is not None
    assert at[0] == 5.0  # each unit keeps one row
    assert at[1] == pytest.approx(2 * (8 / 9 * 4.0) ** 0.5 / 2)
    assert means.over_kept(9) == (1.0, 0.0)


def _table(folder: Path, **more: Any) -> lw.curator.PrivateTable:
    lines = ["who,age,region,weight", *(",".join("" if cell is None else str(cell) for cell in row) for row in ROWS)]
    path = folder / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return lw.open(path, **{**DECLARED, **more})
