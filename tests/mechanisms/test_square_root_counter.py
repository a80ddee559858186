"""The square-root counter: its certificate against the dense matrix, its variances, batches and adaptive loss."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_mean, assert_seldom
from scipy import stats

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import SquareRootCounter
from lapwing.mechanisms.dyadic_layout import Layout, layout_of
from lapwing.mechanisms.square_root_batch import batch_of, next_batch
from lapwing.mechanisms.square_root_variance import mean_variance, variances, window_variance

SILENT = 1e-9
"""A sigma so small that the noise is 0, except with probability e^-500."""


def dense(layout: Layout) -> Any:
    """The matrix from its definition; every entry up to the diagonal must come from exactly one place."""
    t, j = np.arange(layout.steps)[:, None], np.arange(layout.steps)[None, :]
    matrix, hits = np.zeros((layout.steps, layout.steps), dtype=np.int64), np.zeros((layout.steps,) * 2, dtype=int)
    for coefficient, (level, place) in zip(layout.coefficients, layout.places(), strict=True):
        here = (t >> level) - (j >> level) == place
        if place == 2 * layout.half + 1:
            here &= (t >> level & 1) == 1
        matrix[here] = coefficient
        hits += here
    assert np.array_equal(hits, j <= t)
    return matrix


def nuclear_norm_bound(steps: int) -> float:
    """The least root mean squared error of any factorisation with columns of norm 1, from known singular values."""
    k = np.arange(1, steps + 1)
    return float((0.5 / np.sin((2 * k - 1) * np.pi / (2 * (2 * steps + 1)))).sum() / steps)


@together("bins", [2, 4, 16])
def test_the_certificate_is_the_largest_column_of_the_dense_matrix(bins: int) -> None:
    for steps in range(1, 301) if bins == 16 else range(1, 301, 7):
        layout = layout_of(steps, bins)
        squares = (dense(layout) ** 2).sum(axis=0)
        assert layout.squared_column() == squares.max() == squares[0]


@together("steps", [1, 2, 19, 40, 300])
@together("bins", [2, 4, 16])
def test_blocks_hold_what_the_matrix_says(steps: int, bins: int) -> None:
    layout = layout_of(steps, bins)
    matrix, values = dense(layout), [(7 * t * t + 3) % 101 - 40 for t in range(steps)]
    assert all(layout.row(t) == matrix[t, : t + 1].tolist() for t in range(0, steps, 13))
    blocks = [0] * (len(layout.coefficients) - 1)
    for t, value in enumerate(values):
        row = value * layout.coefficients[0] + sum(map(lambda c, b: c * b, layout.coefficients[1:], blocks))
        assert row == int(matrix[t] @ np.array(values))
        blocks = layout.push(blocks, t, value, 0)
        assert len(blocks) == len(layout.coefficients) - 1
        assert sum(blocks) == sum(values[: t + 1])


@together("steps", [3, 12, 19])
@together("bins", [2, 16])
@together("active", [2, 3])
@together("separation", [1, 2, 5])
def test_no_set_of_columns_is_longer_than_the_bound(steps: int, bins: int, active: int, separation: int) -> None:
    layout = layout_of(steps, bins)
    gram = dense(layout).T @ dense(layout)
    sets = (columns for count in range(1, active + 1) for columns in itertools.combinations(range(steps), count))
    longest = max(
        int(gram[np.ix_(columns, columns)].sum())
        for columns in sets
        if all(late - early >= separation for early, late in itertools.pairwise(columns))
    )
    bound = layout.squared_shift(active, separation)
    assert longest <= bound <= 1.2 * longest
    assert bound <= active**2 * layout.squared_column()


def test_separation_costs_less_and_never_less_than_one_column() -> None:
    layout = layout_of(365, 16)
    bounds = [layout.squared_shift(12, separation) for separation in (1, 2, 7, 30)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] > layout.squared_shift(1, 30) == layout.squared_column()
    assert layout.squared_shift(10**9, 365) == layout.squared_column()  # only one step fits


@together("steps", [1, 2, 18, 40, 130, 300])
@together("bins", [2, 16])
def test_variances_are_those_of_the_dense_inverse(steps: int, bins: int) -> None:
    layout = layout_of(steps, bins)
    weights = np.cumsum(np.linalg.inv(dense(layout).astype(float)), axis=0)
    assert np.allclose(variances(layout), (weights**2).sum(axis=1), rtol=1e-9)
    assert math.isclose(mean_variance(layout), (weights**2).sum() / steps, rel_tol=1e-9)
    for start, stop in [(0, steps), (steps // 3, steps), (steps // 2, steps // 2 + 1)]:
        if start < stop <= steps:
            difference = weights[stop - 1] - (weights[start - 1] if start else 0)
            assert math.isclose(window_variance(layout, start, stop), (difference**2).sum(), rel_tol=1e-9)


@together("exponent", [0, 4, 7, 10])
def test_the_mean_error_is_within_ten_percent_of_the_lower_bound(exponent: int) -> None:
    assert_near_the_bound(exponent)


@pytest.mark.sweep
@together("exponent", [13, 16, 20])
def test_the_mean_error_of_long_streams_is_within_ten_percent_of_the_lower_bound(exponent: int) -> None:
    assert_near_the_bound(exponent)


def assert_near_the_bound(exponent: int) -> None:
    counter = SquareRootCounter.for_rho(0.5, steps=1 << exponent, sensitivity=1)
    assert counter.rms() <= 1.08 * nuclear_norm_bound(1 << exponent)
    assert counter.rms() >= nuclear_norm_bound(1 << exponent) * (1 - 1e-9)  # else the bound or the variances are wrong
    assert counter.state_bytes <= 4096


@together("steps", [1, 17, 40, 300, 1000])
@together("width", [1, 3])
@together("bins", [2, 16])
def test_a_batch_is_the_same_function_as_single_steps(steps: int, width: int, bins: int) -> None:
    counter = SquareRootCounter(sigma=SILENT, steps=steps, sensitivity=1, width=width, bins=bins)
    values = np.random.default_rng(steps).integers(-50, 1000, (steps, width))
    singles = counter.open()
    for row in values:
        singles = counter.observe(singles, row if width > 1 else int(row[0]))
    for cut in {steps, steps // 3, 1, steps - 1} - {0}:
        state, sums = counter.open(), []
        for part in (values[:cut], values[cut:]):
            state, estimates = counter.observe_many(state, part)
            sums.append(estimates)
        assert np.allclose(np.concatenate(sums), values.cumsum(axis=0))
        assert state.step == steps
        assert np.array_equal(np.array(state.secret), np.array(singles.secret))
        assert np.allclose(np.array(state.public, dtype=float), np.array(singles.public, dtype=float))


@together("exponent", [5, 8])
@together("bins", [4, 16])
def test_chunks_release_the_very_numbers_that_the_certificate_is_about(exponent: int, bins: int) -> None:
    steps, layout = 3000, layout_of(3000, bins)
    values = np.random.default_rng(exponent).integers(-50, 1000, (steps, 1))
    first, *others = layout.coefficients
    blocks: list[Any] = [0] * len(others)
    rows = []
    for step, value in enumerate(values[:, 0].tolist()):
        rows.append(first * value + sum(map(mul, others, blocks)))
        blocks = layout.push(blocks, step, value, 0)
        assert sum(blocks) == values[: step + 1].sum()
        if step + 1 == 1024:
            half = tuple(blocks)
    batch, end = batch_of(layout, exponent), steps >> exponent << exponent
    before, state = batch.encode(values[:1024], (0,) * len(others), 0)
    after, _ = batch.encode(values[1024:end], state, 1024)
    assert np.concatenate([before, after])[:, 0].tolist() == rows[:end]
    assert state == half
    noisy = np.array(rows[:end])[:, None]
    decoded, public = batch.decode(noisy[:1024], (0.0,) * len(others), 0)
    more, _ = batch.decode(noisy[1024:], public, 1024)
    assert np.allclose(np.concatenate([decoded, more]), values[:end])
    assert np.allclose(public, half)


def test_long_batches_are_made_of_chunks_and_ragged_ends_of_single_steps() -> None:
    layout = layout_of(3000, 16)
    assert next_batch(layout, 0, 3000) == (8, 11)
    assert next_batch(layout, 32, 3000) == (5, 7)  # until the longer ones fit
    assert next_batch(layout, 33, 3000) == (0, 0)
    assert next_batch(layout, 256, 31) == (0, 0)
    assert next_batch(layout_of(100, 16), 0, 100) == (0, 0)


def test_long_lists_are_taken_as_arrays_are() -> None:
    counter = SquareRootCounter(sigma=SILENT, steps=600, sensitivity=1)
    answer = counter.release([*range(599), None])
    assert isinstance(answer, list)
    assert answer == pytest.approx(np.cumsum([*range(599), 0]))


@pytest.mark.parametrize("way", ["singles", "batch"])
def test_errors_have_the_stated_covariance(way: str) -> None:
    steps = 600 if way == "batch" else 64
    counter = SquareRootCounter.for_rho(0.5, steps=steps, sensitivity=1, width=3000)
    nobody = np.zeros((steps, 3000), dtype=np.int64)
    if way == "batch":
        _, errors = counter.observe_many(counter.open(), nobody)
    else:
        states = list(itertools.accumulate(nobody, counter.observe, initial=counter.open()))[1:]
        errors = np.array([counter.estimate(state) for state in states])
    for step in (1, 18, 40, 64, steps):
        assert_mean(errors[step - 1], 0, counter.variance(step))
        assert_variance(errors[step - 1], counter.variance(step))
    assert_variance(errors[63] - errors[31], counter.window_variance(32, 64))


def assert_variance(draws: Any, variance: float) -> None:
    tail = stats.chi2.cdf((draws**2).sum() / variance, len(draws))
    assert FALSE_ALARM / 2 < tail < 1 - FALSE_ALARM / 2


def released(counter: SquareRootCounter, estimates: Any) -> Any:
    """The whole numbers y behind the estimates: x̂ are their differences, and y = Ĉx̂."""
    values = np.diff(np.asarray(estimates), prepend=0, axis=0)
    noisy = dense(layout_of(counter.steps, counter.bins)).astype(float) @ values
    assert np.abs(noisy - np.rint(noisy)).max() < 1e-4
    return np.rint(noisy)


@together("column", range(8))
def test_an_adaptive_stream_loses_what_its_column_says(column: int) -> None:
    """The next number depends on the estimates so far; the mean log-likelihood ratio is then ‖Ĉδ‖²/(2v)."""
    width = 2000  # so many independent streams, side by side
    counter = SquareRootCounter.for_rho(0.5, steps=8, sensitivity=1, bins=2)
    streams = SquareRootCounter(sigma=counter.sigma, steps=8, sensitivity=1, bins=2, width=width)
    state, values, estimates = streams.open(), np.zeros((8, width), dtype=np.int64), np.zeros((8, width))
    for step in range(8):
        before = estimates[step - 1] if step else np.zeros(width)
        values[step] = np.where(before > 0, 50, -3) + (step == column)
        state = streams.observe(state, values[step])
        estimates[step] = streams.estimate(state)
    matrix, noisy = dense(layout_of(8, 2)), released(streams, estimates)
    neighbour = values.copy()
    neighbour[column] -= 1
    variance = float(counter.sigma * 2 ** layout_of(8, 2).bits) ** 2
    losses = (((noisy - matrix @ neighbour) ** 2 - (noisy - matrix @ values) ** 2) / (2 * variance)).sum(axis=0)
    rho = int((matrix[:, column] ** 2).sum()) / (2 * variance)
    assert rho <= counter.privacy_loss().rho * (1 + 1e-9)
    assert_mean(losses, rho, 2 * rho)
    if column == 0:
        assert math.isclose(rho, counter.privacy_loss().rho, rel_tol=1e-9)


@together("confidence", [0.5, 0.95])
@together("step", [1, 20, 64])
def test_accuracy_is_kept_and_not_wasted(confidence: float, step: int) -> None:
    counter = SquareRootCounter.for_rho(0.5, steps=64, sensitivity=1)
    batch = SquareRootCounter(sigma=counter.sigma, steps=64, sensitivity=1, width=5000)
    _, errors = batch.observe_many(batch.open(), np.zeros((64, 5000), dtype=np.int64))
    width = counter.accuracy(confidence, step=step)
    assert_seldom(int((np.abs(errors[step - 1]) > width).sum()), 5000, 1 - confidence)
    assert width <= 1.02 * math.sqrt(counter.variance(step)) * stats.norm.ppf((1 + confidence) / 2)
    band = counter.accuracy(confidence, simultaneous=True)
    assert_seldom(int((np.abs(errors) > band).any(axis=0).sum()), 5000, 1 - confidence)
    window = counter.window_accuracy(0, step, confidence)
    assert math.isclose(window, width, rel_tol=1e-6)


def test_rho_is_met_and_grows_with_what_a_unit_may_do() -> None:
    for options in ({}, {"width": 4}, {"active_steps": 3, "separation": 10}, {"sensitivity": 2.5, "width": 2}):
        counter = SquareRootCounter.for_rho(0.3, **{"steps": 100, "sensitivity": 1, **options})
        assert 0.3 * (1 - 1e-9) < counter.privacy_loss().rho <= Fraction(0.3)
    one, two = (SquareRootCounter(sigma=3, steps=100, sensitivity=size).privacy_loss().rho for size in (1, 2))
    assert two == 4 * one
    plane = SquareRootCounter(sigma=3, steps=100, sensitivity=1.9, width=2).privacy_loss().rho
    assert plane == 3 * one  # the squared distance of whole vectors is whole
    assert SquareRootCounter.for_epsilon(1, 1e-6, steps=100, sensitivity=1).privacy_loss().epsilon_at(1e-6) <= 1


@pytest.mark.parametrize(
    "wrong",
    [{"bins": 3}, {"bins": 0}, {"bins": 1 << 13}, {"sigma": 0}, {"sigma": 2.0**60}, {"sensitivity": 0.5}, {"steps": 0}],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        SquareRootCounter(**{"sigma": 1, "steps": 10, "sensitivity": 1, **wrong})
