"""A table as an attacker reads it: in which class somebody must be, and what the people of that class have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.anonymity.table import classes_of, columns_of, encoded, named, rows_of
from lapwing.errors import InvalidParameter

Targets = Mapping[str, Mapping[str, Any]]
"""Whom the attacker is after, by name, and which quasi-identifiers of them the attacker knows."""
_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_BETWEEN = re.compile(rf"([\[(]?){_NUMBER}(?:-|–|,|\.\.|to){_NUMBER}([\])]?)")
_BEYOND = re.compile(rf"(<=|>=|<|>|≤|≥){_NUMBER}")


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """The classes of a published table, and how often each sensitive value occurs in each of them."""

    classes: tuple[dict[str, Any], ...]
    """What is published of the quasi-identifiers, for each class."""
    counts: NDArray[np.intp]
    """One row per class, one column per kind."""
    kinds: list[Any]

    @classmethod
    def of(cls, table: Any, quasi_identifiers: Sequence[str], sensitive: str) -> Publication:
        """Read a table."""
        columns = columns_of(table)
        names = named(columns, quasi_identifiers=quasi_identifiers)
        named(columns, sensitive=sensitive)
        if not rows_of(columns):
            raise InvalidParameter("table", 0, "has no rows", "Pass a table with at least one row.")
        classes = classes_of(columns, names)
        codes, kinds = encoded(columns[sensitive])
        first = np.unique(classes.member, return_index=True)[1]
        shown = tuple({name: columns[name][row] for name in names} for row in first.tolist())
        return cls(shown, classes.counts(codes, len(kinds)), kinds)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Of each kind in the whole table."""
        shares: NDArray[np.float64] = self.counts.sum(axis=0) / self.counts.sum()
        return shares

    def suspects(self, targets: Targets | None) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """Everybody asked about, with the counts of the rows that may be theirs; everybody in a class if none is named.

        Whoever is in no class is not in the table, and nothing is said about them.
        """
        if targets is None:
            for shown, counts in zip(self.classes, self.counts, strict=True):
                yield ", ".join(f"{name} {value}" for name, value in shown.items()), counts
            return
        checks.of_kind(Mapping, "must say what is known by name", "Write {'Ann': {'zip': '13053'}}.", targets=targets)
        for person, known in targets.items():
            counts = self.rows_of(known)
            if counts.any():
                yield person, counts

    def rows_of(self, known: Mapping[str, Any]) -> NDArray[np.intp]:
        """How often each kind occurs in the rows that fit what is known about somebody."""
        checks.of_kind(Mapping, "must say what is known by column", "Write {'Ann': {'zip': '13053'}}.", targets=known)
        if unknown := [name for name in known if name not in self.classes[0]]:
            names = ", ".join(self.classes[0])
            raise InvalidParameter("targets", unknown[0], "is not a quasi-identifier", f"Those are {names}.")
        fits = [all(covers(shown[name], known[name]) for name in shown if name in known) for shown in self.classes]
        counts: NDArray[np.intp] = self.counts[np.array(fits)].sum(axis=0)
        return counts


def covers(published: Any, known: Any) -> bool:
    """Whether a published value may be that of somebody whose true value is known; or one of several names for it.

    >>> covers("40-50", 47), covers("0213*", "02138"), covers(">= 70", 69), covers("{flu, cold}", "cold")
    (True, True, False, True)
    >>> covers("employed", {"nurse", "employed"})
    True
    """
    if isinstance(known, (set, frozenset)):
        return any(covers(published, name) for name in known)
    text, value = str(published).strip(), str(known)
    if published is None or published == known or text in ("*", value):
        return True
    if text.startswith("{") and text.endswith("}"):
        return value in (part.strip() for part in text[1:-1].split(","))
    if text.endswith("*"):
        return value.startswith(text.rstrip("*"))
    if " to " in text and isinstance(known, date):
        first, last = text.split(" to ")
        return first <= value <= last  # as they are written, year first
    try:
        return _in_range(text, float(known))
    except (TypeError, ValueError):
        return False


def _in_range(text: str, number: float) -> bool:
    if between := _BETWEEN.fullmatch(text):
        left, low, high, right = between.groups()
        above = number > float(low) if left == "(" else number >= float(low)
        return above and (number < float(high) if right == ")" else number <= float(high))
    if beyond := _BEYOND.fullmatch(text):
        sign, limit = beyond[1], float(beyond[2])
        return (number == limit and sign not in "<>") or (number > limit if sign[0] in ">≥" else number < limit)
    return False
