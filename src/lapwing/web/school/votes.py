"""Was it helpful? Votes that are randomised before they leave the browser.

    browser   response.ts   turns the answer round with probability 3/8, and sends that
    school    tallies       how many reports there are for a nugget and a role, and how many of them say yes
    everybody `Tally`       an unbiased share with its error, once there are enough reports

Privacy: one vote costs ln(5/3); the relation is replace, so that somebody voted, and in which role, is not hidden.
A browser asks at most `MOST_VOTES` times, so all votes together cost at most `ALLOWANCE`, however many nuggets there
are. An account counts them over all its browsers.
Accuracy: the coins and the drawing of the voters together have a standard error of at most 1/(2α√n), α being 1/4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from lapwing.crowd import BinaryResponse, Counts, Estimates
from lapwing.web.school.nugget import ROLES

TRUTH = Fraction(5, 8)
"""How often a vote is sent as it was meant. Other odds need tallies of their own."""
PROTOCOL = BinaryResponse.from_gamma(TRUTH)
EPSILON = PROTOCOL.privacy_loss().epsilon
ALLOWANCE = 8
"""What all votes of one browser together may cost."""
MOST_VOTES = math.floor(ALLOWANCE / EPSILON)
FEWEST = 100
"""So many reports are needed before anything is said about them: with fewer, the error is more than 20 points."""
UNSAID, EVERYBODY = "unsaid", "everybody"
VOTERS = {**ROLES, UNSAID: "Somebody else, or I would rather not say"}
"""In which role one may vote. One vote counts in one role."""

Tallies = Mapping[str, Mapping[str, "Tally"]]
"""By nugget and role."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Reports of one kind, added up."""

    reports: int = 0
    yes: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.reports + other.reports, self.yes + other.yes)

    def estimates(self) -> Estimates:
        """What the reports say about those who sent them: our own `crowd`."""
        import numpy as np

        return PROTOCOL.estimate(Counts(PROTOCOL, self.reports, np.array([self.yes])))

    @property
    def share(self) -> float:
        """The share of yes among the voters: unbiased, so perhaps below 0 or above 1."""
        return self.estimates()[True] / self.reports

    @property
    def error(self) -> float:
        """Its standard error, whatever the truth is."""
        return 1 / (2 * float(PROTOCOL.coins.alpha) * math.sqrt(self.reports))

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """The interval of the share of yes, with 95 % confidence unless another z is asked for; cut to 0 … 1."""
        return max(0.0, self.share - z * self.error), min(1.0, self.share + z * self.error)


def published(kept: Tallies) -> dict[str, dict[str, Tally]]:
    """What may be told: everybody's, and those of every role, where there are enough reports."""
    shown: dict[str, dict[str, Tally]] = {}
    for slug, by_role in kept.items():
        everybody = sum(by_role.values(), Tally())
        by_group = {EVERYBODY: everybody, **{role: by_role[role] for role in ROLES if role in by_role}}
        if enough := {role: tally for role, tally in by_group.items() if tally.reports >= FEWEST}:
            shown[slug] = enough
    return shown
