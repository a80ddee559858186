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


def needs_node() -> None:
    """Skip where the tools that build the browser's code are not there."""
    if not (FRONTEND / "node_modules" / "esbuild").exists():
        pytest.skip("the browser's code is not built: run make assets")


def answers_of(calls: Sequence[Call]) -> list[Any]:
    """What the browser's code says to each call."""
    needs_node()
    given = json.dumps([call[:3] for call in calls])
    done = subprocess.run(["node", str(FRONTEND / "test" / "call.mjs")], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def close(found: Any, expected: Any, *, relative: float = 1e-9) -> bool:
    """Whether two answers are the same, but for rounding."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(close(*one, relative=relative) for one in zip(found, expected, strict=True))
        )
    if isinstance(expected, float):
        return isinstance(found, (int, float)) and math.isclose(found, expected, rel_tol=relative, abs_tol=1e-12)
    return bool(found == expected)


def differences(calls: Sequence[Call]) -> list[str]:
    """Every call to which the browser says something else than is expected, one line each."""
    assert calls
    answers = answers_of(calls)
    return [
        f"{module}.{name}({', '.join(map(_short, given))}) is {_short(found)} in the browser, should be {expected}"
        for (module, name, given, expected), found in zip(calls, answers, strict=True)
        if not close(found, expected)
    ]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]}…"
