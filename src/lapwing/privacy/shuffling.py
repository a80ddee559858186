"""Amplification by shuffling: reports without names, in a random order, reveal less about each sender.

All bounds are about the same situation. Each of n honest people sends one report, made by themselves with
replacement-ε₀ local differential privacy (pure). A shuffler that colludes with nobody removes everything that
identifies the sender, and passes the reports on in a random order. What everybody then sees is (ε,δ)-differentially
private under *replace*, with δ chosen and ε computed here, rounded up. Fake reports hide nobody: they are subtracted
from n.

    erlingsson     12·ε₀·√(ln(1/δ)/n), for ε₀ ≤ ½           Erlingsson, Feldman, Mironov and others 2019
    blanket        a part of every report says nothing      Balle, Bell, Gascón, Nissim 2019
    clones_closed  others may send what I would have sent   Feldman, McMillan, Talwar 2021, section 3
    clones         the same, summed instead of estimated    Feldman, McMillan, Talwar 2021, section 3

Proof: shuffling.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.exact import exp_down, exp_up, float_down, float_up, ln_down, ln_up, sqrt_up
from lapwing.privacy.bounds import exp_neg_up
from lapwing.privacy.losses import ApproxDP, Loss, PureDP, below_one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LARGEST_LOCAL = 40
"""No larger local epsilon is amplified: e^-40 of the reports would be clones."""
LARGEST_BATCH = 1 << 40
"""More people hide no worse; they are counted as so many."""
SMALLEST_DELTA = Fraction(1, 10**200)

SLACK = 1e-8
"""Relative, on every probability computed in floats: shuffling.md bounds their error by less."""
_CLOSE = 1e-12  # relative, on quantities that differ from the truth by some hundred roundings at most
_CLOSEST = 4e-14  # relative, on a threshold: less than a step for the largest batch
_TAIL = 2.0**-20  # this part of delta pays for numbers of clones that are not summed
_POINTS, _GROUPS, _FINENESS = 1 << 18, 1 << 11, 1 << 18
_STEPS = 21  # bisections: epsilon exceeds the smallest that can be proven by 2^-21 of it at most
_DEEPEST = 500


@helpful
def shuffled(
    loss: Loss, n: int, delta: Number, *, fakes: int = 0, honest_share: Number = 1, bound: str = "best"
) -> ApproxDP:
    """The central guarantee of a shuffled batch of n reports, each of which costs `loss` where it is made.

    Privacy: (ε,δ) under replace, one report per person. At most `fakes` reports, and at most the share
    1 − `honest_share` of the rest, come from people who do not follow the protocol or work with the observer.

    >>> print(shuffled(PureDP(1, relation="replace"), 100_000, 1e-6))
    ε = 0.0152821, δ = 1e-06 (replace, per person)
    """
    local = local_epsilon(loss)
    chosen = BOUNDS[checks.one_of(tuple(BOUNDS), bound=bound)]
    epsilon = chosen(local, honest_people(n, fakes, honest_share), delta)
    return ApproxDP(min(local, epsilon), _delta(delta), relation="replace", unit=loss.unit, trust=loss.trust)


def local_epsilon(loss: Loss) -> Fraction:
    """The ε₀ of a pure local guarantee under replace; all others are refused."""
    if not isinstance(loss, PureDP):
        why = "amplification by shuffling is proven here for pure local guarantees"
        raise UnsupportedConversion(loss, "a shuffled loss", why, "Pass protocol.privacy_loss() of a local protocol.")
    if loss.relation != "replace":
        why = "a local guarantee compares two answers of the same person, which is the relation replace"
        raise UnsupportedConversion(loss, "a shuffled loss", why, "Write loss.to_replace() if it is removal-LDP.")
    return loss.epsilon


def honest_people(n: int, fakes: int = 0, honest_share: Number = 1) -> int:
    """How many of n reports may be counted on, rounded down.

    >>> honest_people(1000, fakes=10, honest_share=0.9)
    891
    """
    left = checks.whole(n=n) - checks.whole(minimum=0, fakes=fakes)
    honest = math.floor(checks.share(honest_share=honest_share) * left)
    if honest < 1:
        raise InvalidParameter("n", n, "leaves no honest people", "Collect more reports before opening the batch.")
    return honest


def erlingsson(epsilon: Number, n: int, delta: Number) -> Fraction:
    """12·ε₀·√(ln(1/δ)/n), for ε₀ ≤ ½, n ≥ 1000, δ < 1/100 (Erlingsson and others 2019)."""
    local, people, chosen = checks.not_negative(epsilon=epsilon), checks.whole(n=n), _delta(delta)
    if local > Fraction(1, 2):
        raise _outside("epsilon", epsilon, "is above ½, where this theorem ends")
    if people < 1000:
        raise _outside("n", n, "is below 1000, where this theorem begins")
    if not chosen < Fraction(1, 100):
        raise _outside("delta", delta, "is not below 1/100, where this theorem ends")
    return 12 * local * sqrt_up(ln_up(1 / chosen) / people)


def clones_closed(epsilon: Number, n: int, delta: Number) -> Fraction:
    """ln(1 + (e^ε₀−1)/(e^ε₀+1)·(8√(e^ε₀·ln(4/δ)/n) + 8e^ε₀/n)), for ε₀ ≤ ln(n/(16 ln(2/δ)))."""
    local, people, chosen = checks.not_negative(epsilon=epsilon), checks.whole(n=n), _delta(delta)
    enough = Fraction(people) / (16 * ln_up(2 / chosen))
    if local > LARGEST_LOCAL or enough < 1 or local > ln_down(enough):
        raise _outside("epsilon", epsilon, f"is above ln(n/(16 ln(2/δ))) for n = {people:,}, where this theorem ends")
    odds = exp_up(local)
    hidden = 8 * sqrt_up(odds * ln_up(4 / chosen) / people) + 8 * odds / people
    return ln_up(1 + (odds - 1) / (odds + 1) * hidden)


def blanket(epsilon: Number, n: int, delta: Number) -> Fraction:
    """The least ε with b²/(4aγn)·(1 − γ(1 − e^(−2a²/b²)))ⁿ ≤ δ, a = e^ε − 1, b = (e^ε+1)(e^ε₀−e^−ε₀), γ = e^−ε₀."""
    local, people, chosen = checks.not_negative(epsilon=epsilon), checks.whole(n=n), _delta(delta)
    if local == 0:
        return local
    small = local <= LARGEST_LOCAL
    least = _least(lambda target: _blanket_delta(local, people, Fraction(target)) <= chosen, local) if small else None
    if least is None:
        raise _outside("epsilon", epsilon, f"is not reduced by this theorem for n = {people:,}")
    return Fraction(least)


def clones(epsilon: Number, n: int, delta: Number) -> Fraction:
    """The least ε at which the two laws of "hiding among the clones" differ by δ, summed numerically; at most ε₀."""
    local, people, chosen = checks.not_negative(epsilon=epsilon), checks.whole(n=n), _delta(delta)
    if local > LARGEST_LOCAL or chosen < SMALLEST_DELTA or local == 0:
        return local
    allowed = float_down(chosen)
    if clones_delta(local, people, 0, tail=chosen) <= allowed:
        return Fraction(0)
    least = _least(lambda target: clones_delta(local, people, target, tail=chosen) <= allowed, local)
    return local if least is None else min(local, Fraction(least))


def best(epsilon: Number, n: int, delta: Number) -> Fraction:
    """The smallest of all bounds that hold here."""
    epsilons = [clones(epsilon, n, delta)]
    for bound in (erlingsson, blanket, clones_closed):
        try:
            epsilons.append(bound(epsilon, n, delta))
        except InvalidParameter:  # outside the range of that theorem
            continue
    return min(epsilons)


BOUNDS: dict[str, Callable[[Number, int, Number], Fraction]] = {
    "best": best,
    "erlingsson": erlingsson,
    "blanket": blanket,
    "clones_closed": clones_closed,
    "clones": clones,
}


def lower_bound(epsilon: Number, n: int, delta: Number) -> float:
    """What n shuffled answers by randomized response at ε₀ do lose: no bound for all protocols can be below it."""
    import numpy as np

    local, chosen = float_down(_moderate(checks.not_negative(epsilon=epsilon))), float_up(_delta(delta))
    if checks.whole(n=n) > LARGEST_BATCH:  # and not so many instead: they lose more
        raise InvalidParameter("n", n, "is too large to compute", f"Write n={LARGEST_BATCH} or less.")
    others = np.array([n - 1.0])
    keep = 1 / (1 + math.exp(-local))

    def loses(target: float) -> bool:
        k = np.minimum(np.floor((others + 1) * _threshold(local, target, keep)) + 1, others + 1)
        return float(_seen(local, target, others, k, upwards=False, share=keep)[0]) > chosen

    low, high = 0.0, local
    for _ in range(2 * _STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if loses(middle) else (low, middle)
    return low


def least_people(epsilon: Number, target: Number, delta: Number) -> int:
    """How many honest people it takes until `clones` gives at most `target`, to about a millionth of them."""
    local, aimed, chosen = checks.positive(epsilon=epsilon), checks.positive(target=target), _delta(delta)
    if aimed >= local:
        return 1
    goal = aimed * (1 - Fraction(1, 1 << _STEPS - 1))  # `clones` may end up 2^-21 above the least

    def hides(people: int) -> bool:
        return clones_delta(local, people, goal, tail=chosen) <= chosen

    if local > LARGEST_LOCAL or chosen < SMALLEST_DELTA or not hides(LARGEST_BATCH):
        why = f"is not reached with {LARGEST_BATCH:,} reports of ε = {float_up(local):g} each"
        raise InvalidParameter("target", target, why, "Ask for more, or lower the epsilon of the protocol.")
    low, high = 0, 1
    while not hides(high):
        low, high = high, 2 * high
    while high - low > max(1, high >> _STEPS):
        middle = (low + high) // 2
        low, high = (low, middle) if hides(middle) else (middle, high)
    return high


def clones_delta(epsilon: Number, n: int, target: Number, *, tail: Number = Fraction(1, 10**6)) -> float:
    """At least the δ of (target, δ)-privacy of n shuffled reports, and hardly more.

    Numbers of clones that are rarer than about `tail`/2^20 are not looked at; their probability is added.
    """
    local = float_up(_moderate(checks.positive(epsilon=epsilon)))
    aimed = float_down(checks.not_negative(target=target))
    if aimed >= local:
        return 0.0
    rare = float_down(max(checks.probability(tail=tail), SMALLEST_DELTA))
    law = _law_of_clones(local, min(checks.whole(n=n), LARGEST_BATCH) - 1, rare)
    differs = _differs(local, aimed, law.clones)
    return (float((differs * law.weights).sum()) + law.missing) * (1 + SLACK) + 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """Numbers of clones, and at least the probability of each or of any up to the next."""

    clones: Floats
    weights: Floats
    missing: float


@lru_cache(maxsize=8)
def _law_of_clones(local: float, others: int, tail: float) -> _Law:
    """C ~ Bin(others, e^−ε₀) in a window outside of which Bernstein's inequality leaves a small part of `tail`."""
    import numpy as np

    share = float_down(exp_down(-Fraction(local)))  # fewer clones hide less
    mean, variance = others * share, others * share * (1 - share)
    rare = math.log(1 / (tail * _TAIL)) + 1e-6
    reach = rare / 3 + math.sqrt(rare * rare / 9 + 2 * rare * variance)
    first, last = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
    stride = -(-(last - first + 1) // _POINTS)
    begins = np.arange(first, last + 1, stride, dtype=np.float64)
    ends = np.minimum(begins + stride - 1, last)
    likeliest = np.clip(math.floor((others + 1) * share), begins, ends)  # a binomial law rises, then falls
    masses = stride * (1 + SLACK) * _binomial(others, likeliest, share)
    if stride > 1:  # the likeliest number itself may be off by one in floats
        masses *= 1 + SLACK
    wanted = math.ceil((last - first + 1) / max(1, mean / _FINENESS))
    groups = np.unique(np.linspace(0, len(begins), min(_GROUPS, wanted, len(begins)), endpoint=False).astype(np.intp))
    weights = np.add.reduceat(masses, groups)
    missing = tail * _TAIL if first > 0 else 0.0
    weights[-1] += tail * _TAIL  # more clones than `last` hide no less
    return _Law(begins[groups], weights, missing)


def _differs(local: float, target: float, clones: Floats) -> Floats:
    """At least the hockey-stick divergence for each number of clones: the largest over thresholds around the best."""
    import numpy as np

    best = (clones + 1) * _threshold(local, target)
    low, high = np.floor(best * (1 - _CLOSEST)) + 1, np.floor(best * (1 + _CLOSEST)) + 1
    high = np.minimum(high, clones + 1)
    low = np.minimum(low, high)
    seen = _seen(local, target, clones, low, upwards=True)
    return seen if (low == high).all() else np.maximum(seen, _seen(local, target, clones, high, upwards=True))


def _threshold(local: float, target: float, share: float = 0.5) -> float:
    """The part of all at and above which an outcome speaks for the first law by more than e^target."""
    against = share * math.expm1(local + target)
    return against / (against + (1 - share) * math.exp(target) * math.expm1(local - target))


def _seen(local: float, target: float, others: Floats, k: Floats, *, upwards: bool, share: float = 0.5) -> Floats:
    """P(B + Δ ≥ k) − e^t·P(B + 1 − Δ ≥ k) for B ~ Bin(others, share), Δ ~ Bern(e^ε₀/(e^ε₀+1)), rounded as asked.

    It is P(B = k−1)·(α − (e^t − 1)·P(B ≥ k)/P(B = k−1)) with α = (e^ε₀ − e^t)/(e^ε₀ + 1).
    """
    import numpy as np

    sign = 1 if upwards else -1
    gain = math.expm1(local - target) * math.exp(target) / (math.exp(local) + 1) * (1 + sign * _CLOSE)
    cost = math.expm1(target) * (1 - sign * _CLOSE)
    bracket = gain - cost * _tail_ratio(others, k, share, upwards=not upwards)
    return np.maximum(bracket, 0) * _binomial(others, k - 1, share) * (1 + sign * SLACK)


def _tail_ratio(others: Floats, k: Floats, share: float, *, upwards: bool) -> Floats:
    """P(B ≥ k)/P(B = k−1) for B ~ Bin(others, share) and k ≥ (others+1)·share, rounded as asked.

    It is (N−k+1)·x/(b₀ + a₁/(b₁ + a₂/(b₂ + …))) with positive terms (DiDonato, Morris 1992, section 2; the even part
    of DLMF 8.17.22). Breaking off after an even index makes the fraction too small, after an odd one too large.
    """
    import numpy as np

    rest = others - k + 1
    excess = k - (others + 1) * share
    nearest = float((excess / np.sqrt(others + 1)).min())
    depth = min(_DEEPEST, 24 + 2 * math.ceil(4 / max(nearest, 0.05) ** 2)) + (0 if upwards else 1)

    def partial(i: int) -> Floats:
        middle = i * (rest - i) * share / (k + 2 * i - 1) if i else 0.0
        return np.asarray(i + middle + (k + i) * (excess + 1 + i * (2 - share)) / (k + 2 * i + 1))

    value = partial(depth)
    for i in range(depth, 0, -1):
        top = np.maximum(rest - i, 0) * i * share * share * ((k + i - 1) / (k + 2 * i - 1) ** 2) * (others + i)
        value = partial(i - 1) + top / value
    return np.asarray(rest * share / value * (1 + (_CLOSE if upwards else -_CLOSE)))


def _binomial(trials: float | Floats, successes: Floats, share: float) -> Floats:
    """P(B = k) for B ~ Bin(N, share), by deviances, which lose no digits for large N (Loader 2000)."""
    import numpy as np

    failures = trials - successes
    deviance = _deviance(successes, trials * share) + _deviance(failures, trials * (1 - share))
    return np.exp(_excess(np.asarray(trials)) - _excess(successes) - _excess(failures) - deviance)


def _deviance(seen: Floats, expected: float | Floats) -> Floats:
    """x·ln(x/M) − x + M; near M by its series, t²/2 − t³/6 + t⁴/12 − … times M with t = (x−M)/M."""
    import numpy as np

    mean = np.maximum(expected, 1e-300)
    away = seen - mean
    t = np.clip(away / mean, -0.01, 0.01)
    series = np.zeros_like(t)
    for j in range(11, 1, -1):
        series = (1 if j % 2 == 0 else -1) / (j * (j - 1)) + t * series
    far = np.where(seen > 0, seen * np.log(np.maximum(seen, 1) / mean), 0) - away
    return np.asarray(np.where(np.abs(away) < 0.01 * mean, series * t * t * mean, far))


def _excess(k: NDArray[np.floating]) -> Floats:
    """ln k! − k·ln k + k: a table below 16, from there on Stirling's series, off by less than 1/(1680·k⁷)."""
    import numpy as np

    table = np.array([math.lgamma(i + 1) - (i * math.log(i) - i if i else 0) for i in range(16)])
    large = np.maximum(k, 16.0)
    inverse = 1 / large
    square = inverse * inverse
    stirling = 0.5 * np.log(2 * math.pi * large) + inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    return np.asarray(np.where(k < 16, table[np.minimum(k, 15).astype(np.intp)], stirling))


def _blanket_delta(local: Fraction, people: int, target: Fraction) -> Fraction:
    """At least the δ of the privacy blanket: it falls in a and in γ, and rises in b."""
    odds = exp_up(target)
    a, b, gamma = exp_down(target) - 1, (odds + 1) * (exp_up(local) - exp_down(-local)), exp_down(-local)
    if a <= 0:
        return Fraction(1)
    hidden = gamma * (1 - exp_neg_up(2 * a * a / (b * b)))
    return b * b / (4 * a * gamma * people) * exp_neg_up(max(Fraction(0), -people * ln_up(1 - hidden)))


def _least(holds: Callable[[float], bool], local: Fraction) -> float | None:
    """Nearly the least float at which a bound holds, searched downwards from ε₀; None if it does not hold there."""
    high = float_down(local)
    if not holds(high):
        return None
    while holds(low := high / 2):
        high = low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _moderate(epsilon: Fraction) -> Fraction:
    if epsilon > LARGEST_LOCAL:
        raise InvalidParameter("epsilon", epsilon, "gives no protection", f"Write epsilon={LARGEST_LOCAL} or less.")
    return epsilon


def _delta(delta: Number) -> Fraction:
    chosen = below_one(delta=delta)
    if chosen == 0:
        why = "shuffling adds nothing at delta 0: the observer might know every other report"
        raise InvalidParameter("delta", delta, why, "Write delta=1e-6, for example.")
    return chosen


def _outside(name: str, value: object, why: str) -> InvalidParameter:
    return InvalidParameter(name, value, why, 'Write bound="clones", which holds everywhere, or bound="best".')
