"""Iterative training: gradients of certain length, the price of many noisy steps, and models worth having."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from cases import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sweeps import few

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter
from lapwing.models import Account, StandardScaler
from lapwing.models.columns import Box, Floats
from lapwing.models.layers import (
    LARGEST_WEIGHT,
    SCORE_STEP,
    WEIGHT_STEP,
    backward,
    class_error,
    forward,
    input_rows,
    number_error,
    softmax,
    whole_weights,
)
from lapwing.models.mlp import MLPClassifier
from lapwing.models.sgd import SGDClassifier, SGDRegressor
from lapwing.models.training import (
    RADIUS,
    Plan,
    certain,
    descent_loss,
    first_weights,
    least_multiplier,
    noisy_gradient,
    train,
)
from lapwing.noise import Entropy, Reproducible
from lapwing.privacy import ZCDP, ApproxDP, Ledger

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.NotPrivateWarning")
FALSE_ALARM = 1e-6

HOSTILE = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0**20, 2.0**26, -(2.0**53), 1e308, 5e-324, math.inf, -math.inf, math.nan]),
)
WHOLE = st.one_of(
    st.integers(-(2**16), 2**16), st.sampled_from([0, 1, 2**26, 2**52, 2**53, 2**60]), st.integers(-(2**60), 2**60)
).map(float)


def plan_of(columns: int = 3, hidden: tuple[int, ...] = (), outputs: int = 2, **parameters: Any) -> Plan:
    return Plan.of(SGDClassifier(**parameters), Box.of((-1, 1), columns), hidden, outputs)


def squared_lengths(inputs: list[Floats], errors: list[Floats]) -> list[int]:
    """Of the gradients written out, in Python's integers."""
    found = [0] * len(inputs[0])
    for given_rows, error_rows in zip(inputs, errors, strict=True):
        for i, (a, e) in enumerate(zip(given_rows.tolist(), error_rows.tolist(), strict=True)):
            assert all(value == int(value) for value in (*a, *e))
            found[i] += sum((int(x) * int(y)) ** 2 for x in a for y in e)
    return found


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_gradient_is_ever_longer_than_the_radius(data: st.DataObject) -> None:
    rows, widths = data.draw(st.integers(1, 3)), data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    clip = data.draw(st.sampled_from([1e-300, 1e-3, 1.0, 7.3, 1e300]))

    def drawn(width: int, entries: st.SearchStrategy[float]) -> Floats:
        return np.array(data.draw(st.lists(entries, min_size=rows * width, max_size=rows * width))).reshape(rows, width)

    inputs = [drawn(width, WHOLE) for width in widths[:-1]]
    errors = [drawn(width, HOSTILE) for width in widths[1:]]
    assert max(squared_lengths(inputs, certain(inputs, errors, clip))) <= RADIUS**2


def test_a_long_gradient_keeps_nearly_all_of_its_length() -> None:
    rng = np.random.default_rng(0)
    inputs = [np.rint(rng.normal(size=(50, 20)) * 1000), np.rint(rng.normal(size=(50, 8)) * 1000)]
    errors = [np.rint(rng.normal(size=(50, 7)) * 2**16), np.rint(rng.normal(size=(50, 3)) * 2**16)]
    lengths = np.sqrt(squared_lengths(inputs, certain(inputs, errors, clip=0.01)))
    assert np.all(lengths > 0.999 * RADIUS)
    short = np.sqrt(squared_lengths(inputs, certain(inputs, errors, clip=1e4)))
    assert np.all(short < 0.01 * RADIUS)


