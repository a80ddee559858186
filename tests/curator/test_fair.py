"""Which rows of a unit count is a fair draw: every row with the same probability, ties or not, on every engine.

Expectations and variances are those of all offsets 0 … n − 1, each once, computed by enumeration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean, pvariance
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import psycopg
import pytest
from chance import FALSE_ALARM, assert_mean, assert_seldom
from oracle import integers, survivors
from questions import fetch, fetch_rows, salted
from scipy import stats
from sqlglot import exp

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.engines import sample, selection
from lapwing.curator.engines.dialects import Dialect, whole
from lapwing.curator.engines.sample import Order, Sample
from lapwing.curator.engines.statements import BoundedStatements
from lapwing.curator.tables.table import PrivateTable
from lapwing.noise import Reproducible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("duckdb", "postgres", "spark")


@pytest.fixture(params=ENGINES)
def opened(request: pytest.FixtureRequest) -> Callable[..., PrivateTable]:
    """Open the rows of a SELECT over `n`, a number from 0 to less than `count`, on an engine."""

    def make(select: str, count: int, **options: Any) -> PrivateTable:
        if request.param == "duckdb":
            connection = duckdb.connect()
            connection.execute(f"CREATE TABLE t AS SELECT {select} FROM (SELECT range AS n FROM range({count}))")
            source: dict[str, Any] = {"source": connection, "table": "t"}
        elif request.param == "postgres":
            url = request.getfixturevalue("postgres_url")
            numbers = f"generate_series(CAST(0 AS BIGINT), {count - 1}) AS s(n)"
            with psycopg.connect(url) as server:
                server.execute(
                    f"DROP TABLE IF EXISTS fair; CREATE TABLE fair AS SELECT {select} FROM {numbers}".encode()
                )
            source = {"source": url, "table": "fair"}
        else:
            spark: SparkSession = request.getfixturevalue("spark")
            source = {"source": spark.sql(f"SELECT {select} FROM (SELECT id AS n FROM range({count}))")}
        return lw.open(**source, unit="u", name="t", **options)

    return make


def kept(ranks: Sequence[Any], most: int, offset: int) -> list[Any]:
    """What one offset keeps of sorted values."""
    n = len(ranks)
    return list(ranks) if n <= most else [v for r, v in enumerate(ranks) if (r * most + offset) % n < most]


def samples(values: Sequence[Any], most: int) -> list[list[Any]]:
    """What every offset keeps."""
    return [kept(values, most, offset) for offset in range(len(values))]


def test_the_rule_keeps_what_it_may_and_every_row_equally_often() -> None:
    for n, most in product(range(1, 40), range(1, 45)):
        found = samples(range(n), most)
        assert {len(rows) for rows in found} == {min(n, most)}
        assert set(Counter(row for rows in found for row in rows).values()) == {min(n, most)}
        for offset, rows in enumerate(found):  # how a statement finds the first row that is kept
            x = rows[0] * most + offset
            assert rows[0] == 0 if n <= most or offset < most else n <= x < n + most


SIX = (None, 0, 0, 0, 1, 1, 9)
"""What every unit has, sorted: NULL first, and ties."""


def test_rows_with_ties_are_kept_as_often_as_others(opened: Callable[..., PrivateTable]) -> None:
    units = 3000
    select = "n % 3000 AS u, CASE n / 3000 WHEN 0 THEN 9 WHEN 1 THEN 1 WHEN 2 THEN 1 WHEN 6 THEN NULL ELSE 0 END AS x"
    select = select.replace("n / 3000", "CAST(FLOOR(n / 3000) AS INT)")
    table = opened(select, units * len(SIX), bounds={"x": (0, 9)}, max_rows_per_group=2)
    found = fetch_rows(table.agg(lw.sum("x")), salted(1))
    per_value = dict.fromkeys(SIX, 0)
    for (_, value), times in found.items():
        per_value[value] += times
    assert sum(per_value.values()) == 2 * units
    for value, times in per_value.items():
        law = [rows.count(value) for rows in samples(SIX, 2)]
        z = (times - units * fmean(law)) / (units * pvariance(law)) ** 0.5
        assert 2 * stats.norm.sf(abs(z)) > FALSE_ALARM / len(per_value), (value, z)


def test_every_place_in_the_order_is_kept_as_often_as_others(opened: Callable[..., PrivateTable]) -> None:
    units, n, most, groups = 2000, 11, 3, 2
    select = "n % 2000 AS u, CAST(FLOOR(n / 2000) AS BIGINT) % 2 AS g, CAST(FLOOR(n / 4000) AS BIGINT) AS x"
    options: dict[str, Any] = {"max_groups_per_unit": groups, "max_rows_per_group": most, "keys": {"g": range(groups)}}
    table = opened(select, units * n * groups, bounds={"x": (0, n - 1)}, **options)
    found = fetch_rows(table.group_by("g").agg(lw.sum("x")), salted(2))
    places = Counter((group, place) for _, group, place in found.elements())
    assert len(places) == groups * n
    for place, times in places.items():
        assert stats.binomtest(times, units, most / n).pvalue > FALSE_ALARM / len(places), (place, times)


@pytest.mark.parametrize("most", [1, 2, 10])
def test_one_yes_among_a_hundred_answers_weighs_a_hundredth(opened: Callable[..., PrivateTable], most: int) -> None:
    people = 2000
    yes = "CASE WHEN n < 2000 THEN 1 ELSE 0 END"
    table = opened(f"n % 2000 AS u, {yes} AS yes", people * 100, bounds={"yes": (0, 1)}, max_rows_per_group=most)
    [(rows, found)] = fetch(table.agg(lw.count(), lw.sum("yes")), salted(most)).values()
    assert rows == people * most
    z = (found - people * most / 100) / (people * most / 100 * (1 - most / 100)) ** 0.5
    assert 2 * stats.norm.sf(abs(z)) > FALSE_ALARM, z


def test_one_row_of_each_unit_is_drawn_from_all_groups_alike(opened: Callable[..., PrivateTable]) -> None:
    """Everybody has nine rows in group 0 and one in group 1, which was chosen in one case of two."""
    people = 2000
    select = "n % 2000 AS u, CASE WHEN n < 2000 THEN 1 ELSE 0 END AS g"
    table = opened(select, people * 10, bounds={"g": (0, 1)}, keys={"g": [0, 1]})
    for query in (table.group_by("g").agg(lw.count()), table.agg(lw.histogram("g", edges=[0, 0.5, 1]))):
        (_, [usual]), (_, [rare]) = sorted(fetch(query, salted(3)).items())
        assert usual + rare == people
        assert stats.binomtest(rare, people, 0.1).pvalue > FALSE_ALARM / 2, rare


def test_ties_alone_and_many_rows_keep_exactly_the_limit(opened: Callable[..., PrivateTable]) -> None:
    """A unit u has u·1000 rows that are all alike: with 32 bits r·R would wrap, and with a sign `%` would."""
    most, largest = 40_000, 70
    select = "CASE WHEN n < 2000 THEN 0 WHEN n < 2001 THEN 2 WHEN n < 42001 THEN 3 ELSE 4 END AS u, 5 AS x"
    table = opened(select, 42_001 + largest * 1000, bounds={"x": (0, 9)}, max_rows_per_group=most)
    [(rows, units)] = fetch(table.agg(lw.count(), lw.units()), salted(7)).values()
    assert (rows, units) == (2000 + 1 + most + most, 4)


def test_over_salts_a_sum_is_the_one_that_weighs_every_unit_by_what_counts_of_it() -> None:
    sizes, most = (1, 2, 3, 5, 8, 13, 40), 2
    values = {u: [(7 * u + 3 * i * i) % 50 for i in range(n)] for u, n in enumerate(sizes)}
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (u BIGINT, x BIGINT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [[u, x] for u, xs in values.items() for x in xs])
    table = lw.open(connection, table="t", unit="u", bounds={"x": (0, 49)}, max_rows_per_group=most)
    query = table.agg(lw.sum("x"))
    laws = [[sum(rows) for rows in samples(sorted(xs), most)] for xs in values.values()]
    target = sum(min(len(xs), most) * fmean(xs) for xs in values.values())
    assert sum(map(fmean, laws)) == pytest.approx(target)
    found = [next(iter(fetch(query, salted(salt)).values()))[0] for salt in range(250)]
    assert_mean(found, target, sum(map(pvariance, laws)))


def test_intervals_cover_the_answer_over_the_rows_that_count() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range % 60 AS u, (range * 37) % 101 AS x FROM range(1500)")
    table = lw.open(connection, table="t", unit="u", bounds={"x": (0, 100)}, max_rows_per_group=3)
    query, trials, missed = table.agg(lw.sum("x")), 100, 0
    for seed in range(trials):
        noisy, exact = (query.release(epsilon=e, entropy=Reproducible(seed)).columns[0] for e in (1, 10**12))
        assert noisy.noise is not None
        low, high = noisy.noise[0]
        missed += not low <= exact.values[0] <= high
    assert_seldom(missed, trials, 0.05)


# ------------------------------------------------------------------------------------------------------ traps

TEXTS = ("b", "A", "a", "B", "", None, "ß", "ss", "Ss", "ä", "z", "Z")


def small() -> tuple[PrivateTable, dict[str, list[dict[str, Any]]]]:
    """Units with 1 to 40 rows in three groups, of numbers and text with ties and NULL."""
    rows = [
        {"u": u, "g": i % 3, "x": None if i % 5 == 0 else (i * u) % 7, "t": TEXTS[(i + u) % len(TEXTS)]}
        for u in range(1, 41)
        for i in range(u)
    ]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (u BIGINT, g BIGINT, x BIGINT, t VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row.values()) for row in rows])
    table = lw.open(connection, table="t", unit="u", bounds={"x": (0, 6)}, keys={"g": range(3)})
    return table, {"t": rows}


def broken() -> Iterator[str]:
    """Which laws of bounding do not hold, each as soon as that is seen."""
    table, tables = small()
    by_group = table.bounded(max_groups_per_unit=2, max_rows_per_group=3).group_by("g")
    in_all = table.bounded(max_rows_per_unit=4).group_by("g")
    questions: list[tuple[Query, Callable[[tuple[Any, ...]], Any], int]] = [
        (by_group.agg(lw.sum("x"), lw.count_distinct("t"), lw.units()), lambda row: row[:2], 3),
        (in_all.agg(lw.sum("x"), lw.count_distinct("t"), lw.units()), lambda row: row[0], 4),
    ]
    for salt, (query, of_whom, most) in product(map(salted, range(4)), questions):
        found = fetch_rows(query, salt)
        counts: Counter[Any] = Counter(of_whom(row) for row in found.elements())
        if max(counts.values()) > most:
            yield "at most R rows"
        if found != survivors(query, tables, salt.seed):
            yield "the rows of the oracle"
        if fetch(query, salt) != integers(query, tables, salt.seed):
            yield "the integers of the oracle"
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range % 2 AS u, 5 AS x FROM range(140000)")
    table = lw.open(connection, table="t", unit="u", bounds={"x": (0, 9)}, max_rows_per_group=40_000)
    if fetch(table.agg(lw.count()), salted(0)) != {0: (80_000,)}:
        yield "exactly R rows of many"
    connection.execute("CREATE TABLE w AS SELECT range % 500 AS u, range // 500 AS x FROM range(5000)")
    table = lw.open(connection, table="w", unit="u", bounds={"x": (0, 9)})
    counts = Counter(x for _, x in fetch_rows(table.agg(lw.sum("x")), salted(0)))
    if any(stats.binomtest(counts[x], 500, 0.1).pvalue < FALSE_ALARM for x in range(10)):
        yield "fair"


def narrow(self: Sample) -> exp.Expr:
    """r·R + o as 32 bits with a sign hold it."""
    product = exp.Paren(this=exp.column("r") * whole(self.rows))
    wrapped = exp.Paren(this=exp.Mod(this=exp.Paren(this=product + whole(1 << 31)), expression=whole(1 << 32)))
    return exp.Paren(this=wrapped - whole(1 << 31) + exp.column("o"))


def in_each_group(self: BoundedStatements, flat: exp.Query) -> exp.Query:
    """The cap of all rows of a unit, in each group."""
    limits = replace(self.bounding, max_rows_per_unit=None, max_rows_per_group=self.bounding.rows)
    return survivors_of(replace(self, bounding=replace(limits, max_groups_per_unit=9)), flat)


def never_large(self: Sample, placed: exp.Query, columns: Sequence[str]) -> exp.Query:
    """No group has more rows than are kept."""
    return exp.select(*columns, whole(self.rows).as_("n")).from_(placed.subquery("f"))


survivors_of = BoundedStatements._survivors
MUTANTS: dict[str, tuple[type | Any, str, Any]] = {
    "an offset below 0": (selection, "MARGIN", -(1 << 25)),
    "r·R in 32 bits": (Sample, "_place", narrow),
    "text in the order of a language": (
        Dialect,
        "byte_order",
        lambda self, text: exp.Collate(this=text, expression=exp.Var(this="NOCASE")),
    ),
    "NULL last": (
        Order,
        "sql",
        lambda self, dialect: exp.Ordered(this=exp.column(self.name), desc=False, nulls_first=False),
    ),
    "the first row is marked, kept or not": (
        Sample,
        "_is_first",
        lambda self: exp.EQ(this=exp.column("r"), expression=whole(0)),
    ),
    "large groups taken for small ones": (Sample, "_joined", never_large),
    "a total with n and o of groups": (BoundedStatements, "_survivors", in_each_group),
    "always the same offset": (sample, "offset", lambda words, salt, purpose: [whole(0)]),
}


def test_nothing_is_broken() -> None:
    assert set(broken()) == set()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    assert next(broken(), None) is not None


def test_a_table_may_have_the_name_of_a_step() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE placed AS SELECT range % 9 AS u, range % 2 AS g FROM range(90)")
    table = lw.open(connection, table="placed", unit="u", keys={"g": range(2)}, max_groups_per_unit=2)
    assert fetch(table.group_by("g").agg(lw.count()), salted(0)) == {0: (9,), 1: (9,)}


def test_an_answer_says_that_rows_left_out_are_not_in_its_interval() -> None:
    table, _ = small()
    words = "the intervals do not include the error from leaving out the rest"

    def says(query: Query) -> bool:
        return any(words in note for note in query.quote(epsilon=1).notes)

    assert says(table.agg(lw.mean("x")))
    assert says(table.group_by("g").agg(lw.units()))
    assert says(table.agg(lw.units(), lw.median("x")))
    assert not says(table.agg(lw.units()))
    totals = "SELECT SUM(n) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u)"
    answer = table.sql(totals, bounds={"n": (0, 50)}, epsilon=1)
    assert not any(words in note for note in answer.notes)
    alone = lw.open({"x": np.array([1, 2])}, unit=lw.EACH_ROW, bounds={"x": (0, 2)}, name="alone")
    assert not says(alone.agg(lw.sum("x")))
