"""The servers that any test may ask for, each started by the first test that does; and one cluster for all workers."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from effort import Effort
from postgres import postgres_server, postgres_url
from spark import spark, spark_cluster

__all__ = ["postgres_server", "postgres_url", "spark", "spark_cluster"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest --effort` tells what tests cost."""
    parser.addoption("--effort", action="store_true", help="minutes of one core by room, and the dearest tests")


def pytest_configure(config: pytest.Config) -> None:
    """In every worker, and where their reports come together."""
    if config.getoption("--effort"):
        config.pluginmanager.register(Effort())


@functools.cache
def needs_spark(file: str) -> bool:
    """Whether a file of tests may ask for the cluster."""
    path = Path(__file__).parents[1] / file
    return path.suffix == ".py" and re.search(r"\bspark\b", path.read_text(encoding="utf-8")) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one worker, so that what its tests share is made once, and all tests of the cluster to one.

    xdist's own groups need older pytests.

    https://github.com/pytest-dev/pytest-xdist/issues/1386
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneCluster(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "spark" if needs_spark(file) else file

    return OneCluster(config, log) if config.getvalue("dist") == "load" else None
