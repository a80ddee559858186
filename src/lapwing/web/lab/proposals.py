"""Propose bounds and keys: found privately at a price or, in teaching mode, read from the data.

Bounds: one private histogram over public bins whose ends are 1, 2, 5, 10, … on both sides of zero. The outermost bins
that hold more rows than noise explains say how far the values reach. Keys: the curator's private selection, which
shows a key only if enough people have it, at a small delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from sqlglot import exp

import lapwing as lw
from lapwing.curator import Query
from lapwing.curator.engines.duckdb_dialect import DuckDB
from lapwing.curator.plan.text_forms import PLAIN, Notation
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import grouping
from lapwing.web.lab.analyses.curated import THRESHOLD, answered, blank
from lapwing.web.lab.analysis import Data, Progress
from lapwing.web.lab.engine import engine, quoted, text
from lapwing.web.lab.statement import StatedColumn, Statement, Type

PRICES = (0.05, 0.1, 0.2, 0.5, 1.0)
"""What a proposal may cost."""
_POWERS = [mantissa * 10.0**power for power in range(-2, 10) for mantissa in (1, 2, 5)]
EDGES = (*(-power for power in reversed(_POWERS)), 0.0, *_POWERS)
MISTAKE = 0.01
"""How likely a bin in which nobody is may widen the bounds."""
MOST_READ = 50
"""Keys that teaching mode reads."""
FIRST_ROWS, LONGEST_SHOWN = 5, 80


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was found for a column, and how."""

    bounds: tuple[float, float] | None = None
    keys: tuple[str, ...] = ()
    type: Type | None = None
    why: str = ""
    private: bool = True

    @property
    def found(self) -> bool:
        """Whether there is anything to put into the form."""
        return bool(self.bounds or self.keys)


def threshold(epsilon: float, rows: int = 1) -> int:
    """How many rows a bin must seem to hold so that noise alone is not the reason, for all bins together."""
    return math.ceil(rows * math.log(len(EDGES) / MISTAKE) / epsilon)


def delta_for_keys(statement: Statement) -> float:
    """What finding keys costs in delta: a quarter of the allowance, and far below one in the number of people."""
    return min(statement.delta / 4, 0.01 / statement.people)


def people_for_keys(statement: Statement, epsilon: float) -> int | None:
    """How many people a key needs, so that a look most likely finds it; None if no look for keys can be paid."""
    name = next((column.name for column in statement.columns if column.name != statement.unit), None)
    if name is None or not statement.delta:
        return None
    quote = _keys(_without_keys(statement, name), None, name).quote(epsilon=epsilon, delta=delta_for_keys(statement))
    needed = next(line.error for line in quote.expected if line.measured_in == THRESHOLD)
    return None if needed is None else math.ceil(needed)


def _keys(statement: Statement, data: Data | None, column: str) -> Query:
    """The question that finds keys: of a table, or of none, for its price."""
    table = blank(statement) if data is None else statement.open(data.path, data.ledger)
    return grouping.grouped(table, column).agg(lw.count())


def _without_keys(statement: Statement, column: str) -> Statement:
    """The same statement, where nobody stated keys of this column."""
    columns = tuple(replace(other, keys=()) if other.name == column else other for other in statement.columns)
    return replace(statement, columns=columns)


def can_have_bounds(column: StatedColumn) -> bool:
    """Whether a look for bounds of this column can find any: numbers have bounds, words and dates have none."""
    return column.type in ("number", "integer")


def to_look_at(statement: Statement) -> dict[str, tuple[str, ...]]:
    """The columns that a private look may be about, those for which nothing is stated yet first."""
    columns = [column for column in statement.columns if column.name != statement.unit]
    bounds = sorted(filter(can_have_bounds, columns), key=lambda column: column.bounds is not None)
    keys = columns if statement.delta else []
    keys.sort(key=lambda column: (bool(column.keys), column.type != "text"))
    return {
        what: tuple(column.name for column in columns)
        for what, columns in (("bounds", bounds), ("keys", keys))
        if columns
    }


def private_bounds(data: Data, column: str, epsilon: float, progress: Progress = lambda _: None) -> Proposal:
    """Bounds that most values lie between, charged to the ledger.

    Privacy: one histogram over public bins, released by the curator; the rest looks at its noisy counts only.
    """
    if not can_have_bounds(data.statement.column(column)):
        why = "is no number, so a look for its bounds would find nothing"
        hint = "Nothing was spent. If its values are numbers, choose “number” as its type and save the form first."
        raise InvalidParameter("column", column, why, hint)
    stated = _as_number(data.statement, column)
    table = stated.open(data.path, data.ledger)
    answer = answered(data, table.agg(lw.histogram(column, edges=EDGES)), progress, epsilon=epsilon)
    counts = [list(row.values())[-1] for row in answer.table]
    least = threshold(epsilon, stated.max_rows_per_unit)
    filled = [ends for ends, count in zip(pairwise(EDGES), counts, strict=True) if count >= least]
    paid = f"ε = {epsilon:g}"
    if not filled:
        why = f"Asked privately for {paid}: no range has enough rows ({least:,} are needed at this price)."
        return Proposal(why=f"{why} State bounds yourself, or pay more.")
    low, high = filled[0][0], filled[-1][1]
    if 0 < low <= high / 10:  # the few bins next to zero are narrow, and cost nothing
        low = 0.0
    if 0 > high >= low / 10:
        high = 0.0
    return Proposal(
        (low, high), type=stated.column(column).type, why=f"Found privately for {paid}. Keep or change both."
    )


