"""Linear regression: what one row can change, what an auditor sees, strange rows, and how good the line is."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import together
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Plain
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter, MissingBounds, NoiseWarning
from lapwing.models.linear import METHODS, Functional, LinearRegression, Output, Statistics
from lapwing.models.linear_few import LEVEL, along_rows, leaning_rows, level_rows, path_of
from lapwing.models.linear_moments import LIMIT, STEP, centre_sums, entries, flat, sizes, weighed
from lapwing.models.linear_output import GRID, Ball, shrunk_rows, sums
from lapwing.models.spending import Spending
from lapwing.noise import Entropy, Reproducible

FALSE_ALARM = 1e-6
CERTAIN = 1 - FALSE_ALARM
BUDGETS = [Spending.of(1), Spending.of(None, rho=Fraction(1, 2))]
EDGES = [-STEP, -1, 0, 1, STEP]


def rows_of(rng: np.random.Generator, count: int, width: int) -> tuple[Any, Any]:
    """Whole steps, many of them on the edges of the bounds."""
    inner = rng.integers(-STEP, STEP + 1, size=(count, width + 1))
    edge = rng.choice(EDGES, size=(count, width + 1))
    rows = np.where(rng.random((count, 1)) < 0.6, edge, inner).astype(float)
    return rows[:, :-1], rows[:, -1]


def added(sums_of: Callable[[Any, Any], Any], columns: Any, target: Any) -> list[int]:
    """What the last row changes in a vector of sums."""
    with_it, without = sums_of(columns, target), sums_of(columns[:-1], target[:-1])
    return [int(a) - int(b) for a, b in zip(with_it, without, strict=True)]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@together("width", [1, 3, 12])
def test_a_row_adds_at_most_the_limit_to_the_weighed_sums(width: int, constant: bool, squared: bool) -> None:
    rng = np.random.default_rng(width)
    nearest = 0.0
    for _ in range(150):
        columns, target = rows_of(rng, 3, width)
        centre = rng.integers(-STEP, STEP + 1, size=width + 1).astype(float)
        change = added(
            lambda x, t, c=centre: flat(weighed(x, t, c, constant=constant, squared=squared)), columns, target
        )
        assert len(change) == entries(width + constant)
        size = math.sqrt(sum(c * c for c in change)) if squared else sum(map(abs, change))
        assert (sum(c * c for c in change) <= LIMIT**2) if squared else size <= LIMIT
        nearest = max(nearest, size / LIMIT)
    assert nearest > 0.9  # the limit is not far from what rows do


@pytest.mark.parametrize("squared", [False, True])
def test_a_row_at_the_far_corner_of_a_moved_box_reaches_the_limit(squared: bool) -> None:
    centre = np.full(5, -float(STEP))
    rows = weighed(np.full((1, 4), float(STEP)), np.full(1, float(STEP)), centre, constant=True, squared=squared)
    change = [int(value) for value in flat(rows)]
    size = math.sqrt(sum(c * c for c in change)) if squared else sum(map(abs, change))
    assert 0.999 * LIMIT < size <= LIMIT


def test_the_size_of_a_row_is_the_size_of_what_it_adds() -> None:
    rows = np.random.default_rng(0).integers(-1000, 1000, size=(50, 6)).astype(float)
    for row in rows:
        change = [int(value) for value in flat(row[None, :])]
        one, two = (sizes(row[None, :-1], row[-1:], squared=squared)[0] for squared in (False, True))
        assert one == sum(map(abs, change))
        assert two == pytest.approx(sum(c * c for c in change), rel=1e-14)


def test_a_weight_does_not_look_at_the_target() -> None:
    columns = np.random.default_rng(1).integers(-STEP, STEP, size=(20, 3)).astype(float)
    one, other = (
        weighed(columns, np.full(20, t), np.zeros(4), constant=True, squared=False) for t in (0.0, float(STEP))
    )
    assert np.array_equal(one[:, :-1], other[:, :-1])


@pytest.mark.parametrize("squared", [False, True])
def test_a_row_that_would_add_too_much_adds_nothing(squared: bool) -> None:
    beyond = np.array([20.0 * STEP, 0.5 * STEP])  # the first is no target that a box lets through
    rows = weighed(np.zeros((2, 1)), beyond, np.zeros(2), constant=True, squared=squared)
    assert not rows[0].any()
    assert rows[1].any()


@pytest.mark.parametrize("squared", [False, True])
def test_a_row_changes_the_first_look_by_at_most_one_unit(squared: bool) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        columns, target = rows_of(rng, 2, 4)
        change = added(lambda x, t: centre_sums(x, t, squared=squared), columns, target)
        assert (sum(c * c for c in change) <= STEP**2) if squared else sum(map(abs, change)) <= STEP


@pytest.mark.parametrize("squared", [False, True])
@together("width", [1, 2, 9])
def test_a_row_is_within_one_unit_on_the_way_along_a_direction(width: int, squared: bool) -> None:
    rng = np.random.default_rng(width)
    columns, target = rows_of(rng, 2000, width)
    centre = rng.choice(EDGES, size=width + 1).astype(float)
    direction = rng.normal(size=width)
    path = path_of(columns, centre, direction / np.linalg.norm(direction))
    for rows in (
        leaning_rows(columns, target, centre, squared=squared),
        along_rows(path, target, squared=squared),
        level_rows(target) * STEP / LEVEL,
    ):
        size = (rows**2).sum(axis=1) if squared else np.abs(rows).sum(axis=1)
        assert size.max() <= (STEP**2 if squared else STEP)
        assert size.max() > 0.95 * (STEP**2 if squared else STEP)


def test_weights_along_a_direction_do_not_look_at_the_target() -> None:
    path = np.linspace(-2 * STEP, 2 * STEP, 101).round()
    one, other = (along_rows(path, np.full(101, t), squared=False) for t in (0.0, STEP / 2))
    assert np.array_equal(one[:, 2:4], other[:, 2:4])
    columns = np.random.default_rng(7).integers(-STEP, STEP, size=(50, 3)).astype(float)
    half, whole = (leaning_rows(columns, np.full(50, t), np.zeros(4), squared=False) for t in (STEP / 2, float(STEP)))
    assert np.all(np.abs(2 * half - whole) <= 2)


@pytest.mark.parametrize("squared", [False, True])
def test_what_a_row_becomes_does_not_depend_on_the_rows_beside_it(squared: bool) -> None:
    rng = np.random.default_rng(8)
    columns, target = np.split(rng.integers(-STEP, STEP + 1, size=(1003, 14)).astype(float), [13], axis=1)
    target = target[:, 0]
    centre = rng.integers(-STEP, STEP + 1, size=14).astype(float)
    direction = rng.normal(size=13)
    pieces: list[Callable[[Any, Any], Any]] = [
        lambda x, t: sizes(x, t, squared=squared)[:, None],
        lambda x, t: weighed(x, t, centre, constant=True, squared=squared),
        lambda x, t: leaning_rows(x, t, centre, squared=squared),
        lambda x, t: along_rows(path_of(x, centre, direction), t, squared=squared),
        shrunk_rows,
    ]
    for piece in pieces:
        together = piece(columns, target)
        for size in (1, 2, 3, 5, 7):
            parts = [piece(columns[at : at + size], target[at : at + size]) for at in range(0, len(columns), size)]
            assert np.array_equal(np.concatenate(parts), together)


def test_the_first_look_sums_blocks_as_if_they_were_one() -> None:
    columns, target = rows_of(np.random.default_rng(3), 5000, 2)
    parts = [centre_sums(columns[i : i + 1], target[i : i + 1], squared=False) for i in range(5000)]
    assert np.array_equal(centre_sums(columns, target, squared=False), np.sum(parts, axis=0))


@pytest.mark.parametrize("constant", [False, True])
def test_the_functional_sensitivity_is_attained_at_a_corner_and_nowhere_exceeded(constant: bool) -> None:
    width, stated = 4, {}
    for spending in BUDGETS:
        noise = Functional(width, constant, spending).noise
        stated[spending.concentrated] = Fraction(noise.sensitivity)
    rng = np.random.default_rng(4)
    most = [0, 0]
    for _ in range(300):
        columns, target = rows_of(rng, 1, width)
        if constant:
            columns = np.column_stack([np.full(1, float(STEP)), columns])
        change = [int(value) for value in flat(np.column_stack([columns, target]))]
        most = [max(most[0], sum(map(abs, change))), max(most[1], sum(c * c for c in change))]
    corner = flat(np.full((1, width + constant + 1), float(STEP)))
    assert sum(abs(int(c)) for c in corner) == stated[False] >= most[0]
    assert sum(int(c) ** 2 for c in corner) <= stated[True] ** 2
    assert most[1] <= stated[True] ** 2


@pytest.mark.parametrize("regularization", [1e-300, 1e300])
def test_an_absurd_ridge_still_gives_a_line(regularization: float) -> None:
    X, y, _ = synthetic(100)
    public = {"bounds": (7, 13), "target_bounds": (-20, 30)}
    model = LinearRegression(method="output", regularization=regularization, random_state=1, **public).fit(X, y)
    assert np.isfinite(model.coef_).all()


@together("ridge", [Fraction(1, 4), Fraction(3), Fraction(200)])
def test_solutions_for_neighbours_are_as_near_as_stated(ridge: Fraction) -> None:
    rng = np.random.default_rng(5)
    ball = Ball(3, ridge)
    apart = float(ball.distance * GRID) + math.sqrt(3)
    for _ in range(60):
        columns, target = rows_of(rng, int(rng.integers(1, 40)), 3)
        rows = shrunk_rows(columns * rng.choice([1.0, 1e-2]) // 1, target)
        one, other = ball.solve(*sums(rows)), ball.solve(*sums(rows[:-1]))
        assert math.dist(one, other) <= apart
        assert math.hypot(*one) <= GRID + 2


def leverage(ridge: int) -> tuple[Any, Any]:
    """Rows that hold the slope near −1 without curvature, and the same with a row that pulls the other way."""
    count = 400 * ridge**2
    few = STEP * ridge // count
    columns, target = np.full((count + 1, 1), -float(few)), np.full(count + 1, float(STEP))
    columns[-1] = STEP
    rows = shrunk_rows(columns, target)
    return sums(rows[:-1]), sums(rows)


def test_the_sensitivity_of_a_solution_is_nearly_attained() -> None:
    ball = Ball(1, Fraction(16))
    without, with_it = (ball.solve(*pair)[0] for pair in leverage(16))
    assert 0.9 * ball.distance < Fraction(abs(with_it - without), GRID) <= ball.distance


def test_a_solution_is_that_of_a_ridge_regression() -> None:
    columns, target = rows_of(np.random.default_rng(6), 200, 4)
    rows = shrunk_rows(columns, target)
    found = np.array(Ball(4, Fraction(50)).solve(*sums(rows))) / GRID
    expected = Ridge(alpha=50, fit_intercept=False).fit(rows[:, :-1] / STEP, rows[:, -1] / STEP).coef_
    assert np.linalg.norm(expected) < 1
    assert np.allclose(found, expected, atol=1e-6)


def test_a_solution_on_the_edge_of_the_ball_is_certified_even_for_many_digits() -> None:
    rows = shrunk_rows(np.full((1000, 1), float(STEP // 4)), np.full(1000, float(STEP)))
    columns, target = sums(rows)
    for ridge in (Fraction(1, 8), Fraction(1 << 40)):
        value = Ball(1, ridge).solve(columns, target)[0] / GRID
        exact = min(1.0, int(target[0]) / STEP**2 / (int(columns[0, 0]) / STEP**2 + float(ridge)))
        assert value == pytest.approx(exact, abs=1e-5)
    huge = np.array([[1 << 61]], dtype=object), np.array([1 << 62], dtype=object)
    assert Ball(1, Fraction(200)).solve(*huge) == [GRID]


def seen_of(noise: Any, coordinates: list[int], shifts: Any) -> Callable[[Any, Entropy], float]:
    """How much more likely the neighbour makes what is seen: the best that can be made of Laplace noise."""
    shift = np.asarray(shifts, dtype=float)

    def release(data: Any, entropy: Entropy) -> float:
        noisy = np.asarray(noise.release(data, entropy)[coordinates], dtype=float)
        return float(np.sum(np.abs(noisy) - np.abs(noisy - shift)) / np.sum(shift))

    return release


def worst_of(method: str, spending: Spending) -> tuple[Callable[[Any, Entropy], float], tuple[Any, Any]]:
    """The release of each method and the sums of two neighbours that it tells apart best."""
    if method == "output":
        ball = Ball(1, Fraction(16))
        first, second = (np.array(ball.solve(*pair)) for pair in leverage(16))
        noise = ball.noise(spending)
        return (lambda data, entropy: float(noise.release(data, entropy)[0])), (first, second)
    if method == "functional":
        change = flat(np.full((1, 2), float(STEP)))
        return seen_of(Functional(1, False, spending).noise, [0, 1, 2], change), (np.zeros(3, dtype=np.int64), change)
    squared = spending.concentrated
    rows = weighed(np.zeros((1, 1)), np.full(1, float(STEP)), np.zeros(2), constant=False, squared=squared)
    change = flat(rows)
    return seen_of(Statistics(1, False, spending).products, [2], change[2:]), (np.zeros(3, dtype=np.int64), change)


@pytest.mark.parametrize("method", METHODS)
def test_the_auditor_does_not_beat_the_claim_but_catches_half_the_noise(method: str) -> None:
    samples = 4000 if method == "functional" else 1600  # its worst row moves three numbers at once
    release, pair = worst_of(method, Spending.of(1))
    honest = audit(release, pair, samples=samples, claimed=1, confidence=CERTAIN, entropy=Reproducible(1))
    assert not honest.caught
    assert honest.epsilon_lower_bound > 0  # it sees something
    release, pair = worst_of(method, Spending.of(2))
    assert audit(release, pair, samples=samples, claimed=1, confidence=CERTAIN, entropy=Reproducible(2)).caught


@pytest.mark.parametrize("method", METHODS)
def test_the_auditor_does_not_beat_the_claim_of_a_whole_fit(method: str) -> None:
    far = np.array([[STEP, STEP]] * 40 + [[-STEP, STEP]], dtype=float)
    spending = Spending.of(1)
    way = {
        "output": Output(1, True, spending),
        "functional": Functional(1, True, spending),
        "sufficient_statistics": Statistics(1, True, spending),
    }[method]

    def fit(rows: Any, entropy: Entropy) -> float:
        line = way.learn(rows[:, :-1], rows[:, -1], entropy)
        return float(line.start - line.slopes[0])

    found = audit(fit, (far[:-1], far), samples=500, claimed=1, confidence=CERTAIN, entropy=Reproducible(3))
    assert not found.caught


STRANGE = {
    "no row": (np.empty((0, 3)), []),
    "one row": (np.ones((1, 3)), [1.0]),
    "fewer rows than columns": (np.eye(2, 3), [1.0, 2.0]),
    "constant columns": (np.ones((50, 3)), np.ones(50)),
    "nothing finite": (np.full((9, 3), np.nan), np.full(9, np.inf)),
    "infinite and huge": (np.array([[np.inf, -np.inf, 1e308]] * 9), [1e308, -1e308, np.nan] * 3),
    "text": (np.array([["a", None, "3"]] * 4, dtype=object), ["x", None, 1.0, 2]),
    "beyond the bounds": (np.full((50, 3), 1e9), np.full(50, -1e9)),
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_rows_make_a_fit_fail(name: str, method: str, fit_intercept: bool) -> None:
    X, y = STRANGE[name]
    for spent in ({"epsilon": 1}, {"epsilon": None, "rho": 1}, {"epsilon": 1e-3}, {"epsilon": 1e5}):
        model = LinearRegression(
            method=method, bounds=(-1, 1), target_bounds=(-1, 1), fit_intercept=fit_intercept, random_state=1, **spent
        ).fit(X, y)
        assert model.coef_.shape == (3,)
        assert model.coef_interval_.shape == (3, 2)
        assert np.isfinite([*model.coef_, model.intercept_]).all()
        assert not np.isinf(model.coef_interval_).any()
        assert np.all(np.abs(model.predict(np.array([[0.0, np.nan, 1e300]]))) <= 1)


def synthetic(rows: int, columns: int = 4, seed: int = 0, spread: float = 0.5) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X, slopes = rng.uniform(-1, 1, size=(rows, columns)) * 3 + 10, rng.normal(size=columns)
    return X, (X - 10) @ slopes + 5 + rng.normal(size=rows) * spread, slopes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spent", [{"epsilon": 20}, {"epsilon": 20, "delta": 1e-6}])
def test_with_much_to_spend_the_line_is_that_of_plain_least_squares(method: str, spent: dict[str, float]) -> None:
    X, y, _ = synthetic(20_000)
    model = LinearRegression(method=method, bounds=(7, 13), target_bounds=(-20, 30), random_state=1, **spent)
    plain = Plain().fit(X, y)
    model.fit(X, y)
    assert np.allclose(model.coef_, plain.coef_, atol=0.3 if method == "output" else 0.1)
    assert model.intercept_ == pytest.approx(plain.intercept_, abs=5)
    assert r2_score(y, model.predict(X)) > plain.score(X, y) - (0.08 if method == "output" else 0.01)


@pytest.mark.parametrize("method", ["sufficient_statistics", "functional"])
def test_without_an_intercept_the_line_goes_through_the_datas_own_zero(method: str) -> None:
    X, _, slopes = synthetic(20_000)
    model = LinearRegression(
        method=method, epsilon=50, bounds=(7, 13), target_bounds=(-60, 60), fit_intercept=False, random_state=1
    ).fit(X, X @ slopes)
    assert model.intercept_ == 0
    assert np.allclose(model.coef_, slopes, atol=0.2)


@pytest.mark.parametrize("rows", [300, 1500])
def test_intervals_hold_the_slopes_about_as_often_as_they_say(rows: int) -> None:
    held = []
    for seed in range(60):
        X, y, slopes = synthetic(rows, seed=seed, spread=2.0)
        epsilon = (1, 5, 1000)[seed % 3]  # at first most of the error is noise, at last it is sampling
        model = LinearRegression(epsilon=epsilon, bounds=(7, 13), target_bounds=(-15, 25), random_state=seed)
        low, high = model.fit(X, y).coef_interval_.T
        if not np.isnan(low).any():  # from so few rows nothing is said at first
            held += ((low <= slopes) & (slopes <= high)).tolist()
    assert len(held) >= 160
    # of at most 240 slopes 5 % may be missed: more than 32 would happen less than once in a million times
    assert held.count(False) <= 32


@pytest.mark.parametrize("method", ["sufficient_statistics", "functional"])
def test_intervals_hold_slopes_that_differ_in_size(method: str) -> None:
    slopes, held = np.array([3.0, 0.01, 0.0]), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, size=(3000, 3)) * 3 + 10
        y = (X - 10) @ slopes + 5 + rng.normal(size=3000) * 2
        model = LinearRegression(method=method, bounds=(7, 13), target_bounds=(-15, 25), random_state=seed)
        low, high = model.fit(X, y).coef_interval_.T
        assert not np.isnan(low).any()
        held += ((low <= slopes) & (slopes <= high)).tolist()
        assert np.all((low <= model.coef_) & (model.coef_ <= high))
    # 180 slopes of which 5 % may be missed: more than 26 would happen less than once in a million times
    assert held.count(False) <= 26


@together(("epsilon", "said"), [(0.3, "only the mean"), (3, "one direction"), (10, "no intervals")])
def test_a_model_says_when_noise_hides_its_slopes(epsilon: float, said: str) -> None:
    X, y, _ = synthetic(150, columns=6)
    model = LinearRegression(epsilon=epsilon, bounds=(7, 13), target_bounds=(-20, 30), random_state=1)
    with pytest.warns(NoiseWarning, match=said):
        model.fit(X, y)
    assert model.drowned_.all()
    assert np.isnan(model.coef_interval_).all()


def test_a_model_names_the_columns_whose_slopes_noise_may_hide() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, size=(20_000, 2)), columns=["age", "shoe_size"])
    model = LinearRegression(epsilon=5, bounds=(0, 1), target_bounds=(0, 2), random_state=1)
    with pytest.warns(NoiseWarning, match="slope of shoe_size: its interval contains 0"):
        model.fit(X, X["age"])
    assert model.drowned_.tolist() == [False, True]


def test_a_model_whose_slopes_are_clear_says_nothing(recwarn: pytest.WarningsRecorder) -> None:
    X, y, _ = synthetic(20_000)
    model = LinearRegression(epsilon=20, bounds=(7, 13), target_bounds=(-20, 30), random_state=1).fit(X, y)
    assert model.notes_ == ()
    assert not [one for one in recwarn if one.category is NoiseWarning]


def test_output_perturbation_claims_no_interval() -> None:
    X, y, _ = synthetic(2000)
    model = LinearRegression(method="output", bounds=(7, 13), target_bounds=(-20, 30), random_state=1).fit(X, y)
    assert np.isnan(model.coef_interval_).all()


def test_intervals_are_wider_for_more_confidence() -> None:
    X, y, _ = synthetic(20_000)
    wide, narrow = (
        np.diff(
            LinearRegression(bounds=(7, 13), target_bounds=(-20, 30), random_state=1, confidence=c)
            .fit(X, y)
            .coef_interval_
        )
        for c in (0.99, 0.5)
    )
    assert np.all(wide > 3 * narrow)


@together(("epsilon", "mean"), [(0.01, -0.6), (0.1, -0.15), (0.3, -0.1), (1, 0.15)])
def test_few_rows_give_a_prediction_that_is_not_absurd(epsilon: float, mean: float) -> None:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    bounds = list(zip(X.min(0), X.max(0), strict=True))
    scores = []
    for seed in range(20):
        model = LinearRegression(epsilon=epsilon, bounds=bounds, target_bounds=(25, 346), random_state=seed)
        scores.append(r2_score(y, model.fit(X, y).predict(X)))
    assert np.mean(scores) > mean
    assert min(scores) > -1.5


def test_predictions_stay_within_the_bounds_of_the_target() -> None:
    X, y, _ = synthetic(500)
    model = LinearRegression(bounds=(7, 13), target_bounds=(4, 6), random_state=1).fit(X, y)
    found = model.predict(np.array([[1e9, -1e9, np.nan, 10]]))
    assert np.all((found >= 4) & (found <= 6))


@pytest.mark.parametrize("method", METHODS)
@together("spent", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.1}])
def test_the_lines_of_a_quote_add_up_to_at_most_the_loss(method: str, spent: dict[str, Any]) -> None:
    model = LinearRegression(method=method, bounds=(0, 1), target_bounds=(0, 1), **spent)
    quote = model.quote(5)
    name = "epsilon" if spent == {"epsilon": 1} else "rho"
    total = sum(getattr(line.loss, name) for line in quote.lines)
    assert 0 < total <= model._spending().size
    assert all(line.off_by is not None and line.off_by > 0 for line in quote.lines)
    assert str(quote.loss) in str(quote)


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_can_be_cloned_pickled_and_repeated(method: str) -> None:
    X, y, _ = synthetic(300)
    model = LinearRegression(method=method, bounds=(7, 13), target_bounds=(-20, 30), random_state=7)
    one, other = model.fit(X, y), clone(model).fit(X, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(one)).predict(X), other.predict(X))
    assert one.privacy_loss_ == Spending.of(1.0).stated


def test_public_parameters_are_checked_before_a_row_is_read() -> None:
    X, y, _ = synthetic(10)
    public = {"bounds": (7, 13), "target_bounds": (-20, 30)}
    for wrong in ({"method": "magic"}, {"fit_intercept": "yes"}, {"confidence": 1.5}, {"regularization": -1}):
        with pytest.raises(InvalidParameter):
            LinearRegression(**(public | wrong)).fit(X, y)
    for missing in public:
        with pytest.raises(MissingBounds):
            LinearRegression(**(public | {missing: None})).fit(X, y)
