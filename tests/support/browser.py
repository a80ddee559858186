"""What widgets compute in the browser, called from Python."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FRONTEND = Path(__file__).resolve().parents[2] / "src" / "lapwing" / "web" / "frontend"
Call = tuple[str, str, list[Any], Any]
"""A module of `src/math`, a function, its arguments, and what the library says."""


def answers_of(calls: Sequence[Call]) -> list[Any]:
    """What the browser's code says to each call."""
    if not (FRONTEND / "node_modules" / "esbuild").exists():
        pytest.skip("the browser's code is not built: run make assets")
    given = json.dumps([call[:3] for call in calls])
    done = subprocess.run(["node", str(FRONTEND / "test" / "call.mjs")], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def close(found: Any, expected: Any, *, relative: float = 1e-9) -> bool:
    """Whether two answers are the same, but for rounding."""
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(
            close(*one, relative=relative) for one in zip(found, expected, strict=True)
        )
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=relative, abs_tol=1e-12)
    return bool(found == expected)
