"""Gossip: rates as computed, an attack as exact as its formula, and masks that cancel and hide."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate, stats

from lapwing.experiments import gossip
from lapwing.experiments.experiment import Row, column, entropy, select
from lapwing.experiments.gossip_graphs import (
    NODES,
    SHAPES,
    Eavesdropper,
    Shape,
    connectivity,
    edges,
    laplacian,
    plain_rate,
    talk,
)

FALSE_ALARM = 1e-6
RUNS = 100


@cache
def rows() -> list[Row]:
    return gossip.compute(runs=RUNS, mask_sizes=(0.0, 100.0, gossip.MASK))


def assert_root_mean_squares(measured: list[float], theory: list[float], runs: list[int]) -> None:
    """R·(measured/theory)² is chi-square with R degrees of freedom, because all noise is normal."""
    assert len(measured) == len(theory) > 0
    for value, expected, count in zip(measured, theory, runs, strict=True):
        law, square = stats.chi2(count), count * (value / expected) ** 2
        assert min(law.cdf(square), law.sf(square)) > FALSE_ALARM / len(measured), (value, expected)


def test_rates_are_those_that_were_computed_and_the_formula_bounds_them() -> None:
    for row in select(rows(), part="rate"):
        assert row["exact"] <= row["formula"] + 1e-12
        assert (1 - row["measured"]) / (1 - row["exact"]) == pytest.approx(1, abs=0.1), row
    for row in select(rows(), part="rate", graph="complete"):
        assert row["exact"] == pytest.approx(row["formula"])
    for row in select(rows(), part="rate", method=gossip.FADING):
        assert row["exact"] == row["formula"] == 1 - row["gamma"] / row["edges"]


@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_have_the_connectivity_and_the_first_step_that_are_known(shape: Shape) -> None:
    known = {"ring": 2 - 2 * math.cos(2 * math.pi / 16), "grid": 2 - 2 * math.cos(math.pi / 4), "complete": 16}
    assert connectivity(shape) == pytest.approx(known[shape])
    assert len(edges(shape)) == {"ring": 16, "grid": 24, "complete": 120}[shape]
    values = np.arange(NODES) ** 2.0
    values -= values.mean()
    after = []
    for left, right in edges(shape):
        moved = values.copy()
        moved[[left, right]] = (values[left] + values[right]) / 2
        after.append((moved**2).sum())
    expected = (values**2).sum() - values @ laplacian(shape) @ values / (2 * len(edges(shape)))
    assert np.mean(after) == pytest.approx(expected)
    assert plain_rate("complete") == pytest.approx(1 - 1 / (NODES - 1))


def test_the_eavesdropper_is_as_exact_as_the_formulas() -> None:
    for phi in gossip.PHIS:
        heard = [row for row in select(rows(), part="attack", phi=phi) if row["telescoped_theory"] > 1e-6]
        runs = column(heard, "runs")
        assert min(runs) > RUNS / 2
        assert_root_mean_squares(column(heard, "telescoped"), column(heard, "telescoped_theory"), runs)
        assert_root_mean_squares(column(heard, "best"), column(heard, "best_theory"), runs)
        assert all(row["best_theory"] <= row["telescoped_theory"] for row in heard)
        assert heard[-1]["best_theory"] < heard[0]["best_theory"] / 5


def test_what_is_added_and_taken_back_telescopes() -> None:
    """One node's messages, by hand: c + v₀, then φ·v₁ − v₀ is added, then φ²·v₂ − φ·v₁."""
    phi, value, (zero, first, second) = 0.5, 30.0, (7.0, -3.0, 8.0)
    listener = Eavesdropper(runs=1, phi=phi, longest=3)
    received = np.array([50.0])
    for added in (zero, phi * first - zero, phi**2 * second - phi * first):
        sent = value + added
        listener.hear(np.array([0]), np.array([sent]), received)
        value = (sent + received[0]) / 2
    assert listener.telescoped[0] == pytest.approx([30 + zero, 30 + phi * first, 30 + phi**2 * second])
    weights = np.array([1, phi**-2, phi**-4])
    assert listener.best[0, 2] == pytest.approx(weights @ listener.telescoped[0] / weights.sum())


def test_fading_noise_leaves_the_average_exact() -> None:
    starts = np.arange(NODES, dtype=np.float64)[None, :]
    errors = talk("complete", starts, 1_500, entropy("exact"), sigma=20.0, phi=np.full(NODES, 0.5))
    assert errors[-1] < 1e-12
    assert errors.max() > 20


def test_masks_cancel_and_hide() -> None:
    ages = np.arange(20, 20 + NODES, dtype=np.float64)
    for shape in SHAPES:
        plain, masked = (gossip.masked_starts(shape, ages, 3, size, entropy("m", shape)) for size in (0.0, 5_000.0))
        assert masked.sum(axis=1) == pytest.approx(plain.sum(axis=1))
        assert np.abs(masked - plain).min() > 0
    hidden = select(rows(), part="attack", method=gossip.MASKED)
    assert len(set(column(hidden, "telescoped_theory"))) == 1
    assert hidden[0]["telescoped_theory"] > gossip.MASK
    first = hidden[0]
    assert_root_mean_squares([first["telescoped"]], [first["telescoped_theory"]], [first["runs"]])


def test_masks_bring_the_price_down_to_that_of_a_curator() -> None:
    price = select(rows(), part="price")
    for name in ("informed", "answer"):
        assert_root_mean_squares(column(price, name), column(price, f"{name}_theory"), column(price, "runs"))
    for size in (100.0, gossip.MASK):
        ring, grid, complete = (select(price, graph=shape, mask=size)[0]["epsilon"] for shape in SHAPES)
        assert gossip.EPSILON < complete < grid < ring
    for shape in SHAPES:
        epsilons = column(select(price, graph=shape), "epsilon")
        assert epsilons == sorted(epsilons, reverse=True)
        assert epsilons[-1] < 1.02 * gossip.EPSILON


def test_neighbours_who_collude_cut_a_node_of_a_ring_off() -> None:
    ring, grid, complete = (select(rows(), part="collusion", graph=shape)[0]["epsilon"] for shape in SHAPES)
    alone = gossip.gaussian_epsilon(gossip.SPAN / gossip.share_deviation(), gossip.DELTA)
    assert ring == pytest.approx(alone)
    fewer = gossip.SPAN / (gossip.share_deviation() * math.sqrt(NODES - 2))
    assert complete == pytest.approx(gossip.gaussian_epsilon(fewer, gossip.DELTA), rel=1e-3)
    assert complete < grid < ring


def test_epsilon_and_delta_of_normal_noise_are_right() -> None:
    for distance, epsilon in ((0.3, 0.5), (1.0, 1.0), (3.0, 2.0)):

        def excess(x: float, distance: float = distance, epsilon: float = epsilon) -> float:
            return max(0.0, stats.norm.pdf(x, distance) - math.exp(epsilon) * stats.norm.pdf(x))

        start = epsilon / distance + distance / 2
        exact = integrate.quad(excess, start, start + 12)[0]
        assert gossip.gaussian_delta(epsilon, distance) == pytest.approx(exact, rel=1e-6)
        assert gossip.gaussian_epsilon(distance, exact) == pytest.approx(epsilon, rel=1e-6)
        assert gossip.gaussian_distance(epsilon, exact) == pytest.approx(distance, rel=1e-6)
    assert gossip.gaussian_epsilon(0.001, 0.5) == 0
