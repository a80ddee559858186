"""Many reports of one person: RAPPOR with and without a memory.

Every report has fresh noise, so the bits of somebody who reports often stand out. RAPPOR's answer is the permanent
response, which is drawn once and kept (memoised): however many reports there are, they tell no more than it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.checks import Number
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.memo import Memo, new_key
from lapwing.crowd.permanent_response import PermanentResponse
from lapwing.crowd.rappor import Rappor
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, uniform_below

Floats = NDArray[np.float64]
Rows = NDArray[np.uint64]
"""Packed bits, one row for a report: `reports.column("bits")`."""

SITES = tuple(f"site{number}.example" for number in range(16))
TIMES = 100
"""Reports of one person."""
_SHAPE: dict[str, Any] = {"bits": 32, "hashes": 2, "cohorts": 1, "one_if_unset": 0.25, "one_if_set": 0.75}
CHROME = Rappor(permanent_noise=0.5, **_SHAPE)
"""With the noise that Chrome calls normal: f = ½, p = ¼, q = ¾."""


def bit_odds(ones: NDArray[np.int64], reports: int, protocol: PermanentResponse, *, memoised: bool) -> Floats:
    """For each bit the logarithm of how much likelier its reports are if the answer sets it.

    `ones` says in how many of a person's `reports` each bit was one. Without a memory all coins of a report are fresh;
    with it one permanent coin is behind all reports of a bit, and the likelihoods of its two sides are mixed.
    """
    if memoised:
        if_one, if_zero = (_log_coin(ones, reports, protocol.instantaneous_probability(side)) for side in (True, False))
        sides = [protocol.permanent_probability(set) for set in (True, False)]
        said = [np.logaddexp(math.log(side) + if_one, math.log(1 - side) + if_zero) for side in sides]
    else:
        said = [_log_coin(ones, reports, protocol.one_probability(set)) for set in (True, False)]
    return np.asarray(said[0] - said[1], dtype=np.float64)


def bits_set(candidates: Sequence[Any], protocol: PermanentResponse, *, cohort: int = 0) -> NDArray[np.bool_]:
    """Which bits each candidate sets in a cohort: a row for a candidate."""
    table = np.zeros((len(candidates), protocol.width), dtype=np.bool_)
    for row, candidate in zip(table, candidates, strict=True):
        row[protocol.set_places(cohort, candidate)] = True
    return table


def evidence(rows: Rows, places: NDArray[np.bool_], protocol: PermanentResponse, *, memoised: bool = True) -> Floats:
    """How well candidates that set these places explain the reports of one person.

    The logarithm of a likelihood, up to a number that all share; those of independent reports add up.
    """
    if not len(rows) or not len(places):
        raise InvalidParameter("rows", len(rows), "there is nothing to learn from", "Give a report and a candidate.")
    ones = unpack_rows(rows, protocol.width).sum(axis=0, dtype=np.int64)
    odds = bit_odds(ones, len(rows), protocol, memoised=memoised)
    return np.asarray(np.where(places, odds, 0.0).sum(axis=1), dtype=np.float64)


def likeliest(scores: Floats, candidates: Sequence[Any], *, about: str, because: str) -> Conclusion:
    """The candidate that explains most, all having been as likely beforehand."""
    weights, best = np.exp(scores - scores.max()), int(scores.argmax())
    others = float(np.delete(weights, best).sum())
    return Conclusion(about=about, guess=candidates[best], sure=1 / (1 + max(others, 2.3e-16)), because=because)


def repeated_reports(
    rows: Rows,
    candidates: Sequence[Any],
    protocol: PermanentResponse,
    *,
    cohort: int = 0,
    memoised: bool = True,
    about: str = "the target",
) -> Conclusion:
    """Find the answer behind many RAPPOR reports of one person.

    Args:
        rows: The reports of the person, as packed bits (`reports.column("bits")`).
        candidates: The answers that are possible, equally likely beforehand.
        protocol: The protocol of the reports, such as `lapwing.crowd.Rappor`.
        cohort: The cohort of the person, which reports tell.
        memoised: Whether the device keeps a permanent response for all reports. Otherwise each report has fresh
            randomness.
        about: What the conclusion calls the target.

    Returns:
        The likeliest answer, and how sure the attacker is.

    Raises:
        InvalidParameter: If there is no report or no candidate.

    >>> from lapwing.adversary.attacks.attack import repeatable
    >>> from lapwing.adversary.attacks.repeated_reports import CHROME, SITES, fresh_reports
    >>> rows = fresh_reports(CHROME, "site3.example", 100, repeatable("fresh"))
    >>> repeated_reports(rows, SITES, CHROME, memoised=False).guess
    'site3.example'
    """
    scores = evidence(rows, bits_set(candidates, protocol, cohort=cohort), protocol, memoised=memoised)
    because = f"Of {len(candidates)} candidates, it fits {len(rows)} report{'s' * (len(rows) > 1)} best."
    return likeliest(scores, candidates, about=about, because=because)


def survey(lifetime: Number) -> Rappor:
    """RAPPOR with two functions whose permanent noise allows this epsilon in a lifetime: f = 2/(1 + e^(ε/2h))."""
    noise = 2 / (1 + math.exp(float(checks.positive(lifetime=lifetime)) / 4))
    return Rappor(permanent_noise=math.nextafter(noise, 1), **_SHAPE)


def fresh_reports(protocol: Rappor, value: Any, count: int, entropy: Entropy) -> Rows:
    """Reports of one person who tosses all coins anew for every report. **Not private.**"""
    return np.asarray(protocol.randomize([value] * count, entropy).column("bits"))


def memoised_reports(
    protocol: PermanentResponse, value: Any, count: int, entropy: Entropy, *, question: str = "home page"
) -> Rows:
    """Reports of one person whose device keeps its permanent response."""
    permanent = Memo(protocol=protocol, question=question, key=new_key(entropy)).permanent(value)
    return protocol.instantaneous(np.repeat(permanent.reshape(1, -1), count, axis=0), entropy)


def _log_coin(ones: NDArray[np.int64], total: int, probability: Fraction) -> Floats:
    """ln of the likelihood of so many ones among all tosses; 0·ln 0 is 0."""
    likely = (float(probability), float(1 - probability))
    logs = [math.log(p) if p else -math.inf for p in likely]
    parts = [np.where(n > 0, n * log, 0.0) for n, log in zip((ones, total - ones), logs, strict=True)]
    return np.asarray(parts[0] + parts[1], dtype=np.float64)


def reported_again(count: int, protocol: Rappor, rounds: int, entropy: Entropy, *, memoised: bool) -> Rounds:
    """Somebody's home page is one of `SITES`, each as likely; the attacker has many of their reports and names one."""
    reporter, places = memoised_reports if memoised else fresh_reports, bits_set(SITES, protocol)
    won = []
    for truth in uniform_below(len(SITES), rounds, entropy):
        scores = evidence(reporter(protocol, SITES[truth], count, entropy), places, protocol, memoised=memoised)
        won.append(float(scores.argmax() == truth))
    return won


