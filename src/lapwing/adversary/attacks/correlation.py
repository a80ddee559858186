"""Correlated metrics: reports about the same secret add up. This is the critique of Chrome's metrics.

“An app banner was shown” and “an app banner was dismissed” both report the site, each with a budget of its own, so a
site is reported twice. The same happens to somebody with several devices, whose permanent responses differ. It also
happens to a value that changes in a known way: it is new to the memory every day, and the attacker can undo the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.repeated_reports import (
    CHROME,
    SITES,
    Rows,
    bits_set,
    evidence,
    likeliest,
    memoised_reports,
    survey,
)
from lapwing.crowd.permanent_response import PermanentResponse
from lapwing.crowd.rappor import Rappor
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, uniform_below

METRICS = ("shown", "dismissed", "clicked", "installed")
TIMES = 20
"""Reports of each metric."""


def correlated(
    streams: Sequence[tuple[Rows, Sequence[Any]]], protocol: PermanentResponse, *, about: str = "the target"
) -> Conclusion:
    """Find the secret behind several streams of RAPPOR reports, each of which depends on it in a known way.

    The evidence of the streams adds up. Each stream has one permanent response, which is kept for all its reports.

    Args:
        streams: For each stream its reports, as packed bits (`reports.column("bits")`), and the list of answers that it
            would have for every possible secret. Metrics about the same site have the same list.
        protocol: The protocol of the reports, such as `lapwing.crowd.Rappor`.
        about: What the conclusion calls the target.

    Returns:
        The likeliest secret, named as in the first list. All were equally likely beforehand.

    Raises:
        InvalidParameter: If there is no stream, or the lists of answers differ in length.

    >>> from lapwing.adversary.attacks.attack import repeatable
    >>> from lapwing.adversary.attacks.correlation import CHROME, streams_of
    >>> streams = streams_of(5, 12, CHROME, repeatable("metrics"))  # twelve metrics about the sixth site
    >>> correlated(streams, CHROME).guess
    'site5.example'
    """
    if not streams or len({len(answers) for _, answers in streams}) != 1:
        why = "must be one or more, with an answer each for the same secrets"
        raise InvalidParameter("streams", f"<{len(streams)}>", why, "Write [(rows, sites), (rows, sites)].")
    scores = sum(evidence(rows, bits_set(answers, protocol), protocol) for rows, answers in streams)
    secrets = streams[0][1]
    because = f"Of {len(secrets)} candidates, it fits {len(streams)} stream{'s' * (len(streams) > 1)} of reports best."
    return likeliest(scores, secrets, about=about, because=because)  # type: ignore[arg-type]  # sum may be 0, says mypy


def tomorrow(days: int) -> list[str]:
    """What is reported after so many days by somebody who began with each of `SITES` and goes on to the next."""
    return [SITES[(place + days) % len(SITES)] for place in range(len(SITES))]


def streams_of(
    secret: int, count: int, protocol: Rappor, entropy: Entropy, *, moving: bool = False
) -> list[tuple[Rows, Sequence[str]]]:
    """Streams about one secret, each with a permanent response of its own: metrics, devices, or days if `moving`."""
    lists = [tomorrow(number if moving else 0) for number in range(checks.whole(count=count))]
    return [(memoised_reports(protocol, answers[secret], TIMES, entropy), answers) for answers in lists]


def _play(count: int, protocol: Rappor, rounds: int, entropy: Entropy, *, moving: bool = False) -> Rounds:
    places = [bits_set(tomorrow(number if moving else 0), protocol) for number in range(count)]
    won = []
    for secret in uniform_below(len(SITES), rounds, entropy):
        streams = streams_of(int(secret), count, protocol, entropy, moving=moving)
        scores = sum(evidence(rows, where, protocol) for (rows, _), where in zip(streams, places, strict=True))
        won.append(float(scores.argmax() == secret))  # type: ignore[union-attr]
    return won


def _separate(count: int, moving: bool, rounds: int, entropy: Entropy) -> Rounds:
    return _play(count, CHROME, rounds, entropy, moving=moving)


def _together(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    return _play(len(METRICS), survey(Fraction(epsilon) / len(METRICS)), rounds, entropy)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    secret, quiet = uniform_below(len(SITES), entropy=entropy), survey(Fraction(1, len(METRICS)))
    conclusions = [
        correlated(
            streams_of(secret, count, CHROME, entropy),
            CHROME,
            about=f"the site Ada visited, {count} metric{'s' * (count > 1)} with a budget each",
        )
        for count in (1, 2, 4, 12)
    ]
    about = f"the site Ada visited, {len(METRICS)} metrics that share epsilon = 1"
    conclusions.append(correlated(streams_of(secret, len(METRICS), quiet, entropy), quiet, about=about))
    return [replace(conclusion, truth=SITES[secret]) for conclusion in conclusions]


CORRELATION = Attack(
    name="correlation",
    title="Correlated metrics: several budgets for one secret",
    secret=f"which of {len(SITES)} sites a person visited",
    source="Erlingsson, Pihur and Korolova 2014",
    weak={
        "2 metrics with a budget each": partial(_separate, 2, False),
        "4 metrics, or devices, with a budget each": partial(_separate, 4, False),
        "12 metrics, or devices, with a budget each": partial(_separate, 12, False),
        "a value that changes every day in a known way, 12 days": partial(_separate, 12, True),
    },
    answer=f"{len(METRICS)} metrics that share one epsilon",
    promise="epsilon for all reports of all metrics together, whichever site it is (replace)",
    private=_together,
    bound=partial(best_guess, prior=Fraction(1, len(SITES))),
    chance=1 / len(SITES),
    example=_example,
    measured="sites named",
    lesson="Budgets belong to people, not to metrics. All metrics about the same secret must share one budget.",
    rounds=100,
)