@together("value", [math.nan, math.inf, -math.inf, 1e300, -1e300, 64.0])
@together("hidden", [(), (4,), (4, 3)])
def test_weights_that_diverged_do_not_lengthen_a_gradient(value: float, hidden: tuple[int, ...]) -> None:
    plan = plan_of(hidden=hidden)
    rows = input_rows(plan.box, np.array([[1e9, -1e9, np.nan], [0.3, 0.2, 0.1], [1, 1, 1]]))
    weights = whole_weights([np.full(shape, value) for shape in plan.shapes])
    assert all(np.abs(matrix).max() <= LARGEST_WEIGHT for matrix in weights)
    inputs, scores = forward(rows, weights)
    errors = certain(inputs, backward(inputs, weights, class_error(scores, np.array([0, 1, 1]))), 1.0)
    assert max(squared_lengths(inputs, errors)) <= RADIUS**2


@together("hidden", [(), (33,), (17, 9)])
def test_a_row_gives_the_same_whole_numbers_in_every_batch(hidden: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    plan = plan_of(65, hidden, 10)
    weights = whole_weights([rng.normal(size=shape) for shape in plan.shapes])
    rows, places = input_rows(plan.box, rng.uniform(-1, 1, size=(211, 65))), rng.integers(0, 10, 211)

    def errors_of(chosen: Any) -> list[Floats]:
        inputs, scores = forward(rows[chosen], weights)
        backwards = backward(inputs, weights, class_error(scores, places[chosen]))
        for numbers in (*inputs, scores, *backwards):  # whole and below 2^53, so no order of adding can matter
            assert np.array_equal(numbers, np.rint(numbers))
            assert np.abs(numbers).max() < 2**53
        return [scores, *backwards, *certain(inputs, backwards, 1.0)]

    together = errors_of(slice(None))
    for chosen in (slice(0, 1), slice(3, 5), slice(7, 20), slice(1, None), slice(None, None, 2), slice(None, None, -1)):
        for alone, all_rows in zip(errors_of(chosen), together, strict=True):
            assert np.array_equal(alone, all_rows[chosen])


def test_sums_of_the_layers_are_exact_at_their_limits() -> None:
    columns, units = 3000, 1024
    rows = np.full((2, columns + 1), 1024.0)
    rows[1, ::2] *= -1
    first = np.full((columns + 1, units), float(LARGEST_WEIGHT))
    first[0] -= np.arange(units)
    last = np.full((units + 1, 2), -float(LARGEST_WEIGHT))
    inputs, scores = forward(rows, [first, last])
    expected = -LARGEST_WEIGHT * (2**10 + 2**16 * units)
    assert inputs[1][0, 1:].tolist() == [2.0**16] * units
    assert scores[0].tolist() == [float(expected)] * 2
    exact = [sum(int(x) * int(w) for x, w in zip(rows[1], first[:, k], strict=True)) for k in (0, 5, 1023)]
    assert (rows[1:] @ first)[0, [0, 5, 1023]].tolist() == [float(value) for value in exact]


def test_gradients_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(2)
    plan = plan_of(4, (6,), 3)
    weights = [rng.normal(size=shape) * 0.7 for shape in plan.shapes]
    rows, places = input_rows(plan.box, rng.uniform(-1, 1, size=(40, 4))), rng.integers(0, 3, 40)

    def loss(at: list[Floats]) -> float:
        hidden = np.maximum(rows / 1024 @ at[0], 0)
        scores = np.column_stack([np.ones(40), hidden]) @ at[1]
        return float(np.sum(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(40), places]))

    whole = whole_weights(weights)
    inputs, scores = forward(rows, whole)
    errors = backward(inputs, whole, class_error(scores, places))
    for layer, (i, j) in ((0, (0, 1)), (0, (3, 4)), (1, (0, 2)), (1, (5, 0))):
        up, down = ([m.copy() for m in weights] for _ in range(2))
        up[layer][i, j] += 1e-5
        down[layer][i, j] -= 1e-5
        found = (inputs[layer].T @ errors[layer])[i, j] * 2.0**-26
        assert found == pytest.approx((loss(up) - loss(down)) / 2e-5, abs=0.03)


