"""The answer to a question for marginals: tables that agree, each an answer of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing.curator.aggregates import estimates
from lapwing.curator.ask.marginal_noise import Widths, name_of
from lapwing.curator.show import words
from lapwing.curator.show.answer import Answer, Column
from lapwing.curator.show.cross_tables import MARGINAL
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lapwing.curator.ask.marginals import MarginalsQuestion


@dataclass(frozen=True, repr=False)
class Marginals:
    """What a release of marginals says: tables that agree, each an `Answer` of its own.

    `marginals["sex", "age_group"]` is one of them. Everything in it was paid for, so all that is done with it is free.

    Attributes:
        question: The question that was asked.
        widths: How far the noise reaches in each table.

    >>> tables = patients.marginals([["smoker", "region"], ["region"]]).release(epsilon=1)
    >>> len(tables["smoker", "region"].table), len(tables["smoker"].table)
    (12, 2)
    >>> sum(tables["smoker"]["count"]) == sum(tables["region"]["count"])
    True
    >>> tables.sets
    (('smoker', 'region'), ('region',))
    """

    answer: Answer
    """All tables, one below the other, as they are recorded."""
    question: MarginalsQuestion
    widths: Widths

    def __repr__(self) -> str:
        tables = [f"{name_of(names)}\n{self[names].table}" for names in self.sets]
        notes = words.notes(self._with(tuple(column for column in self.answer.columns if column.name != MARGINAL)))
        return "\n".join([*tables, f" costs {self.loss}", *(f" {mark} {note}" for mark, note in notes)])

    def _repr_html_(self) -> str:
        *tables, last = self.sets
        return "".join(self[names].table._repr_html_() for names in tables) + self[last]._repr_html_()

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each marginal, as they were asked for."""
        return self.question.sets

    @property
    def loss(self) -> Any:
        """What all of them cost together."""
        return self.answer.loss

    def plot(self, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
        """Draw every table, of the first column of values or of the one named; into a file if a path is given.

        Args:
            path: The file to draw into. None means that the figure is only returned.
            column: The column of values to draw. None means the first one.

        Returns:
            The figure.

        >>> import tempfile
        >>> tables = patients.marginals([["smoker", "region"], ["region"]]).release(epsilon=1)
        >>> figure = tables.plot(tempfile.mkdtemp() + "/tables.png")
        """
        return self.answer.plot(path, column)

    def __getitem__(self, columns: str | Sequence[str]) -> Answer:
        """The marginal over these columns: one that was asked for, or sums of one."""
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        known = [key.name for key in self.question.grouping.keys]
        for name in names:
            if name not in known:
                raise InvalidParameter(
                    "columns", name, "is in none of the marginals", f"There are: {', '.join(known)}."
                )
        same = [released for released in self.sets if set(released) == set(names)]
        return self._released(same[0]) if same else self._summed(names)

    def _released(self, names: tuple[str, ...]) -> Answer:
        label = name_of(names)
        rows = [i for i, name in enumerate(self.answer[MARGINAL]) if name == label]
        shown = [column for column in self.answer.columns if not column.is_key or column.name in names]
        return self._with(tuple(_rows(column, rows) for column in shown))

    def _summed(self, names: tuple[str, ...]) -> Answer:
        above = [released for released in self.sets if set(names) <= set(released)]
        if not above:
            why = "no marginal was released that has all of these columns"
            raise InvalidParameter("columns", names, why, f"There are: {'; '.join(map(name_of, self.sets))}.")
        source, family = self._released(above[0]), self.question.family
        keys = [column for column in source.columns if column.name in names]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for row in range(len(source.table)):
            groups.setdefault(tuple(key.values[row] for key in keys), []).append(row)
        columns = [replace(key, values=tuple(group[i] for group in groups)) for i, key in enumerate(keys)]
        places = {key.name: place for place, key in enumerate(self.question.grouping.keys)}
        below = tuple(sorted(places[name] for name in names))
        assert below in family.interactions
        for bound in self.question.bounds:
            column = source.table.column(bound.output)
            values = tuple(sum(column.values[row] for row in rows) for rows in groups.values())
            width = bound.aggregate.error(bound, [self.widths.below(bound.statistics[0], below)], None)
            bounds = bound.grids[0].steps if bound.grids else (0, 1)
            spans = [estimates.span(value, width, bounds) for value in values]
            columns.append(replace(column, values=values, noise=None if self.question.integers else tuple(spans)))
        return self._with(tuple(columns))

    def _with(self, columns: tuple[Column, ...]) -> Answer:
        return replace(self.answer, columns=columns)


def _rows(column: Column, rows: Sequence[int]) -> Column:
    noise = None if column.noise is None else tuple(column.noise[i] for i in rows)
    return replace(column, values=tuple(column.values[i] for i in rows), noise=noise)
