"""Tables full of difficult values, and questions about them: drawn by whatever chooses, a generator or hypothesis."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import duckdb
from oracle import Beyond, Row

import lapwing as lw
from lapwing.curator.compile import Compiler
from lapwing.curator.expressions import Column
from lapwing.curator.groups import Grouping, key_for
from lapwing.curator.parse import expression
from lapwing.curator.plan import Combine, JoinUnit, PerUnit, Select
from lapwing.curator.query import Query
from lapwing.curator.release import statement_of
from lapwing.curator.selection import Salt
from lapwing.curator.statistics import Bounding
from lapwing.curator.table import Grouped, PrivateTable
from lapwing.errors import LapwingError

T = TypeVar("T")
Choose = Callable[[Sequence[T]], T]

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
    {"region": "north", "people": 5, "rich": True, "weight": 0.5, "code": 0},
    {"region": "north", "people": 7, "rich": False, "weight": -1.5, "code": 1},
    {"region": "North", "people": None, "rich": None, "weight": 3.0, "code": 18},
    {"region": "", "people": 1, "rich": True, "weight": 0.0, "code": 2**53},
    {"region": "su\u0308d", "people": 0, "rich": None, "weight": None, "code": 2**53 + 1},
]


def literal(value: Any) -> str:
    """A value as DuckDB reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, Beyond):
        return value.sql
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"({value})"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'"


EDGES = (
    (0, 10),
    (-1, 0, 0.5, 99.99),
    (-0.1, 0.1, 0.3),
    tuple(range(0, 121, 10)),
    (0, 1e-9, 2.0**53),
    (-(10**18), 10**18),
)


@dataclass(frozen=True)
class World:
    """Two private tables about the same units in one DuckDB, and their rows for the oracle."""

    connection: duckdb.DuckDBPyConnection
    tables: dict[str, list[Row]]
    visits: PrivateTable
    drugs: PrivateTable

    def without(self, unit: Any) -> dict[str, list[Row]]:
        """The rows of everybody else."""
        return {name: [row for row in rows if owner(self, row) != unit] for name, rows in self.tables.items()}

    def units(self) -> list[Any]:
        """Everybody who has a row."""
        found = [owner(self, row) for rows in self.tables.values() for row in rows]
        return list(dict.fromkeys(unit for unit in found if unit is not None))

    def show(self, tables: dict[str, list[Row]]) -> None:
        """Let the engine see these rows, which are some of the world's."""
        self.connection.execute("BEGIN; DELETE FROM gone")
        for name, rows in self.tables.items():
            kept = {id(row) for row in tables[name]}
            missing = [i for i, row in enumerate(rows) if id(row) not in kept]
            if missing:
                values = ", ".join(f"('{name}', {i})" for i in missing)
                self.connection.execute(f"INSERT INTO gone VALUES {values}")
        self.connection.execute("COMMIT")


def owner(world: World, row: Row) -> Any:
    """Whose row this is, by the oracle's rules."""
    from oracle import read

    name = "who" if "who" in row else "owner"
    fields = (world.visits if name == "who" else world.drugs).plan.by_name
    return read(row[name], fields[name].kind)


def draw_rows(choose: Choose[Any], columns: dict[str, tuple[str, Sequence[Any]]], sizes: Sequence[int]) -> list[Row]:
    """Random rows, some of them twice."""
    rows: list[Row] = []
    for _ in range(choose(sizes)):
        if rows and choose((0, 0, 0, 1)):
            rows.append(dict(choose(rows)))
        else:
            rows.append({name: choose(values) for name, (_, values) in columns.items()})
    return rows


