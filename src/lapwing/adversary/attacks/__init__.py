"""Attacks that work, and what they do to the older methods and to differential privacy.

Every attack is a function that anybody can call on answers or tables of their own, and a demonstration in `ATTACKS`
that runs it against the method it breaks and against the private answer to the same question.

>>> from lapwing.adversary.attacks import attack, differencing
>>> print(differencing(43, 42, about="Ada smokes"))
Ada smokes: 1 (certainly). The totals with and without differ by 1.
>>> contest = attack("differencing").run(rounds=200, epsilons=[1])
>>> contest.weak[0].success, contest.holds
(1.0, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Contest, Learned, Score
from lapwing.adversary.attacks.averaging import AVERAGING
from lapwing.adversary.attacks.background import BACKGROUND
from lapwing.adversary.attacks.bounds import best_advantage, best_guess
from lapwing.adversary.attacks.census import CENSUS
from lapwing.adversary.attacks.composition import COMPOSITION
from lapwing.adversary.attacks.correlation import CORRELATION
from lapwing.adversary.attacks.denials import MAX_DENIALS, SUM_DENIALS
from lapwing.adversary.attacks.differencing import DIFFERENCING, differencing
from lapwing.adversary.attacks.float_sums import FLOAT_SUM
from lapwing.adversary.attacks.floats import FLOAT_GAUSSIAN, FLOAT_LAPLACE
from lapwing.adversary.attacks.homogeneity import HOMOGENEITY
from lapwing.adversary.attacks.identifiers import IDENTIFIERS
from lapwing.adversary.attacks.linkage import LINKAGE
from lapwing.adversary.attacks.overlap import OVERLAP
from lapwing.adversary.attacks.poisoning import POISONING
from lapwing.adversary.attacks.reconstruction import RECONSTRUCTION
from lapwing.adversary.attacks.renewal import RENEWAL
from lapwing.adversary.attacks.repeated import REPEATED_REPORTS
from lapwing.adversary.attacks.rounding import ROUNDING
from lapwing.adversary.attacks.similarity import SIMILARITY
from lapwing.adversary.attacks.skewness import SKEWNESS
from lapwing.adversary.attacks.sparse import SPARSE
from lapwing.adversary.attacks.subsampling import SUBSAMPLING
from lapwing.adversary.attacks.suppression import SUPPRESSION
from lapwing.adversary.attacks.tracker import TRACKER

_TABLES = (LINKAGE, IDENTIFIERS, SPARSE, HOMOGENEITY, BACKGROUND, SKEWNESS, SIMILARITY, COMPOSITION)
_QUERIES = (DIFFERENCING, TRACKER, OVERLAP, SUM_DENIALS, MAX_DENIALS, SUPPRESSION, ROUNDING, SUBSAMPLING)
_NOISE = (AVERAGING, RECONSTRUCTION, CENSUS, FLOAT_LAPLACE, FLOAT_GAUSSIAN, FLOAT_SUM)
_REPORTS = (REPEATED_REPORTS, RENEWAL, CORRELATION, POISONING)
ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {attack.name: attack for attack in (*_TABLES, *_QUERIES, *_NOISE, *_REPORTS)}
)
"""All of them, by name."""

__all__ = [
    "ATTACKS",
    "Attack",
    "Contest",
    "Learned",
    "Score",
    "attack",
    "best_advantage",
    "best_guess",
    "differencing",
]


def attack(name: str) -> Attack:
    """One attack by its name; another name is told from those there are."""
    return ATTACKS[checks.one_of(tuple(ATTACKS), name=name)]
