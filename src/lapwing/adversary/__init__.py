"""Attacks, and audits that measure epsilon from outside.

    audit            two neighbours that you choose
    find_violation   a function and nothing else: the neighbours are searched for
    audit_once       a model that can be trained only once
    attacks          a package of its own: linkage, differencing, reconstruction, membership and many more

>>> from lapwing.adversary import audit
>>> audit(lambda data: sum(data), ([1, 1], [1, 1, 1]), samples=2000, claimed=1).verdict
'caught'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.adversary.auditor import Audit, Pair, audit
from lapwing.adversary.controls import Control
from lapwing.adversary.events import Event
from lapwing.adversary.intervals import power, samples_needed
from lapwing.adversary.peers import CONTROLS
from lapwing.adversary.search import Search, Trial, find_violation
from lapwing.adversary.witnesses import Witness, all_witnesses

if TYPE_CHECKING:
    from lapwing.adversary.one_run import OneRun, audit_once, canaries_apart

checks.add_examples(
    mechanism="lw.Laplace(epsilon=1, sensitivity=1)",
    pair="(10, 11)",
    samples="20_000",
)

__all__ = [
    "CONTROLS",
    "Audit",
    "Control",
    "Event",
    "OneRun",
    "Pair",
    "Search",
    "Trial",
    "Witness",
    "all_witnesses",
    "audit",
    "audit_once",
    "canaries_apart",
    "find_violation",
    "power",
    "samples_needed",
]


def __getattr__(name: str) -> Any:
    """Audits of models need numpy; all others run with the standard library."""
    if name in ("OneRun", "audit_once", "canaries_apart"):
        from lapwing.adversary import one_run

        return getattr(one_run, name)
    raise AttributeError(f"module 'lapwing.adversary' has no attribute {name!r}")
