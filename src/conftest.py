"""What examples in docstrings may use without saying where it comes from."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="session")
def _shared(doctest_namespace: dict[str, Any]) -> None:
    """`lw`, and the table `patients` that `PrivateTable` describes."""
    from example_setup import PATIENTS  # imports packages that pytest must find first

    import lapwing as lw

    names: dict[str, Any] = {"lw": lw}
    exec(PATIENTS, names)  # the lines that the site prints
    doctest_namespace.update(lw=lw, patients=names["patients"])
