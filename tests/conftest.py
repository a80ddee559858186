"""The servers that any test may ask for; each starts when the first test does."""

from __future__ import annotations

import pytest
from postgres import postgres_server, postgres_url
from spark import spark, spark_cluster

__all__ = ["postgres_server", "postgres_url", "spark", "spark_cluster"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give all tests of the cluster to one worker, so that one cluster is started."""
    for item in items:
        if "spark_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
