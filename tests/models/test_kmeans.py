"""Private k-means: rows that are short for certain, a public number of releases, and clusters that are found."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import together
from sklearn.base import clone
from sklearn.cluster import KMeans as Ordinary
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from lapwing.adversary import audit
from lapwing.errors import BudgetExceeded, InvalidParameter, MissingBounds
from lapwing.models.account import Account
from lapwing.models.kmeans import KMeans, _assigned, _cut, _Grid, _lengths, _moved, _nearest, _sums, _View
from lapwing.models.spending import Spending
from lapwing.noise import Entropy, Reproducible, discrete_laplace
from lapwing.privacy import Ledger, PureDP

FALSE_ALARM = 1e-6
CURRENCIES = [Spending.of(epsilon=1), Spending.of(rho=1)]
NOISELESS = Spending.of(epsilon=10**9)


def extreme_rows(columns: int) -> np.ndarray[Any, Any]:
    """Whole rows at, near and far beyond every radius that the tests use, single entries and corners."""
    rng = np.random.default_rng(0)
    sizes = np.array([0, 1, 2, 3, 255, 256, 257, 2**16 - 1, 2**16, 2**20, 2**21])
    single = np.zeros((len(sizes) * columns, columns))
    single[np.arange(len(single)), np.tile(np.arange(columns), len(sizes))] = np.repeat(sizes, columns)
    corners = rng.choice([-1.0, 1.0], (len(sizes), columns)) * sizes[:, None]
    anything = np.rint(rng.standard_cauchy((400, columns)) * 1000).clip(-(2**21), 2**21)
    return np.concatenate([single, -single, corners, anything])


@pytest.mark.parametrize("spending", CURRENCIES, ids=["l1", "l2"])
@together("radius", [1.0, 1.5, 255.999, 256.0, 1e5, 3.3e7])
@together("columns", [1, 3, 64])
def test_no_row_is_longer_than_the_noise_is_made_for(spending: Spending, radius: float, columns: int) -> None:
    rows = extreme_rows(columns)
    cut = _cut(rows, _lengths(rows, spending), radius)
    for row in cut.tolist():
        whole = [int(entry) for entry in row]
        assert whole == row
        if spending.concentrated:
            assert sum(entry**2 for entry in whole) <= 2**32
        else:
            assert sum(map(abs, whole)) <= 2**16


def test_a_row_within_the_radius_keeps_its_direction_and_length() -> None:
    row = np.array([[300.0, -400.0]])
    for spending, length in zip(CURRENCIES, (700.0, 500.0), strict=True):
        steps = _cut(row, _lengths(row, spending), 1000.0)
        assert _lengths(steps, spending) / 2**16 == pytest.approx(length / 1000, rel=1e-3)
        shrunk = _cut(row, _lengths(row, spending), 100.0)
        assert _lengths(shrunk, spending) / 2**16 == pytest.approx(1, rel=1e-3)
        assert shrunk[0, 0] / shrunk[0, 1] == pytest.approx(-0.75, rel=1e-3)


@pytest.mark.parametrize("spending", CURRENCIES, ids=["l1", "l2"])
def test_each_row_adds_to_the_totals_what_it_adds_alone(spending: Spending) -> None:
    rng = np.random.default_rng(1)
    view = _View.random(np.array([65536.0, 20000.0, 3.0, 0.0, 65536.0]), 4, Reproducible(1))
    scaled = rng.uniform(-1, 1, (9000, 5))  # several blocks
    rows = view.rows(scaled)
    alone = np.concatenate([view.rows(row[None]) for row in scaled])
    assert np.array_equal(rows, alone)
    centers = np.rint(rng.normal(size=(6, 4)) * 20000)
    places, lengths = _assigned(rows, centers, spending)
    for at in range(0, 9000, 37):
        place, length = _assigned(rows[at : at + 1], centers, spending)
        assert (place[0], length[0]) == (places[at], lengths[at])
    middle = centers[0]
    for sizes in (False, True):
        together = _sums(rows, middle, 30000.0, spending, sizes=sizes)
        each = [_sums(row[None], middle, 30000.0, spending, sizes=sizes) for row in rows[:9000:9]]
        assert np.array_equal(_sums(rows[:9000:9], middle, 30000.0, spending, sizes=sizes), np.sum(each, axis=0))
        without = _sums(np.delete(rows, 4500, axis=0), middle, 30000.0, spending, sizes=sizes)
        assert np.array_equal(together - without, _sums(rows[4500:4501], middle, 30000.0, spending, sizes=sizes))


def test_the_nearest_centre_is_the_one_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(2)
    rows, centers = (np.rint(rng.normal(size=(count, 7)) * 2**19).clip(-(2**20), 2**20) for count in (200, 9))
    centers[5] = centers[3]  # a tie goes to the first
    for row, place in zip(rows.astype(int).tolist(), _nearest(rows, centers), strict=True):
        away = [sum((a - b) ** 2 for a, b in zip(row, center, strict=True)) for center in centers.astype(int).tolist()]
        assert place == away.index(min(away))


def test_centres_beyond_exact_arithmetic_are_cut_before_a_row_is_compared_with_them() -> None:
    far, rows = np.array([[3.5 * 2**20 + 0.25, 1.5], [0.0, 0.0]]), np.array([[2.0**20, 0.0], [5.0, 5.0]])
    for spending in CURRENCIES:
        moved, radius = _moved(far, 1e6, rows, 2, spending, Reproducible(3))
        same, again = _moved(np.array([[2.0**20, 2.0], [0.0, 0.0]]), 1e6, rows, 2, spending, Reproducible(3))
        assert np.array_equal(moved, same)
        assert radius == again


@together("axes", [1, 2, 5])
def test_every_row_is_in_one_cell_and_near_its_point(axes: int) -> None:
    rng = np.random.default_rng(3)
    grid = _Grid.of(np.zeros(axes), np.full(axes, 1000.0), 64, clusters=3)
    inside = np.rint(rng.uniform(-2000, 2000, (5000, axes)))
    outside = np.array([[2.0**20] * axes, [-(2.0**20)] * axes])
    counts = grid.counts(np.concatenate([inside, outside]), NOISELESS, Reproducible(0))
    assert counts.sum() == 5002
    assert counts.shape == (len(grid.points),)
    for row in inside[:50]:
        [cell] = np.flatnonzero(grid.counts(row[None], NOISELESS, Reproducible(0)))
        assert np.all(np.abs(grid.points[cell] - row) <= (2000 / grid.bins + 1 if grid.bins > 2 else 1201))


def test_rows_are_whole_numbers_of_exact_arithmetic() -> None:
    scaled = np.random.default_rng(5).uniform(-1, 1, (50, 6))
    widths = np.array([65536.0, 65536.0, 1000.0, 7.0, 0.0, 30000.0])
    steps = [[round(entry * width) for entry, width in zip(row, widths, strict=True)] for row in scaled.tolist()]
    assert _View(widths, None).rows(scaled).tolist() == steps
    view = _View.random(widths, 3, Reproducible(5))
    assert view.directions is not None
    into = [[int(entry) for entry in direction] for direction in view.directions.T.tolist()]
    sums = [[sum(a * b for a, b in zip(row, way, strict=True)) for way in into] for row in steps]
    assert view.rows(scaled).tolist() == [[round(Fraction(total, 4096)) for total in row] for row in sums]


def test_directions_are_perpendicular_and_centres_come_back() -> None:
    view = _View.random(np.full(20, 65536.0), 5, Reproducible(4))
    assert view.directions is not None
    assert view.directions.T @ view.directions / 2**24 == pytest.approx(np.eye(5), abs=2e-3)
    centers = np.random.default_rng(4).normal(size=(3, 5)) * 10000
    assert view.rows(view.back(centers)) == pytest.approx(centers, abs=100)


def blobs(rows: int, columns: int, clusters: int, seed: int = 0) -> tuple[Any, Any]:
    X, y = make_blobs(rows, columns, centers=clusters, cluster_std=1.0, random_state=seed)[:2]
    return X, y


@together(
    ("budget", "rows", "columns", "clusters"),
    [
        ({"epsilon": 1}, 4000, 3, 4),
        ({"epsilon": 1}, 20000, 12, 3),
        ({"epsilon": 0.1}, 20000, 2, 3),
        ({"epsilon": 1, "delta": 1e-6}, 4000, 3, 4),
        ({"epsilon": None, "rho": 0.1}, 4000, 40, 3),
        ({"epsilon": 10}, 2000, 1, 2),
    ],
)
def test_clusters_that_lie_apart_are_found(budget: dict[str, Any], rows: int, columns: int, clusters: int) -> None:
    X, y = blobs(2 * rows, columns, clusters, seed=5)
    model = KMeans(clusters, bounds=(-14, 14), random_state=1, **budget).fit(X[:rows])
    perfect = adjusted_rand_score(
        y[rows:], Ordinary(clusters, n_init=5, random_state=0).fit(X[:rows]).predict(X[rows:])
    )
    assert adjusted_rand_score(y[rows:], model.predict(X[rows:])) > perfect - 0.03


def test_distances_are_measured_in_the_units_of_the_data() -> None:
    rng = np.random.default_rng(6)
    wide = np.repeat([-50.0, 50.0], 2000) + rng.normal(size=4000)
    narrow = rng.choice([-0.9, 0.9], 4000)  # far apart for its bounds, and nothing beside the other column
    model = KMeans(2, epsilon=1, bounds=[(-100, 100), (-1, 1)], random_state=0).fit(np.column_stack([wide, narrow]))
    assert sorted(model.cluster_centers_[:, 0]) == pytest.approx([-50, 50], abs=3)
    assert model.predict([[50, -0.9], [50, 0.9]]).tolist() in ([0, 0], [1, 1])


def test_predictions_are_the_nearest_centres_and_nothing_exact_is_kept() -> None:
    X, _ = blobs(500, 2, 3)
    model = KMeans(3, bounds=(-12, 12), random_state=7)
    labels = model.fit_predict(X)
    inside = X.clip(-12, 12)
    away = ((inside[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    assert np.array_equal(labels, away.argmin(axis=1))
    kept = {name for name in vars(model) if name.endswith("_")}
    assert kept == {"cluster_centers_", "n_features_in_", "privacy_loss_"}


def test_a_row_between_two_centres_belongs_to_the_same_one_whoever_else_is_asked_about() -> None:
    rng, model = np.random.default_rng(9), KMeans(2, bounds=(-1, 1), random_state=0).fit(np.zeros((2, 16)))
    model.cluster_centers_ = first, second = rng.uniform(-0.5, 0.5, (2, 16))
    rows, apart = rng.uniform(-0.5, 0.5, (500, 16)), first - second
    rows -= np.outer((rows - (first + second) / 2) @ apart / (apart @ apart), apart)
    assert model.predict(rows).tolist() == [int(model.predict(row[None])[0]) for row in rows]


STRANGE: dict[str, Any] = {
    "no rows": np.zeros((0, 3)),
    "one row": np.ones((1, 3)),
    "fewer rows than clusters": np.arange(6.0).reshape(2, 3),
    "constant": np.full((50, 3), 0.25),
    "not a number": np.full((5, 3), np.nan),
    "infinite": np.array([[np.inf, -np.inf, 1e308]] * 5),
    "text": [["a", None, "3"]] * 4,
    "far outside": np.full((50, 3), 1e9),
    "corners": np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]] * 30),
}


@together("budget", [{"epsilon": 0.01}, {"epsilon": 50}, {"epsilon": None, "rho": 1}])
@pytest.mark.parametrize("name", STRANGE)
def test_no_rows_whatever_raise_or_warn(name: str, budget: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for clusters, iterations in ((1, 1), (5, 3)):
            model = KMeans(clusters, bounds=[(0, 1)] * 3, iterations=iterations, **budget).fit(STRANGE[name])
            assert model.cluster_centers_.shape == (clusters, 3)
            assert np.isfinite(model.cluster_centers_).all()
            assert set(model.predict(STRANGE[name]).tolist()) <= set(range(clusters))


def test_many_columns_many_clusters_and_many_iterations_are_no_trouble() -> None:
    rng = np.random.default_rng(8)
    for model, shape in (
        (KMeans(200, bounds=(-1, 1)), (30, 2)),
        (KMeans(2, bounds=(-1, 1), epsilon=1000), (40, 700)),
        (KMeans(2, bounds=(-1, 1), iterations=400), (30, 1)),
    ):
        centers = model.fit(rng.uniform(-1, 1, shape)).cluster_centers_
        assert centers.shape == (model.n_clusters, shape[1])
        assert np.isfinite(centers).all()


def test_wrong_parameters_are_refused_before_anything_is_paid(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("rows", PureDP(1))
    account = Account(ledger, "rows")
    for wrong, error in (
        ({"n_clusters": 0}, InvalidParameter),
        ({"n_clusters": 2.5}, InvalidParameter),
        ({"iterations": 0}, InvalidParameter),
        ({"bounds": None}, MissingBounds),
        ({"bounds": (1, 0)}, InvalidParameter),
    ):
        model = KMeans(**{"n_clusters": 2, "bounds": (0, 1), "account": account, **wrong})
        with pytest.raises(error):
            model.fit(np.zeros((4, 2)))
    assert account.remaining() == PureDP(1)


def test_a_fit_is_charged_once_and_clones_share_the_account(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("rows", PureDP(1))
    model = KMeans(2, epsilon=0.5, bounds=(0, 1), account=Account(ledger, "rows"))
    clone(model).fit(np.zeros((4, 2)))
    clone(model).fit(np.zeros((4, 2)))
    with pytest.raises(BudgetExceeded):
        clone(model).fit(np.zeros((4, 2)))


@pytest.mark.parametrize("budget", [{"epsilon": 0.7}, {"epsilon": None, "rho": 0.3}], ids=str)
def test_the_lines_of_a_quote_add_up_to_the_loss(budget: dict[str, Any]) -> None:
    quote = KMeans(3, bounds=(0, 1), iterations=4, **budget).quote(5)
    [name] = [name for name, value in budget.items() if value]
    assert len(quote.lines) == 8
    parts = [getattr(line.loss, name) for line in quote.lines]
    assert sum(parts) <= getattr(quote.loss, name)
    assert math.isclose(sum(parts), getattr(quote.loss, name))


# One row in the far corner is the worst neighbour: it moves means most and makes a cluster of its own.
CROWD = np.zeros((6, 1))
PAIR = (CROWD, np.concatenate([CROWD, [[1.0]]]))


class Overspending(KMeans):
    """States epsilon and spends a hundred times as much."""

    def _recipe(self, columns: int, names: Any) -> Any:
        recipe = super()._recipe(columns, names)
        return type(recipe)(recipe.box, Spending.of(epsilon=100 * self.epsilon), recipe.clusters, recipe.iterations)


def exact_mean(rows: Any, entropy: Entropy) -> float:
    """A centre without noise on how many rows there are, and too little on their sum."""
    return float(rows.sum() + discrete_laplace(1000, entropy=entropy) / 2**16) / len(rows)


def centers_of(model: KMeans) -> Any:
    def release(rows: Any, entropy: Entropy) -> list[float]:
        return sorted(clone(model).set_params(random_state=entropy).fit(rows).cluster_centers_.ravel().tolist())

    return release


def test_an_audit_of_whole_fits_does_not_refute_the_stated_loss() -> None:
    model = KMeans(1, bounds=(0, 1), epsilon=0.5, iterations=1)
    found = audit(
        centers_of(model), PAIR, samples=500, claimed=0.5, confidence=1 - FALSE_ALARM, entropy=Reproducible(9)
    )
    assert found.verdict == "not caught"


@pytest.mark.parametrize(
    "release",
    [centers_of(Overspending(1, bounds=(0, 1), epsilon=0.5, iterations=1)), exact_mean],
    ids=["100ε", "exact"],
)
def test_the_same_audit_catches_broken_fits(release: Any) -> None:
    found = audit(release, PAIR, samples=500, claimed=0.5, confidence=1 - FALSE_ALARM, entropy=Reproducible(9))
    assert found.verdict == "caught"
