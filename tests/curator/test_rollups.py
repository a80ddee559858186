"""Levels of groups that add up: the same integers as plain SQL, noise on every level, and what is said about it."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import together
from chance import FALSE_ALARM, assert_seldom
from scipy import stats

import lapwing as lw
from lapwing.curator.ask.tree_noise import TreeNoise
from lapwing.curator.show.treemap import Box, squarified
from lapwing.errors import InvalidCall, InvalidParameter, LapwingError, UnsupportedQuery
from lapwing.noise import Reproducible

EPSILON = 1e24
"""Large enough that no noise is left."""
PLACES = {"France": {"Bretagne": ["Brest", "Rennes"], "Corse": ["Ajaccio"]}, "Italia": {"Toscana": ["Pisa", "Lucca"]}}
PATHS = [(a, b, c) for a, regions in PLACES.items() for b, towns in regions.items() for c in towns]


def frame(count: int = 400, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(PATHS), count, p=[0.4, 0.3, 0.05, 0.2, 0.05])
    rows = [PATHS[place] for place in chosen]
    return pd.DataFrame(
        {
            "who": np.arange(count) // 2,
            "country": [row[0] for row in rows],
            "region": [row[1] for row in rows],
            "town": [row[2] for row in rows],
            "cost": rng.integers(0, 100, count),
            "day": [dt.date(2025, 1, 1) + dt.timedelta(days=int(n)) for n in rng.integers(0, 120, count)],
        }
    )


FRAME = frame()
KEYS = {name: tuple(dict.fromkeys(path[depth] for path in PATHS)) for depth, name in enumerate(("country", "region"))}


def visits(**options: Any) -> lw.PrivateTable:
    given = {"unit": lw.EACH_ROW, "name": "visits", "bounds": {"cost": (0, 100)}, "types": {"day": "date"}}
    return lw.open(options.pop("source", FRAME), **{**given, **options})


def by_hand(names: list[str], rows: pd.DataFrame = FRAME) -> dict[tuple[Any, ...], int]:
    """Rows of every node, in plain Python."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for labels in rows[names].itertuples(index=False):
        for length in range(len(names) + 1):
            counts[tuple(labels[:length]) + (None,) * (len(names) - length)] += 1
    return dict(counts)


def counted(answer: Any, names: list[str], value: str = "count") -> dict[tuple[Any, ...], Any]:
    return dict(zip(zip(*(answer[name] for name in names), strict=True), answer[value], strict=True))


def assert_adds_up(answer: Any, names: list[str], value: str = "count") -> None:
    found = counted(answer, names, value)
    for path, number in found.items():
        length = sum(label is not None for label in path)
        below = [
            n
            for other, n in found.items()
            if other[:length] == path[:length] and sum(label is not None for label in other) == length + 1
        ]
        assert not below or sum(below) == number, path


def test_without_noise_a_hierarchy_is_what_plain_counting_gives() -> None:
    names = ["country", "region", "town"]
    expected = by_hand(names)
    by_tree = visits().hierarchy(names, lw.count(), tree=PLACES)
    for answer in (by_tree.unprotected(), by_tree.release(epsilon=EPSILON)):
        assert counted(answer, names) == expected
        assert answer["level"][:3] == ("total", "country", "region")
    by_product = visits(keys=KEYS).release_hierarchy(names[:2], lw.count(), epsilon=EPSILON)
    found = counted(by_product, names[:2])
    assert {path: number for path, number in found.items() if number} == by_hand(names[:2])
    assert found["Italia", "Corse"] == 0, "every combination of public keys is in the answer"
    secret = visits().hierarchy(names, lw.count()).unprotected()
    rest = {path: n for path, n in counted(secret, names).items() if "everything else" not in path}
    assert rest == expected


