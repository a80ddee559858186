"""What widgets compute in the browser is what the library computes."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lapwing.privacy.explain import posterior

FRONTEND = Path(__file__).resolve().parents[2] / "src" / "lapwing" / "web" / "frontend"
Call = tuple[str, str, list[Any], Any]
"""A module of `src/math`, a function, its arguments, and what the library says."""


def odds() -> Iterator[Call]:
    for epsilon in (0.01, 0.5, 1.0, 8.0):
        for prior in (0.01, 0.5, 0.9):
            expected = posterior(Fraction(epsilon), Fraction(prior))[1]
            yield "odds", "posterior", [epsilon, prior], float(expected)


def laplace() -> Iterator[Call]:
    from scipy.stats import laplace as law

    for scale in (0.1, 1.0, 30.0):
        yield "laplace", "density", [0.7, 0.2, scale], law.pdf(0.7, 0.2, scale)
        yield "laplace", "within", [scale, 0.95], law.ppf(0.975, scale=scale)


CALLS = [*odds(), *laplace()]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    if not (FRONTEND / "node_modules" / "esbuild").exists():
        pytest.skip("the browser's code is not built: run make assets")
    given = json.dumps([call[:3] for call in CALLS])
    done = subprocess.run(["node", str(FRONTEND / "test" / "call.mjs")], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][0]}.{CALLS[i][1]}{CALLS[i][2]}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert _close(answers[place], CALLS[place][3])


def _close(found: Any, expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(_close, found, expected))
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected)
