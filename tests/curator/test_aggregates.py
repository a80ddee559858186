"""Every aggregate × every law: what its class says of itself is what is asked, saved, shown and documented."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lapwing as lw
import lapwing.curator.aggregates as package
from lapwing.curator.aggregates import AGGREGATES, BY_KIND, PER_UNIT, Aggregate
from lapwing.curator.show.answer import Column
from lapwing.errors import InvalidCall
from lapwing.noise import Reproducible

ROOT = Path(__file__).resolve().parents[2]
FRAME = pd.DataFrame(
    {"p": range(40), "x": [float(i % 7 + 1) for i in range(40)], "y": [i % 5 for i in range(40)], "s": ["a", "b"] * 20}
)
ASKED: dict[str, Aggregate] = {
    "count": lw.count("x"),
    "units": lw.units(),
    "count distinct": lw.count_distinct("y"),
    "sum": lw.sum("x"),
    "mean": lw.mean("x"),
    "geometric mean": lw.geometric_mean("x"),
    "variance": lw.variance("x"),
    "std": lw.std("x"),
    "covariance": lw.covariance("x", "y"),
    "correlation": lw.correlation("x", "y"),
    "quantile": lw.quantile("x", 0.9),
    "histogram": lw.histogram("x", edges=[0, 4, 8]),
    "top": lw.top_k("s", 2),
}
every = pytest.mark.parametrize("aggregate", AGGREGATES, ids=lambda one: one.kind)


@pytest.fixture(scope="module")
def table() -> lw.PrivateTable:
    return lw.open(FRAME, unit="p", name="t", bounds={"x": (1, 8), "y": (0, 5)}, keys={"s": ["a", "b"]})


def test_every_aggregate_is_asked_here() -> None:
    assert list(ASKED) == [one.kind for one in AGGREGATES]
    assert all(BY_KIND[kind] is type(asked) for kind, asked in ASKED.items())


@every
def test_its_output_is_of_the_type_that_its_class_says(aggregate: type[Aggregate], table: lw.PrivateTable) -> None:
    query = table.agg(ASKED[aggregate.kind])
    answer = query.release(epsilon=1, entropy=Reproducible(1))
    column = next(one for one in answer.columns if not one.is_key)
    expected = "integer" if aggregate.whole else "number"
    assert (column.type, query.output_columns()[column.name].kind) == (expected, expected)
    assert all(isinstance(value, int) == aggregate.whole for value in column.values)
    assert Column("c", aggregate.kind, (1,)).type == expected, "of an answer that was stored, too"
    assert lw.Answer.from_json(answer.to_json()) == answer


@every
def test_an_answer_says_in_words_what_it_is(aggregate: type[Aggregate], table: lw.PrivateTable) -> None:
    answer = table.agg(ASKED[aggregate.kind]).release(epsilon=1)
    shown = "the number of rows" if aggregate.kind == "histogram" else aggregate.says.format(unit="p")
    assert shown in answer.explain().text


@every
def test_a_saved_question_is_the_same_question(aggregate: type[Aggregate], table: lw.PrivateTable) -> None:
    query = table.agg(ASKED[aggregate.kind])
    for text, read in ((query.to_yaml(), lw.Query.from_yaml), (query.to_json(), lw.Query.from_json)):
        assert read(text, table).digest() == query.digest()


@every
def test_the_handbook_has_it(aggregate: type[Aggregate]) -> None:
    text = (ROOT / "docs" / "curator.md").read_text(encoding="utf-8")
    table = text[text.index("## What can be asked") : text.index("A quantile is known")]
    function = {"top": "top_k"}.get(aggregate.kind, aggregate.kind.replace(" ", "_"))
    assert f"lw.{function}(" in table
    assert not aggregate.spelled or f"{aggregate.spelled.split()[0]}(" in table


@pytest.mark.parametrize("of", ["nodes", "functions"])
def test_no_two_aggregates_share_a_word_of_sql(of: str) -> None:
    words = [word for one in (*AGGREGATES, *PER_UNIT) for word in getattr(one, of)]
    assert len(words) == len(set(words))


def test_each_has_a_function_of_its_own() -> None:
    with pytest.raises(InvalidCall, match=r"lw\.mean"):
        lw.Aggregate(kind="mean", of=("x",))  # type: ignore[abstract, call-arg]


def test_nothing_outside_asks_which_aggregate_it_has() -> None:
    """What differs from one aggregate to another is in its class; elsewhere no name of one is compared with."""
    kinds = {one.kind for one in AGGREGATES} - {"count", "count distinct", "sum", "units"}  # totals, statistics
    inside = Path(package.__file__).parent
    for path in inside.parent.rglob("*.py"):
        if inside in path.parents:
            continue
        compared = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Compare | ast.Dict)]
        words = {one.value for node in compared for one in ast.walk(node) if isinstance(one, ast.Constant)}
        assert not words & kinds, path.name


def saved() -> list[dict[str, Any]]:
    return json.loads((Path(__file__).parent / "saved_questions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("question", saved(), ids=lambda one: one["about"])
def test_questions_that_were_saved_before_aggregates_were_classes_are_still_the_same(question: dict[str, str]) -> None:
    """Digests, too: ledgers know answers that were paid for by them."""
    columns = {"age": 0.5, "n": 1, "cost": 0.5, "region": "N", "smoker": True, "d": pd.Timestamp(2024, 1, 1).date()}
    data = pd.DataFrame({name: [value] for name, value in {"p": 1, **columns}.items()})
    bounds = {"age": (0, 100), "cost": (0, 150), "n": (0, 10)}
    table = lw.open(data, unit="p", name="t", bounds=bounds, keys={"region": ["N", "S", "E"]}, complete=["n"])
    query = lw.Query.from_yaml(question["yaml"], table)
    said, kept = (text.partition("\n")[2] for text in (query.to_yaml(), question["yaml"]))  # below a comment in words
    assert (said, query.digest()) == (kept, question["digest"])
    assert lw.Query.from_json(question["json"], table).to_json() == question["json"]


def test_the_answer_of_a_histogram_says_that_its_edges_leave_rows_out() -> None:
    data = pd.DataFrame({"p": [1, 2, 3], "age": [1.0, 50.0, None], "day": pd.to_datetime(["2024-01-01"] * 3)})
    table = lw.open(data, unit="p", name="t", bounds={"age": (0, 100)})
    for column, edges in (("age", [20, 40, 60]), ("day", ["2024-01-01", "2024-02-01"])):
        query = table.agg(lw.histogram(column, edges=edges))
        said = f"rows without a value of {column} between the first edge and the last are left out"
        answer = query.release(epsilon=1)
        told = (query.quote(epsilon=1), answer, answer.explain(), answer.statement())
        assert [said in " ".join(str(one).split()) for one in told] == [True] * 4
    assert not any("between the first edge" in note for note in table.agg(lw.count()).quote(epsilon=1).notes)
