"""Privacy amplification: a mechanism that sees only a secret random sample of the units loses less.

Two pairings are proven and everything else is refused: Poisson sampling with add_remove, a sample of fixed size with
replace. A pure, zCDP or Rényi loss becomes a Rényi curve at whole orders; an (ε,δ) loss stays one.

All bounds grow with the rate, which may therefore be rounded up first.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.exact import exp_up, ln_up
from lapwing.privacy import bounds
from lapwing.privacy.losses import ApproxDP, Loss, PureDP
from lapwing.privacy.renyi import RenyiDP

ORDERS: tuple[int, ...] = (*range(2, 33), *range(36, 65, 4), 80, 96, 128, 192, 256)

_PAIRING = {"poisson": "add_remove", "fixed_size": "replace"}
_LARGEST_EXPONENT = 2000  # orders whose moment exceeds e^2000 never give the best epsilon
_RATE_BITS = 64
_BITS = 192
_ONE = 1 << _BITS


def subsample(loss: Loss, rate: Number, sampling: str) -> Loss:
    """The loss of running the mechanism on a secret sample; see `Loss.subsampled`."""
    share = checks.share(rate=rate)
    if share == 0:
        raise InvalidParameter("rate", rate, "an empty sample answers nothing", "Write a rate above 0, up to 1.")
    checks.one_of(tuple(_PAIRING), sampling=sampling)
    if loss.relation != _PAIRING[sampling]:
        why = f"sampling={sampling!r} is proven under {_PAIRING[sampling]} only, and this loss is about {loss.relation}"
        other = next(word for word, relation in _PAIRING.items() if relation == loss.relation)
        raise UnsupportedConversion(
            loss, "a subsampled loss", why, f'Write sampling="{other}", if that is how you sample.'
        )
    rounded = min(bounds.ONE, Fraction(math.ceil(share * 2**_RATE_BITS), 2**_RATE_BITS))
    if isinstance(loss, ApproxDP):
        epsilon = bounds.amplified_epsilon(loss.epsilon, rounded)
        return ApproxDP(epsilon, rounded * loss.delta, **loss.frame)
    from lapwing.privacy.accountants import PLD, subsampled_gaussian

    if isinstance(loss, PLD):
        return subsampled_gaussian(loss, share, sampling)
    return _subsampled_curve(loss, rounded, sampling)


def _subsampled_curve(loss: Loss, rate: Fraction, sampling: str) -> RenyiDP:
    given = loss.to_renyi(None if isinstance(loss, RenyiDP) else ORDERS)
    last = max((order for order in ORDERS if (at := given.at(order)) is not None and _fits(order, at)), default=None)
    if last is None:
        why = "it has no usable bound at order 2, where amplification starts"
        instead = "List orders from 2 upwards, or write to_approx(delta).subsampled(rate)."
        raise UnsupportedConversion(loss, "a subsampled loss", why, instead)
    orders = [order for order in ORDERS if order <= last]
    moments = _moments(given, last)
    sampled = _poisson(moments, rate) if sampling == "poisson" else _fixed_size(moments, rate, orders)
    epsilons = [_divergence(order, min(sampled[order], _mixed(moments[order], rate))) for order in orders]
    if isinstance(loss, PureDP):
        pure = PureDP(bounds.amplified_epsilon(loss.epsilon, rate)).to_renyi(orders)
        epsilons = [min(pair) for pair in zip(epsilons, pure.epsilons, strict=True)]
    return RenyiDP(orders, epsilons, **loss.frame)


def _fits(order: int, divergence: Fraction) -> bool:
    return (order - 1) * divergence <= _LARGEST_EXPONENT


def _moments(given: RenyiDP, last: int) -> list[int]:
    """E(j) = e^((j−1)ε(j)) for j = 0 … last, with E(0) = E(1) = 1, times 2^_BITS and rounded up."""
    moments = [_ONE, _ONE]
    for j in range(2, last + 1):
        divergence = given.at(j)
        assert divergence is not None
        moments.append(math.ceil(exp_up((j - 1) * divergence) * _ONE))
    return moments


def _mixed(moment: int, rate: Fraction) -> int:
    """1 − q + q·E(α): with probability 1 − q the unit is not seen and the outputs agree; the moment is convex."""
    return math.ceil((1 - rate) * _ONE + rate * moment)


def _divergence(order: int, moment: int) -> Fraction:
    return ln_up(Fraction(moment, _ONE), 160) / (order - 1)


def _poisson(moments: list[int], rate: Fraction) -> list[int]:
    """Σ_j C(α,j)(1−q)^(α−j) q^j·E(j) for α = 0, 1, …: the moments for Poisson sampling under add_remove.

    Every row of the triangle averages neighbours of the row above, rounded up.

    Proof: let Q be the output without the unit and P with it, for one sample of the others; by joint convexity of
    ∫P^α Q^(1−α) it is enough to treat each such sample. To compare are Q and R = (1−q)Q + qP. Write r = P/Q, s = 1/r,
    u = 1 − q + qr and w = 1 − q + qs, all for r > 0.

    (1) ∫R^α Q^(1−α) = E_Q[u^α], whose binomial expansion has E_Q[r^j] ≤ E(j).

    (2) ∫Q^α R^(1−α) = E_Q[u^(1−α)] ≤ c₁·E_Q[u^α] + c₂·E_P[w^α] for c₂ = (2α−1)q/(3 + 2(α−2)q) ≤ 1, c₁ = 1 − c₂, and
    both expectations are bounded as in (1), because ε(α) bounds both directions. To see the inequality, note that
    E_P[w^α] = E_Q[r·w^α] and that h(r) = c₁u^α + c₂·r·w^α − u^(1−α) vanishes at 1, while E_Q[r] = 1; so by Jensen's
    inequality it suffices that h is convex. Now h″ = α(α−1)q²·(c₁u^(α−2) + c₂s³w^(α−2) − u^(−α−1)), and by the
    inequality of means the bracket is at least 0 if F = (c₁(α−2) + α + 1)·ln u + 3c₂·ln s + c₂(α−2)·ln w ≥ 0. Here
    F(1) = 0, and r·u·((1−q)r + q)·F′(r) is a quadratic polynomial in r with a positive leading coefficient
    q(1−q)(2α − 1 − c₂(α+1)), negative at 0, and zero at 1 by the choice of c₂. Hence F falls before 1 and rises after
    it. (For q = 1 the claim is trivial.)
    """
    taken = int(rate * 2**_RATE_BITS)
    left = 2**_RATE_BITS - taken
    means, row = [moments[0]], moments
    while len(row) > 1:
        row = [-(-(left * a + taken * b) >> _RATE_BITS) for a, b in pairwise(row)]
        means.append(row[0])
    return means


def _fixed_size(moments: list[int], rate: Fraction, orders: list[int]) -> dict[int, int]:
    """The moments for a sample of fixed size under replace.

    Proof: Wang, Balle, Kasiviswanathan 2019, Theorem 9, with ε(∞) unbounded:
    1 + q²·C(α,2)·min(4(E(2) − 1), 2E(2)) + Σ_{j≥3} 2q^j·C(α,j)·E(j).
    """
    second = min(4 * (moments[2] - _ONE), 2 * moments[2])
    terms = [0, 0, second, *(2 * moment for moment in moments[3:])]
    guard = 2 * len(terms)  # the binomial coefficients magnify what is rounded here
    powers = [math.ceil((rate**j * terms[j]) * 2**guard) for j in range(len(terms))]
    return {order: _ONE - (-_weighted(order, powers) >> guard) for order in orders}


def _weighted(order: int, powers: list[int]) -> int:
    return sum(math.comb(order, j) * powers[j] for j in range(2, order + 1))
