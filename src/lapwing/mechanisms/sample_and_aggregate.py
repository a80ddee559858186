"""Sample and aggregate (Nissim, Raskhodnikova and Smith 2007; GUPT 2012): make any function of the data private.

The units are dealt into blocks, the function sees one block at a time, and its outputs, clamped to public bounds, are
averaged or their median is taken, privately. One unit is in one block, so it can change one output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.grid import from_steps, is_array
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.quantile import Quantile
from lapwing.mechanisms.records import column_values
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable, laplace_half_width, laplace_variance
from lapwing.noise import SYSTEM, Entropy, discrete_laplace, permutation, uniform_below
from lapwing.privacy import PureDP

AGGREGATES = ("mean", "median")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAndAggregate(Solvable, Mechanism):
    """The private mean (or median) of what `function` says about each of `blocks` disjoint random parts of the data.

    Time, memory and what the function prints are not protected.

    Privacy: pure ε.
    Accuracy: of the noise around the mean of the blocks' outputs, or in ranks among them for the median; how far
    those are from the function of all data is the function's affair.
    Proof: sample_and_aggregate.md

    Args:
        function: The answer for one block, which is a list or an array like the data and may be empty. It must depend
            on its block alone: no state between calls. An exception, or an output that is not a finite number, counts
            as the middle of the bounds, silently.
        bounds: The smallest and the largest output, as public knowledge. Outputs are clamped to them.
        blocks: How many parts there are. More of them mean less noise, and fewer units in each.
        aggregate: "mean" or "median" of the outputs.
        granularity: Outputs are rounded to multiples of this. None for 1 between whole bounds at least 100 apart, else
            for a power of two with one to four thousand steps between the bounds.

    Raises:
        InvalidParameter: If function cannot be called, if blocks is not a whole number from 1 on, if aggregate is
            neither "mean" nor "median", if bounds are not a pair (low, high) with low below high, or if epsilon is not
            positive.

    >>> spread = SampleAndAggregate(epsilon=1, function=lambda ages: max(ages) - min(ages), bounds=(0, 120), blocks=10)
    >>> 0 <= spread.release(list(range(20, 90))) <= 120
    True
    """

    epsilon: Number
    function: Callable[[Any], object]
    bounds: tuple[Number, Number]
    blocks: int
    aggregate: Literal["mean", "median"] = "mean"
    granularity: Number | None = None
    _ladder: Ladder = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)
    _median: Quantile = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if not callable(self.function):
            raise InvalidParameter("function", self.function, "must be callable", "Write function=statistics.fmean.")
        checks.whole(blocks=self.blocks)
        checks.one_of(AGGREGATES, aggregate=self.aggregate)
        ladder = Ladder(self.bounds, self.granularity)
        scale = drawable(ladder.width / checks.positive(epsilon=self.epsilon), granularity=self.granularity)
        # A unit replaces one output by another, under both relations.
        median = Quantile(
            epsilon=self.epsilon, bounds=self.bounds, granularity=self.granularity, relation="replace", unit=self.unit
        )
        self._set(bounds=tuple(self.bounds), _ladder=ladder, _scale=scale, _median=median)

    def privacy_loss(self) -> PureDP:
        """Pure ε, because one unit changes one output, by at most the whole range.

        >>> print(SampleAndAggregate(epsilon=1, function=len, bounds=(0, 50), blocks=10).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        epsilon = self._ladder.width / self._scale if self.aggregate == "mean" else self._median.privacy_loss().epsilon
        return PureDP(epsilon, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> int | float:
        """The private mean or median of the outputs.

        Args:
            data: A list or an array with one entry (row) for each unit.

        Returns:
            A number within the bounds.

        Raises:
            InvalidParameter: If data is not a list or an array.
        """
        outputs = [self._output(block) for block in self._deal(data, entropy)]
        if self.aggregate == "median":
            return self._median.release([output * self._ladder.granularity for output in outputs], entropy)
        noisy = sum(outputs) + discrete_laplace(self._scale, entropy=entropy)
        ends = self.blocks * self._ladder.low, self.blocks * self._ladder.high
        return from_steps(min(max(noisy, ends[0]), ends[1]), self._ladder.granularity / self.blocks)

    def _deal(self, data: Any, entropy: Entropy) -> list[Any]:
        """The blocks. Under add_remove each unit draws its own; under replace a random order is cut evenly."""
        if not is_array(data):
            raise InvalidParameter(
                "data", f"<{type(data).__name__}>", "is not a list or an array of units", "Pass one entry per unit."
            )
        units = _units(data)
        if hasattr(units, "__array__"):
            import numpy as np

            many = len(units)
            drawn = (
                permutation(many, entropy) % self.blocks if self._evenly else uniform_below(self.blocks, many, entropy)
            )
            ends = np.cumsum(np.bincount(drawn, minlength=self.blocks))[:-1]
            return [units[block] for block in np.split(np.argsort(drawn, kind="stable"), ends)]
        blocks: list[list[Any]] = [[] for _ in range(self.blocks)]
        for unit, place in zip(units, self._places(len(units), entropy), strict=True):
            blocks[place].append(unit)
        return blocks

    @property
    def _evenly(self) -> bool:
        return self.relation == "replace"

    def _places(self, count: int, entropy: Entropy) -> list[int]:
        if not self._evenly:
            return [uniform_below(self.blocks, entropy=entropy) for _ in range(count)]
        places = [unit % self.blocks for unit in range(count)]
        for last in range(count - 1, 0, -1):  # Fisher–Yates
            other = uniform_below(last + 1, entropy=entropy)
            places[last], places[other] = places[other], places[last]
        return places

    def _output(self, block: Any) -> int:
        try:
            steps = self._ladder.steps(self.function(block))
        except KeyboardInterrupt:
            raise
        except BaseException:  # also what is meant to end a process, a generator or a task
            steps = None
        return (self._ladder.low + self._ladder.high) // 2 if steps is None else steps

    def accuracy(self, confidence: float = 0.95) -> float:
        """The half-width of the noise around the mean of the outputs; for the median, in ranks among the outputs.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> SampleAndAggregate(epsilon=1, function=len, bounds=(0, 50), blocks=100).accuracy() < 1.5
        True
        """
        if self.aggregate == "median":
            return self._median.accuracy(confidence)
        failure = 1 - checks.probability(confidence=confidence)
        return float_up(laplace_half_width(self._scale, failure) * self._ladder.granularity / self.blocks)

    @property
    def variance(self) -> float:
        """The variance of the noise around the mean of the outputs, before clamping; NaN for the median."""
        if self.aggregate == "median":
            return math.nan
        return laplace_variance(self._scale, self._ladder.granularity / self.blocks)


def _units(data: Any) -> Any:
    """The units as a list, or as an array if its type is declared: one found from the values would tell about a unit.

    Numpy makes doubles of a column of whole numbers in which one is missing, and every block would show it.
    """
    if not hasattr(data, "__array__"):
        return data
    import numpy as np

    if getattr(data, "ndim", 1) == 1 and not isinstance(getattr(data, "dtype", None), np.dtype):
        return column_values(data)
    types = [data.dtype] if hasattr(data, "dtype") else getattr(data, "dtypes", [None])
    if not all(isinstance(kind, np.dtype) for kind in types):
        why = "numpy does not know the types of its columns, and would choose one by the values"
        raise InvalidParameter("data", f"<{type(data).__name__}>", why, "Pass a list of rows, or an array.")
    if isinstance(data, np.ma.MaskedArray):
        return np.ma.array(data, mask=np.ma.getmaskarray(data))  # a mask in every block, whether one is needed or not
    return np.asarray(data)
