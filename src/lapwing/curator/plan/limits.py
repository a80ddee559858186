"""What a limit on one unit's rows costs: lost rows if it is low, noise if it is high. Only for the owner."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
MOST_LIMITS = 24
LONGEST_EXAMPLE = 40
"""Characters of a cell that could not be read."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many units have how many rows (or groups)."""

    counts: Mapping[int, int]

    @property
    def units(self) -> int:
        """All units."""
        return sum(self.counts.values())

    @property
    def total(self) -> int:
        """All rows."""
        return sum(n * units for n, units in self.counts.items())

    @property
    def largest(self) -> int:
        """Of the unit that has most."""
        return max(self.counts, default=0)

    def kept(self, limit: int) -> int:
        """The rows that are left if no unit has more than so many."""
        return sum(min(n, limit) * units for n, units in self.counts.items())

    def whole(self, limit: int) -> int:
        """The units that lose nothing."""
        return sum(units for n, units in self.counts.items() if n <= limit)

    def quantile(self, share: float) -> int:
        """So many rows or fewer has this share of the units."""
        seen, wanted = 0, share * self.units
        for n in sorted(self.counts):
            seen += self.counts[n]
            if seen >= wanted:
                return n
        return self.largest


@dataclass(frozen=True, slots=True)
class Means:
    """Of one column, for each number of values that a unit has: units, Σ of their means, Σ of their variances."""

    column: str
    parts: tuple[tuple[int, int, float, float], ...]

    def over_all(self) -> float | None:
        """The mean of all values."""
        total = sum(n * units for n, units, _, _ in self.parts)
        return sum(n * mean for n, _, mean, _ in self.parts) / total if total else None

    def over_kept(self, limit: int) -> tuple[float, float] | None:
        """The mean to expect where a fair sample of so many rows of each unit counts, and how far one sample is off.

        A unit weighs as many rows as it keeps. The second number is two standard errors of simple random samples.
        """
        kept = sum(min(n, limit) * units for n, units, _, _ in self.parts)
        if not kept:
            return None
        mean = sum(min(n, limit) * mean for n, _, mean, _ in self.parts) / kept
        variance = sum(min(n, limit) * (1 - min(n, limit) / n) * spread for n, _, _, spread in self.parts)
        return mean, 2 * math.sqrt(variance) / kept


@dataclass(frozen=True, slots=True)
class Limit:
    """One choice of a limit and what it does."""

    limit: int
    kept: int
    whole: int
    """Units that lose nothing."""
    noise: float
    """How far Laplace noise moves a count, with 95 % confidence."""
    error: float
    """Lost rows and noise together, in one group."""
    means: Mapping[str, tuple[float, float]]
    """The mean of a column to expect over the kept rows, and two standard errors of which rows are kept."""


def trade_off(
    frequencies: Frequencies, epsilon: float, *, groups: int = 1, means: Sequence[Means] = ()
) -> tuple[tuple[Limit, ...], int]:
    """Some limits, and the one with the smallest error of a count: lost rows, and noise, which grows with the limit."""
    width = math.log(1 / (1 - CONFIDENCE)) / epsilon
    limits = []
    for limit in _ladder(frequencies.largest):
        kept, noise = frequencies.kept(limit), limit * width
        at = {mean.column: result for mean in means if (result := mean.over_kept(limit)) is not None}
        limits.append(
            Limit(limit, kept, frequencies.whole(limit), noise, (frequencies.total - kept) / groups + noise, at)
        )
    best = min(limits, key=lambda candidate: candidate.error).limit if limits else 1
    return tuple(limits), best


def _ladder(largest: int) -> Iterable[int]:
    """1, 2, 5, 10, … and the largest."""
    steps = [digit * 10**power for power in range(MOST_LIMITS // 3) for digit in (1, 2, 5)]
    return [*(step for step in steps if step < largest), *([largest] if largest else [])]


def percent(part: int, total: int) -> str:
    """As a share that never rounds to all or nothing where it is neither."""
    if part in (0, total) or not total:
        return f"{100 if part and total else 0} %"
    share = min(max(100 * part / total, 0.01), 99.99)
    return f"{share:.2f} %" if share < 1 or share > 99 else f"{math.floor(share * 10) / 10:g} %"
