"""The mechanisms: frozen values with a loss, a release and an accuracy, each with a proof beside its code.

>>> from lapwing.mechanisms import Mean
>>> 0 <= Mean(epsilon=1, bounds=(0, 120)).release([33, 47, 52]) <= 120
True
"""

from typing import Any

from lapwing import checks
from lapwing.mechanisms.above_threshold import AboveThreshold, SparseVector, Watch
from lapwing.mechanisms.binary_tree import BinaryTree
from lapwing.mechanisms.consistency import LeastSquares
from lapwing.mechanisms.continual import best_counter, counters
from lapwing.mechanisms.counter import CounterState
from lapwing.mechanisms.crossed_hierarchy import CrossedEstimate, CrossedHierarchy
from lapwing.mechanisms.crowd_threshold import CrowdThreshold
from lapwing.mechanisms.dummies import DummyCrowds, DummyReports
from lapwing.mechanisms.exponential import Exponential
from lapwing.mechanisms.gaussian import Gaussian, analytic_sigma, classical_sigma
from lapwing.mechanisms.hierarchy import Hierarchy, TreeEstimate
from lapwing.mechanisms.histogram import Histogram
from lapwing.mechanisms.kary_response import KaryResponse
from lapwing.mechanisms.key_selection import KeySelection
from lapwing.mechanisms.laplace import Laplace
from lapwing.mechanisms.maximum import Maximum
from lapwing.mechanisms.noisy_max import NoisyMax
from lapwing.mechanisms.one_time_pad import OneTimePad
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.propose_test_release import ProposeTestRelease, StableMedian
from lapwing.mechanisms.quantile import Median, Quantile
from lapwing.mechanisms.quantile_draw import QuantileDraw
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.mechanisms.sample_and_aggregate import SampleAndAggregate
from lapwing.mechanisms.share_estimate import ShareEstimate
from lapwing.mechanisms.signed_tree import SignedTree
from lapwing.mechanisms.smooth_median import SmoothMedian
from lapwing.mechanisms.solve import epsilon_for
from lapwing.mechanisms.square_root_counter import SquareRootCounter
from lapwing.mechanisms.tops import Tops
from lapwing.mechanisms.tops_state import TopsQuote, TopsState
from lapwing.mechanisms.totals import Count, Mean, Sum
from lapwing.mechanisms.trees import Tree
from lapwing.mechanisms.w_event import BudgetAbsorption, BudgetDistribution, UniformBudget, WEventState

checks.add_examples(
    candidates="['red', 'green']",
    gamma="0.75",
    rho="0.5",
    steps="365",
    threshold="100",
    yes_if_no="0.25",
    yes_if_yes="0.75",
)

__all__ = [
    "AboveThreshold",
    "BinaryTree",
    "BudgetAbsorption",
    "BudgetDistribution",
    "Count",
    "CounterState",
    "CrossedEstimate",
    "CrossedHierarchy",
    "CrowdThreshold",
    "DummyCrowds",
    "DummyReports",
    "Exponential",
    "Gaussian",
    "Hierarchy",
    "Histogram",
    "KaryResponse",
    "KeySelection",
    "Laplace",
    "LeastSquares",
    "Maximum",
    "Mean",
    "Median",
    "NoisyMax",
    "OneTimePad",
    "PermuteAndFlip",
    "ProposeTestRelease",
    "Quantile",
    "QuantileDraw",
    "RandomizedResponse",
    "SampleAndAggregate",
    "ShareEstimate",
    "SignedTree",
    "SmoothMedian",
    "SparseVector",
    "SquareRootCounter",
    "StableMedian",
    "Sum",
    "Tops",
    "TopsQuote",
    "TopsState",
    "Tree",
    "TreeEstimate",
    "UniformBudget",
    "WEventState",
    "Watch",
    "analytic_sigma",
    "best_counter",
    "classical_sigma",
    "counters",
    "epsilon_for",
]


def __getattr__(name: str) -> Any:
    from lapwing.calls import moved

    if name == "NoisyMaximum":
        return moved("lapwing.mechanisms.NoisyMaximum", "lapwing.mechanisms.Maximum")
    raise AttributeError(f"module 'lapwing.mechanisms' has no attribute {name!r}")
