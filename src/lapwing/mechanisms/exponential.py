"""The exponential mechanism with exact probabilities: integer scores, integer proposal weights, one exact coin.

Floats only propose. Candidate j is proposed with probability exactly proportional to an integer M_j slightly above
w_j·e^(−gap_j/t)·2^s, and accepted with the exact quotient of the two, so float errors change nothing but the time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.exact import Enclosure, Real, exp_neg, float_up, ln_up
from lapwing.mechanisms.selection import Selection
from lapwing.mechanisms.tails import rate
from lapwing.noise import SYSTEM, Entropy, uniform_below
from lapwing.noise.inversion import LazyUniform
from lapwing.privacy import ZCDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SLACK = 1 + 2.0**-30  # more than all float errors together (exponential.md)
_NEGLIGIBLE = 700.0  # e^-700 is still a normal double: nothing underflows, whatever numpy was told to do then
_FAR = 1 << 100  # negligible at every scale that can be drawn, and still a float
_SURE_BITS = 28  # of a uniform: not all ones, they decide nearly every coin


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential(Selection):
    """A candidate with probability exactly proportional to e^(ε·score/(2Δ)): the exponential mechanism.

    The factor 2 falls away for `monotone` scores and with a `fixed_normaliser`: then the probability is proportional to
    e^(ε·score/Δ).

    Privacy: pure ε; ε²/8-zCDP (bounded range), or ε²/2 with a fixed normaliser.
    Proof: exponential.md

    Args:
        fixed_normaliser: Promise that Σ e^(ε·score/Δ) over the rounded scores is the same for every data set, as in
            randomized response. Not together with `monotone`.

    Raises:
        InvalidParameter: If epsilon, sensitivity or granularity is not positive, if there are no candidates, or if
            monotone is promised under the relation "replace". Also if monotone and fixed_normaliser are both set.

    >>> mechanism = Exponential(epsilon=1, sensitivity=1, candidates=["red", "green", "blue"])
    >>> mechanism.release([3, 50, 4]) in ("red", "green", "blue")
    True
    """

    fixed_normaliser: bool = False

    def __post_init__(self) -> None:
        if checks.true_or_false(fixed_normaliser=self.fixed_normaliser) and self.monotone:
            raise InvalidParameter("fixed_normaliser", True, "cannot be combined with monotone", "Leave one out.")
        Selection.__post_init__(self)

    def _factor(self) -> int:
        return 1 if self.monotone or self.fixed_normaliser else 2

    def zcdp_loss(self) -> ZCDP:
        """Zero-concentrated ρ, because log-ratios stay in an interval of length ε (2ε with a fixed normaliser).

        Returns:
            The loss as ρ, for accounts that add up zero-concentrated losses.

        >>> print(Exponential(epsilon=1, sensitivity=1, candidates=3).zcdp_loss())
        ρ = 0.125 (add_remove, per person)
        """
        width = self.privacy_loss().epsilon * (2 if self.fixed_normaliser else 1)
        return ZCDP(width**2 / 8, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """One candidate, chosen by the scores of all.

        Args:
            data: The scores, one for each candidate in their order: a list or an array.

        Returns:
            The label of the candidate, or its index if `candidates` is a number.

        >>> Exponential(epsilon=1, sensitivity=1, candidates=["a", "b"]).release([900, 10])
        'a'
        """
        return self._label(exponential_choice(self._gaps(data), None, self._scale, entropy))

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the score of the released candidate may lie below the best one (both as rounded to the grid).

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> Exponential(epsilon=1, sensitivity=1, candidates=100).accuracy()
        15.0
        """
        return float_up(exponential_gap(self._count, self._scale, confidence) * self._granularity)


def exponential_gap(count: int, scale: Fraction, confidence: float) -> int:
    """The gap in steps that is exceeded with probability at most 1 − confidence, whatever the scores.

    Worst case: one best candidate, the others all at gap a: P(gap ≥ a) = x/(1+x), x = (count − 1)·e^(−a/scale).
    """
    sure = checks.probability(confidence=confidence)
    odds = (count - 1) * sure / (1 - sure)
    return max(0, math.ceil(scale * ln_up(odds)) - 1) if odds > 1 else 0


def exponential_choice(
    gaps: Sequence[int] | NDArray[np.uint64],
    weights: Sequence[int] | NDArray[np.int64] | None,
    scale: Fraction,
    entropy: Entropy,
) -> int:
    """An index with probability exactly proportional to weight·e^(−gap/scale). One gap is 0; weights sum below 2^62."""
    room = 61 - len(gaps).bit_length()
    propose = _proposal_of_array if hasattr(gaps, "__array__") else _proposal
    totals, shift = propose(gaps, weights, rate(scale), room)
    while True:
        draw = uniform_below(int(totals[-1]), entropy=entropy)
        index = bisect_right(totals, draw)
        proposed = int(totals[index]) - (int(totals[index - 1]) if index else 0)
        first = entropy.bits(64)
        # For proposed ≥ 2^30 the coin is more than 1 − 2^-28 (exponential.md): bits not all ones decide.
        if proposed >> 30 and first >> 64 - _SURE_BITS != (1 << _SURE_BITS) - 1:
            return index
        weight = 1 if weights is None else int(weights[index])
        ratio = weight * Fraction(2) ** shift / proposed
        if LazyUniform(entropy, first).below(_times(ratio, exp_neg(int(gaps[index]) / scale))):
            return index


def _proposal(gaps: Any, weights: Any, unit: float, room: int) -> tuple[list[int], int]:
    """Running totals of M_j = ⌊w_j·e^(−gap_j/t)·2^shift·(1 + 2^-30)⌋ + 1, all of them about 2^room at most."""
    near = [math.exp(-x) if (x := min(gap, _FAR) * unit) < _NEGLIGIBLE else 0.0 for gap in gaps]
    if weights is not None:
        near = [value * weight for value, weight in zip(near, weights, strict=True)]
    shift = room - math.frexp(max(near))[1]
    return list(accumulate(int(math.ldexp(value, shift) * _SLACK) + 1 for value in near)), shift


def _proposal_of_array(gaps: Any, weights: Any, unit: float, room: int) -> tuple[NDArray[np.int64], int]:
    """The same by numpy."""
    import numpy as np

    near = gaps * -unit
    np.exp(np.maximum(near, -_NEGLIGIBLE, out=near), out=near)
    if weights is not None:
        near *= weights
    shift = room - math.frexp(near.max())[1]
    near *= math.ldexp(_SLACK, shift)
    whole = near.astype(np.int64)
    whole += 1
    return np.cumsum(whole, out=whole), shift


def _times(ratio: Fraction, real: Real) -> Real:
    """The product of a rational and a real number."""
    extra = ratio.numerator.bit_length() + 2

    def enclose(bits: int) -> Enclosure:
        low, high = real(bits + extra)
        bottom = ratio.denominator << extra
        return low * ratio.numerator // bottom, -(-high * ratio.numerator // bottom)

    return enclose
