"""Attacks, and the auditor that measures epsilon from outside.

>>> from lapwing.adversary import audit
>>> audit(lambda data: sum(data), ([1, 1], [1, 1, 1]), samples=2000, claimed=1).verdict
'caught'
"""

from lapwing.adversary.auditor import Audit, Pair, audit
from lapwing.adversary.controls import Control
from lapwing.adversary.events import Event
from lapwing.adversary.intervals import power, samples_needed
from lapwing.adversary.peers import CONTROLS
from lapwing.adversary.witnesses import Witness, all_witnesses

__all__ = [
    "CONTROLS",
    "Audit",
    "Control",
    "Event",
    "Pair",
    "Witness",
    "all_witnesses",
    "audit",
    "power",
    "samples_needed",
]
