"""Query plans: frozen nodes whose rows each belong to exactly one unit and depend on that unit's rows alone.

That property (point 1 of curator.md) is checked here when a node is made, by where a column comes from and not by its
name. These keep it: row-wise filters and expressions, joins with public tables, joins and EXISTS on the unit, DISTINCT
and set operations that keep the unit, and totals per unit. Bounding comes later, just before aggregation, so no node
needs a stability of its own. Where every row is a unit of its own, only steps are allowed that make at most one row of
one row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from lapwing.curator.plan.expressions import (
    KINDS,
    NUMERIC,
    TRUTH,
    Column,
    Constant,
    Expression,
    Input,
    Kind,
    with_article,
)
from lapwing.curator.plan.outputs import TOTALLED, check_total, output, total_column
from lapwing.curator.plan.text_forms import LONGEST_TEXT
from lapwing.curator.plan.values import value_of
from lapwing.errors import InvalidParameter, UnsupportedQuery

DEEPEST = 60
"""Steps one after another: DuckDB nests about 70 statements."""
Outer = Literal["inner", "left"]
Setting = Literal["union", "union all", "intersect", "except"]
Total = Literal["count", "count distinct", "sum", "avg", "min", "max"]


@dataclass(frozen=True)
class Node(ABC):
    """What every plan has: columns, and a way to say what it does."""

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows."""

    def __post_init__(self) -> None:
        for entry in self.inputs():
            entry.check()

    def parents(self) -> tuple[Plan, ...]:
        """The plans it is made from."""
        return ()

    def inputs(self) -> tuple[Input, ...]:
        """What it takes of each row, and of which kinds; `checker` holds every question to it."""
        return ()

    @abstractmethod
    def explain(self) -> str:
        """What happens, step by step."""


@dataclass(frozen=True)
class Scan(Node):
    """A private table. Rows whose unit is NULL are left out."""

    table: str
    fields: tuple[Column, ...]
    each_row: bool = False
    """Whether every row is a unit of its own."""

    def __post_init__(self) -> None:
        _distinct_names([field.name for field in self.fields])
        if not self.each_row and [field.kind in ("integer", "text") for field in self.fields if field.unit] != [True]:
            why = "a private table has one unit column, a whole number or text"
            raise UnsupportedQuery(self.table, why, "Write unit='patient_id'.")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """As declared."""
        return self.fields

    def explain(self) -> str:
        """Its name."""
        return self.table


@dataclass(frozen=True)
class Where(Node):
    """The rows for which a condition is true."""

    parent: Plan
    condition: Expression

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Unchanged."""
        return self.parent.columns

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent,)

    def inputs(self) -> tuple[Input, ...]:
        return (Input("a condition", self.condition, TRUTH, self.parent.by_name),)

    def explain(self) -> str:
        """The condition."""
        return f"{self.parent.explain()} → where {self.condition}"


@dataclass(frozen=True)
class Select(Node):
    """Columns computed from each row. A column is the unit only if it is the unit column itself."""

    parent: Plan
    outputs: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        if not self.outputs:
            raise UnsupportedQuery("select", "no column is left", "Name at least one.")
        _distinct_names([name for name, _ in self.outputs])
        super().__post_init__()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The outputs, with bounds where they are known."""
        return tuple(output(name, expression) for name, expression in self.outputs)

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent,)

    def inputs(self) -> tuple[Input, ...]:
        below = self.parent.by_name
        return tuple(Input(f"the column {name}", what, KINDS, below, declares=True) for name, what in self.outputs)

    def explain(self) -> str:
        """The outputs, unless columns only bear the name of their table from here on, as the tables of a join do."""
        if all(isinstance(what, Column) and name.endswith(f".{what.name}") for name, what in self.outputs):
            return self.parent.explain()
        shown = [name if str(what) == name else f"{what} as {name}" for name, what in self.outputs]
        return f"{self.parent.explain()} → select {', '.join(shown)}"


