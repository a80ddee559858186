"""How well any attacker can do against a guarantee, whatever the attack."""

from __future__ import annotations

import math

from lapwing import checks
from lapwing.checks import Number


def best_guess(epsilon: Number, *, prior: Number = 0.5, delta: Number = 0) -> float:
    """The largest chance with which any attacker guesses a secret, under a guarantee of differential privacy.

    The guarantee must hold between any two values of the secret. With c = (1 − prior)/prior the bound is
    (e^ε + c·δ)/(e^ε + c); for m equally likely values c = m − 1.

    Proof: let π be the prior, q_s the chance to guess s when it is true, and S = Σ π_s·q_s. Guessing s when s' is true
    has a chance of e^−ε·(q_s − δ) at least, so 1 − S ≥ Σ_s Σ_{s'≠s} π_s'·e^−ε·max(0, q_s − δ), which is
    Σ_s (1 − π_s)·e^−ε·max(0, q_s − δ) ≥ e^−ε·c·(S − δ). Solve for S.

    Args:
        epsilon: The epsilon of the guarantee.
        prior: The chance of the likeliest value beforehand: 1/m for m equally likely values.
        delta: The delta of the guarantee.

    Returns:
        A probability, from `prior` to 1.

    Raises:
        InvalidParameter: If `epsilon` is negative, or `prior` or `delta` is not between 0 and 1.

    >>> best_guess(0), round(best_guess(1), 3), best_guess(0, prior=0.1)
    (0.5, 0.731, 0.1)
    """
    loss, loose = float(checks.not_negative(epsilon=epsilon)), float(checks.share(delta=delta))
    chance = float(checks.share(prior=prior))
    if not chance:
        return loose
    others = (1 - chance) / chance * math.exp(-loss)
    return (1 + others * loose) / (1 + others)


def best_advantage(epsilon: Number, delta: Number = 0) -> float:
    """The largest advantage (hits less false alarms) of any test that tells two neighbouring tables apart.

    Proof: hits ≤ e^ε·false alarms + δ, and the same for misses and correct rejections; the difference is largest where
    both are equalities (Kairouz, Oh and Viswanath 2015).

    Args:
        epsilon: The epsilon of the guarantee.
        delta: The delta of the guarantee.

    Returns:
        A number from 0 (nothing is learned) to 1 (everything is).

    Raises:
        InvalidParameter: If `epsilon` is negative, or `delta` is not between 0 and 1.

    >>> round(best_advantage(1), 3)
    0.462
    """
    return 2 * best_guess(epsilon, delta=delta) - 1


def limits(mean: float, rounds: int, alpha: float) -> tuple[float, float]:
    """Where the true mean of numbers between 0 and 1 lies, wrong with probability `alpha` at most on either side.

    Chernoff's bound in Hoeffding's form: independent numbers in [0, 1] with mean p average m or more with probability
    at most e^(−n·KL(m‖p)) (Hoeffding 1963, Theorem 1), and so on the other side.

    >>> low, high = limits(0.5, 1000, 0.001)
    >>> round(low, 3), round(high, 3)
    (0.441, 0.559)
    """
    allowed = math.log(1 / alpha) / rounds
    return _edge(mean, 0.0, allowed), _edge(mean, 1.0, allowed)


def _edge(mean: float, end: float, allowed: float) -> float:
    """The place between the mean and an end of [0, 1] where the divergence reaches what is allowed."""
    near, far = mean, end
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if _divergence(mean, middle) < allowed else (near, middle)
    return far


def _divergence(mean: float, other: float) -> float:
    """KL between two coins."""
    parts = ((mean, other), (1 - mean, 1 - other))
    return sum(p * math.log(p / q) if q else math.inf for p, q in parts if p)
