"""k-anonymity, for contrast: it has no epsilon, adds up with nothing, and promises nothing against what others know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from lapwing.anonymity import Mondrian
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms, rows
from lapwing.web.lab.analysis import Analysis, Data, Field, Progress
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Value
from lapwing.web.lab.statement import StatedColumn, Statement

MOST_ROWS = 100_000
MOST_COLUMNS = 8
SHOWN, SMALLEST = 50, 5
"""Classes that are listed: the largest, and, if there are more, the smallest."""
NO_GUARANTEE = (
    "k-anonymity has no epsilon and gives no guarantee. Somebody who knows other facts about a person may find them"
)
_INSTEAD = "Use teaching mode to look at it, and release a count, a histogram or a table by group instead."


@dataclass(frozen=True, slots=True)
class Anonymous(Analysis):
    """Rows made coarser until everybody looks like k − 1 others."""

    slug = "k-anonymity"
    title = "k-anonymity"
    summary = "The older way: rows are made coarser until each looks like k − 1 others. It gives no guarantee."

    columns: tuple[StatedColumn, ...]
    k: int = 5

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """By what people can be recognised, and how many must look alike."""
        columns = forms.choices(_usable(statement))
        hint = "Columns that others may know about somebody."
        return (
            Field(
                "columns",
                "People can be recognised by",
                columns,
                columns[0][0] if columns else "",
                kind="many",
                hint=hint,
            ),
            Field("k", "Rows that look alike, at least", value="5", kind="number"),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        columns = forms.columns(form, "columns", _usable(statement), "a name", MOST_COLUMNS)
        return cls(columns, forms.whole(form, "k", 2, 1000, 5))

    def preview(self, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
        """Nothing can be said: what is lost depends on the data, and no epsilon changes it."""
        band = Band("certainty penalty", (None,) * len(epsilons), why=NO_GUARANTEE)
        return Preview((band,), notes=(NO_GUARANTEE, "only in teaching mode"), mechanism="generalisation (Mondrian)")

    def release(self, data: Data, epsilon: float, progress: Progress) -> Result:
        """Refused: there is no loss that could be charged."""
        raise InvalidParameter("analysis", self.slug, NO_GUARANTEE, _INSTEAD)

    def draws(self, data: Data, epsilon: float, times: int, progress: Progress) -> Iterator[Result]:
        """Refused: nothing in it is drawn."""
        why = "nothing in it is random, so every run gives the same"
        raise InvalidParameter("analysis", self.slug, why, "Look at the exact answer.")

    def exact(self, data: Data, progress: Progress) -> Result:
        """The classes, largest first, and what was lost."""
        read = ", ".join(
            f"{forms.label_of(column.name) if column.type == 'text' else forms.quoted(column.name)} AS c{i}"
            for i, column in enumerate(self.columns)
        )
        with rows.opened(data, progress) as source:
            table = source.all(f"SELECT {read} FROM rows USING SAMPLE reservoir({MOST_ROWS} ROWS) REPEATABLE (1)")
        progress(0.3)
        columns = {column.name: [row[i] for row in table] for i, column in enumerate(self.columns)}
        groups = Mondrian(k=self.k, quasi_identifiers=list(columns)).anonymise(columns)
        progress(1.0)
        labels = groups.to_dict()
        sizes = Counter(zip(*(labels[column.name] for column in self.columns), strict=True))
        values = [Value(" · ".join(map(str, label)), float(size)) for label, size in sizes.most_common()]
        notes = (
            f"{len(groups.rows):,} rows in {len(groups.classes):,} classes of at least {groups.k}",
            f"certainty penalty {groups.losses.certainty:.3f} (0: nothing was made coarser; 1: no detail is left)",
            f"the average class has {groups.losses.class_size:.2f} times k rows",
        )
        label = " · ".join(column.name for column in self.columns)
        return Result("table", _listed(values), label, notes=notes)

    def script(self, statement: Statement, epsilon: float) -> str:
        """Every row; nothing is charged, because nothing is promised."""
        columns = [column.name for column in self.columns]
        lines = (
            "from lapwing.anonymity import Mondrian",
            "",
            f"# {NO_GUARANTEE}.",
            f"columns = table.raw_rows({columns!r}, per_unit=None)",
            f"print(Mondrian(k={self.k}, quasi_identifiers=list(columns)).anonymise(columns))",
        )
        return "\n".join(lines)


def _listed(values: Sequence[Value]) -> tuple[Series, ...]:
    """All classes, or the largest and the smallest of them, and how many that are."""
    if len(values) <= SHOWN + SMALLEST:
        return (Series("rows alike", tuple(values)),)
    largest = Series(f"rows alike: the {SHOWN} largest of {len(values):,} classes", tuple(values[:SHOWN]))
    return (largest, Series(f"rows alike: the {SMALLEST} smallest", tuple(values[-SMALLEST:])))


def _usable(statement: Statement) -> tuple[StatedColumn, ...]:
    return tuple(column for column in statement.columns if column.name != statement.unit)
