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

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Contest, Score
from lapwing.adversary.attacks.averaging import AVERAGING, average, majority
from lapwing.adversary.attacks.background import BACKGROUND, background
from lapwing.adversary.attacks.bounds import best_advantage, best_guess
from lapwing.adversary.attacks.census import CENSUS, reconstruct_block
from lapwing.adversary.attacks.composition import COMPOSITION, composition
from lapwing.adversary.attacks.correlation import CORRELATION, correlated
from lapwing.adversary.attacks.denials import MAX_DENIALS, SUM_DENIALS, largest_by_refusals, table_by_refusals
from lapwing.adversary.attacks.differencing import DIFFERENCING, differencing
from lapwing.adversary.attacks.float_sums import FLOAT_SUM, float_sum
from lapwing.adversary.attacks.floats import FLOAT_GAUSSIAN, FLOAT_LAPLACE, float_gaussian, float_laplace
from lapwing.adversary.attacks.homogeneity import HOMOGENEITY, homogeneity
from lapwing.adversary.attacks.identifiers import IDENTIFIERS, relinked
from lapwing.adversary.attacks.linkage import LINKAGE, Linkage, linkage
from lapwing.adversary.attacks.membership import Membership, threshold_attack
from lapwing.adversary.attacks.membership_rounds import LINEAR_MEMBERSHIP, LOGISTIC_MEMBERSHIP, NETWORK_MEMBERSHIP
from lapwing.adversary.attacks.overlap import OVERLAP, overlap
from lapwing.adversary.attacks.poisoning import POISONING, poison
from lapwing.adversary.attacks.ratings import SPARSE, sparse_match
from lapwing.adversary.attacks.reconstruction import RECONSTRUCTION, Reconstruction, reconstruct
from lapwing.adversary.attacks.renewal import RENEWAL, renewal
from lapwing.adversary.attacks.repeated_reports import REPEATED_REPORTS, repeated_reports
from lapwing.adversary.attacks.rounding import ROUNDING, tipping
from lapwing.adversary.attacks.shadow_models import shadow_attack
from lapwing.adversary.attacks.similarity import SIMILARITY, similarity
from lapwing.adversary.attacks.skewness import SKEWNESS, skewness
from lapwing.adversary.attacks.subsampling import SUBSAMPLING, exposed
from lapwing.adversary.attacks.suppression import SUPPRESSION, recovered
from lapwing.adversary.attacks.tracker import TRACKER, find_tracker, general_tracker, individual_tracker
from lapwing.adversary.attacks.uniqueness import Uniqueness, coarsen, uniqueness, uniqueness_curve

_TABLES = (LINKAGE, IDENTIFIERS, SPARSE, HOMOGENEITY, BACKGROUND, SKEWNESS, SIMILARITY, COMPOSITION)
_QUERIES = (DIFFERENCING, TRACKER, OVERLAP, SUM_DENIALS, MAX_DENIALS, SUPPRESSION, ROUNDING, SUBSAMPLING)
_NOISE = (AVERAGING, RECONSTRUCTION, CENSUS, FLOAT_LAPLACE, FLOAT_GAUSSIAN, FLOAT_SUM)
_MODELS = (LINEAR_MEMBERSHIP, LOGISTIC_MEMBERSHIP, NETWORK_MEMBERSHIP)
_REPORTS = (REPEATED_REPORTS, RENEWAL, CORRELATION, POISONING)
ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {attack.name: attack for attack in (*_TABLES, *_QUERIES, *_NOISE, *_MODELS, *_REPORTS)}
)
"""All demonstrations by name, as `lapwing attack list` shows them."""

__all__ = [
    "ATTACKS",
    "Attack",
    "Conclusion",
    "Contest",
    "Linkage",
    "Membership",
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


def attack(name: str) -> Attack:
    """Find a demonstration by its name.

    Args:
        name: A name from `ATTACKS`, such as `"differencing"`.

    Returns:
        The attack, ready to be run.

    Raises:
        InvalidParameter: If no attack has this name; the message lists all names.

    >>> from lapwing.adversary.attacks import attack
    >>> print(attack("tracker").title)
    Trackers: a small group from questions about large ones
    """
    return ATTACKS[checks.one_of(tuple(ATTACKS), name=name)]


def __getattr__(name: str) -> Any:
    from lapwing.calls import moved

    if name == "Learned":
        return moved("lapwing.adversary.attacks.Learned", "lapwing.adversary.attacks.Conclusion")
    raise AttributeError(f"module 'lapwing.adversary.attacks' has no attribute {name!r}")
