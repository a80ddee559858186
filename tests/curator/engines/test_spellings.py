"""Every engine reads a value as the same thing: what no engine agrees about is NULL on all of them."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from everywhere import everywhere, in_duckdb, in_postgres
from nearly import TEXTS
from oracle import from_text
from sqlglot import exp

from lapwing.curator.plan.expressions import KINDS, Kind
from lapwing.curator.plan.text_forms import LONGEST, PLAIN, Notation
from lapwing.curator.tables.sources import find_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCH = dt.datetime(1970, 1, 1)
NUMBERS = [
    math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1, 0.5, -0.5, 1.5, 2.5, -2.5,
    0.49999999999999994, 2.0**52 + 0.5, 2.0**53 + 2, 1e300, -1e300, 2.0**63, -(2.0**63), 2.0**40, 1e-300,
]  # fmt: skip
WHOLES = [0, 1, -1, 2**31, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), dt.date(1582, 10, 10), dt.date(2024, 2, 29)]
MOMENTS = [
    dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1969, 12, 31, 23, 59, 59, 500000),
    dt.datetime(2024, 3, 10, 2, 30), dt.datetime(2024, 11, 3, 1, 30), dt.datetime(1582, 10, 10, 1),
]  # fmt: skip

DECIMALS = [
    Decimal(1), Decimal("1.00000000000000000001"), Decimal("-12.50"), Decimal("1E-20"), Decimal(0), Decimal(100),
    Decimal("999999999999999999.99999999999999999999"), Decimal("-0.1"), Decimal(-(10**17)), Decimal("0.00000012"),
]  # fmt: skip


def plain_digits(number: Decimal) -> str:
    """A decimal number as text: without an exponent, and without zeros after its last decimal."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def single(x: float) -> float | None:
    return struct.unpack("f", struct.pack("f", x))[0] if math.isfinite(x) else None


def meaning_of(kind: Kind, notation: Notation = PLAIN) -> Callable[[str], Any]:
    """What a text means where this kind was declared, by the reference in plain Python."""

    def meaning(text: str) -> Any:
        if kind == "text":
            return None if len(text.encode()) <= LONGEST and text.strip(" ") in notation.missing else text
        if len(text.encode()) > LONGEST:
            return None
        if kind == "boolean" and notation != PLAIN:
            return {**dict.fromkeys(notation.true, True), **dict.fromkeys(notation.false, False)}.get(text.strip(" "))
        if notation.thousands and kind in ("number", "integer"):
            whole, point, part = text.strip(" ").partition(".")
            first, *others = whole.split(notation.thousands)
            if others and (not 1 <= len(first.lstrip("+-")) <= 3 or any(len(group) != 3 for group in others)):
                return None
            if others and ("e" in part or len(others) > (4 if kind == "number" else 5)):
                return None
            text = first + "".join(others) + point + part
        return from_text(text, kind)

    return meaning


def whole_or_none(value: float) -> int | None:
    """What a double means where whole numbers were declared: larger ones may stand for their neighbours."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else None


def code(value: Any) -> int | None:
    """What a value of any kind is hashed as."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    if isinstance(value, str):
        return int.from_bytes(hashlib.md5(value.encode()).digest()[:3], "little")
    if isinstance(value, float):
        return math.floor(max(-(2.0**40), min(2.0**40, value)) * 2.0**20)
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    return (value - EPOCH.date()).days


def read(
    opened: dict[str, Any], kinds: Sequence[Kind], column: str = "x", notation: Notation = PLAIN
) -> list[tuple[Any, ...]]:
    """A column read as each kind, and its codes, by the row's number `i`."""
    source = find_source(**opened)
    dialect, name = source.engine.dialect, exp.column(column, table="s", quoted=True)
    columns: list[exp.Expr] = [exp.column("i", table="s")]
    for kind in kinds:
        value = dialect.read(name.copy(), source.relation.types[column], kind, notation=notation)
        columns += [value.copy(), dialect.code(value, kind)]
    query = exp.select(*(sql.as_(f"c{i}") for i, sql in enumerate(columns)))
    query = query.from_(exp.alias_(source.relation.table.copy(), "s", table=True)).order_by("c0")
    with source.engine.session([source.relation]) as session:
        return session.fetch(query)


def expected(values: Sequence[Any], meanings: Sequence[Callable[[Any], Any]]) -> list[tuple[Any, ...]]:
    rows = []
    for i, value in enumerate(values):
        meant = [None if value is None else meaning(value) for meaning in meanings]
        rows.append((i, *(part for one in meant for part in (one, code(one)))))
    return rows


