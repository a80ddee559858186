"""Renewal: a budget that is renewed every day does not bound the loss. This is the critique of Apple's deployment.

Tang, Korolova, Bai, Wang and Wang (2017) found that every day brought a fresh epsilon for every kind of data. A person
who uses the same emoji every day sends another report about the same answer every day, and the epsilons add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.repeated_reports import likeliest
from lapwing.crowd import hashing
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, uniform_below

Floats = NDArray[np.float64]
EMOJI = ("😀", "😂", "😍", "😢", "😡", "🎉", "💊", "🍼")
DAILY = 2
"""Apple's epsilon for a day of health data; an emoji may cost 4 a day."""
DONATIONS = 4
"""Reports that share the epsilon of a lifetime."""
FUNCTIONS, WIDTH = 1024, 128


def daily_evidence(reports: Reports, candidates: Sequence[Any]) -> Floats:
    """How well each candidate explains each report of a count-mean sketch: a row for a report, logarithms of odds.

    The bit in a candidate's cell speaks for it by e^(ε/2) if it is one, against it by as much if not.
    """
    sketch = reports.protocol
    if not isinstance(sketch, CountMeanSketch):
        raise InvalidParameter(
            "reports", type(sketch).__name__, "are not from a count-mean sketch", "Use CountMeanSketch."
        )
    if not reports.n or not len(candidates):
        why = "there is nothing to learn from"
        raise InvalidParameter("reports", f"<{reports.n}>", why, "Give one report and one candidate at least.")
    items = hashing.hashed_items(list(candidates), sketch._salt)
    functions = hashing.rows(sketch.functions, sketch._salt)[:, reports.column("function")]
    cells = hashing.cells(items, functions[:, :, None], sketch.width)
    bits = unpack_rows(reports.column("bits"), sketch.width)
    speaks = float(np.log(float((1 - sketch.flip) / sketch.flip)))
    return np.where(np.take_along_axis(bits, cells, axis=1), speaks, -speaks)


def renewal(reports: Reports, candidates: Sequence[Any], *, about: str = "the target") -> Conclusion:
    """Find the answer behind one person's reports of many days, if it was the same every day.

    Args:
        reports: The person's reports, made with a `lapwing.crowd.CountMeanSketch`.
        candidates: The answers that are possible, equally likely beforehand.
        about: What the conclusion calls the target.

    Returns:
        The likeliest answer, and how sure the attacker is.

    Raises:
        InvalidParameter: If the reports come from another protocol, or there is no report or no candidate.

    >>> from lapwing.adversary.attacks.attack import repeatable
    >>> from lapwing.crowd import CountMeanSketch
    >>> month = CountMeanSketch(epsilon=2, functions=1024, width=128).randomize(["💊"] * 30, repeatable("month"))
    >>> renewal(month, ["😀", "😂", "💊", "🍼"]).guess
    '💊'
    """
    because = f"Of {len(candidates)} candidates, it fits {reports.n} report{'s' * (reports.n > 1)} best."
    return likeliest(daily_evidence(reports, candidates).sum(axis=0), candidates, about=about, because=because)


def sketch(epsilon: float | Fraction) -> CountMeanSketch:
    """Apple's count-mean sketch, smaller."""
    return CountMeanSketch(epsilon=Fraction(epsilon), functions=FUNCTIONS, width=WIDTH)


def donated(days: int, epsilon: float | Fraction, rounds: int, entropy: Entropy) -> NDArray[np.float64]:
    """Somebody uses one of `EMOJI`, each as likely, every day, and donates it: after each day, whether it is guessed.

    A row for every round, a column for every day; `epsilon` is that of a day.
    """
    truth = uniform_below(len(EMOJI), rounds, entropy)
    reports = sketch(epsilon).randomize([EMOJI[place] for place in truth.repeat(days)], entropy)
    scores = daily_evidence(reports, EMOJI).reshape(rounds, days, len(EMOJI)).cumsum(axis=1)
    return np.asarray(scores.argmax(axis=2) == truth[:, None], dtype=np.float64)


def _renewed(days: int, rounds: int, entropy: Entropy) -> Rounds:
    return [float(won) for won in donated(days, DAILY, rounds, entropy)[:, -1]]


def _lifetime(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """So many donations share it, and then there are no more."""
    return [float(won) for won in donated(DONATIONS, Fraction(epsilon) / DONATIONS, rounds, entropy)[:, -1]]


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    truth = EMOJI[uniform_below(len(EMOJI), entropy=entropy)]
    cases = [(days, Fraction(DAILY), f"epsilon = {DAILY} a day, {days} day{'s' * (days > 1)}") for days in (1, 7, 30)]
    cases.append((DONATIONS, Fraction(2, DONATIONS), f"epsilon = 2 for a lifetime, spent in {DONATIONS} days"))
    return [
        replace(
            renewal(sketch(epsilon).randomize([truth] * days, entropy), EMOJI, about=f"Ada's emoji, {how}"), truth=truth
        )
        for days, epsilon, how in cases
    ]


RENEWAL = Attack(
    name="renewal",
    title="Renewal: an epsilon that is spent anew every day",
    secret=f"which of {len(EMOJI)} emoji a person uses every day",
    source="Tang, Korolova, Bai, Wang and Wang 2017",
    weak={f"epsilon = {DAILY} a day, renewed for {days} days": partial(_renewed, days) for days in (7, 30)},
    answer=f"one epsilon for a lifetime, spent in {DONATIONS} days",
    promise="epsilon for all reports of a lifetime, whatever the answers are (replace)",
    private=_lifetime,
    bound=partial(best_guess, prior=Fraction(1, len(EMOJI))),
    chance=1 / len(EMOJI),
    example=_example,
    measured="emoji named",
    lesson=(
        "Ask what epsilon all reports of a device have together, for as long as it reports. An epsilon per day is "
        "multiplied by the number of days."
    ),
    rounds=1000,
)