def test_softmax_and_the_error_of_a_number_are_right() -> None:
    scores = np.array([[0.0, 1.0, -2.0], [50.0, 0.0, 0.0]]) / SCORE_STEP
    exact = np.exp([0.0, 1.0, -2.0]) / np.exp([0.0, 1.0, -2.0]).sum()
    assert softmax(scores)[0] == pytest.approx(exact, abs=1e-3)
    assert softmax(scores).sum(axis=1) == pytest.approx([1, 1])
    assert number_error(np.array([[0.5 / SCORE_STEP]]), np.array([2.0**14]))[0, 0] == 2.0**14


def test_the_curve_equals_that_of_dp_accounting_for_continuous_noise() -> None:
    import dp_accounting
    from dp_accounting.rdp import rdp_privacy_accountant

    for multiplier, sampling, steps in ((0.7, 0.1, 30), (1.3, 0.02, 1000), (4.0, 0.5, 100)):
        ours = descent_loss(ZCDP(1 / (2 * Fraction(multiplier) ** 2)), Fraction(sampling), steps).to_renyi()
        orders = [int(order) for order in ours.orders]
        theirs = rdp_privacy_accountant.RdpAccountant(orders)
        event = dp_accounting.PoissonSampledDpEvent(sampling, dp_accounting.GaussianDpEvent(multiplier))
        theirs.compose(event, steps)
        ratio = np.array([float(value) for value in ours.epsilons]) / np.array(theirs.rdp)
        assert ratio == pytest.approx(1, rel=1e-6)


@together("sigma", [0.3, 0.5, 0.7, 1.0, 2.5])
@together("shift", [(1,), (3,), (1, 1), (2, -1)])
def test_the_curve_bounds_sampled_discrete_noise_in_both_directions(sigma: float, shift: tuple[int, ...]) -> None:
    """Moments of a row more and of a row less, summed up; a row more is exactly as bad as for continuous noise."""
    orders = (2, 3, 4, 6, 9)
    ends = math.ceil(16 * sigma) + max(orders) * max(map(abs, shift))
    axes = np.meshgrid(*[np.arange(-ends, ends + 1)] * len(shift))
    without, moved = (
        sum(-(((x - by * step) / sigma) ** 2) / 2 for x, step in zip(axes, shift, strict=True)) for by in (0, 1)
    )
    total = logsumexp(without)
    for sampling in (1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6):
        rho = Fraction(sum(step**2 for step in shift)) / (2 * Fraction(sigma) ** 2)
        curve = descent_loss(ZCDP(rho), Fraction(sampling), 1).to_renyi()
        with_it = np.logaddexp(math.log1p(-sampling) + without, math.log(sampling) + moved)
        for order in orders:
            bound = curve.at(order)
            more, less = (
                (logsumexp(order * p + (1 - order) * q) - total) / (order - 1)
                for p, q in ((with_it, without), (without, with_it))
            )
            assert bound is None or max(more, less) <= float(bound) * (1 + 1e-12) + 1e-14
            assert bound is None or more == pytest.approx(float(bound), rel=1e-9, abs=1e-13)


@together(
    ("epsilon", "delta", "sampling", "steps"),
    [(1, 1e-6, 0.1, 200), (8, 1e-5, 0.01, 2000), (0.1, 1e-6, 0.1, 200), (2, 1e-5, 1, 50), (30, 1e-5, 0.5, 4)],
)
def test_noise_is_enough_and_hardly_more(epsilon: float, delta: float, sampling: float, steps: int) -> None:
    share = Fraction(sampling)
    found = least_multiplier(Fraction(epsilon), Fraction(delta), share, steps)

    def reached(multiplier: Fraction) -> float:
        return descent_loss(ZCDP(1 / (2 * multiplier**2)), share, steps).epsilon_at(delta)

    assert reached(found) <= epsilon
    assert reached(found * Fraction(63, 64)) > epsilon