def exact(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Floats by all their bits but the sign of zero."""
    return [tuple((value + 0.0).hex() if isinstance(value, float) else value for value in row) for row in rows]


def test_text_means_the_same_on_every_engine(postgres_url: str, spark: SparkSession) -> None:
    values = [*TEXTS, None]
    opened = everywhere(list(enumerate(values)), {"i": "integer", "x": "text"}, postgres_url, spark)
    cases: list[tuple[Notation, Sequence[Kind]]] = [(PLAIN, (kind,)) for kind in KINDS]  # one statement would be huge
    cases.append((Notation(thousands=",", true=("J", "it's"), false=("N", "0")), ("number", "integer", "boolean")))
    cases.append((Notation(missing=("NA", "17", "it's", "é", "")), ("text", "number")))
    for notation, kinds in cases:
        right = exact(expected(values, [meaning_of(kind, notation) for kind in kinds]))
        for engine, one in opened.items():
            found = exact(read(one, kinds, notation=notation))
            wrong = [
                (values[i], got, want) for i, (got, want) in enumerate(zip(found, right, strict=True)) if got != want
            ]
            assert not wrong, (engine, notation)


@pytest.mark.parametrize(
    ("declared", "kind", "values", "meaning"),
    [
        ("number", "number", NUMBERS, lambda x: x if math.isfinite(x) else None),
        ("number", "integer", NUMBERS, whole_or_none),
        ("REAL", "integer", [17.0, 0.1, 3.4e38, math.nan], whole_or_none),
        ("DECIMAL(18, 3)", "integer", [Decimal("17.000"), Decimal("-0.001")], lambda x: 17 if x == 17 else None),
        ("number", "boolean", [1.0, 0.0, -0.0, 0.5, 2.0, math.nan, math.inf], {1: True, 0: False}.get),
        ("number", "text", [17.0, -3.0, 2.5, 0.0, math.nan, math.inf], {17: "17", -3: "-3", 2.5: "2.5", 0: "0"}.get),
        ("number", "text", [2.0**53, -(2.0**53), 1e300], lambda x: None),
        ("DECIMAL(38, 0)", "text", [Decimal(10**19), Decimal(10**37 + 1), Decimal(-17), Decimal(0)], str),
        ("DECIMAL(38, 20)", "text", DECIMALS, plain_digits),
        ("DECIMAL(38, 38)", "text", [Decimal("0.5"), Decimal("-1E-38"), Decimal(0)], plain_digits),
        ("DECIMAL(4, 2)", "text", [Decimal("0.5"), Decimal("-99.99"), Decimal(10)], plain_digits),
        ("DECIMAL(38, 20)", "integer", DECIMALS, lambda x: int(x) if x == int(x) else None),
        ("DECIMAL(38, 0)", "integer", [Decimal(2**53 + 1), Decimal(10**18 - 1)], int),
        ("DECIMAL(38, 0)", "integer", [Decimal(10**18), Decimal(10**37)], lambda x: None),
        ("DECIMAL(38, 20)", "boolean", DECIMALS, {1: True, 0: False}.get),
        ("DECIMAL(38, 20)", "date", DECIMALS, lambda x: None),
        ("boolean", "number", [True, False], lambda x: None),
        ("boolean", "integer", [True, False], lambda x: None),
        ("boolean", "timestamp", [True, False], lambda x: None),
        ("boolean", "text", [True, False], {True: "true", False: "false"}.get),
        ("integer", "boolean", WHOLES, {1: True, 0: False}.get),
        ("integer", "date", WHOLES, lambda x: None),
        ("integer", "timestamp", WHOLES, lambda x: None),
        ("number", "date", NUMBERS, lambda x: None),
        ("number", "timestamp", NUMBERS, lambda x: None),
        ("DATE", "timestamp", DAYS, lambda x: dt.datetime(x.year, x.month, x.day)),
        ("timestamp", "date", MOMENTS, lambda x: x.date()),
        ("REAL", "number", [0.1, 16777217.0, math.inf, math.nan, 3.4e38], single),
        ("integer", "integer", WHOLES, int),
        ("SMALLINT", "integer", [-(2**15), 2**15 - 1], int),
        ("DECIMAL(18, 3)", "number", [Decimal("999999999999999.999"), Decimal("-0.001"), Decimal("0.1")], float),
        ("DECIMAL(38, 20)", "number", [Decimal("123456789012345678.12345678901234567891"), Decimal("1e-20")], float),
        ("boolean", "boolean", [True, False], bool),
        ("DATE", "date", DAYS, lambda x: x),
        ("timestamp", "timestamp", MOMENTS, lambda x: x),
    ],
)  # fmt: skip
def test_declared_types_mean_the_same_on_every_engine(
    declared: str, kind: Kind, values: list[Any], meaning: Callable[[Any], Any], postgres_url: str, spark: SparkSession
) -> None:
    values = [*values, None]
    opened = everywhere(list(enumerate(values)), {"i": "integer", "x": declared}, postgres_url, spark)
    right = exact(expected(values, [meaning]))
    for engine, one in opened.items():
        assert exact(read(one, [kind])) == right, engine


def test_a_zone_is_turned_into_utc(postgres_url: str, spark: SparkSession) -> None:
    utc = [dt.datetime(2024, 11, 3, 5, 30), dt.datetime(2024, 11, 3, 6, 30), dt.datetime(2024, 3, 10, 2, 30)]
    rows = [(i, moment.replace(tzinfo=dt.UTC)) for i, moment in enumerate(utc)]
    types = {"i": "integer", "x": "TIMESTAMP WITH TIME ZONE"}
    frame = spark.createDataFrame(rows, "i bigint, x timestamp")
    for one in (in_duckdb(rows, types), in_postgres(rows, types, postgres_url), {"source": frame}):
        assert read(one, ["timestamp"]) == expected(utc, [lambda x: x])


def test_collations_padding_and_bytes_that_are_no_text_do_not_matter(postgres_url: str, spark: SparkSession) -> None:
    import psycopg

    values = ["a", "A", "á", "ab  "]
    rows = list(enumerate(values))
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE COLLATION level1 (provider=icu, locale='und-u-ks-level1', deterministic=false)")
        connection.execute("CREATE EXTENSION IF NOT EXISTS citext")
    right = expected(values, [str])
    assert read(in_duckdb(rows, {"i": "integer", "x": "VARCHAR COLLATE NOCASE.NOACCENT"}), ["text"]) == right
    assert read(in_postgres(rows, {"i": "integer", "x": "TEXT COLLATE level1"}, postgres_url), ["text"]) == right
    assert read(in_postgres(rows, {"i": "integer", "x": "citext"}, postgres_url), ["text"]) == right
    assert read({"source": spark.createDataFrame(rows, "i bigint, x string collate UNICODE_CI_AI")}, ["text"]) == right
    stripped = expected([value.rstrip() for value in values], [str])
    assert read(in_postgres(rows, {"i": "integer", "x": "CHAR(6)"}, postgres_url), ["text"]) == stripped
    spark.sql("CREATE TABLE padded_text (i BIGINT, x CHAR(6)) USING parquet")
    spark.createDataFrame(rows, "i bigint, x string").write.insertInto("padded_text")
    assert read({"source": spark, "table": "padded_text"}, ["text"]) == stripped
    broken = spark.sql("SELECT id AS i, CAST(IF(id = 0, X'ff41', X'41') AS STRING) AS x FROM range(2)")
    assert read({"source": broken}, ["text"]) == expected([None, "A"], [str])


def test_numbers_and_days_that_only_some_engines_know_are_null(postgres_url: str) -> None:
    numeric = [Decimal("1e400"), Decimal("1e-400"), Decimal("NaN"), Decimal("Infinity"), Decimal("2.5"), Decimal(2**63)]
    rows = list(enumerate(numeric))
    opened = in_postgres(rows, {"i": "integer", "x": "NUMERIC"}, postgres_url)
    assert read(opened, ["number"]) == expected([None, 0.0, None, None, 2.5, 2.0**63], [float])
    assert [row[1] for row in read(opened, ["integer"])] == [None] * 6
    days = list(enumerate(["infinity", "-infinity", "10000-01-01", "2024-02-29"]))
    for declared, kind, meaning in (("DATE", "date", dt.date.fromisoformat), ("TIMESTAMP", "timestamp", at_midnight)):
        types = {"i": "integer", "x": declared}
        for one in (in_duckdb(days, types), in_postgres(days, types, postgres_url)):
            assert read(one, [kind]) == expected([None, None, None, "2024-02-29"], [meaning])  # type: ignore[list-item]
    wide = [(0, 2**64 - 1), (1, 5)]
    for declared in ("UBIGINT", "HUGEINT", "UHUGEINT"):
        assert read(in_duckdb(wide, {"i": "integer", "x": declared}), ["integer"]) == expected([None, 5], [int])


def at_midnight(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)