@dataclass(frozen=True)
class Public(Node):
    """A public table, written into the plan: its owner states that it was not derived from private data."""

    table: str
    fields: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Values of the kinds of their columns, so that no cast of an engine makes two of them one."""

    def __post_init__(self) -> None:
        rows = tuple(tuple(map(_public_value, row, self.fields)) for row in self.rows)
        object.__setattr__(self, "rows", rows)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """As declared."""
        return self.fields

    def explain(self) -> str:
        """Its name."""
        return f"public {self.table}"

    def most_agreeing(self, on: Iterable[tuple[Expression, str]]) -> int:
        """With how many rows a value can agree, at least 1; a double cannot tell all whole numbers apart."""
        columns = []
        for private, name in on:
            place = next(index for index, field in enumerate(self.fields) if field.name == name)
            rounded = {private.kind, self.fields[place].kind} == {"integer", "number"}
            columns.append(
                [float(row[place]) if rounded and row[place] is not None else row[place] for row in self.rows]
            )
        return max(Counter(zip(*columns, strict=True)).values(), default=1)


@dataclass(frozen=True)
class JoinPublic(Node):
    """Every private row with the public rows that agree with it; `left` keeps private rows without any."""

    parent: Plan
    public: Public
    on: tuple[tuple[Expression, str], ...]
    how: Outer = "inner"

    def __post_init__(self) -> None:
        if not self.on:
            why = "a join without a condition would pair all rows"
            raise UnsupportedQuery(f"join {self.public.table}", why, "Say on which columns.")
        names = tuple(name for _, name in self.on)
        if is_each_row(self.parent) and self.factor > 1:
            why = "every row is a unit here, and this join could make several rows of one"
            raise UnsupportedQuery(
                f"join {self.public.table} on {', '.join(names)}", why, "Open the table with unit='…'."
            )
        for private, name in self.on:
            same_kind(private, self.public.by_name[name])
        _distinct_names([column.name for column in self.columns])
        super().__post_init__()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Those of both; where a row may have no partner, NULL is one of the public values."""
        public = self.public.columns
        if self.how == "left":
            public = tuple(
                column if column.keys is None else replace(column, keys=tuple(dict.fromkeys((*column.keys, None))))
                for column in public
            )
        return (*self.parent.columns, *public)

    @cached_property
    def factor(self) -> int:
        """How many rows it can make of one."""
        return self.public.most_agreeing(self.on)

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent,)

    def inputs(self) -> tuple[Input, ...]:
        kinds = [(private, self.public.by_name[name].kind) for private, name in self.on]
        return tuple(
            Input("the public column", private, NUMERIC if kind in NUMERIC else (kind,), self.parent.by_name)
            for private, kind in kinds
        )

    def explain(self) -> str:
        """What is joined on what."""
        on = ", ".join(f"{private} = {name}" for private, name in self.on)
        return f"{self.parent.explain()} → {self.how} join {self.public.explain()} on {on}"


@dataclass(frozen=True)
class JoinUnit(Node):
    """Rows of two private tables that belong to the same unit."""

    left: Plan
    right: Plan
    how: Outer = "inner"
    condition: Expression | None = None
    """What else must hold, row by row."""

    def __post_init__(self) -> None:
        for side in (self.left, self.right):
            must_have_units(side, "a join of private tables")
        if unit_kind(self.left) != unit_kind(self.right):
            why = "the units of the two tables are of different kinds"
            raise UnsupportedQuery("join on the unit", why, "Declare the unit column with the same type in both.")
        _distinct_names([column.name for column in self.columns])
        super().__post_init__()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Those of both; the unit of an outer side may be NULL and is no unit any more."""
        right = self.right.columns
        if self.how == "left":
            right = tuple(replace(column, unit=False, complete=False) for column in right)
        return (*self.left.columns, *right)

    def parents(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def inputs(self) -> tuple[Input, ...]:
        both = {**self.left.by_name, **self.right.by_name}
        return () if self.condition is None else (Input("a condition", self.condition, TRUTH, both),)

    def explain(self) -> str:
        """What is joined."""
        more = "" if self.condition is None else f" and {self.condition}"
        return f"{self.left.explain()} → {self.how} join ({self.right.explain()}) on the unit{more}"


@dataclass(frozen=True)
class Exists(Node):
    """The rows whose unit has (or has not) a row in another plan."""

    parent: Plan
    other: Plan
    negated: bool = False

    def __post_init__(self) -> None:
        for side in (self.parent, self.other):
            must_have_units(side, "EXISTS")
        if unit_kind(self.parent) != unit_kind(self.other):
            why = "the units of the two tables are of different kinds"
            raise UnsupportedQuery("EXISTS on the unit", why, "Declare the unit column with the same type in both.")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Unchanged."""
        return self.parent.columns

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent, self.other)

    def explain(self) -> str:
        """Which units stay."""
        word = "without" if self.negated else "with"
        return f"{self.parent.explain()} → only units {word} ({self.other.explain()})"