def private_keys(data: Data, column: str, epsilon: float, progress: Progress = lambda _: None) -> Proposal:
    """Keys that enough people have, charged to the ledger."""
    statement = data.statement
    if not statement.delta:
        hint = "Choose an allowance δ, such as 1e-6, then look again."
        raise InvalidParameter(
            "delta", 0, "a private look has a small probability of showing a key that only one person has", hint
        )
    delta = delta_for_keys(statement)
    query = _keys(_without_keys(statement, column), data, column)
    answer = answered(data, query, progress, epsilon=epsilon, delta=delta)
    values = next(column.values for column in answer.columns if column.is_key)
    keys = tuple(_written(key) for key in values if key is not None)
    paid = f"ε = {epsilon:g} and δ = {delta:.2g}"
    if not keys:
        needed = people_for_keys(statement, epsilon)
        why = f"no key is frequent enough to be shown (about {needed:,} {statement.crowd} are needed at this price)"
        return Proposal(why=f"Asked privately for {paid}: {why}. Pay more, or state keys yourself.")
    return Proposal(keys=keys, why=f"Found privately for {paid}. Rare keys are usually not among them.")


def read_bounds(path: Path, column: str, type: Type, notation: Notation = PLAIN) -> Proposal:
    """The smallest and the largest value. Not private: teaching mode only."""
    with engine(path.parent) as connection:
        value = _cell(column, "number", notation)
        query = (
            f"SELECT min(v), max(v) FROM (SELECT {value} AS v FROM read_parquet({text(str(path))})) WHERE isfinite(v)"
        )
        [[low, high]] = connection.execute(query).fetchall()
    if low is None or not low < high:
        return Proposal(why="The data has fewer than two different numbers here.", private=False)
    return Proposal((low, high), type=type, why="Read from the data: not private.", private=False)


def read_keys(path: Path, column: StatedColumn, notation: Notation = PLAIN) -> Proposal:
    """The most frequent values. Not private: teaching mode only."""
    is_plain = column.type == "text" or (notation == PLAIN and column.type != "boolean")  # J, Ja and j are one key
    value = quoted(column.name) if is_plain else _cell(column.name, column.type, notation)
    with engine(path.parent) as connection:
        query = (
            f"SELECT CAST({value} AS VARCHAR) AS k, count(*) FROM read_parquet({text(str(path))}) "
            f"WHERE k IS NOT NULL AND length(k) BETWEEN 1 AND 200 GROUP BY k ORDER BY 2 DESC, k LIMIT {MOST_READ}"
        )
        keys = tuple(str(key) for key, _ in connection.execute(query).fetchall())
    return Proposal(keys=keys, why="Read from the data: not private.", private=False)


def first_rows(path: Path) -> list[tuple[str, ...]]:
    """A few records. Not private: teaching mode only, shown once and not kept."""
    with engine(path.parent) as connection:
        cells = f"left(CAST(COLUMNS(*) AS VARCHAR), {LONGEST_SHOWN})"
        rows = connection.execute(f"SELECT {cells} FROM read_parquet({text(str(path))}) LIMIT {FIRST_ROWS}").fetchall()
    return [tuple("" if cell is None else cell for cell in row) for row in rows]


_SQL_TYPES: Mapping[Type, str] = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "date": "DATE",
}


def _cell(name: str, kind: Type, notation: Notation) -> str:
    """A column of the file that intake made, read as a type."""
    if notation == PLAIN or kind == "text":
        return f"TRY_CAST({quoted(name)} AS {_SQL_TYPES[kind]})"
    spelled = DuckDB()
    column = exp.column(exp.to_identifier(name, quoted=True))
    return spelled.sql(spelled.read(column, "VARCHAR", kind, notation=notation))


def _as_number(statement: Statement, column: str) -> Statement:
    """The same statement, where the column is a number without bounds."""
    kind: Type = "integer" if statement.column(column).type == "integer" else "number"
    return replace(
        statement,
        columns=tuple(
            replace(other, type=kind, bounds=None, keys=()) if other.name == column else other
            for other in statement.columns
        ),
    )


def _written(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
