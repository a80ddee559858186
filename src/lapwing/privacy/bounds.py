"""The inequalities behind every conversion, in exact rationals, each rounded upwards.

Throughout, `epsilon` and `delta` describe a guarantee we have and `target` one we ask for. Results are upper bounds:
where a formula needs e^x or ln x, the enclosures of `lapwing.exact` supply the end that makes the loss larger.
Exponentials are taken of negative numbers only, so that no epsilon is too large to handle.

References: Kairouz, Oh, Viswanath 2015 ("KOV"); Bun, Steinke 2016; Mironov 2017; Canonne, Kamath, Steinke 2020 ("CKS").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from lapwing.exact import exp_down, exp_up, float_up, ln_down, ln_up, sqrt_up

ZERO, ONE = Fraction(0), Fraction(1)

_NEGLIGIBLE_EXPONENT = 1024
_NEGLIGIBLE = Fraction(1, 1 << 1477)  # more than e^-1024, less than the smallest positive float


def tidy(value: Fraction) -> Fraction:
    """The value itself, or, once its denominator passes 512 bits, a slightly larger one of 128 significant bits."""
    if value.denominator.bit_length() <= 512:
        return value
    bits = 128 + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)


def exp_neg_up(x: Fraction) -> Fraction:
    """A rational of at least e^-x, for x ≥ 0."""
    return exp_up(-x) if x <= _NEGLIGIBLE_EXPONENT else _NEGLIGIBLE


def exp_neg_down(x: Fraction) -> Fraction:
    """A rational of at most e^-x, for x ≥ 0."""
    return exp_down(-x) if x <= _NEGLIGIBLE_EXPONENT else ZERO


def delta_at(epsilon: Fraction, delta: Fraction, target: Fraction) -> Fraction:
    """The least delta such that (epsilon, delta)-DP implies (target, delta)-DP.

    Proof: every (ε,δ)-DP mechanism post-processes, for each pair of neighbours, the one that reveals everything with
    probability δ and otherwise answers by randomized response at ε (KOV, Theorem 3.4). The hockey-stick divergence of
    that pair at t ≤ ε is δ + (1−δ)·(e^ε − e^t)/(1 + e^ε).
    """
    if target >= epsilon:
        return delta
    gap = (1 - exp_neg_down(epsilon - target)) / (1 + exp_neg_down(epsilon))
    return delta + (1 - delta) * gap


def epsilon_at(epsilon: Fraction, delta: Fraction, target: Fraction) -> Fraction | None:
    """The least epsilon such that (epsilon, delta)-DP implies (epsilon, target)-DP; None when target < delta.

    Proof: solve `delta_at` for t: e^t = e^ε·(1 − s − s·e^−ε) with s = (target − δ)/(1 − δ).
    """
    if target < delta:
        return None
    slack = (target - delta) / (1 - delta)
    share = 1 - slack - slack * exp_neg_down(epsilon)
    if slack == 0 or share <= 0:
        return epsilon if slack == 0 else ZERO
    return min(epsilon, max(ZERO, epsilon + ln_up(share)))


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction | None:
    """δ·(1 + e^ε + … + e^((k−1)ε)), the delta of a group of k; None when it passes every probability.

    Proof: along a path of k neighbours P₀…P_k, P₀(S) ≤ e^ε·P₁(S) + δ ≤ … ≤ e^(kε)·P_k(S) + δ·Σ e^(iε). The textbook
    k·e^((k−1)ε)·δ bounds each term by the last.
    """
    if delta == 0:
        return ZERO
    if size * epsilon > _NEGLIGIBLE_EXPONENT:
        return None
    terms = size * exp_up((size - 1) * epsilon)
    ratio_less_one = exp_down(epsilon) - 1
    if ratio_less_one > 0:
        terms = min(terms, (exp_up(size * epsilon) - 1) / ratio_less_one)
    return delta * terms


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + q(e^ε − 1)): what sampling at rate q leaves of epsilon (Balle, Barthe, Gaboardi 2018, Theorems 8, 9)."""
    return min(epsilon, max(ZERO, epsilon + ln_up(rate + (1 - rate) * exp_neg_up(epsilon))))


