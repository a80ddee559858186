"""Our side of the local protocols. Entropy is counted; simulated people repeat themselves as real ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.measure import Contender
from bench.ours import ours
from lapwing.crowd import Answers, Protocol, Reports


def people(domain: int, count: int) -> Answers:
    """Uniform answers 0 … domain − 1."""
    return Answers.of(np.random.default_rng(1).integers(0, domain, count))


def client(protocol: Protocol, answers: Answers) -> Contender:
    """One report for everybody."""
    return ours(lambda entropy: protocol.randomize(answers, entropy), len(answers))


def server(protocol: Protocol, answers: Answers, copies: int = 1) -> Contender:
    """Counting reports, which were made before."""
    reports = Reports.together([protocol.randomize(answers)] * copies)
    return Contender("Lapwing", lambda: protocol.absorb(None, reports), reports.n, "integers")


def hashing_server(protocol: Any, answers: Answers, domain: int) -> Contender:
    """Counting, and looking up every answer of the domain: what the peers do for each report."""
    reports = protocol.randomize(answers)
    run: Callable[[], object] = lambda: protocol.estimate(protocol.absorb(None, reports), range(domain))  # noqa: E731
    return Contender("Lapwing", run, reports.n, "counted and looked up")


def decoder(protocol: Any, answers: Answers, candidates: int) -> Contender:
    """Estimates for many candidates, items hashed in advance by nobody."""
    counts, items = protocol.absorb(None, protocol.randomize(answers)), list(range(candidates))
    return Contender("Lapwing", lambda: protocol.estimate(counts, items), candidates, "with errors")
