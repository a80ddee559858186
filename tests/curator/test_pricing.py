"""What the items of a question cost is what their mechanisms say, and what cannot be drawn is not paid for."""

from __future__ import annotations

from collections.abc import Callable
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
    touched = (
        2 if by == "max_groups_per_unit" else 1
    )  # of two groups there are no more; with a bound on rows, the mechanism is one for all of them
    mechanism = item.mechanism
    drawn = mechanism.zcdp_loss() if spend.concentrated else mechanism.privacy_loss()
    assert item.privacy_loss() == touched * drawn
    assert mechanism.max_rows_per_unit == (1 if by == "max_groups_per_unit" else 3)
    size = spend.size / 2
    paid = item.privacy_loss()
    part = paid.rho if spend.concentrated else paid.epsilon
    assert size * Fraction(999_999, 10**6) <= part <= size


GROUPINGS: dict[str, tuple[int, Callable[[lw.PrivateTable], Query]]] = {
    "keys": (3, lambda t: t.group_by("place").agg(lw.count(), lw.sum("cost"), lw.median("cost"))),
    "everything else": (4, lambda t: t.group_by("place", everything_else=True).agg(lw.count(), lw.units())),
    "keys and a truth value": (6, lambda t: t.group_by("place", dear="cost > 5").agg(lw.units(), lw.mean("cost"))),
    "bins": (2, lambda t: t.agg(lw.histogram("cost", edges=[0, 5, 100]))),
    "no groups": (1, lambda t: t.agg(lw.count(), lw.sum("cost"))),
}


@pytest.mark.parametrize("spend", [{"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": 1e-6}], ids=str)
@pytest.mark.parametrize("groups", GROUPINGS)
def test_a_unit_that_may_be_in_more_groups_than_there_are_costs_no_more_noise(
    groups: str, spend: dict[str, Any], tmp_path: Path
) -> None:
    number, ask = GROUPINGS[groups]
    path = tmp_path / "visits.csv"
    path.write_text("who,place,cost\n1,N,3\n2,S,8\n2,,1\n")
    table = lw.open(path, unit="who", bounds={"cost": (0, 100)}, keys={"place": ["N", "S", None]})
    quotes = [ask(table.bounded(max_groups_per_unit=most)).quote(count=100, **spend) for most in (number, 100)]
    assert quotes[0].expected == quotes[1].expected
    assert quotes[0].lines == quotes[1].lines
    digests = {ask(table.bounded(max_groups_per_unit=most)).digest() for most in (number, 100)}
    assert len(digests) == 1, "the statement keeps the same groups"
    noted = f"max_groups_per_unit is 100, but there are only {number} groups: {number} needs less noise"
    assert (noted in quotes[1].notes) == (number > 1)
    assert noted not in quotes[0].notes


def test_units_under_a_limit_of_rows_are_in_no_more_groups_than_there_are(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,place\n1,N\n2,S\n")
    table = lw.open(path, unit="who", keys={"place": ["N", "S"]})
    errors = [
        table.bounded(**kept).group_by("place").agg(lw.units()).quote(epsilon=1).expected
        for kept in ({"max_rows_per_unit": 50}, {"max_groups_per_unit": 2})
    ]
    assert errors[0] == errors[1]
