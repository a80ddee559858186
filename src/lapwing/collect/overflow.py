"""How likely a stash shuffle fails: upper bounds, from the exact laws of one queue and of one sum.   Proof: stash.md"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING = 1.001
"""More than doubles lose: sums have positive terms, logarithms of factorials up to 10^10 are exact to 1e-4."""
_NEGLIGIBLE = 1e-40
"""Of the terms of one law; what lies beyond is bounded and added."""


def stash_failure(bucket: int, buckets: int, chunk: int, places: int) -> float:
    """At least the probability that, at some step, more than `places` records of some bucket wait in the stash.

    The queue of one bucket is exact: up to `bucket` records join it at a step, each with probability 1/buckets, and
    `chunk` of them leave. All buckets together by the union bound.
    """
    import numpy as np

    if chunk >= bucket or buckets == 1:
        return 0.0
    if chunk * buckets <= bucket:
        return 1.0
    start, arrivals, beyond = _arrivals(bucket, buckets)
    queue, failed = np.zeros(places + 1), 0.0
    queue[0] = 1.0
    for _ in range(buckets):
        mixed = np.convolve(queue, arrivals)  # the place k holds a queue of start + k − chunk after the step
        empty = max(0, chunk - start)
        if start > chunk:
            mixed = np.concatenate((np.zeros(start - chunk), mixed))
        failed += float(mixed[empty + places + 1 :].sum()) + beyond
        queue = np.zeros(places + 1)
        kept = mixed[empty + 1 : empty + places + 1]
        queue[1 : 1 + len(kept)] = kept
        queue[0] = mixed[: empty + 1].sum()
    return min(1.0, ROUNDING * buckets * failed)


def _arrivals(bucket: int, buckets: int) -> tuple[int, NDArray[Any], float]:
    """The law of the arrivals at one step: its first value, the probabilities from there on, and what is beyond.

    What is left out below is added to the first value, which only lengthens the queue.
    """
    import numpy as np

    share, mode = 1 / buckets, bucket // buckets
    low = high = mode
    while low > 0 and _chance(bucket, share, low) > _NEGLIGIBLE:
        low -= max(1, mode // 64)
    low = max(low, 0)
    while high < bucket and _chance(bucket, share, high) > _NEGLIGIBLE:
        high += max(1, mode // 64)
    high = min(high, bucket)
    law = np.array([_chance(bucket, share, count) for count in range(low, high + 1)])
    if low:
        law[0] += more_than(bucket, 1 - share, bucket - low)
    return low, law, more_than(bucket, share, high)


def window_failure(records: int, buckets: int, window: int) -> float:
    """At least the probability that the first j buckets together hold `window` records more or fewer than their share.

    How many they hold is binomial, exactly; all j together by the union bound.
    """
    total = 0.0
    for first in range(1, buckets):
        expected = first * records // buckets
        total += more_than(records, first / buckets, expected + window)
        total += more_than(records, 1 - first / buckets, records - expected + window)
    return min(1.0, ROUNDING * total)


def more_than(trials: int, share: float, limit: int) -> float:
    """At least P(X > limit) for a binomial X and a limit above its mode: terms fall faster than a geometric series."""
    first = limit + 1
    if first > trials:
        return 0.0
    ratio = (trials - first) / (first + 1) * share / (1 - share)
    if ratio >= 1:
        return 1.0
    return min(1.0, _chance(trials, share, first) / (1 - ratio))


def _chance(trials: int, share: float, count: int) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(ways + count * math.log(share) + (trials - count) * math.log1p(-share))


def decay(bucket: int, buckets: int, chunk: int) -> float:
    """A rate r so that a queue is longer than k with probability at most e^(−r·(k + 1)), at each step (Kingman 1964).

    Any r with E e^(r·(arrivals − chunk)) ≤ 1 will do; this is almost the largest.
    """
    low, high = 0.0, 1.0

    def holds(rate: float) -> bool:
        return bucket * math.log1p(math.expm1(rate) / buckets) <= chunk * rate

    while holds(high) and high < 64:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
