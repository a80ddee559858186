"""An audit and a search for counter-examples with nothing but the standard library, as learners' code needs it.

Runs on plain Python with all dependencies refused, and on Pyodide: no import here that those two lack.
"""

from __future__ import annotations

import math
import random
import sys

from lapwing.adversary.auditor import audit
from lapwing.adversary.search import find_violation
from lapwing.mechanisms import Laplace

HEAVY = {"numpy", "scipy", "mpmath", "cryptography", "dp_accounting", "duckdb", "sqlglot", "typer", "rich"}


def honest(data: list[float], epsilon: float) -> float:
    """A sum with enough noise."""
    return sum(data) + (random.expovariate(1) - random.expovariate(1)) / epsilon


def mistaken(data: list[float], epsilon: float) -> float:
    """A sum with too little noise."""
    return sum(data) + (random.expovariate(1) - random.expovariate(1)) / (3 * epsilon)


if __name__ == "__main__":
    found = find_violation(mistaken, epsilon=1, samples=2000, seed=1)
    assert found.caught
    assert 1 < found.audit.epsilon_lower_bound <= 3
    assert found.data["claimed"] == 1
    passed = find_violation(honest, epsilon=1, samples=2000, seed=1, confidence=1 - 1e-6, bits=False)
    assert not passed.caught
    assert not audit(Laplace(epsilon=1, sensitivity=1), (0, 1), samples=2000, confidence=1 - 1e-6).caught
    assert math.isfinite(passed.audit.ceiling)
    assert not HEAVY & {name.partition(".")[0] for name in sys.modules}
    print("audited without dependencies")
