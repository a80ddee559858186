"""SQL: what is read, and that without noise and bounding it says what DuckDB says to the same text."""

from __future__ import annotations

import datetime as dt
import math
import random
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.nodes import Exists, JoinUnit, PerUnit, scans
from lapwing.errors import InvalidCall, InvalidParameter, LapwingError, MissingBounds, UnsupportedQuery

ENOUGH = 10**25
"""An epsilon at which every noise is 0."""
REGIONS = ["East", "North", "South", None]


def visits() -> pd.DataFrame:
    """700 rows of 60 people: every kind of column, with NULLs; values lie on the grids, so sums are exact."""
    rows = []
    for i in range(700):
        rows.append(
            {
                "patient_id": f"p{i * i % 61}",
                "friend_id": f"p{i % 50}",
                "region": REGIONS[i * 7 % 4],
                "age": None if i % 13 == 0 else i * 37 % 100,
                "cost": None if i % 17 == 0 else (i * 911 % 4000) / 8,
                "smoker": None if i % 19 == 0 else i % 3 == 0,
                "day": None if i % 23 == 0 else dt.date(2025, 1 + i % 12, 1 + i % 28),
                "ward": i % 5,
            }
        )
    frame = pd.DataFrame(rows)
    frame["age"] = frame["age"].astype("Int64")
    frame["smoker"] = frame["smoker"].astype("boolean")
    return frame


def stays() -> pd.DataFrame:
    return pd.DataFrame({"patient_id": [f"p{i * 5 % 70}" for i in range(90)], "nights": [i % 9 for i in range(90)]})


PLACES = [
    {"region": "North", "country": "A", "people": 100},
    {"region": "South", "country": "B", "people": 50},
    {"region": "West", "country": "B", "people": 10},
]
LIMITS = {"max_groups_per_unit": 100, "max_rows_per_group": 1000}


@pytest.fixture(scope="module")
def tables() -> tuple[lw.PrivateTable, lw.PrivateTable, lw.PublicTable]:
    main = lw.open(
        visits(),
        unit="patient_id",
        bounds={"age": (0, 100), "cost": (0, 500), "ward": (0, 4)},
        keys={"region": REGIONS, "ward": range(5)},
        types={"day": "date"},
        name="visits",
        **LIMITS,
    )
    other = lw.open(stays(), unit="patient_id", bounds={"nights": (0, 10)}, name="stays")
    return main, other, lw.public(PLACES, name="places")


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("frame", visits())
    connection.execute("CREATE TABLE visits AS SELECT * REPLACE (CAST(day AS DATE) AS day) FROM frame")
    connection.register("stays", stays())
    connection.register("places", pd.DataFrame(PLACES))
    return connection


def rows_of(answer: lw.Answer) -> list[tuple[Any, ...]]:
    return list(zip(*(column.values for column in answer.columns), strict=True))


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float | int) and isinstance(theirs, float | int) and not isinstance(theirs, bool):
        return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6)
    return bool(ours == theirs)