def draw_world(
    choose: Choose[Any], sizes: Sequence[int] = (0, 1, 2, 5, 9, 14), *, each_row: bool = False, few: bool = False
) -> World:
    """Random tables; with `few` units, so that each has many rows."""
    how = choose(tuple(UNITS))
    declared, units = UNITS[how]
    units = tuple(choose(units) for _ in range(3)) if few else units
    visits = {"who": (declared, units), **VISITS}
    drugs = {"owner": (declared, units), **DRUGS}
    tables = {"visits": draw_rows(choose, visits, sizes), "drugs": draw_rows(choose, drugs, sizes)}
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE gone (name VARCHAR, i BIGINT)")
    load(connection, "visits", visits, tables["visits"])
    load(connection, "drugs", drugs, tables["drugs"])
    kinds = {"who": "integer"} if how == "written" else {}
    unit = lw.EACH_ROW if each_row else "who"
    keys = KEYS if choose((True, False)) else None
    options = {**DECLARED, "types": {**DECLARED["types"], **kinds}}
    about = {"allowance": None, "dataset": "people"}
    first = lw.open(connection, table="visits", unit=unit, keys=keys, **options, **about)
    other = lw.open(
        connection, table="drugs", unit="owner", types={"owner": "integer"} if kinds else None, bounds={"dose": (0, 9)}
    )
    other = replace(other, context=replace(other.context, unit=first.context.unit, engine=first.context.engine))
    return World(connection, tables, first, other)


def load(
    connection: duckdb.DuckDBPyConnection, name: str, columns: dict[str, tuple[str, Sequence[Any]]], rows: list[Row]
) -> None:
    """A table of which rows can be hidden."""
    declared = ", ".join(f'"{column}" {kind}' for column, (kind, _) in columns.items())
    connection.execute(f"CREATE TABLE all_{name} (i BIGINT, {declared})")
    if rows:
        values = ", ".join(f"({i}, {', '.join(map(literal, row.values()))})" for i, row in enumerate(rows))
        connection.execute(f"INSERT INTO all_{name} VALUES {values}")
    listed = ", ".join(f'"{column}"' for column in columns)
    hidden = f"SELECT i FROM gone WHERE name = '{name}'"
    connection.execute(f"CREATE VIEW {name} AS SELECT {listed} FROM all_{name} WHERE i NOT IN ({hidden})")


# ------------------------------------------------------------------------------------------------- expressions


def quoted(column: Column) -> str:
    return '"' + column.name.replace('"', '""') + '"'


def numeric(choose: Choose[Any], columns: Sequence[Column], depth: int = 2) -> str:
    """A number, as text."""
    bounded = [quoted(c) for c in columns if c.kind in ("integer", "number") and c.bounds is not None]
    whole = [quoted(c) for c in columns if c.kind == "integer"]
    texts = [quoted(c) for c in columns if c.kind == "text"]
    times = [quoted(c) for c in columns if c.kind in ("date", "timestamp")]
    options = ["constant", *(["bounded"] * 4 if bounded else []), *(["remainder"] if whole else [])]
    options += [*(["length", "cast"] if texts else []), *(["part"] if times else [])]
    if depth:
        options += ["+", "-", "*", "/", "case", "coalesce", "abs", "floor", "ceil", "negate", "truth"]
    kind = choose(options)
    if kind == "constant":
        return choose(("0", "1", "2.5", "0.1", "1000000", "1e-3"))
    if kind == "bounded":
        return choose(bounded)
    if kind == "remainder":
        return f"({choose(whole)} % {choose((2, 7, 10))})"
    if kind == "length":
        return f"LENGTH({choose(texts)})"
    if kind == "cast":
        return f"CAST({choose(texts)} AS number)"
    if kind == "part":
        return f"{choose(('YEAR', 'MONTH', 'DAY'))}({choose(times)})"
    if kind == "case":
        first, second = numeric(choose, columns, depth - 1), numeric(choose, columns, depth - 1)
        other = f" ELSE {second}" if choose((True, False)) else ""
        return f"(CASE WHEN {truth(choose, columns, depth - 1)} THEN {first}{other} END)"
    if kind == "coalesce":
        return f"COALESCE({numeric(choose, columns, depth - 1)}, {numeric(choose, columns, depth - 1)})"
    if kind == "truth":
        return f"CAST({truth(choose, columns, depth - 1)} AS number)"
    if kind in ("abs", "floor", "ceil"):
        return f"{kind}({numeric(choose, columns, depth - 1)})"
    if kind == "negate":
        return f"(-{numeric(choose, columns, depth - 1)})"
    return f"({numeric(choose, columns, depth - 1)} {kind} {numeric(choose, columns, depth - 1)})"


