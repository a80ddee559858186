"""A guarantee in words: what an attacker can learn about one person, at worst.

People understand odds better than epsilon or samples of noisy output (docs/privacy.md names the study). Every
number here is a bound for an attacker who knows the records of everybody else. It is rounded to the side on which the
sentence stays true.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.exact import float_down, float_up
from lapwing.privacy.bounds import exp_neg_down, exp_neg_up
from lapwing.privacy.losses import ApproxDP, Loss, PureDP, as_loss, below_one, refuse_large_delta
from lapwing.privacy.notation import at_most, written_down, written_up


@dataclass(frozen=True, slots=True)
class Explanation:
    """The same facts in two forms.

    Attributes:
        text: Sentences to read.
        data: The numbers as plain JSON, for charts.

    >>> from lapwing.privacy import PureDP
    >>> PureDP(1).explain().data["out_of_100_after"]
    74
    """

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

    Under add_remove, an attacker wants to know whether somebody is in the data. Under replace, the attacker wants to
    know what somebody's record says. If a loss is stated under add_remove, `loss.to_replace().explain()` answers the
    second question: changing a record means removing one and adding another. Where exact numbers were published
    (`Trust.except_published`), they may settle either question. Then the words are about two records that lead to the
    same published numbers, under both relations.

    Args:
        loss: The loss.
        prior: How sure the attacker was before the release, between 0 and 1.
        alpha: The false-alarm rate of the attacker's test.
        delta: Used to read a loss as (ε,δ) that is stated otherwise. A concentrated loss with a delta of its own is
            read at twice that, if `delta` is less.
        population: A public number of units. A delta that could publish one of them is refused.

    Returns:
        What an attacker can learn about one unit, at worst: in words, and as data.

    Raises:
        InvalidParameter: If `loss` is not a loss, `prior` or `alpha` is not between 0 and 1, or the delta is too large
            for `population`. Also if some of the noise behind it came from a seed (`Trust.seeded`), as in a sum of
            charges of a ledger: then nothing is promised.

    >>> from lapwing.privacy import PureDP
    >>> explain(PureDP(1), prior=0.1).data["out_of_100_after"]
    24
    """
    _promising(as_loss(loss))
    belief, level = checks.probability(prior=prior), checks.probability(alpha=alpha)
    read = beyond_published(loss)
    pair = _pair(read, delta)
    refuse_large_delta(_pair(loss, delta).delta, population)  # also where `read` is about a group of two
    low, high = posterior(pair.epsilon, belief)
    curve = _guarantees(read, pair)
    power = _power(curve, level)
    data: dict[str, Any] = {
        "loss": str(loss),
        "kind": type(loss).__name__,
        "relation": read.relation,
        "unit": loss.unit,
        "epsilon": _finite(float_up(pair.epsilon)),
        "delta": float_up(pair.delta),
        "odds_factor": _exp_float(pair.epsilon),
        "prior": float(belief),
        "posterior_low": float_down(low),
        "posterior_high": float_up(high),
        "alpha": float(level),
        "power": float_up(power),
        "out_of_100_before": math.floor(100 * belief),
        "out_of_100_after": math.ceil(100 * high),
        "out_of_100_found": math.ceil(100 * power),
        "trade_off": [[i / 20, max(0.0, float_down(1 - _power(curve, Fraction(i, 20))))] for i in range(21)],
    }
    if loss.trust is not None:
        data["trust"] = loss.trust.to_dict()
    return Explanation(_text(loss, read, pair, data), data)


def _promising(loss: Loss) -> None:
    """Refuse a loss that promises nothing, because somebody may be able to compute the noise."""
    if loss.trust is not None and loss.trust.seeded:
        why = "some of the noise that it counts came from a seed, so nothing can be promised"
        raise InvalidParameter("loss", str(loss), why, "Explain the loss of an answer whose noise is secret.")


