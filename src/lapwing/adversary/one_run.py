"""Epsilon of a model measured from one single fit, with many canaries instead of many fits.

Each canary is a row that goes into the training data or stays out, by a fair coin of its own. The model is fitted
once. The auditor then guesses, of the canaries it is surest of, whether they were in. If the model is private, few
such guesses are right, however it was made; if many are right, it is not (Steinke, Nasr and Jagielski 2023).

Proof: one_run.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.membership import Fit, Floats, Rows, Score, as_rows, evidence, fitted
from lapwing.adversary.verdict import Refutation, caution, headline
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.noise import SYSTEM, Entropy, bernoulli, uniform_below
from lapwing.privacy import ApproxDP, Loss, PureDP

SHARES = (1, 2, 4, 8)
"""Unless a number of guesses is asked for: all canaries, the surest half, quarter and eighth, at shared confidence."""
_GROUPS = 256  # places among the canaries that the term for delta is computed at


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OneRun(Refutation):
    """What one fit gave away. It can refute a claim, but never prove one. `print` it to see it in words.

    Attributes:
        canaries: How many canaries there were.
        confidence: The probability that the lower bound is right, at least.
        delta: The δ at which epsilon was measured.

    >>> def remembers(X, y):
    ...     return lambda rows: (rows @ X.T).max(axis=1) * y.max()
    >>> found = audit_once(remembers, (np.eye(200), np.ones(200)), guesses=100, claimed=1)
    >>> found.caught, found.right
    (True, 100)
    """

    epsilon_lower_bound: float
    """The true epsilon is at least this, with the stated confidence."""
    canaries: int
    guesses: int
    """How many canaries the auditor dared to guess."""
    right: int
    """How many of the guesses are right."""
    confidence: float
    delta: float
    claimed: float | None
    """The epsilon that is claimed at this delta, one row more or less."""

    @property
    def ceiling(self) -> float:
        """The most that so many canaries could have shown, all of them guessed right."""
        return epsilon_shown(self.canaries, self.canaries, self.canaries, delta=self.delta, alpha=1 - self.confidence)

    def __str__(self) -> str:
        guessed = (
            f"The attack guessed of {self.guesses:,} of {self.canaries:,} canaries whether they were in the training "
            f"data, and {self.right:,} guesses are right. Blind guesses are right half the time."
        )
        return " ".join([headline(self), guessed, *caution(self, "canaries")])

    def explain(self) -> str:
        """The finding in words, with what it does not prove.

        Returns:
            A few sentences. `print` shows a shorter text.

        >>> def remembers(X, y):
        ...     return lambda rows: (rows @ X.T).max(axis=1) * y.max()
        >>> found = audit_once(remembers, (np.eye(200), np.ones(200)), guesses=100, claimed=1)
        >>> print(found.explain().partition(".")[0])
        A fair coin decided for each of 200 canaries whether it was in the training data
        """
        at = f" at delta = {self.delta:g}" if self.delta else ""
        text = (
            f"A fair coin decided for each of {self.canaries} canaries whether it was in the training data. The attack "
            f"made {self.guesses} guesses, and {self.right} of them are right. Blind guesses are right half the time. "
            f"With {self.confidence:.10g} confidence, epsilon is at least {self.epsilon_lower_bound:.3f}{at} for one "
            "row more or less."
        )
        if self.claimed is not None and self.caught:
            return f"{text} The claim of {self.claimed:.3f} is false."
        said = "" if self.claimed is None else f" That does not contradict the claim of {self.claimed:.3f}."
        return (
            f"{text}{said} An audit can refute a claim but never prove it: other canaries may show more. With this "
            f"many canaries, no audit can show more than {self.ceiling:.1f}."
        )


@helpful
def audit_once(
    fit: Fit,
    canaries: Rows,
    *,
    rest: Rows | None = None,
    score: Score = evidence,
    guesses: int | None = None,
    claimed: Loss | Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.999,
    entropy: Entropy = SYSTEM,
) -> OneRun:
    """Measure a lower bound on the epsilon that a way of fitting really has, from one fit.

    The relation is add_remove and the unit is one row.

    Args:
        fit: An estimator, or a function of (X, y) that gives a fitted model.
        canaries: Rows (X, y) that go into the training data or stay out, each by its own coin. See `canaries_apart`.
        rest: Rows (X, y) that are always in the training data. None: there are none.
        score: A function of (model, X, y) that tells how much each canary looks like one that was in. The default is
            how well the model fits it.
        guesses: How many canaries to guess, the surest ones. None tries all, a half, a quarter and an eighth, and
            shares the confidence between them.
        claimed: The claim to test: a loss, or a number for pure privacy (for (number, delta) with a delta). None takes
            the `privacy_loss_` of the model, if it has one.
        delta: The δ at which epsilon is measured. None takes that of the claim, or 0.
        confidence: The probability that the bound is right, at least.
        entropy: Where the coins come from.

    Returns:
        The lower bound, how many guesses were right, and whether the claim is refuted.

    Raises:
        InvalidParameter: If there are more guesses than canaries.

    >>> def remembers(X, y):
    ...     return lambda rows: (rows @ X.T).max(axis=1) * y.max()
    >>> audit_once(remembers, (np.eye(200), np.ones(200)), claimed=1).verdict
    'caught'
    """
    X, y = as_rows(canaries=canaries)
    count = checks.whole(canaries=len(X), minimum=2)
    level = float(checks.probability(confidence=confidence))
    sizes = [checks.whole(guesses=guesses)] if guesses is not None else [-(-count // part) for part in SHARES]
    if max(sizes) > count:
        raise InvalidParameter(
            "guesses", guesses, f"there are only {count} canaries", f"Write guesses={count} or less."
        )
    inside = bernoulli(0.5, count, entropy)
    always = (X[:0], y[:0]) if rest is None else as_rows(rest=rest)
    model = fitted(fit, np.concatenate([always[0], X[inside]]), np.concatenate([always[1], y[inside]]))
    loss, at = _claim(model, claimed, delta)
    scores = np.asarray(score(model, X, y), dtype=float)
    alpha = (1 - level) / len(sizes)
    results = [(rightly(scores, inside, size), size) for size in sizes]
    shown = [epsilon_shown(right, size, count, delta=at, alpha=alpha) for right, size in results]
    best = int(np.argmax(shown))
    return OneRun(
        epsilon_lower_bound=shown[best],
        canaries=count,
        guesses=results[best][1],
        right=results[best][0],
        confidence=level,
        delta=at,
        claimed=None if loss is None else loss.to_add_remove().epsilon_at(at),
    )


def canaries_apart(count: int, entropy: Entropy = SYSTEM) -> tuple[Floats, NDArray[np.int64]]:
    """Canaries that have little to do with one another: each has a column of its own, and a random class.

    What a linear model has learnt in a column then tells of one canary alone.

    Args:
        count: How many canaries to make. There are as many columns.
        entropy: Where the random classes come from.

    Returns:
        The rows, within −1 … 1, and their classes, 0 or 1.

    Raises:
        InvalidParameter: If `count` is not a whole number of at least 1.

    >>> X, y = canaries_apart(3)
    >>> X.sum(axis=1).tolist()
    [1.0, 1.0, 1.0]
    """
    return np.eye(checks.whole(count=count)), np.asarray(uniform_below(2, count, entropy), dtype=np.int64)


def rightly(scores: Floats, inside: NDArray[np.bool_], guesses: int) -> int:
    """How many guesses are right: the upper half of them says “in”, of the largest scores, the lower “out”."""
    order = np.argsort(-scores, kind="stable")
    upper = -(-guesses // 2)
    said_in, said_out = order[:upper], order[len(order) - (guesses - upper) :]
    return int(np.count_nonzero(inside[said_in])) + int(np.count_nonzero(~inside[said_out]))


def epsilon_shown(right: int, guesses: int, canaries: int, *, delta: float = 0.0, alpha: float) -> float:
    """The largest epsilon under which so many right guesses have probability `alpha` at most; 0 for none.

    >>> round(epsilon_shown(75, 100, 1000, delta=1e-4, alpha=0.05), 2)
    0.68
    """
    chance = tail(right, guesses, canaries, delta=delta)
    low, high = 0.0, 1.0
    if chance(low) > alpha:
        return 0.0
    while chance(high) <= alpha:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) <= alpha else (low, middle)
    return low


def tail(right: int, guesses: int, canaries: int, *, delta: float = 0.0) -> Callable[[float], float]:
    """By epsilon: a bound on the chance that so many guesses or more are right under (epsilon, delta)-privacy.

    Proof: one_run.md
    """
    from scipy.stats import binom

    remaining, weights = np.arange(guesses), _unlikely(guesses, canaries, delta) if delta else None

    def chance(epsilon: float) -> float:
        truth, lie = 1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))
        lucky = float(binom.sf(right - 1, guesses, truth))
        if weights is None:
            return lucky
        likeliest = np.maximum(np.floor((remaining + 1) * truth), right - guesses + remaining)
        most = binom.pmf(likeliest, remaining, truth)
        most = np.maximum.accumulate(most[::-1])[::-1]  # of so many remaining guesses, or more
        return min(1.0, lucky + lie * float(weights @ most))

    return chance


def _unlikely(guesses: int, canaries: int, delta: float) -> Floats:
    """How often delta lets a guess be sure, by how many guesses come after it, in the worst case, for a random order.

    At most delta at every one of the `canaries` places; and at a place, not more often than so many guesses come after
    it. The worst case has as few of them as it can. Later places are worse, so the last of a group stands for all.
    """
    from scipy.stats import hypergeom

    if guesses == canaries:
        return np.full(guesses, delta)
    last = np.unique(np.linspace(0, canaries, min(canaries, _GROUPS) + 1).astype(int))
    chances = np.zeros(guesses)
    for before, place in pairwise(last.tolist()):
        often = guesses / canaries * hypergeom.pmf(np.arange(guesses), canaries - 1, guesses - 1, canaries - place)
        chances += (place - before) * np.clip(delta - (np.cumsum(often) - often), 0.0, often)
    return chances


def _claim(model: Any, claimed: Loss | Number | None, delta: Number | None) -> tuple[Loss | None, float]:
    """What is claimed, and the delta at which epsilon is measured: the one asked for, or the one the claim names."""
    loss = getattr(model, "privacy_loss_", None) if claimed is None else claimed
    if loss is not None and not isinstance(loss, Loss):
        loss = ApproxDP(loss, delta) if delta else PureDP(loss)
    if delta is not None:
        return loss, float_up(checks.share(delta=delta))
    return loss, float_up(loss.delta) if isinstance(loss, ApproxDP) else 0.0
