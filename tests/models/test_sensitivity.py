"""Every estimator: no row moves an input of a mechanism farther than its noise was made for, whatever was answered."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from multiplied import watched
from replay import Pair, assert_private
from sklearn.pipeline import make_pipeline
from sweeps import few

import lapwing.models as models
from lapwing.mechanisms import Gaussian, Laplace, PermuteAndFlip
from lapwing.models import (
    PCA,
    CoinFolds,
    Covariance,
    DecisionTree,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    OccamLearner,
    ParityLearner,
    PrivateGridSearch,
    PrivateScore,
    QuantileTransformer,
    RandomForest,
    SelectFeatures,
    SGDClassifier,
    SGDRegressor,
    StandardScaler,
    thresholds,
)
from lapwing.models.estimator import PrivateEstimator
from lapwing.models.scoring import METRICS, REGRESSION
from lapwing.privacy import PureDP

PURE: tuple[dict[str, Any], ...] = ({"epsilon": 1.0}, {"epsilon": 0.05}, {"epsilon": 30.0})
ALL = (*PURE, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": None, "rho": 0.1}, {"epsilon": None, "rho": 20})
DESCENT = ({"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 20.0, "delta": 1e-6})
TARGET_BOUNDS = (-2, 3)
CUT = {"epochs": 1, "sampling": 0.25}


@dataclass(frozen=True)
class Case:
    """An estimator with parameters; `of` tells what the target is."""

    kind: Any
    more: dict[str, Any] = field(default_factory=dict)
    prices: tuple[dict[str, Any], ...] = ALL
    of: str = "classes"

    def __str__(self) -> str:
        return "-".join([self.kind.__name__, *(str(v) for v in self.more.values() if isinstance(v, (str, bool)))])

    def made(self, columns: int, bounds: Any, classes: Any, entropy: Any, **price: Any) -> Any:
        public = {"bounds": bounds, "random_state": entropy}
        public |= {"classes": classes} if self.of == "classes" else {"target_bounds": TARGET_BOUNDS}
        chosen = {**public, **self.more, **price}
        if self.kind is OccamLearner:
            chosen["concepts"] = thresholds(columns, [0.0, 0.5])
        if self.kind is PrivateGridSearch:
            chosen["estimator"] = inner(self.more["estimator"], bounds, classes)
            chosen["param_grid"] = [{}, {}]
        known = inspect.signature(self.kind).parameters
        return self.kind(**{name: value for name, value in chosen.items() if name in known})


def inner(name: str, bounds: Any, classes: Any) -> Any:
    if name == "line":
        return LinearRegression(bounds=bounds, target_bounds=TARGET_BOUNDS)
    bayes = GaussianNB(bounds=(-2, 2), classes=classes)
    if name == "bayes":
        return bayes.set_params(bounds=bounds)
    return make_pipeline(StandardScaler(bounds=bounds), PCA(n_components=1, bounds=(-2, 2)), bayes)


CASES = [
    Case(StandardScaler),
    Case(Covariance),
    Case(Covariance, {"assume_centered": True}),
    Case(PCA, {"n_components": 1}),
    Case(QuantileTransformer, {"n_quantiles": 20}),
    Case(KMeans, {"n_clusters": 3, "iterations": 2}),
    Case(GaussianNB),
    *(
        Case(LinearRegression, {"method": method, "fit_intercept": constant}, of="numbers")
        for method in ("sufficient_statistics", "functional", "output")
        for constant in (True, False)
    ),
    *(
        Case(LogisticRegression, {"method": method, "fit_intercept": constant})
        for method in ("objective", "means", "functional")
        for constant in (True, False)
    ),
    Case(LogisticRegression),
    Case(DecisionTree, {"method": "id3"}),
    Case(DecisionTree, {"method": "random"}),
    Case(RandomForest),
    Case(RandomForest, {"method": "boosted", "n_estimators": 3, "max_depth": 2}),
    Case(RandomForest, {"method": "random"}),
    Case(SelectFeatures, {"k": 1}),
    Case(SelectFeatures, {"k": 1, "target": "number"}, of="numbers"),
    Case(SGDClassifier, CUT, DESCENT),
    Case(SGDRegressor, CUT, DESCENT, of="numbers"),
    Case(MLPClassifier, {**CUT, "hidden": (3, 4), "clip": 0.01}, DESCENT),
    Case(OccamLearner, {"classes": (0, 1)}, PURE),
    Case(ParityLearner, {"classes": (0, 1)}, PURE),
    Case(PrivateGridSearch, {"estimator": "bayes"}, PURE),
    Case(PrivateGridSearch, {"estimator": "bayes", "training": "shared", "refit": True}, PURE),
    Case(PrivateGridSearch, {"estimator": "pipeline"}, PURE[:1]),
    Case(PrivateGridSearch, {"estimator": "line", "metric": "neg_mean_squared_error"}, PURE, of="numbers"),
]
BOUNDS = [(-1, 1), (0, 1), (-1e-9, 3e-9), (-1e12, 1e9), (5, 7)]
FEW = ([0, 1, 2, 7, 40, 300], [1, 2, 3, 4, 5, 8, 13, 17, 31, 70])
MANY = ([1023, 1024, 2047, 2048, 4096], [1, 2, 3, 5, 9])


@np.errstate(all="ignore")
def strange(rng: Any, shape: tuple[int, ...]) -> Any:
    """Numbers mostly within −1 … 1: plain, coarse, at the bounds, of all sizes, repeated; some are none at all."""
    values = rng.normal(size=shape)
    values = [values, np.rint(4 * values) / 4, np.sign(values), values * 10.0 ** rng.integers(-12, 12, shape)][
        rng.integers(4)
    ]
    if len(values) and rng.random() < 0.2:
        values = values[rng.integers(len(values), size=len(values))]
    if rng.random() < 0.5:
        odd = rng.random(shape) < 0.05
        values[odd] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324], odd.sum())
    return values


@np.errstate(all="ignore")
def neighbours(rng: Any, case: Case, sizes: tuple[list[int], list[int]]) -> tuple[Pair, dict[str, Any]]:
    """A table with and without a row that is as extreme as rows get, at the front, at the end or anywhere."""
    rows, columns = int(rng.choice(sizes[0])), int(rng.choice(sizes[1]))
    low, high = BOUNDS[rng.integers(len(BOUNDS))]
    place = int(rng.choice([0, rows, rng.integers(rows + 1)]))
    unit, classes = strange(rng, (rows + 1, columns)), tuple(range(rng.choice([2, 2, 3, 5])))
    unit[place] = [
        unit[place],
        rng.choice([-1.0, 1.0], columns),
        np.ones(columns),
        rng.choice([np.nan, np.inf, 1e300], columns),
        np.eye(columns)[rng.integers(columns)],
    ][rng.integers(5)]
    X = unit * (high - low) / 2 + (high + low) / 2
    if case.kind is ParityLearner:  # a row stays at an end of every part
        X, place = (unit > 0).astype(float), int(rng.choice([0, rows]))
    if case.of == "numbers":
        y = 3 * strange(rng, (rows + 1,))
        y[place] = rng.choice([y[place], *TARGET_BOUNDS, 1e9])
        known = np.isfinite(y)
    else:
        y = rng.integers(0, len(classes) + (rng.random() < 0.2), rows + 1).astype(float)
        if case.kind is ParityLearner:
            y = X[:, :2].sum(axis=1) % 2
        known = y < (2 if "classes" in case.more else len(classes))
    lay = [np.ascontiguousarray, np.asfortranarray, lambda table: np.repeat(table, 2, axis=1)[:, ::2]][rng.integers(3)]
    smaller = lay(np.delete(X, place, axis=0)), np.delete(y, place)
    pair = Pair(smaller, (lay(X), y), place, int(known[:place].sum()))
    return pair, {"columns": columns, "bounds": (low, high), "classes": classes}


def check(case: Case, price: dict[str, Any], seed: int, sizes: tuple[list[int], list[int]]) -> int:
    rng = np.random.default_rng(seed)
    pair, public = neighbours(rng, case, sizes)

    def fit(X: Any, y: Any, entropy: Any) -> Any:
        return case.made(entropy=entropy, **public, **price).fit(X, y)

    return len(assert_private(fit, pair, seed=seed, wild=bool(rng.random() < 0.5)).taken)


def test_every_estimator_is_among_the_cases() -> None:
    exported = [getattr(models, name) for name in models.__all__]
    estimators = {each for each in exported if inspect.isclass(each) and issubclass(each, PrivateEstimator)}
    assert estimators == {case.kind for case in CASES}


@pytest.mark.parametrize("tables", [4, pytest.param(12, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_row_moves_nothing_farther_than_its_noise_was_made_for(case: Case, tables: int) -> None:
    releases = 0
    for number in range(tables):
        releases += check(case, case.prices[number % len(case.prices)], 1000 * CASES.index(case) + number, FEW)
    assert releases or case.kind is ParityLearner


@pytest.mark.parametrize("case", few(CASES, stays=4), ids=str)
def test_nor_where_a_row_shifts_the_blocks_that_others_are_added_up_in(case: Case) -> None:
    for number in range(2):
        check(case, case.prices[-number], 1000 * CASES.index(case) + 500 + number, MANY)


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_that_is_paid_for_is_private_as_well(metric: str) -> None:
    case = Case(PrivateScore, of="numbers" if metric in REGRESSION else "classes")
    for seed in range(20):
        pair, public = neighbours(np.random.default_rng(seed), case, FEW)

        def fit(X: Any, y: Any, entropy: Any, classes: Any = public["classes"]) -> Any:
            bounds = TARGET_BOUNDS if case.of == "numbers" else None
            score = PrivateScore(metric, epsilon=0.5, target_bounds=bounds, random_state=entropy)
            model = SimpleNamespace(predict=lambda rows: np.nan_to_num(rows[:, 0]) > 0, classes_=np.array(classes))
            return SimpleNamespace(score_=score(model, X, y), privacy_loss_=score.privacy_loss())

        assert_private(fit, pair, seed=seed)


def test_a_row_is_in_all_folds_but_one_and_none_moves_for_it() -> None:
    for seed in range(20):
        pair, public = neighbours(np.random.default_rng(seed), Case(GaussianNB), FEW)

        def fit(X: Any, y: Any, entropy: Any, public: dict[str, Any] = public) -> Any:
            told = {"bounds": public["bounds"], "classes": public["classes"], "epsilon": 0.5}
            folds = CoinFolds(3, random_state=entropy).split(X)
            found = [GaussianNB(**told, random_state=entropy).fit(X[some], y[some]).theta_ for some, _ in folds]
            return SimpleNamespace(theta_=found, privacy_loss_=PureDP(1))

        assert_private(fit, pair, seed=seed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tables_are_multiplied_without_rounding_until_noise_is_added(case: Case) -> None:
    """What `logistic_search` finds is certified afterwards, with an error that is known."""
    rng, columns = np.random.default_rng(0), 5
    X, y = rng.normal(size=(509, columns)), rng.integers(0, 2, 509)
    public = {"columns": columns, "bounds": (-2, 2), "classes": (0, 1, 2)}
    named = [name for name in sys.modules if name.startswith("lapwing.models.") and "logistic_search" not in name]
    with watched([sys.modules[name] for name in named]) as rounded:
        for price in case.prices:
            more = {"sampling": 1} if case.prices is DESCENT else {}
            case.made(entropy=7, **public, **price, **more).fit(X, y)
    assert not rounded


def halved(X: Any, entropy: Any) -> Any:
    return Laplace(epsilon=1, sensitivity=1, dimensions=1, on_grid=True).release([2 * len(X)], entropy)


def too_long(X: Any, entropy: Any) -> Any:
    noise = Gaussian.for_rho(1, sensitivity=1, dimensions=2, on_grid=True)
    return noise.release([len(X), len(X)], entropy)


def not_monotone(X: Any, entropy: Any) -> Any:
    return PermuteAndFlip(epsilon=1, sensitivity=1, candidates=2, monotone=True).release([len(X), -len(X)], entropy)


def as_loud_as_long(X: Any, entropy: Any) -> Any:
    return Laplace(epsilon=1, sensitivity=len(X) + 1, dimensions=1, on_grid=True).release([len(X)], entropy)


def as_often_as_rows(X: Any, entropy: Any) -> Any:
    return [Laplace(epsilon=1, sensitivity=1).release(0, entropy) for _ in range(len(X))]


def twice(X: Any, entropy: Any) -> Any:
    return [Laplace(epsilon=1, sensitivity=1).release(len(X), entropy) for _ in range(2)]


def as_many_draws_as_rows(X: Any, entropy: Any) -> Any:
    return [entropy.bits(1) for _ in range(len(X))][:0]


def without_noise(X: Any, entropy: Any) -> Any:
    return len(X)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (halved, "2 times the sensitivity"),
        (too_long, "2 times the sensitivity"),
        (not_monotone, "both ways"),
        (as_loud_as_long, "other public parameters"),
        (as_often_as_rows, "a release more"),
        (twice, "2.0 is lost"),
        (as_many_draws_as_rows, "public draws"),
        (without_noise, "more than answers"),
    ],
)
def test_a_fit_that_is_not_private_is_noticed(wrong: Callable[[Any, Any], Any], why: str) -> None:
    rows = np.zeros((8, 1))
    pair = Pair((rows[1:], None), (rows, None), 0, 0)

    def fit(X: Any, y: Any, entropy: Any) -> Any:
        return SimpleNamespace(found_=wrong(X, entropy), privacy_loss_=PureDP(1))

    with pytest.raises(AssertionError, match=why):
        assert_private(fit, pair, seed=1)
