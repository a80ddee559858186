"""Descriptions of data sets, questions that are kept, and quotes that are shown."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing.curator as lw
from lapwing.curator.ask import documents, reader, writer
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.question import Post
from lapwing.curator.plan.groups import Grouping
from lapwing.curator.plan.nodes import Combine, JoinUnit, PerUnit, Select
from lapwing.curator.tables.table import together
from lapwing.errors import InvalidParameter, LapwingError, MissingBounds, UnsupportedQuery
from lapwing.privacy import ZCDP, ApproxDP, PureDP, Trust, quotes

NAMES = "patient_id,age,cost,region,smoker,day,zip"
ROWS = "\n".join(f"p{i % 9},{i},{i},{'NS'[i % 2]},true,2026-01-0{i % 9 + 1},{i % 3}" for i in range(30))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    (place / "visits.csv").write_text(f"{NAMES}\n{ROWS}\n")
    (place / "drugs.csv").write_text("patient_id,drug\np1,aspirin\n")
    return place


@pytest.fixture(scope="module")
def visits(folder: Path) -> lw.PrivateTable:
    return lw.open(
        folder / "visits.csv",
        unit="patient_id",
        bounds={"age": (0, 120), "cost": (0, 5000.5)},
        types={"smoker": "boolean", "day": "date"},
        keys={"region": ["N", "S"], "day": [dt.date(2026, 1, 1), None]},
    )


@pytest.fixture(scope="module")
def drugs(folder: Path) -> lw.PrivateTable:
    return lw.open(folder / "drugs.csv", unit="patient_id")


@pytest.fixture(scope="module")
def zips() -> lw.PublicTable:
    return lw.public([{"zip": "1", "city": "A", "region": "x"}, {"zip": "2", "city": "B", "region": "y"}], name="zips")


def written(folder: Path, text: str, name: str = "visits.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# Documents


def test_words_without_quotes_mean_what_they_look_like() -> None:
    text = "[NO, yes, 01234, 12:30, 0x10, 1_000, 1e-6, .5, -3, ~, true, 2026-01-01, 2026-01-01 10:00:00, <<]"
    assert documents.read_yaml(text) == [
        "NO", "yes", "01234", "12:30", "0x10", "1_000", 1e-6, 0.5, -3, None, True,
        dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 10), "<<",
    ]  # fmt: skip


@cases.together(
    ("text", "why"),
    [
        ("a: 1\na: 2", "'line 2': 'a' is there twice"),
        ("a: {b: 1, b: 1}", "is there twice"),
        ("a: &x [1]\nb: *x", "anchors"),
        ("a: *x", "aliases"),
        ("a: !!python/object/apply:os.system ['touch owned']", "tags"),
        ("a: !!int '3'", "tags"),
        ("1: a", "is not text"),
        ("[a]: b", "is not text"),
        ("a: [", "line 1"),
        ("a: 1\n---\nb: 1", "another document"),
        ("[" * 5000, "nested too deeply"),
        ("a: 1e999", "cannot be read"),
        ("a: 2026-02-30", "cannot be read"),
        ("a: " + "9" * 5000, "cannot be read"),
        ("\0", "characters"),
        ("a" * (documents.LONGEST + 1), "too long"),
    ],
)
def test_what_could_mean_something_else_than_it_seems_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidParameter, match=re.escape(why)):
        documents.read_yaml(text)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}', "{", "[" * 100_000, "\0"])
def test_json_is_read_as_strictly(text: str) -> None:
    with pytest.raises(InvalidParameter, match="JSON"):
        documents.read_json(text)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(PLAIN, st.text())
def test_whatever_is_written_is_read_back(data: Any, word: str) -> None:
    for read, write in (
        (documents.read_yaml, documents.write_yaml),
        (documents.read_json, documents.write_json),
    ):
        assert repr(read(write(data))) == repr(data)
    assert documents.read_yaml(f"{{{documents.word(word)}: 1}}") == {word: 1}


# Descriptions


def test_a_template_is_made_from_types_and_never_from_values(folder: Path) -> None:
    text = lw.describe(folder / "visits.csv")
    assert all(f"  # {name}: text\n" in text for name in NAMES.split(","))
    other = folder / "others" / "visits.csv"
    other.parent.mkdir()
    other.write_text(f"{NAMES}\n" + '"\n,,,\x00' * 9)
    assert lw.describe(other).replace(str(other), "") == text.replace(str(folder / "visits.csv"), "")


def test_a_template_knows_the_types_of_a_typed_file(folder: Path) -> None:
    import duckdb

    path = folder / "typed.parquet"
    columns = "1 AS id, 1.5 AS x, DATE '2026-01-01' AS \"the day: no\", [1] AS listed, 'a'::ENUM ('a', 'secret') AS e"
    duckdb.sql(f"COPY (SELECT {columns}) TO '{path}' (FORMAT parquet)")
    text = lw.describe(path)
    assert "  # id: integer\n  # x: number\n  # 'the day: no': date\n" in text
    assert "Not usable, because of their types: listed." in text
    assert "# x: [low, high]" in text
    assert "secret" not in text


def test_a_template_that_is_filled_in_opens_the_table(folder: Path) -> None:
    path = folder / "template.yaml"
    text = lw.describe(folder / "visits.csv", path)
    assert "\nsource: visits.csv\n" in text
    with pytest.raises(InvalidParameter, match="exactly one unit"):
        lw.open_described(path)
    table = lw.open_described(path, unit="patient_id", bounds={"age": [0, 120]})
    assert table.columns["age"] == "number"
    assert table.context.datasets == ("visits",)
    with pytest.raises(InvalidParameter, match="File exists"):
        lw.describe(folder / "visits.csv", path)


def test_a_template_leaves_out_passwords(folder: Path) -> None:
    from lapwing.curator.tables.descriptions import _place

    place = _place("postgresql://ada:pass:w/rd@host/db", None)
    assert documents.read_yaml(place) == "postgresql://ada@host/db"


def test_every_field_of_a_description_reaches_the_table(folder: Path) -> None:
    path = written(
        folder,
        "lapwing_dataset: 1\nsource: visits.csv\nunit: patient_id\nname: v\ntypes: {smoker: boolean}\n"
        "bounds: {age: [0, 1e2]}\nkeys: {region: [NO, S], zip: ['1', '01']}\nmax_rows_per_unit: 3\n"
        "dataset: people\nallowance: {epsilon: 3, delta: 1e-6, unit: patient}\nledger: ledger.db\n"
        "anchor: anchor\npopulation: 1000\nanalyst: ada\nthreads: 1\n",
    )
    table = lw.open_described(path)
    columns = table.plan.by_name
    assert (columns["smoker"].kind, columns["age"].bounds, columns["region"].keys) == ("boolean", (0, 100), ("NO", "S"))
    assert columns["patient_id"].unit
    context = table.context
    assert (context.unit, context.datasets, context.population, context.analyst) == (
        "patient",
        ("people",),
        1000,
        "ada",
    )
    assert table.bounding.max_rows_per_unit == 3
    assert isinstance(table.remaining(), ApproxDP)
    assert (folder / "ledger.db").exists()
    assert (folder / "anchor").exists()


@cases.together(
    ("value", "loss"),
    [
        (3, PureDP(3)),
        ({"epsilon": 3}, PureDP(3)),
        ({"epsilon": 1, "delta": 1e-6, "unit": "patient"}, ApproxDP(1, 1e-6, unit="patient")),
        ({"rho": 0.5}, ZCDP(0.5)),
    ],
)
def test_an_allowance_is_written_as_one_says_it(value: Any, loss: Any) -> None:
    from lapwing.curator.tables.descriptions import allowance_of

    assert allowance_of(value) == loss


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "is not a description"),
        ("- a", "is not a description"),
        ("unit: patient_id", "is not a description"),
        ("source: visits.csv\nunits: patient_id", "Did you mean unit?"),
        ("source: visits.csv\nbudget: 3", "there is no such field"),
        ("source: visits.csv\nlapwing_dataset: 2", "another version"),
        ("source: visits.csv\nunit: 3", "must be text"),
        ("source: visits.csv\nunit: patient_id\neach_row: true", "exactly one unit"),
        ("source: visits.csv\neach_row: perhaps", "true or false"),
        ("source: visits.csv\nunit: patient_id\nbounds: [age]", "mapping"),
        ("source: visits.csv\nunit: patient_id\nbounds: {age: [low, high]}", "number"),
        ("source: visits.csv\nunit: patient_id\nbounds: {ages: [0, 1]}", "Did you mean 'age'?"),
        ("source: visits.csv\nunit: patient_id\nkeys: {region: North}", "list of values"),
        ("source: visits.csv\nunit: patient_id\nkeys: {region: [{a: 1}]}", "list of values"),
        ("source: visits.csv\nunit: patient_id\ntypes: {age: whole}", "boolean, integer"),
        ("source: visits.csv\nunit: patient_id\npopulation: many", "whole number"),
        ("source: visits.csv\nunit: patient_id\nallowance: {sigma: 1}\nledger: l.db", "no such field"),
        ("source: visits.csv\nunit: patient_id\nallowance: {epsilon: 1, rho: 1}\nledger: l.db", "exactly once"),
        ("source: visits.csv\nunit: patient_id\nallowance: lots\nledger: l.db", "number"),
        ("source: visits.csv\nunit: patient_id\nallowance: 3", "ledger"),
        ("source: visits.csv\nunit: patient_id\nanchor: a", "is for a ledger"),
        ("source: other.csv\nunit: patient_id", "there is no such file"),
    ],
)
def test_a_wrong_description_is_told_what_was_meant(folder: Path, text: str, hint: str) -> None:
    with pytest.raises(LapwingError, match=re.escape(hint)):
        lw.open_described(written(folder, text, "wrong.yaml"))


def test_what_a_description_says_stays(folder: Path) -> None:
    path = written(folder, "source: visits.csv\nunit: patient_id\nbounds: {age: [0, 120]}\n", "short.yaml")
    table = lw.open_described(path, bounds={"cost": (0, 5)}, population=10)
    assert (table.plan.by_name["age"].bounds, table.plan.by_name["cost"].bounds) == ((0, 120), (0, 5))
    for more in ({"unit": "region"}, {"bounds": {"age": (0, 1000)}}, {"source": "other.csv"}):
        with pytest.raises(InvalidParameter, match="says it already"):
            lw.open_described(path, **more)


# Questions that are kept

Make = Callable[[lw.PrivateTable, lw.PrivateTable, lw.PublicTable], Query]


def _by_hand(table: lw.PrivateTable, plan: Any, *asked: lw.Aggregate, post: Post | None = None) -> Query:
    return Query(table.context, plan, Grouping(), asked, post=post or Post())


def _unit_join(v: lw.PrivateTable, d: lw.PrivateTable) -> Query:
    left = Select(v.plan, (("patient_id", v.plan.by_name["patient_id"]), ("age", v.plan.by_name["age"])))
    right = Select(d.plan, (("other", d.plan.by_name["patient_id"]), ("drug", d.plan.by_name["drug"])))
    plan = JoinUnit(left, right, "left")
    return Query(together(v.context, d.context), plan, Grouping(), (lw.count("drug"),))


def _per_unit(v: lw.PrivateTable) -> Query:
    columns = v.plan.by_name
    totals = (("n", "count", None), ("c", "sum", columns["cost"]), ("d", "count distinct", columns["region"]))
    plan = PerUnit(v.plan, "patient_id", (("r", columns["region"]),), totals)  # type: ignore[arg-type]
    return _by_hand(v, plan, lw.mean("n", bounds=(0, 1e9)))


CASE = "CASE WHEN age < 18 THEN 'child' WHEN day > '2026-01-03' AND smoker THEN 'late' ELSE NULL END"
QUESTIONS: dict[str, Make] = {
    "several aggregates": lambda v, d, z: (
        v.where("smoker")
        .group_by("region")
        .agg(
            lw.count(),
            lw.mean("age"),
            lw.quantile("cost", 1 / 3, weight=0.1),
            lw.sum("cost + age * 2 - -cost", name="s"),
        )
    ),
    "second moments": lambda v, d, z: v.group_by("day", adult="age >= 18").agg(
        lw.units(),
        lw.count("age"),
        lw.std("age", weight=2),
        lw.variance("cost"),
        lw.correlation("age", "cost"),
        lw.covariance("age", "cost"),
        lw.count_distinct("zip"),
    ),
    "everything else": lambda v, d, z: (
        v.group_by("region", everything_else=True).agg(lw.median("cost", bounds=(0, 0.1))).bounded(max_rows_per_unit=7)
    ),
    "secret keys": lambda v, d, z: v.bounded(max_groups_per_unit=2).group_by("zip", c=CASE).agg(lw.count()),
    "top": lambda v, d, z: v.agg(lw.top_k("region", 2)),
    "histogram": lambda v, d, z: v.agg(lw.histogram("age", edges=[0, 18.5, 65])),
    "public join": lambda v, d, z: v.join(z, on="zip").group_by("city").agg(lw.count()),
    "left join": lambda v, d, z: (
        v.join(z, on={"zip": "zip"}, how="left")
        .where("city IN ('A', 'C') AND NOT (smoker IS NULL OR COALESCE(smoker, FALSE)) AND age <> -0.5")
        .agg(lw.count())
    ),
    "exists": lambda v, d, z: v.having_rows_in(d.where("drug LIKE 'asp%'"), negated=True).agg(lw.count()),
    "computed columns": lambda v, d, z: (
        v.select("patient_id", "region", b="ABS(age - 5) / 3", y="EXTRACT(YEAR FROM day)", n="CAST(zip AS number)")
        .where("b BETWEEN 1 AND 2.5 AND FLOOR(b) <> 0.1 AND LENGTH(region) = 1")
        .group_by("region")
        .agg(lw.mean("b"), lw.sum("n"))
    ),
    "distinct rows": lambda v, d, z: _by_hand(v, Combine("union", (v.plan,)), lw.count()),
    "except": lambda v, d, z: _by_hand(v, Combine("except", (v.plan, v.where("age > 3").plan)), lw.count()),
    "join on the unit": lambda v, d, z: _unit_join(v, d),
    "totals per unit": lambda v, d, z: _per_unit(v),
}


@pytest.mark.parametrize("make", QUESTIONS.values(), ids=QUESTIONS)
def test_a_kept_question_is_the_same_question(
    make: Make, visits: lw.PrivateTable, drugs: lw.PrivateTable, zips: lw.PublicTable
) -> None:
    query = make(visits, drugs, zips)
    for again in (
        Query.from_yaml(query.to_yaml(), visits, [drugs, zips]),
        Query.from_json(query.to_json(), visits, {"drugs": drugs, "zips": zips}),
    ):
        assert again.digest() == query.digest()
        assert again == query
        assert again.context.datasets == query.context.datasets
    assert json.loads(query.to_json()) == documents.read_yaml(query.to_yaml())


SELECTS = [
    "SELECT region, COUNT(*) AS n, AVG(age) FROM visits GROUP BY region HAVING n > 50 ORDER BY n DESC LIMIT 3",
    "SELECT region, SUM(cost) / COUNT(*) AS c FROM visits AS v WHERE v.smoker GROUP BY 1 ORDER BY region, SUM(cost)",
    "SELECT region, COALESCE(AVG(age), 0) AS a FROM visits GROUP BY region HAVING COUNT(*) * 2 > 9 AND region <> 'N'",
    "SELECT COUNT(DISTINCT patient_id) AS people, MEDIAN(age) FROM visits WHERE day >= DATE '2026-01-02'",
    "WITH t AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) SELECT COUNT(*) FROM t WHERE n > 3",
    "SELECT z.city, COUNT(*) FROM visits v JOIN zips z ON v.zip = z.zip GROUP BY z.city",
    "SELECT COUNT(*) FROM visits v JOIN drugs d ON v.patient_id = d.patient_id AND d.drug = 'aspirin' WHERE v.age > 3",
    "SELECT COUNT(*) FROM visits v LEFT JOIN drugs d ON v.patient_id = d.patient_id WHERE d.drug IS NULL",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM drugs d WHERE d.patient_id = v.patient_id)",
    "SELECT COUNT(*) FROM (SELECT patient_id, age FROM visits UNION ALL SELECT patient_id, cost AS age FROM visits) t",
]


@cases.together("sql", SELECTS)
def test_a_question_in_sql_is_kept_as_well(
    sql: str, visits: lw.PrivateTable, drugs: lw.PrivateTable, zips: lw.PublicTable
) -> None:
    query = visits.query(sql, tables=[drugs, zips])
    again = Query.from_yaml(query.to_yaml(), visits, [drugs, zips])
    assert again.digest() == query.digest()


def test_a_kept_question_meets_the_table_of_today(folder: Path, visits: lw.PrivateTable) -> None:
    query = visits.group_by("region").agg(lw.mean("age"))
    today = lw.open(folder / "visits.csv", unit="patient_id", bounds={"age": (0, 90)}, keys={"region": ["N"]})
    again = Query.from_yaml(query.to_yaml(), today)
    assert again.grouping.keys[0].values == ("N",)
    assert again.digest() != query.digest()
    with pytest.raises(InvalidParameter, match="no private table of this name"):
        Query.from_yaml(query.to_yaml(), lw.open(folder / "drugs.csv", unit="patient_id"))
    with pytest.raises(UnsupportedQuery, match="kind text"):
        Query.from_yaml(query.to_yaml(), lw.open(folder / "visits.csv", unit="patient_id", keys={"region": ["N"]}))


def test_what_sql_declares_about_columns_is_saved_with_the_question(folder: Path) -> None:
    visits = lw.open(folder / "visits.csv", unit="patient_id")
    query = visits.query(
        "SELECT region, SUM(n) FROM (SELECT patient_id, region, COUNT(*) AS n FROM visits GROUP BY patient_id, region) "
        "AS t GROUP BY region",
        bounds={"n": (0, 5)},
        keys={"region": ["North", None]},
    )
    for again in (Query.from_yaml(query.to_yaml(), visits), Query.from_json(query.to_json(), visits)):
        assert again.digest() == query.digest()
    for wrong in (
        '{"name": "n", "bounds": [5, 0]}',
        '{"name": "region", "bounds": [0, 5]}',
        '{"name": "n", "keys": ["x"]}',
    ):
        spoiled = query.to_json().replace('{"name": "n", "bounds": [0, 5]}', wrong)
        assert spoiled != query.to_json()
        with pytest.raises(LapwingError):
            Query.from_json(spoiled, visits)


def test_a_kept_question_cannot_step_around_a_filtered_table(visits: lw.PrivateTable) -> None:
    text = visits.agg(lw.count()).to_yaml()
    assert Query.from_yaml(text, visits.where("smoker")) == visits.where("smoker").agg(lw.count())


def changed(data: Any, places: list[int], value: Any) -> Any:
    """The data with one place in it replaced."""
    data = copy.deepcopy(data)
    inside = data
    for place in places:
        names = list(inside) if isinstance(inside, dict) else range(len(inside))
        if not names:
            break
        name = names[place % len(names)]
        if not isinstance(inside[name], dict | list) or place == places[-1]:
            inside[name] = value
            break
        inside = inside[name]
    return data


STRANGE = [
    None, True, 10**30, 1e308, "", "x", "\0", "\ud800", [], {}, [[]], {"column": "patient_id"}, {"column": "age"},
    {"column": []}, {"and": []}, {"not": [True, True]}, {"case": [True, 1]}, {"clamp": [1]}, {"sum": ["age"]},
    {"constant": None}, {"date": "yesterday"}, {"integer": 2**70}, {"table": "visits"}, {"table": "drugs"}, -1,
]  # fmt: skip


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    st.sampled_from(sorted(QUESTIONS)), st.lists(st.integers(0, 9), min_size=1, max_size=8), st.sampled_from(STRANGE)
)
def test_a_file_is_believed_nothing(
    visits: lw.PrivateTable, drugs: lw.PrivateTable, zips: lw.PublicTable, name: str, places: list[int], value: Any
) -> None:
    data = changed(writer.written(QUESTIONS[name](visits, drugs, zips)), places, value)
    with contextlib.suppress(
        InvalidParameter, UnsupportedQuery, MissingBounds
    ):  # and no other, above all not EngineFailed
        query = reader.read(data, visits, [drugs, zips])
        query.release(epsilon=1, delta=1e-6 if query.grouping.secret and query.top is None else None)


@pytest.mark.parametrize(
    "record",
    [
        {"group_by": [{"name": "p", "by": {"column": "patient_id"}}]},
        {"group_by": [{"name": "p", "by": {"column": "patient_id"}, "values": ["p1"]}]},
        {"group_by": [{"name": "r", "by": {"column": "region"}, "values": ["N"], "labels": ["a", "b"]}]},
        {"ask": [{"top": ["region"], "k": 1}, {"count": []}]},
        {"ask": [{"max": ["age"]}]},
        {"ask": [{"mean": ["age", "cost"]}]},
        {"ask": []},
        {"rows": [{"table": "visits"}, {"where": {"random": []}}]},
        {"rows": [{"table": "visits"}, {"where": {"and": []}}]},
        {"rows": [{"table": "visits"}, {"where": {"not": [True, False]}}]},
        {"rows": [{"table": "visits"}, {"where": {"in": [{"column": "age"}]}}]},
        {"rows": [{"table": "visits"}, {"where": {"case": [True, True, False, True]}}]},
        {"rows": [{"table": "visits"}, {"per_unit": {"unit": "u", "totals": {"n": {"first": {"column": "age"}}}}}]},
        {"rows": [{"table": "visits"}, {"combine": {"setting": "cross", "with": []}}]},
        {
            "rows": [
                {"table": "visits"},
                {"select": {"a": {"column": "age"}}},
                {"combine": {"setting": "union", "with": []}},
            ]
        },
        {"rows": [{"table": "zips"}]},
        {"group_by": [{"name": "b", "by": {"bin": [{"column": "age"}, 1.0, 0.0]}, "values": [0]}]},
        {"group_by": [{"name": "b", "by": {"bin": [{"column": "age"}, 0.0, {"column": "cost"}]}, "values": [0]}]},
        {"rows": [{"table": "visits"}, {"join": {"table": "visits", "columns": [], "on": [], "how": "inner"}}]},
        {"rows": []},
        {"lapwing_query": True},
        {"lapwing_query": 2},
        {"bounding": {"max_rows": 3}},
        {"having": {"+": [1, 2]}},
        {"limit": -1},
        {"epsilon": 3},
    ],
    ids=json.dumps,
)
def test_what_nobody_may_ask_cannot_be_asked_from_a_file(
    record: dict[str, Any], visits: lw.PrivateTable, zips: lw.PublicTable
) -> None:
    whole = {"lapwing_query": 1, "rows": [{"table": "visits"}], "ask": [{"count": []}], **record}
    with pytest.raises(LapwingError):
        Query.from_yaml(yaml.safe_dump(whole), visits, [zips])


# Quotes


def test_a_quote_says_what_costs_what_and_what_cannot_be_known(visits: lw.PrivateTable) -> None:
    query = visits.group_by("region").agg(lw.count(), lw.mean("age"), lw.quantile("cost", 0.5))
    shown = str(query.quote(epsilon=0.3))
    lines = {" ".join(line.split()) for line in shown.splitlines()}
    assert "rows count ε = 0.1" in lines
    assert "together ε = 0.3" in lines
    assert any(line.startswith("mean_age depends on the data. If it is public that") for line in lines)
    assert any(re.fullmatch(r"quantile_cost_0.5 ± \d+ ranks", line) for line in lines)
    assert any(
        re.fullmatch(r"mean_age ± [\d.,]+", " ".join(line.split()))
        for line in str(query.quote(epsilon=0.3, count=1000)).splitlines()
    )
    narrow = visits.agg(lw.mean("cost", bounds=(0, 5000))).quote(epsilon=0.1, count=50)
    assert "mean_cost ± 5,000" in " ".join(str(narrow).split())  # as far as the bounds are apart, and no farther
    assert "reads no record" in shown
    assert "std_age depends on the data. The answer will say how accurate it is." in " ".join(
        str(visits.agg(lw.std("age")).quote(epsilon=1)).split()
    )
    with pytest.raises(UnsupportedQuery, match="Choose an epsilon"):
        visits.agg(lw.std("age")).quote(within=3)


def test_a_quote_is_the_same_in_a_notebook_and_obeys_no_markup(visits: lw.PrivateTable) -> None:
    quote = visits.agg(lw.count(name="<b>[red]n\x1b")).quote(epsilon=0.5)
    page = quote._repr_html_()
    assert "&lt;b&gt;[red]n\\x1b" in page
    assert "<b>" not in page
    assert "[red]n\\x1b" in str(quote)
    assert "\x1b" not in str(quote)


@cases.together(
    ("remaining", "loss", "then"),
    [
        (PureDP(3), PureDP(1), PureDP(2)),
        (PureDP(1), PureDP(1), PureDP(0)),
        (PureDP(0.3), 3 * PureDP(0.1), PureDP(0)),
        (PureDP(1), PureDP(1.001), None),
        (ApproxDP(3, 1e-5), PureDP(1), ApproxDP(2, 1e-5)),
        (ApproxDP(3, 0.25), ApproxDP(1, 0.125), ApproxDP(2, 0.125)),
        (ApproxDP(3, 0.25), ApproxDP(1, 0.5), None),
        (ZCDP(1), PureDP(1), ZCDP(0.5)),
        (PureDP(3), ZCDP(1), None),
        (ZCDP(3), ApproxDP(1, 1e-6), None),
        (PureDP(3), PureDP(1, unit="person in any 7 consecutive days"), None),
        (PureDP(3), PureDP(1, relation="replace"), None),
        (PureDP(3), PureDP(1, trust=Trust.except_published("a total")), None),
    ],
)
def test_what_remains_afterwards_is_counted_as_the_ledger_counts(remaining: Any, loss: Any, then: Any) -> None:
    assert quotes.after(remaining, loss) == then
    kept = quotes.Quote(loss=loss, lines=(), remaining=remaining)
    assert kept.remaining_after() == then
    assert ("cannot be paid" in kept.spending() or "would be refused" in kept.spending()) == (then is None)
    assert ("cannot be paid" in kept.spending()) == bool(quotes.unpayable(remaining, loss))


def test_what_a_quote_foretells_is_what_the_ledger_then_says(folder: Path) -> None:
    for number, allowance in enumerate((PureDP(3), ApproxDP(3, 1e-5), ZCDP(5))):
        table = lw.open(
            folder / "visits.csv",
            unit="patient_id",
            allowance=allowance,
            ledger=folder / "quotes.db",
            dataset=f"set {number}",
        )
        quote = table.agg(lw.count()).quote(epsilon=0.5)
        assert quote.remaining is not None
        table.agg(lw.count()).release(epsilon=0.5)
        assert quotes.after(quote.remaining, quote.loss) == table.remaining()


def test_a_table_of_rows_has_no_bound_per_row(visits: lw.PrivateTable, folder: Path) -> None:
    assert repr(visits).endswith("; contribution bound: at most 1 row per patient_id>")
    alone = lw.open(folder / "visits.csv", unit=lw.EACH_ROW)
    for shown in (repr(alone), alone._repr_html_()):
        assert "every row counts as a different person" in shown
        assert "per row" not in shown


def test_a_rank_is_no_quantity_and_gets_no_bar(visits: lw.PrivateTable) -> None:
    answer = visits.agg(lw.top_k("region", 2)).release(epsilon=1)
    assert answer.table["rank"] == (1, 2)
    assert "█" not in str(answer)
    assert "█" in str(visits.group_by("region").agg(lw.count()).release(epsilon=50))
