"""Tables full of difficult values, kept in many ways: the same rows in DuckDB, in files, in PostgreSQL and in Spark."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

import duckdb
from oracle import Beyond, Row, read
from phrases import literal

import lapwing as lw
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.tables.table import PrivateTable

T = TypeVar("T")
Choose = Callable[[Sequence[T]], T]
Rows = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Storage:
    """How a column is kept: what it means, its type in DuckDB, PostgreSQL and Spark, and what may stand in it."""

    kind: Kind
    duckdb: str
    postgres: str
    spark: str
    values: Sequence[Any]


def text_of(kind: Kind, values: Sequence[Any]) -> Storage:
    """A column of text, whatever it means."""
    return Storage(kind, "VARCHAR", "TEXT", "STRING", values)


TEXT_UNITS = ("1", "01", " 1", "1 ", "a", "A", "á", "a\u0301", "", "NULL", "ß", "ss", "日本", "𝒳", None)
WHOLE_UNITS = (0, 1, -1, 2, 2**63 - 1, -(2**63), 2**53, 2**53 + 1, 2**30, -(2**30), None)
WRITTEN_UNITS = ("1", "01", "+1", "-0", "0", "+00", "x", "1.0", " 1", "１", "999999999999999999", "", None)
UNITS = {"text": ("VARCHAR", TEXT_UNITS), "integer": ("BIGINT", WHOLE_UNITS), "written": ("VARCHAR", WRITTEN_UNITS)}

REGIONS = ("north", "North", "north ", "süd", "su\u0308d", "", "a%b_c", "it's", "1", "\\", "日本", None)
AGES = (None, 0, 17, 18, 64, 65, 120, 121, -5, 2**63 - 1, -(2**63))
HUGE = (None, 0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, -(2**31), 10**18)
COSTS = (
    *(None, math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 2.0**-101, 0.5, 0.1, 99.99, 1e308, -1e308, 2.0**53),
    *(-2.5, 0.49999999999999994, 123.456, 1e-300),
)
AMOUNTS = (None, "0.001", "-0.5", "12345.678", "999999999999999.999", "-999999999999999.999")
NOTES = (
    *(None, "12", " 12", "1e5", "１２", "", "12\n", "-0", "+5.25", "1_0", "999999999999999.999999999999999", "0x10"),
    *("NaN", "inf", "-12.5", "5.", ".5", "0000000000000001", "a%b_c", "true"),
)
DAYS = (
    *(None, dt.date.min, dt.date.max, dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1969, 12, 31)),
    *(Beyond("DATE 'infinity'"), Beyond("DATE '-infinity'"), Beyond("DATE '10000-01-01'")),
)
MOMENTS = (
    *(None, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(2026, 3, 8, 2, 30)),
    *(dt.datetime(1969, 12, 31, 23, 59, 59, 1), Beyond("TIMESTAMP 'infinity'"), Beyond("TIMESTAMP '12000-01-01'")),
)
WHEN = (None, "2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-2-3", "2024-01-01 ", "x")

ODD = ("ﬀ", "😀", "\u200b", "İ", "ı", "a\nb", "a\rb", "x" * 300, "true", "2024-02-29", 'say "x"', "a,b", "\t", "%", "0")
BROKEN = ("1\n2", "north\n01,north,18,1,2.5", '5\n"1","x"', "1\r\n2", 'x"\n"y', "\n")
"""What a careless reader of files takes for several records, of other units."""
TRUTHS = (
    None,
    "true",
    "True",
    "TRUE",
    "t",
    "yes",
    "1",
    "0",
    "no",
    "f",
    "FALSE",
    "boom",
    "tRuE",
    "",
    "on",
    " true",
    "2",
)
SMALL = (None, 0, 1, -1, 17, 64, 127, -128)
SINGLES = (
    *(None, math.nan, math.inf, -math.inf, -0.0, 0.5, -2.5, 2.0**-149, 3.4028234663852886e38, 16777216.0, 100.0),
    *(0.10000000149011612, 99.0),
)
DECIMALS = (
    *(None, Decimal("0.001"), Decimal("-0.500"), Decimal("12345.678"), Decimal("999999999999999.999")),
    *(Decimal("-999999999999999.999"), Decimal("99.990"), Decimal("0.000")),
)
TIMES = (None, "2024-02-29 00:00:00", "2023-02-29 00:00:00", "1970-01-01T00:00:00.5", "9999-12-31 23:59:59.999999", "x")
SECONDS = (None, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59), dt.datetime(2026, 3, 8, 2, 30))
NEAR = (
    None,
    dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 1),
    dt.datetime(2262, 4, 11),
    dt.datetime(1678, 1, 1),
)
ZONED = (
    *(None, dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 3, 8, 7, 30, tzinfo=dt.UTC)),
    *(dt.datetime(1, 1, 2, tzinfo=dt.UTC), dt.datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=dt.UTC)),
    dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5))),
)

VISITS: dict[str, tuple[str, Sequence[Any]]] = {
    "region": ("VARCHAR", REGIONS),
    "age": ("BIGINT", AGES),
    "huge": ("BIGINT", HUGE),
    "cost": ("DOUBLE", COSTS),
    "amount": ("DECIMAL(18,3)", AMOUNTS),
    "smoker": ("BOOLEAN", (None, True, False)),
    "note": ("VARCHAR", NOTES),
    "score": ("VARCHAR", NOTES),
    "day": ("DATE", DAYS),
    "at": ("TIMESTAMP", MOMENTS),
    "seen": ("VARCHAR", WHEN),
}
DRUGS: dict[str, tuple[str, Sequence[Any]]] = {
    "drug": ("VARCHAR", ("x", "X", "", None)),
    "dose": ("DOUBLE", COSTS),
    "pack": ("BIGINT", HUGE),
}
DECLARED: dict[str, Any] = {
    "bounds": {"age": (0, 120), "cost": (-10, 100), "amount": (0, 10_000), "score": (-20, 20)},
    "types": {"seen": "date"},
}
KEYS = {"region": ("north", "North", "su\u0308d", "", None)}
PLACES: list[dict[str, Any]] = [
    {"region": "north", "people": 5, "rich": True, "weight": 0.5, "code": 0, "since": dt.date(1970, 1, 1)},
    {"region": "north", "people": 7, "rich": False, "weight": -1.5, "code": 1, "since": dt.date.max},
    {"region": "North", "people": None, "rich": None, "weight": 3.0, "code": 18, "since": None},
    {"region": "", "people": 1, "rich": True, "weight": 0.0, "code": 2**53, "since": dt.date(2024, 2, 29)},
    {"region": "su\u0308d", "people": 0, "rich": None, "weight": None, "code": 2**53 + 1, "since": dt.date.min},
]


EDGES = (
    (0, 10),
    (-1, 0, 0.5, 99.99),
    (-0.1, 0.1, 0.3),
    tuple(range(0, 121, 10)),
    (0, 1e-9, 2.0**53),
    (-(10**18), 10**18),
)


STORAGES: dict[str, tuple[Storage, ...]] = {
    "region": (text_of("text", REGIONS), text_of("text", (*REGIONS, *ODD))),
    "age": (
        Storage("integer", "BIGINT", "BIGINT", "BIGINT", AGES),
        Storage("integer", "INTEGER", "INTEGER", "INT", (*SMALL, 2**31 - 1, -(2**31))),
        Storage("integer", "TINYINT", "SMALLINT", "TINYINT", SMALL),
        Storage("integer", "UBIGINT", "BIGINT", "BIGINT", (None, 0, 64, 2**63 - 1, Beyond("18446744073709551615"))),
        text_of("integer", (*NOTES, "17", "64", "-999999999999999999", "9223372036854775807")),
    ),
    "huge": (
        Storage("integer", "BIGINT", "BIGINT", "BIGINT", HUGE),
        Storage("integer", "HUGEINT", "BIGINT", "BIGINT", (*HUGE, Beyond("170141183460469231731687303715884105727"))),
    ),
    "cost": (
        Storage("number", "DOUBLE", "DOUBLE PRECISION", "DOUBLE", COSTS),
        Storage("number", "FLOAT", "REAL", "FLOAT", SINGLES),
        Storage("number", "DECIMAL(18,3)", "NUMERIC(18,3)", "DECIMAL(18,3)", DECIMALS),
        Storage("number", "BIGINT", "BIGINT", "BIGINT", HUGE),
        text_of("number", NOTES),
    ),
    "amount": (
        Storage("number", "DECIMAL(18,3)", "NUMERIC", "DECIMAL(18,3)", DECIMALS),
        Storage(
            "number", "DOUBLE", "NUMERIC", "DOUBLE", (None, math.nan, math.inf, -math.inf, 0.1, -2.5, 1e299, 1e-299)
        ),
    ),
    "smoker": (Storage("boolean", "BOOLEAN", "BOOLEAN", "BOOLEAN", (None, True, False)), text_of("boolean", TRUTHS)),
    "note": (
        text_of("text", NOTES),
        Storage("text", "BIGINT", "BIGINT", "BIGINT", HUGE),
        text_of("text", (*NOTES, *ODD)),
    ),
    "score": (text_of("number", NOTES),),
    "day": (Storage("date", "DATE", "DATE", "DATE", DAYS), text_of("date", WHEN)),
    "at": (
        Storage("timestamp", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_NTZ", MOMENTS),
        Storage("timestamp", "TIMESTAMP_S", "TIMESTAMP(0)", "TIMESTAMP_NTZ", SECONDS),
        Storage("timestamp", "TIMESTAMP_NS", "TIMESTAMP", "TIMESTAMP_NTZ", NEAR),
        Storage("timestamp", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP", ZONED),
        text_of("timestamp", (*TIMES, *WHEN)),
    ),
    "seen": (text_of("date", WHEN),),
}
"""Every way to keep each column of the visits; the last is the nearest to a file of text."""
OTHERS: dict[str, tuple[Storage, ...]] = {
    "drug": (text_of("text", ("x", "X", "", None)),),
    "dose": (Storage("number", "DOUBLE", "DOUBLE PRECISION", "DOUBLE", COSTS), text_of("number", NOTES)),
    "pack": (Storage("integer", "BIGINT", "BIGINT", "BIGINT", HUGE), text_of("integer", NOTES)),
}
WHOSE: dict[str, Storage] = {
    "text": text_of("text", TEXT_UNITS),
    "integer": Storage("integer", "BIGINT", "BIGINT", "BIGINT", WHOLE_UNITS),
    "written": text_of("integer", WRITTEN_UNITS),
}
BOUNDS: dict[str, Sequence[Any]] = {
    "age": ((0, 120), (-3, 70), (-(2**60), 2**60)),
    "cost": ((-10, 100), (0, 1e-3), (-(2.0**40), 2.0**40), (-1e-30, 1e15)),
    "amount": ((0, 10_000), (-0.1, 0.3)),
    "score": ((-20, 20), (0, 10**15)),
    "huge": (None, None, (-5, 5), (0, 2**60)),
    "dose": ((0, 9), (-(2.0**50), 1)),
    "pack": (None, (0, 9)),
}


@dataclass(frozen=True)
class World:
    """Two private tables about the same units in one DuckDB, and their rows for the oracle."""

    connection: duckdb.DuckDBPyConnection
    tables: dict[str, list[Row]]
    visits: PrivateTable
    drugs: PrivateTable
    schema: Mapping[str, Mapping[str, Storage]]

    def without(self, unit: Any) -> dict[str, list[Row]]:
        """The rows of everybody else."""
        return {name: [row for row in rows if owner(self, row) != unit] for name, rows in self.tables.items()}

    def units(self) -> list[Any]:
        """Everybody who has a row."""
        found = [owner(self, row) for rows in self.tables.values() for row in rows]
        return list(dict.fromkeys(unit for unit in found if unit is not None))

    def hidden(self, tables: Rows) -> list[tuple[str, int]]:
        """Which rows of the world are not among these."""
        kept = {id(row) for rows in tables.values() for row in rows}
        return [(name, i) for name, rows in self.tables.items() for i, row in enumerate(rows) if id(row) not in kept]

    def show(self, tables: Rows) -> None:
        """Let the engine see these rows, which are some of the world's."""
        hide(self.connection, self.hidden(tables))