@dataclass(frozen=True)
class Combine(Node):
    """UNION, INTERSECT, EXCEPT of plans with the same columns, the unit among them; of one side: its distinct rows."""

    setting: Setting
    sides: tuple[Plan, ...]

    def __post_init__(self) -> None:
        first = self.sides[0]
        for side in self.sides:
            must_have_units(side, self.setting.upper())
            shape = [(column.kind, column.unit) for column in side.columns]
            if shape != [(column.kind, column.unit) for column in first.columns]:
                why = "both sides need the same columns in the same order, and the unit in the same place"
                raise UnsupportedQuery(self.setting.upper(), why, "Select the same columns on both sides.")
        if not any(column.unit for column in first.columns):
            why = "without the unit, rows of different people could be merged"
            raise UnsupportedQuery(self.setting.upper(), why, "Select the unit column as well.")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Those of the first side; bounds are kept, since all values are clamped to them again when they are used."""
        return self.sides[0].columns

    def parents(self) -> tuple[Plan, ...]:
        return self.sides

    def explain(self) -> str:
        """What is combined."""
        if len(self.sides) == 1:
            return f"{self.sides[0].explain()} → distinct rows"
        return f" {self.setting} ".join(f"({side.explain()})" for side in self.sides)


@dataclass(frozen=True)
class PerUnit(Node):
    """One row per unit (and further keys): totals that do not depend on the order of rows."""

    parent: Plan
    unit_name: str
    keys: tuple[tuple[str, Expression], ...]
    totals: tuple[tuple[str, Total, Expression | None], ...]

    def __post_init__(self) -> None:
        must_have_units(self.parent, "a total per unit")
        for name, key in self.keys:
            if isinstance(key, Constant):  # after GROUP BY, engines read a number as the place of a column
                raise UnsupportedQuery(f"group by {key}", f"{name} is the same in every row", "Leave it out.")
        for name, total, argument in self.totals:
            check_total(name, total, argument)
        super().__post_init__()
        _distinct_names([column.name for column in self.columns])

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The unit, the keys, the totals."""
        unit = Column(self.unit_name, unit_kind(self.parent), unit=True)
        keys = [output(name, expression) for name, expression in self.keys]
        return (unit, *keys, *(total_column(*total) for total in self.totals))

    def parents(self) -> tuple[Plan, ...]:
        return (self.parent,)

    def inputs(self) -> tuple[Input, ...]:
        below = self.parent.by_name
        keys = [Input(f"the key {name}", what, KINDS, below) for name, what in self.keys]
        totals = [(total, what) for _, total, what in self.totals if what is not None]
        return (*keys, *(Input(with_article(total), what, TOTALLED.get(total, KINDS), below) for total, what in totals))

    def explain(self) -> str:
        """The totals."""
        shown = [f"{total}({'*' if argument is None else argument}) as {name}" for name, total, argument in self.totals]
        keys = "".join(f", {name}" for name, _ in self.keys)
        return f"{self.parent.explain()} → per unit{keys}: {', '.join(shown)}"


Plan = Scan | Where | Select | Public | JoinPublic | JoinUnit | Exists | Combine | PerUnit


def scans(plan: Plan) -> Iterator[Scan]:
    """The private tables below a plan."""
    if isinstance(plan, Scan):
        yield plan
    for parent in plan.parents():
        yield from scans(parent)


def check_depth(plan: Plan) -> None:
    """Refuse a plan of more steps, one after another, than engines can nest."""
    steps, layer = 0, [plan]
    while layer:
        steps, layer = steps + 1, [parent for node in layer for parent in node.parents()]
        if steps > DEEPEST:
            why = f"it takes more than {DEEPEST} steps, one after another"
            raise UnsupportedQuery("the question", why, "Join conditions with AND, and name fewer sub-queries.")


def is_each_row(plan: Plan) -> bool:
    """Whether every row is a unit of its own."""
    return any(scan.each_row for scan in scans(plan))


def unit_kind(plan: Plan) -> Kind:
    """Of what kind the unit is."""
    first = next(scans(plan))
    return next(column.kind for column in first.columns if column.unit)


def must_have_units(plan: Plan, what: str) -> None:
    """Refuse what would join, merge or count rows that are each a unit of their own."""
    if isinstance(plan, Public):
        why = "a public table has no unit"
        raise UnsupportedQuery(what, why, "Join it with the private table on its columns.")
    if is_each_row(plan):
        raise UnsupportedQuery(what, "every row is a unit of its own here", "Open the table with unit='…'.")


def same_kind(left: Expression, right: Expression) -> None:
    """Refuse to compare what engines compare differently."""
    from lapwing.curator.plan.language import call

    call("=", left, right)


def _public_value(value: Any, field: Column) -> Any:
    """NaN, infinities and very long text are NULL here as everywhere."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and len(value.encode("utf-8", "replace")) > LONGEST_TEXT:
        return None
    try:
        return value_of(value, field.kind)
    except ValueError:
        why = f"{field.name} is of kind {field.kind}"
        hint = f"Write values of that kind, or types={{{field.name!r}: '…'}}."
        raise InvalidParameter("source", value, why, hint) from None


def _distinct_names(names: list[str]) -> None:
    double = {name for name in names if names.count(name) > 1}
    if double:
        shown = min(double)
        raise UnsupportedQuery(shown, "two columns have this name", f"Rename one: SELECT … AS other_{shown}.")
