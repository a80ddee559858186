"""What the rules settle, in numbers: the whole budget, and what each part of it may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lapwing.mechanisms.gaussian import largest_rho
from lapwing.privacy import ApproxDP, PureDP, Relation
from lapwing.privacy.shuffling import clones_delta
from lapwing.web.guide.answers import Answers
from lapwing.web.guide.rules import Rule, settled

POSSIBLE = {
    "central": ("count", "histogram", "nested", "top", "mean", "quantile", "table", "words", "model"),
    "secure sum": ("count", "histogram", "top", "mean", "table"),
    "two servers": ("count", "histogram", "top", "mean", "table"),
    "shuffled": ("count", "histogram", "top", "mean", "quantile", "table", "words"),
    "local": ("count", "histogram", "top", "mean", "quantile", "table", "words"),
}
"""What each model can answer."""
GROUPED = ("histogram", "nested", "top", "table")
"""Questions about groups. Where none of them is asked, but results are split, all others are split."""
IN_GROUPS = {"count": "histogram", "mean": "table"}
"""What a count and a mean become in every group."""
LARGEST_LOCAL = 4.0
"""Against the mixer only the noise on each report protects, so it is never less than this leaves."""
COINS_DELTA = Fraction(1, 10**12)
"""More than the finitely many digits of the coins of joint noise cost, in any plan."""
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A budget and how it is split. All losses are per person."""

    model: str
    asks: tuple[str, ...]
    people: int
    groups: int
    rows: int
    epsilon: Fraction
    delta: Fraction
    releases: int
    concentrated: bool
    part_epsilon: Fraction
    """Of one question in one release; in the local and the shuffled model, of one report."""
    part_delta: Fraction
    part_rho: Fraction | None = None
    split: bool = False
    """Whether a quantile is asked for in every group."""
    steps: int = 1
    """Days of running totals, which are paid once; 1 if there are none."""

    @property
    def parts(self) -> int:
        """Into how many the budget is split."""
        return self.releases * len(self.asks)

    @property
    def smallest(self) -> float:
        """People whom a quantile is about: of the smallest group, where every group has its own."""
        return smallest(self.reports, self.groups) if self.split else self.reports

    @property
    def choosing_epsilon(self) -> Fraction:
        """Of a part that chooses by the exponential mechanism, which costs ε²/8 in zCDP where noise costs ε²/2."""
        return 2 * self.part_epsilon if self.part_rho else self.part_epsilon

    @property
    def relation(self) -> Relation:
        """Where people report by themselves, randomised or in shares, whoever takes reports can see who does."""
        return "replace" if self.at_source or self.model == "two servers" else "add_remove"

    @property
    def at_source(self) -> bool:
        """Whether people randomise their own answers."""
        return self.model in ("local", "shuffled")

    @property
    def loss(self) -> PureDP | ApproxDP:
        """The whole promise."""
        if self.delta:
            return ApproxDP(self.epsilon, self.delta, relation=self.relation)
        return PureDP(self.epsilon, relation=self.relation)

    @property
    def reports(self) -> int:
        """How many people answer one question: of several, each person draws one."""
        return max(1, self.people // len(self.asks)) if self.at_source else self.people


def possible(answers: Answers, rules: list[Rule]) -> tuple[str, ...]:
    """The questions that can be answered in the model that the rules settle."""
    known = POSSIBLE[settled(rules)["model"]]
    asks = [named(answers, name) for name in answers.statistics]
    return tuple(
        ask for ask in dict.fromkeys(asks) if ask in known and (answers.form == "table" or ask not in ("model",))
    )


def named(answers: Answers, ask: str) -> str:
    """The question that is planned for one of the interview: where results are split, about every group.

    Without a curator the smallest groups are estimated, and larger ones are their sums.
    """
    if ask == "nested" and answers.trust != "us":
        return "histogram"
    return IN_GROUPS.get(ask, ask) if _split(answers) else ask


def _split(answers: Answers) -> bool:
    return answers.groups > 1 and not any(name in GROUPED for name in answers.statistics)


def parts(answers: Answers, rules: list[Rule]) -> int:
    """Into how many parts the budget is split."""
    return int(settled(rules).get("releases", "1")) * len(possible(answers, rules))


def plan(answers: Answers, rules: list[Rule]) -> Plan | None:
    """In numbers; nothing if no question is left that could be answered."""
    choices, asks = settled(rules), possible(answers, rules)
    if not asks or "epsilon" not in choices:
        return None
    epsilon, releases = Fraction(choices["epsilon"]), int(choices.get("releases", "1"))
    delta = {"": Fraction(0), "needed": small(answers.people), "coins": COINS_DELTA}[choices.get("delta", "")]
    concentrated = choices.get("accounting") == "concentrated"
    model, count = choices["model"], releases * len(asks)
    rho = None
    part, part_delta = epsilon / count, delta / count
    if concentrated:
        half = delta / 2 if "words" in asks else delta  # the other half shows words
        rho = largest_rho(epsilon, half) / count
        part, part_delta = Fraction(math.sqrt(2 * rho)), (delta - half) / count
    elif model == "local":
        part = epsilon
    elif model == "shuffled":
        part_delta = delta / releases
        people = max(1, answers.people // len(asks))
        part = Fraction(local_loss(people, float(epsilon / releases), float(part_delta)))
    return Plan(
        model=model,
        asks=asks,
        people=answers.people,
        groups=answers.groups,
        rows=int(choices.get("rows", "1")),
        epsilon=epsilon,
        delta=delta,
        releases=releases,
        concentrated=concentrated,
        part_epsilon=part if part == epsilon else shortened(part),
        part_delta=part_delta,
        part_rho=shortened(rho) if rho else None,
        split=_split(answers),
        steps=int(choices.get("steps", "1")),
    )


def smallest(people: int, groups: int) -> float:
    """People in the smallest of made-up groups."""
    return max(1.0, people / groups / (2 if groups > 1 else 1))


def small(people: int) -> Fraction:
    """A delta far below one in so many people: a hundredth of it at most, and never above a millionth."""
    return Fraction(1, 10 ** max(6, len(str(people - 1)) + 2))


def shortened(value: Fraction) -> Fraction:
    """Rounded down to a few digits, so that what is written is what is used.

    >>> shortened(Fraction(1, 12))
    Fraction(8333, 100000)
    """
    places = _DIGITS - 1 - math.floor(math.log10(value))
    return Fraction(math.floor(value * Fraction(10) ** places)) / Fraction(10) ** places


@lru_cache(maxsize=512)
def local_loss(people: int, target: float, delta: float) -> float:
    """The largest loss of a report that costs at most `target` in a shuffled batch of so many people."""
    low, high = target, max(LARGEST_LOCAL, target)
    for _ in range(12):
        middle = (low + high) / 2
        if clones_delta(middle, people, target, tail=delta) <= delta:
            low = middle
        else:
            high = middle
    return low
