"""Groups within groups: counts of every level that add up exactly, such as towns, regions and all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import lapwing as lw
from lapwing.curator.ask.query import Query
from lapwing.curator.tables.table import PrivateTable
from lapwing.datasets.helpline import PLACES
from lapwing.errors import InvalidParameter
from lapwing.web.lab.analyses import forms, grouping
from lapwing.web.lab.analyses.curated import Simple
from lapwing.web.lab.analyses.filters import literal
from lapwing.web.lab.analyses.rows import Rows
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Result, Series, Value
from lapwing.web.lab.statement import StatedColumn, Statement

WEIGHTS = (("levels", "equal for all levels"), ("leaves", "mostly for the smallest groups"))
BETWEEN = " / "
"""Stands between the names of a group and those that it is in."""
TOTAL = "total"
MOST_LEAVES = 400
Tree = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Nested(Simple):
    """How many, for groups, for groups of groups, and for all."""

    slug = "nested"
    title = "Groups that add up"
    summary = "Counts of groups, and of smaller groups within them. The parts add up to their whole, at every level."
    mechanism = "noise on the counts of every level, then the nearest counts that add up (Hierarchy)"

    levels: tuple[StatedColumn, ...]
    weights: str = "levels"
    tree: Tree = ()
    """Which groups of the second level are in which of the first; all combinations, if it is empty."""

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Two or three columns with keys, from the largest groups down."""
        usable = grouping.usable(statement)
        offered = forms.choices(usable) if len(usable) > 1 else ()
        first, second = (offered[0][0], offered[1][0]) if offered else ("", "")
        within = (
            "Such as Coast: Seaham, Portwick; Hills: Highfold. If empty: all combinations. You state this list; it is "
            "never read from the table."
        )
        return (
            Field("first", "Large groups", offered, first, hint="Columns with keys."),
            Field("second", "In each of them", offered, second),
            Field("third", "And in each of those", (("", "nothing more"), *offered), ""),
            Field("weights", "Budget", WEIGHTS, "levels", titled=False),
            Field("tree", "Small groups in large ones", value=_known(usable), kind="text", hint=within, titled=False),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        usable = grouping.usable(statement)
        names = [name for name in ("first", "second", "third") if name != "third" or forms.text(form, name)]
        levels = tuple(forms.column(form, name, usable, grouping.NEED) for name in names)
        for place, name in enumerate(names):
            if levels[place] in levels[:place]:
                chosen = levels[place].name
                why = f"“{chosen}” is chosen for two levels"
                raise forms.Refused(name, chosen, why, "Choose another column for one of them.")
        tree = _read(forms.text(form, "tree"), levels)
        count = sum(len(inner) for _, inner in tree) if tree else 1
        for column in levels[2:] if tree else levels:
            count *= len(grouping.values(column))
        if count > MOST_LEAVES:
            why = f"there would be {count:,} smallest groups, which are too many to show"
            raise InvalidParameter(
                "second", levels[1].name, why, f"Choose columns with at most {MOST_LEAVES} combinations."
            )
        return cls(levels, forms.choice(form, "weights", [name for name, _ in WEIGHTS]), tree)

    def query(self, table: PrivateTable) -> Query:
        """Counts of every level."""
        return table.hierarchy(self._names, lw.count(), weights=self.weights, tree=self._tree())

    @property
    def _names(self) -> list[str]:
        """The columns as the curator reads them: in quotes only where they need some."""
        return [forms.named(column.name) for column in self.levels]

    def _tree(self) -> Any:
        """The groups that there are, with the values of their columns; None for all combinations."""
        if not self.tree:
            return None
        outer, inner = (dict(zip(_texts(column), grouping.values(column), strict=True)) for column in self.levels[:2])
        rest = [grouping.values(column) for column in self.levels[2:]]
        below = {outer[name]: [inner[word] for word in words] for name, words in self.tree}
        if not rest:
            return below
        return {name: {word: list(rest[0]) for word in words} for name, words in below.items()}

    def asking(self) -> str:
        """As Python."""
        tree = f", tree={self._tree()!r}" if self.tree else ""
        return f"table.hierarchy({self._names!r}, lw.count(), weights={self.weights!r}{tree})"

    def result(self, answer: Any) -> Result:
        """A tree: each number with the names that lead to it, and how deep it stands."""
        keys = [column for column in answer.columns if column.is_key][-len(self.levels) :]  # the level stands before
        flat = Simple.result(self, answer)
        [series] = flat.series
        values = []
        for place, value in enumerate(series.values):
            path = [shown(key.values[place]) for key in keys if key.values[place] is not None]
            values.append(replace(value, label=BETWEEN.join(path) or TOTAL, x=float(len(path))))
        names = BETWEEN.join(column.name for column in self.levels)
        return replace(flat, shape="tree", series=(replace(series, values=tuple(values)),), x_label=names)

    def plain(self, source: Rows, result: Result) -> tuple[Series, ...]:
        """The same over all rows: every row counts in its group and in all that it is within."""
        columns = ", ".join(forms.quoted(column.name) for column in self.levels)
        known = " AND ".join(
            f"{forms.quoted(column.name)} IN ({', '.join(map(literal, grouping.values(column)))})"
            for column in self.levels
        )
        labels = {value.label for value in result.series[0].values}
        counts: Counter[str] = Counter()
        for *path, count in source.all(f"SELECT {columns}, count(*) FROM rows WHERE {known} GROUP BY ALL"):
            names = [shown(value) for value in path]
            if BETWEEN.join(names) in labels:
                for depth in range(len(names) + 1):
                    counts[BETWEEN.join(names[:depth]) or TOTAL] += count
        [series] = result.series
        values = tuple(Value(value.label, float(counts[value.label]), x=value.x) for value in series.values)
        return (replace(series, values=values, note=""),)


def shown(value: Any) -> str:
    """A key as people read it."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _texts(column: StatedColumn) -> list[str]:
    return [shown(value) for value in grouping.values(column)]


def _read(text: str, levels: tuple[StatedColumn, ...]) -> Tree:
    """Which groups are in which: `Coast: Seaham, Portwick; Hills: Highfold`."""
    if not text:
        return ()
    outer, inner = (_texts(column) for column in levels[:2])
    below: dict[str, tuple[str, ...]] = {}
    hint = f"Write it like {outer[0]}: {', '.join(inner[:2])}; …"
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, _, rest = (piece.strip() for piece in part.partition(":"))
        words = tuple(filter(None, (word.strip() for word in rest.split(","))))
        if name not in outer or name in below:
            why = f"“{name}” is not a key of {levels[0].name}, or stands there twice"
            raise InvalidParameter("tree", text, why, hint)
        if not words or not set(words) <= set(inner):
            wrong = next((word for word in words if word not in inner), "")
            key = f"key of {levels[1].name}"
            why = f"“{wrong}” is not a {key}" if wrong else f"{name} has no {key}"
            raise InvalidParameter("tree", text, why, hint)
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise forms.Refused("tree", text, f"“{twice}” is listed twice in {name}", "Leave one of them out.")
        below[name] = words
    return tuple(below.items())


def _known(usable: tuple[StatedColumn, ...]) -> str:
    """Where our own helpline has its towns: what anybody may know about that table."""
    keys = {column.name: column.keys for column in usable[:2]}
    if keys != {"region": tuple(PLACES), "town": tuple(town for towns in PLACES.values() for town in towns)}:
        return ""
    return "; ".join(f"{region}: {', '.join(towns)}" for region, towns in PLACES.items())