def test_towns_with_one_name_are_told_apart_by_their_regions() -> None:
    rows = pd.DataFrame({"state": list("AABB"), "town": ["Springfield", "Salem", "Springfield", "Dover"]})
    tree = {"A": ["Springfield", "Salem"], "B": ["Springfield"]}
    answer = visits(source=rows, types={}, bounds={}).hierarchy(["state", "town"], lw.count(), tree=tree).unprotected()
    assert counted(answer, ["state", "town"]) == {
        (None, None): 3,
        ("A", None): 2,
        ("A", "Springfield"): 1,
        ("A", "Salem"): 1,
        ("B", None): 1,
        ("B", "Springfield"): 1,
    }


@together("money", [{"epsilon": 0.3}, {"rho": 0.02}, {"epsilon": 0.5, "delta": 1e-6}])
def test_noisy_numbers_add_up_and_are_not_negative(money: dict[str, float]) -> None:
    names = ["country", "region", "town"]
    for options in ({"tree": PLACES}, {"tree": PLACES, "weights": "leaves"}):
        query = visits().hierarchy(names, lw.count(), lw.sum("cost"), **options)
        answer = query.release(**money)
        assert_adds_up(answer, names)
        assert_adds_up(answer, names, "sum_cost")
        assert min(answer["count"]) >= 0
        assert min(answer["sum_cost"]) >= 0
        assert query.quote(**money).loss == answer.loss


def test_a_release_loses_what_is_charged_level_by_level(tmp_path: Path) -> None:
    table = visits(ledger=tmp_path / "ledger.db", allowance=lw.PureDP(2, unit="row"))
    query = table.hierarchy(["country", "region", "town"], lw.count(), tree=PLACES, weights=[1, 1, 1, 1])
    quote = query.quote(epsilon=1)
    assert [line.what for line in quote.lines] == [
        "total rows",
        "rows by country",
        "rows by region",
        "rows by town",
    ]
    assert [line.loss for line in quote.lines] == [lw.PureDP(Fraction(1, 4), unit="row")] * 4
    answer = query.release(epsilon=1, key="first")
    assert table.remaining() == lw.PureDP(1, unit="row")
    again = query.release(epsilon=1, key="first")
    assert again.repeated
    assert again.columns == answer.columns
    assert again.tree() == answer.tree()


def test_what_was_published_is_exact_and_said_wherever_the_loss_is(tmp_path: Path) -> None:
    names, told = ["country", "region", "town"], {(): 400, ("France", "Corse"): 21}
    query = visits().hierarchy(names, lw.count(), tree=PLACES, invariants=told)
    quote, answer = query.quote(epsilon=1), query.release(epsilon=1)
    words = "not protected: count of France / Corse, count of total"
    assert words in str(quote.loss)
    assert words in str(answer.loss)
    assert "NOT PROTECTED" in str(quote)
    assert "NOT PROTECTED" in str(answer.explain())
    assert lw.Answer.from_json(answer.to_json()) == answer
    found = counted(answer, names)
    assert found[None, None, None] == 400
    assert found["France", "Corse", "Ajaccio"] == found["France", "Corse", None] == 21
    assert_adds_up(answer, names)
    promised = visits(ledger=tmp_path / "plain.db", allowance=lw.PureDP(2, unit="row"))
    with pytest.raises(LapwingError, match="promised more"):
        promised.release_hierarchy(names, lw.count(), tree=PLACES, invariants=told, epsilon=1)
    trust = lw.Trust.except_published("count of total", "count of France / Corse", "count of Italia")
    allowed = visits(ledger=tmp_path / "told.db", allowance=lw.PureDP(2, unit="row", trust=trust))
    charged = allowed.release_hierarchy(names, lw.count(), tree=PLACES, invariants=told, epsilon=1)
    assert charged.loss.trust == lw.Trust.except_published("count of total", "count of France / Corse")


