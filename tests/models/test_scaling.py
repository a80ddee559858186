"""Scaling by private means and variances, and by private quantiles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from cases import together
from replay import Pair, assert_private
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from lapwing.adversary import audit
from lapwing.errors import InvalidParameter
from lapwing.models.columns import Box
from lapwing.models.quantiles import _BRANCHES, _LEAVES, QuantileTransformer, _consistent, _tree
from lapwing.models.scaling import StandardScaler
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, 1.0]
KINDS = [{}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.2}]
BOTH = [StandardScaler, QuantileTransformer]


def table(rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(40, 10, rows), rng.exponential(10, rows), rng.integers(0, 2, rows) * 100.0])


def made(kind, **named):
    return kind(**{"epsilon": 1, "bounds": (0, 100), "random_state": 1, **named})


@together("named", KINDS)
def test_means_and_variances_of_many_rows_are_near_the_truth(named):
    X = table().clip(0, 100)
    scaler = made(StandardScaler, **named).fit(X)
    assert np.abs(scaler.mean_ - X.mean(axis=0)).max() < 1
    assert np.abs(scaler.scale_ / X.std(axis=0) - 1).max() < 0.1
    assert np.allclose(scaler.inverse_transform(scaler.transform(X)), X)


@pytest.mark.parametrize("named", KINDS)
def test_quantiles_of_many_rows_are_near_the_truth(named):
    X = table().clip(0, 100)
    found = made(QuantileTransformer, **named).fit(X)
    shares = found.transform(X[:, :])
    assert np.abs(np.sort(shares[:, 0]) - np.linspace(0, 1, len(X))).max() < 0.03
    assert np.abs(np.sort(shares[:, 1]) - np.linspace(0, 1, len(X))).max() < 0.03
    assert (np.diff(found.quantiles_, axis=0) >= 0).all()
    back = found.inverse_transform(found.transform(X))
    assert np.abs(back[:, 0] - X[:, 0]).mean() < 0.5


def test_normal_scores_have_mean_0_and_variance_1():
    found = made(QuantileTransformer, output_distribution="normal").fit(table())
    scores = found.transform(table(seed=1))[:, 0]
    assert abs(scores.mean()) < 0.05
    assert abs(scores.std() - 1) < 0.05
    assert np.abs(found.inverse_transform(found.transform([[40.0, 10.0, 0.0]]))[0, 0] - 40) < 1


@together("named", [{"n_quantiles": 1}, {"n_quantiles": 2.5}, {"output_distribution": "odd"}])
def test_impossible_parameters_are_refused(named):
    with pytest.raises(InvalidParameter):
        made(QuantileTransformer, **named).fit(table(10))


@pytest.mark.parametrize("kind", BOTH)
@together("rows", [0, 1, 2, 5])
@together("epsilon", [1e-6, 1, 1e6])
def test_no_value_and_no_number_of_rows_raises_or_warns(kind, rows, epsilon):
    X = np.array([STRANGE] * rows).reshape(rows, len(STRANGE))
    model = made(kind, epsilon=epsilon).fit(X)
    assert np.isfinite(model.transform([STRANGE])).all()


@pytest.mark.parametrize("kind", BOTH)
def test_a_copy_in_a_pipeline_learns_the_same_and_the_quote_adds_up(kind):
    X = table(100)
    pipeline = make_pipeline(clone(made(kind)))
    assert (pipeline.fit_transform(X) == made(kind).fit(X).transform(X)).all()
    quote = made(kind).quote(3)
    assert sum(line.loss.epsilon for line in quote.lines) == quote.loss.epsilon == 1


@pytest.mark.parametrize("kind", BOTH)
@together("named", KINDS)
@together("row", [[100, 100, 100], [0, 100, 0], [np.nan, np.inf, -1e308]])
def test_one_row_changes_every_release_by_at_most_its_sensitivity(kind, named, row):
    X = table(30)
    pair = Pair((X, None), (np.insert(X, 7, row, axis=0), None), 7, 7)
    for seed in range(4):
        assert_private(
            lambda X, y, entropy: made(kind, **named, random_state=entropy).fit(X), pair, seed=seed, wild=seed > 1
        )


def test_bounds_too_near_each_other_for_a_factor_still_give_whole_steps():
    for bound in (1e-300, 1e-310, 5e-324):
        steps = Box(((-Fraction(bound), Fraction(bound)),)).steps(
            np.array([[0.0], [bound], [-1.0], [np.nan], [np.inf]])
        )[:, 0]
        assert (np.abs(steps) <= 2**16).all()
        assert steps[[0, 2, 3, 4]].tolist() == [0, -(2**16), 0, 0]


def test_a_row_is_in_one_node_of_each_level_of_each_column():
    rng = np.random.default_rng(0)
    steps = np.rint(rng.uniform(-2048, 2048, (50, 3)))
    steps[0], steps[1] = 2048, -2048
    everything = _tree(steps)
    for leave in range(len(steps)):
        rest = _tree(np.delete(steps, leave, axis=0))
        for one, other in zip(everything, rest, strict=True):
            assert (np.abs(one - other).sum(axis=1) == 1).all()
    assert [level.shape[1] for level in everything] == [_BRANCHES, _BRANCHES**2, _LEAVES]
    assert all((level.sum(axis=1) == 50).all() for level in everything)


def test_least_squares_keeps_counts_that_agree_and_improves_sums_that_do_not():
    rng = np.random.default_rng(0)
    levels = [level.astype(float) for level in _tree(np.rint(rng.normal(0, 500, (5000, 1)).clip(-2048, 2048)))]
    assert np.allclose(_consistent(levels), levels[-1])
    off, plain = [], []
    for _ in range(20):
        noisy = [level + rng.laplace(0, 3, level.shape) for level in levels]
        half = levels[-1][:, :2048].sum()
        off.append(_consistent(noisy)[:, :2048].sum() - half)
        plain.append(noisy[-1][:, :2048].sum() - half)
    assert np.std(off) < np.std(plain) / 3


def released(kind, claimed, scale=1):
    def release(X, entropy):
        found = made(kind, epsilon=claimed * scale, random_state=entropy).fit(X)
        if kind is QuantileTransformer:
            return found.quantiles_[::100, 0].tolist()
        return [*found.mean_.tolist(), *found.var_.tolist()]

    return release


WORST = np.zeros((4, 1)), np.vstack([np.zeros((4, 1)), [[100.0]]])


@pytest.mark.parametrize("kind", BOTH)
def test_an_audit_of_the_worst_row_does_not_refute_the_claim(kind):
    found = audit(released(kind, 2), WORST, samples=300, claimed=2, confidence=1 - FALSE_ALARM, entropy=Reproducible(5))
    assert not found.caught


@pytest.mark.parametrize("kind", BOTH)
def test_the_same_audit_catches_a_fit_that_spends_more_than_it_says(kind):
    more = released(kind, 1, 100)
    found = audit(more, WORST, samples=300, claimed=1, confidence=1 - FALSE_ALARM, entropy=Reproducible(5))
    assert found.caught