def pure_renyi(epsilon: Fraction, order: Fraction) -> Fraction:
    """The largest Rényi divergence of an order between outputs of an ε-DP mechanism on neighbours.

    Proof: randomized response at ε dominates (KOV), and its divergence is
    ln((e^(αε) + e^((1−α)ε))/(1 + e^ε))/(α−1) = ε + ln((1 + e^−(2α−1)ε)/(1 + e^−ε))/(α−1). It is at most αε²/2 (Bun and
    Steinke, Proposition 3.3) and at most ε; for tiny ε those are sharper than the rounding of the logarithm.
    """
    ratio = (1 + exp_neg_up((2 * order - 1) * epsilon)) / (1 + exp_neg_down(epsilon))
    return min(epsilon, order * epsilon**2 / 2, max(ZERO, epsilon + ln_up(ratio) / (order - 1)))


def renyi_epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """ε with (ε,δ)-DP from Rényi DP at one order: τ + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α−1) (CKS, Proposition 12)."""
    log_terms = ln_up(1 - 1 / order) + (ln_up(1 / delta) - ln_down(order)) / (order - 1)
    return max(ZERO, divergence + log_terms)


def renyi_delta_at(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """δ with (ε,δ)-DP from Rényi DP at one order: e^((α−1)(τ−ε))·(1 − 1/α)^α/(α−1) (CKS, Proposition 12)."""
    exponent = (order - 1) * (divergence - epsilon + ln_up(1 - 1 / order)) - ln_down(order)
    return ONE if exponent >= 0 else exp_neg_up(-exponent)


def total_variation(divergence: Fraction) -> Fraction:
    """A bound on the total variation distance, hence on δ at any ε ≥ 0, from a bound on the KL divergence.

    Proof: √(KL/2) (Pinsker) and √(1 − e^−KL) (Bretagnolle, Huber 1979). A Rényi divergence of order above 1 bounds KL.
    """
    return sqrt_up(min(divergence / 2, 1 - exp_neg_down(divergence)))


def zcdp_epsilon_at(rho: Fraction, delta: Fraction) -> Fraction | None:
    """The ε of (ε,δ)-DP that ρ-zCDP implies, over all Rényi orders; None when δ = 0 leaves none.

    Proof: ρ-zCDP is Rényi DP with divergence αρ at every order α, so each α gives a valid ε. A float search proposes
    the order; the bound is then evaluated at exactly that order, upwards.
    """
    if rho == 0:
        return ZERO
    if delta == 0:
        return None
    if total_variation(rho) <= delta:
        return ZERO
    log_inverse, rate = float(ln_up(1 / delta)), _as_float(rho)

    def proposed(excess: float) -> float:
        order = 1 + excess
        return order * rate + math.log(excess / order) + (log_inverse - math.log(order)) / excess

    order = _best_order(proposed, math.sqrt(max(log_inverse, 1e-6) / rate))
    return renyi_epsilon_at(order, order * rho, delta)


def zcdp_delta_at(rho: Fraction, epsilon: Fraction) -> Fraction:
    """The δ of (ε,δ)-DP that ρ-zCDP implies, over all Rényi orders (argument as in `zcdp_epsilon_at`)."""
    if rho == 0:
        return ZERO
    rate, offset = _as_float(rho), min(float_up(epsilon), 1e200)

    def proposed(excess: float) -> float:
        order = 1 + excess
        return excess * (order * rate - offset + math.log(excess / order)) - math.log(order)

    order = _best_order(proposed, max(offset / (2 * rate), 1e-3))
    return min(total_variation(rho), renyi_delta_at(order, order * rho, epsilon))


def _as_float(rho: Fraction) -> float:
    return min(max(float_up(rho), 1e-200), 1e200)


def _best_order(proposed: Callable[[float], float], start: float) -> Fraction:
    """An order 1 + x where `proposed(x)` is nearly least, searched on a logarithmic scale around a first guess."""
    centre = math.log(min(max(start, 1e-120), 1e120))
    low, high = centre - 12, centre + 12
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = proposed(math.exp(left)), proposed(math.exp(right))
    for _ in range(60):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = proposed(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = proposed(math.exp(right))
    mantissa, exponent = math.frexp(math.exp((low + high) / 2))
    return 1 + Fraction(round(mantissa * 2**30)) * Fraction(2) ** (exponent - 30)
