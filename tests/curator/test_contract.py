"""One plan, three engines: the same integers before noise on DuckDB, PostgreSQL and Spark, however rows are ordered."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from everywhere import everywhere, in_postgres, in_spark
from fuzzing import parts
from oracle import Beyond, Row, integers
from places import InPostgres
from questions import (
    AMOUNTS,
    DECLARED,
    DRUGS,
    KEYS,
    PLACES,
    TEXT_UNITS,
    VISITS,
    draw_query,
    draw_rows,
    draw_world,
    fetch,
    literal,
    salted,
)

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.plan.expressions import Call
from lapwing.curator.plan.nodes import Combine, PerUnit
from lapwing.curator.tables.table import PrivateTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SALT = salted(2026)
TYPES = {
    "visits": {"who": "text", **{name: declared for name, (declared, _) in VISITS.items()}},
    "drugs": {"owner": "text", **{name: declared for name, (declared, _) in DRUGS.items()}},
}
KIND = {"VARCHAR": "text", "BIGINT": "integer", "DOUBLE": "number", "TIMESTAMP": "timestamp", "BOOLEAN": "boolean"}


@dataclass(frozen=True)
class Tables:
    """The same rows in one of the engines."""

    visits: PrivateTable
    drugs: PrivateTable
    alone: PrivateTable
    """Visits, each of which is a unit."""


@cache
def rows() -> dict[str, list[Row]]:
    """Rows that every engine can hold."""
    choose = random.Random(31).choice
    units = (*TEXT_UNITS, *TEXT_UNITS[:4], *TEXT_UNITS[:2])
    visits = {"who": ("VARCHAR", units), **VISITS}
    visits["amount"] = ("DECIMAL(18,3)", tuple(None if text is None else Decimal(text) for text in AMOUNTS))
    plain = {
        name: (kind, [value for value in values if not isinstance(value, Beyond)])
        for name, (kind, values) in visits.items()
    }
    some = {name: values for name, (_, values) in plain.items()}
    drugs = {"owner": units, **{name: values for name, (_, values) in DRUGS.items()}}
    return {"visits": draw_rows(choose, some, (160,)), "drugs": draw_rows(choose, drugs, (50,))}


def shuffled(name: str, seed: int) -> list[tuple[Any, ...]]:
    listed = [tuple(row.values()) for row in rows()[name]]
    random.Random(seed).shuffle(listed)
    return listed


def opened(source: Callable[[str], dict[str, Any]]) -> Tables:
    declared: dict[str, Any] = {**DECLARED, "dataset": "people"}
    visits = source("visits")
    table = lw.open(**visits, unit="who", name="visits", keys=KEYS, **declared)
    alone = lw.open(**visits, unit=lw.EACH_ROW, name="alone", keys=KEYS, **declared)
    unit = {"unit": "owner", "name": "drugs", "bounds": {"dose": (0, 9)}}
    drugs = lw.open(**source("drugs"), **unit)
    return Tables(table, as_about(drugs, table), alone)


def as_about(table: PrivateTable, other: PrivateTable) -> PrivateTable:
    """The word for the unit is the name of a column; here both mean the same people."""
    return replace(table, context=replace(table.context, unit=other.context.unit))


def on_duckdb(seed: int = 0, threads: int = 1) -> Tables:
    connection = duckdb.connect(config={"threads": threads})
    for name, types in TYPES.items():
        columns = ", ".join(f'"{column}" {"VARCHAR" if kind == "text" else kind}' for column, kind in types.items())
        connection.execute(f"CREATE TABLE {name} ({columns})")
        values = ", ".join(f"({', '.join(map(as_sql, row))})" for row in shuffled(name, seed))
        connection.execute(f"INSERT INTO {name} VALUES {values}")
    return opened(lambda name: {"source": connection, "table": name})


def as_sql(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else literal(value)


def on_postgres(url: str, seed: int) -> Tables:
    types = {name: {c: KIND.get(kind, kind) for c, kind in columns.items()} for name, columns in TYPES.items()}
    return opened(lambda name: in_postgres(shuffled(name, seed), types[name], url, name))


def on_spark(spark: SparkSession, seed: int, parts: int = 2) -> Tables:
    types = {name: {c: KIND.get(kind, kind) for c, kind in columns.items()} for name, columns in TYPES.items()}
    return opened(lambda name: in_spark(shuffled(name, seed), types[name], spark, parts))


Ask = Callable[[Tables], Query]
PUBLIC = lw.public(PLACES, name="places")


def per_unit(table: PrivateTable, *totals: Any, keys: tuple[str, ...] = ()) -> PrivateTable:
    by_name = table.plan.by_name
    named = tuple((f"t{i}", kind, None if of is None else by_name[of]) for i, (kind, of) in enumerate(totals))
    return replace(table, plan=PerUnit(table.plan, "unit", tuple((key, by_name[key]) for key in keys), named))


def combined(setting: Any, *tables: PrivateTable) -> PrivateTable:
    return replace(tables[0], plan=Combine(setting, tuple(table.plan for table in tables)))


def having(condition: str) -> Ask:
    return lambda t: t.visits.bounded(max_rows_per_group=3).where(condition).agg(lw.count(), lw.units())


QUESTIONS: dict[str, Ask] = {
    "counts": lambda t: t.visits.bounded(max_rows_per_group=2).agg(
        lw.count(), lw.units(), lw.count("day", name="days")
    ),
    "sum of whole numbers": lambda t: t.visits.agg(lw.sum("age")),
    "sum of huge numbers": lambda t: t.visits.agg(lw.sum("huge", bounds=(-(10**12), 10**18))),
    "sum of doubles": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.sum("cost"), lw.mean("cost")),
    "sum on a coarse grid": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.sum("cost", bounds=(-1, 1e15))),
    "mean of decimals": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.mean("amount")),
    "mean of written numbers": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.mean("score")),
    "variance": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.variance("cost"), lw.std("age")),
    "covariance": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.covariance("cost", "age")),
    "correlation": lambda t: t.visits.agg(lw.correlation("amount", "cost")),
    "distinct text": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.count_distinct("region")),
    "distinct doubles": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.count_distinct("cost")),
    "distinct whole numbers": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.count_distinct("huge")),
    "distinct days": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.count_distinct("day")),
    "distinct moments": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.count_distinct("at")),
    "public keys": lambda t: t.visits.bounded(max_groups_per_unit=2).group_by("region").agg(lw.count(), lw.sum("age")),
    "everything else": lambda t: (
        t.visits.bounded(max_groups_per_unit=2, max_rows_per_group=2)
        .group_by("region", everything_else=True)
        .agg(lw.count(), lw.units())
    ),
    "secret text": lambda t: t.visits.bounded(max_groups_per_unit=2).group_by("note").agg(lw.count(), lw.mean("cost")),
    "secret whole numbers": lambda t: t.visits.bounded(max_groups_per_unit=2).group_by("huge").agg(lw.count()),
    "secret days": lambda t: t.visits.bounded(max_groups_per_unit=2).group_by("day").agg(lw.count()),
    "secret written days": lambda t: t.visits.bounded(max_groups_per_unit=2).group_by("seen").agg(lw.count()),
    "secret and public": lambda t: (
        t.visits.bounded(max_groups_per_unit=3).group_by("region", "note").agg(lw.count(), lw.count_distinct("age"))
    ),
    "truth values": lambda t: t.visits.group_by("smoker", old="age >= 65", everything_else=True).agg(lw.count()),
    "a total for each unit": lambda t: t.visits.bounded(max_rows_per_unit=3).group_by("region").agg(
        lw.count(), lw.units(), lw.sum("cost")
    ),
    "a histogram": lambda t: t.visits.bounded(max_groups_per_unit=3).agg(
        lw.histogram("cost", edges=[-10, -0.0, 0.1, 0.5, 99.99, 100])
    ),
    "each row": lambda t: t.alone.group_by("region").agg(lw.count(), lw.variance("cost"), lw.count_distinct("note")),
    "arithmetic": lambda t: t.visits.bounded(max_rows_per_group=4).agg(
        lw.sum("cost * age / (amount - 0.5) + 1e-3"), lw.mean("ABS(cost) - FLOOR(cost) + CEIL(cost)")
    ),
    "remainders": lambda t: t.visits.bounded(max_rows_per_group=4).agg(
        lw.sum("huge % 7"), lw.count_distinct("huge % 10")
    ),
    "cases": lambda t: t.visits.bounded(max_rows_per_group=4).agg(
        lw.sum("CASE WHEN smoker THEN cost WHEN age > 17 THEN age ELSE -1 END"), lw.mean("COALESCE(cost, age, 5)")
    ),
    "text as numbers": lambda t: t.visits.bounded(max_rows_per_group=4).agg(
        lw.sum("CAST(note AS number)", bounds=(-9, 99))
    ),
    "lengths": lambda t: t.visits.bounded(max_rows_per_group=4).agg(lw.sum("LENGTH(region) + LENGTH(note)")),
    "parts of times": lambda t: t.visits.bounded(max_rows_per_group=4).agg(
        lw.sum("YEAR(day) + MONTH(at) + DAY(seen) + EXTRACT(hour FROM at) + EXTRACT(minute FROM at)")
    ),
    "likeness": having("region LIKE '%r_h' OR note LIKE 'a%b_c' OR region LIKE '日%'"),
    "lists": having("region IN ('north', '', 'su\u0308d', NULL) OR NOT note IN ('12', '5.')"),
    "huge comparisons": having("huge >= 9007199254740993 OR huge < cost OR cost = 0 OR huge = 9007199254740993"),
    "missing values": having("cost IS NULL AND NOT (smoker IS TRUE) OR day IS NULL"),
    "times": having("day >= '1970-01-01' OR at < TIMESTAMP '2026-03-08 02:30:00' OR seen = '2024-02-29'"),
    "text": having("region <> note OR region = '\\' OR region = 'it''s'"),
    "a public join": lambda t: (
        t.visits.bounded(max_groups_per_unit=3)
        .join(PUBLIC, on="region", how="left")
        .group_by("rich")
        .agg(lw.count(), lw.sum("weight", bounds=(-2, 3)), lw.sum("people", bounds=(0, 10)))
    ),
    "a public join of doubles": lambda t: t.visits.join(PUBLIC, on={"cost": "code"}).agg(lw.count()),
    "a private join": lambda t: (
        t.visits.bounded(max_rows_per_unit=5).join(t.drugs, how="left").where("dose < cost OR drug IS NULL")
        .agg(lw.count(), lw.sum("dose"), lw.count_distinct("pack"))
    ),
    "those without": lambda t: t.visits.having_rows_in(t.drugs.where("drug = 'x'"), negated=True).agg(lw.count()),
    "those with": lambda t: t.visits.having_rows_in(t.drugs.where("dose > 0.1")).group_by("region").agg(lw.units()),
    "a union": lambda t: combined(
        "union", t.visits.select("who", "region", "cost"), t.visits.where("smoker").select("who", "region", "cost")
    ).bounded(max_rows_per_unit=4).agg(lw.count(), lw.sum("cost")),
    "what is in both": lambda t: combined(
        "intersect", t.visits.select("who", "region"), t.visits.where("cost > 0").select("who", "region")
    ).bounded(max_groups_per_unit=3).group_by("region").agg(lw.count()),
    "what is left": lambda t: combined(
        "except", t.visits.select("who", "cost", "day"), t.visits.where("smoker").select("who", "cost", "day")
    ).bounded(max_rows_per_unit=3).agg(lw.count(), lw.count_distinct("day")),
    "totals of each unit": lambda t: per_unit(
        t.visits, ("count", None), ("sum", "huge"), ("avg", "cost"), ("max", "day"), ("min", "cost"), ("sum", "cost")
    ).agg(
        *(lw.mean("t0", bounds=(0, 9)), lw.sum("t1", bounds=(-99, 2**53)), lw.sum("t2"), lw.sum("t4")),
        lw.sum("t5", bounds=(-50, 50)),
    ),
    "totals of each unit and region": lambda t: per_unit(
        t.visits, ("count distinct", "note"), ("count", "cost"), keys=("region",)
    ).bounded(max_groups_per_unit=4).group_by("region").agg(lw.sum("t0", bounds=(0, 3)), lw.sum("t1", bounds=(0, 3))),
}  # fmt: skip


@cache
def expected() -> dict[str, Any]:
    """The answer of DuckDB to every question."""
    tables = on_duckdb()
    return {name: fetch(ask(tables), SALT) for name, ask in QUESTIONS.items()}


def constructs(value: Any) -> Iterator[tuple[str, ...]]:
    """What a question is made of: nodes, aggregates, and operators with the kinds of their arguments."""
    if isinstance(value, Query):
        yield from ((part,) for part in parts(value))
        yield from (("a key", str(key.expression.kind), str(key.values is None)) for key in value.grouping.keys)
        for statistic in value.statistics:
            of = [statistic.of] if statistic.of is not None else [each.expression for each in statistic.arguments]
            yield (statistic.kind, *(str(expression.kind) for expression in of))
        value = (value.plan, [key.expression for key in value.grouping.keys], [s.arguments for s in value.statistics])
    if isinstance(value, Call):
        yield (value.operator, *(str(argument.kind) for argument in value.arguments))
    inner = value if isinstance(value, tuple | list) else ()
    if is_dataclass(value):
        inner = [getattr(value, each.name) for each in fields(value)]
        yield from ((type(value).__name__, each.name) for each in fields(value) if getattr(value, each.name) is True)
    for part in inner:
        if isinstance(part, tuple | list) or is_dataclass(part):
            yield from constructs(part)


@cache
def covering() -> tuple[str, ...]:
    """Few questions with all constructs of all of them: in turn, the one that adds most."""
    tables = on_duckdb()
    left = {name: set(constructs(ask(tables))) for name, ask in QUESTIONS.items()}
    chosen = []
    while any(left.values()):
        best = max(left, key=lambda name: len(left[name]))
        chosen.append(best)
        left = {name: rest - left[best] for name, rest in left.items()}
    return tuple(chosen)


def differences(tables: Tables, names: Iterable[str] = tuple(QUESTIONS)) -> dict[str, str]:
    """The questions to which another engine gives other integers, or none."""
    found = {}
    for name in names:
        try:
            seen = fetch(QUESTIONS[name](tables), SALT)
        except lw.errors.EngineFailed as error:
            found[name] = str(error)
            continue
        if seen != expected()[name]:
            found[name] = f"{seen} instead of {expected()[name]}"
    return found


def test_the_questions_are_many_and_their_answers_are_not_empty() -> None:
    assert len(QUESTIONS) > 40
    assert [name for name, groups in expected().items() if not any(any(row) for row in groups.values())] == []


def test_duckdb_agrees_with_the_oracle() -> None:
    tables = on_duckdb()
    both = {"visits": rows()["visits"], "alone": rows()["visits"], "drugs": rows()["drugs"]}
    assert [n for n, ask in QUESTIONS.items() if integers(ask(tables), both, SALT.seed) != expected()[n]] == []


def test_duckdb_does_not_mind_the_order_of_rows_or_the_number_of_threads() -> None:
    assert differences(on_duckdb(seed=1, threads=4)) == {}


def test_postgresql_agrees_with_duckdb(postgres_url: str) -> None:
    assert differences(on_postgres(postgres_url, seed=2)) == {}


def test_spark_agrees_with_duckdb(spark: SparkSession) -> None:
    """About all constructs; Spark thinks for a second about each question."""
    assert differences(on_spark(spark, seed=3), covering()) == {}


@pytest.mark.sweep
def test_spark_agrees_with_duckdb_on_all_other_questions(spark: SparkSession) -> None:
    assert differences(on_spark(spark, seed=3), QUESTIONS.keys() - set(covering())) == {}


def test_spark_does_not_depend_on_how_the_rows_are_spread(spark: SparkSession) -> None:
    mixed = ("a private join", "totals of each unit", "secret text", "what is in both")
    assert differences(on_spark(spark, seed=4, parts=7), mixed) == {}


@pytest.mark.sweep
def test_no_question_to_spark_depends_on_how_the_rows_are_spread(spark: SparkSession) -> None:
    assert differences(on_spark(spark, seed=4, parts=7), list(QUESTIONS)[::3]) == {}


def postgresql_agrees(seeds: range, url: str) -> None:
    """The same integers on both engines for random questions."""
    with closing(InPostgres(url)) as place:
        for seed in seeds:
            choose = random.Random(50_000 + seed).choice
            world = draw_world(choose, each_row=seed % 8 == 0, few=seed % 3 == 0)
            query = draw_query(choose, world)
            if query.statistics:
                assert fetch(place.ask(query, world), SALT) == fetch(query, SALT), (seed, query.explain())


def test_postgresql_agrees_on_random_questions(postgres_url: str) -> None:
    postgresql_agrees(range(12), postgres_url)


@pytest.mark.sweep
def test_postgresql_agrees_on_many_random_questions(postgres_url: str) -> None:
    postgresql_agrees(range(12, 40), postgres_url)


@pytest.mark.parametrize("size", [1, 64, 65, 1 << 14, (1 << 14) + 1])
def test_however_many_public_groups_there_are_every_engine_keeps_the_same(
    size: int, postgres_url: str, spark: SparkSession
) -> None:
    rng = random.Random(size)
    rows = [(rng.choice([rng.randrange(9), 2**62 + rng.randrange(9)]), rng.randrange(size), i % 7) for i in range(200)]
    types = {"who": "integer", "g": "integer", "x": "integer"}
    asked = {}
    for engine, source in everywhere(rows, types, postgres_url, spark).items():
        table = lw.open(
            **source,
            unit="who",
            keys={"g": range(size)},
            bounds={"x": (0, 6)},
            max_groups_per_unit=3,
            max_rows_per_group=2,
        )
        asked[engine] = table.group_by("g").agg(lw.count(), lw.sum("x"))
    named = [dict(zip(types, row, strict=True)) for row in rows]
    expected = integers(asked["duckdb"], dict.fromkeys(asked["duckdb"].context.relations, named), SALT.seed)
    assert len(expected) > min(size - 1, 20)
    for engine, query in asked.items():
        assert fetch(query, SALT) == expected, engine
