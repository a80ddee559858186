"""Logistic regression: its noise, the size of what a row changes, the certificate, strange tables, audits."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import together
from numpy.typing import NDArray
from sklearn.base import clone
from sweeps import few

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter, NotPrivateWarning
from lapwing.exact import exp_neg
from lapwing.models.cube import STEP, Cube, cube_radius
from lapwing.models.logistic import LogisticRegression, class_totals, product_totals
from lapwing.models.logistic_frame import Frame, overview_totals
from lapwing.models.logistic_objective import GRID, Objective, ObjectiveNoise, falling
from lapwing.models.logistic_search import Search, likely
from lapwing.models.spending import Spending
from lapwing.noise import Reproducible
from lapwing.privacy import ZCDP, ApproxDP, PureDP

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.NotPrivateWarning")

FALSE_ALARM = 1e-6
METHODS = ["auto", "objective", "means", "functional"]


def fixed(seed: int) -> Reproducible:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return Reproducible(seed)


def blobs(rows: int, columns: int, classes: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    centres = rng.uniform(-0.6, 0.6, size=(classes, columns))
    return centres[y] + 0.25 * rng.normal(size=(rows, columns)), y


# The cube


@together(("dimensions", "scale"), [(1, Fraction(2)), (2, Fraction(5, 2)), (3, Fraction(3))])
def test_the_radius_of_the_cube_follows_its_law(dimensions: int, scale: Fraction) -> None:
    from scipy.stats import chi2

    source, draws, top = fixed(1), 3000, 40
    counts = np.bincount([min(cube_radius(dimensions, scale, source), top) for _ in range(draws)], minlength=top + 1)
    r = np.arange(2000)
    law = (2.0 * r + 1) ** dimensions * np.exp(-r / float(scale))
    law = np.append(law[:top], law[top:].sum()) / law.sum()
    keep = law * draws > 10
    expected = np.append(law[keep], law[~keep].sum()) * draws
    observed = np.append(counts[keep], counts[~keep].sum())
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, len(expected) - 1)


def test_noise_of_the_cube_has_the_variance_it_states_and_a_sixth_of_that_of_laplace() -> None:
    from scipy.stats import norm

    cube = Cube(Fraction(1), largest=100, dimensions=40)
    draws = np.array([cube.release(np.zeros((1, 40), dtype=np.int64), fixed(seed))[0] for seed in range(300)])
    # The squares of a draw share a radius: their mean deviates by 2/√41 for it and by √(4/5)/√40 for the directions.
    deviation = math.sqrt((4 / 41 + 0.8 / 40) / len(draws))
    assert abs(np.mean(draws**2) / cube.variance - 1) < norm.isf(FALSE_ALARM / 2) * deviation
    assert cube.variance < 2 * (40 * 100) ** 2 / 5.5
    assert 0.9 < np.mean(np.abs(draws) <= cube.accuracy(0.95)) < 0.99


def test_an_absurd_epsilon_of_the_cube_is_cut_and_a_tiny_one_refused() -> None:
    cube = Cube(Fraction(10**9), largest=100, dimensions=5)
    assert cube.scale == 5
    assert cube.privacy_loss() == PureDP(20)
    with pytest.raises(InvalidParameter, match="epsilon"):
        _ = Cube(Fraction(1, 10**12), largest=1 << 30, dimensions=50).scale


# What a row changes


def extreme(rng: np.random.Generator, rows: int, columns: int, kind: str) -> NDArray[Any]:
    if kind == "corners":
        return rng.choice([-1.0, 1.0], size=(rows, columns)) * STEP
    if kind == "mixed":
        return rng.choice([-STEP, -1.0, 0.0, 1.0, STEP], size=(rows, columns))
    return np.rint(rng.uniform(-1, 1, size=(rows, columns)) * STEP)


@pytest.mark.parametrize("kind", ["corners", "mixed", "random"])
@pytest.mark.parametrize("classes", [2, 4])
def test_no_row_changes_a_statistic_by_more_than_is_stated(kind: str, classes: int) -> None:
    rng = np.random.default_rng(3)
    for trial in range(40):
        columns = int(rng.integers(1, 7))
        steps, places = extreme(rng, 6, columns, kind), rng.integers(classes, size=6)
        frame = Frame(
            rows=6, fewest_rows=1, centre=rng.uniform(-1, 1, size=columns),
            width=rng.uniform(0.07, 2, size=columns), squared=rng.uniform(0.1, columns + 1), plenty=1,
        )  # fmt: skip
        without = np.delete(np.arange(6), trial % 6)
        change = overview_totals(steps) - overview_totals(steps[without])
        assert np.abs(change).max() <= STEP
        rows = frame.place(steps, constant=True)
        assert (np.sum(rows.astype(np.int64) ** 2, axis=1) <= int((1 + frame.squared) * STEP**2)).all()
        changed = class_totals(rows, places, classes) - class_totals(rows[without], places[without], classes)
        assert np.abs(changed).max(axis=1).sum() <= STEP
        assert np.abs(product_totals(rows) - product_totals(rows[without])).max() <= 1 << 20


@together("classes", [2, 3, 10])
@together("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_gradient_and_curvature_of_a_row_stay_within_their_parts(classes: int, epsilon: Fraction) -> None:
    rng = np.random.default_rng(5)
    columns = 4
    tilted = ObjectiveNoise(Spending.of(epsilon), columns, classes, float(columns))
    parts = tilted.tilt.privacy_loss().epsilon + epsilon * tilted.percent / 100 + epsilon / 100
    assert parts <= epsilon
    most = 0.0
    for _ in range(60):
        row = rng.choice([-1.0, 1.0], size=(1, columns))
        theta = rng.normal(size=(columns, tilted.scores)) * rng.choice([0, 0.1, 3.0, 50.0])
        alone = Search(row, rng.integers(classes, size=1), classes, 0.0, np.zeros_like(theta))
        assert np.abs(alone.gradient(theta)).max(axis=0).sum() <= (1 if classes == 2 else 2)
        curvature = alone.curvature(theta) / tilted.ridge
        most = max(most, np.linalg.slogdet(np.eye(len(curvature)) + curvature)[1])
    allowed = float(epsilon) * tilted.percent / 100
    assert most <= allowed
    assert most > 0.9 * allowed or tilted.ridge == tilted.least_ridge


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_the_density_of_the_ideal_minimum_changes_by_no_more_than_epsilon_and_by_nearly_as_much(
    classes: int, epsilon: Fraction
) -> None:
    rng = np.random.default_rng(6)
    columns, most = 2, 0.0
    tilted = ObjectiveNoise(Spending.of(epsilon), columns, classes, float(columns), least_ridge=0.0)

    def logarithm(X: NDArray[Any], places: NDArray[Any], theta: NDArray[Any]) -> float:
        """Of the density at Θ: that of the only tilt whose minimum it is, times the determinant."""
        search = Search(X, places, classes, tilted.ridge, np.zeros_like(theta))
        tilt = np.rint(-search.gradient(theta) * GRID)
        shape = np.linalg.slogdet(search.curvature(theta))[1]
        return float(shape - np.abs(tilt).max(axis=0).sum() / float(tilted.tilt.scale))

    for trial in range(2000):
        rows = int(rng.integers(1, 5))
        X, places = rng.choice([-1.0, 1.0], size=(rows, columns)), rng.integers(classes, size=rows)
        theta = rng.normal(size=(columns, tilted.scores)) * (0.01, 1.0, 10.0)[trial % 3]
        apart = logarithm(X, places, theta) - logarithm(X[1:], places[1:], theta)
        most = max(most, abs(apart))
    assert most <= float(epsilon) * 0.99
    assert most > float(epsilon) * 0.8


# The certificate


def exact_size(objective: Objective, theta: NDArray[Any]) -> Any:
    """‖∇J(Θ)‖₂ to sixty digits, by another way than ours."""
    with mpmath.workdps(60):
        slopes = [
            mpmath.mpf(objective.ridge) * mpmath.mpf(value) + mpmath.mpf(int(tilt)) / GRID
            for value, tilt in zip(theta.ravel().tolist(), objective.tilt.ravel(), strict=True)
        ]
        for row, place in zip(objective.X.tolist(), objective.places.tolist(), strict=True):
            x = [mpmath.mpf(entry) / STEP for entry in row]
            scores = [mpmath.fdot(x, column) for column in theta.T.tolist()]
            if objective.classes == 2:
                left = [1 / (1 + mpmath.exp(-scores[0])) - place]
            else:
                over = mpmath.fsum(map(mpmath.exp, scores))
                left = [mpmath.exp(score) / over - (k == place) for k, score in enumerate(scores)]
            slopes = [slope + x[at // len(left)] * left[at % len(left)] for at, slope in enumerate(slopes)]
        return mpmath.sqrt(mpmath.fsum(slope**2 for slope in slopes))


def problem(classes: int, kind: str, seed: int, rows: int = 150) -> tuple[ObjectiveNoise, Objective]:
    rng = np.random.default_rng(seed)
    columns = 4
    X = extreme(rng, rows, columns, kind)
    one_class = np.zeros(rows, dtype=int)
    places = (X @ rng.normal(size=(columns, classes))).argmax(axis=1) if seed % 2 else one_class
    tilted = ObjectiveNoise(Spending.of(10 ** (seed - 1)), columns, classes, float(columns))
    return tilted, Objective(X, places, classes, tilted.ridge, tilted.tilt.noise(fixed(seed)).T)


def test_the_falling_exponential_is_as_exact_as_the_certificate_supposes() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 70, 4000), rng.exponential(0.5, 4000), np.arange(200) * math.log(2) / 2])
    x = np.append(x, [5e-324, 1e-17, 63.999, 64.0, 1e300, np.inf])
    with np.errstate(all="raise", under="ignore"):
        found = falling(x)
    for value, at in zip(found.tolist(), x.tolist(), strict=True):
        low, high = exp_neg(Fraction(at))(100) if at < 1e4 else (0, 1)
        assert low - 2**50 <= Fraction(value) * 2**100 <= high + 2**50


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["corners", "mixed", "random"])
def test_a_certified_gradient_is_never_smaller_than_the_true_one_and_hardly_larger(classes: int, kind: str) -> None:
    for seed in range(3):
        tilted, objective = problem(classes, kind, seed)
        rng = np.random.default_rng(seed)
        found = objective.search.minimum(tilted.slack / 4)
        for theta in (found, found + rng.normal(size=found.shape) * 1e-9, rng.normal(size=found.shape) * 30):
            true, certified = exact_size(objective, theta), objective.slope(theta)
            assert certified is not None
            with mpmath.workdps(60):
                assert true <= mpmath.mpf(certified.numerator) / certified.denominator <= true * (1 + 1e-9) + 2e-9


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["corners", "mixed", "random"])
def test_the_minimum_is_certified_for_ordinary_and_for_extreme_rows(classes: int, kind: str) -> None:
    for seed in range(4):
        tilted, objective = problem(classes, kind, seed)
        theta = objective.minimum(Fraction(tilted.slack) / 2)
        assert exact_size(objective, theta.astype(float)) <= tilted.slack


@pytest.mark.parametrize("classes", [2, 3])
def test_what_doubles_cannot_certify_is_solved_in_whole_numbers(classes: int) -> None:
    tilted, objective = problem(classes, "random", 1, rows=60)
    allowed = Fraction(1, 10**20)
    near = objective.search.minimum(tilted.slack / 4)
    assert (objective.slope(near) or 1) > allowed
    certain = objective.minimum(allowed)
    with mpmath.workdps(60):
        parts = np.array([mpmath.mpf(value.numerator) / value.denominator for value in certain.ravel()])
        assert exact_size(objective, parts.reshape(certain.shape)) <= 1e-20
    assert np.abs(certain.astype(float) - near).max() <= tilted.slack / tilted.ridge


@pytest.mark.parametrize("start", [0.0, 40.0])
def test_whole_numbers_get_there_from_anywhere(start: float) -> None:
    tilted, objective = problem(2, "mixed", 2, rows=30)
    found = objective.persist(np.full((4, 1), start), Fraction(tilted.slack))
    assert exact_size(objective, found.astype(float)) <= 1.01 * tilted.slack


def test_a_search_that_went_astray_is_not_believed() -> None:
    tilted, objective = problem(2, "random", 1)
    for astray in (np.full((4, 1), np.nan), np.full((4, 1), np.inf), np.full((4, 1), 1e200)):
        assert objective.slope(astray) is None
    slope = objective.slope(np.ones((4, 1)))
    assert slope is not None
    assert slope > tilted.slack


def test_many_parameters_are_solved_without_a_matrix() -> None:
    X, y = blobs(60, 600, 3, 0)
    tilted = ObjectiveNoise(Spending.of(5), 600, 3, 600.0)
    rows = np.rint(np.clip(X, -1, 1) * STEP)
    objective = Objective(rows, y, 3, tilted.ridge, tilted.tilt.noise(fixed(2)).T)
    slope = objective.slope(objective.search.minimum(tilted.slack / 4))
    assert slope is not None
    assert slope <= tilted.slack / 2


def test_doubles_certify_as_many_rows_as_there_may_be_with_little_noise_on_the_parameters() -> None:
    for rows in (1e2, 1e5, 1e7, 1e10):
        frame = Frame(rows, rows, np.zeros(10), np.ones(10), 10.0, 50.0)
        tilted = ObjectiveNoise(Spending.of(1), 11, 2, 11.0).suited(frame)
        noise, grid = tilted.output
        assert math.sqrt(noise.variance) * float(grid) < 0.02
        assert 2 * rows * (11 * 2.0**-53 * 100 + 3 * 2.0**-48) * math.sqrt(11) < tilted.slack / 2


def test_probabilities_do_not_overflow() -> None:
    with np.errstate(all="raise"):
        assert likely(np.array([[-1e9], [0.0], [1e9]])).ravel().tolist() == [0.0, 0.5, 1.0]
        assert likely(np.array([[1e9, -1e9, 0.0]])).tolist() == [[1.0, 0.0, 0.0]]


# The estimator


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_that_lie_apart_are_told_apart(method: str, classes: int) -> None:
    X, y = blobs(4000, 4, classes, 1)
    model = LogisticRegression(method=method, epsilon=5, bounds=(-1, 1), classes=range(classes), random_state=1)
    model.fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.8
    chances = model.predict_proba(X)
    assert chances.shape == (4000, classes)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert model.coef_.shape == (1 if classes == 2 else classes, 4)
    inside = np.clip(X, -1, 1) @ model.coef_.T + model.intercept_
    assert np.allclose(inside.squeeze(), model.decision_function(X))


def test_much_data_gives_the_coefficients_of_the_plain_model() -> None:
    from sklearn.linear_model import LogisticRegression as Plain

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(50_000, 3)) * [1, 10, 100] + [0, 5, -50]
    y = rng.random(50_000) < 1 / (1 + np.exp(-(X @ [2.0, -0.1, 0.01] + 1.5)))
    bounds = [(-1, 1), (-5, 15), (-150, 50)]
    ours = LogisticRegression(epsilon=20, bounds=bounds, classes=[False, True], random_state=0).fit(X, y)
    plain = Plain(C=1e6).fit(X, y)
    half = np.array([1, 10, 100])
    assert ours.method_ == "objective"
    assert np.allclose(ours.coef_ * half, plain.coef_ * half, atol=0.15)
    assert np.allclose(ours.intercept_, plain.intercept_, atol=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_without_an_intercept_the_plane_passes_through_zero(method: str) -> None:
    X, y = blobs(500, 2, 3, 2)
    model = LogisticRegression(
        method=method, bounds=[(0, 2), (-3, 1)], classes=[0, 1, 2], fit_intercept=False, random_state=0
    )
    model.fit(X, y)
    assert np.allclose(model.intercept_, 0)
    assert np.allclose(model.decision_function(np.zeros((1, 2))), 0)


@pytest.mark.parametrize("method", METHODS)
@together("spent", [{}, {"delta": 1e-6}, {"epsilon": None, "rho": 0.1}])
def test_nothing_in_a_table_stops_a_fit(method: str, spent: dict[str, Any]) -> None:
    strange: list[tuple[Any, Any]] = [
        (np.empty((0, 3)), np.empty(0)),
        ([[1, 2, 3]], [1]),
        ([[np.nan, np.inf, -np.inf]] * 5, [0, 1, 2, np.nan, 7]),
        ([["a", None, 10**400], [1, 2, 3]], ["x", None]),
        (np.full((9, 3), 1e300), np.zeros(9)),
        (np.zeros((50, 3)), np.ones(50)),
        (np.full((4, 3), 0.5), [0, 0, 1, 1]),
    ]
    for classes in ([0, 1], [0, 1, 2]):
        for X, y in strange:
            model = LogisticRegression(method=method, bounds=[(-1, 1)] * 3, classes=classes, random_state=4, **spent)
            model.fit(X, y)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()
            assert set(model.predict([[np.nan, 1e308, "text"]]).tolist()) <= set(classes)


def test_more_columns_than_rows_and_one_class_only() -> None:
    X = np.random.default_rng(0).normal(size=(20, 50))
    model = LogisticRegression(epsilon=10, bounds=(-3, 3), classes=["no", "yes"], random_state=0)
    model.fit(X, ["yes"] * 20)
    assert model.predict(X).shape == (20,)
    assert model.classes_.tolist() == ["no", "yes"]


def test_the_loss_is_what_was_asked_for_and_the_lines_add_up_to_it() -> None:
    X, y = blobs(100, 3, 3, 0)
    for spent, loss in (
        ({"epsilon": 2}, PureDP(2)),
        ({"epsilon": 2, "delta": 1e-6}, ApproxDP(2, 1e-6)),
        ({"epsilon": None, "rho": 0.5}, ZCDP(0.5)),
    ):
        for method in METHODS:
            model = LogisticRegression(method=method, bounds=(-1, 1), classes=[0, 1, 2], random_state=0, **spent)
            assert model.fit(X, y).privacy_loss_ == loss
            quote = model.quote()
            assert quote.loss == loss
            sizes = [getattr(line.loss, "rho", None) or line.loss.epsilon for line in quote.lines]
            stated = Spending.of(**({"epsilon": None} | spent)).size
            assert sum(sizes) <= stated
            assert sum(sizes) > 0.99 * stated


@together(
    "wrong",
    [{"method": "magic"}, {"classes": [1]}, {"classes": None}, {"bounds": None}, {"fit_intercept": "yes"}],
)
def test_wrong_parameters_are_refused_before_anything_is_read(wrong: dict[str, Any]) -> None:
    model = LogisticRegression(**({"bounds": [(-1, 1)], "classes": [0, 1]} | wrong))
    with pytest.raises(Exception, match=next(iter(wrong)) if wrong != {"bounds": None} else "bounds"):
        model.fit([[0.0]], [1])


def test_a_clone_has_the_same_parameters_and_the_same_seed_the_same_fit() -> None:
    X, y = blobs(200, 2, 2, 0)
    model = LogisticRegression(method="objective", epsilon=3, bounds=(-1, 1), classes=[0, 1], random_state=7)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert np.array_equal(model.fit(X, y).coef_, other.fit(X, y).coef_)


def test_small_tables_are_learnt_well_at_epsilon_one() -> None:
    from sklearn.datasets import load_breast_cancer, load_digits

    for table, least in ((load_breast_cancer(), 0.85), (load_digits(), 0.65)):
        bounds = [(low, high if high > low else low + 1) for low, high in zip(*_ends(table.data), strict=True)]
        hits = []
        for seed in range(4):
            order = np.random.default_rng(seed).permutation(len(table.data))
            train, test = order[len(order) // 5 :], order[: len(order) // 5]
            model = LogisticRegression(bounds=bounds, classes=sorted(set(table.target)), random_state=seed)
            model.fit(table.data[train], table.target[train])
            hits.append(np.mean(model.predict(table.data[test]) == table.target[test]))
        assert np.mean(hits) > least


def _ends(X: NDArray[Any]) -> tuple[list[float], list[float]]:
    return X.min(axis=0).tolist(), X.max(axis=0).tolist()


# Audits: no fit is caught, and fits that cost more than they say are


def _fit(method: str, epsilon: float) -> Any:
    def release(rows: NDArray[Any], entropy: Any) -> float:
        model = LogisticRegression(
            method=method, epsilon=epsilon, bounds=(-1, 1), classes=[0, 1], fit_intercept=False, random_state=entropy
        )
        model.fit(rows[:, :1], rows[:, 1])
        return float(model.coef_[0, 0])

    return release


@pytest.mark.parametrize("method", few(["objective", "means", "functional"]))
def test_no_method_is_caught_and_one_that_spends_more_than_it_says_is(method: str) -> None:
    pair = (np.array([[1.0, 1.0]]), np.empty((0, 2)))
    good = audit(_fit(method, 1.0), pair, samples=400, claimed=1, confidence=1 - FALSE_ALARM, entropy=fixed(1))
    assert not good.caught, good.explain()
    broken = audit(_fit(method, 12.0), pair, samples=240, claimed=1, confidence=0.999, entropy=fixed(2))
    assert broken.caught, broken.explain()


def test_the_cube_keeps_its_claim_and_a_smaller_one_is_caught() -> None:
    pair = (np.full((1, 3), 10), np.zeros((1, 3), dtype=np.int64))

    def release(largest: int) -> Any:
        cube = Cube(Fraction(1), largest, 3)
        return lambda values, entropy: float(cube.release(values, entropy).sum())

    good = audit(release(10), pair, samples=2000, claimed=1, confidence=1 - FALSE_ALARM, entropy=fixed(3))
    assert not good.caught, good.explain()
    assert good.epsilon_lower_bound > 0.2
    broken = audit(release(3), pair, samples=2000, claimed=1, confidence=0.999, entropy=fixed(4))
    assert broken.caught, broken.explain()
