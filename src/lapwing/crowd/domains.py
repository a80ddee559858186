"""Public lists of possible answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.records import places_of, values_of

Domain = int | Sequence[Hashable]
"""Labels, or a number k for the answers 0 … k − 1."""


def domain_of(domain: object, *, largest: int = 1 << 31) -> tuple[Sequence[Any], Mapping[Any, int] | None]:
    """The labels and the place of each; the range of a number of answers has no index."""
    if isinstance(domain, Integral):
        if checks.whole(minimum=2, domain=domain) > largest:
            why = f"has more than {largest:,} answers"
            raise InvalidParameter("domain", domain, why, "Use a sketch: CountMeanSketch takes any number of answers.")
        return range(int(domain)), None
    if isinstance(domain, (set, frozenset)):
        why = "is a set, which has no fixed order, but reports hold the place of an answer in the list"
        raise InvalidParameter("domain", "<set>", why, "Write domain=sorted(…).")
    if isinstance(domain, (str, bytes)) or not hasattr(domain, "__iter__"):
        raise InvalidParameter("domain", domain, "must be a list of answers or a number", "Write domain=['a', 'b'].")
    labels = tuple(values_of(domain))
    if len(labels) < 2:
        raise InvalidParameter("domain", domain, "must be two or more different answers", "Write domain=['a', 'b'].")
    return labels, places_of(labels, domain=labels)


def candidate_list(candidates: Any) -> list[Any]:
    """The answers to be counted, in their order."""
    if isinstance(candidates, (str, bytes)) or not hasattr(candidates, "__iter__"):
        raise InvalidParameter("candidates", candidates, "must be a list of answers", "Write candidates=['a', 'b'].")
    return list(candidates.tolist() if hasattr(candidates, "tolist") else candidates)
