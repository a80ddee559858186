"""What a count proves: Clopper–Pearson limits, the epsilon they show, and the samples needed to expose a false claim.

If an event has probability p on one data set and q on its neighbour, an (ε,δ)-private mechanism has p ≤ e^ε·q + δ. A
lower bound on p and an upper bound on q therefore give ε ≥ ln((p − δ)/q), with the confidence of the two bounds
together. Limits need nothing but the standard library, so that an audit runs in a browser; `power` plans with scipy.

References: Clopper and Pearson, Biometrika 26 (1934); Loader, "Fast and Accurate Computation of Binomial Probabilities"
(2000); Jagielski, Ullman and Oprea, NeurIPS 2020 (auditing by hypothesis tests).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SAMPLES = 1 << 24
SLACK = 1e-9
"""More than the relative error of a computed tail: limits are moved outwards by it."""
EXACT_COUNTS = 8
"""Up to so many hits a quick limit is the exact one: there the approximation is poor."""


def lower_limit(hits: int, trials: int, alpha: float) -> float:
    """A probability that is larger than the true one in at most a share `alpha` of all experiments.

    It is the largest p, rounded down, at which so many hits or more have a probability of at most alpha.

    >>> round(lower_limit(10, 10, 0.5**10), 6)
    0.5
    """
    if hits == 0:
        return 0.0
    if hits == trials:
        return math.exp(math.log(alpha / (1 + SLACK)) / trials)
    low, high = 0.0, hits / trials  # at the upper end half of all experiments have so many hits
    while high - low > SLACK / 16 * high:
        middle = (low + high) / 2
        if _tail(hits, trials, middle, 1 - middle) <= alpha:
            low = middle
        else:
            high = middle
    return low


def upper_limit(hits: int, trials: int, alpha: float) -> float:
    """A probability that is smaller than the true one in at most a share `alpha` of all experiments."""
    if hits == trials:
        return 1.0
    if hits == 0:
        return -math.expm1(math.log(alpha / (1 + SLACK)) / trials)
    low, high = hits / trials, 1.0
    while high - low > SLACK / 16 * high:
        middle = (low + high) / 2
        if _tail(trials - hits, trials, 1 - middle, middle) <= alpha:
            high = middle
        else:
            low = middle
    return high


def _tail(hits: int, trials: int, p: float, q: float) -> float:
    """At least the probability of `hits` or more, for hits/trials ≥ p = 1 − q: a sum of falling terms, all positive."""
    term = total = math.exp(_log_binomial(hits, trials, p, q))
    for count in range(hits, trials):
        ratio = (trials - count) * p / ((count + 1) * q)
        term *= ratio
        total += term
        if term * ratio <= 1e-17 * total * (1 - ratio):  # the rest falls faster than this geometric series
            break
    return total * (1 + SLACK)


def _log_binomial(hits: int, trials: int, p: float, q: float) -> float:
    """ln P(X = hits) for 0 < hits ≤ trials, without the cancellation of log-gammas (Loader 2000)."""
    others = trials - hits
    if not others:
        return trials * math.log(p)
    stirling = _stirling_error(trials) - _stirling_error(hits) - _stirling_error(others)
    apart = _deviance(hits, trials * p) + _deviance(others, trials * q)
    return stirling - apart + math.log(trials / (2 * math.pi * hits * others)) / 2


def _stirling_error(n: int) -> float:
    """ln n! minus Stirling's formula for it."""
    if n < 16:
        return math.log(math.factorial(n)) - (n + 0.5) * math.log(n) + n - math.log(2 * math.pi) / 2
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / n**2) / n**2) / n**2) / n


def _deviance(x: float, mean: float) -> float:
    """x·ln(x/mean) + mean − x, also where the two are close."""
    step = (x - mean) / (x + mean)
    if abs(step) > 0.1:
        return x * math.log(x / mean) + mean - x
    total, power, odd = (x - mean) * step, 2 * x * step, 1
    while True:  # the series of ln((1+v)/(1−v)) in odd powers of v
        power *= step * step
        odd += 2
        if total + power / odd == total:
            return total
        total += power / odd


def epsilon_shown(hits: int, others: int, trials: int, alpha: float, delta: float = 0.0) -> float:
    """The epsilon that `hits` of `trials` on one data set and `others` on its neighbour prove; −∞ for nothing.

    Both limits hold together except with probability 2·alpha.
    """
    p = lower_limit(hits, trials, alpha) - delta
    return math.log(p / upper_limit(others, trials, alpha)) if p > 0 else -math.inf