def test_an_epsilon_out_of_reach_is_told_before_anything_is_read() -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        SGDClassifier(epsilon=1e-9, delta=1e-12, bounds=(0, 1), classes=[0, 1]).quote(2)


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_the_lines_of_a_quote_imply_what_is_stated(hidden: tuple[int, ...]) -> None:
    plan = plan_of(hidden=hidden, epsilon=1.5, delta=1e-5)
    assert plan.gradient.privacy_loss().rho == 1 / (2 * (Fraction(plan.gradient.sigma) / RADIUS) ** 2)
    assert plan.gradient.dimensions == sum((a + 1) * b for a, b in zip((3, *hidden), (*hidden, 2), strict=True))
    (line,) = plan.lines
    assert isinstance(line.loss, ApproxDP)
    assert line.loss.delta == plan.stated.delta
    curve = descent_loss(plan.gradient.privacy_loss(), plan.sampling, plan.steps)
    assert 1.4 < curve.epsilon_at(1e-5) <= line.loss.epsilon <= 1.5
    assert plan.loss == ApproxDP(1.5, 1e-5)


def test_a_person_can_read_the_quote() -> None:
    quote = SGDClassifier(epsilon=2, bounds=(0, 1), classes=[0, 1], sampling=0.05).quote(3)
    (line,) = quote.lines
    assert line.what.startswith("400 sums of clipped gradients, each of 0.05 of the rows, σ = ")
    assert len(line.what) < 80
    assert "ε = 2, δ = 1e-06" in str(quote)
    assert "Rényi" not in str(quote)


def test_every_row_flips_a_coin_of_its_own_at_every_step() -> None:
    rows, steps, share = 40, 1500, 0.1
    plan = plan_of(1, epsilon=1, sampling=share, epochs=steps * share)
    assert plan.steps == steps
    taken: list[Any] = []

    def error_of(scores: Floats, chosen: Any) -> Floats:
        taken.append(np.isin(np.arange(rows), chosen))
        return np.zeros_like(scores)

    train(plan, input_rows(plan.box, np.zeros((rows, 1))), error_of, Reproducible(5))
    coins = np.array(taken, dtype=float)
    pairs = list(combinations(range(rows), 2))
    together = coins.T @ coins
    followed = coins[1:].T @ coins[:-1]
    checks = [(coins.sum(axis=0), share, steps), (np.array([together[pair] for pair in pairs]), share**2, steps)]
    checks.append((followed.ravel(), share**2, steps - 1))
    asked = sum(len(found) for found, _, _ in checks)
    for found, chance, trials in checks:  # Bernstein's inequality, for all of them at once
        log = math.log(2 * asked / FALSE_ALARM)
        allowed = math.sqrt(2 * trials * chance * (1 - chance) * log) + 2 * log / 3
        if found is checks[-1][0]:
            allowed *= 2  # neighbouring steps share a coin: two sums of independent terms
        assert np.abs(found - trials * chance).max() < allowed


