"""What a guarantee is, and how guarantees add up.

>>> from lapwing.privacy import PureDP, compose
>>> print(3 * PureDP(0.5))
ε = 1.5 (add_remove, per person)
"""

from lapwing.privacy.accountants import PLD, AdditiveNoise
from lapwing.privacy.admission import Failure, Rules
from lapwing.privacy.composition import Composition, compose, parallel
from lapwing.privacy.explanation import Explanation, explain
from lapwing.privacy.journal import Entry
from lapwing.privacy.ledger import Account, Charge, Ledger, PastCharge
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP
from lapwing.privacy.neighbours import Relation
from lapwing.privacy.quotes import Line
from lapwing.privacy.renyi import RenyiDP
from lapwing.privacy.trust import Trust

__all__ = [
    "PLD",
    "ZCDP",
    "Account",
    "AdditiveNoise",
    "ApproxDP",
    "Charge",
    "Composition",
    "Entry",
    "Explanation",
    "Failure",
    "Ledger",
    "Line",
    "Loss",
    "PastCharge",
    "PureDP",
    "Relation",
    "RenyiDP",
    "Rules",
    "Trust",
    "compose",
    "explain",
    "parallel",
]
