"""A table by group: how many rows each key has, and the sum and mean of a column in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms, grouping
from lapwing.web.lab.analyses.curated import Simple
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Result, Series
from lapwing.web.lab.statement import StatedColumn, Statement
from lapwing.web.service.plural import counted

MEASURES = (("count", "how many"), ("sum", "sum"), ("mean", "mean"))
_SQL = {"count": "count(*)", "sum": "sum({})", "mean": "avg({})"}


@dataclass(frozen=True, slots=True)
class Groups(Simple):
    """GROUP BY one column with stated keys."""

    slug = "groups"
    title = "Table by group"
    summary = "For each key of a column: how many rows, and the sum and mean of another column."

    by: StatedColumn
    measures: tuple[str, ...] = ("count",)
    column: str = ""

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """By which column, what, and of which column."""
        several = "Each measure gets its part of epsilon."
        nothing = ("", "no column")
        return (
            forms.chosen(
                "by",
                "For each",
                grouping.usable(statement),
                "Only columns with keys are listed. State the keys of a column to list it too.",
            ),
            Field("measures", "Show", MEASURES, "count", kind="many", hint=several),
            Field("column", "Sum and mean of", (nothing, *forms.choices(statement.bounded)), ""),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        by = forms.column(form, "by", grouping.usable(statement), "keys")
        known = [word for word, _ in MEASURES]
        measures = tuple(forms.choice({"m": word}, "m", known) for word in forms.texts(form, "measures"))
        if not measures:
            raise forms.Refused("measures", "none", "Nothing is ticked under “Show”", "Tick “how many”, for example.")
        measures = tuple(word for word in known if word in measures)
        if measures == ("count",):
            return cls(by, measures)
        if not forms.text(form, "column"):
            what = "average" if "mean" in measures else "add up"
            raise forms.Refused("column", "none", f"Choose the column to {what}, or tick only “how many”")
        column = forms.column(form, "column", statement.bounded, "bounds").name
        if column == by.name:
            raise InvalidParameter("column", column, "is the column of the groups", "Choose another column.")
        return cls(by, measures, column)

    @property
    def asked(self) -> str:
        """The measures, of what and for each of which."""
        measured = [word for word in self.measures if word != "count"]
        named = ["count"] if "count" in self.measures else []
        named += [f"{forms.joined(measured)} of {self.column}"] if measured else []
        return f"{', and '.join(named)} for each {self.by.name}"

    def query(self, table: PrivateTable) -> Query:
        """The measures of each group."""
        name, aggregates = forms.quoted(self.column), []
        for word in self.measures:
            aggregate = {"sum": lw.sum, "mean": lw.mean}.get(word)
            aggregates.append(lw.count() if aggregate is None else aggregate(name, name=self.output(word)))
        return grouping.grouped(table, self.by.name).agg(*aggregates)

    def output(self, word: str) -> str:
        """What a measure is called."""
        return "count" if word == "count" else f"{word} of {self.column}"

    def asking(self) -> str:
        """As Python."""
        name = forms.quoted(self.column)
        calls = [
            "lw.count()" if word == "count" else f"lw.{word}({name!r}, name={self.output(word)!r})"
            for word in self.measures
        ]
        return f"table{grouping.called(self.by.name)}.agg({', '.join(calls)})"

    def groups(self, statement: Statement) -> int:
        """The keys."""
        return len(grouping.values(self.by))

    def condition(self, statement: Statement) -> str:
        """Of a group with an equal share."""
        return f"in a group of {counted(self.rows_per_group(statement), 'row')}"

    def basis(self, statement: Statement) -> tuple[str, ...]:
        """What the error of a mean rests on."""
        if "mean" not in self.measures:
            return ()
        each = self.rows_per_group(statement)
        return (f"the error of a mean assumes that all groups are equally large: {each:,} rows each",)

    def result(self, answer: Any) -> Result:
        """Bars for each measure."""
        return replace(Simple.result(self, answer), shape="bars", x_label=self.by.name)

    def plain(self, source: Rows, result: Result) -> tuple[Series, ...]:
        """The same over all rows, without bounds."""
        what = ", ".join(_SQL[word].format(forms.quoted(self.column)) for word in self.measures)
        rows = grouping.by_value(source, self.by, what)
        empty = {"count": 0.0, "sum": 0.0, "mean": None}
        outputs = []
        for i, (word, series) in enumerate(zip(self.measures, result.series, strict=True)):
            numbers = [row[i] if row and row[i] is not None else empty[word] for row in rows]
            values = tuple(
                replace(value, value=None if n is None else float(n))
                for value, n in zip(series.values, numbers, strict=True)
            )
            outputs.append(replace(series, values=values, note=""))
        return tuple(outputs)
