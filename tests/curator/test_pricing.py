"""What the items of a question cost is what their mechanisms say, and what cannot be drawn is not paid for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.curator.pricing import Picks
from lapwing.curator.query import Query
from lapwing.errors import InvalidParameter


def median(folder: Path, bounds: tuple[float, float]) -> tuple[lw.PrivateTable, Query]:
    path = folder / "visits.csv"
    path.write_text("who,cost\n" + "\n".join(f"{i % 5},{i}" for i in range(20)))
    allowance = lw.PureDP(3, unit="patient")
    table = lw.open(path, unit="who", bounds={"cost": bounds}, allowance=allowance, ledger=folder / "ledger.db")
    return table, table.agg(lw.median("cost"))


@pytest.mark.parametrize(
    ("bounds", "epsilon"),
    [((1e6, 1e6 + 1e-9), 1), ((0, 1), Fraction(1, 10**25))],
    ids=["bounds that no grid tells apart", "a rank that no noise is wide enough for"],
)
def test_a_quantile_that_cannot_be_drawn_is_refused_before_anything_is_charged(
    bounds: tuple[float, float], epsilon: Any, tmp_path: Path
) -> None:
    table, query = median(tmp_path, bounds)
    before = table.remaining()
    with pytest.raises(InvalidParameter):
        query.quote(epsilon=epsilon)
    with pytest.raises(InvalidParameter):
        query.release(epsilon=epsilon)
    assert table.remaining() == before


@pytest.mark.parametrize("by", ["max_groups_per_unit", "max_rows_per_unit"])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": 1e-6}], ids=str)
def test_the_quantiles_of_all_groups_of_a_unit_cost_their_part_together(
    by: str, budget: dict[str, Any], tmp_path: Path
) -> None:
    table, _ = median(tmp_path, (0, 100))
    query = table.bounded(**{by: 3}).group_by(dear="cost > 5").agg(lw.median("cost"), lw.count())
    spend = query.budget(budget.get("epsilon"), budget.get("delta"), budget.get("rho"))
    [item] = [one for one in query.items(spend) if isinstance(one, Picks)]
    touched = 3 if by == "max_groups_per_unit" else 1  # with a bound on rows, the mechanism is one for all of them
    mechanism = item.mechanism
    drawn = mechanism.zcdp_loss() if spend.concentrated else mechanism.privacy_loss()
    assert item.privacy_loss() == touched * drawn
    assert mechanism.max_rows_per_unit == (1 if by == "max_groups_per_unit" else 3)
    size = spend.size / 2
    paid = item.privacy_loss()
    part = paid.rho if spend.concentrated else paid.epsilon
    assert size * Fraction(999_999, 10**6) <= part <= size