def test_a_published_total_that_noisy_numbers_contradict_is_named_and_gets_no_intervals() -> None:
    """336,776 flights are no total where 20 of a plane are used."""
    names = ["country", "region", "town"]
    table = visits(unit="who", max_rows_per_unit=1)
    rule = "rows without a declared key and rows beyond the limits per who do not count. Otherwise no interval holds"
    for told, right in ({(): 200}, True), ({(): 400}, False), ({(): 10}, False):
        question = table.hierarchy(names, lw.count(), tree=PLACES, invariants=told)
        answer = question.release(epsilon=2)
        column = answer.table.column("count")
        assert (column.noise is not None) == right
        assert ("CONTRADICTED: the published number of total cannot be exact" in column.note) == (not right)
        for notes in (question.quote(epsilon=2).notes, answer.notes):
            assert any(rule in note for note in notes)
            assert any("the loss is at most ε = 4 (replace, per who)" in note for note in notes)


def test_published_numbers_that_leave_nothing_to_release_are_refused() -> None:
    keys = {"country": ["France", "Italia"]}
    every = {"France": 300, "Italia": 100}
    for told in (every, {(): 400, **every}):
        question = visits().hierarchy(["country"], lw.count(), keys=keys, invariants=told)
        with pytest.raises(InvalidParameter, match="nothing is left to release"):
            question.quote(epsilon=1)


def test_intervals_of_every_node_hold_the_plain_count() -> None:
    names, runs = ["country", "region", "town"], 120
    expected = by_hand(names)
    query = visits().hierarchy(names, lw.count(), lw.mean("cost"), tree=PLACES)
    missed = np.zeros(len(expected))
    for _ in range(runs):
        answer = query.release(epsilon=0.5)
        spans = answer.table.column("count").noise
        assert spans is not None
        exact = [expected[path] for path in zip(*(answer[name] for name in names), strict=True)]
        missed += [not low <= n <= high for n, (low, high) in zip(exact, spans, strict=True)]
        assert all(low <= n <= high for n, (low, high) in zip(answer["count"], spans, strict=True))
    assert (stats.binom.sf(missed - 1, runs, 0.05) > FALSE_ALARM / 100).all(), missed


def test_people_in_several_groups_are_no_larger_sample_above_them() -> None:
    """The interval for the population is about people: the same ones in four groups say as much in total as in one."""
    rows = [(person, kind, 10 * (person % 2)) for person in range(100) for kind in "abcd"]
    source = pd.DataFrame(rows, columns=["who", "kind", "cost"])
    given: dict[str, Any] = {"unit": "who", "name": "t", "bounds": {"cost": (0, 10)}, "keys": {"kind": list("abcd")}}
    for limits in ({"max_groups_per_unit": 4}, {"max_groups_per_unit": 3}, {"max_rows_per_unit": 4}):
        answer = lw.open(source, **given, **limits).release_hierarchy(["kind"], lw.mean("cost"), epsilon=EPSILON)
        (low, high), *below = answer.table.column("mean_cost").interval  # type: ignore[misc]
        once = 2 * 1.96 * 5 / np.sqrt(100)
        assert high - low == pytest.approx(once, rel=0.01)
        assert all(high - low >= 0.99 * once for low, high in below)