def hide(connection: Any, rows: Sequence[tuple[str, int]]) -> None:
    """Take rows out of the views, all others into them."""
    connection.execute("BEGIN")
    connection.execute("DELETE FROM gone")
    if rows:
        connection.execute(f"INSERT INTO gone VALUES {', '.join(map(str, rows))}")
    connection.execute("COMMIT")


def owner(world: World, row: Row) -> Any:
    """Whose row this is, by the oracle's rules."""
    name = "who" if "who" in row else "owner"
    fields = (world.visits if name == "who" else world.drugs).plan.by_name
    return read(row[name], fields[name].kind)


def draw_rows(choose: Choose[Any], columns: Mapping[str, Sequence[Any]], sizes: Sequence[int]) -> list[Row]:
    """Random rows, some of them twice."""
    rows: list[Row] = []
    for _ in range(choose(sizes)):
        if rows and choose((0, 0, 0, 1)):
            rows.append(dict(choose(rows)))
        else:
            rows.append({name: choose(values) for name, values in columns.items()})
    return rows


def draw_schema(choose: Choose[Any], *, plain: bool, written: bool) -> dict[str, dict[str, Storage]]:
    """Ways to keep the columns: the usual ones, drawn ones, or text everywhere, as in a file."""

    def one(ways: tuple[Storage, ...]) -> Storage:
        if written:
            way = ways[-1] if ways[-1].spark == "STRING" else text_of(ways[-1].kind, NOTES)
            return replace(way, values=(*(value for value in way.values if value != ""), *BROKEN))
        return ways[0] if plain else choose(ways)

    whose = choose(tuple(WHOSE)[::2] if written else tuple(WHOSE))
    columns = {"visits": ("who", STORAGES), "drugs": ("owner", OTHERS)}
    return {
        table: {unit: one((WHOSE[whose],)), **{name: one(ways) for name, ways in some.items()}}
        for table, (unit, some) in columns.items()
    }