def beyond_published(loss: Loss) -> Loss:
    """The loss that words are about. Where exact numbers were published, that is what it leaves of somebody's record.

    Proof: who takes part can be told from an exact count, so no sentence about that holds. Between two tables that
    agree in all published numbers and differ in the data of one unit, the other answers have the loss of a group of
    two (`to_replace`), and the published numbers are equal.
    """
    return _doubled(loss, Loss.to_replace) if _has_published(loss) else loss


def _has_published(loss: Loss) -> bool:
    """Whether exact numbers were published beside the releases of this loss."""
    return loss.trust is not None and bool(loss.trust.published)


_ALMOST_ONE = 1 - Fraction(1, 2**53)


def for_two(loss: Loss) -> Loss:
    """The guarantee for two units together; as (ε,δ) where no other one is proven.

    Its delta is almost 1, which promises nothing, where the delta of a group of two would be 1 or more.
    """
    return _doubled(loss, lambda each: each.for_group(2))


def _doubled(loss: Loss, doubling: Callable[[Loss], Loss]) -> Loss:
    """What one way of doubling makes of a loss, or of its (ε,δ) where it has no such form of its own."""
    try:
        return doubling(loss)
    except (UnsupportedConversion, InvalidParameter):
        pair = _pair(loss, 1e-6)
    try:
        return doubling(pair)
    except InvalidParameter:
        sure = doubling(replace(pair, delta=Fraction(0)))
        return ApproxDP(_pair(sure, 0).epsilon, _ALMOST_ONE, **sure.frame)


def _pair(loss: Loss, delta: Number) -> ApproxDP:
    """The loss as (ε,δ)."""
    if isinstance(loss, ApproxDP):
        return loss
    if isinstance(loss, PureDP):
        return loss.to_approx(0)
    own = Fraction(getattr(loss, "delta", 0))
    return loss.to_approx(max(below_one(delta=delta), min(2 * own, (own + 1) / 2)))


