"""The lab attacked: by owners who change their minds, by files made to harm, and by crowds of visitors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.web.lab import stating
from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.analyses.curated import blank
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.engine import engine
from lapwing.web.lab.intake import Found
from lapwing.web.lab.keeping import Lab, new_owner
from lapwing.web.lab.label import label
from lapwing.web.lab.proposals import Proposal
from lapwing.web.lab.result import Result
from lapwing.web.lab.statement import DATASET, Stated, Statement
from lapwing.web.problems import Problem
from lapwing.web.settings import Settings

STATED = Statement(
    name="rows",
    columns=(Stated("row"), Stated("age", "number", (0, 100)), Stated("town", "text", None, ("Kiel", "Bonn"))),
    epsilon=1.0,
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(Settings(lab_folder=tmp_path / "lab"))
    yield made
    made.close()


def brought(lab: Lab, statement: Statement | None = STATED) -> Bench:
    bench = lab.bring(new_owner(), "rows.csv")
    with engine(bench.folder) as db:
        rows = (
            "SELECT CAST(i AS VARCHAR) AS \"row\", CAST(i % 90 AS VARCHAR) AS age, 'Kiel' AS town FROM range(500) t(i)"
        )
        db.execute(f"COPY ({rows}) TO '{bench.path}' (FORMAT parquet)")
    bench.columns = tuple(Found(one.name) for one in STATED.columns)
    if statement is not None:
        bench.state(statement)
    return bench


def spend(bench: Bench, epsilon: float) -> None:
    bench.ledger.charge(DATASET, lw.PureDP(epsilon, unit=bench.stated.unit_word))


# What is stated, and what was spent


def test_a_column_called_row_is_not_every_row(lab: Lab) -> None:
    """Both units are called "row"; what was promised per row bounds nothing for whoever a column names."""
    bench = brought(lab)
    spend(bench, 0.25)
    with pytest.raises(Problem, match="Start over"):
        bench.state(replace(STATED, unit="row"))
    assert bench.stated.unit == ""


def test_what_was_spent_fixes_how_the_unit_is_read(lab: Lab) -> None:
    """As text, 1 and 01 are two people; as whole numbers they are one."""
    stated = replace(STATED, unit="row")
    numbers = replace(stated, columns=(Stated("row", "integer"), *STATED.columns[1:]))
    bench = brought(lab, stated)
    bench.state(numbers)
    bench.state(stated)  # nothing is spent yet
    spend(bench, 0.25)
    with pytest.raises(Problem, match="Start over"):
        bench.state(numbers)
    assert bench.remaining == lw.PureDP(0.75, unit="row")


def test_a_charge_that_comes_while_the_unit_changes_counts_and_blocks_nobody(lab: Lab) -> None:
    bench = brought(lab)
    close, slow = bench._close, iter([0.25])

    def meanwhile(statement: Statement) -> lw.PureDP:
        for epsilon in slow:
            spend(bench, epsilon)  # another tab, between the look at the ledger and its end
        return close(statement)  # type: ignore[return-value]

    bench._close = meanwhile  # type: ignore[method-assign]
    with pytest.raises(Problem, match="Start over"):
        bench.state(replace(STATED, unit="row"))
    assert bench.remaining == lw.PureDP(0.75, unit="row")
    spend(bench, 0.5)


def test_starting_over_counts_a_charge_that_came_in_the_last_moment(lab: Lab) -> None:
    bench = brought(lab)
    close = bench._close

    def meanwhile(statement: Statement) -> lw.PureDP:
        spend(bench, 0.25)
        return close(statement)  # type: ignore[return-value]

    bench._close = meanwhile  # type: ignore[method-assign]
    bench.start_over()
    assert bench.earlier == ["ε = 0.25 (add_remove, per row)"]


def sent(**changes: str) -> dict[str, str]:
    form = {"name": "rows", "unit": "", "rows": "1", "people": "500", "epsilon": "1", "delta": "0"}
    for place, one in enumerate(STATED.columns):
        form |= {f"type-{place}": one.type}
    return form | changes


READ = Proposal(bounds=(0.1 + 0.2, 1 / 3), private=False)
"""The form says 0.3 and 0.333333333333333, which are other numbers."""


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        ([READ], True),
        ([READ, Proposal(keys=("1", "2"), private=False)], True),
        ([READ, Proposal(why="no range holds so many people")], True),
        ([READ, Proposal(keys=("1", "2"))], True),
        ([READ, Proposal(bounds=(0.3, 0.333333333333333))], False),
    ],
    ids=["read", "then its keys", "then nothing found", "then keys found privately", "then found privately"],
)
def test_bounds_read_from_the_data_do_not_outlast_teaching_mode(lab: Lab, found: list[Proposal], refused: bool) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    for one in found:
        bench.propose("age", one)
    made, shown = stating.read(bench, sent(**{"low-1": "0.3", "high-1": "0.333333333333333"}))
    assert (made is None) == refused
    assert ("column-1" in shown.complaints) == refused


def test_keys_read_from_the_data_do_not_outlast_teaching_mode_however_they_are_written(lab: Lab) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    bench.propose("town", Proposal(keys=(" Kiel", 'Bonn, "am Rhein"', "Ulm\n"), private=False))
    form = sent(**{"keys-2": stating.filled(bench).lines[2].keys})
    assert "column-2" in stating.read(bench, form)[1].complaints


# What is said about errors


@pytest.mark.parametrize("epsilon", [0.001, 0.0149, 0.5, 0.69, 9.5])
def test_a_label_never_promises_more_accuracy_than_its_epsilon_has(lab: Lab, epsilon: float) -> None:
    question = ANALYSES["count"].of(STATED, {})
    [line] = [
        one.text
        for one in label(question, STATED, Result("number", (), loss=lw.PureDP(epsilon))).lines
        if one.name.startswith("error")
    ]
    said = float(line.split("±")[1].split()[0].replace(",", ""))
    [quoted] = blank(STATED).agg(lw.count()).quote(epsilon=epsilon).expected
    assert quoted.error is not None
    assert quoted.error * 0.995 <= said <= quoted.error * 1.4 + 1
