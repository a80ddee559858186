"""What examples in docstrings may use without saying where it comes from."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="session")
def _shared(doctest_namespace: dict[str, Any]) -> None:
    """`lw`, and the table `patients` that `PrivateTable` describes."""
    import lapwing as lw
    from lapwing.datasets import clinic_csv

    doctest_namespace["lw"] = lw
    doctest_namespace["patients"] = lw.open(
        clinic_csv(),
        name="patients",
        unit="patient",
        bounds={"age": (0, 100), "cost": (0, 2000), "visits": (0, 20)},
        keys={"region": ["North", "South", "East", "West", "Coast", "Islands"]},
        types={"smoker": "boolean"},
    )