def posterior(epsilon: Fraction, prior: Fraction) -> tuple[Fraction, Fraction]:
    """The lowest and highest belief that an ε-DP answer can leave behind, rounded outwards.

    Proof: for a reader who knows all other records, the statement decides between two neighbours, or mixtures of such
    pairs; Bayes' rule multiplies the odds π/(1−π) by a likelihood ratio between e^−ε and e^ε. A reader who takes the
    others' records for evidence about this one may learn more, but would do so without it as well.

    For (ε,δ) this is not a bound outside an event of probability δ: randomized response at slightly more than ε passes
    it by a little most of the time. What holds (KOV): the two outputs are (1−δ)A + δL and (1−δ)B + δL′ with A, B within
    e^±ε of each other. With L and L′ replaced by one distribution C, they obey the bound, and each has moved by at most
    δ in total variation. That is the release for which they hold.
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
    return _finite(float_up(1 / down)) if down else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(loss: Loss, read: Loss, pair: ApproxDP, data: Mapping[str, Any]) -> str:
    unit = loss.unit
    who, span, these = spanned(unit)
    published, part = _has_published(loss), f" of {these}" if span else ""
    if read.relation == "add_remove":
        change = f"one {who}'s data of {these} are added or removed" if span else f"one {who} joins or leaves"
        about, test = f"that {present(unit)}", f"for whether {present(unit)}"
    else:
        change = f"one {who}'s record{part} is replaced by another" if span else f"one {who} is replaced by another"
        about, test = f"of what the record of a given {who}{part} says", f"of what a given {who}'s record{part} says"
        if published:
            change += " and the published numbers stay the same"
            about, test = "of the first, and otherwise of the second,", "between two such records"
    belief = _belief(pair.epsilon, about, data)
    if published:
        belief = f"{two_records(who, part)} A{belief.removeprefix('a')}"
    beyond = (f" from any {span}" if span else "") + (" beyond the published numbers" if published else "")
    at = "" if isinstance(read, (PureDP, ApproxDP)) else f" at δ = {written_up(pair.delta, 3)}"
    read_at = f" (ε = {written_up(pair.epsilon, 4)}{at})" if at or read is not loss else ""
    lines = [
        f"{loss}: what an attacker can learn about one {who}{beyond}, at worst.",
        f"Likelihood{read_at}: if {change}, {_factor(data['odds_factor'])} times as likely.",
        f"Belief: {belief} {whose_belief(who)}",
        f"Test: with {_percent(data['alpha'], written_down)} false alarms, the best test {test} "
        f"{'may have' if data['out_of_100_found'] >= 100 else 'has'} a power of {at_most(data['out_of_100_found'])}.",
    ]
    if loss.trust is not None:
        lines.append(f"Trust: {loss.trust}.")
    if pair.delta:
        lines.append(
            f"Exception: with probability at most {written_up(pair.delta, 3)}, the answer is drawn without the "
            "limits of likelihood and belief, and may reveal anything. The test includes this case."
        )
    return "\n".join(lines)


def whose_belief(who: str) -> str:
    """Which attackers a limit on beliefs is about: what others' data tell of this unit is not limited by it.

    >>> whose_belief("patient").partition(". ")[2]
    "For one who knows less, it holds if others' data do not depend on this patient's."
    """
    return (
        "This holds for an attacker who knows everybody else's data. "
        f"For one who knows less, it holds if others' data do not depend on this {who}'s."
    )


def two_records(who: str, part: str) -> str:
    """What an attacker decides between where exact numbers were published: these alone may settle other questions.

    >>> two_records("patient", "")
    'Take two possible records of a given patient that lead to the same published numbers.'
    """
    return f"Take two possible records{part} of a given {who} that lead to the same published numbers."


_SPAN = re.compile(r"(?P<who>.+) in any (?P<span>single \w+|\d+ consecutive \w+)", re.DOTALL)
"""How streams name a unit of which some steps are protected; other words of an owner are left as they are."""


def spanned(unit: str) -> tuple[str, str, str]:
    """A unit without the steps that are protected, these steps, and a word that refers back to them.

    >>> spanned("patient"), spanned("patient in any 7 consecutive days")
    (('patient', '', ''), ('patient', '7 consecutive days', 'these days'))
    """
    match = _SPAN.fullmatch(unit)
    if match is None:
        return unit, "", ""
    span = match["span"]
    return match["who"], span, f"{'this' if span.startswith('single ') else 'these'} {span.rpartition(' ')[2]}"


def present(unit: str) -> str:
    """That a unit is in the data; if only some steps of it are protected, that it is in the data of these.

    >>> present("patient"), present("patient in any 7 consecutive days")
    ('a given patient is in the data', 'a given patient is in the data of these days')
    """
    who, _, these = spanned(unit)
    return f"a given {who} is in the data{f' of {these}' if these else ''}"


def _factor(factor: float | None) -> str:
    if factor is None:
        return "an answer may become any number of"
    return f"no answer becomes more than {written_up(factor, 4)}"


def _belief(epsilon: Fraction, about: str, data: Mapping[str, Any]) -> str:
    """How sure an attacker can become, and how sure one stays at least.

    Both limits are in whole percent, rounded outwards; for a prior below 10 % they have three digits. The prior is
    rounded down. The upper limit is that of the prior itself, which is no less, and the lower one is that of the
    rounded prior, which is no more.
    """
    before = _percent(data["prior"], written_down)
    least, _ = posterior(epsilon, Fraction(before.removesuffix(" %")) / 100)
    who = f"an attacker who was {before} sure {about} can become"
    if 10 <= data["out_of_100_before"] < 99:
        low = f"{math.floor(100 * least)} %"
        most = at_most(data["out_of_100_after"])
    else:
        low, high = _percent(float_down(least), written_down), _percent(data["posterior_high"], written_up)
        most = f"more than {max('99 %', before)}" if high == "100 %" else f"at most {high}"
    if low == "0 %":
        return f"{who} {most} sure, or less than 1 % sure."
    return f"{who} {most} sure, and stays at least {low} sure."


def _percent(chance: float, written: Callable[[float, int], str]) -> str:
    return f"{written(100 * chance, 3)} %"