@lru_cache(maxsize=64)
def quick_limits(trials: int, alpha: float, delta: float = 0.0) -> tuple[list[float], list[float]]:
    """For 0 … trials hits: about ln(lower limit − delta), and ln(upper limit). For searching, not for proving.

    Quantiles of the beta distribution by formula 26.5.22 of Abramowitz and Stegun (1964).
    """
    few = min(EXACT_COUNTS, trials)
    score = -NormalDist().inv_cdf(alpha)
    lows = [lower_limit(hits, trials, alpha) for hits in range(few + 1)]
    lows += [_beta_quantile(hits, trials - hits + 1, score) for hits in range(few + 1, trials)]
    highs = [1 - low for low in reversed(lows)]
    if few < trials:
        lows.append(lower_limit(trials, trials, alpha))
        highs.insert(0, 0.0)
    highs[: few + 1] = [upper_limit(hits, trials, alpha) for hits in range(few + 1)]
    highs[trials] = 1.0
    return [math.log(low - delta) if low > delta else -math.inf for low in lows], list(map(math.log, highs))


def _beta_quantile(a: float, b: float, score: float) -> float:
    """About the value below which a beta variable lies with the probability of a normal one below −score."""
    inverse_a, inverse_b = 1 / (2 * a - 1), 1 / (2 * b - 1)
    curve, mean = (score * score - 3) / 6, 2 / (inverse_a + inverse_b)
    w = score * math.sqrt(mean + curve) / mean - (inverse_b - inverse_a) * (curve + 5 / 6 - 2 / (3 * mean))
    return a / (a + b * math.exp(2 * w))


def ceiling(trials: int, alpha: float, delta: float = 0.0) -> float:
    """The most that so many trials can show: for an event that always happens on one data set, never on the other."""
    return max(epsilon_shown(trials, 0, trials, alpha, delta), 0.0)


def power(*, claimed: Number, true: Number, samples: int, confidence: Number = 0.999) -> float:
    """The probability that an audit exposes a false claim about Laplace noise.

    The event is the best one, y ≤ the smaller of the two true answers: p = 1/2 against q = e^−true / 2. It is fixed in
    advance, in one direction; what the confidence leaves is shared by the two limits.

    Args:
        claimed: The epsilon that is claimed.
        true: The epsilon that the noise really has.
        samples: How many fresh releases there are on each data set. `audit` uses half of its samples for this.
        confidence: The confidence of the audit.

    Returns:
        A probability from 0 to 1.

    Raises:
        InvalidParameter: If `claimed` is negative, `true` is not positive, `samples` is less than 1, or `confidence` is
            not between 0 and 1.

    >>> power(claimed=1, true=2, samples=500) > 0.99
    True
    """
    import numpy as np
    from scipy.special import betainccinv, betaincinv
    from scipy.stats import binom

    epsilon, actual = float(checks.not_negative(claimed=claimed)), float(checks.positive(true=true))
    n = checks.whole(samples=samples)
    alpha = float(1 - checks.probability(confidence=confidence)) / 2
    p, q = 0.5, math.exp(-actual) / 2
    hits, others = _likely(n, p), _likely(n, q)
    lows = np.where(hits > 0, betaincinv(np.maximum(hits, 1), n - hits + 1, alpha), 0.0)
    highs = np.where(others < n, betainccinv(others + 1, np.maximum(n - others, 1), alpha), 1.0)
    least = np.searchsorted(lows, math.exp(epsilon) * highs, side="right")
    wanted = np.append(hits, n + 1)[least]
    return float(np.sum(binom.pmf(others, n, q) * binom.sf(wanted - 1, n, p)))


def samples_needed(*, claimed: Number, true: Number, power_wanted: Number = 0.99, confidence: Number = 0.999) -> int:
    """How many fresh releases on each data set expose a false claim about Laplace noise, to about one percent.

    `audit` needs twice as many, because it searches for its event on another half.

    Args:
        claimed: The epsilon that is claimed.
        true: The epsilon that the noise really has.
        power_wanted: The probability with which the claim shall be exposed.
        confidence: The confidence of the audit.

    Returns:
        A number of releases.

    Raises:
        InvalidParameter: If the claim is true, or so nearly true that too many releases would be needed.

    >>> samples_needed(claimed=1, true=2) < 500 < samples_needed(claimed=1, true=1.5)
    True
    """
    wanted = checks.probability(power_wanted=power_wanted)
    if checks.positive(true=true) <= checks.not_negative(claimed=claimed):
        raise InvalidParameter("true", true, "an honest claim cannot be exposed", "Write true greater than claimed.")
    low, high = 1, 64
    while power(claimed=claimed, true=true, samples=high, confidence=confidence) < wanted:
        low, high = high, 2 * high
        if high > MOST_SAMPLES:
            raise InvalidParameter(
                "true", true, f"{MOST_SAMPLES} samples do not expose it", "Compare claims further apart."
            )
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        enough = power(claimed=claimed, true=true, samples=middle, confidence=confidence) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def _likely(n: int, p: float) -> NDArray[Any]:
    """All counts but those beyond twelve deviations and some more: their probability is below about e^-72."""
    import numpy as np

    spread = 12 * math.sqrt(n * p * (1 - p)) + 80
    return np.arange(max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread)) + 1)
