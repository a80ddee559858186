"""Covariance matrices and principal components."""

from __future__ import annotations

import numpy as np
import pytest
from cases import together
from replay import Pair, assert_private
from sklearn.base import clone

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter
from lapwing.models.columns import Box
from lapwing.models.covariance import Covariance, positive
from lapwing.models.moments import Table
from lapwing.models.pca import PCA
from lapwing.models.spending import Spending
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, 1.0]
KINDS = [{}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.2}]


def correlated(rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 1))
    X = 0.1 * rng.normal(size=(rows, 4)) + common * [0.2, 0.2, -0.2, 0.0] + [0.1, 0.2, -0.3, 0.0]
    return np.clip(X, -1, 1)


def made(kind=Covariance, **named):
    return kind(**{"epsilon": 1, "bounds": (-1, 1), "random_state": 1, **named})


@pytest.mark.parametrize("named", KINDS)
def test_the_covariance_of_many_rows_is_near_the_truth(named):
    X = correlated()
    found = made(**named).fit(X)
    truth = np.cov(X.T)
    assert np.abs(found.mean_ - X.mean(axis=0)).max() < 0.02
    assert np.abs(found.covariance_ - truth).max() < 0.15 * truth.max()
    assert np.abs(found.correlation_ - np.corrcoef(X.T)).max() < 0.15


def test_the_units_are_those_of_the_data():
    X = correlated() * [1, 10, 100, 1000] + 5
    bounds = [(5 - size, 5 + size) for size in (1, 10, 100, 1000)]
    found = made(bounds=bounds).fit(X)
    plain = made().fit(correlated())
    stretch = np.outer([1, 10, 100, 1000], [1, 10, 100, 1000])
    assert np.allclose(found.covariance_, plain.covariance_ * stretch, rtol=1e-2)
    assert np.allclose(found.correlation_, plain.correlation_, atol=1e-2)


def test_a_centre_that_is_known_is_not_paid_for():
    X = correlated()
    found = made(assume_centered=True).fit(X)
    assert np.allclose(found.mean_, 0)
    truth = X.T @ X / len(X)
    assert np.abs(found.covariance_ - truth).max() < 0.15 * truth.max()
    assert len(made(assume_centered=True).quote(4).lines) < len(made().quote(4).lines)


@together("named", KINDS)
@together("rows", [0, 1, 2, 5])
def test_any_rows_give_a_symmetric_positive_matrix(rows, named):
    X = np.array([STRANGE] * rows).reshape(rows, len(STRANGE))
    for more in ({}, {"assume_centered": True}):
        found = made(**named, **more).fit(X)
        assert (found.covariance_ == found.covariance_.T).all()
        assert np.linalg.eigvalsh(found.covariance_).min() > 0
        assert np.abs(found.correlation_).max() <= 1 + 1e-9


@together("epsilon", [1e-6, 1e-3, 1e6])
@together("columns", [1, 2, 40])
def test_any_epsilon_and_width_can_be_fitted(epsilon, columns):
    X = np.zeros((10, columns))
    X[:, 0] = 1
    assert np.isfinite(made(epsilon=epsilon).fit(X).covariance_).all()
    assert np.isfinite(made(PCA, epsilon=epsilon).fit(X).components_).all()


def test_one_large_component_is_found():
    X = correlated()
    model = made(PCA, n_components=1).fit(X)
    assert abs(model.components_[0] @ np.array([1, 1, -1, 0]) / np.sqrt(3)) > 0.97
    assert 0.5 < model.explained_variance_ratio_[0] < 1
    assert model.get_feature_names_out().tolist() == ["pca0"]


def test_components_are_orthogonal_and_all_of_them_lose_nothing():
    X = correlated(500)
    model = made(PCA).fit(X)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(4))
    assert np.allclose(model.inverse_transform(model.transform(X)), X)
    assert (np.diff(model.explained_variance_) <= 0).all()
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


@together("components", [0, 5, -1, 1.5, "mle"])
def test_impossible_numbers_of_components_are_refused(components):
    with pytest.raises(InvalidParameter):
        made(PCA, n_components=components).fit(correlated(10))


