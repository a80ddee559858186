"""Private gradient descent (DP-SGD): secret samples of the rows, gradients of bounded length, exact sums and noise.

    coins of all rows → gradients as whole numbers within a ball → exact sum → discrete Gaussian noise → next weights

Abadi et al. 2016, with per-row gradients never written out: a row's gradient in a layer is the product of its error
and its input, so its length is the product of theirs (Goodfellow 2015), and the sum over rows one matrix product.

Privacy: (epsilon, delta), add_remove, one row. Proof: training.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Gaussian
from lapwing.models.columns import Box, Floats
from lapwing.models.exact import products
from lapwing.models.layers import (
    ERROR_BITS,
    INPUT_BITS,
    SCORE_STEP,
    WEIGHT_STEP,
    backward,
    checked_widths,
    forward,
    input_rows,
    squares,
    whole_weights,
)
from lapwing.noise import Entropy, bernoulli, discrete_gaussian
from lapwing.privacy import ZCDP, ApproxDP, Loss
from lapwing.privacy.quotes import Line
from lapwing.privacy.subsampling import ORDERS

RADIUS = 1 << (INPUT_BITS + ERROR_BITS)
"""The length of the longest gradient in whole steps: its square, 2^52, is still exact in doubles."""
SMALLEST_MULTIPLIER, LARGEST_MULTIPLIER = Fraction(1, 32), 1 << 20
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-12  # how slowly Adam forgets; its guard against 0, far below any noise

Error = Callable[[Floats, NDArray[np.intp]], Floats]
"""The error of the scores of some rows, in steps: of these scores, at these places."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is decided before a row is read."""

    box: Box
    stated: ApproxDP
    widths: tuple[int, ...]
    sampling: Fraction
    steps: int
    clip: float
    learning_rate: float
    progress: bool

    @classmethod
    def of(cls, estimator: Any, box: Box, hidden: Sequence[int], outputs: int) -> Plan:
        """From the parameters that all iterative estimators have."""
        unit = "person" if estimator.account is None else estimator.account.unit
        epsilon, delta = checks.positive(epsilon=estimator.epsilon), checks.probability(delta=estimator.delta)
        sampling = checks.share(sampling=estimator.sampling)
        return cls(
            box,
            ApproxDP(epsilon, delta, unit=unit),
            checked_widths(len(box.bounds), hidden, outputs),
            sampling,
            math.ceil(checks.positive(epochs=estimator.epochs) / checks.positive(sampling=sampling)),
            float(checks.positive(clip=estimator.clip)),
            float(checks.positive(learning_rate=estimator.learning_rate)),
            checks.true_or_false(progress=estimator.progress),
        )

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Of the weights of every layer, that of the constant first."""
        return [(given + 1, taken) for given, taken in pairwise(self.widths)]

    @property
    def gradient(self) -> Gaussian:
        """Noise on the sum of gradients of one step."""
        multiplier = least_multiplier(self.stated.epsilon, self.stated.delta, self.sampling, self.steps)
        size = sum(map(math.prod, self.shapes))
        return Gaussian(
            sigma=multiplier * RADIUS, sensitivity=RADIUS, dimensions=size, on_grid=True, unit=self.stated.unit
        )

    @property
    def loss(self) -> Loss:
        """What was asked for; the noise is chosen so that the lines together imply it."""
        return self.stated

    @property
    def lines(self) -> Sequence[Line]:
        """The sum of gradients, at every step; what all steps together cost, at the delta that is stated."""
        noise, delta = self.gradient, self.stated.delta
        curve = descent_loss(noise.privacy_loss(), self.sampling, self.steps)
        share, spread = float(self.sampling), float(noise.sigma) / RADIUS
        what = f"{self.steps:,} sums of clipped gradients, each of {share:.3g} of the rows, σ = {spread:.3g}"
        together = ApproxDP(curve.epsilon_at(delta), delta, unit=self.stated.unit)
        return (Line(what, together, noise.accuracy() / RADIUS, "clipped gradients"),)


def descent_loss(one_step: ZCDP, sampling: Fraction, steps: int) -> Loss:
    """Of `steps` noisy sums, each over a secret Poisson sample: a Rényi curve, from moments at every whole order."""
    return steps * one_step.to_renyi(range(2, ORDERS[-1] + 1)).subsampled(sampling)


@lru_cache(maxsize=256)
def least_multiplier(epsilon: Fraction, delta: Fraction, sampling: Fraction, steps: int) -> Fraction:
    """The standard deviation of the noise, in lengths of the longest gradient: as small as it gets, to about 2^-8.

    It is one whose loss was computed, upwards, and found to be at most epsilon at this delta.
    """

    def enough(multiplier: Fraction) -> bool:
        loss = descent_loss(ZCDP(1 / (2 * multiplier**2)), sampling, steps)
        return Fraction(loss.epsilon_at(delta)) <= epsilon

    roughly = _guess(float(epsilon), float(delta), float(sampling), steps)
    unit = Fraction(2) ** (math.floor(math.log2(roughly)) - 8)
    at, stride = math.ceil(Fraction(roughly) / unit), 1
    while not enough(at * unit):
        at, stride = at + stride, 2 * stride
        if at * unit > LARGEST_MULTIPLIER:
            why = "is so small that only noise too large to be useful gives it"
            hint = "Write a larger epsilon or delta, or fewer epochs."
            raise InvalidParameter("epsilon", float(epsilon), why, hint)
    return at * unit


def _guess(epsilon: float, delta: float, sampling: float, steps: int) -> float:
    """The same in plain doubles: a place to begin the search at."""
    from scipy.special import gammaln, logsumexp

    def bound(multiplier: float) -> float:
        least = math.inf
        for order in ORDERS:
            j = np.arange(order + 1)
            chances = gammaln(order + 1) - gammaln(j + 1) - gammaln(order - j + 1) + j * math.log(sampling)
            chances[:-1] += (order - j[:-1]) * (math.log1p(-sampling) if sampling < 1 else -math.inf)
            divergence = steps * logsumexp(chances + j * (j - 1) / (2 * multiplier**2)) / (order - 1)
            least = min(least, divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))
        return least

    low, high = float(SMALLEST_MULTIPLIER), float(LARGEST_MULTIPLIER)
    while high / low > 1 + 2.0**-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if bound(middle) <= epsilon else (middle, high)
    return low


def certain(inputs: Sequence[Floats], errors: Sequence[Floats], clip: float) -> list[Floats]:
    """Errors, row by row, as whole numbers such that the gradient error ⊗ input is at most `RADIUS` long, for certain.

    `RADIUS` steps stand for a gradient of length `clip`. The inputs are whole numbers. A row becomes what it becomes
    because of itself alone.
    """
    sizes = [squares(given) for given in inputs]
    with np.errstate(all="ignore"):  # a warning would depend on a record
        length = np.sqrt(_squared(errors, sizes))
        factor = np.minimum(RADIUS * (1 - 2.0**-30) / length, 1 / clip)
        factor[~np.isfinite(factor)] = 0.0
        cut = [np.trunc(error * factor[:, None]) for error in errors]
        too_long = ~(_squared(cut, sizes) <= float(RADIUS**2))
    for error in cut:
        error[too_long] = 0.0
    return cut


def _squared(errors: Sequence[Floats], sizes: Sequence[Floats]) -> Floats:
    """The squared lengths of the gradients, layer by layer in a fixed order."""
    total = np.zeros(len(sizes[0]))
    for error, size in zip(errors, sizes, strict=True):
        total += squares(error) * size
    return total


def train(plan: Plan, rows: Floats, error_of: Error, entropy: Entropy) -> list[Floats]:
    """The weights of every layer after all steps."""
    noise = plan.gradient

    def gradient_of(weights: Sequence[Floats]) -> list[Floats]:
        return noisy_gradient(plan, noise, rows, error_of, weights, entropy)

    first = first_weights(plan.shapes, entropy)
    return descend(first, gradient_of, plan.steps, plan.learning_rate, progress=plan.progress)


def noisy_gradient(
    plan: Plan, noise: Gaussian, rows: Floats, error_of: Error, weights: Sequence[Floats], entropy: Entropy
) -> list[Floats]:
    """One step: the noisy sum of the gradients of a secret sample, for every layer, in lengths of the longest one."""
    chosen = np.flatnonzero(bernoulli(plan.sampling, len(rows), entropy))
    inputs, scores = forward(rows[chosen], weights)
    errors = certain(inputs, backward(inputs, weights, error_of(scores, chosen)), plan.clip)
    sums = [products(given, error, RADIUS).ravel() for given, error in zip(inputs, errors, strict=True)]
    released = noise.release(np.concatenate(sums), entropy) / RADIUS
    parts = np.split(released, np.cumsum([math.prod(shape) for shape in plan.shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, plan.shapes, strict=True)]


def first_weights(shapes: Sequence[tuple[int, int]], entropy: Entropy) -> list[Floats]:
    """Random weights of hidden layers, as large as their number of inputs asks for (He et al. 2015); then zeros."""
    weights = []
    for rows, units in shapes[:-1]:
        draws = discrete_gaussian(1 << 16, rows * units, entropy).reshape(rows, units)
        weights.append(draws * (2.0**-16 * math.sqrt(2 / rows)))
    return [*weights, np.zeros(shapes[-1])]


def descend(
    weights: list[Floats],
    gradient_of: Callable[[Sequence[Floats]], Sequence[Floats]],
    steps: int,
    learning_rate: float,
    *,
    progress: bool = False,
) -> list[Floats]:
    """Adam (Kingma and Ba 2015), and the mean of the weights over the last half of the steps.

    Adam divides a gradient by its own size, so that nobody needs to know how many rows it was summed over.
    """
    kept = [(np.zeros_like(matrix), np.zeros_like(matrix), np.zeros_like(matrix)) for matrix in weights]
    with np.errstate(all="ignore"):
        for step in counted(steps, progress=progress):
            slopes = gradient_of(whole_weights(weights))
            length = learning_rate * math.sqrt(1 - _SECOND ** (step + 1)) / (1 - _FIRST ** (step + 1))
            share = 1 / (step - steps // 2 + 1) if step >= steps // 2 else 0.0
            for matrix, slope, (first, second, mean) in zip(weights, slopes, kept, strict=True):
                first += (1 - _FIRST) * (slope - first)
                second += (1 - _SECOND) * (slope**2 - second)
                matrix -= length * first / (np.sqrt(second) + _TINY)
                mean += share * (matrix - mean)
    return [matrix * WEIGHT_STEP for matrix in whole_weights([mean for _, _, mean in kept])]


def scores_of(weights: Sequence[Floats], box: Box, X: Floats) -> Floats:
    """What comes out of the last layer for rows to be predicted."""
    return forward(input_rows(box, X), whole_weights(weights))[1] * SCORE_STEP


def counted(steps: int, *, progress: bool) -> Iterator[int]:
    """0, 1, …, with a bar on a terminal if asked for. It tells how many steps are done, which is public."""
    if not progress:
        yield from range(steps)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    columns = (TextColumn("steps"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        yield from bar.track(range(steps))