def draw_world(
    choose: Choose[Any],
    sizes: Sequence[int] = (0, 1, 2, 5, 9, 14),
    *,
    each_row: bool = False,
    few: bool = False,
    tied: bool = False,
    plain: bool = True,
    written: bool = False,
) -> World:
    """Random tables; with `few` units, so that each has many rows, and `tied` values; kept as usual, or strangely."""
    schema = draw_schema(choose, plain=plain, written=written)
    units = schema["visits"]["who"].values
    units = tuple(choose(units) for _ in range(3)) if few else units
    tables = {}
    for name, columns in schema.items():
        values = {
            column: drawn(choose, storage.values) if tied else storage.values for column, storage in columns.items()
        }
        tables[name] = draw_rows(choose, {**values, next(iter(values)): units}, sizes)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE gone (name VARCHAR, i BIGINT)")
    for name, columns in schema.items():
        load(connection, name, {column: storage.duckdb for column, storage in columns.items()}, tables[name])
    options = declared(choose, schema, plain=plain)
    if plain and choose((True, False)):
        options["visits"]["keys"] = KEYS
    unit = lw.EACH_ROW if each_row else "who"
    first = lw.open(connection, table="visits", unit=unit, dataset="people", **options["visits"])
    other = lw.open(connection, table="drugs", unit="owner", **options["drugs"])
    other = replace(other, context=replace(other.context, unit=first.context.unit, engine=first.context.engine))
    return World(connection, tables, first, other, schema)