@pytest.mark.parametrize("kind", [Covariance, PCA])
def test_a_copy_learns_the_same_and_the_quote_adds_up(kind):
    X = correlated(100)
    assert (clone(made(kind)).fit(X).mean_ == made(kind).fit(X).mean_).all()
    quote = made(kind).quote(4)
    assert sum(line.loss.epsilon for line in quote.lines) == quote.loss.epsilon == 1


def test_a_matrix_made_positive_has_no_smaller_eigenvalue_and_keeps_the_others():
    made_positive = positive(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.5)
    assert np.allclose(np.linalg.eigvalsh(made_positive), [0.5, 3])


ROWS = [[1, 1, 1, 1], [1, -1, 1, -1], [0, 1, 0, 0], [1, 1, 0, 0], [9, np.nan, 0, 1]]


@together("named", [*KINDS, {"assume_centered": True}])
@together("row", ROWS)
def test_one_row_changes_every_release_by_at_most_its_sensitivity(row, named):
    X = np.random.default_rng(3).uniform(-1, 1, (30, 4)) * [1, 0.1, 0.1, 0.5]
    pair = Pair((X, None), (np.insert(X, 7, row, axis=0), None), 7, 7)
    for seed in range(4):
        assert_private(lambda X, y, entropy: made(**named, random_state=entropy).fit(X), pair, seed=seed, wild=seed > 1)


@together(("named", "columns"), [({}, 2), ({"rho": 0.2, "epsilon": None}, 2), ({"delta": 1e-6}, 520)])
def test_a_row_of_equal_entries_comes_near_the_sensitivity_of_products(named, columns):
    """No limit is idle: of a row at the bounds, and none other, the part that is not shrunk is all that is paid for."""
    pair = Pair((np.zeros((0, columns)), None), (np.ones((1, columns)), None), 0, 0)
    tapes = [
        assert_private(
            lambda X, y, entropy: made(assume_centered=True, **named, random_state=entropy).fit(X), pair, seed=seed
        )
        for seed in range(4)
    ]  # the radius is a matter of luck with one row
    assert max(min(float(share) for _, share in tape.spent[-2:]) for tape in tapes) > 0.3


@together("orders", [(1,), (2,), (1, 2)])
def test_rows_around_a_centre_are_shrunk_and_summed_as_if_they_were_written_down(orders):
    rng = np.random.default_rng(0)
    X = np.clip(rng.standard_cauchy((5000, 7)) / 20, -1, 1)
    spending = Spending.of(1)
    table = Table.of(Box.of((-1, 1), 7), X, [spending], Reproducible(1))
    centre = np.rint(rng.uniform(-0.2, 0.2, 7) * table.step)
    rows, plain = table.around(centre), table.rows - centre
    for order in orders:
        [found] = rows.sizes(order)
        assert found.tolist() == [sum(abs(int(entry)) ** order for entry in row) for row in plain]
        rows, radius = rows.within(order, found, 0.6, spending)
        beyond = found > radius**order
        assert 0 < beyond.sum() < len(X)
        before, plain = plain, plain.copy()
        plain[rows.places] = rows.shrunk
        assert (plain[~beyond] == before[~beyond]).all()
        assert max(sum(abs(int(entry)) ** order for entry in row) for row in plain[beyond]) <= radius**order
        assert (np.abs(plain) <= np.abs(before)).all()
        assert (plain == np.rint(plain)).all()
    assert rows.totals(2 * table.step).tolist() == plain.sum(axis=0).tolist()
    whole = plain.astype(np.int64).astype(object)
    assert rows.products(4 * table.step**2).tolist() == (whole.T @ whole).tolist()


WORST = np.zeros((4, 2)), np.vstack([np.zeros((4, 2)), np.ones((1, 2))])


def released(claimed, scale=1):
    def release(X, entropy):
        found = made(epsilon=claimed * scale, random_state=entropy).fit(X)
        return [*found.mean_.tolist(), *found.covariance_.ravel().tolist()]

    return release


def test_an_audit_of_the_worst_row_does_not_refute_the_claim():
    found = audit(released(2), WORST, samples=300, claimed=2, confidence=1 - FALSE_ALARM, entropy=Reproducible(5))
    assert not found.caught


def test_the_same_audit_catches_a_fit_that_spends_more_than_it_says():
    found = audit(released(1, 100), WORST, samples=300, claimed=1, confidence=1 - FALSE_ALARM, entropy=Reproducible(5))
    assert found.caught
