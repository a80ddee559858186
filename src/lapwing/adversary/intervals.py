"""How much a count proves: Clopper–Pearson bounds, the epsilon they show, and the samples it takes to show a lie.

If an event has probability p on one data set and q on its neighbour, an (ε,δ)-private mechanism has p ≤ e^ε·q + δ. A
lower bound on p and an upper bound on q therefore give ε ≥ ln((p − δ)/q), with the confidence of the two bounds
together.

References: Clopper and Pearson, Biometrika 26 (1934); Jagielski, Ullman and Oprea, NeurIPS 2020 (auditing by
hypothesis tests).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SAMPLES = 1 << 24


def lower_limit(hits: Any, trials: int, alpha: float) -> NDArray[Any]:
    """A probability that is larger than the true one in at most a share `alpha` of all experiments."""
    import numpy as np
    from scipy.special import betaincinv

    hits = np.asarray(hits)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, alpha), 0.0)


def upper_limit(hits: Any, trials: int, alpha: float) -> NDArray[Any]:
    """A probability that is smaller than the true one in at most a share `alpha` of all experiments."""
    import numpy as np
    from scipy.special import betainccinv

    hits = np.asarray(hits)
    return np.where(hits < trials, betainccinv(hits + 1, np.maximum(trials - hits, 1), alpha), 1.0)


def epsilon_shown(hits: Any, others: Any, trials: int, alpha: float, delta: float = 0.0) -> NDArray[Any]:
    """The epsilon that `hits` of `trials` on one data set and `others` on its neighbour prove; −∞ for nothing.

    Both limits hold together except with probability 2·alpha.
    """
    import numpy as np

    p, q = lower_limit(hits, trials, alpha) - delta, upper_limit(others, trials, alpha)
    return np.asarray(np.log(np.where(p > 0, p, 1.0) / q, where=p > 0, out=np.full(np.shape(q), -np.inf)))


def ceiling(trials: int, alpha: float, delta: float = 0.0) -> float:
    """The most that so many trials can show, when one data set always and the other never lets the event happen."""
    return float(epsilon_shown(trials, 0, trials, alpha, delta))


def power(*, claimed: Number, true: Number, samples: int, confidence: Number = 0.999) -> float:
    """The probability that `samples` fresh releases per data set expose Laplace noise that loses `true`, not `claimed`.

    The event is the best one, y ≤ the smaller of the two true answers: p = 1/2 against q = e^−true / 2. It is fixed in
    advance, in one direction; what the confidence leaves is shared by the two limits.

    >>> power(claimed=1, true=2, samples=500) > 0.99
    True
    """
    import numpy as np
    from scipy.stats import binom

    epsilon, actual = float(checks.not_negative(claimed=claimed)), float(checks.positive(true=true))
    n = checks.whole(samples=samples)
    alpha = float(1 - checks.probability(confidence=confidence)) / 2
    p, q = 0.5, math.exp(-actual) / 2
    hits, others = _likely(n, p), _likely(n, q)
    limits = lower_limit(hits, n, alpha)
    least = np.searchsorted(limits, math.exp(epsilon) * upper_limit(others, n, alpha), side="right")
    wanted = np.append(hits, n + 1)[least]
    return float(np.sum(binom.pmf(others, n, q) * binom.sf(wanted - 1, n, p)))


def samples_needed(*, claimed: Number, true: Number, power_wanted: Number = 0.99, confidence: Number = 0.999) -> int:
    """The fresh releases per data set that expose a claim with the power wanted, to about one percent.

    An audit needs twice as many, because it searches its event on another half.

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
