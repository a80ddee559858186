"""How many rows there are, all of them or those that a condition holds for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.tables.table import PrivateTable
from lapwing.web.lab.analyses import filters
from lapwing.web.lab.analyses.curated import Simple
from lapwing.web.lab.analyses.filters import Filter
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Result, Series
from lapwing.web.lab.statement import Statement


@dataclass(frozen=True, slots=True)
class Count(Simple):
    """A count."""

    slug = "count"
    title = "Count"
    summary = "How many rows there are, all of them or those with a property."

    where: Filter = field(default_factory=Filter)

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Which rows."""
        return filters.fields(statement)

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        return cls(filters.of(statement, form))

    @property
    def rows(self) -> str:
        """Those of the filter."""
        return self.where.words

    def query(self, table: PrivateTable) -> Query:
        """COUNT(*)."""
        return (table.where(self.where.sql) if self.where.sql else table).agg(lw.count())

    def asking(self) -> str:
        """As Python."""
        return f"table{chained(self.where)}.agg(lw.count())"

    def plain(self, source: Rows, result: Result) -> tuple[Series, ...]:
        """All rows of the file that match."""
        [[count]] = source.all(f"SELECT count(*) FROM rows{condition(self.where)}")
        [series] = result.series
        return (replace(series, values=(replace(series.values[0], value=float(count)),)),)


def chained(where: Filter) -> str:
    """A filter as a call."""
    return f".where({where.sql!r})" if where.sql else ""


def condition(where: Filter) -> str:
    """A filter as a clause."""
    return f" WHERE {where.sql}" if where.sql else ""
