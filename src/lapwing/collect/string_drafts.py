"""The draft of a collection of strings, and whether a draft is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from lapwing.collect.crowds import Crowd
from lapwing.collect.string_promises import string_consent
from lapwing.collect.string_protocol import NAME, StringProtocol

THRESHOLD, MEAN_DROP, SIGMA, DELTA = 20, 40, 8, "0.000002"
"""Of the crowds of a new collection: this threshold is all the noise there is, so it has more than others."""
ANSWERS = 8
"""What a new lifetime pays for."""


def drafted_strings(protocol: StringProtocol) -> dict[str, Any]:
    """What a new file says about strings."""
    least = max(THRESHOLD, protocol.threshold)
    crowd = Crowd(source="answer", threshold=least, mean_drop=MEAN_DROP, sigma=Fraction(SIGMA), delta=Fraction(DELTA))
    lifetime = math.ceil(10 * ANSWERS * crowd.mechanism.privacy_loss().epsilon) / 10
    return {
        "consent": string_consent(protocol.threshold, protocol.randomness),
        "protocol": protocol.document(),
        "limits": {"reports_per_day": 1, "lifetime_epsilon": str(lifetime).removesuffix(".0")},
        "crowd": {"from": "answer", "threshold": least, "mean_drop": MEAN_DROP, "sigma": SIGMA, "delta": DELTA},
    }


def is_of_strings(document: Mapping[str, Any]) -> bool:
    """Whether a draft names strings as its protocol."""
    return _of_protocol(document, "protocol") == NAME


def is_oblivious(document: Mapping[str, Any]) -> bool:
    """Whether the issuer makes seeds of strings, and needs a key for it."""
    return is_of_strings(document) and _of_protocol(document, "randomness") == "issuer"


def _of_protocol(document: Mapping[str, Any], name: str) -> object:
    protocol = document.get("protocol")
    return protocol.get(name) if isinstance(protocol, Mapping) else None
