"""One SELECT in the curator's SQL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from lapwing.curator import Answer, Query, Unprotected
from lapwing.curator.plan.nodes import Plan, Where
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import MissingBounds
from lapwing.web.lab.analyses import filters, forms, grouping
from lapwing.web.lab.analyses.curated import CONFIDENCE, THRESHOLD, CuratedAnalysis, blank, needs_rows, stopping
from lapwing.web.lab.analysis import Data, Field, Progress
from lapwing.web.lab.result import Result
from lapwing.web.lab.statement import Statement
from lapwing.web.service.plural import counted

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
    matching: int = 0
    """About how many rows its condition holds for, as stated; 0 if there is none, or that was not stated."""
    filtered: bool = False
    """Whether it has a condition."""

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """The statement."""
        sql = Field("sql", "SQL", value=_example(statement), kind="text", hint="One SELECT, about this table only.")
        return (sql, filters.matching_field(", if there is a WHERE"))

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """Read by the curator, which refuses whatever is not private."""
        text = forms.text(form, "sql")
        if not text or len(text) > LONGEST:
            why = f"This must be one statement of at most {LONGEST:,} characters"
            raise forms.Refused("sql", text[:40], why, f"Write {_example(statement)}.")
        query = _read(statement, text)
        secret = query.grouping.secret and query.top is None
        if secret and not statement.delta:
            names = " and ".join(key.name for key in query.grouping.keys if key.values is None)
            why = f"Which values of {names} occur is private, and showing some of them needs an allowance δ"
            raise forms.Refused("sql", text[:40], why, f"State the keys of {names}, or allow a δ for the table.")
        filtered = has_condition(query.plan)
        return cls(text, secret, filters.matching(form) if filtered else 0, filtered)

    def query(self, table: PrivateTable) -> Query:
        """The question that it stands for."""
        return table.query(self.text)

    def asking(self) -> str:
        """As Python."""
        return f"table.query({self.text!r})"

    def delta(self, statement: Statement) -> float:
        """A tenth of what is allowed, if secret keys are shown."""
        return statement.delta / SHARE_OF_DELTA if self.secret else 0.0

    def groups(self, statement: Statement) -> int:
        """All that are stated, also if LIMIT or HAVING leaves some out of the answer."""
        return self.query(blank(statement)).grouping.size

    def rows_per_group(self, statement: Statement, epsilon: float = 1.0) -> int:
        """An equal share; of groups that nobody stated, the size of the smallest one that is likely shown."""
        if not self.secret:
            return CuratedAnalysis.rows_per_group(self, statement)
        quote = self.query(blank(statement)).quote(epsilon=epsilon, confidence=CONFIDENCE, delta=self.delta(statement))
        needed = next(line.error for line in quote.expected if line.measured_in == THRESHOLD)
        return min(math.ceil(needed or 1), statement.people)

    def condition(self, statement: Statement) -> str:
        """Of secret groups, the smallest one; of others, one with an equal share."""
        if self.secret:
            return "in the smallest group that is likely shown"
        rows = counted(self.rows_per_group(statement), "row")
        return f"in a group of {rows}" if self.groups(statement) > 1 else f"among {rows}"

    def caveat(self, statement: Statement) -> str:
        """That a condition leaves out nobody knows how many rows."""
        return filters.FEWER if self.filtered and not self.matching and not self.secret else ""

    def basis(self, statement: Statement) -> tuple[str, ...]:
        """What the error of a mean rests on."""
        query = self.query(blank(statement))
        means = needs_rows(query, delta=self.delta(statement) or None)
        if not means:
            return ()
        error, each = f"the error of {forms.joined(means)}", self.rows_per_group(statement)
        if self.secret:
            return (f"{error} is for the smallest group that is likely shown. Larger groups have smaller errors",)
        if query.grouping.keys:
            return (f"{error} assumes that all groups are equally large: {each:,} rows each",)
        if self.matching:
            return (f"{error} assumes that {each:,} rows match the condition, as you stated",)
        return (f"{error} is for {each:,} rows. If fewer rows have a value or match a condition, it will be larger",)

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


def has_condition(plan: Plan) -> bool:
    """Whether rows are left out by a condition, here or in a sub-query."""
    return isinstance(plan, Where) or any(map(has_condition, plan.parents()))


def _read(statement: Statement, text: str) -> Query:
    """The query; of a column that the statement computes, nobody can state bounds."""
    try:
        return blank(statement).query(text)
    except MissingBounds as error:
        if error.column == statement.unit:
            why = f"{error.column} says whose row it is, so it is no number to compute with"
            hint = f"For the number of different people, write COUNT(DISTINCT {forms.quoted(error.column)})."
            raise forms.Refused("sql", text[:40], why, hint) from None
        if any(column.name == error.column for column in statement.columns):
            raise
        why = f"{error.column} is computed by the statement, and its bounds do not follow from those that you stated"
        raise forms.Refused("sql", text[:40], why, "Ask about a column of the table that has bounds.") from None


def _example(statement: Statement) -> str:
    table = forms.quoted(statement.name) if not statement.name.isidentifier() else statement.name
    for column in grouping.usable(statement):
        name = forms.quoted(column.name)
        return f"SELECT {name}, COUNT(*) AS n FROM {table} GROUP BY {name}"
    return f"SELECT COUNT(*) AS n FROM {table}"
