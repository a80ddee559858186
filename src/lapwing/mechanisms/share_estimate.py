"""From randomized answers back to shares: one formula for every protocol with two probabilities per answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from lapwing import checks
from lapwing.errors import InvalidParameter


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareEstimate:
    """A share, with two standard errors and two intervals, because there are two questions.

    About *these respondents* only the coins are random (`population_…`). About the people they were drawn from at
    random, the drawing adds to the error (`sample_…`).

    Attributes:
        share: The estimated share. It may lie outside [0, 1] unless it was clipped.
        n: How many answers it is made of.
        confidence: Of both intervals.
        population_standard_error: Of the share among these respondents.
        sample_standard_error: Of the share among the people they were drawn from.
        population_interval: For the share among these respondents, low and high; by the normal approximation.
        sample_interval: For the share among the people they were drawn from, low and high; Wilson's.

    >>> from lapwing.mechanisms import RandomizedResponse
    >>> estimate = RandomizedResponse.from_coins(0.5, 0.5).estimate(450, n=1000)
    >>> round(estimate.share, 3), isinstance(estimate, ShareEstimate)
    (0.4, True)
    """

    share: float
    n: int
    confidence: float
    population_standard_error: float
    sample_standard_error: float
    population_interval: tuple[float, float]
    sample_interval: tuple[float, float]

    def __str__(self) -> str:
        """The estimate in words, for the larger question: the people the respondents were drawn from."""
        low, high = (f"{100 * end:.1f} %" for end in self.sample_interval)
        return f"{100 * self.share:.1f} % ({low} to {high} at {100 * self.confidence:g} % confidence, {self.n} answers)"


def estimate_share(
    yes: int, n: int, *, if_yes: Fraction, if_no: Fraction, confidence: float = 0.95, clip: bool = False
) -> ShareEstimate:
    """The share p of true yes behind `yes` of `n` answers, if people say yes with probability if_yes or if_no.

    Accuracy: p̂ = (yes/n − if_no)/(if_yes − if_no) is unbiased, and of maximum likelihood where it lies in [0, 1]. Its
    variance is λ(1−λ)/(n·(if_yes − if_no)²) for a random sample, with λ estimated by yes/n, and for fixed respondents
    (p·if_yes(1−if_yes) + (1−p)·if_no(1−if_no))/(n·(if_yes − if_no)²), with p estimated by p̂, cut to [0, 1]. The
    intervals are approximate: Wilson's for the sample, the normal one for the population.
    """
    n = checks.whole(n=n)
    if checks.whole(minimum=0, yes=yes) > n:
        raise InvalidParameter("yes", yes, f"is more than the {n} answers", "Pass the number of yes among n answers.")
    failure = 1 - checks.probability(confidence=confidence)
    z = -NormalDist().inv_cdf(max(float(failure / 2), 1e-300))
    spread = float(if_yes - if_no)
    observed = Fraction(int(yes), n)
    share = float((observed - if_no) / (if_yes - if_no))
    inside = min(max(share, 0.0), 1.0)
    coins = inside * float(if_yes * (1 - if_yes)) + (1 - inside) * float(if_no * (1 - if_no))
    of_population = math.sqrt(coins / n) / spread
    of_sample = math.sqrt(float(observed * (1 - observed)) / n) / spread
    middle, half = _wilson(float(observed), n, z)
    wilson = ((middle - half - float(if_no)) / spread, (middle + half - float(if_no)) / spread)
    normal = (share - z * of_population, share + z * of_population)
    return ShareEstimate(
        share=inside if clip else share,
        n=n,
        confidence=float(confidence),
        population_standard_error=of_population,
        sample_standard_error=of_sample,
        population_interval=_cut(normal) if clip else normal,
        sample_interval=_cut(wilson) if clip else wilson,
    )


def _wilson(observed: float, n: int, z: float) -> tuple[float, float]:
    """Middle and half-width of Wilson's score interval for a binomial share."""
    shrink = 1 / (1 + z * z / n)
    half = z * math.sqrt(observed * (1 - observed) / n + z * z / (4 * n * n))
    return (observed + z * z / (2 * n)) * shrink, half * shrink


def _cut(interval: tuple[float, float]) -> tuple[float, float]:
    low, high = interval
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
