"""Bounds for a column whose range is not known: proposed from a private histogram on a public ladder, for a price.

Privacy: add_remove of one unit. The ladder is fixed beforehand. The histogram is released like any other, and what is
read off it is post-processing. Proof: curator.md
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import histogram
from lapwing.curator.ask.quote import SEEDED
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.curator.show.answer import Answer
    from lapwing.curator.tables.table import PrivateTable
    from lapwing.privacy import Loss

SMALLEST, LARGEST = -6, 15
"""Powers of ten between which the ladder has rungs."""


def ladder(*, whole: bool) -> list[float]:
    """…, −5, −2, −1, …, 0, …, 1, 2, 5, 10, …: public, and the same for every column of a kind."""
    powers = range(0 if whole else SMALLEST, LARGEST)
    rungs = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [*(-rung for rung in reversed(rungs)), 0.0, *rungs]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Bounds between which most values lie, as far as the noise lets one tell. `low, high = proposal`.

    Attributes:
        column: The column.
        low: The lower bound; None if no range of the ladder has clearly more rows than the noise.

    >>> low, high = patients.bounds("age", epsilon=1)
    >>> low < 50 < high
    True
    """

    column: str
    low: float | None
    high: float | None
    """None if no range of the ladder has clearly more rows than the noise."""
    counts: Answer
    """The private histogram that the bounds were read from; it is paid for, so use it."""

    @property
    def loss(self) -> Loss:
        """What it cost."""
        return self.counts.loss

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends, or an error if there are none."""
        if self.low is None or self.high is None:
            why = f"no range of {self.column} has clearly more rows than the noise"
            hint = "Spend more, allow more rows per unit, or state bounds that you know."
            raise InvalidParameter("bounds", self.column, why, hint)
        return self.low, self.high

    def __iter__(self) -> Iterator[float]:
        return iter(self.bounds)

    def __str__(self) -> str:
        seeded = f". {SEEDED}" if self.counts.provenance.get("seeded") else ""
        if self.low is None or self.high is None:
            return f"{self.column}: no range has clearly more rows than the noise (cost {self.loss}){seeded}"
        return (
            f"{self.column}: {self.low:g} to {self.high:g} (cost {self.loss}). "
            f"Rare values outside will count as the nearest bound{seeded}."
        )


@helpful
def bounds(
    table: PrivateTable,
    column: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    confidence: Number = 0.95,
    **options: Any,
) -> Proposal:
    """Propose bounds for a numeric column, for a price: `low, high = lw.bounds(visits, "cost", epsilon=0.1)`.

    Rows are counted between the rungs 0, 1, 2, 5, 10, … of a public ladder, with noise. The proposal reaches over all
    ranges that have more rows than noise alone would show.

    Accuracy: a range with only a few rows, about as many as the noise, is missed: outliers do not widen the bounds.

    Args:
        table: The private table.
        column: A column of numbers.
        epsilon: What to spend, as ε.
        delta: With `epsilon`, allows Gaussian noise.
        rho: What to spend instead, in zero-concentrated differential privacy.
        confidence: The probability that no range is taken because of noise alone, for all ranges together.
        options: Further options of `Query.release`: `analyst=`, `key=`, `entropy=`.

    Returns:
        The bounds, and the private histogram that they were read from.

    Raises:
        InvalidParameter: If it is not a column of numbers.

    >>> low, high = lw.bounds(patients, "age", epsilon=1)
    >>> low < 50 < high
    True
    """
    table.context.releaser.refuse_step("bounds")
    sure = checks.probability(confidence=confidence)
    kind = table.columns.get(column)
    if kind not in ("integer", "number"):
        hint = "Name a column of numbers; in a CSV declare it: types={'cost': 'number'}."
        raise InvalidParameter("column", column, "is not a column of numbers" if kind else "is not in the table", hint)
    edges = ladder(whole=kind == "integer")
    each = 1 - (1 - sure) / (len(edges) - 1)
    query = table.agg(histogram(column, edges=edges))
    answer = query.release(epsilon=epsilon, delta=delta, rho=rho, confidence=each, **options)
    counted = answer.columns[-1]
    seen = [place for place, span in enumerate(counted.noise or ()) if span is not None and span[0] > 0]
    low, high = (edges[seen[0]], edges[seen[-1] + 1]) if seen else (None, None)
    return Proposal(column, low, high, answer)