ORDERED = {
    "the example of the issue": """
        SELECT region, COUNT(*) AS n, AVG(age) FROM visits GROUP BY region HAVING n > 50 ORDER BY n DESC, region""",
    "having and order by the aggregate itself": """
        SELECT region FROM visits GROUP BY region HAVING COUNT(*) > 50 ORDER BY AVG(age)""",
    "an aggregate of nothing but order": "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY SUM(cost) DESC",
    "positions": "SELECT region, ward, COUNT(*) FROM visits GROUP BY 1, 2 ORDER BY 3 DESC, 2, 1 LIMIT 7 OFFSET 2",
    "nulls first": "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY region NULLS FIRST",
    "nulls first, downwards": "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY region DESC NULLS FIRST",
    "nulls last by default": "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY region",
    "nulls last by default, downwards": "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY region DESC",
    "arithmetic on aggregates": """
        SELECT ward, SUM(cost) / COUNT(cost) AS mean, COUNT(*) * 100.0 / 700 AS share, -COUNT(*), COUNT(*) > 139
        FROM visits GROUP BY ward ORDER BY ward""",
    "the same aggregate twice": """
        SELECT ward, COUNT(*) AS n, COUNT(*) AS m, COUNT(*) + 1 FROM visits GROUP BY ward ORDER BY ward""",
    "case on aggregates": """
        SELECT ward, CASE WHEN AVG(age) > 50 THEN 'old' ELSE 'young' END AS who
        FROM visits GROUP BY ward ORDER BY ward""",
    "arithmetic on keys": "SELECT ward * 2 + 1 AS w, COUNT(*) FROM visits GROUP BY ward ORDER BY ward * 2 DESC",
    "a named expression as key": """
        SELECT age >= 50 AS old, COUNT(*) FROM visits WHERE age IS NOT NULL GROUP BY old ORDER BY old""",
    "an expression as key": """
        SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS band, COUNT(*), SUM(age)
        FROM visits GROUP BY CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END
        ORDER BY band""",
    "a key by its alias": "SELECT ward AS w, COUNT(*) FROM visits GROUP BY w HAVING w > 1 ORDER BY w DESC",
    "a key that is not shown": "SELECT COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward",
    "a constant beside": "SELECT 'all' AS who, ward, COUNT(*), 1 FROM visits GROUP BY ward ORDER BY ward",
    "other quotes, cases and comments": """
        select -- a remark
          "Region" AS "Règion 'x'", /* another */ Count( * ) AS "n ü" FROM "visits" AS "V" where "V".WARD <> 3
        GROUP BY V.region ORDER BY "n ü" DESC, 1;""",
    "having on keys": "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward IN (1, 3) ORDER BY ward",
    "no row at all": "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 10000 ORDER BY ward",
    "limit 0": "SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 0",
    "dates": """
        SELECT EXTRACT(MONTH FROM day) AS month, COUNT(*) FROM visits
        WHERE day BETWEEN '2025-02-01' AND DATE '2025-09-30' GROUP BY month ORDER BY month""",
}
TOTALS = {
    "counts": "SELECT COUNT(*), COUNT(1), COUNT(age), COUNT(DISTINCT age), COUNT(DISTINCT patient_id) FROM visits",
    "sums and means": "SELECT SUM(age), SUM(cost), AVG(age), AVG(cost), mean(cost) AS m FROM visits",
    "spreads": "SELECT VAR_POP(age), STDDEV_POP(age), COVAR_POP(age, ward), CORR(age, ward) FROM visits",
    "filters": """
        SELECT COUNT(*) FILTER (WHERE smoker), SUM(cost) FILTER (WHERE age > 50), COUNT(age) FILTER (WHERE ward = 1),
               COUNT(DISTINCT age) FILTER (WHERE smoker), COUNT(DISTINCT patient_id) FILTER (WHERE smoker),
               AVG(age) FILTER (WHERE NOT smoker), COUNT_IF(age > 50) FROM visits""",
    "case": "SELECT SUM(CASE WHEN smoker THEN cost END), SUM(CASE WHEN smoker THEN 1 ELSE 0 END) FROM visits",
    "where": """
        SELECT COUNT(*) FROM visits WHERE (age > 20 OR cost < 100) AND region LIKE '%th' AND NOT (ward = 2)
        AND region IN ('North', 'South') AND age IS NOT NULL AND age % 7 <> 3 AND COALESCE(cost, 0) * 2 >= age - 1""",
    "a sub-query": "SELECT COUNT(*), AVG(x) FROM (SELECT age + cost AS x FROM visits WHERE ward < 3) AS t WHERE x > 90",
    "a star inside": "SELECT COUNT(*), SUM(twice) FROM (SELECT *, age * 2 AS twice FROM visits) WHERE ward = 1",
    "per unit": """
        SELECT COUNT(*), AVG(n), SUM(total), AVG(mean), SUM(days) FROM
        (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total, AVG(age) AS mean, COUNT(DISTINCT day) AS days,
        MIN(age), MAX(cost) FROM visits GROUP BY patient_id HAVING COUNT(*) > 2 AND MAX(age) > 20) t""",
    "per unit and more keys": """
        SELECT COUNT(*), SUM(n) FROM (SELECT patient_id, region, COUNT(*) AS n FROM visits GROUP BY 1, 2)""",
    "per unit, computed": """
        SELECT AVG(mean), COUNT(*) FROM (SELECT patient_id AS p, 7 AS seven, MIN(age) + MAX(age) AS mean
        FROM visits GROUP BY patient_id, seven) WHERE seven = 7""",
    "per unit, of a constant": """
        SELECT COUNT(*), SUM(five) FROM (SELECT patient_id AS p, AVG(5) AS five FROM visits GROUP BY 1) AS t""",
    "with": """
        WITH old AS (SELECT patient_id, age, cost FROM visits WHERE age > 60),
        dear AS (SELECT * FROM old WHERE cost > 9)
        SELECT COUNT(*), SUM(cost) FROM dear""",
    "with the name of a table": """
        WITH visits AS MATERIALIZED (SELECT patient_id, age FROM visits WHERE smoker) SELECT COUNT(*) FROM visits""",
    "distinct": "SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, region FROM visits) t",
    "union": "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION SELECT patient_id FROM stays) t",
    "union all": """
        SELECT COUNT(*), SUM(x) FROM (SELECT patient_id, ward AS x FROM visits UNION ALL
        (SELECT patient_id, nights FROM stays WHERE nights > 2)) t""",
    "intersect": "SELECT COUNT(*) FROM (SELECT patient_id FROM visits INTERSECT SELECT patient_id FROM stays) t",
    "except": "SELECT COUNT(*) FROM ((SELECT patient_id FROM stays) EXCEPT SELECT patient_id FROM visits) t",
    "union with intersect": """
        SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE ward = 1
        UNION (SELECT patient_id FROM visits WHERE ward = 2 INTERSECT SELECT patient_id FROM stays)) t""",
    "join on the unit": """
        SELECT COUNT(*), SUM(nights), AVG(v.age) FROM visits v JOIN stays s ON v.patient_id = s.patient_id""",
    "join with more conditions": """
        SELECT COUNT(*) FROM visits AS v INNER JOIN stays AS s
        ON (s.patient_id = v.patient_id AND v.ward = s.nights) WHERE s.nights + v.ward < 7""",
    "join using": "SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM visits JOIN stays USING (patient_id)",
    "left join on the unit": """
        SELECT COUNT(*), COUNT(nights), COUNT(s.patient_id), SUM(nights)
        FROM visits v LEFT JOIN stays s ON v.patient_id = s.patient_id AND v.ward > s.nights""",
    "self join": """
        SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.ward < b.ward
        WHERE a.smoker AND b.smoker""",
    "three tables": """
        SELECT COUNT(*), SUM(n) FROM visits v JOIN (SELECT patient_id, SUM(nights) AS n FROM stays GROUP BY 1) s
        ON s.patient_id = v.patient_id JOIN places p ON p.region = v.region AND p.people > v.age""",
    "join with a public table": """
        SELECT COUNT(*), SUM(people) FROM visits JOIN places ON visits.region = places.region AND country = 'B'""",
    "public table first": "SELECT COUNT(*), SUM(people) FROM places p JOIN visits v USING (region)",
    "left join with a public table": """
        SELECT COUNT(*), COUNT(country), SUM(people) FROM visits v LEFT JOIN places p ON p.region = v.region""",
    "exists": """
        SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT * FROM stays s WHERE s.patient_id = v.patient_id
        AND nights > 6) AND ward <> 2""",
    "not exists": """
        SELECT COUNT(*) FROM visits WHERE NOT EXISTS
        (SELECT 1 FROM stays WHERE visits.patient_id = stays.patient_id)""",
    "exists in exists": """
        SELECT COUNT(*) FROM visits v WHERE NOT (EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id
        AND NOT EXISTS (SELECT nights FROM stays z WHERE z.patient_id = s.patient_id AND z.nights = 8)))""",
    "unit in a query": """
        SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM stays GROUP BY 1 HAVING SUM(nights) > 4)
        AND patient_id NOT IN (SELECT patient_id FROM stays WHERE nights = 0)""",
    "much in": f"SELECT COUNT(*) FROM visits WHERE age IN ({', '.join(map(str, range(5000)))})",
    "many ands": f"SELECT COUNT(*) FROM visits WHERE {' AND '.join(f'age <> {i}' for i in range(60))}",
}
BOUNDS = {
    "per unit": {"n": (0, 100), "total": (0, 20000), "days": (0, 50)},
    "per unit and more keys": {"n": (0, 100)},
    "three tables": {"n": (0, 100), "people": (0, 1000)},
    "join with a public table": {"people": (0, 1000)},
    "public table first": {"people": (0, 1000)},
    "left join with a public table": {"people": (0, 1000)},
    "union all": {"x": (0, 20)},
}
KEYS = {"dates": {"month": range(2, 10)}}