STRANGE = {
    "no rows": (np.empty((0, 2)), []),
    "one row": ([[0.1, 0.2]], [1]),
    "no known class": ([[0.1, 0.2]] * 3, ["x", None, 7]),
    "one class missing": ([[0.1, 0.2]] * 3, [0, 0, 0]),
    "not numbers": (np.array([[np.nan, np.inf], [-np.inf, 1e308], [0, 0]]), [0, 1, 1]),
    "text": ([["a", None], [1, "2"]], [0, 1]),
    "far out of bounds": ([[1e30, -1e30]] * 4, [0, 1, 0, 1]),
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", [SGDClassifier, MLPClassifier, SGDRegressor])
@pytest.mark.parametrize("learning_rate", [0.05, 1e300])
def test_strange_rows_neither_raise_nor_change_a_shape(name: str, kind: Any, learning_rate: float) -> None:
    X, y = STRANGE[name]
    about = {"target_bounds": (0, 1)} if kind is SGDRegressor else {"classes": [0, 1]}
    model = kind(bounds=[(0, 1)] * 2, epochs=1, learning_rate=learning_rate, random_state=1, **about).fit(X, y)
    shapes = [(3, 1)] if kind is SGDRegressor else [(3, 2)] if kind is SGDClassifier else [(3, 32), (33, 2)]
    assert [matrix.shape for matrix in model.weights_] == shapes
    assert all(np.isfinite(matrix).all() for matrix in model.weights_)
    assert np.all(np.isin(model.predict([[0, 1], [np.nan, 5]]), [0, 1]) | (kind is SGDRegressor))
    assert model.privacy_loss_ == ApproxDP(1, 1e-6)


@pytest.mark.parametrize("kind", [SGDClassifier, MLPClassifier, SGDRegressor])
def test_a_copy_has_the_same_parameters_and_the_same_noise(kind: Any) -> None:
    about = {"target_bounds": (0, 1)} if kind is SGDRegressor else {"classes": [0, 1]}
    model = kind(bounds=(0, 1), epochs=2, random_state=3, **about)
    rng = np.random.default_rng(3)
    X, y = rng.uniform(size=(60, 2)), rng.integers(0, 2, 60)
    again = clone(model.fit(X, y))
    assert not hasattr(again, "weights_")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.fit(X, y).weights_[0], model.weights_[0])
    made = make_pipeline(StandardScaler(bounds=(0, 1), random_state=1), clone(model).set_params(bounds=(-3, 3)))
    assert made.fit(X, y).predict(X).shape == (60,)


