"""One SELECT in the curator's SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from lapwing.curator import Answer, Query, Unprotected
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms, grouping
from lapwing.web.lab.analyses.curated import CuratedAnalysis, blank, stopping
from lapwing.web.lab.analysis import Data, Field, Progress
from lapwing.web.lab.result import Result
from lapwing.web.lab.statement import Statement

LONGEST = 4000
EVERYTHING = 1_000_000
"""Groups of a unit and rows in a group that count on the exact side."""
SHARE_OF_DELTA = 10
"""One question with secret keys spends so small a part of the delta that was allowed in all."""


@dataclass(frozen=True, slots=True)
class Sql(CuratedAnalysis):
    """A statement."""

    slug = "sql"
    title = "SQL"
    summary = "One SELECT with COUNT, SUM, AVG, quantiles, WHERE, GROUP BY, ORDER BY and LIMIT."

    text: str
    secret: bool = False
    """Whether it groups by a column whose keys were not stated."""

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """The statement."""
        return (Field("sql", "SQL", value=_example(statement), kind="text", hint="One SELECT, about this table only."),)

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """Read by the curator, which refuses whatever is not private."""
        text = forms.text(form, "sql")
        if not text or len(text) > LONGEST:
            why = f"must be one statement of at most {LONGEST} characters"
            raise InvalidParameter("sql", text[:40], why, f"Write {_example(statement)}.")
        query = blank(statement).query(text)
        secret = query.grouping.secret and query.top is None
        if secret and not statement.delta:
            names = " and ".join(key.name for key in query.grouping.keys if key.values is None)
            why = f"which values of {names} occur is a secret, and showing some of them needs a delta"
            raise InvalidParameter("sql", text[:40], why, f"State the keys of {names}, or allow a delta for the table.")
        return cls(text, secret)

    def query(self, table: PrivateTable) -> Query:
        """The question that it stands for."""
        return table.query(self.text)

    def asking(self) -> str:
        """As Python."""
        return f"table.query({self.text!r})"

    def delta(self, statement: Statement) -> float:
        """A tenth of what is allowed, if secret keys are shown."""
        return statement.delta / SHARE_OF_DELTA if self.secret else 0.0

    def rows_per_group(self, statement: Statement) -> int:
        """As if groups were equally large."""
        return statement.people // max(1, self.query(blank(statement)).grouping.size)

    def remarks(self, statement: Statement) -> tuple[str, ...]:
        """What the error of a mean rests on."""
        groups = self.query(blank(statement)).grouping
        if not groups.keys or groups.secret:
            return ()
        unknown = [line.output for line in self.query(blank(statement)).quote(epsilon=1).expected if line.error is None]
        if not unknown:
            return ()
        each = max(1, self.rows_per_group(statement))
        return (f"the error of {' and '.join(unknown)} assumes that all groups are equally large: {each:,} rows each",)

    def result(self, answer: Answer | Unprotected) -> Result:
        """One number, or bars for each output."""
        result = CuratedAnalysis.result(self, answer)
        return replace(result, shape="bars" if any(column.is_key for column in answer.columns) else "number")

    def exact(self, data: Data, progress: Progress) -> Result:
        """Every row counts and nothing is noisy; numbers outside their bounds still count as the nearest one.

        The statement itself goes through the curator's closed language here, too: no other SQL reaches the engine.
        """
        table = data.statement.open(data.path, None)
        query = self.query(table)
        with stopping(table, progress):
            after = self.result(query.unprotected())
            progress(0.5)
            everything = query.bounded(max_groups_per_unit=EVERYTHING, max_rows_per_group=EVERYTHING)
            plain = self.result(everything.unprotected())
        progress(1.0)
        note = "exact, except that numbers outside their bounds count as the nearest bound, as they do in the answer"
        return self.compared(plain.series, replace(after, notes=(note,)))


def _example(statement: Statement) -> str:
    table = forms.quoted(statement.name) if not statement.name.isidentifier() else statement.name
    for column in grouping.usable(statement):
        name = forms.quoted(column.name)
        return f"SELECT {name}, COUNT(*) AS n FROM {table} GROUP BY {name}"
    return f"SELECT COUNT(*) AS n FROM {table}"
