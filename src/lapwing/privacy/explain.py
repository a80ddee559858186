"""A guarantee in words: what a sceptic may learn about one person, at worst.

People understand odds ("out of 100 …") better than epsilon or samples of noisy output (see the user studies named in
docs/privacy.md). Every number here is a bound that holds whatever else the reader of a release knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.exact import float_down, float_up
from lapwing.privacy.bounds import exp_neg_down, exp_neg_up
from lapwing.privacy.losses import ApproxDP, Loss, PureDP, refuse_large_delta


@dataclass(frozen=True, slots=True)
class Explanation:
    """The same facts twice: `text` to read, `data` (plain JSON) to draw."""

    text: str
    data: Mapping[str, Any]

    def __str__(self) -> str:
        return self.text


def explain(
    loss: Loss,
    *,
    prior: Number = 0.5,
    alpha: Number = 0.05,
    delta: Number = 1e-6,
    population: int | None = None,
) -> Explanation:
    """What a loss means for one unit.

    `prior` is the chance a sceptic gives a statement about somebody before the release, `alpha` the false-alarm rate of
    the best test, `delta` where a loss that has none of its own is read as (ε,δ). A declared `population` refuses
    deltas that could publish one of its members.
    """
    belief, level = checks.probability(prior=prior), checks.probability(alpha=alpha)
    pair = (
        loss.to_approx(0) if isinstance(loss, PureDP) else loss if isinstance(loss, ApproxDP) else loss.to_approx(delta)
    )
    refuse_large_delta(pair.delta, population)
    low, high = posterior(pair.epsilon, belief)
    curve = _guarantees(loss, pair)
    found = _power(curve, level)
    data: dict[str, Any] = {
        "loss": str(loss),
        "kind": type(loss).__name__,
        "relation": loss.relation,
        "unit": loss.unit,
        "epsilon": float_up(pair.epsilon),
        "delta": float_up(pair.delta),
        "odds_factor": _exp_float(pair.epsilon),
        "prior": float(belief),
        "posterior_low": float_down(low),
        "posterior_high": float_up(high),
        "alpha": float(level),
        "power": float_up(found),
        "out_of_100_before": _of_100(belief),
        "out_of_100_after": _of_100(high),
        "out_of_100_found": _of_100(found),
        "trade_off": [[i / 20, max(0.0, float_down(1 - _power(curve, Fraction(i, 20))))] for i in range(21)],
    }
    return Explanation(_text(loss, data), data)


def posterior(epsilon: Fraction, prior: Fraction) -> tuple[Fraction, Fraction]:
    """The lowest and highest belief that an ε-DP answer can leave behind, rounded outwards.

    Proof: Bayes' rule multiplies the odds π/(1−π) by a likelihood ratio between e^−ε and e^ε.
    """
    down = exp_neg_down(epsilon)
    high = prior / (prior + (1 - prior) * down)
    low = prior * down / (prior * exp_neg_up(epsilon) + (1 - prior))
    return low, high


def power(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> Fraction:
    """The chance of the best test of false-alarm rate alpha to detect one unit, rounded up.

    Proof: 1 − f(α), where f(α) = max(0, 1 − δ − e^ε·α, e^−ε(1 − δ − α)) is the trade-off function of (ε,δ)-DP
    (Wasserman, Zhou 2010; KOV 2015; Dong, Roth, Su 2022); randomized response attains it.
    """
    down = exp_neg_down(epsilon)
    steep = delta + alpha / down if down else Fraction(1)
    flat = 1 - down * (1 - delta - alpha)
    return min(Fraction(1), steep, max(flat, alpha))


def _guarantees(loss: Loss, pair: ApproxDP) -> list[tuple[Fraction, Fraction]]:
    """Some (ε,δ) that the loss implies: each bounds the power of a test, and the least bound counts."""
    if isinstance(loss, (PureDP, ApproxDP)):
        return [(pair.epsilon, pair.delta)]
    steps = [pair.epsilon * i / 16 for i in range(16)]
    return [(pair.epsilon, pair.delta), *((step, Fraction(loss.delta_at(step))) for step in steps)]


def _power(curve: list[tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    return min(power(epsilon, delta, alpha) for epsilon, delta in curve)


def _exp_float(epsilon: Fraction) -> float | None:
    down = exp_neg_down(epsilon)
    value = float_up(1 / down) if down else math.inf
    return value if math.isfinite(value) else None


def _of_100(chance: Fraction) -> int:
    """A count out of 100, rounded up, but 100 only when it is certain."""
    return 100 if chance >= 1 else min(99, math.ceil(100 * chance))


def _text(loss: Loss, data: Mapping[str, Any]) -> str:
    unit, relation = loss.unit, loss.relation
    change = "joins or leaves" if relation == "add_remove" else "is replaced by another"
    others, ones = ("absent", "present") if relation == "add_remove" else ("with one record", "with the other record")
    read_at = "" if isinstance(loss, (PureDP, ApproxDP)) else f" (ε = {data['epsilon']:.4g} at δ = {data['delta']:.3g})"
    lines = [
        f"{loss}: what may be learnt about one {unit}, at worst.",
        f"Odds{read_at}: when one {unit} {change}, no answer becomes more than {_factor(data['odds_factor'])} times as "
        "likely.",
        f"Belief: whoever gives a statement about one {unit} a chance of {data['out_of_100_before']} out of 100 before "
        f"the release gives it at most {data['out_of_100_after']} out of 100 after it ({_percent(data['prior'])} "
        f"becomes {_percent(data['posterior_low'])} to {_percent(data['posterior_high'])}).",
        f"Test: the best test that wrongly accuses {_percent(data['alpha'])} of those {others} finds at most "
        f"{data['out_of_100_found']} out of 100 of those {ones}.",
    ]
    if data["delta"]:
        lines.append(f"Exception: with probability at most {data['delta']:.3g} nothing of this is promised.")
    return "\n".join(lines)


def _factor(factor: float | None) -> str:
    return "any number of" if factor is None else f"{factor:.4g}"


def _percent(chance: float) -> str:
    return f"{100 * chance:.3g} %"
