"""A pool hands out each draw once, in one process."""

from __future__ import annotations

import copy
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from lapwing.errors import BudgetExceeded, InvalidParameter
from lapwing.mechanisms import AboveThreshold
from lapwing.noise.pool import Pool


def test_a_draw_is_handed_out_once_also_to_threads() -> None:
    pool = Pool(itertools.count().__next__, size=64)
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: pool.take(), range(4000)))
    assert len(set(taken)) == 4000


def test_a_copy_has_draws_of_its_own() -> None:
    count = itertools.count()
    pool = Pool(lambda: next(count), size=8)
    other = copy.copy(pool)
    assert {pool.take() for _ in range(8)}.isdisjoint({other.take() for _ in range(8)})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_throws_away_what_the_parent_drew() -> None:
    pool = Pool(lambda: os.getpid(), size=8)
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        os._exit(0 if len(pool) == 0 and pool.take() == os.getpid() and len(pool) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.take() == os.getpid()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_with_the_process_id_of_its_parent_is_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are used again, and the first process of every container is number 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    pool, watch = (
        Pool(itertools.count().__next__, size=8),
        AboveThreshold(epsilon=1, sensitivity=1, threshold=0).start(),
    )
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        try:
            watch.ask(0)
        except BudgetExceeded:
            os._exit(0 if len(pool) == 0 and pool.take() >= 8 else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(pool) == 8


def test_a_pool_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        Pool(int, size=0)