@pytest.mark.parametrize("name", [*ORDERED, *TOTALS])
def test_without_noise_and_bounding_the_answer_is_that_of_the_database(name: str, tables: Any, plain: Any) -> None:
    main, *others = tables
    text = {**ORDERED, **TOTALS}[name]
    answer = main.sql(text, epsilon=ENOUGH, tables=others, bounds=BOUNDS.get(name), keys=KEYS.get(name))
    ours, theirs = rows_of(answer), plain.execute(text).fetchall()
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert all(map(same, mine, other)), (mine, other)


def test_names_of_the_answer_are_aliases_or_those_of_the_aggregates(tables: Any) -> None:
    main, *others = tables
    text = """SELECT v.region AS "where", COUNT(*), AVG(v.age), SUM(nights), COUNT(DISTINCT v.patient_id), MEDIAN(age),
              QUANTILE(age, 0.9), COUNT(*) + 1, COUNT(age) FROM visits v JOIN stays USING (patient_id) GROUP BY 1"""
    answer = main.sql(text, epsilon=ENOUGH, tables=others)
    assert [column.name for column in answer.columns] == [
        "where", "count", "mean_age", "sum_nights", "units", "median_age", "quantile_age_0.9",
        "COUNT(*) + 1", "count_age",
    ]  # fmt: skip


