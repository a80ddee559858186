"""Which cases of a test `make test` runs: the others are sweeps, which `make test-all` adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], stays: int | Callable[[Any], bool] = 1) -> list[Any]:
    """All cases, marked; `stays` are the first so many, or those of which the function says so."""
    listed = list(cases)
    stay = [place < stays if isinstance(stays, int) else stays(case) for place, case in enumerate(listed)]
    assert any(stay), "nothing of it would be left in make test"
    return [case if stayed else _swept(case) for case, stayed in zip(listed, stay, strict=True)]


def _swept(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.sweep)
