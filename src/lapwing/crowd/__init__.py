"""The crowd: nobody has to be trusted, because people randomise their own answers.

>>> from lapwing.crowd import UnaryEncoding
>>> poll = UnaryEncoding.optimized(epsilon=2, domain=["bus", "bike", "car"])
>>> reports = poll.randomize(["bike"] * 500 + ["bus"] * 300 + ["car"] * 200)
>>> counts = poll.absorb(None, reports)
>>> 350 < poll.estimate(counts)["bike"] < 650
True
"""

from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.hadamard import HadamardResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.items import Answers
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.numeric import Piecewise, StochasticRounding
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.crowd.reports import Reports
from lapwing.crowd.unary import UnaryEncoding

__all__ = [
    "Answers",
    "BasicOneTimeRappor",
    "BasicRappor",
    "BinaryResponse",
    "CategoryResponse",
    "CountMeanSketch",
    "Counts",
    "Estimates",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "LocalHashing",
    "OneTimeRappor",
    "Piecewise",
    "Protocol",
    "Rappor",
    "Reports",
    "StochasticRounding",
    "UnaryEncoding",
]
