"""Shadow models: was this person in the training data? Compare with models fitted with and without that person.

Shadow models (Shokri et al. 2017), judged by the ratio of two normal likelihoods for every candidate (Carlini et al.
2022). An attacker who knows everybody else needs one candidate only; `Tell` is what this attacker learns from shadows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.adversary.attacks.membership import (
    Bools,
    Fit,
    Floats,
    Membership,
    Rows,
    Score,
    as_given,
    best_threshold,
    evidence,
    fitted,
    smooth,
    stacked,
)
from lapwing.calls import helpful
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, bernoulli

ENOUGH = 64
"""With fewer shadows all candidates share a variance (Carlini et al. 2022, section VI-C)."""
_TINY = 1e-9


@helpful
def shadow_attack(
    fit: Fit,
    model: Any,
    candidates: Rows,
    *,
    pool: Rows | None = None,
    shadows: int = 32,
    offline: bool = False,
    score: Score | None = None,
    truth: Any = None,
    entropy: Entropy = SYSTEM,
) -> Membership:
    """Decide which candidates were in the training data, with shadow models fitted to random halves of similar rows.

    Each candidate is in exactly half of the shadow models, unless the attack is offline.

    Args:
        fit: How the attacked model was made: an estimator, or a function of (X, y) that gives a model, with fresh
            randomness at every call.
        model: The attacked model, fitted: an estimator, or its `predict_proba` or `predict`.
        candidates: The rows (X, y) that may have been in the training data.
        pool: Other rows (X, y) like those of the training data, which the shadow models are fitted to as well. None
            means none.
        shadows: How many shadow models to fit, at least 4; an odd number is rounded up.
        offline: Whether shadow models are fitted to the pool alone, so that they can be used for any candidates. How
            much better a member looks is then learnt from the pool.
        score: The evidence that a model has seen each row, as a function of the model, X and y. None means the log odds
            of the true class, or minus the logarithm of the squared error.
        truth: For every candidate, whether it was in the training data. None if that is not known.
        entropy: Where the random halves come from.

    Returns:
        The result for all candidates.

    Raises:
        InvalidParameter: If `truth` has another length than the candidates, or an offline attack has no pool.

    >>> import numpy as np
    >>> X = np.array([[1.0], [2], [3], [4]])
    >>> fit = lambda X, y: (lambda rows: np.array([1.0 * (row in X) for row in rows]))
    >>> shadow_attack(fit, fit(X[:2], None), (X, np.ones(4)), shadows=4).guesses.tolist()
    [True, True, False, False]
    """
    X, y = as_given(candidates=candidates)
    known = None if truth is None else np.asarray(truth, dtype=bool)
    if known is not None and known.shape != y.shape:
        raise InvalidParameter(
            "truth", known.shape, "must have a truth value for every candidate", f"Pass {len(y)} truth values."
        )
    looks = score or bell_shaped
    spare = (X[:0], y[:0]) if pool is None else as_given(pool=pool)
    if offline and len(spare[1]) < 2:
        hint = "Pass pool=(X, y), rows like those the model was fitted to."
        raise InvalidParameter("pool", None, "without candidates there is nothing to fit shadows to", hint)
    table = stacked(X, spare[0]), np.concatenate([y, spare[1]])
    choosable = np.arange(len(table[1])) >= (len(y) if offline else 0)
    inside, scores = [], []
    for _ in range(-(-checks.whole(shadows=shadows, minimum=4) // 2)):
        coins = bernoulli(0.5, len(table[1]), entropy)
        for half in (coins, ~coins):
            chosen = half & choosable
            shadow = fitted(fit, table[0][chosen], table[1][chosen])
            scores.append(np.asarray(looks(shadow, *table), dtype=float))
            inside.append(chosen)
    seen = np.asarray(looks(model, X, y), dtype=float)
    ratio = likelihood_ratios(np.array(scores), np.array(inside), seen)
    chances = 1 / (1 + np.exp(np.clip(-ratio, -700, 700)))
    kind = "offline" if offline else "online"
    return Membership(attack=f"{len(scores)} shadow models, {kind}", scores=ratio, chances=chances, truth=known)


def likelihood_ratios(scores: Floats, inside: Bools, seen: Floats) -> Floats:
    """Logarithms of the likelihood ratios of what was seen, for the first rows; a line for every shadow.

    By how much being in moves a row is drawn towards what it does to rows on average, as far as the differences between
    rows are noise: few shadows say little about one row.
    """
    counts = [np.maximum(group.sum(axis=0), 1) for group in (inside, ~inside)]
    means = [(scores * group).sum(axis=0) / count for group, count in zip((inside, ~inside), counts, strict=True)]
    both = inside.any(axis=0) & ~inside.all(axis=0)
    if not both.any():
        return np.zeros(len(seen))
    centred = scores - np.where(inside, means[0], means[1])
    free = max(int(np.sum(len(scores) - 2 * both)), 1)
    shared, noise = float(np.sum(centred**2)) / free, 1 / counts[0] + 1 / counts[1]
    apart = means[0] - means[1]
    common = float(np.mean(apart[both]))
    varied = max(float(np.mean((apart[both] - common) ** 2 - shared * noise[both])), 0.0)
    moved = common + np.where(both, varied / (varied + shared * noise + _TINY), 0.0) * (apart - common)
    level = np.mean(scores - np.where(inside, moved, 0.0), axis=0)
    first, likelihoods = slice(len(seen)), []
    for mean, group, count in zip((level + moved, level), (inside, ~inside), counts, strict=True):
        own = np.sum(np.where(group, centred**2, 0.0), axis=0) / np.maximum(count - 1, 1)
        spread = np.where((len(scores) >= ENOUGH) & (count > 1), own, shared)[first] + _TINY
        likelihoods.append(-((seen - mean[first]) ** 2) / (2 * spread) - np.log(spread) / 2)
    return np.asarray(likelihoods[0] - likelihoods[1])


def bell_shaped(model: Any, X: Any, y: Any) -> Floats:
    """How well a model fits every row, stretched so that it spreads about normally over models.

    The log odds of the true class (Carlini et al. 2022, section V-B), or minus the logarithm of the squared error.
    """
    fits = evidence(model, X, y)
    if hasattr(model, "predict_proba") or np.asarray(getattr(model, "predict", model)(X)).ndim == 2:
        return np.asarray(fits - np.log(-np.expm1(np.minimum(fits, -_TINY))))
    return np.asarray(-np.log(_TINY - fits))


@dataclass(frozen=True, slots=True)
class Tell:
    """How to tell a release with a person from one without, learnt from releases of both kinds."""

    direction: Floats
    threshold: float
    hits: float
    alarms: float

    @classmethod
    def learnt(cls, inside: Floats, outside: Floats) -> Tell:
        """From a line of numbers for every release: Fisher's direction, and the best threshold along it."""
        gap = inside.mean(axis=0) - outside.mean(axis=0)
        spread = np.atleast_2d(np.cov(inside.T) + np.cov(outside.T))
        ridge = 1e-9 * max(float(np.trace(spread)), 1e-300) + 1e-12
        direction = np.linalg.solve(spread + ridge * np.eye(len(gap)), gap)
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
        along = np.concatenate([inside @ direction, outside @ direction])
        truth = np.arange(len(along)) < len(inside)
        at = best_threshold(along, truth)
        return cls(direction, at, smooth(along[truth] >= at), smooth(along[~truth] >= at))

    def sure(self, seen: Floats) -> tuple[bool, float]:
        """Whether the person was in, and the chance that this is so, with even odds beforehand."""
        if seen @ self.direction >= self.threshold:
            chance = self.hits / (self.hits + self.alarms)
        else:
            chance = (1 - self.hits) / (2 - self.hits - self.alarms)
        return chance > 0.5, max(chance, 1 - chance)
