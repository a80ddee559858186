"""A table after generalisation: what is published, who was left out, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lapwing.anonymity.ladders import Floats, Integers, Texts
from lapwing.anonymity.losses import Losses, losses
from lapwing.anonymity.table import Classes, Column, Columns, columns_of, encoded, named, rows_of
from lapwing.errors import InvalidParameter, MissingExtra

SHOWN = 8
"""So many rows are printed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GeneralisedTable:
    """The rows that are published, in their original order, with labels in place of the quasi-identifiers.

    Columns that are not quasi-identifiers are unchanged. k-anonymity says nothing about them.

    Attributes:
        columns: The published columns by name.
        quasi_identifiers: The names of the columns that were generalised.
        losses: How much was lost, by three measures.

    >>> from lapwing.anonymity import Mondrian
    >>> table = Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [47, 41, 78, 71]})
    >>> table.to_dict()["age"], table.suppressed.tolist()
    (['41–47', '41–47', '71–78', '71–78'], [])
    """

    columns: Columns
    quasi_identifiers: tuple[str, ...]
    rows: Integers
    """Which rows of the original table these are."""
    suppressed: Integers
    """Which rows were left out."""
    classes: Classes
    """The classes of the published rows."""
    losses: Losses
    levels: Mapping[str, int] = field(default_factory=dict)
    """How high every column was generalised, if all its values were generalised alike."""
    minimal: tuple[Mapping[str, int], ...] = ()
    """All ways of generalising that would do and from which no column can be taken a step down."""

    @property
    def k(self) -> int:
        """The size of the smallest class, which may be larger than what was asked for."""
        return self.classes.smallest

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists by name.

        Returns:
            A new dictionary: changing it leaves this table as it is.
        """
        return {
            name: values.tolist() if isinstance(values, np.ndarray) else list(values)
            for name, values in self.columns.items()
        }

    def to_pandas(self) -> Any:
        """A data frame of pandas. Its index says which rows of the original table these are.

        Returns:
            A `pandas.DataFrame` with one row for each published row.

        Raises:
            MissingExtra: If pandas is not installed.

        >>> from lapwing.anonymity import Mondrian
        >>> table = Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [47, 41, 78, 71]})
        >>> list(table.to_pandas()["age"])
        ['41–47', '41–47', '71–78', '71–78']
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as missing:
            raise MissingExtra("pandas", "pandas") from missing
        return pandas.DataFrame(self.columns, index=self.rows)

    def __str__(self) -> str:
        head = (
            f"{len(self.rows):,} rows in {len(self.classes):,} classes of at least {self.k}"
            f", {len(self.suppressed):,} suppressed; {self.losses}"
        )
        lines = [list(self.columns), *zip(*(values[:SHOWN] for values in self.columns.values()), strict=True)]
        texts = [[str(value) for value in line] for line in lines]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in texts]
        more = [f"… and {len(self.rows) - SHOWN:,} more"] * (len(self.rows) > SHOWN)
        return "\n".join([head, *table, *more])


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """A table that is about to be generalised, checked."""

    columns: Columns
    names: tuple[str, ...]
    dropped: tuple[str, ...]

    @classmethod
    def of(cls, table: Any, quasi_identifiers: Sequence[str], drop: Sequence[str], k: int) -> Original:
        """Read and check."""
        columns = columns_of(table)
        names = named(columns, quasi_identifiers=list(quasi_identifiers))
        dropped = named(columns, drop=drop)
        if both := set(names) & set(dropped):
            raise InvalidParameter("drop", min(both), "is a quasi-identifier too", "Name it in one place.")
        rows = rows_of(columns)
        if not rows:
            raise InvalidParameter("table", rows, "has no rows", "Pass a table with at least k rows.")
        if k > rows:
            raise InvalidParameter("k", k, f"the table has only {rows} rows", f"Write k={rows} or less.")
        return cls(columns, tuple(names), tuple(dropped))

    def codes(self) -> list[tuple[Integers, list[Any]]]:
        """Every quasi-identifier as codes and kinds."""
        return [encoded(self.columns[name]) for name in self.names]

    def published(
        self, labels: Sequence[Texts], shares: Floats, member: Integers, *, k: int, kept: Integers, **more: Any
    ) -> GeneralisedTable:
        """The result, from the label of each class in each column; `member` is the class of each row that is kept."""
        rows = rows_of(self.columns)
        out = np.ones(rows, bool)
        out[kept] = False
        sizes = np.bincount(member, minlength=len(shares))
        fresh: Columns = {}
        for name, values in self.columns.items():
            if name in self.names:
                fresh[name] = labels[self.names.index(name)][member]
            elif name not in self.dropped:
                fresh[name] = values if len(kept) == rows else _taken(values, kept)
        return GeneralisedTable(
            columns=fresh,
            quasi_identifiers=self.names,
            rows=kept,
            suppressed=np.flatnonzero(out),
            classes=Classes(member, sizes),
            losses=losses(shares, sizes, k=k, suppressed=rows - len(kept)),
            **more,
        )


def _taken(values: Column, rows: Integers) -> Column:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]


def checked_names(quasi_identifiers: object) -> None:
    """Refuse quasi-identifiers that are not names."""
    if isinstance(quasi_identifiers, str) or not isinstance(quasi_identifiers, (Mapping, Sequence)):
        why = "must be names of columns, or a mapping from names to hierarchies"
        raise InvalidParameter("quasi_identifiers", quasi_identifiers, why, "Write ['age', 'zip'].")
    if not quasi_identifiers or len(set(quasi_identifiers)) < len(quasi_identifiers):
        why = "must name at least one column, and each column once"
        raise InvalidParameter("quasi_identifiers", quasi_identifiers, why, "Write ['age', 'zip'].")
    for name, given in quasi_identifiers.items() if isinstance(quasi_identifiers, Mapping) else ():
        if not (given is None or hasattr(given, "ladder") or hasattr(given, "scale")):
            why = "is not a hierarchy"
            raise InvalidParameter("quasi_identifiers", given, why, f"Write {{{name!r}: Ranges((5, 10))}}, or None.")
