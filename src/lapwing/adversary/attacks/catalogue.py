"""All demonstrations of attacks, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack
from lapwing.adversary.attacks.averaging import AVERAGING
from lapwing.adversary.attacks.background import BACKGROUND
from lapwing.adversary.attacks.census import CENSUS
from lapwing.adversary.attacks.composition import COMPOSITION
from lapwing.adversary.attacks.correlation import CORRELATION
from lapwing.adversary.attacks.denials import MAX_DENIALS, SUM_DENIALS
from lapwing.adversary.attacks.differencing import DIFFERENCING
from lapwing.adversary.attacks.float_sums import FLOAT_SUM
from lapwing.adversary.attacks.floats import FLOAT_GAUSSIAN, FLOAT_LAPLACE
from lapwing.adversary.attacks.homogeneity import HOMOGENEITY
from lapwing.adversary.attacks.identifiers import IDENTIFIERS
from lapwing.adversary.attacks.linkage import LINKAGE
from lapwing.adversary.attacks.membership_rounds import LINEAR_MEMBERSHIP, LOGISTIC_MEMBERSHIP, NETWORK_MEMBERSHIP
from lapwing.adversary.attacks.overlap import OVERLAP
from lapwing.adversary.attacks.poisoning import POISONING
from lapwing.adversary.attacks.ratings import SPARSE
from lapwing.adversary.attacks.reconstruction import RECONSTRUCTION
from lapwing.adversary.attacks.renewal import RENEWAL
from lapwing.adversary.attacks.repeated_reports import REPEATED_REPORTS
from lapwing.adversary.attacks.rounding import ROUNDING
from lapwing.adversary.attacks.similarity import SIMILARITY
from lapwing.adversary.attacks.skewness import SKEWNESS
from lapwing.adversary.attacks.subsampling import SUBSAMPLING
from lapwing.adversary.attacks.suppression import SUPPRESSION
from lapwing.adversary.attacks.tracker import TRACKER

_TABLES = (LINKAGE, IDENTIFIERS, SPARSE, HOMOGENEITY, BACKGROUND, SKEWNESS, SIMILARITY, COMPOSITION)
_QUERIES = (DIFFERENCING, TRACKER, OVERLAP, SUM_DENIALS, MAX_DENIALS, SUPPRESSION, ROUNDING, SUBSAMPLING)
_NOISE = (AVERAGING, RECONSTRUCTION, CENSUS, FLOAT_LAPLACE, FLOAT_GAUSSIAN, FLOAT_SUM)
_MODELS = (LINEAR_MEMBERSHIP, LOGISTIC_MEMBERSHIP, NETWORK_MEMBERSHIP)
_REPORTS = (REPEATED_REPORTS, RENEWAL, CORRELATION, POISONING)
ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {attack.name: attack for attack in (*_TABLES, *_QUERIES, *_NOISE, *_MODELS, *_REPORTS)}
)
"""All demonstrations by name, as `lapwing attack list` shows them."""


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
