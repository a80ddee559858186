"""The judge of exercises, here and not in a browser, with a clock that stands still."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from lapwing.adversary import auditor, observations, search
from lapwing.web.school import judge, laws
from lapwing.web.school.exercise import Exercise


def stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search is cut short because a machine is slow: what it finds depends on its seed alone."""
    run_at(monkeypatch, 0.0)


def run_at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """So much time passes between any two looks at the clock, however fast this machine is."""
    looks = count()
    for module in (auditor, observations, search, judge, laws):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(looks) * seconds))


def wanted(exercise: Exercise, code: str) -> dict[str, Any]:
    """What the page of a nugget asks the judge about a program."""
    claim = exercise.audit and {
        name: getattr(exercise.audit, name) for name in ("call", "epsilon", "domain", "relation")
    }
    return {"what": "check", "code": code, "checks": exercise.checks, "audit": claim}
