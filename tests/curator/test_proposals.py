"""Bounds that nobody knows are proposed by a priced private step, on a ladder that is fixed beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.curator.tables.proposals import ladder
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

NOISE = Reproducible(seed=15)


def table(values: Any, **more: Any) -> lw.curator.PrivateTable:
    return lw.open({"who": np.arange(len(values)), "x": np.asarray(values)}, unit="who", **more)


def test_a_proposal_reaches_over_the_values_and_not_over_outliers() -> None:
    usual = np.linspace(-30, 180, 5000)
    low, high = table([*usual, 1e9, -1e9, float("nan")]).bounds("x", epsilon=1, entropy=NOISE)
    assert (low, high) == (-50, 200)


def test_a_proposal_of_whole_numbers_begins_at_the_first_rung() -> None:
    assert tuple(table([7] * 1000).bounds("x", epsilon=1, entropy=NOISE)) == (5, 10)
    assert tuple(table([0] * 1000).bounds("x", epsilon=1, entropy=NOISE)) == (0, 1)


def test_a_proposal_is_charged_like_any_release(tmp_path: Path) -> None:
    book = {"ledger": tmp_path / "ledger.db", "allowance": lw.PureDP(1, unit="who"), "dataset": "people"}
    people = table([1.0] * 500, **book)
    proposal = lw.bounds(people, "x", epsilon=0.25)
    assert str(proposal.loss) == "ε = 0.25 (add_remove, per who)"
    assert people.remaining() == lw.PureDP(0.75, unit="who")


def test_a_proposal_under_a_key_is_free_the_second_time(tmp_path: Path) -> None:
    book = {"ledger": tmp_path / "ledger.db", "allowance": lw.PureDP(1, unit="who"), "dataset": "people"}
    people = table([1.0] * 500, **book)
    first = people.bounds("x", epsilon=0.25, key="monday")
    again = people.bounds("x", epsilon=0.25, key="monday")
    assert (first.low, first.high) == (again.low, again.high)
    assert people.remaining() == lw.PureDP(0.75, unit="who")


def test_where_noise_hides_everything_nothing_is_proposed() -> None:
    proposal = table([1.0, 2.0]).bounds("x", epsilon=0.01, entropy=NOISE)
    assert (proposal.low, proposal.high) == (None, None)
    assert "no range" in str(proposal)
    with pytest.raises(InvalidParameter, match="than the noise"):
        list(proposal)


def test_a_proposal_with_noise_from_a_seed_says_that_it_is_not_private() -> None:
    for values, epsilon in (([1.0] * 500, 1), ([1.0, 2.0], 0.01)):
        assert "NOT PRIVATE" in str(table(values).bounds("x", epsilon=epsilon, entropy=NOISE))
        assert "NOT PRIVATE" not in str(table(values).bounds("x", epsilon=epsilon))


def test_text_and_unknown_columns_have_no_bounds() -> None:
    people = lw.open({"who": np.arange(2), "x": np.array(["a", "b"])}, unit="who")
    with pytest.raises(InvalidParameter, match="not a column of numbers"):
        people.bounds("x", epsilon=1)
    with pytest.raises(InvalidParameter, match="not in the table"):
        people.bounds("y", epsilon=1)


@pytest.mark.parametrize("whole", [True, False])
def test_the_ladder_is_public_and_rises(whole: bool) -> None:
    rungs = ladder(whole=whole)
    assert rungs == sorted(set(rungs))
    assert all(-rung in rungs for rung in rungs)
    assert {0.0, 1.0, 2.0, 5.0, 10.0} <= set(rungs)
