"""Report noisy max: add noise to every score, name the winner, and release nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing.exact import float_up
from lapwing.mechanisms.selection import Selection
from lapwing.mechanisms.tails import failure_of, least, rate
from lapwing.noise import SYSTEM, Entropy
from lapwing.noise.laplace import discrete_laplace_sampler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK = 1 << 17
_FARTHEST = 1 << 62  # from 0: the sum of two numbers nearer than this fits int64


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax(Selection):
    """The candidate whose score plus discrete Laplace noise is largest. Of equals, the first in the list wins.

    Only the winner is released: its noisy score would cost as much again.

    Privacy: pure ε with noise of scale 2Δ/ε, or Δ/ε for monotone scores.
    Proof: noisy_max.md

    Raises:
        InvalidParameter: If epsilon, sensitivity or granularity is not positive, if there are no candidates, or if
            monotone is promised under the relation "replace".

    >>> NoisyMax(epsilon=9, sensitivity=1, candidates=["red", "green"], monotone=True).release([3, 50])
    'green'
    """

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The winner, from the scores of all candidates.

        Args:
            data: The scores, one for each candidate in their order: a list or an array.

        Returns:
            The label of the winner, or its index if `candidates` is a number.
        """
        sampler = discrete_laplace_sampler(self._scale.numerator, self._scale.denominator)
        steps = self._score_steps(data)
        if isinstance(steps, list):
            noisy = [step + sampler.draw(entropy) for step in steps]
            return self._label(noisy.index(max(noisy)))
        winner, most = 0, None
        for start in range(0, len(steps), _BLOCK):
            block = steps[start : start + _BLOCK]
            noisy_block = _plus(block, sampler.draws(len(block), entropy))
            place = int(noisy_block.argmax())
            if most is None or int(noisy_block[place]) > most:
                winner, most = start + place, int(noisy_block[place])
        return self._label(winner)

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the winner's score may lie below the best one, both as rounded to the grid (a union bound).

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> NoisyMax(epsilon=1, sensitivity=1, candidates=["red", "green"], monotone=True).accuracy()
        3.0
        """
        failure, unit, others = failure_of(confidence), rate(self._scale), self._count - 1
        return float_up(least(lambda gap: others * _overtakes(gap + 1, unit) <= failure) * self._granularity)


def _plus(steps: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[Any]:
    """Steps plus noise, in Python integers where int64 could wrap round."""
    import numpy as np

    farthest = max(-int(steps.min()), int(steps.max()), -int(noise.min()), int(noise.max()))
    if noise.dtype == object or farthest >= _FARTHEST:
        steps, noise = steps.astype(object), noise.astype(object)
    return np.asarray(steps + noise)


def _overtakes(gap: int, unit: float) -> float:
    """P(Z − Z′ ≥ gap) for two discrete Laplace variables: ((1−a)/(1+a))²·a^g·((g + (1+a²)/(1−a²))/(1−a) + a/(1−a)²)."""
    if gap * unit > 700:
        return 0.0
    a, rest = math.exp(-unit), -math.expm1(-unit)
    middle = (1 + a * a) / (rest * (1 + a))
    return (rest / (1 + a)) ** 2 * math.exp(-gap * unit) * ((gap + middle) / rest + a / rest**2)