def truth(choose: Choose[Any], columns: Sequence[Column], depth: int = 2) -> str:
    """A condition, as text."""
    texts = [quoted(c) for c in columns if c.kind == "text"]
    flags = [quoted(c) for c in columns if c.kind == "boolean"]
    times = [c for c in columns if c.kind in ("date", "timestamp")]
    options = ["null", "compare", *(["text", "in", "like"] if texts else []), *(["flag"] if flags else [])]
    options += ["huge", *(["time"] if times else []), *(["and", "or", "not", "between"] if depth else [])]
    kind = choose(options)
    if kind == "null":
        return f"({quoted(choose(columns))} IS {choose(('', 'NOT '))}NULL)"
    if kind == "text":
        return f"({choose(texts)} {choose(('=', '<>'))} {choose((*texts, literal(choose(REGIONS[:-1]))))})"
    if kind == "in":
        listed = ", ".join(literal(choose(REGIONS)) for _ in range(3))
        return f"({choose(texts)} {choose(('', 'NOT '))}IN ({listed}))"
    if kind == "like":
        return f"({choose(texts)} LIKE {literal(choose(('%', 'n%', '_', '%r%h', '', 'N_rth', '日%', 'a%b_c')))})"
    if kind == "flag":
        return f"({choose(flags)}{choose(('', ' IS TRUE', ' = FALSE'))})"
    if kind == "huge":
        whole = [quoted(c) for c in columns if c.kind in ("integer", "number")]
        if whole:
            return f"({choose(whole)} {choose(('=', '<', '>='))} {choose((*whole, '9007199254740993', '0.5', '-1'))})"
        return "TRUE"
    if kind == "time":
        column = choose(times)
        return f"({quoted(column)} {choose(('=', '<', '>='))} '{choose(('1970-01-01', '2024-02-29', '0001-01-01'))}')"
    if kind == "not":
        return f"(NOT {truth(choose, columns, depth - 1)})"
    if kind in ("and", "or"):
        return f"({truth(choose, columns, depth - 1)} {kind} {truth(choose, columns, depth - 1)})"
    a, b = numeric(choose, columns, depth - 1) if depth else "1", numeric(choose, columns, 0)
    if kind == "between":
        return f"({a} BETWEEN {b} AND {numeric(choose, columns, 0)})"
    return f"({a} {choose(('<', '<=', '=', '<>', '>', '>='))} {b})"


# ------------------------------------------------------------------------------------------------------- plans


def draw_plan(choose: Choose[Any], world: World, steps: Sequence[int] = (0, 1, 2, 3)) -> PrivateTable:
    """A private table after some random steps; those that are refused are left out."""
    table = world.visits
    for _ in range(choose(steps)):
        table = attempt(table, lambda table=table: STEPS[choose(tuple(STEPS))](choose, table, world))
    return table


def attempt(table: PrivateTable, step: Callable[[], PrivateTable]) -> PrivateTable:
    try:
        return step()
    except LapwingError:
        return table


