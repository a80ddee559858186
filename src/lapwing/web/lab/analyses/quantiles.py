"""Quantiles of a column: the value below which a given share of the rows lies."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import lapwing as lw
from lapwing.curator import Answer, Query, Unprotected
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms
from lapwing.web.lab.analyses.curated import Simple
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.analysis import Data, Field, Progress
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Shape, Value
from lapwing.web.lab.statement import StatedColumn, Statement
from lapwing.web.service.plural import counted

DEFAULT = (0.25, 0.5, 0.75)
MOST = 20


@dataclass(frozen=True, slots=True)
class Quantiles(Simple):
    """Several quantiles, which share the budget."""

    slug = "quantiles"
    title = "Quantiles"
    summary = "Values below which a given share of the rows lies, such as a quarter. For a half, this is the median."
    shape: ClassVar[Shape] = "curve"
    mechanism: ClassVar[str] = "the exponential mechanism over ranks (lapwing.mechanisms.Quantile)"

    column: StatedColumn
    shares: tuple[float, ...] = DEFAULT

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Of which column, and which."""
        written = " ".join(f"{share:g}" for share in DEFAULT)
        hint = "Shares between 0 and 1. Each gets an equal part of epsilon."
        return (
            forms.chosen("column", "Quantiles of", statement.bounded),
            Field("shares", "Shares", value=written, kind="text", hint=hint),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        column = forms.column(form, "column", statement.bounded, "bounds")
        shares = tuple(sorted(set(forms.numbers(form, "shares", DEFAULT))))
        if not all(0 < share < 1 for share in shares):
            why = "Every share must be more than 0 and less than 1"
            raise forms.Refused("shares", forms.text(form, "shares"), why, "Write 0.25 0.5 0.75, for example.")
        if len(shares) > MOST:
            why = f"are {len(shares)}, and every one gets a part of epsilon"
            raise InvalidParameter("shares", forms.text(form, "shares"), why, f"Write {MOST} at most.")
        return cls(column, shares)

    def query(self, table: PrivateTable) -> Query:
        """One pick for each share."""
        name = forms.quoted(self.column.name)
        return table.agg(*(lw.quantile(name, share, name=called(share)) for share in self.shares))

    def asking(self) -> str:
        """As Python."""
        name = forms.quoted(self.column.name)
        picks = ", ".join(f"lw.quantile({name!r}, {share!r}, name={called(share)!r})" for share in self.shares)
        return f"table.agg({picks})"

    def preview(self, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
        """In ranks, and in the column's own unit as far as its values are spread evenly."""
        ranks = Simple.preview(self, statement, epsilons)
        of = f"among {rows_that_count(statement)}"
        ranks = replace(ranks, bands=tuple(replace(band, condition=of) for band in ranks.bands))
        assert self.column.bounds is not None
        low, high = self.column.bounds
        why = f"This assumes that values are spread evenly from {low:g} to {high:g}; the true error differs."
        people = max(1, statement.people)
        even = tuple(
            Band(
                f"{band.output}, in {self.column.name}",
                tuple(None if e is None else (high - low) * min(1.0, e / people) for e in band.errors),
                why=why,
            )
            for band in ranks.bands
        )
        notes = (
            "ranks are places among the sorted values. The error is known in ranks",
            "how far apart the values of two ranks are depends on the data. So the error in values is a rough estimate",
        )
        return replace(ranks, bands=(*ranks.bands, *even), notes=(*notes, *ranks.notes))

    def result(self, answer: Answer | Unprotected) -> Result:
        """One series along the shares."""
        result = Simple.result(self, answer)
        numbers = [series.values[0].value for series in result.series]
        if isinstance(answer, Answer):
            numbers = [None if number is None else round(number, self.digits) for number in numbers]
        values = tuple(
            Value(called(share) if len(self.shares) > 1 else self.output, value, x=share)
            for share, value in zip(self.shares, numbers, strict=True)
        )
        notes = (*_by_quantile({series.name: series.note for series in result.series}), *result.notes)
        return replace(result, series=(Series(self.output, values),), x_label="share of the rows", notes=notes)

    @property
    def digits(self) -> int:
        """Digits after the point that say something: a ten-thousandth of the bounds, and none of whole numbers."""
        low, high = self.column.bounds or (0.0, 1.0)
        return 0 if self.column.type == "integer" else max(0, 3 - math.floor(math.log10(high - low)))

    def release(self, data: Data, epsilon: float, progress: Progress) -> Result:
        """Ranks are told with how many of them there are, as stated."""
        result = Simple.release(self, data, epsilon, progress)
        rows = rows_that_count(data.statement)
        of = f"{{}} (of {rows if rows.startswith('at most') else f'about {rows}'}) from the exact"
        notes = [re.sub("(ranks?) from the exact", lambda match: of.format(match[1]), note) for note in result.notes]
        return replace(result, notes=tuple(notes))

    @property
    def output(self) -> str:
        """What it is called."""
        what = "quantiles" if len(self.shares) > 1 else called(self.shares[0])
        return f"{what} of {self.column.name}"

    def plain(self, source: Rows, result: Result) -> tuple[Series, ...]:
        """The smallest value that so large a share lies at or below."""
        picks = ", ".join(f"quantile_disc({forms.quoted(self.column.name)}, {share!r})" for share in self.shares)
        [row] = source.all(f"SELECT {picks} FROM rows")
        [series] = result.series
        values = zip(series.values, row, strict=True)
        plain = tuple(replace(value, value=None if n is None else float(n)) for value, n in values)
        return (replace(series, values=plain, note=""),)


RANKS = (
    "ranks are places among the sorted values. How far a rank is in values depends on the data. To see how close the "
    "values lie, ask also for quantiles nearby, which costs more"
)
"""Of all quantiles of an answer, once."""


def _by_quantile(notes: Mapping[str, str]) -> list[str]:
    """A line for each quantile with what is said first about it, and once what holds for all of them."""
    clauses = {name: [part for part in re.split("[;.] ", note) if part] for name, note in notes.items()}
    shared = [part for part in next(iter(clauses.values()), []) if all(part in own for own in clauses.values())]
    if len(clauses) == 1:
        return [*shared[:1], RANKS, *shared[1:]]
    own = {name: next((part for part in parts if part not in shared), "") for name, parts in clauses.items()}
    return [*(f"{name}: {text}" for name, text in own.items() if text), RANKS, *shared]


def rows_that_count(statement: Statement) -> str:
    """How many rows count, as far as that was stated."""
    most = statement.people * (statement.max_rows_per_unit if statement.unit else 1)
    return f"{'at most ' if most > statement.people else ''}{counted(most, 'row')}"


def called(share: float) -> str:
    """What a quantile is called."""
    return "median" if share == 0.5 else f"{share:g} quantile"
