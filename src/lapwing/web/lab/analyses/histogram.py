"""How the values of a column are spread: counts in bins, or of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms, grouping
from lapwing.web.lab.analyses.curated import EACH, Simple
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Result, Series, Shape
from lapwing.web.lab.statement import StatedColumn, Statement

BINS = 10


@dataclass(frozen=True, slots=True)
class Histogram(Simple):
    """A histogram: of numbers between edges, or of keys where there are none."""

    slug = "histogram"
    title = "Histogram"
    summary = "How many rows fall into each bin of a number, or have each key."
    shape: ClassVar[Shape] = "bars"

    column: StatedColumn
    edges: tuple[float, ...] = ()

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Of which column, and where the bins end."""
        hint = f"Rising numbers, such as 0 20 40 60. If empty: a bin for each key, or {BINS} bins between the bounds."
        column = forms.chosen("column", "Histogram of", _usable(statement))
        return (column, Field("edges", "Edges of the bins", kind="text", hint=hint))

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        column = forms.column(form, "column", _usable(statement), "bounds or keys")
        edges = forms.numbers(form, "edges")
        if edges and column.type not in ("number", "integer"):
            why = f"{column.name} is not a number, so it has no bins"
            raise InvalidParameter("edges", forms.text(form, "edges"), why, "Leave this empty to count its keys.")
        if not edges and not column.keys and column.bounds:
            edges = _even(*column.bounds)
        if edges and (len(edges) < 2 or any(not low < high for low, high in pairwise(edges))):
            why = "must rise, from the lower end of the first bin to the upper end of the last"
            raise InvalidParameter("edges", forms.text(form, "edges"), why, "Write 0 20 40 60, for example.")
        return cls(column, edges)

    def query(self, table: PrivateTable) -> Query:
        """Counts by bin or key."""
        if self.edges:
            return table.agg(lw.histogram(forms.named(self.column.name), edges=list(self.edges), name="count"))
        return grouping.grouped(table, self.column.name).agg(lw.count())

    def asking(self) -> str:
        """As Python."""
        if self.edges:
            edges = [int(edge) if edge == int(edge) else edge for edge in self.edges]
            return f"table.agg(lw.histogram({forms.named(self.column.name)!r}, edges={edges!r}, name='count'))"
        return f"table{grouping.called(self.column.name)}.agg(lw.count())"

    def basis(self, statement: Statement) -> tuple[str, ...]:
        """How many bars it is about."""
        return (EACH,)

    def result(self, answer: Any) -> Result:
        """With the name of the column as people wrote it."""
        return replace(Simple.result(self, answer), x_label=self.column.name)

    def plain(self, source: Rows, result: Result) -> tuple[Series, ...]:
        """The same bins or keys over all rows."""
        name = forms.quoted(self.column.name)
        if self.edges:
            last = len(self.edges) - 2
            bins = [
                f"count(*) FILTER ({name} >= {low!r} AND {name} {'<=' if i == last else '<'} {high!r})"
                for i, (low, high) in enumerate(pairwise(self.edges))
            ]
            [counts] = source.all(f"SELECT {', '.join(bins)} FROM rows")
        else:
            counts = tuple(row[0] if row else 0 for row in grouping.by_value(source, self.column, "count(*)"))
        [series] = result.series
        values = zip(series.values, counts, strict=True)
        return (replace(series, values=tuple(replace(v, value=float(n)) for v, n in values)),)

    def place(self, number: int) -> float | None:
        """The middle of a bin."""
        return (self.edges[number] + self.edges[number + 1]) / 2 if self.edges else None


def _usable(statement: Statement) -> tuple[StatedColumn, ...]:
    groups = grouping.usable(statement)
    return tuple(column for column in statement.columns if column in statement.bounded or column in groups)


def _even(low: float, high: float) -> tuple[float, ...]:
    """Ten bins of the same width."""
    return tuple(dict.fromkeys(float(f"{low + (high - low) * i / BINS:.10g}") for i in range(BINS + 1)))
