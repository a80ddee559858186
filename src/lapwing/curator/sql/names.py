"""What names in a SELECT stand for: tables of FROM, their columns, and what the analyst declares about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlglot import exp

from lapwing import checks
from lapwing.curator.plan.declarations import among_keys, fitting
from lapwing.curator.plan.expressions import NUMERIC, Column, Expression, Kind
from lapwing.curator.plan.nodes import Plan, Public, Select
from lapwing.curator.plan.parser import column_hint, only, refused, shown, translate
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery

T = TypeVar("T")
_POSITIONS = ("rowid", "_rowid_", "ctid", "oid", "xmin", "xmax", "cmin", "cmax", "tableoid", "file_row_number")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """One table of FROM: what it is called, and which columns of the plan its columns are."""

    alias: str
    columns: Mapping[str, Column]
    repeated: frozenset[str] = frozenset()
    """Columns of USING: without the name of a table they mean those of the table before."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows of a plan, and the names under which a SELECT knows their columns."""

    plan: Plan
    tables: tuple[NamedTable, ...]

    def find(self, node: exp.Expr) -> Column | None:
        """The column that a name stands for, if there is one; two are an error."""
        if not isinstance(node, exp.Column):
            return None
        only(node, "this", "table")
        if not isinstance(node.this, exp.Identifier):
            raise refused(node.this)
        name, qualifier = node.name, node.table
        among = self.tables
        if qualifier:
            among = named(qualifier, {table.alias: (table,) for table in among}) or ()
        columns = [
            column
            for table in among
            if (column := named(name, table.columns)) and (qualifier or name.lower() not in table.repeated)
        ]
        exact = [table.columns[name] for table in among if name in table.columns and table.columns[name] in columns]
        columns = exact or columns
        if len(columns) > 1:
            whose = " or ".join(f"{table.alias}.{name}" for table in among if named(name, table.columns))
            raise UnsupportedQuery(shown(node), "several tables have this column", f"Write {whose}.")
        return columns[0] if columns else None

    def column(self, node: exp.Expr) -> Column:
        """The column that a name stands for."""
        column = self.find(node)
        if column is not None:
            return column
        if node.name.lower() in _POSITIONS:
            why = "the position of a row depends on other people's rows"
            raise UnsupportedQuery(shown(node), why, "Name a column of the table.")
        known = [name for table in self.tables for name in table.columns]
        raise UnsupportedQuery(shown(node), "there is no such column", column_hint(node, known))

    def translate(self, node: exp.Expr) -> Expression:
        """An expression about one row."""
        meanings: dict[int, Expression | LapwingError] = {}
        for name in node.find_all(exp.Column):
            try:
                meanings[id(name)] = self.column(name)
            except UnsupportedQuery as error:
                meanings[id(name)] = error
        return translate(node, meanings)

    def visible(self, expression: Expression) -> str:
        """What to call a column, without its table."""
        if isinstance(expression, Column):
            for table in self.tables:
                for name, column in table.columns.items():
                    if column == expression:
                        return name
        return str(expression)

    def over(self, plan: Plan, tables: tuple[NamedTable, ...] | None = None) -> Scope:
        """The same names for the columns of another plan."""
        fresh = [
            replace(table, columns={name: plan.by_name[column.name] for name, column in table.columns.items()})
            for table in tables or self.tables
        ]
        return Scope(plan, tuple(fresh))


def named(name: str, known: Mapping[str, T]) -> T | None:
    """What a name stands for; upper and lower case only matter where two names differ in nothing else."""
    if name in known:
        return known[name]
    alike = [value for other, value in known.items() if other.lower() == name.lower()]
    if len(alike) > 1:
        raise UnsupportedQuery(
            name, "several names differ from it only in upper and lower case", "Write one of them exactly."
        )
    return alike[0] if alike else None


@dataclass(frozen=True)
class Declarations:
    """Bounds and keys that come with a query, for every column of that name, wherever it is made."""

    bounds: Mapping[str, Any]
    keys: Mapping[str, Iterable[Any]]
    used: set[str] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        """Values are gone through more than once, so they are written down."""
        for given, what, example in ((self.bounds, "bounds", "(0, 1000)"), (self.keys, "keys", "['a', 'b']")):
            if not isinstance(given, Mapping):
                raise InvalidParameter(what, given, "must say which column", f"Write {what}={{'column': {example}}}.")
        listed = {name: list(values) if isinstance(values, Iterator) else values for name, values in self.keys.items()}
        object.__setattr__(self, "keys", listed)

    def about(self, column: Column) -> Column:
        """A column with what is declared about it."""
        if column.name in self.bounds and column.kind in NUMERIC:
            self.used.add(column.name)
            column = replace(column, bounds=checks.interval(bounds=self.bounds[column.name]))
        values = self.values(column.name, column.kind)
        return column if values is None else replace(column, keys=values)

    def values(self, name: str, kind: Kind | None) -> tuple[Any, ...] | None:
        """The public values of a column, if they are declared."""
        if name not in self.keys or kind is None:
            return None
        self.used.add(name)
        given = self.keys[name]
        try:
            values = None if isinstance(given, str) else tuple(dict.fromkeys(given))
        except TypeError:
            values = None
        if values is None:
            raise InvalidParameter("keys", given, "must be a list of values", f"Write keys={{{name!r}: ['a', 'b']}}.")
        with among_keys(name, given):
            fitting(name, kind, values)
        return values

    def over(self, plan: Plan) -> Plan:
        """A plan whose columns have what is declared about them."""
        fields = tuple(self.about(column) for column in plan.columns)
        if fields == plan.columns:
            return plan
        if isinstance(plan, Public):
            return replace(plan, fields=fields)
        return Select(plan, tuple((column.name, column) for column in fields))

    def check(self) -> None:
        """Refuse what is declared about nothing."""
        for name in (*self.bounds, *self.keys):
            if name not in self.used:
                what = "bounds" if name in self.bounds else "keys"
                why = "no column of that name (and, for bounds, with numbers) is made or read by the query"
                raise InvalidParameter(what, name, why, "Check its name, or leave it out.")