def filtered(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    return table.where(truth(choose, table.plan.columns))


def computed(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    kept = [c for c in table.plan.columns if c.unit or choose((True, True, False))]
    new = {f"x{len(table.plan.columns)}": numeric(choose, table.plan.columns)}
    new |= {f"b{len(table.plan.columns)}": truth(choose, table.plan.columns)}
    outputs = [(c.name, c) for c in kept]
    outputs += [(n, expression(text, table.plan.by_name)) for n, text in new.items()]
    return replace(table, plan=Select(table.plan, tuple(outputs)))


def with_public(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    places = lw.public(PLACES, name=f"p{len(table.plan.columns)}")
    on = choose(({"region": "region"}, {"age": "code"}, {"cost": "weight"}, {"cost": "code"}, {"smoker": "rich"}))
    on = on if choose((True, True, False)) else {**on, "smoker": "rich"}
    return table.join(places, on=on, how=choose(("inner", "left")))


def with_private(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    other = choose((world.drugs, table, world.visits))
    other = attempt(other, lambda: other.where(truth(choose, other.plan.columns)))
    prefix = f"o{len(table.plan.columns)}_"
    renamed = Select(other.plan, tuple((prefix + c.name, c) for c in other.plan.columns))
    joined = table.join(replace(other, plan=renamed), how=choose(("inner", "left")))
    if choose((True, False)):
        condition = expression(truth(choose, joined.plan.columns), joined.plan.by_name)
        assert isinstance(joined.plan, JoinUnit)
        joined = replace(joined, plan=replace(joined.plan, condition=condition))
    return joined


def existing(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    other = choose((world.drugs, world.visits, table))
    other = attempt(other, lambda: other.where(truth(choose, other.plan.columns)))
    return table.having_rows_in(other, negated=choose((True, False)))


def set_of(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    setting = choose(("union", "union all", "intersect", "except"))
    narrow = choose((True, False))
    columns = [c for c in table.plan.columns if c.unit or not narrow or choose((True, False))]
    first = replace(table, plan=Select(table.plan, tuple((c.name, c) for c in columns)))
    count = choose((0, 1, 1, 2))
    sides = [first, *(attempt(first, lambda: first.where(truth(choose, first.plan.columns))) for _ in range(count))]
    sides = sides if choose((True, False)) else sides[::-1]
    return replace(table, plan=Combine(setting, tuple(side.plan for side in sides)))


def per_unit(choose: Choose[Any], table: PrivateTable, world: World) -> PrivateTable:
    columns = table.plan.columns
    keys = [c for c in columns if c.kind in ("text", "boolean", "date", "integer") and not c.unit]
    chosen = [choose(keys) for _ in range(choose((0, 1, 2))) if keys]
    named = tuple((c.name, c) for c in dict.fromkeys(chosen))
    totals: list[Any] = []
    for i in range(choose((1, 2, 3))):
        kind = choose(("count", "count distinct", "sum", "avg", "min", "max"))
        if kind == "count" and choose((True, False)):
            totals.append((f"t{len(columns)}_{i}", kind, None))
            continue
        column = choose(columns)
        of = expression(numeric(choose, columns), table.plan.by_name) if choose((True, False)) else column
        totals.append((f"t{len(columns)}_{i}", kind, of))
    return replace(table, plan=PerUnit(table.plan, f"unit{len(columns)}", named, tuple(totals)))


STEPS: dict[str, Callable[[Choose[Any], PrivateTable, World], PrivateTable]] = {
    "where": filtered,
    "select": computed,
    "public": with_public,
    "private": with_private,
    "exists": existing,
    "set": set_of,
    "per unit": per_unit,
}


# ---------------------------------------------------------------------------------------------------- questions


def draw_aggregates(choose: Choose[Any], table: PrivateTable) -> list[lw.curator.Aggregate]:
    columns = table.plan.columns
    numbers = [c for c in columns if c.kind in ("integer", "number")]

    def number() -> str:
        return quoted(choose(numbers)) if numbers and choose((True, True, False)) else numeric(choose, columns)

    kinds = ("count", "count of", "units", "distinct", "sum", "mean", "variance", "std", "cov", "corr", "quantile")
    made = []
    for i in range(choose((1, 2, 3))):
        kind, name = choose(kinds), f"a{i}"
        bounds = choose((None, None, (0, 10), (-0.1, 0.3), (-(10**12), 10**15), (3, 4), (-7, -2)))
        if kind == "count":
            made.append(lw.count(name=name))
        elif kind == "count of":
            made.append(lw.count(quoted(choose(columns)), name=name))
        elif kind == "units":
            made.append(lw.units(name=name))
        elif kind == "distinct":
            made.append(lw.count_distinct(quoted(choose(columns)), name=name))
        elif kind == "quantile":
            made.append(lw.quantile(number(), choose((0.5, 0.9)), bounds=bounds, name=name))
        elif kind in ("cov", "corr"):
            made.append((lw.covariance if kind == "cov" else lw.correlation)(number(), number(), name=name))
        else:
            one = {"sum": lw.sum, "mean": lw.mean, "variance": lw.variance, "std": lw.std}[kind]
            made.append(one(number(), bounds=bounds, name=name))
    return made


def draw_grouping(choose: Choose[Any], table: PrivateTable) -> Grouping:
    columns = table.plan.columns
    keys = []
    for i in range(choose((0, 1, 1, 2))):
        column = choose(columns)
        text = quoted(column) if choose((True, True, False)) else choose(
            (truth(choose, columns, 1), "CASE WHEN " + truth(choose, columns, 1) + " THEN 'a' END", "FLOOR(age)")
        )  # fmt: skip
        try:
            values = None
            if column.kind in ("number", "timestamp") and text == quoted(column):
                values = {"number": (0.0, 0.5, -2.5, 100), "timestamp": (dt.datetime(2026, 3, 8, 2, 30),)}[column.kind]
            elif column.kind == "integer" and text == quoted(column):
                values = choose(
                    (None, tuple(range(16, 20)), (2**53, 2**53 + 1, 0), tuple(range(-20, 0, 1)), (5, *range(40, 0, -2)))
                )
            keys.append(key_for(f"k{i}", expression(text, table.plan.by_name), values=values))
        except LapwingError:
            continue
    if keys and all(key.values is not None for key in keys) and choose((True, False)):
        keys = [replace(key, everything_else=True) for key in keys]
    return Grouping(tuple(keys))


def draw_bounding(choose: Choose[Any]) -> Bounding:
    if choose((True, False, False)):
        return Bounding(max_rows_per_unit=choose((1, 2, 3)))
    return Bounding(choose((1, 2, 3)), choose((1, 2, 5)))


def draw_query(choose: Choose[Any], world: World, steps: Sequence[int] = (0, 1, 2, 3)) -> Query:
    """A random question about a world."""
    table = draw_plan(choose, world, steps)
    grouping, bounding = draw_grouping(choose, table), draw_bounding(choose)
    if choose((False,) * 9 + (True,)):
        grouped = Grouped(replace(table, bounding=bounding), grouping)
        try:
            return grouped.agg(lw.histogram(numeric(choose, table.plan.columns), edges=choose(EDGES), name="n"))
        except LapwingError:
            pass
    while True:
        try:
            return Query(table.context, table.plan, grouping, tuple(draw_aggregates(choose, table)), bounding)
        except LapwingError:
            continue


def salted(seed: int) -> Salt:
    return Salt(b"%032d" % seed)


# ------------------------------------------------------------------------------------------------------ engines


def fetch(query: Query, salt: Salt) -> dict[Any, tuple[int, ...]]:
    """The integers of each group, from the engine."""
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, salt)
    with query.context.engine.session(query.context.relations.values()) as session:
        fetched = session.fetch(statement.totals(statement.rows().subquery("b"), query.statistics))
    return by_group(query, fetched)


def fetch_rows(query: Query, salt: Salt) -> Counter[tuple[Any, ...]]:
    """The rows that count, from the engine."""
    from sqlglot import exp

    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, salt)
    rows = statement.rows()
    listed = [name for name in rows.named_selects if name not in ("first", "one")]
    asked = exp.select(*(listed or ["1"])).from_(rows.subquery("b"))
    with query.context.engine.session(query.context.relations.values()) as session:
        fetched = session.fetch(asked)
    if "g" in listed:  # rows of none of the public groups
        fetched = [row for row in fetched if row[listed.index("g")] is not None]
    return Counter(tuple(row) if listed else () for row in fetched)


def by_group(query: Query, fetched: Sequence[tuple[Any, ...]]) -> dict[Any, tuple[int, ...]]:
    """What an engine returned, by group; every group once."""
    width = len(query.grouping.keys) if query.grouping.secret else 1 if query.grouping.keys else 0
    found: dict[Any, tuple[int, ...]] = {}
    for row in fetched:
        group = row[:width] if query.grouping.secret else row[0] if width else 0
        assert group not in found
        if group is not None:  # rows of none of the public groups
            found[group] = tuple(int(number) for number in row[width:])
    return found


__all__ = ["World", "by_group", "draw_query", "draw_world", "fetch", "fetch_rows", "salted"]