def _forgetful(count: int, rounds: int, entropy: Entropy) -> Rounds:
    return reported_again(count, CHROME, rounds, entropy, memoised=False)


def _memoised(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    return reported_again(TIMES, survey(epsilon), rounds, entropy, memoised=True)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    page, quiet = SITES[uniform_below(len(SITES), entropy=entropy)], survey(1)
    conclusions = [
        repeated_reports(
            fresh_reports(CHROME, page, count, entropy),
            SITES,
            CHROME,
            memoised=False,
            about=f"Ada's home page, {count} report{'s' * (count > 1)}, with fresh randomness each time",
        )
        for count in (1, 10, TIMES)
    ]
    kept = memoised_reports(quiet, page, TIMES, entropy)
    about = f"Ada's home page, {TIMES} reports from a memoised response (epsilon = 1 for a lifetime)"
    return [
        replace(conclusion, truth=page)
        for conclusion in (*conclusions, repeated_reports(kept, SITES, quiet, about=about))
    ]


REPEATED_REPORTS = Attack(
    name="repeated-reports",
    title="Repeated reports: RAPPOR with and without a memory",
    secret=f"which of {len(SITES)} home pages a person has",
    source="Erlingsson, Pihur and Korolova 2014",
    weak={f"{count} reports, with fresh randomness each time": partial(_forgetful, count) for count in (10, TIMES)},
    answer=f"{TIMES} reports from one memoised response",
    promise="epsilon for all reports of a lifetime about one answer, whichever it is (replace)",
    private=_memoised,
    bound=partial(best_guess, prior=Fraction(1, len(SITES))),
    chance=1 / len(SITES),
    example=_example,
    measured="home pages named",
    lesson=(
        "A device that reports repeatedly must keep its random choices. If it randomises once and keeps the result, "
        "the loss of all its reports together has a bound."
    ),
)
