"""Experiments that reproduce figures of the literature: each writes numbers, a picture and a page.

>>> from lapwing.experiments import EXPERIMENTS, named
>>> "response" in EXPERIMENTS
True
>>> print(named("response").title)
Randomized response over the number of people
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.experiments import averaging, reconstruction
from lapwing.experiments.bloom import BAD_APPLE, EXPONENTIAL, NORMAL
from lapwing.experiments.buds import BUDS
from lapwing.experiments.capacity import CAPACITY
from lapwing.experiments.continual import STREAMS
from lapwing.experiments.discovery import DISCOVERY
from lapwing.experiments.e_health import E_HEALTH
from lapwing.experiments.experiment import Experiment, Row
from lapwing.experiments.gossip import GOSSIP
from lapwing.experiments.gradients import GRADIENTS
from lapwing.experiments.growth import GROWTH
from lapwing.experiments.k_anonymity import K_ANONYMITY
from lapwing.experiments.learning import MASKED_PARITY, OCCAM, PARITY
from lapwing.experiments.membership import MEMBERSHIP
from lapwing.experiments.percentages import LAPLACE, RESPONSE
from lapwing.experiments.regression import REGRESSION
from lapwing.experiments.regression_audit import REGRESSION_AUDIT
from lapwing.experiments.regression_data import REGRESSION_DATA
from lapwing.experiments.sketches import SKETCH_ERROR
from lapwing.experiments.stash import STASH
from lapwing.experiments.suggest import SUGGEST
from lapwing.experiments.thresholds import THRESHOLD_CURVES
from lapwing.experiments.tops import TOPS_AND_TOPL
from lapwing.experiments.trust import TRUST
from lapwing.experiments.two_servers import TWO_SERVERS
from lapwing.experiments.uniqueness import UNIQUENESS
from lapwing.experiments.vocab import VOCAB
from lapwing.experiments.why_shares import WHY_SHARES
from lapwing.experiments.windows import W_EVENT

if TYPE_CHECKING:
    from lapwing.experiments.naive import NaiveOutputPerturbation

_CROWDS = (RESPONSE, LAPLACE, NORMAL, EXPONENTIAL, BAD_APPLE, SKETCH_ERROR, DISCOVERY, TRUST, GROWTH, STASH)
_SHUFFLED = (THRESHOLD_CURVES, BUDS, VOCAB, SUGGEST, GRADIENTS)
_MODELS = (REGRESSION_DATA, REGRESSION, REGRESSION_AUDIT, MEMBERSHIP, OCCAM, PARITY, MASKED_PARITY)
_ATTACKS = (UNIQUENESS, K_ANONYMITY, reconstruction.RECONSTRUCTION, averaging.AVERAGING)
_TABLES = (E_HEALTH,)
_SERIES = (STREAMS, W_EVENT, TOPS_AND_TOPL)
_THEORY = (TWO_SERVERS, WHY_SHARES, GOSSIP, CAPACITY)
_ALL = (*_CROWDS, *_SHUFFLED, *_SERIES, *_THEORY, *_MODELS, *_ATTACKS, *_TABLES)
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({experiment.name: experiment for experiment in _ALL})
"""All experiments by name, as `lapwing experiment list` shows them."""

__all__ = ["EXPERIMENTS", "Experiment", "NaiveOutputPerturbation", "Row", "named"]


def __getattr__(name: str) -> Any:
    """`NaiveOutputPerturbation` (not private) needs scikit-learn, which listing experiments should not load."""
    if name == "NaiveOutputPerturbation":
        from lapwing.experiments.naive import NaiveOutputPerturbation

        return NaiveOutputPerturbation
    raise AttributeError(f"module 'lapwing.experiments' has no attribute {name!r}")


def named(name: str) -> Experiment:
    """Find an experiment by its name.

    Args:
        name: A name from `EXPERIMENTS`, such as `"response"`.

    Returns:
        The experiment, ready to be run.

    Raises:
        InvalidParameter: If no experiment has this name; the message lists all names.

    >>> from lapwing.experiments import named
    >>> print(named("averaging").source)
    Erlingsson, Pihur and Korolova 2014 (the memory); Tang et al. 2017 (the renewed budget)
    """
    return EXPERIMENTS[checks.one_of(tuple(EXPERIMENTS), name=name)]
