"""The integers that an engine returns for each group, how far one unit can move them, and quantiles to pick."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Literal

from lapwing import checks
from lapwing.curator.plan.expressions import Expression
from lapwing.curator.plan.grids import GridExpression
from lapwing.errors import InvalidParameter

LARGEST = (1 << 31) - 1
"""Limits are at most that, so that the arithmetic of `sample` cannot overflow."""


@dataclass(frozen=True, slots=True)
class Bounding:
    """How much of one unit is kept: some groups with some rows in each, or some rows in all.

    Which groups and rows count is a fair draw that depends on the unit's own rows alone (curator.md, point 2).
    """

    max_groups_per_unit: int = 1
    max_rows_per_group: int = 1
    max_rows_per_unit: int | None = None
    public_groups: int | None = None
    """How many groups there are, where that is public: no unit is in more."""

    def __post_init__(self) -> None:
        _at_most("max_groups_per_unit", checks.whole(max_groups_per_unit=self.max_groups_per_unit))
        _at_most("max_rows_per_group", checks.whole(max_rows_per_group=self.max_rows_per_group))
        if self.max_rows_per_unit is not None:
            _at_most("max_rows_per_unit", checks.whole(max_rows_per_unit=self.max_rows_per_unit))
            if (self.max_groups_per_unit, self.max_rows_per_group) != (1, 1):
                why = "already limits all rows of a unit, in all groups together"
                hint = "Leave out max_groups_per_unit and max_rows_per_group, or this one."
                raise InvalidParameter("max_rows_per_unit", self.max_rows_per_unit, why, hint)

    @property
    def touched(self) -> int:
        """How many groups one unit can change."""
        if self.max_rows_per_unit is None:
            return self.max_groups_per_unit
        return min(self.max_rows_per_unit, self.public_groups or self.max_rows_per_unit)

    @property
    def rows(self) -> int:
        """How many rows of one unit a group can have."""
        return self.max_rows_per_unit or self.max_rows_per_group

    def without_groups(self) -> Bounding:
        """The same where everything is one group."""
        if self.max_rows_per_unit is not None:
            return Bounding(1, self.max_rows_per_unit)
        return Bounding(1, self.max_rows_per_group)

    def by_rows(self) -> Bounding:
        """The same, drawn fairly where it can be: one row in one group is one row in all, whatever its group.

        The noise is the same. A group drawn first would give a rare group as much weight as a usual one.
        """
        if self.max_rows_per_unit is None and self.max_groups_per_unit == self.max_rows_per_group == 1:
            return replace(self, max_rows_per_unit=1)
        return self

    def among(self, groups: int) -> Bounding:
        """The same among this many public groups: what no unit can have is not paid for with noise."""
        return replace(self, max_groups_per_unit=min(self.max_groups_per_unit, groups), public_groups=groups)

    def explain(self, unit: str, *, grouped: bool) -> str:
        """In words."""
        if self.max_rows_per_unit is not None:
            return f"contribution bound: at most {_several(self.max_rows_per_unit, 'row')} per {unit}"
        rows = _several(self.max_rows_per_group, "row")
        if not grouped:
            return f"contribution bound: at most {rows} per {unit}"
        groups = _several(self.max_groups_per_unit, "group")
        return f"contribution bound: at most {groups} per {unit}, and {rows} in each"

    def counted(self, unit: str, *, grouped: bool) -> str:
        """In a few words, which rows an answer is about: "one per patient"."""
        rows = f"up to {self.rows}" if self.rows > 1 else "one"
        if not grouped or self.max_groups_per_unit == 1:
            return f"{rows} per {unit}"
        return f"{rows} per {unit} and group, in up to {self.max_groups_per_unit} groups"

    def sampling_note(self, unit: str, *, grouped: bool) -> str:
        """What to say beside an interval where rows of a unit may be left out."""
        more = "rows or groups" if grouped and self.max_rows_per_unit is None else "rows"
        return (
            f"if one {unit} has more {more}, a random sample of them is used; "
            "the intervals do not include the error from leaving out the rest"
        )


def _at_most(name: str, value: int) -> None:
    if value > LARGEST:
        raise InvalidParameter(name, value, f"is more than {LARGEST:,}", "Write a limit that fits most of your units.")


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One whole number per group, changed by at most `row_size` by one row.

    - `rows`: the rows of the group
    - `units`: the units with a row in the group
    - `distinct`: the different values of an expression
    - `sum`: Σ v, in steps
    - `moment`: Σ Π (v_i − middle_i)^power_i over rows in which no v_i is NULL; all powers 0 count such rows
    """

    kind: Literal["rows", "units", "distinct", "sum", "moment"]
    arguments: tuple[GridExpression, ...] = ()
    powers: tuple[int, ...] = ()
    of: Expression | None = None

    @property
    def row_size(self) -> int:
        """How far one row can move it."""
        if self.kind == "sum":
            return max(1, *(abs(step) for step in self.arguments[0].steps))
        return prod(value.reach**power for value, power in zip(self.arguments, self.powers, strict=True)) or 1

    def sensitivity(self, bounding: Bounding) -> tuple[int, int]:
        """How far one unit can move the numbers of all groups together: l1, and the square of l2."""
        if self.kind == "units":
            return bounding.touched, bounding.touched
        if bounding.max_rows_per_unit is not None:
            most = bounding.max_rows_per_unit * self.row_size
            return most, most**2
        most = bounding.max_rows_per_group * self.row_size
        return bounding.max_groups_per_unit * most, bounding.max_groups_per_unit * most**2

    @property
    def contribution(self) -> tuple[int, int]:
        """The least and the greatest that one row can add to its group; 0, for a row that does not count, is between.

        Of `distinct` it is what a row adds to the rows that are there.
        """
        low, high = 1, 1
        if self.kind == "sum":
            low, high = self.arguments[0].steps
        for value, power in zip(self.arguments, self.powers, strict=False):
            ends = [end * factor for end in (low, high) for factor in _power(value, power)]
            low, high = min(ends), max(ends)
        return min(low, 0), max(high, 0)

    def replaced(self, bounding: Bounding, *, grouped: bool) -> int:
        """How far the numbers of all groups together move, in l1, if one unit has other rows: the relation `replace`.

        `grouped` says whether there are several groups. A row may leave one group and enter another, and then at most
        two groups change, each by at most a row. In one group it may only count, not count, or count otherwise.
        Proof: curator.md, point 4
        """
        alone = bounding.touched == 1 and (bounding.rows == 1 or self.kind == "units")
        if alone and (not grouped or bounding.public_groups == 1):
            low, high = self.contribution
            return max(1, high - low)
        return 2 * self.sensitivity(bounding)[0]

    def __str__(self) -> str:
        if self.kind in ("rows", "units"):
            return self.kind
        if self.kind == "distinct":
            return f"distinct {self.of}"
        names = [str(value) for value in self.arguments]
        if self.kind == "sum":
            return f"sum of {names[0]}"
        if not any(self.powers):
            return f"rows with a value of {' and '.join(names)}"
        factors = (f"{name}²" if power == 2 else name for name, power in zip(names, self.powers, strict=True) if power)
        return f"sum of {' × '.join(factors)}"


def _power(value: GridExpression, power: int) -> tuple[int, int]:
    """The ends of (v − middle)^power; the middle lies between the bounds, so 0 is between the ends of v − middle."""
    low, high = (step - value.middle for step in value.steps)
    if power % 2:
        return low**power, high**power
    return (0, max(-low, high) ** power) if power else (1, 1)


@dataclass(frozen=True, slots=True)
class Pick:
    """One step of a grid per group, chosen by how many values lie below it."""

    label: str
    output: str
    """What it is for: two outputs are two picks."""
    grid: GridExpression
    share: Fraction
    """Of the values, how many lie below it."""
