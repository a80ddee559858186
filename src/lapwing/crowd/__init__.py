"""Local differential privacy: people randomise their own answers, so nobody has to be trusted.

>>> from lapwing.crowd import UnaryEncoding
>>> poll = UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike", "car"])
>>> reports = poll.randomize(["bike"] * 500 + ["bus"] * 300 + ["car"] * 200)
>>> counts = poll.absorb(None, reports)
>>> 350 < poll.estimate(counts)["bike"] < 650
True
"""

from lapwing import checks
from lapwing.crowd import apple as apple
from lapwing.crowd.association import Association, Independence, associate
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.counts import Counts
from lapwing.crowd.decoding import DecodedEstimates, decode
from lapwing.crowd.device import Device, Donation, Envelope
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.fragmentation import AttributeFragments, Messages, Removal, ReportFragments
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.hadamard import HadamardResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.hybrid import Hybrid
from lapwing.crowd.items import Answers
from lapwing.crowd.lifetime import Lifetime, LifetimePolicy, QuestionGroup
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.memo import Memo
from lapwing.crowd.monitoring import Monitoring, Watcher
from lapwing.crowd.numeric import MeanEstimate, Piecewise, StochasticRounding
from lapwing.crowd.poisoning import Suspicion, Suspicions, gain, suspicious
from lapwing.crowd.prefixes import PrefixExtension, TreeHist
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol, Protocol
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.crowd.regression import Fit
from lapwing.crowd.reports import Column, Reports
from lapwing.crowd.shuffling import Shuffled, minimum_batch
from lapwing.crowd.simulate import Errors, Simulation, simulate
from lapwing.crowd.square_wave import Distribution, SquareWave
from lapwing.crowd.topl import Series, Topl
from lapwing.crowd.unary import UnaryEncoding
from lapwing.crowd.unknown import Discovery, UnknownDictionary

checks.add_examples(
    alphabet="'abcdefghijklmnopqrstuvwxyz'",
    domain="['yes', 'no']",
    estimates="estimates",
    fake_share="0.05",
    functions="256",
    length="10",
    one_if_other="0.25",
    one_if_set="0.75",
    one_if_true="0.75",
    one_if_unset="0.5",
    path="'lifetime.db'",
    permanent_noise="0.5",
    policy="policy",
    protocol="poll",
    reports="reports",
    state="counts",
    width="256",
)

__all__ = [
    "Answers",
    "Association",
    "AttributeFragments",
    "BasicOneTimeRappor",
    "BasicRappor",
    "BinaryResponse",
    "CategoryResponse",
    "ClosedProtocol",
    "Column",
    "CountMeanSketch",
    "Counts",
    "DecodedEstimates",
    "Device",
    "Discovery",
    "Distribution",
    "Donation",
    "Envelope",
    "Errors",
    "Estimates",
    "Fit",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "Hybrid",
    "Independence",
    "Lifetime",
    "LifetimePolicy",
    "LocalHashing",
    "MeanEstimate",
    "Memo",
    "Messages",
    "Monitoring",
    "OneTimeRappor",
    "OpenProtocol",
    "Piecewise",
    "PrefixExtension",
    "Protocol",
    "QuestionGroup",
    "Rappor",
    "Removal",
    "ReportFragments",
    "Reports",
    "SequenceFragmentPuzzle",
    "Series",
    "Shuffled",
    "Simulation",
    "SquareWave",
    "StochasticRounding",
    "Suspicion",
    "Suspicions",
    "Topl",
    "TreeHist",
    "UnaryEncoding",
    "UnknownDictionary",
    "Watcher",
    "apple",
    "associate",
    "decode",
    "gain",
    "minimum_batch",
    "simulate",
    "suspicious",
]