def test_one_unit_moves_every_level_by_what_its_noise_is_made_for() -> None:
    names = ["country", "region", "town"]
    bounds: list[dict[str, int]] = [
        {},
        {"max_rows_per_unit": 2},
        {"max_groups_per_unit": 2, "max_rows_per_group": 3},
        {"max_groups_per_unit": 9, "max_rows_per_group": 2},
    ]
    for limits, unit in itertools.product(bounds, (0, 3, 17)):
        rows = FRAME.assign(who=FRAME["who"] // 9)
        table = visits(source=rows, unit="who").bounded(**limits)
        fewer = visits(source=rows[rows["who"] != unit], unit="who").bounded(**limits)
        ask = {"tree": PLACES, "weights": [1, 1, 1, 1]}
        with_all = table.hierarchy(names, lw.count(), lw.sum("cost"), **ask)
        without = fewer.hierarchy(names, lw.count(), lw.sum("cost"), **ask)
        first, second = (q.release(epsilon=EPSILON, entropy=Reproducible(7)) for q in (with_all, without))
        for money in ({"epsilon": 1}, {"rho": 1}):
            items = with_all.items(with_all.budget(money.get("epsilon"), None, money.get("rho")))
            for output, item in zip(("count", "sum_cost"), items, strict=True):
                assert isinstance(item, TreeNoise)
                assert item.nodes is not None
                step = 1.0 if output == "count" else with_all.bounds[1].grids[0].step
                moved: dict[str, list[float]] = {}
                for level, one, other in zip(first["level"], first[output], second[output], strict=True):
                    moved.setdefault(level, []).append((one - other) / step)
                sizes = item.sensitivities(item.nodes.tree)
                for distances, most in zip(moved.values(), sizes, strict=True):
                    norm = sum(map(abs, distances)) if "epsilon" in money else sum(d * d for d in distances) ** 0.5
                    assert norm <= most * (1 + 1e-12), (limits, unit, money)


ROLLED = (
    "SELECT country, region, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY {} ORDER BY n DESC, country, region"
)


@together(
    "clause",
    ["ROLLUP (country, region)", "country, ROLLUP (region)", "country, region WITH ROLLUP", "ROLLUP (1, 2)"],
)
def test_rollup_in_sql_gives_the_rows_that_sql_gives(clause: str) -> None:
    import duckdb

    plain = clause if "WITH" not in clause and "1" not in clause else "ROLLUP (country, region)"
    text = ROLLED.format(clause)
    connection = duckdb.connect()
    connection.register("visits", FRAME)
    expected = {row[:2]: row[2:] for row in connection.execute(ROLLED.format(plain)).fetchall()}
    query = visits(keys=KEYS).query(text)
    answer = query.release(epsilon=EPSILON)
    rows = zip(answer["country"], answer["region"], answer["n"], answer["s"], strict=True)
    assert {(a, b): (n, round(s)) for a, b, n, s in rows if n} == expected
    assert list(answer["n"]) == sorted(answer["n"], reverse=True)
    again = lw.Query.from_yaml(query.to_yaml(), visits(keys=KEYS))
    assert again.digest() == query.digest()


def test_saved_hierarchies_are_read_back() -> None:
    table = visits(keys=KEYS)
    questions = [
        table.hierarchy(["country", "region"], lw.count()),
        table.hierarchy(["country", "region"], lw.sum("cost"), weights=[0, 1, 2], integers=False),
        table.hierarchy(["country", "region", "town"], lw.count(), tree=PLACES, invariants={(): 400}),
        table.hierarchy(["country", lw.dates("day", "2025-01-01", "2025-03-31")], lw.count(), weights="leaves"),
        table.hierarchy(lw.bins("cost", range(0, 101, 10)), lw.count(), weights="ranges"),
    ]
    for question in questions:
        for read in (lw.Query.from_yaml(question.to_yaml(), table), lw.Query.from_json(question.to_json(), table)):
            assert read.rollup == question.rollup
            assert read.digest() == question.digest()
    plain = table.hierarchy(["country", "region"], lw.count()).to_json()
    for wrong in ('"names": ["country"]', '"names": ["a", "b"]', '"names": ["country", "region"], "paths": [[1]]'):
        with pytest.raises(LapwingError):
            lw.Query.from_json(plain.replace('"names": ["country", "region"]', wrong), table)


def test_ladders_of_dates_and_numbers_count_what_lies_in_each_rung() -> None:
    days = visits().hierarchy(lw.dates("day", "2025-01-01", "2025-04-30"), lw.count()).unprotected()
    months = {a: n for a, n, level in zip(days["month"], days["count"], days["level"], strict=True) if level == "month"}
    assert months == dict(Counter(f"{day:%Y-%m}" for day in FRAME["day"]))
    weeks = visits().hierarchy(lw.dates("day", "2025-01-06", "2025-01-19", by=("week", "day")), lw.count())
    assert weeks.unprotected()["week"][1] == "2025-W02"
    ladder = lw.bins("cost", [0, 25, 50, 75, 100])
    costs = visits().hierarchy(ladder, lw.count(), weights="ranges").unprotected()
    halves = costs["cost in steps of 50"][1], costs["count"][1]
    assert halves == ("0 – 50", int((FRAME["cost"] < 50).sum()))
    both = visits(keys=KEYS).release_hierarchy(["country", ladder], lw.count(), epsilon=EPSILON)
    assert counted(both, ["country", "cost in steps of 50", "cost"])["Italia", None, None] == int(
        (FRAME["country"] == "Italia").sum()
    )


def test_secret_keys_are_tested_level_by_level_and_the_rest_still_adds_up() -> None:
    names, rows = ["country", "region", "town"], frame(3000, 2)
    rare = rows.assign(
        who=np.arange(3000), town=["Atlantis" if n == 7 else town for n, town in enumerate(rows["town"])]
    )
    table = visits(source=rare, unit="who")
    query = table.hierarchy(names, lw.count())
    with pytest.raises(InvalidParameter, match="delta"):
        query.quote(epsilon=1)
    quote = query.quote(epsilon=3, delta=1e-6)
    assert [line.what for line in quote.lines][:3] == [f"which values of {name} occur" for name in names]
    assert sum((line.loss.delta_at(9) for line in quote.lines), 0.0) <= 1.1e-6
    for _ in range(5):
        answer = query.release(epsilon=3, delta=1e-6)
        assert_adds_up(answer, names)
        assert "Atlantis" not in answer["town"]
        found = counted(answer, names)
        assert ("France", "Bretagne", "Brest") in found
        assert ("France", "everything else", None) in found
        for path in found:
            shown = [label for label in path if label is not None]
            assert all((*shown[:k], *(None,) * (3 - k)) in found for k in range(len(shown))), "no child without parent"
    nobody = visits(source=rare[:0], unit="who").release_hierarchy(names, lw.count(), epsilon=1, delta=1e-6)
    assert nobody["level"] == ("total", "country")
    assert nobody["country"] == (None, "everything else")


def test_a_key_of_one_person_is_shown_with_the_chance_of_delta_at_most() -> None:
    rows, delta = pd.DataFrame({"who": [1], "a": ["x"], "b": ["y"]}), 0.2
    query = visits(source=rows, unit="who", types={}, bounds={}).hierarchy(["a", "b"], lw.count())
    shown = sum("x" in query.release(epsilon=1, delta=delta)["a"] for _ in range(200))
    assert_seldom(shown, 200, delta / 2)


@pytest.mark.sweep
def test_an_auditor_does_not_beat_the_stated_loss_of_a_small_tree() -> None:
    rows = pd.DataFrame({"a": list("xxy"), "b": list("pqp")})
    keys = {"a": list("xy"), "b": list("pq")}
    tables = [visits(source=some, types={}, bounds={}, keys=keys) for some in (rows, rows[:2])]

    def release(table: lw.PrivateTable, entropy: Any) -> tuple[Any, ...]:
        question = table.hierarchy(["a", "b"], lw.count(), weights=[1, 1, 1])
        return question.release(epsilon=1, entropy=entropy, progress=False)["count"]

    found = lw.audit(
        release, lw.Pair(*tables), claimed=lw.PureDP(1, unit="row"), samples=1500, confidence=1 - FALSE_ALARM
    )
    assert not found.caught, found.explain()


def test_an_answer_is_a_tree_a_map_and_a_picture(tmp_path: Path) -> None:
    names = ["country", "region", "town"]
    answer = visits().release_hierarchy(names, lw.count(), lw.mean("cost"), tree=PLACES, epsilon=5)
    lines = answer.tree("count").splitlines()
    assert lines[1].startswith("total")
    assert lines[2].startswith("├─ France")
    assert lines[3].startswith("│  ├─ Bretagne")
    assert lines[-1].startswith("      └─ Lucca")
    assert len(lines) == 1 + len(answer.table)
    assert "more" in answer.tree(most=3)
    csv = answer.to_map_csv(tmp_path / "map.csv").splitlines()
    assert csv[0].startswith("code,level,country,region,town,count,count_low,count_high")
    assert [line.split(",")[0] for line in csv[1:]] == [path[-1] for path in PATHS]
    assert (tmp_path / "map.csv").read_text(encoding="utf-8").splitlines() == csv
    assert answer.leaves()["code"] == tuple(path[-1] for path in PATHS)
    answer.plot(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 10_000
    with pytest.raises(InvalidCall, match="levels"):
        visits().agg(lw.count()).release(epsilon=1).tree()


def test_boxes_have_the_areas_of_their_sizes_and_do_not_overlap() -> None:
    sizes, whole = [50.0, 20.0, 20.0, 7.0, 2.0, 1.0], Box(0, 0, 3, 2)
    boxes = list(squarified(sizes, whole))
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(6 * size / 100)
        assert -1e-9 <= box.x <= box.x + box.width <= 3 + 1e-9
        assert -1e-9 <= box.y <= box.y + box.height <= 2 + 1e-9
    for one, other in itertools.combinations(boxes, 2):
        wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
        high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
        assert wide < 1e-9 or high < 1e-9


WRONG: dict[str, tuple[Any, ...]] = {
    "no levels": ([], lw.count()),
    "a word": ("country", lw.count()),
    "a number": ([1], lw.count()),
    "no column": (["planet"], lw.count()),
    "a median": (["country"], lw.median("cost")),
    "different values": (["country"], lw.count_distinct("cost")),
    "rows of their own": (["country"], lw.histogram("cost", edges=[0, 50, 100])),
    "no aggregate": (["country"],),
    "a level twice": (["country", "country"], lw.count()),
    "a ladder of text": ([lw.dates("town", "2025-01-01", "2025-01-02")], lw.count()),
    "bins of text": ([lw.bins("town", [0, 1, 2])], lw.count()),
    "a name that is taken": (["country"], lw.count(name="level")),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_does_not_add_up_is_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises((UnsupportedQuery, InvalidParameter, InvalidCall)):
        visits(keys=KEYS).hierarchy(*wrong)


OPTIONS: dict[str, dict[str, Any]] = {
    "a tree too shallow": {"tree": {"France": ["Bretagne"]}},
    "a tree too deep": {"tree": {"France": {"Bretagne": {"x": ["y"]}}}},
    "a leaf twice": {"tree": {"France": {"Bretagne": ["Brest", "Brest"]}}},
    "keys beside a tree": {"tree": PLACES, "keys": {"country": ["France"]}},
    "keys of no level": {"keys": {"planet": ["Mars"]}},
    "too few weights": {"tree": PLACES, "weights": [1, 2]},
    "unknown weights": {"tree": PLACES, "weights": "towns"},
    "an invariant of nobody": {"tree": PLACES, "invariants": {("Spain",): 4}},
    "an invariant that is none": {"tree": PLACES, "invariants": {(): -4}},
    "invariants that contradict": {
        "tree": PLACES,
        "invariants": {("France", "Corse"): 4, ("France", "Corse", "Ajaccio"): 5},
    },
    "an invariant of secret keys": {"invariants": {("France",): 4}},
    "NULL as a key": {"keys": {"country": ["France", None], "region": ["Corse"], "town": ["Pisa"]}},
    "integers that are no truth": {"tree": PLACES, "integers": "yes"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_wrong_options_are_told_before_anything_is_read(options: dict[str, Any]) -> None:
    with pytest.raises((InvalidParameter, InvalidCall)):
        visits().hierarchy(["country", "region", "town"], lw.count(), **options).quote(epsilon=1, delta=1e-6)


def test_errors_of_levels_name_what_was_written_and_what_would_fit() -> None:
    names = ["country", "region", "town"]
    with pytest.raises(InvalidCall, match=r"Did you mean by\? Write dates\('day', '2025-01-01', '2025-12-31'\)"):
        lw.dates("day", "2025-01-01", "2025-12-31", levels=["month"])  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter, match=r"weights = \[1\.0, 2\.0\]: must be a number for each of the 4 levels"):
        visits().hierarchy(names, lw.count(), tree=PLACES, weights=[1, 2]).quote(epsilon=1)
    bins = lw.bins("cost", [0, 25, 75, 100])
    with pytest.raises(InvalidParameter, match=r"\{\('75 – 100', '75 – 100'\): 40\} for one group"):
        visits().hierarchy(bins, lw.count(), invariants={"0 – 25": 5}).quote(epsilon=1)
    with pytest.raises(InvalidParameter, match="asks for count and sum_cost"):
        visits().hierarchy(names, lw.count(), lw.sum("cost"), tree=PLACES, invariants={(): 400})
    with pytest.raises(InvalidParameter, match=r"must name each column once. Write \['country'\]"):
        visits(keys=KEYS).marginals([["country", "country"]])
    with pytest.raises(InvalidCall, match=r"lw.open\(…, max_rows_per_unit=20\), or table.bounded"):
        visits().release_hierarchy(names, lw.count(), tree=PLACES, max_rows_per_unit=3, epsilon=1)
    days = visits().hierarchy(lw.dates("day", "2025-01-01", "2025-04-30"), lw.count()).quote(epsilon=1)
    assert "rows whose day is not from 2025-01-01 to 2025-04-30 are left out" in days.notes


def test_where_there_may_be_no_rows_intervals_of_means_and_spreads_are_as_wide_as_bounds() -> None:
    """Noise of an empty group may take all of its sum to one end: "−60 from −60 to −60" would be false."""
    keys, asked = {"country": ["nowhere", "France"]}, (lw.mean("cost"), lw.std("cost"), lw.variance("cost"))
    question = visits(source=FRAME.assign(cost=FRAME["cost"] + 0.5)).hierarchy(["country"], *asked, keys=keys)
    for _ in range(20):
        answer = question.release(epsilon=0.4, confidence=1 - FALSE_ALARM / 100)
        for name, widest in (("mean_cost", (0, 100)), ("std_cost", (0, 50)), ("variance_cost", (0, 2500))):
            column = answer.table.column(name)
            assert column.noise is not None
            assert column.noise[1] == widest
            assert all(span is not None and widest[0] <= span[0] <= span[1] <= widest[1] for span in column.noise)
            assert "as wide as the bounds allow, there are too few rows to know this" in column.note


def test_quotes_and_answers_say_that_rows_without_a_unit_are_left_out() -> None:
    told = "rows with no who are left out"
    question = visits(unit="who").agg(lw.count())
    assert told in question.quote(epsilon=1).notes
    assert told in question.release(epsilon=1).notes
    assert told not in visits().agg(lw.count()).quote(epsilon=1).notes


def test_a_leaf_that_is_listed_twice_is_named() -> None:
    tree = {"France": {"Bretagne": ["Brest", "Quimper", "Brest"]}}
    with pytest.raises(InvalidParameter, match=r"France / Bretagne / Brest.*is listed twice"):
        visits().hierarchy(["country", "region", "town"], lw.count(), tree=tree)


def test_a_contradiction_between_invariants_is_told_by_the_name_of_its_node() -> None:
    told = {("France", "Corse"): 4, ("France", "Corse", "Ajaccio"): 5}
    question = visits().hierarchy(["country", "region", "town"], lw.count(), tree=PLACES, invariants=told)
    with pytest.raises(InvalidParameter, match=r"\('France', 'Corse'\): is less than"):
        question.quote(epsilon=1)


def test_units_and_secret_keys_add_up_only_where_a_unit_is_in_one_group() -> None:
    table = visits(unit="who")
    assert table.hierarchy(["country"], lw.units(), keys={"country": ["France"]}).unprotected()["units"][0] > 50
    wide = table.bounded(max_groups_per_unit=2)
    with pytest.raises(UnsupportedQuery, match="counted twice"):
        wide.hierarchy(["country"], lw.units(), keys={"country": ["France", "Italia"]})
    with pytest.raises(UnsupportedQuery, match=r"secret keys .* would count twice on the level above\. Write bounded"):
        wide.hierarchy(["country", "region"], lw.count())
    with pytest.raises(UnsupportedQuery, match="first keys"):
        table.query("SELECT country, region, COUNT(*) FROM visits GROUP BY country, ROLLUP (region)")


@together("by", [("year",), ("day", "month"), ("month", "week", "day"), ("day", "day"), ("hour", "day")])
def test_wrong_ladders_are_told(by: tuple[str, ...]) -> None:
    with pytest.raises(InvalidParameter):
        lw.dates("day", "2025-01-01", "2025-12-31", by=by)
    with pytest.raises(InvalidParameter):
        lw.dates("day", "2025-13-01", "2025-12-31")
    with pytest.raises(InvalidParameter):
        lw.dates("day", "2025-02-01", "2025-01-31")
    with pytest.raises(InvalidParameter):
        lw.bins("cost", [0, 0, 1])
    with pytest.raises(InvalidParameter):
        lw.bins("cost", "0, 1")


def test_bins_of_large_numbers_have_labels_of_their_own() -> None:
    table = visits(source=pd.DataFrame({"n": [1_000_000, 1_000_001, 1_000_001]}), types={}, bounds={})
    edges = [1_000_000, 1_000_001, 1_000_002, 1_000_003]
    answer = table.release_hierarchy(lw.bins("n", edges), lw.count(), epsilon=10**6)
    assert [n for n in answer["n"] if n] == ["1000000 – 1000001", "1000001 – 1000002", "1000002 – 1000003"]
    assert table.agg(lw.histogram("n", edges=edges)).release(epsilon=10**6)["n"][0] == "1000000 – 1000001"


@pytest.mark.parametrize("by", ["day", ("day",)])
def test_one_level_of_days_may_be_a_word(by: Any) -> None:
    assert lw.dates("day", "2025-01-01", "2025-01-02", by=by).names == ("day",)


def test_times_are_rolled_up_by_their_days_and_midnight_begins_one() -> None:
    times = [dt.datetime(2025, 1, 1), dt.datetime(2025, 1, 1, 23, 59, 59), dt.datetime(2025, 1, 3), None]
    table = visits(source=pd.DataFrame({"at": times}), types={}, bounds={})
    days = table.release_hierarchy(lw.dates("at", "2025-01-01", "2025-01-02", by="day"), lw.count(), epsilon=10**6)
    assert days["count"] == (2, 2, 0)
    with pytest.raises(UnsupportedQuery, match="3,899 days"):
        table.hierarchy(lw.dates("at", "1990-01-01", "2025-01-01"), lw.count())
    with pytest.raises(UnsupportedQuery, match="types="):
        visits().hierarchy(lw.dates("town", "2025-01-01", "2025-01-02"), lw.count())


def test_a_tree_stands_below_the_names_of_its_columns() -> None:
    asked = (lw.count(name="a_count_with_a_long_name"), lw.mean("cost"))
    answer = visits().release_hierarchy(["country"], *asked, keys={"country": ["France"]}, epsilon=100)
    assert len({len(line) for line in answer.tree("a_count_with_a_long_name").splitlines()}) == 1


@together("money", [{"epsilon": 1}, {"rho": 0.1}])
def test_a_quote_names_every_level_and_says_which_is_added_up(money: dict[str, float]) -> None:
    regions = lw.open(
        pd.DataFrame({"who": [1], "region": ["N"], "sex": ["f"]}),
        unit="who",
        keys={"region": ["N", "S"], "sex": ["f", "m"]},
    )
    quote = regions.hierarchy(["region", "sex"], lw.count(), weights=[1, 0, 2]).quote(**money)
    assert [line.what for line in quote.lines] == [
        "total rows",
        "rows by region (not measured: added up)",
        "rows by region and sex",
    ]
    first, second, third = (line.loss for line in quote.lines)
    assert first + second + third == first + third, "what is added up costs nothing"
