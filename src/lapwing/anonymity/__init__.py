"""The methods that differential privacy replaced, implemented faithfully, so that you can see where they break.

    tables      `Mondrian`, `FullDomain`; `k_anonymity`, `l_diversity`, `t_closeness` of a table; what it lost
    questions   `RestrictedQueries`, `SumAuditor`, `MaxAuditor`, `CellSuppression`, `Rounding`, `SubSample`
    columns     `classify` and `remove`: the eighteen identifiers of the HIPAA Safe Harbor rule
    sums        `SecureSum` over `AdditiveSharing` or `ShamirSharing`

None of them states an epsilon, because none has one; `lapwing.adversary.attacks` breaks each.

>>> from lapwing.anonymity import Mondrian
>>> people = {"age": [34, 36, 51, 58], "zip": ["02138", "02139", "02141", "02142"]}
>>> print(Mondrian(k=2, quasi_identifiers=["age", "zip"]).anonymise(people).to_dict()["age"])
['34–36', '34–36', '51–58', '51–58']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.anonymity.closeness import Closeness, CrowdCloseness, Equal, Hierarchical, Ordered
    from lapwing.anonymity.criteria import (
        BetaLikeness,
        DistinctDiversity,
        EntropyDiversity,
        LargestShare,
        RecursiveDiversity,
    )
    from lapwing.anonymity.full_domain import FullDomain
    from lapwing.anonymity.generalisation import GeneralisedTable
    from lapwing.anonymity.hierarchies import Digits, Flat, Ranges, Taxonomy
    from lapwing.anonymity.identifiers import Finding, classify, remove
    from lapwing.anonymity.losses import Losses
    from lapwing.anonymity.measures import (
        Diversity,
        alpha_k_anonymity,
        beta_likeness,
        k_anonymity,
        l_diversity,
        nt_closeness,
        t_closeness,
    )
    from lapwing.anonymity.mondrian import Mondrian
    from lapwing.anonymity.query_auditing import ExhaustiveAuditor, MaxAuditor, SumAuditor
    from lapwing.anonymity.restriction import Formula, Refused, RestrictedQueries, where
    from lapwing.anonymity.rounding import Rounding
    from lapwing.anonymity.secure_sum import Outcome, SecureSum
    from lapwing.anonymity.sharing import AdditiveSharing, ShamirSharing, Share
    from lapwing.anonymity.subsampling import SubSample
    from lapwing.anonymity.suppression import CellSuppression, Printed

_ROOMS = {
    "closeness": ("Closeness", "CrowdCloseness", "Equal", "Hierarchical", "Ordered"),
    "criteria": ("BetaLikeness", "DistinctDiversity", "EntropyDiversity", "LargestShare", "RecursiveDiversity"),
    "full_domain": ("FullDomain",),
    "generalisation": ("GeneralisedTable",),
    "hierarchies": ("Digits", "Flat", "Ranges", "Taxonomy"),
    "identifiers": ("Finding", "classify", "remove"),
    "losses": ("Losses",),
    "measures": (
        *("Diversity", "alpha_k_anonymity", "beta_likeness", "k_anonymity"),
        *("l_diversity", "nt_closeness", "t_closeness"),
    ),
    "mondrian": ("Mondrian",),
    "query_auditing": ("ExhaustiveAuditor", "MaxAuditor", "SumAuditor"),
    "restriction": ("Formula", "Refused", "RestrictedQueries", "where"),
    "rounding": ("Rounding",),
    "secure_sum": ("Outcome", "SecureSum"),
    "sharing": ("AdditiveSharing", "ShamirSharing", "Share"),
    "subsampling": ("SubSample",),
    "suppression": ("CellSuppression", "Printed"),
}
_WHERE = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AdditiveSharing",
    "BetaLikeness",
    "CellSuppression",
    "Closeness",
    "CrowdCloseness",
    "Digits",
    "DistinctDiversity",
    "Diversity",
    "EntropyDiversity",
    "Equal",
    "ExhaustiveAuditor",
    "Finding",
    "Flat",
    "Formula",
    "FullDomain",
    "GeneralisedTable",
    "Hierarchical",
    "LargestShare",
    "Losses",
    "MaxAuditor",
    "Mondrian",
    "Ordered",
    "Outcome",
    "Printed",
    "Ranges",
    "RecursiveDiversity",
    "Refused",
    "RestrictedQueries",
    "Rounding",
    "SecureSum",
    "ShamirSharing",
    "Share",
    "SubSample",
    "SumAuditor",
    "Taxonomy",
    "alpha_k_anonymity",
    "beta_likeness",
    "classify",
    "k_anonymity",
    "l_diversity",
    "nt_closeness",
    "remove",
    "t_closeness",
    "where",
]


def __getattr__(name: str) -> Any:
    """Loaded when first used: the parties of a secure sum start without numpy."""
    if name in _WHERE:
        value = globals()[name] = getattr(import_module(f"lapwing.anonymity.{_WHERE[name]}"), name)
        return value
    raise AttributeError(f"module 'lapwing.anonymity' has no attribute {name!r}")