def test_an_aggregate_is_priced_once_wherever_it_stands(tables: Any) -> None:
    query = tables[0].query(
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5 ORDER BY n, COUNT(*), AVG(age)"
    )
    assert [(one.kind, one.output) for one in query.aggregates] == [("count", "n"), ("mean", "mean_age")]
    assert query.post.outputs is not None
    assert [name for name, _ in query.post.outputs] == ["ward", "n"]
    statistics = {str(statistic) for statistic in query.statistics}
    assert len(statistics) == 3, "rows, and for the hidden mean a count and a sum"


def test_the_sql_is_the_same_question_as_the_one_in_python(tables: Any) -> None:
    main = tables[0]
    written = main.query("SELECT region, COUNT(*), AVG(age) FROM visits WHERE smoker GROUP BY region")
    built = main.where("smoker").group_by("region").agg(lw.count(name="count"), lw.mean("age", name="mean_age"))
    assert written.plan == built.plan
    assert written.grouping == built.grouping
    assert written.items(written.budget(1, None, None)) == built.items(built.budget(1, None, None))
    assert written.text is not None


QUANTILES = [
    "MEDIAN(age)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
    "QUANTILE(age, 0.5)",
    "QUANTILE_CONT(age, 0.5)",
    "APPROX_QUANTILE(age, 0.5)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age DESC)",
]


