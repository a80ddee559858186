"""Gaussian naive Bayes, and the steps of moments that other models share with it."""

from __future__ import annotations

import numpy as np
import pytest
from cases import together
from replay import Pair, assert_private
from sklearn.base import clone

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter
from lapwing.models.columns import Box
from lapwing.models.moments import Table, shrunk
from lapwing.models.naive_bayes import GaussianNB
from lapwing.models.spending import Spending
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, 1.0]


def two_groups(rows=2000, columns=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return np.clip(rng.normal(size=(rows, columns)) * 0.2 + 0.6 * y[:, None] - 0.3, -1, 1), y


def model(**named):
    return GaussianNB(**{"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], "random_state": 1, **named})


@together("named", [{}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.1}])
def test_means_variances_and_priors_are_near_the_truth_for_many_rows(named):
    X, y = two_groups(20_000)
    fitted = model(**named).fit(X, y)
    assert np.abs(fitted.theta_ - [[-0.3] * 4, [0.3] * 4]).max() < 0.05
    assert np.abs(np.sqrt(fitted.var_) - 0.2).max() < 0.05
    assert np.abs(fitted.class_prior_ - 0.5).max() < 0.05
    assert (fitted.predict(X) == y).mean() > 0.98


def test_probabilities_add_up_and_agree_with_predictions():
    X, y = two_groups()
    fitted = model().fit(X, y)
    chances = fitted.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.allclose(np.log(np.maximum(chances, 1e-300)), np.maximum(fitted.predict_log_proba(X), np.log(1e-300)))
    assert (fitted.classes_[chances.argmax(axis=1)] == fitted.predict(X)).all()


def test_known_priors_are_taken_and_wrong_ones_refused():
    X, y = two_groups()
    assert model(priors=[0.9, 0.1]).fit(X, y).class_prior_.tolist() == [0.9, 0.1]
    for wrong in ([1.0], [0.7, 0.7], [1.5, -0.5], "ab", 3):
        with pytest.raises(InvalidParameter):
            model(priors=wrong).fit(X, y)


@together("rows", [0, 1, 2, 5])
@together("epsilon", [1e-6, 1, 1e6])
def test_no_value_and_no_number_of_rows_raises_or_warns(rows, epsilon):
    X = np.array([STRANGE] * rows).reshape(rows, len(STRANGE))
    fitted = model(epsilon=epsilon, classes=["a", "b", "c"]).fit(X, ["a"] * rows)
    assert np.isfinite(fitted.theta_).all()
    assert (fitted.var_ > 0).all()
    assert np.isfinite(fitted.predict_proba([STRANGE])).all()


def test_rows_of_unknown_classes_count_nowhere():
    X, y = two_groups()
    fitted = model().fit(X, y)
    more = model().fit(np.vstack([X, np.ones((50, 4))]), [*y.tolist(), *["other"] * 50])
    assert (fitted.theta_ == more.theta_).all()


def test_a_copy_learns_the_same_and_the_quote_adds_up():
    X, y = two_groups()
    assert (clone(model()).fit(X, y).theta_ == model().fit(X, y).theta_).all()
    quote = model().quote(4)
    assert sum(line.loss.epsilon for line in quote.lines) == quote.loss.epsilon == 1


NEIGHBOURS = [[1, 1, 1], [-1, -1, -1], [1, -1, 1], [9, np.nan, 0], [np.inf, 1, 0.3]]


@together("named", [{}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.1}])
@together("row", NEIGHBOURS)
def test_one_row_changes_every_release_by_at_most_its_sensitivity(row, named):
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (30, 3)), rng.integers(0, 2, 30)
    pair = Pair((X, y), (np.insert(X, 7, row, axis=0), np.insert(y, 7, 1)), 7, 7)
    for seed in range(4):
        tape = assert_private(
            lambda X, y, entropy: model(**named, random_state=entropy).fit(X, y), pair, seed=seed, wild=seed > 1
        )
        assert len(tape.spent) == 2
        assert tape.spent[1][1] > 0.1


@pytest.mark.parametrize("columns", [1, 5000])
def test_sizes_of_rows_are_exact_however_many_columns(columns):
    parts = Spending.of(epsilon=1).split(1, 1)
    table = Table.of(Box.of((-1, 1), columns), np.tile([[1.0], [-0.999], [1.0]], columns), parts, Reproducible(1))
    apart, rows = table.rows + table.step, table.around(np.full(columns, -float(table.step)))
    for order in (1, 2):
        assert rows.sizes(order)[0].tolist() == [sum(int(entry) ** order for entry in row) for row in apart.tolist()]
        assert columns * (2 * table.step) ** 2 < 2**53


def test_shrinking_keeps_clear_differences_and_removes_noise():
    values = np.array([1.0, 2.0, 3.0])
    assert np.abs(shrunk(values, 1e-9, 2.0) - values).max() < 1e-6
    assert (shrunk(values, 100.0, 2.0) == 2.0).all()
    assert (shrunk(values, 0.0, 2.0) == values).all()


def released(claimed, scale=1):
    """A function of rows for the auditor: the counts and sums of a fit at `scale` times the epsilon claimed."""

    def release(rows, entropy):
        X, y = rows
        fitted = model(epsilon=claimed * scale, random_state=entropy).fit(X, y)
        return [*fitted.class_count_.tolist(), *fitted.theta_.ravel().tolist(), *fitted.var_.ravel().tolist()]

    return release


def worst_pair():
    X, y = np.full((4, 2), -1.0), np.zeros(4, dtype=int)
    return (X, y), (np.vstack([X, np.ones((1, 2))]), np.append(y, 1))


def test_an_audit_of_the_worst_row_does_not_refute_the_claim():
    found = audit(
        released(2), worst_pair(), samples=400, claimed=2, confidence=1 - FALSE_ALARM, entropy=Reproducible(5)
    )
    assert not found.caught


def test_the_same_audit_catches_a_fit_that_spends_more_than_it_says():
    found = audit(
        released(1, 60), worst_pair(), samples=400, claimed=1, confidence=1 - FALSE_ALARM, entropy=Reproducible(5)
    )
    assert found.caught
