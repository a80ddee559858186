"""What the items of a question cost is what their mechanisms say, and what cannot be drawn is not paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.ask.pricing import Picks, check
from lapwing.curator.ask.query import Query
from lapwing.curator.tables.table import PrivateTable
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
    drawn = mechanism.zcdp_loss() if item.concentrated else mechanism.privacy_loss()
    assert item.privacy_loss() == touched * drawn
    assert mechanism.max_rows_per_unit == (1 if by == "max_groups_per_unit" else 3)
    size = spend.size / 2
    paid = item.privacy_loss()
    part = paid.rho if item.concentrated else paid.epsilon
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
    noted = f"max_groups_per_unit is 100, but there are only {number} groups: write {number} for less noise"
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


def frame() -> lw.PrivateTable:
    rows = pl.DataFrame({"who": ["1"], "place": ["N"], "x": [1.0], "y": [2.0]})
    return lw.open(rows, unit="who", bounds={"x": (0, 100), "y": (-3, 3)}, keys={"place": [*"ABCDEFGHIJKLNS"]})


OUTPUTS = [
    (lw.count(),),
    (lw.count(), lw.sum("x")),
    (lw.units(weight=50), lw.sum("x"), lw.quantile("y", 0.5)),
    tuple(lw.sum("x", bounds=(0, high), name=f"s{high}") for high in range(1, 13)),
    (lw.mean("x"), lw.variance("x"), lw.mean("y"), lw.correlation("x", "y"), lw.count(weight=20)),
]
KEPT = [{}, {"max_groups_per_unit": 3}, {"max_groups_per_unit": 14}, {"max_rows_per_unit": 14}]


@pytest.mark.parametrize("kept", KEPT, ids=str)
@pytest.mark.parametrize("outputs", OUTPUTS, ids=len)
def test_no_item_errs_more_because_a_delta_may_be_spent(outputs: tuple[Any, ...], kept: dict[str, int]) -> None:
    table = frame().bounded(**kept)
    for query in (table.agg(*outputs), table.group_by("place").agg(*outputs)):
        plain, chosen = (query.items(query.budget(2, delta, None)) for delta in (None, 1e-6))
        for before, after in zip(plain, chosen, strict=True):
            assert before.label == after.label
            assert after.error <= before.error
            assert after.concentrated == (after.error < before.error)


@pytest.mark.parametrize("kept", KEPT, ids=str)
@pytest.mark.parametrize("outputs", OUTPUTS, ids=len)
@together("delta", [1e-9, 1e-3, 0.4])
def test_laplace_and_gaussian_items_together_lose_what_is_charged(
    outputs: tuple[Any, ...], kept: dict[str, int], delta: float
) -> None:
    query = frame().bounded(**kept).group_by("place").agg(*outputs)
    spend = query.budget(1, delta, None)
    losses = [item.privacy_loss() for item in query.items(spend)]
    pure = sum((loss for loss in losses if isinstance(loss, lw.PureDP)), lw.PureDP(0, unit="who"))
    rho = sum((loss for loss in losses if isinstance(loss, lw.ZCDP)), lw.ZCDP(0, unit="who"))
    assert pure + rho.to_approx(delta) <= lw.ApproxDP(1, delta, unit="who")
    if not rho.rho:
        assert spend.stated == lw.PureDP(1, unit="who"), "a delta that is not needed is not charged"
    assert len([*losses]) == sum(isinstance(loss, lw.PureDP | lw.ZCDP) for loss in losses)


def test_some_releases_have_both_kinds_of_noise() -> None:
    query = frame().bounded(max_groups_per_unit=3).group_by("place").agg(*OUTPUTS[4])
    kinds = [item.concentrated for item in query.items(query.budget(2, 1e-6, None))]
    assert True in kinds
    assert False in kinds


def test_a_check_refuses_items_that_cost_more_than_is_charged() -> None:
    query = frame().bounded(max_groups_per_unit=3).group_by("place").agg(*OUTPUTS[4])
    spend = query.budget(2, 1e-6, None)
    items = query.items(spend)
    check(items, spend)
    for place, item in enumerate(items):
        more = [replace(item, size=item.size * Fraction(11, 10)), *items[:place], *items[place + 1 :]]
        with pytest.raises(AssertionError, match="is charged"):
            check(more, spend)


@pytest.fixture
def visits() -> PrivateTable:
    """Three people with two rows each."""
    rows = pl.DataFrame({"who": ["x", "y", "z"] * 2, "cost": [1.0, 2.0, 3.0] * 2})
    return lw.open(rows, name="visits", unit="who", bounds={"cost": (0, 5)})


@pytest.mark.parametrize("width", range(24, 81, 7))
def test_no_line_of_a_printed_quote_ends_within_an_equation(
    width: int, visits: PrivateTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = str(visits.agg(lw.count()).quote(epsilon=7.5)).splitlines()
    assert any("ε = 7.5" in line for line in lines)
    assert not any(line.endswith(("ε", "=")) for line in lines)


def test_a_quote_does_not_list_columns_that_only_bear_the_name_of_their_table(visits: PrivateTable) -> None:
    joined = visits.query("SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.who = b.who WHERE a.who = 'x'")
    question = joined.quote(epsilon=1).question
    assert "select" not in question
    assert "join" in question


def test_the_quote_says_which_noise_a_delta_bought_and_why() -> None:
    table = frame()
    alone = table.agg(lw.count()).quote(epsilon=1, delta=1e-6)
    assert alone.expected == table.agg(lw.count()).quote(epsilon=1).expected
    assert alone.loss == lw.PureDP(1, unit="who")
    assert alone.notes[-1] == "delta is not spent: Laplace noise needs no delta and is smaller than Gaussian noise here"
    wide = table.bounded(max_groups_per_unit=14).group_by("place").agg(lw.count(), lw.sum("x"))
    assert wide.quote(epsilon=1, delta=1e-6).loss == lw.ApproxDP(1, 1e-6, unit="who")
    assert (
        wide.quote(epsilon=1, delta=1e-6).notes[-1]
        == "delta is spent on Gaussian noise, which is smaller than Laplace noise here"
    )
    assert "delta" not in wide.quote(epsilon=1).notes[-1]
    assert wide.release(epsilon=1, delta=1e-6).notes[-1] == wide.quote(epsilon=1, delta=1e-6).notes[-1]


def test_a_quote_says_that_people_count_towards_a_key_by_the_rows_that_are_used() -> None:
    """A key that 188 planes had was often not shown, although "a key of at least 163 planes is shown" was promised."""
    source = pl.DataFrame({"plane": [1], "dest": ["CVG"]})
    opened = {"types": {"plane": "integer", "dest": "text"}, "population": 4000}
    asked = "a key of at least {} is shown with a probability of 95 % or more"
    for limits, used in (
        ({"max_rows_per_unit": 6}, "up to 6 per plane"),
        ({}, "one per plane"),
        ({"max_groups_per_unit": 3, "max_rows_per_group": 2}, "up to 2 per plane and group, in up to 3 groups"),
    ):
        table = lw.open(source, unit="plane", **opened, **limits)  # type: ignore[arg-type]
        quote = table.group_by("dest").agg(lw.count()).quote(epsilon=1, delta=1e-6)
        assert quote.counted == used
        needed = f"{quote.expected[0].error:.0f} planes among the rows used ({used})"
        assert asked.format(needed) in " ".join(str(quote).split())
    rows = lw.open(source, unit=lw.EACH_ROW, **opened).group_by("dest").agg(lw.count())  # type: ignore[arg-type]
    assert rows.quote(epsilon=1, delta=1e-6).counted == ""
    assert "rows is shown with" in " ".join(str(rows.quote(epsilon=1, delta=1e-6)).split())
    answer = table.group_by("dest").agg(lw.count()).release(epsilon=1, delta=1e-6)
    assert answer.provenance["counted"] == used