def drawn(choose: Choose[Any], values: Sequence[Any]) -> Sequence[Any]:
    """So few of the values that rows tie."""
    return tuple(choose(values) for _ in range(4))


def declared(
    choose: Choose[Any], schema: Mapping[str, Mapping[str, Storage]], *, plain: bool
) -> dict[str, dict[str, Any]]:
    """What is publicly known about the columns."""
    options: dict[str, dict[str, Any]] = {}
    for table, columns in schema.items():
        bounds = {name: BOUNDS[name][0] if plain else choose(BOUNDS[name]) for name in columns if name in BOUNDS}
        options[table] = {
            "types": {name: storage.kind for name, storage in columns.items()},
            "bounds": {name: ends for name, ends in bounds.items() if ends is not None},
        }
        numbers = [name for name in options[table]["bounds"] if choose((True, False, False, False))]
        if not plain:
            options[table]["complete"] = numbers
            texts = [name for name, storage in columns.items() if storage.kind == "text" and name in ("region", "drug")]
            options[table]["keys"] = {
                name: tuple(dict.fromkeys(choose(KEYED))) for name in texts if choose((True, False))
            }
    return options


KEYED = (KEYS["region"], ("x", "X"), ("",), (None, "north", "日本", "\\", "%"), tuple(str(i) for i in range(40)))


def load(
    connection: Any, name: str, types: Mapping[str, str], rows: Sequence[Row], spell: Callable[[Any], str] = literal
) -> None:
    """A table of which rows can be hidden."""
    listed = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
    connection.execute(f"CREATE TABLE all_{name} (i BIGINT, {listed})")
    if rows:
        values = ", ".join(f"({i}, {', '.join(map(spell, row.values()))})" for i, row in enumerate(rows))
        connection.execute(f"INSERT INTO all_{name} VALUES {values}")
    columns = ", ".join(f'"{column}"' for column in types)
    hidden = f"SELECT i FROM gone WHERE name = '{name}'"
    connection.execute(f"CREATE VIEW {name} AS SELECT {columns} FROM all_{name} WHERE i NOT IN ({hidden})")
