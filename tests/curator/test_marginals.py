"""Marginals of a table: what they count, what one unit can move, whether they agree, and whether intervals hold."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import polars as pl
import pytest
from cases import together
from chance import assert_seldom
from everywhere import everywhere
from questions import fetch, salted

import lapwing as lw
from lapwing.curator.ask import reader
from lapwing.curator.ask.marginals import MarginalsQuestion, sums_of
from lapwing.curator.plan.statistics import Statistic
from lapwing.errors import BudgetExceeded, InvalidParameter, NotPrivateWarning, UnsupportedQuery
from lapwing.noise import Reproducible
from lapwing.privacy import ZCDP, ApproxDP, PureDP

FALSE_ALARM = 1e-6
TYPES = {"who": "integer", "sex": "text", "age": "integer", "town": "text", "paid": "number"}
KEYS: dict[str, Any] = {"sex": ["f", "m"], "age": [0, 20, 40], "town": ["A", "B", None]}
SETS = [["sex", "age"], ["age", "town"]]
EXACT = 10**12
"""An epsilon so large that no noise is left."""


def drawn_rows(seed: int, people: int, most: int) -> list[tuple[Any, ...]]:
    """Rows of people with one or several, some with values that are not public, and some missing."""
    draw = random.Random(seed)
    return [
        (
            who,
            draw.choice(["f", "m", "m", None, "x"]),
            draw.choice([0, 20, 40, 40, 41, None]),
            draw.choice(["A", "B", None, "C"]),
            draw.choice([None, 0.5, 3.0, float("nan"), 1e9]),
        )
        for who in range(people)
        for _ in range(draw.randint(1, most))
    ]


def opened(rows: list[tuple[Any, ...]], **options: Any) -> lw.PrivateTable:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(TYPES) | _SCHEMA, orient="row")
    return lw.open(frame, name="t", **{"unit": "who", "keys": KEYS, "bounds": {"paid": (0, 4)}, **options})


_SCHEMA: dict[str, Any] = {"who": pl.Int64, "sex": pl.String, "age": pl.Int64, "town": pl.String, "paid": pl.Float64}


def seeded(seed: int) -> Reproducible:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return Reproducible(b"%032d" % seed)


def exact_tables(question: MarginalsQuestion, seed: int) -> list[list[int]]:
    """The integers before noise, from the engine."""
    by_place = fetch(question, salted(seed))  # type: ignore[arg-type]
    return sums_of(question.family, [(place, numbers[0]) for place, numbers in by_place.items()])


def counted(rows: list[tuple[Any, ...]], names: list[str], *, among: list[str]) -> list[int]:
    """How many rows each cell has, of those whose values in all columns are public: plain Python."""
    places = list(TYPES)
    known = [row for row in rows if all(row[places.index(name)] in KEYS[name] for name in among)]
    found = Counter(tuple(row[places.index(name)] for name in names) for row in known)
    cells: list[tuple[Any, ...]] = [()]
    for name in names:
        cells = [(*cell, value) for cell in cells for value in KEYS[name]]
    return [found[cell] for cell in cells]


def test_without_noise_they_are_the_counts_of_rows_that_have_public_values_everywhere() -> None:
    rows = drawn_rows(1, 300, 1)
    released = opened(rows).marginals([*SETS, []]).release(epsilon=EXACT)
    for names in (["sex", "age"], ["age", "town"], [], ["age"], ["town"]):
        values = [round(value) for value in released[names]["count"]]
        assert values == counted(rows, names, among=["sex", "age", "town"])


def test_expressions_may_be_columns_of_marginals() -> None:
    rows = drawn_rows(1, 200, 1)
    released = opened(rows).marginals([["grown", "sex"], ["grown"]], grown="age >= 20").release(epsilon=EXACT)
    known = [row for row in rows if row[1] in KEYS["sex"] and row[2] is not None]
    assert [round(n) for n in released["grown"]["count"]] == [
        sum((row[2] >= 20) == old for row in known) for old in (False, True)
    ]
    with pytest.raises(InvalidParameter, match="in none of the marginals"):
        opened(rows).marginals(SETS, grown="age >= 20")


def test_everything_else_is_counted_in_all_of_them() -> None:
    rows = drawn_rows(2, 300, 1)
    released = opened(rows).marginals(SETS, everything_else=True).release(epsilon=EXACT)
    assert round(released[()]["count"][0]) == len(rows)
    assert "everything else" in released["sex"]["sex"]


@together("seed, most", [(seed, most) for seed in range(6) for most in (1, 2, 5)])
def test_the_integers_are_those_of_the_oracle(seed: int, most: int) -> None:
    rows = drawn_rows(seed, 12, 4)
    table = opened(rows).bounded(max_rows_per_unit=most)
    question = table.marginals(SETS)
    plain = {"t": [dict(zip(TYPES, row, strict=True)) for row in rows]}
    expected = oracle.integers(question, plain, salted(seed).seed)  # type: ignore[arg-type]
    assert exact_tables(question, seed) == sums_of(question.family, [(g, n[0]) for g, n in expected.items()])


@together("seed, most", [(seed, most) for seed in range(4) for most in (1, 2)])
def test_no_unit_moves_a_marginal_further_than_its_noise_is_for(seed: int, most: int) -> None:
    rows, reached = drawn_rows(seed, 8, 6), False

    def tables(kept: list[tuple[Any, ...]]) -> list[list[int]]:
        return exact_tables(opened(kept).bounded(max_rows_per_unit=most).marginals(SETS), seed)

    question = opened(rows).bounded(max_rows_per_unit=most).marginals(SETS)
    everybody = tables(rows)
    l1, squared = Statistic("rows").sensitivity(question.effective)
    for who in range(8):
        for one, other in zip(everybody, tables([row for row in rows if row[0] != who]), strict=True):
            moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
            assert sum(moves) <= l1
            assert sum(move * move for move in moves) <= squared
            reached |= sum(moves) == l1
    assert reached


@pytest.mark.sweep
def test_every_engine_reads_the_same_integers(postgres_url: str, spark: Any) -> None:
    rows = drawn_rows(7, 40, 3)
    found = {}
    for engine, where in everywhere(rows, TYPES, postgres_url, spark, "marginal_rows").items():
        table = lw.open(**where, unit="who", keys=KEYS, bounds={"paid": (0, 4)}, name="t").bounded(max_rows_per_unit=2)
        found[engine] = exact_tables(table.marginals(SETS), 7)
    assert found["duckdb"] == found["postgres"] == found["spark"]


@pytest.mark.parametrize("spend", [{"epsilon": 1}, {"rho": 0.1}, {"epsilon": 1, "delta": 1e-6}], ids=str)
def test_they_agree_exactly_and_cost_what_was_said(spend: dict[str, Any]) -> None:
    question = opened(drawn_rows(3, 200, 1)).marginals([["sex", "age"], ["age", "town"], ["sex", "town"]])
    released = question.release(**spend)
    for one, other in combinations(released.sets, 2):
        [shared] = set(one) & set(other)
        sums = [_sums(released[names], shared) for names in (one, other)]
        assert sums[0] == sums[1] == dict(zip(released[shared][shared], released[shared]["count"], strict=True))
    losses = [item.privacy_loss() for item in question.priced(question.budget(*(spend.get(n) for n in _BUDGET)))]
    assert len(losses) == 3
    assert type(released.loss) in (PureDP, ZCDP, ApproxDP)
    if "delta" not in spend:
        assert sum(losses[1:], start=losses[0]) <= released.loss  # type: ignore[arg-type]


_BUDGET = ("epsilon", "delta", "rho")


def _sums(answer: lw.Answer, name: str) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for row in answer.table:
        found[row[name]] = found.get(row[name], 0.0) + row["count"]
    return found


def test_whole_numbers_agree_too_and_are_not_negative() -> None:
    released = opened(drawn_rows(4, 60, 1)).marginals([*SETS, ["town"]], integers=True).release(epsilon=0.5)
    values = [value for names in released.sets for value in released[names]["count"]]
    assert all(type(value) is int and value >= 0 for value in values)
    assert _sums(released["sex", "age"], "age") == _sums(released["age", "town"], "age")
    assert _sums(released["age", "town"], "town") == _sums(released["town"], "town")
    for column in (released[names].table.column("count") for names in released.sets):
        assert column.noise is not None
        assert all(span and span[0] >= 0 for span in column.noise)
        assert all(
            span and span[0] <= value <= span[1] for value, span in zip(column.values, column.noise, strict=True)
        )


@pytest.mark.parametrize("spend", [{"epsilon": 0.5}, {"rho": 0.05}], ids=str)
@pytest.mark.parametrize("integers", [False, True])
def test_intervals_hold_as_often_as_they_say(spend: dict[str, Any], integers: bool) -> None:
    rows = drawn_rows(5, 400, 1)
    question = opened(rows).marginals(SETS, integers=integers, weights=[1, 3])
    names = ["sex", "age", "town"]
    truth = [counted(rows, part, among=names) for part in SETS]
    missed = np.zeros(sum(map(len, truth)))
    runs = 60
    for run in range(runs):
        released = question.release(confidence=0.9, entropy=seeded(run), progress=False, **spend)
        spans = [span for part in SETS for span in released[part].table.column("count").noise or ()]
        exact = [number for part in truth for number in part]
        missed += [not (span and span[0] <= number <= span[1]) for span, number in zip(spans, exact, strict=True)]
    for failures in missed:
        assert_seldom(int(failures), runs, 0.1)
    if not integers:  # and they are no wider than they need be
        assert missed.sum() > 0.04 * runs * len(missed)


def test_sums_agree_as_counts_do() -> None:
    rows = drawn_rows(6, 200, 1)
    released = opened(rows).marginals(SETS, lw.count(), lw.sum("paid")).release(epsilon=EXACT)
    paid = dict.fromkeys(("f", "m"), 0.0)
    for _, sex, age, town, amount in rows:
        if sex in paid and age in KEYS["age"] and town in KEYS["town"] and amount is not None and amount == amount:
            paid[sex] += min(4.0, amount)
    assert released["sex"]["sum_paid"] == pytest.approx(tuple(paid.values()), abs=1e-3)
    noisy = opened(rows).marginals(SETS, lw.sum("paid")).release(epsilon=1)
    assert sum(noisy["sex", "age"]["sum_paid"]) == sum(noisy["age", "town"]["sum_paid"])


def test_one_charge_is_recorded_and_a_key_gives_the_same_tables_again(tmp_path: Path) -> None:
    options = {"allowance": lw.PureDP(2, unit="person"), "ledger": tmp_path / "ledger.db"}
    question = opened(drawn_rows(8, 50, 1), **options).marginals(SETS)
    first, again = (question.release(epsilon=1, key="tables") for _ in range(2))
    assert again.answer.repeated
    assert first.answer.columns == again.answer.columns
    assert first["age"].columns == again["age"].columns
    other = opened(drawn_rows(8, 50, 1), **options).marginals(SETS, weights=[1, 2])
    with pytest.raises(InvalidParameter, match="key"):
        other.release(epsilon=1, key="tables")
    with pytest.raises(BudgetExceeded):
        question.release(epsilon=1.5)


def test_the_quote_names_every_marginal_its_price_and_its_error() -> None:
    question = opened(drawn_rows(9, 50, 1)).marginals([*SETS, []], weights=[1, 1, 2])
    quote = question.quote(rho=0.4)
    assert [line.what for line in quote.lines] == ["rows by sex × age", "rows by age × town", "rows, all"]
    assert [round(float(line.loss.rho), 9) for line in quote.lines] == [0.1, 0.1, 0.2]  # type: ignore[attr-defined]
    errors = [expected.error for expected in quote.expected]
    alone = opened([]).marginals([["sex", "age"]]).quote(rho=0.1).expected[0].error
    assert all(errors)
    assert errors[0] < alone  # type: ignore[operator]
    assert any("all marginals use the same rows" in note for note in quote.notes)


def test_the_answer_is_as_long_for_nobody_as_for_many() -> None:
    shapes = set()
    for rows in ([], drawn_rows(1, 3, 1), drawn_rows(1, 100, 2)):
        answer = opened(rows).marginals(SETS).release(epsilon=1).answer
        shapes.add(tuple((column.name, column.type, len(column.values)) for column in answer.columns))
    assert len(shapes) == 1


@together(
    "ask, why",
    [
        (lambda t: t.marginals("sex"), "list of lists"),
        (lambda t: t.marginals([["sex", "paid"]]), "would have its own number"),
        (lambda t: t.marginals([["sex", "town"], ["town", "sex"]]), "is named twice"),
        (lambda t: t.marginals([["sex", "sex"]]), "once"),
        (lambda t: t.marginals([]), "no table is named"),
        (lambda t: t.marginals([["height"]]), "height"),
        (lambda t: t.select("sex", "age", marginal="town").marginals([["marginal"]], keys={"marginal": ["A"]}), "name"),
        (lambda t: t.marginals(SETS, lw.count(name="sex")), "name"),
        (lambda t: t.marginals(SETS, lw.units()), "add up"),
        (lambda t: t.marginals(SETS, lw.mean("paid")), "add up"),
        (lambda t: t.marginals(SETS, lw.count_distinct("paid")), "add up"),
        (lambda t: t.marginals(SETS, weights=[1]), "2 marginals"),
        (lambda t: t.marginals(SETS, lw.sum("paid"), integers=True), "only counts"),
        (lambda t: t.marginals([*SETS, ["sex", "town"]], integers=True), "by sex × town: they form a ring"),
        (lambda t: t.marginals([*SETS, ["sex", "town"]], integers=True), r"or leave out integers=True\."),
        (lambda t: t.bounded(max_groups_per_unit=3).marginals(SETS), "max_rows_per_unit"),
        (lambda t: t.marginals(SETS).release(epsilon=1)["paid"], "in none"),
        (lambda t: t.marginals(SETS).release(epsilon=1)["sex", "town"], "has all of these"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_reason(ask: Any, why: str) -> None:
    with pytest.raises((InvalidParameter, UnsupportedQuery), match=why):
        ask(opened(drawn_rows(1, 5, 1)))


def test_secret_values_are_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="are not declared"):
        opened([], keys={"sex": KEYS["sex"]}).marginals([["sex", "town"]])


def test_every_row_may_be_a_unit() -> None:
    rows = drawn_rows(3, 100, 2)
    released = opened(rows, unit=lw.EACH_ROW).marginals(SETS).release(epsilon=EXACT)
    assert [round(n) for n in released["sex", "age"]["count"]] == counted(rows, SETS[0], among=["sex", "age", "town"])
    question = opened(rows, unit=lw.EACH_ROW).marginals(SETS)
    assert {item.size for item in question.priced(question.budget(1, None, None))} == {Fraction(1, 2)}


@together(
    "options",
    [
        {},
        {"weights": [3, Fraction(1, 3)]},
        {"weights": [2, 2]},
        {"integers": True},
        {"everything_else": True},
        {"keys": {"sex": ["f"]}, "age": "age % 20", "weights": [0.1, 1]},
    ],
)
def test_saved_marginals_are_the_same_question(options: dict[str, Any]) -> None:
    more = {"keys": {"age": [0, 1], **options.get("keys", {})}} if "age" in options else {}
    table = opened(drawn_rows(5, 50, 2))
    aggregates = () if options.get("integers") else (lw.count(), lw.sum("paid", weight=2))
    some = table.where("paid < 3").bounded(max_rows_per_unit=2)
    question = some.marginals(SETS, *aggregates, **{**options, **more})
    for read, text in ((lw.Query.from_yaml, question.to_yaml()), (lw.Query.from_json, question.to_json())):
        again: Any = read(text, table)
        assert again == question
        assert again.digest() == question.digest()
    for names in again.sets:
        assert len(again.release(epsilon=1)[names].table) == len(question.release(epsilon=1)[names].table)


@together(
    "change",
    [
        {"marginals": {}},
        {"marginals": {"sets": []}},
        {"marginals": {"sets": ["sex"]}},
        {"marginals": {"sets": [["planet"]]}},
        {"marginals": {"sets": [["sex"], ["sex"]]}},
        {"marginals": {"sets": [["sex"]], "weights": [1, 2]}},
        {"marginals": {"sets": [["sex"]], "weights": [-1]}},
        {"marginals": {"sets": [["sex"]], "integers": 1}},
        {"marginals": {"sets": [["sex"]], "rings": 1}},
        {"limit": 5},
        {"rollup": {"names": ["sex"]}},
        {"ask": [{"median": ["paid"]}]},
    ],
)
def test_a_file_of_marginals_is_believed_nothing(change: dict[str, Any]) -> None:
    table = opened(drawn_rows(5, 10, 1))
    data = json.loads(table.marginals([["sex"]]).to_json()) | change
    with pytest.raises((InvalidParameter, UnsupportedQuery)):
        lw.Query.from_json(json.dumps(data), table)


def test_the_command_line_says_that_marginals_are_read_in_python() -> None:
    table = opened(drawn_rows(5, 10, 1))
    with pytest.raises(UnsupportedQuery, match=r"in Python: lw\.Query\.from_yaml"):
        reader.read(json.loads(table.marginals(SETS).to_json()), table)
    with pytest.raises(UnsupportedQuery, match="marginals"):
        table.sql("SELECT sex, age, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((sex), (age))", epsilon=1)
