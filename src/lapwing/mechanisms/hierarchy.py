"""Noisy numbers for a whole public tree that still add up: every parent is the sum of its children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.additive import ONE_PER_LEAF, vector_steps
from lapwing.mechanisms.consistency import LeastSquares, whole_numbers
from lapwing.mechanisms.gaussian import Gaussian
from lapwing.mechanisms.known_nodes import KnownNodes, if_unknown
from lapwing.mechanisms.laplace import Laplace
from lapwing.mechanisms.level_weights import Workload, given_weights, level_weights
from lapwing.mechanisms.linear_tails import deviations
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.trees import Tree
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Loss, Trust

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_SUM = 1 << 62
"""Sums over leaves are clamped to this, so that none wraps around."""
_HALF = 32
_FALSE_ALARM = Fraction(1, 10**9)
"""The probability that right invariants are said to be contradicted."""


@dataclass(frozen=True, slots=True)
class TreeEstimate:
    """What a hierarchy releases: an array of values for each level, and the least-squares estimates behind them.

    >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
    >>> estimate = towns.release([10, 20, 30, 40, 50])
    >>> len(estimate.levels), len(estimate.leaves), bool(estimate.leaves.sum() == estimate.levels[0][0])
    (3, 5, True)
    """

    tree: Tree
    """The tree that the values belong to."""
    levels: tuple[NDArray[Any], ...]
    """Values that add up: whole numbers, or the estimates themselves."""
    estimates: tuple[NDArray[np.float64], ...]
    """Unbiased, and possibly negative or broken; intervals are around these."""
    contradicted: tuple[tuple[int, int], ...] = ()
    """Invariants, as (level, place), that the noisy numbers contradict. If there are any, no interval holds."""

    @property
    def leaves(self) -> NDArray[Any]:
        """The values of the leaves, from left to right."""
        return self.tree.leaf_values(self.levels)

    def __eq__(self, other: object) -> bool:
        import numpy as np

        if not isinstance(other, TreeEstimate):
            return NotImplemented
        return self.tree == other.tree and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip((*self.levels, *self.estimates), (*other.levels, *other.estimates), strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(level.tobytes() for level in self.levels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy(Mechanism):
    """Noisy sums for every node of a public tree that agree with each other.

    Each level gets noise of its own: discrete Laplace noise for an `epsilon`, discrete Gaussian noise for a `rho`.

    Privacy: the sum over the levels, ε or ρ exactly, because every unit is on every level.
    Proof: hierarchy.md

    Args:
        tree: What belongs to what, as public knowledge.
        epsilon: What one release may cost, as pure ε. Give this or `rho`.
        rho: What one release may cost, as ρ of zero-concentrated privacy. Give this or `epsilon`.
        sensitivity: How far one unit moves the numbers of one level, in l1 for an epsilon and in l2 for a rho. One
            number for all levels, or one for each.
        weights: What will be read, so that it gets the least noise: "levels" (all alike), "leaves", "nodes" or "ranges"
            of leaves. Or a number for each level; a level of weight 0 is not measured, but added up.
        integers: Release whole numbers.
        non_negative: Release no number below 0; only with `integers`.
        invariants: Numbers of nodes that were published exactly, {(level, place): value}. The answer agrees with them,
            and levels of which all nodes are known cost nothing. They must be the exact sums of the data: otherwise
            no interval holds. What they tell about people is **not protected**.

    Raises:
        InvalidCall: If epsilon and rho are both given, or neither.
        InvalidParameter: If tree is not a `Tree`, if epsilon, rho or sensitivity is not positive, if weights do not fit
            the levels, or if invariants contradict each other or leave nothing to release.

    >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
    >>> country, regions, cities = towns.release([10, 20, 30, 40, 50]).levels
    >>> bool(regions.sum() == country[0] and cities[:2].sum() == regions[0])
    True
    >>> print(towns.privacy_loss())
    ε = 1 (add_remove, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"levels": "Write tree=Tree([[3], [2, 2, 1]])."}

    tree: Tree
    epsilon: Number | None = None
    rho: Number | None = None
    sensitivity: Number | Sequence[Number] = 1
    weights: Workload | Sequence[Number] = "levels"
    integers: bool = True
    non_negative: bool = True
    invariants: Mapping[tuple[int, int], int] = field(default_factory=dict, hash=False)
    published: Sequence[str] = ()
    """What the invariants are called, in words; left out, their levels and places."""
    _shares: tuple[Fraction, ...] = field(init=False, repr=False, compare=False)
    _noise: tuple[Laplace | Gaussian | None, ...] = field(init=False, repr=False, compare=False)
    _known: KnownNodes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        checks.of_kind(Tree, "is not a tree", "Write tree=Tree([[3], [2, 2, 1]]).", tree=self.tree)
        checks.true_or_false(integers=self.integers)
        checks.true_or_false(non_negative=self.non_negative)
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidCall("Hierarchy", "say how much to spend, in exactly one way", "Write epsilon=1, or rho=0.5.")
        if self.non_negative and not self.integers:
            self._set(non_negative=False)
        known = KnownNodes.of(self.tree, self.invariants, non_negative=self.non_negative)
        if len(known.levels) == self.tree.levels:
            why = "must leave a number open. Together they say all numbers, so nothing is left to release"
            raise InvalidParameter("invariants", tuple(self.invariants), why, "Leave out those that need noise.")
        sizes = self._sensitivities()
        size = checks.positive(epsilon=self.epsilon) if self.rho is None else checks.positive(rho=self.rho)
        if isinstance(self.weights, str):
            shares = level_weights(self.tree, self.weights, sizes, concentrated=self.rho is not None, free=known.levels)
        else:
            shares = given_weights(self.weights, self.tree, known.levels)
            self._set(weights=tuple(self.weights))
        noise = [self._level_noise(level, sizes[level], size * share) for level, share in enumerate(shares)]
        words = tuple(self.published) or tuple(f"node {place} of level {level}" for (level, place), _ in known.given)
        self._set(_shares=shares, _noise=tuple(noise), _known=known, invariants=dict(known.given), published=words)

    def _sensitivities(self) -> tuple[Fraction, ...]:
        given: Any = self.sensitivity
        if isinstance(given, Sequence) and not isinstance(given, str):
            if len(given) != self.tree.levels:
                why, hint = (
                    f"must be one number, or one for each of the {self.tree.levels} levels",
                    "Write sensitivity=1.",
                )
                raise InvalidParameter("sensitivity", given, why, hint)
            self._set(sensitivity=tuple(given))
            return tuple(checks.positive(sensitivity=size) for size in given)
        return (checks.positive(sensitivity=given),) * self.tree.levels

    def _level_noise(self, level: int, sensitivity: Fraction, size: Fraction) -> Laplace | Gaussian | None:
        """The noise of one level; None if it is not measured."""
        if not size:
            return None
        options: dict[str, Any] = {"on_grid": True, "relation": self.relation, "unit": self.unit}
        if self.rho is None:
            return Laplace(epsilon=size, sensitivity=sensitivity, dimensions=self.tree.sizes[level], **options)
        nodes = max(2, self.tree.sizes[level])  # one number alone would be priced as if it were rounded down
        return Gaussian.for_rho(size, sensitivity=sensitivity, dimensions=nodes, **options)

    def privacy_loss(self) -> Loss:
        """The sum of what the levels lose. It names the invariants, which it does not cover."""
        loss = reduce(add, (loss for loss in self.level_losses() if loss is not None))
        return replace(loss, trust=Trust.except_published(*self.published)) if self.invariants else loss

    def level_losses(self) -> tuple[Loss | None, ...]:
        """What each level loses by itself; None if it is not measured.

        Returns:
            A loss or None for each level, from the root down.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> print(*towns.level_losses(), sep="; ")
        None; ε = 0.576661 (add_remove, per person); ε = 0.42334 (add_remove, per person)
        """
        return tuple(None if noise is None else noise.privacy_loss() for noise in self._noise)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of the loss that each level gets."""
        return self._shares

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> TreeEstimate:
        """Values for every node that add up, from the exact number of each leaf.

        Args:
            data: A whole number for each leaf, from left to right.

        Returns:
            The values and the estimates of all levels.
        """
        return self.consistent(self.measure(data, entropy))

    def measure(self, data: Any, entropy: Entropy = SYSTEM) -> list[NDArray[np.int64]]:
        """The noisy numbers of every level, which do not add up yet. Nothing else is ever read of the data.

        Args:
            data: A whole number for each leaf, from left to right.
            entropy: Source of randomness; the secure one by default.

        Returns:
            An array for each level. What is not measured is 0.

        Raises:
            InvalidParameter: If data does not have one entry for each leaf.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> noisy = towns.measure([10, 20, 30, 40, 50])
        >>> [len(level) for level in noisy], len(towns.consistent(noisy).leaves)
        ([1, 2, 5], 5)
        """
        import numpy as np

        exact = clamped_sums(self.tree, vector_steps(data, Fraction(1), self.tree.leaves, ONE_PER_LEAF))
        noisy = []
        for level, noise in enumerate(self._noise):
            if noise is None:
                noisy.append(np.zeros(self.tree.sizes[level], np.int64))
            elif isinstance(noise, Gaussian) and len(exact[level]) == 1:
                noisy.append(noise.release(np.append(exact[level], 0), entropy)[:1])
            else:
                noisy.append(noise.release(exact[level], entropy))
        return noisy

    def consistent(self, noisy: Sequence[NDArray[Any]]) -> TreeEstimate:
        """The values that add up and are nearest to noisy numbers: post-processing, which costs nothing.

        Args:
            noisy: What `measure` gave. Invariants take the place of the noisy numbers of their nodes.

        Returns:
            The values and the estimates of all levels.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> estimate = towns.consistent(towns.measure([10, 20, 30, 40, 50]))
        >>> bool(estimate.levels[0][0] == estimate.leaves.sum())
        True
        """
        squares = self.least_squares()
        estimates = squares.estimate(self._known.put_into(noisy))
        values: list[Any] = estimates
        if self.integers:
            known = self._known.values if self._known else None
            values = whole_numbers(squares, estimates, non_negative=self.non_negative, known=known)
        return TreeEstimate(self.tree, tuple(values), tuple(estimates), self._contradicted(noisy))

    def _contradicted(self, noisy: Sequence[NDArray[Any]]) -> tuple[tuple[int, int], ...]:
        """The invariants that are farther from what the noisy numbers say of their nodes than noise would explain."""
        given = self._known.given
        if not given:
            return ()
        squares = LeastSquares(self.tree, if_unknown(self.tree, self.level_variances()))
        values, variances = squares.estimate(self._known.put_into(noisy, squares.noise)), squares.variances()
        surely = float(1 - _FALSE_ALARM / len(given))
        return tuple(
            (level, place)
            for (level, place), value in given
            if (spread := variances[level][place]) > 0
            and abs(values[level][place] - value) > self.width(spread, surely)
        )

    def least_squares(self) -> LeastSquares:
        """The solver for this noise, which also knows the variance of every node, range and prefix.

        Returns:
            The solver, which is made of public numbers alone.

        >>> import numpy as np
        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> difference = towns.least_squares().variance_of(np.array([1, -1, 0, 0, 0]))
        >>> round(towns.width(difference).item(), 1)
        10.5
        """
        return LeastSquares(self.tree, self._known.without_noise(self.level_variances()))

    def level_variances(self) -> list[float]:
        """The variance of the noise of each level, computed for continuous noise, which is a little larger.

        Returns:
            A variance for each level, from the root down; infinite where nothing is measured.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1, weights=[2, 1, 1])
        >>> [round(variance) for variance in towns.level_variances()]
        [8, 32, 32]
        """
        variances = []
        for noise in self._noise:
            if noise is None:
                variances.append(float("inf"))
            else:
                steps = 2 * noise._scale**2 if isinstance(noise, Laplace) else noise._variance
                variances.append(float_up(steps))
        return variances

    def half_widths(self, confidence: float = 0.95, *, simultaneous: bool = False) -> list[NDArray[np.float64]]:
        """How far each node's estimate may be off.

        Args:
            confidence: Probability that the error stays within the bound.
            simultaneous: Bound the errors of all nodes together instead of each one alone.

        Returns:
            An array for each level, with a bound for each node.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> [level.round(1).tolist() for level in towns.half_widths()]
        [[7.1], [5.1, 5.3], [6.0, 6.0, 6.5, 6.5, 6.5]]
        """
        return [
            self.width(variances, confidence, simultaneous=simultaneous)
            for variances in self.least_squares().variances()
        ]

    def width(self, variance: Any, confidence: float = 0.95, *, simultaneous: bool = False) -> Any:
        """How far an estimate of a given variance may be off, such as a range by `LeastSquares.variance_of`.

        Args:
            variance: The variance of the estimate, or an array of variances.
            confidence: Probability that the error stays within the bound.
            simultaneous: Divide the risk among all nodes of the tree.

        Returns:
            An array of bounds, of the same shape; 0 where the variance is 0.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> of_first_town = towns.least_squares().variances()[2][0]
        >>> round(towns.width(of_first_town).item(), 1) == round(towns.half_widths()[2][0].item(), 1)
        True
        """
        import numpy as np

        failure = 1 - checks.probability(confidence=confidence)
        if simultaneous:
            failure /= self.tree.nodes
        reach = deviations(failure, concentrated=self.rho is not None)
        spread = np.asarray(variance, float)
        return np.where(spread > 0, reach * np.sqrt(spread) + 0.5, 0.0)

    def intervals(
        self, estimate: TreeEstimate, confidence: float = 0.95
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Confidence intervals for the exact number of each node.

        They lie around the least-squares estimate, cut to whole numbers and at 0 where these are asked for. They are
        then stretched to the value that is shown, if rounding has moved it outside: a larger interval covers no less.

        Args:
            estimate: What `release` gave.
            confidence: Probability that an interval covers the exact number.

        Returns:
            A pair of arrays for each level, the low ends and the high ends.

        >>> towns = Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1)
        >>> estimate = towns.release([10, 20, 30, 40, 50])
        >>> low, high = towns.intervals(estimate)[0]
        >>> bool(low[0] <= estimate.levels[0][0] <= high[0])
        True
        """
        import numpy as np

        ends = []
        for value, centre, width in zip(estimate.levels, estimate.estimates, self.half_widths(confidence), strict=True):
            low, high = centre - width, centre + width
            if self.integers:
                low, high = np.ceil(low), np.floor(high)
            if self.non_negative:
                low, high = np.maximum(low, 0), np.maximum(high, 0)
            ends.append((np.minimum(low, value), np.maximum(high, value)))
        return ends

    def accuracy(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far the estimate of the worst node may be off.

        Args:
            simultaneous: Bound the errors of all nodes together instead of each one alone.

        >>> round(Hierarchy(tree=Tree([[2], [2, 3]]), epsilon=1).accuracy(), 1)
        7.1
        """
        return max(float(widths.max()) for widths in self.half_widths(confidence, simultaneous=simultaneous))


def clamped_sums(tree: Tree, leaves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Every node's sum over its leaves, exact and then clamped, level by level.

    Leaves are added in two halves of 32 bits, which cannot wrap around for as many nodes as a tree has.
    """
    import numpy as np

    high, low = tree.sums(leaves >> _HALF), tree.sums(leaves & ((1 << _HALF) - 1))
    sums = []
    for above, below in zip(high, low, strict=True):
        whole = above + (below >> _HALF)
        fits = (whole >= -(LARGEST_SUM >> _HALF)) & (whole < LARGEST_SUM >> _HALF)
        exact = np.where(fits, whole, 0) * (1 << _HALF) + (below & ((1 << _HALF) - 1))
        sums.append(np.where(fits, exact, np.where(whole < 0, -LARGEST_SUM, LARGEST_SUM)))
    return sums