@pytest.mark.parametrize("text", QUANTILES)
def test_quantiles_are_read_in_all_their_spellings(text: str, tables: Any) -> None:
    answer = tables[0].sql(f"SELECT {text} AS middle FROM visits", epsilon=ENOUGH)
    ages = sorted(visits()["age"].dropna())
    [[middle]] = rows_of(answer)
    assert ages[len(ages) // 2 - 8] <= middle <= ages[len(ages) // 2 + 8]


def test_a_descending_percentile_is_the_ascending_one_of_the_rest(tables: Any) -> None:
    up, down = (
        tables[0].query(f"SELECT PERCENTILE_CONT({q}) WITHIN GROUP (ORDER BY age{word}) AS q FROM visits")
        for q, word in (("0.9", ""), ("0.1", " DESC"))
    )
    assert up.aggregates == down.aggregates


def test_variance_without_a_word_is_that_of_the_population(tables: Any) -> None:
    population, short = (tables[0].query(f"SELECT {f}(age) AS v FROM visits") for f in ("VAR_POP", "VARIANCE"))
    assert population.aggregates == short.aggregates


def test_bounds_reach_columns_wherever_they_are_made(tables: Any) -> None:
    main, *others = tables
    text = """SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t"""
    with pytest.raises(MissingBounds, match="total"):
        main.query(text)
    grid = main.query(text, bounds={"total": (0, 1000)}).bounds[0].grids[0]
    assert (grid.low, grid.high) == (0, 1000)
    qualified = "SELECT SUM(s.nights) FROM visits v JOIN stays s USING (patient_id)"
    grid = main.query(qualified, tables=others, bounds={"s.nights": (0, 3)}).bounds[0].grids[0]
    assert (grid.low, grid.high) == (0, 3)
    grid = main.query("SELECT SUM(age) FROM visits", bounds={"age": (10, 20)}).bounds[0].grids[0]
    assert (grid.low, grid.high) == (10, 20)


def test_keys_reach_columns_wherever_they_are_made(tables: Any) -> None:
    main, *others = tables
    by_alias = main.query("SELECT age % 2 AS odd, COUNT(*) FROM visits GROUP BY odd", keys={"odd": [0, 1]})
    assert by_alias.grouping.keys[0].values == (0, 1)
    joined = "SELECT country, COUNT(*) FROM visits JOIN places USING (region) GROUP BY country"
    assert main.query(joined, tables=others, keys={"country": ["A"]}).grouping.keys[0].values == ("A",)
    inner = "SELECT x, COUNT(*) FROM (SELECT ward AS x FROM visits) t GROUP BY x"
    assert main.query(inner, keys={"x": [3]}).grouping.keys[0].values == (3,)
    assert main.query("SELECT friend_id, COUNT(*) FROM visits GROUP BY 1").grouping.secret


def test_everything_else_is_a_group_that_can_be_sorted(tables: Any) -> None:
    answer = tables[0].sql(
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward DESC",
        keys={"ward": [0, 3]},
        everything_else=True,
        epsilon=ENOUGH,
    )
    assert rows_of(answer) == [("everything else", 420), (3, 140), (0, 140)]


def test_options_that_fit_nothing_are_told(tables: Any) -> None:
    main = tables[0]
    text = "SELECT COUNT(*) FROM visits"
    with pytest.raises(InvalidParameter, match="totl"):
        main.query(text, bounds={"totl": (0, 1)})
    with pytest.raises(InvalidParameter, match="region"):
        main.query(text, bounds={"region": (0, 1)})
    with pytest.raises(InvalidParameter, match="kind"):
        main.query(text, keys={"region": [1]})
    for wrong in ("North", 5, [["a"]]):
        with pytest.raises(InvalidParameter):
            main.query(text, keys={"region": wrong})
    for wrong in ([5], 5, {"a": None}):
        with pytest.raises(InvalidParameter, match="tables"):
            main.query(text, tables=wrong)
    with pytest.raises(InvalidParameter, match="bounds"):
        main.query(text, bounds=[1])
    with pytest.raises(InvalidCall, match="keys"):
        main.query(text, key={"region": ["a"]})


def test_tables_are_known_by_their_own_name_or_the_one_they_are_given(tables: Any) -> None:
    main, other, _ = tables
    for given in ([other], other, {"stays": other}, {"stays": other, "more": main}):
        assert main.query("SELECT COUNT(*) FROM stays", tables=given).plan == other.plan
    assert main.query("SELECT COUNT(*) FROM x.y", tables={"x.y": other}).plan == other.plan
    with pytest.raises(InvalidParameter, match="two tables"):
        main.query("SELECT COUNT(*) FROM visits", tables={"visits": other})
    smokers = main.where("smoker")
    assert smokers.query("SELECT COUNT(*) FROM visits").plan == smokers.plan


def test_bounding_is_that_of_the_table_unless_the_query_says_otherwise(tables: Any) -> None:
    text = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    assert tables[0].query(text).bounding == tables[0].bounding
    bounding = tables[0].query(text, max_groups_per_unit=2).bounding
    assert (bounding.max_groups_per_unit, bounding.max_rows_per_group) == (2, 1)
    assert tables[0].query(text, max_rows_per_unit=7).bounding.max_rows_per_unit == 7


def test_every_data_set_that_is_read_is_charged_and_no_other(tmp_path: Any) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    allowance = lw.PureDP(10, unit="patient")
    first, second, third = (
        lw.open(stays(), unit="patient_id", name=name, dataset=name.upper(), ledger=ledger, allowance=allowance)
        for name in ("first", "second", "third")
    )
    more = [second, third]
    both = "SELECT COUNT(*) FROM first JOIN second USING (patient_id)"
    assert first.query(both, tables=more).context.datasets == ("FIRST", "SECOND")
    unused = "WITH x AS (SELECT patient_id FROM third) SELECT COUNT(*) FROM second"
    assert first.query(unused, tables=more).context.datasets == ("SECOND",)
    hidden = "SELECT COUNT(*) FROM first WHERE EXISTS (SELECT 1 FROM third WHERE third.patient_id = first.patient_id)"
    first.sql(hidden, tables=more, epsilon=4)
    assert [str(ledger.remaining(name.upper())) for name in ("first", "second", "third")] == [
        str(lw.PureDP(left, unit="patient")) for left in (6, 10, 6)
    ]


def test_tables_about_other_units_are_not_combined(tables: Any) -> None:
    other = lw.open(stays(), unit="patient_id", name="stays", ledger=None)
    wrong = lw.open(visits(), unit="friend_id", name="calls")
    with pytest.raises(UnsupportedQuery, match="about"):
        other.query("SELECT COUNT(*) FROM stays s JOIN calls c ON s.patient_id = c.friend_id", tables=[wrong])


def test_the_unit_is_known_by_where_it_comes_from(tables: Any) -> None:
    main, *others = tables
    renamed = """WITH a AS (SELECT patient_id AS who, friend_id AS patient_id FROM visits)
                 SELECT COUNT(DISTINCT who), COUNT(DISTINCT patient_id) FROM a"""
    assert [one.kind for one in main.query(renamed).aggregates] == ["units", "count distinct"]
    joined = "SELECT COUNT(*) FROM (SELECT patient_id AS x FROM visits) a JOIN stays b ON a.x = b.patient_id"
    assert isinstance(main.query(joined, tables=others).plan, JoinUnit)
    grouped = "SELECT COUNT(*) FROM (SELECT x FROM (SELECT patient_id AS x FROM visits) GROUP BY x) t"
    [unit] = main.query(grouped).plan.columns
    assert unit == Column("x", "text", unit=True)


def test_plans_are_made_of_what_was_written(tables: Any) -> None:
    main, *others = tables
    plan = main.query(
        "SELECT COUNT(*) FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM stays GROUP BY 1)", tables=others
    ).plan
    assert isinstance(plan, Exists)
    assert plan.negated
    assert [scan.table for scan in scans(plan)] == ["visits", "stays"]
    inner: Any = plan.other
    assert isinstance(inner.parent, PerUnit)


def test_the_order_of_conditions_and_their_parentheses_do_not_matter(tables: Any) -> None:
    one, two = (
        tables[0].query(f"SELECT COUNT(*) FROM visits WHERE {text}").plan
        for text in ("age > 1 AND ward = 2 AND smoker", "((age > 1 AND (ward = 2)) AND ((smoker)))")
    )
    assert one == two


def test_every_error_of_a_query_comes_before_anything_is_charged(tmp_path: Any) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    table = lw.open(stays(), unit="patient_id", name="stays", ledger=ledger, allowance=lw.PureDP(1, unit="patient_id"))
    for text in ("SELECT nights FROM stays", "SELECT AVG(nights) FROM stays", "SELECT COUNT(*) FROM stays LIMIT x"):
        with pytest.raises(LapwingError):
            table.sql(text, epsilon=1)
    assert str(table.remaining()) == str(lw.PureDP(1, unit="patient_id"))


@dataclass
class Questions:
    """Random sub-queries over tables a and b with the columns u (the unit), x and t, and the public table p."""

    chance: random.Random
    aliases: int = field(default=0)

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def rows(self, depth: int) -> str:
        """Something to select u, x and t from."""
        shape = self.chance.randrange(9) if depth else 0
        if shape == 0:
            return self.chance.choice("ab")
        one, other, pick = self.alias(), self.alias(), self.chance.choice
        source, second = self.rows(depth - 1), self.rows(depth - 1)
        if shape == 1:
            return f"(SELECT u, x, t FROM {source} {one} WHERE {self.condition(one)})"
        if shape == 2:
            return f"(SELECT DISTINCT u, x, t FROM {source} {one})"
        if shape == 3:
            setting = pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
            return f"(SELECT u, x, t FROM {source} {one} {setting} SELECT u, x, t FROM {second} {other})"
        if shape == 4:
            more = pick(["", f" AND {one}.x < {other}.x", f" AND {one}.t = {other}.t", f" AND {one}.x + {other}.x > 2"])
            joined = f"{source} {one} {pick(['', 'LEFT '])}JOIN {second} {other} ON {one}.u = {other}.u{more}"
            return f"(SELECT {one}.u, {pick([one, other])}.x, {pick([one, other])}.t FROM {joined})"
        if shape == 5:
            having = pick(["COUNT(*) > 1", "COUNT(x) >= 1", "MAX(x) > 1"])
            return f"(SELECT u, {pick(['MIN', 'MAX'])}(x) AS x, t FROM {source} {one} GROUP BY u, t HAVING {having})"
        if shape == 6:
            return f"(SELECT u, COUNT({pick(['*', 'x', 'DISTINCT x'])}) AS x, 'a' AS t FROM {source} {one} GROUP BY u)"
        if shape == 7:
            inner = f"SELECT 1 FROM {second} {other} WHERE {other}.u = {one}.u AND {self.condition(other)}"
            return f"(SELECT u, x, t FROM {source} {one} WHERE {pick(['', 'NOT '])}EXISTS ({inner}))"
        joined = f"{source} {one} {pick(['', 'LEFT '])}JOIN p ON {one}.t = p.t"
        return f"(SELECT u, {pick(['x', 'k'])} AS x, {one}.t FROM {joined})"

    def condition(self, alias: str) -> str:
        conditions = [
            "{0}.x > 1", "{0}.x IS NULL", "{0}.t <> ''", "{0}.x IN (0, 2, NULL)", "NOT ({0}.x = 1)",
            "({0}.x = 1 OR {0}.t = 'b')", "{0}.u IN (SELECT u FROM b)", "{0}.u NOT IN (SELECT u FROM b WHERE x = 1)",
            "CASE WHEN {0}.x = 1 THEN TRUE ELSE {0}.t = 'a' END",
        ]  # fmt: skip
        return self.chance.choice(conditions).format(alias)

    def table(self) -> pd.DataFrame:
        size, pick = range(self.chance.randrange(1, 15)), self.chance.choice
        numbers = {
            name: [pick(values) for _ in size] for name, values in {"u": [1, 2, 3, 4, None], "x": [0, 3, None]}.items()
        }
        frame = pd.DataFrame({**numbers, "t": [pick(["a", "b", "", None]) for _ in size]})
        return frame.astype({"u": "Int64", "x": "Int64"})


def asked(text: str, frames: dict[str, pd.DataFrame], most: int, rows: int) -> list[float]:
    """The answer without noise, from a salt that is always the same."""
    first, second = (lw.open(frame, unit="u", bounds={"x": (0, most)}, name=name) for name, frame in frames.items())
    public = lw.public([{"t": "a", "k": 1}, {"t": "b", "k": 2}, {"t": "a", "k": 3}], name="p")
    options = {"bounds": {"x": (0, most)}, "max_rows_per_group": rows, "entropy": lw.noise.Reproducible(7)}
    answer = first.sql(text, epsilon=ENOUGH, tables=[second, public], **options)
    return [float(column.values[0]) for column in answer.columns]


def answered_and_priced(seed: int) -> None:
    """The answer of the database, and no unit moves it further than its price."""
    questions = Questions(random.Random(seed))
    frames = {"a": questions.table(), "b": questions.table()}
    rows, name = questions.rows(3), questions.alias()
    text = f"SELECT COUNT(*), COUNT(DISTINCT {name}.u), COUNT(x), SUM(x) FROM {rows} {name}"
    connection = duckdb.connect()
    for table, frame in frames.items():
        connection.register(f"raw_{table}", frame)
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM raw_{table} WHERE u IS NOT NULL")
    connection.execute("CREATE TABLE p AS FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) v(t, k)")
    theirs = [float(value or 0) for value in connection.execute(text).fetchall()[0]]
    assert asked(text, frames, 10**6, 10**5) == pytest.approx(theirs)
    everybody = asked(text, frames, 4, 2)
    for unit in (1, 2, 3, 4):
        others = {table: frame[~(frame["u"] == unit).fillna(False)] for table, frame in frames.items()}
        moved = [abs(one - other) for one, other in zip(everybody, asked(text, others, 4, 2), strict=True)]
        assert all(map(float.__le__, moved, [2.0, 1.0, 2.0, 8.0])), (text, moved)


@together("seed", range(8))
def test_random_questions_are_answered_as_by_the_database_and_one_unit_moves_them_no_further_than_priced(
    seed: int,
) -> None:
    answered_and_priced(seed)


@pytest.mark.sweep
@together("seed", range(8, 40))
def test_many_random_questions_are_answered_as_by_the_database_and_priced_right(seed: int) -> None:
    answered_and_priced(seed)


STRUCTURED = [
    "filters", "per unit", "per unit, computed", "distinct", "union all", "except", "join with more conditions",
    "left join on the unit", "three tables", "left join with a public table", "exists in exists", "unit in a query",
]  # fmt: skip


def cells(frame: pd.DataFrame) -> list[list[Any]]:
    return [
        [None if value is pd.NA or value != value else value for value in row] for row in frame.astype(object).values
    ]


def test_postgresql_joins_and_nests_as_well(postgres_url: str, plain: Any) -> None:
    from everywhere import in_postgres

    types = dict.fromkeys(("patient_id", "friend_id", "region"), "text") | {"age": "integer", "cost": "number"}
    types |= {"smoker": "boolean", "day": "DATE", "ward": "integer"}
    main = lw.open(
        **in_postgres(cells(visits()), types, postgres_url, "visits"),
        unit="patient_id",
        bounds={"age": (0, 100), "cost": (0, 500), "ward": (0, 4)},
        keys={"region": REGIONS, "ward": range(5)},
        **LIMITS,
    )
    types = {"patient_id": "text", "nights": "integer"}
    other = lw.open(
        **in_postgres(cells(stays()), types, postgres_url, "stays"), unit="patient_id", bounds={"nights": (0, 10)}
    )
    tables = [other, lw.public(PLACES, name="places")]
    for name in STRUCTURED:
        text = TOTALS[name]
        answer = main.sql(text, epsilon=ENOUGH, tables=tables, bounds=BOUNDS.get(name))
        theirs = plain.execute(text).fetchall()
        assert [all(map(same, *pair)) for pair in zip(rows_of(answer), theirs, strict=True)] == [True] * len(theirs), (
            name
        )


def test_columns_of_a_public_table_bring_their_values_along_as_keys_and_bounds() -> None:
    frame = pd.DataFrame({"who": [1, 2, 3], "town": ["a", "b", "c"]})
    towns = lw.public([{"town": "a", "sea": "wet", "km": 1}, {"town": "b", "sea": "dry", "km": 9}], name="towns")
    visits = lw.open(frame, unit="who", name="visits")
    inner = visits.join(towns, on="town").group_by("sea").agg(lw.count(), lw.sum("km")).release(epsilon=10**20)
    assert list(inner.table) == [
        {"sea": "wet", "count": 1, "sum_km": 1}, {"sea": "dry", "count": 1, "sum_km": 9},
    ]  # fmt: skip
    outer = visits.join(towns, on="town", how="left").group_by("sea").agg(lw.count()).release(epsilon=10**20)
    assert outer.table["sea"] == ("wet", "dry", None)
    assert outer.table["count"] == (1, 1, 1)


COMPUTED = lw.open(
    pd.DataFrame({"p": range(60), "r": ["a", "b", "c"] * 20, "x": [1.6, 2.4, -7.3] * 20}),
    unit="p",
    name="t",
    keys={"r": ["a", "b", "c"]},
    bounds={"x": (-10, 10)},
)


def test_what_is_computed_from_an_answer_may_be_text_a_date_or_a_truth_value_and_is_shown() -> None:
    size = "CASE WHEN COUNT(*) > 10 THEN 'large.r' ELSE 'small <b>' END AS size"
    day = "CASE WHEN COUNT(*) > 5 THEN DATE '2026-11-15' END AS day"
    sql = f"SELECT r, {size}, COUNT(*) > 5 AS many, {day}, COUNT(*) AS n FROM t GROUP BY r"
    answer = COMPUTED.sql(sql, epsilon=100)
    assert "large.r" in str(answer)
    assert "2026-11-15" in answer._repr_html_()
    assert answer.table["many"] == (True, True, True)
    assert list(answer.to_pandas()["size"]) == ["large.r"] * 3
    assert lw.curator.Answer.from_json(answer.to_json()) == answer
    assert len(answer.plot().axes) == 1
    other = COMPUTED.sql("SELECT CASE WHEN COUNT(*) > 500 THEN 'large' ELSE '<b>' END AS size FROM t", epsilon=100)
    assert "<b>" in str(other)
    assert "<b>" not in other._repr_html_()


def test_released_values_are_rounded_and_text_is_not_like_something() -> None:
    sql = """SELECT r, FLOOR(AVG(x)) AS f, CEIL(AVG(x)) AS c, ROUND(AVG(x)) AS n, ROUND(AVG(x), 1) AS d,
             ROUND(COUNT(*), -1) AS t, ROUND(COUNT(*)) AS same
             FROM t GROUP BY r HAVING r NOT LIKE 'b%' ORDER BY ROUND(AVG(x)) DESC"""
    answer = COMPUTED.sql(sql, epsilon=1e6)
    assert list(answer.table) == [
        {"r": "a", "f": 1, "c": 2, "n": 2, "d": 1.6, "t": 20, "same": 20},
        {"r": "c", "f": -8, "c": -7, "n": -7, "d": -7.3, "t": 20, "same": 20},
    ]


@pytest.mark.parametrize(("digits", "wanted"), [("", 3.0), (", 1", 2.5), (", 0", 3.0), (", -1", 0.0)])
def test_halves_are_rounded_away_from_zero(digits: str, wanted: float) -> None:
    for sign in ("", "-"):
        query = COMPUTED.query(f"SELECT COUNT(*) FROM t WHERE ROUND({sign}2.5{digits}) = {sign}{wanted}")
        assert query.release(epsilon=100).value == pytest.approx(60, abs=1)
    with pytest.raises(UnsupportedQuery, match="digits"):
        COMPUTED.query("SELECT ROUND(AVG(x), COUNT(*)) FROM t")


def test_text_that_is_not_like_a_pattern_is_counted() -> None:
    answer = COMPUTED.sql("SELECT COUNT(*) FROM t WHERE r NOT LIKE 'a%' AND NOT r LIKE 'b_'", epsilon=100)
    assert answer.value == pytest.approx(40, abs=1)
