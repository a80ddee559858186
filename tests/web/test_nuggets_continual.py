"""The nugget about totals that are published every day: what it says is true."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparisons import continual
from playwright.sync_api import expect
from school_site import nuggets
from scipy.stats import norm

from lapwing.mechanisms import analytic_sigma
from lapwing.mechanisms.continual import BinaryTree, SignedTree, SquareRootCounter

NUGGET = Path(__file__).resolve().parents[2] / "src" / "lapwing" / "web" / "nuggets" / "27-counting-for-ever.md"
TEXT = " ".join(NUGGET.read_text(encoding="utf-8").split())
YEAR, WEEK = 365, 7
HALF = float(norm.ppf(0.975)) * analytic_sigma(1, 1e-6)
"""How far off one count is at ε = 1, with 95 % confidence."""


def widths(name: str, days: int) -> list[float]:
    """How wide the noise is after each day, by plain matrices."""
    decoder, encoder = {
        "added": lambda: (continual.running(days), None),
        "tree": lambda: continual.tree(days),
        "root": lambda: (continual.square_root(days),) * 2,
    }[name]()
    largest = 1.0 if encoder is None else continual.largest_column(encoder)
    return [HALF * largest * math.sqrt(float((row**2).sum())) for row in decoder]


def test_what_is_said_of_a_year_is_true() -> None:
    added, tree, root = (widths(name, YEAR) for name in ("added", "tree", "root"))
    assert f"off by at most about {HALF:.0f} calls" in TEXT
    assert TEXT.count(f"{added[-1]:.0f} calls") >= 2
    split = HALF * math.sqrt(YEAR)
    assert f"about {math.sqrt(YEAR):.0f}, times as large: {split:.0f} calls" in TEXT
    ends = f"the tree is off by at most {tree[-1]:.0f}, and the square root by {root[-1]:.0f}."
    assert f"at most {added[-1]:.0f} calls. Of the two methods explained below, {ends}" in TEXT
    assert f"On its worst day the tree is off by {max(tree):.0f}" in TEXT
    assert f"That is {max(tree):.0f} calls on the worst day of the year, instead of {added[-1]:.0f}" in TEXT
    assert f"the total is off by at most {root[-1]:.0f} calls" in TEXT
    assert root[-1] < tree[-1] / 2, "its error is less than half of the tree's"
    twice = root[-1] / HALF
    assert f"{math.sqrt(twice):.2f} for a year. Together they make it {twice:.2f} times that of one count" in TEXT
    better = sum(one < other for one, other in zip(root, tree, strict=True))
    assert better > 0.97 * YEAR, "better on nearly every day"
    nuclear = float(np.linalg.svd(continual.running(YEAR), compute_uv=False).sum()) / YEAR
    mean = math.sqrt(sum(width**2 for width in root) / YEAR) / HALF
    assert f"The square root is {100 * (mean / nuclear - 1):.0f} % above this limit" in TEXT


def test_what_is_said_of_a_week_is_true() -> None:
    added, tree = widths("added", WEEK), widths("tree", WEEK)
    assert f"off by {tree[-1]:.0f} calls; seven noisy days are off by {added[-1]:.0f}" in TEXT


def test_what_is_said_of_nodes_is_true() -> None:
    chosen, nodes = continual.tree(YEAR)
    assert int(nodes.sum(axis=0).max()) == 9, "nine levels"
    assert int(chosen.sum(axis=1).max()) == 8, "a total has at most eight nodes"
    assert (int(chosen[255].sum()), int(chosen[254].sum())) == (1, 8)


def test_the_weights_are_those_of_the_square_root() -> None:
    root = continual.square_root(YEAR)
    assert "1, yesterday's with weight 1/2, then 3/8, 5/16, 35/128" in TEXT
    assert [float(one) for one in root[:5, 0]] == [1, 1 / 2, 3 / 8, 5 / 16, 35 / 128]
    assert math.isclose(float((root[:, 0] ** 2).sum()), 1.07 + math.log(YEAR) / math.pi, rel_tol=3e-3)


def test_paying_every_day_costs_what_is_said() -> None:
    sigma = analytic_sigma(1, 1e-6) * widths("root", YEAR)[-1] / HALF
    low, high = (analytic_sigma(epsilon, 1e-6) * math.sqrt(YEAR) for epsilon in (8.1, 7.95))
    assert low < sigma < high
    assert "would cost ε = 8 by the last day" in TEXT


def test_the_counters_of_the_library_are_those_of_the_widget() -> None:
    tree = BinaryTree.for_rho(0.5, steps=YEAR, sensitivity=1)
    root = SquareRootCounter.for_rho(0.5, steps=YEAR, sensitivity=1)
    ours = [width / HALF for width in widths("tree", YEAR)]
    assert [math.sqrt(tree.variance(day + 1)) for day in range(YEAR)] == pytest.approx(ours, rel=1e-6)
    for day, width in enumerate(widths("root", YEAR), 1):
        assert 0.9 < math.sqrt(root.variance(day)) / (width / HALF) < 1.04, "bins and whole numbers cost little"


def test_what_is_said_of_the_library_is_true() -> None:
    root = SquareRootCounter.for_epsilon(1, 1e-6, steps=YEAR, sensitivity=1)
    assert f"is off by {root.accuracy(0.95):.0f} calls instead of 24" in TEXT
    assert 900 < root.state_bytes < 1100, "about a kilobyte"
    signed, binary = (kind.for_epsilon(1, steps=YEAR, sensitivity=1) for kind in (SignedTree, BinaryTree))
    assert f"off by {signed.accuracy(0.95):.0f} calls on its worst day" in TEXT
    assert f"the binary tree with Laplace noise by {binary.accuracy(0.95):.0f}" in TEXT


def test_every_objective_is_served_and_every_formula_can_be_read() -> None:
    page = nuggets().pages["counting-for-ever"]
    assert {number for screen in page.screens for number in screen.serves} == {1, 2, 3}
    assert page.pace.short <= 10
    assert len(page.widgets) == 2
    assert not any("formula-wrong" in screen.html for screen in page.screens)


@pytest.mark.sweep
def test_days_and_nodes_can_be_moved(visit: Callable[..., Any]) -> None:
    page = visit().read("counting-for-ever", "?daily-total.days=7&tree-nodes.day=13")
    daily, tree = page.locator(".widget").all()
    expect(daily.locator(".seen")).to_contain_text("explained below, the tree is off by at most 24.8")
    expect(daily.locator(".seen")).to_contain_text("For so few days the tree is no help")
    daily.locator("select").select_option("price")
    expect(daily.locator(".seen")).to_contain_text("A fresh noisy total each day would cost")
    for name in ("days 1–8", "days 9–12"):
        tree.get_by_role("button", name=name, exact=True).press("Enter")
    expect(tree.locator(".seen")).to_contain_text("Not yet: 1 day missing (13)")
    tree.get_by_role("button", name="day 13", exact=True).press("Enter")
    expect(tree.locator(".seen")).to_contain_text("Yes: days 1 to 8, days 9 to 12 and day 13")
    tree.get_by_role("button", name="day 14", exact=True).press("Enter")
    expect(tree.locator(".seen")).to_contain_text("1 day after day 13 (14)")