def test_a_fit_is_charged_before_it_learns(tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("rows", ApproxDP(3, 1e-4))
    model = SGDClassifier(
        epsilon=1, delta=1e-5, bounds=[(0, 1)], classes=[0, 1], epochs=1, account=Account(ledger, "rows")
    )
    model.fit([[0.5]], [1])
    left = ledger.remaining("rows")
    assert isinstance(left, ApproxDP)
    assert left.epsilon == 2
    assert left.delta == pytest.approx(9e-5)


@pytest.mark.parametrize("name", ["epsilon", "delta", "sampling", "epochs", "clip", "learning_rate"])
@together("value", [0, -1, math.nan, None, "much"])
def test_a_wrong_parameter_is_told_by_its_name(name: str, value: Any) -> None:
    model = SGDClassifier(bounds=[(0, 1)], classes=[0, 1]).set_params(**{name: value})
    with pytest.raises(InvalidParameter, match=name):
        model.fit([[0.5]], [1])


@together(("hidden", "widths"), [(4, (3, 4, 2)), (np.int64(4), (3, 4, 2)), ([4, 5], (3, 4, 5, 2))])
def test_hidden_layers_are_a_number_or_several(hidden: Any, widths: tuple[int, ...]) -> None:
    assert MLPClassifier(hidden=hidden, bounds=(0, 1), classes=[0, 1])._recipe(3, None).widths == widths


@together("hidden", [None, "many", 0, (4, 0), 2.5, 1025])
def test_hidden_layers_that_are_none_are_told(hidden: Any) -> None:
    with pytest.raises(InvalidParameter, match="hidden"):
        MLPClassifier(hidden=hidden, bounds=(0, 1), classes=[0, 1]).quote(3)


def test_a_progress_bar_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.integers(0, 2, 60)
    quiet = SGDClassifier(bounds=(0, 1), classes=[0, 1], epochs=1, random_state=1).fit(X, y)
    shown = clone(quiet).set_params(progress=True).fit(X, y)
    assert np.array_equal(quiet.weights_[0], shown.weights_[0])


@pytest.mark.parametrize(("load", "reached"), few([(load_breast_cancer, 0.9), (load_digits, 0.85)]))
@pytest.mark.parametrize("kind", [SGDClassifier, MLPClassifier])
def test_models_are_useful_on_small_tables(load: Any, reached: float, kind: Any) -> None:
    X, y = load(return_X_y=True)
    bounds = list(zip(X.min(axis=0), X.max(axis=0) + 1e-9, strict=True))
    scores = []
    for seed in range(3):
        rows, others, labels, truth = train_test_split(X, y, random_state=seed)
        model = kind(epsilon=4, delta=1e-5, bounds=bounds, classes=sorted(set(y.tolist())), random_state=seed)
        scores.append(model.fit(rows, labels).score(others, truth))
    assert np.mean(scores) > reached


def test_a_line_is_found_and_told_in_the_units_of_the_data() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform([0, 100], [10, 300], size=(20_000, 2))
    y = 3 + 2 * X[:, 0] - 0.05 * X[:, 1] + rng.normal(size=20_000)
    model = SGDRegressor(epsilon=1, bounds=[(0, 10), (100, 300)], target_bounds=(-20, 30), random_state=0).fit(X, y)
    assert model.coef_ == pytest.approx([2, -0.05], rel=0.05)
    assert model.predict(X[:9]) == pytest.approx(model.intercept_ + X[:9] @ model.coef_, abs=0.1)
    assert model.score(X, y) > 0.95


# ---- audits: a table with and without a row whose gradient is as long as it gets


STEP = plan_of(1, (), 1, epsilon=2, delta=1e-5, sampling=0.5, epochs=0.5, clip=0.125)
NOISE = STEP.gradient


def one_step(data: list[float], entropy: Entropy, *, cut: bool) -> float:
    """What one step releases of the constant's weight, with or without cutting long gradients."""
    if not cut:
        taken = [value for value in data if entropy.bits(1)]
        uncut = [sum(int(value * RADIUS / STEP.clip) for value in taken), 0]
        return float(NOISE.release(np.array(uncut), entropy)[0]) / RADIUS
    rows = input_rows(STEP.box, np.zeros((len(data), 1)))
    wanted = -np.array(data) * 2**16

    def error_of(scores: Floats, chosen: Any) -> Floats:
        return number_error(scores, wanted[chosen])

    return float(noisy_gradient(STEP, NOISE, rows, error_of, [np.zeros((2, 1))], entropy)[0][0, 0])


@pytest.mark.parametrize("cut", [True, False])
def test_an_audit_of_one_step_tells_cut_gradients_from_uncut_ones(cut: bool) -> None:
    found = audit(
        lambda data, entropy: one_step(data, entropy, cut=cut),
        ([0.0, 0.0], [0.0, 0.0, 1.0]),
        samples=3000,
        confidence=1 - FALSE_ALARM,
        claimed=ApproxDP(2, 1e-5),
        entropy=Reproducible(7),
    )
    assert found.caught == (not cut)


@pytest.mark.sweep
def test_an_audit_of_whole_fits_does_not_refute_them() -> None:
    def fit(data: Any, entropy: Entropy) -> list[float]:
        model = SGDClassifier(
            epsilon=1, delta=1e-3, bounds=(-1, 1), classes=[0, 1], epochs=2, sampling=1, clip=0.01, random_state=entropy
        )
        return [float(value) for value in model.fit(*data).weights_[0].ravel()]

    far = (np.array([[1.0]]), [1])
    found = audit(
        fit,
        ((np.empty((0, 1)), []), far),
        samples=1500,
        confidence=1 - FALSE_ALARM,
        claimed=ApproxDP(1, 1e-3),
        entropy=Reproducible(8),
    )
    assert not found.caught


def test_first_weights_are_random_but_for_the_last_layer() -> None:
    first, last = first_weights([(301, 200), (201, 3)], Reproducible(9))
    assert first.std() == pytest.approx(math.sqrt(2 / 301), rel=0.05)
    assert not last.any()
    assert WEIGHT_STEP * LARGEST_WEIGHT == 64
