"""Attacks that break older methods of protection, and fail against differential privacy.

Every attack is a function that you can call on answers or tables of your own. It is also a demonstration in `ATTACKS`
that runs it against the method it breaks and against the private answer to the same question.

>>> from lapwing.adversary.attacks import attack, differencing
>>> print(differencing(43, 42, about="Ada smokes"))
Ada smokes: 1 (certainly). The totals with and without differ by 1.
>>> contest = attack("differencing").run(rounds=200, epsilons=[1])
>>> contest.weak[0].success, contest.holds
(1.0, True)
"""

from __future__ import annotations

from typing import Any

from lapwing.adversary.attacks.attack import Attack, Conclusion, Contest, Score
from lapwing.adversary.attacks.averaging import average, majority
from lapwing.adversary.attacks.background import background
from lapwing.adversary.attacks.bounds import best_advantage, best_guess
from lapwing.adversary.attacks.catalogue import ATTACKS, attack
from lapwing.adversary.attacks.census import Person, reconstruct_block
from lapwing.adversary.attacks.composition import composition
from lapwing.adversary.attacks.correlation import correlated
from lapwing.adversary.attacks.denials import largest_by_refusals, table_by_refusals
from lapwing.adversary.attacks.differencing import differencing
from lapwing.adversary.attacks.float_sums import float_sum
from lapwing.adversary.attacks.floats import float_gaussian, float_laplace
from lapwing.adversary.attacks.homogeneity import homogeneity
from lapwing.adversary.attacks.identifiers import relinked
from lapwing.adversary.attacks.linkage import Linkage, linkage
from lapwing.adversary.attacks.membership import Membership, threshold_attack
from lapwing.adversary.attacks.overlap import overlap
from lapwing.adversary.attacks.poisoning import poison
from lapwing.adversary.attacks.ratings import Match, sparse_match
from lapwing.adversary.attacks.reconstruction import Reconstruction, reconstruct
from lapwing.adversary.attacks.renewal import renewal
from lapwing.adversary.attacks.repeated_reports import repeated_reports
from lapwing.adversary.attacks.rounding import tipping
from lapwing.adversary.attacks.shadow_models import shadow_attack
from lapwing.adversary.attacks.similarity import similarity
from lapwing.adversary.attacks.skewness import skewness
from lapwing.adversary.attacks.subsampling import exposed
from lapwing.adversary.attacks.suppression import recovered
from lapwing.adversary.attacks.tracker import find_tracker, general_tracker, individual_tracker
from lapwing.adversary.attacks.uniqueness import Uniqueness, coarsen, uniqueness, uniqueness_curve

__all__ = [
    "ATTACKS",
    "Attack",
    "Conclusion",
    "Contest",
    "Linkage",
    "Match",
    "Membership",
    "Person",
    "Reconstruction",
    "Score",
    "Uniqueness",
    "attack",
    "average",
    "background",
    "best_advantage",
    "best_guess",
    "coarsen",
    "composition",
    "correlated",
    "differencing",
    "exposed",
    "find_tracker",
    "float_gaussian",
    "float_laplace",
    "float_sum",
    "general_tracker",
    "homogeneity",
    "individual_tracker",
    "largest_by_refusals",
    "linkage",
    "majority",
    "overlap",
    "poison",
    "reconstruct",
    "reconstruct_block",
    "recovered",
    "relinked",
    "renewal",
    "repeated_reports",
    "shadow_attack",
    "similarity",
    "skewness",
    "sparse_match",
    "table_by_refusals",
    "threshold_attack",
    "tipping",
    "uniqueness",
    "uniqueness_curve",
]


def __getattr__(name: str) -> Any:
    from lapwing.calls import moved

    if name == "Learned":
        return moved("lapwing.adversary.attacks.Learned", "lapwing.adversary.attacks.Conclusion")
    raise AttributeError(f"module 'lapwing.adversary.attacks' has no attribute {name!r}")
