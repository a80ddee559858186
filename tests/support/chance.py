"""Statistical assertions with a declared false-alarm rate: a correct sampler fails one in a million runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

from scipy import stats

FALSE_ALARM = 1e-6


def assert_follows(draws: Iterable[int], pmf: Callable[[int], float], support: Iterable[int]) -> None:
    """Chi-square goodness of fit; outcomes expected fewer than 20 times are pooled with the rest."""
    counts = Counter(int(draw) for draw in draws)
    total = counts.total()
    observed, expected = [0], [float(total)]
    for outcome in support:
        hope = total * pmf(outcome)
        if hope >= 20:
            observed.append(counts.pop(outcome, 0))
            expected.append(hope)
            expected[0] -= hope
    observed[0] = counts.total()
    if expected[0] < 5:  # too rare to test by chi-square: hardly any may be there
        assert stats.poisson.sf(observed[0] - 1, max(expected[0], 1e-9)) > FALSE_ALARM, (observed[0], expected[0])
        observed, expected = observed[1:], expected[1:]
    if len(observed) < 2:
        return
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    assert stats.chi2.sf(statistic, len(observed) - 1) > FALSE_ALARM, statistic


def assert_share(successes: int, trials: int, probability: float) -> None:
    """A binomial count is compatible with its probability."""
    assert stats.binomtest(int(successes), trials, probability).pvalue > FALSE_ALARM, (successes, trials, probability)


def assert_seldom(failures: int, trials: int, probability: float) -> None:
    """A binomial count is not too large for a probability that it should not exceed."""
    assert stats.binom.sf(int(failures) - 1, trials, probability) > FALSE_ALARM, (failures, trials, probability)


def assert_mean(draws: Iterable[float], mean: float, variance: float) -> None:
    """A sample mean of many draws is compatible with the theory (normal approximation)."""
    values = [float(draw) for draw in draws]
    z = (math.fsum(values) / len(values) - mean) / math.sqrt(variance / len(values))
    assert 2 * stats.norm.sf(abs(z)) > FALSE_ALARM, z


def laplace_pmf(scale: float) -> Callable[[int], float]:
    """The discrete Laplace probabilities, for tests."""
    a = math.exp(-1 / scale)
    return lambda x: (1 - a) / (1 + a) * math.exp(-abs(x) / scale)


def gaussian_pmf(sigma: float) -> Callable[[int], float]:
    """The discrete Gaussian probabilities, for tests."""
    reach = math.ceil(12 * sigma) + 2
    total = math.fsum(math.exp(-(x * x) / (2 * sigma**2)) for x in range(-reach, reach + 1))
    return lambda x: math.exp(-(x * x) / (2 * sigma**2)) / total
