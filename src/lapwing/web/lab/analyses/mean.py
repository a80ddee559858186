"""The mean of a column with bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.tables.table import PrivateTable
from lapwing.web.lab.analyses import filters, forms
from lapwing.web.lab.analyses.count import chained, condition
from lapwing.web.lab.analyses.curated import Simple
from lapwing.web.lab.analyses.filters import Filter
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Result, Series
from lapwing.web.lab.statement import Statement
from lapwing.web.service.plural import counted

NEED = "bounds"


@dataclass(frozen=True, slots=True)
class Mean(Simple):
    """A mean."""

    slug = "mean"
    title = "Mean"
    summary = "The average of a column. A value outside the bounds counts as the nearest bound."

    column: str
    where: Filter = field(default_factory=Filter)
    matching: int = 0
    """About how many rows the condition holds for, as stated; 0 if that was not."""

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Of which column, and of which rows."""
        return (
            forms.chosen("column", "Mean of", statement.bounded),
            *filters.fields(statement),
            filters.matching_field(""),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        where = filters.of(statement, form)
        matching = filters.matching(form) if where.sql else 0
        return cls(forms.column(form, "column", statement.bounded, NEED).name, where, matching)

    @property
    def rows(self) -> str:
        """Those of the filter."""
        return self.where.words

    def query(self, table: PrivateTable) -> Query:
        """AVG(column)."""
        rows = table.where(self.where.sql) if self.where.sql else table
        return rows.agg(lw.mean(forms.quoted(self.column), name=self.output))

    @property
    def output(self) -> str:
        """What it is called."""
        return f"mean of {self.column}"

    def asking(self) -> str:
        """As Python."""
        return f"table{chained(self.where)}.agg(lw.mean({forms.quoted(self.column)!r}, name={self.output!r}))"

    def condition(self, statement: Statement) -> str:
        """How many rows a filter would leave at most."""
        return f"among {counted(self.rows_per_group(statement), 'row')}" if self.where.sql else ""

    def caveat(self, statement: Statement) -> str:
        """That a filter leaves out nobody knows how many rows."""
        return filters.FEWER if self.where.sql and not self.matching else ""

    def basis(self, statement: Statement) -> tuple[str, ...]:
        """What the error rests on."""
        if not self.where.sql:
            people = f"{statement.people:,}"
            each = f": one row of each of the {people} {statement.unit_word}s that you stated" if statement.unit else ""
            return (f"the error assumes that {people} rows have a value{each or ', as many as you stated'}",)
        if self.matching:
            return (f"the error assumes that {self.matching:,} rows match the condition, as you stated",)
        return (f"the error is for {statement.people:,} rows; fewer rows match the condition, so it will be larger",)

    def plain(self, source: Rows, result: Result) -> tuple[Series, ...]:
        """The mean without bounds."""
        [[mean]] = source.all(f"SELECT avg({forms.quoted(self.column)}) FROM rows{condition(self.where)}")
        [series] = result.series
        value = None if mean is None else float(mean)
        return (replace(series, values=(replace(series.values[0], value=value),), note=""),)
