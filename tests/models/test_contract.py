"""Every estimator × every law: scikit-learn's contract, strange tables, paying, and nothing public read from rows."""

from __future__ import annotations

import inspect
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import lapwing.models as models
from lapwing.errors import BudgetExceeded, NotPrivateWarning
from lapwing.models import EXPECTED_FAILED_CHECKS, Account, GaussianNB, PrivateGridSearch, thresholds
from lapwing.models.estimator import PrivateClassifier, PrivateEstimator, PrivateRegressor
from lapwing.privacy import ApproxDP, Ledger, Loss, PureDP

EXPORTED = [getattr(models, name) for name in models.__all__]
ESTIMATORS = [thing for thing in EXPORTED if inspect.isclass(thing) and issubclass(thing, PrivateEstimator)]
QUICK: dict[str, dict[str, Any]] = {
    "SGDClassifier": {"epochs": 2, "sampling": 0.2},
    "SGDRegressor": {"epochs": 2, "sampling": 0.2},
    "MLPClassifier": {"epochs": 2, "sampling": 0.2},
    "KMeans": {"n_clusters": 3},
    "PCA": {"n_components": 1},
    "SelectFeatures": {"k": 1},
    "OccamLearner": {"concepts": thresholds(1, [0.0, 1.0]), "classes": [0, 1]},
    "ParityLearner": {"classes": [0, 1]},
    "PrivateGridSearch": {
        "estimator": GaussianNB(bounds=(-10, 10), classes=[0, 1, 2], random_state=7),
        "param_grid": {"epsilon": [0.5, 1.0]},
    },
}
SAID = ("bounds", "target_bounds", "classes")


def made(kind: type, **more: Any) -> Any:
    """An estimator with everything it must be told."""
    known = inspect.signature(kind).parameters
    public = {"bounds": (-10, 10), "target_bounds": (-10, 10), "classes": [0, 1, 2], "random_state": 7}
    chosen = {**public, **QUICK.get(kind.__name__, {}), **more}
    return kind(**{name: value for name, value in chosen.items() if name in known})


def table(rows: int, columns: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, rng.integers(0, 3, rows)


def fitted(kind: type, X: Any, y: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NotPrivateWarning)
        return made(kind, **more).fit(X, y)


def learnt(model: BaseEstimator) -> dict[str, Any]:
    """Everything that a fit leaves behind."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("__")}


def numbers(model: BaseEstimator) -> dict[str, Any]:
    kinds = (np.ndarray, float, int, np.generic)
    return {name: value for name, value in learnt(model).items() if isinstance(value, kinds)}


def test_there_are_estimators() -> None:
    assert len(ESTIMATORS) >= 14


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_scikit_learns_checks_fail_where_we_say_and_nowhere_else(kind: type) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(made(kind, random_state=None), on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    surprising = {name: why for name, why in failed.items() if name not in EXPECTED_FAILED_CHECKS}
    assert not surprising
    assert len(results) > 30


STRANGE: dict[str, tuple[Any, Any]] = {
    "nobody": (np.empty((0, 3)), np.empty(0)),
    "one row": (np.ones((1, 3)), np.ones(1)),
    "more columns than rows": (np.ones((2, 3)), np.array([0, 1])),
    "constant columns": (np.zeros((30, 3)), np.arange(30) % 3),
    "one class": (np.arange(90.0).reshape(30, 3), np.zeros(30)),
    "no known class": (np.ones((30, 3)), np.full(30, 99)),
    "NaN everywhere": (np.full((10, 3), np.nan), np.full(10, np.nan)),
    "infinities": (np.array([[np.inf, -np.inf, 0.0]] * 5), np.array([np.inf, -np.inf, 0, 1, np.nan])),
    "huge": (np.full((8, 3), 1e308), np.full(8, -1e308)),
    "tiny": (np.full((8, 3), 5e-324), np.full(8, 5e-324)),
    "outside the bounds": (np.array([[1e9, -1e9, 11.0]] * 12), np.arange(12) % 3),
    "words": ([["a", None, 1.0], [2.0, "b", float("nan")], [object(), 3, 4]], [0, "x", None]),
    "truth values": (np.array([[True, False, True]] * 4), np.array([True, False, True, False])),
    "whole numbers": (np.array([[2**62, -(2**62), 0]] * 4), np.array([0, 1, 2, 0])),
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_no_table_is_too_strange(kind: type, name: str) -> None:
    X, y = STRANGE[name]
    model, usual = fitted(kind, X, y), fitted(kind, *table(40))
    assert {k: np.shape(v) for k, v in numbers(model).items()} == {k: np.shape(v) for k, v in numbers(usual).items()}
    assert model.privacy_loss_ == usual.privacy_loss_
    for value in numbers(model).values():
        assert np.asarray(value).dtype.kind not in "fc" or np.isfinite(value).all()
    probe = [[np.nan, np.inf, 1e300], [0.0, 1.0, "word"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(model, method):
                answer = np.asarray(getattr(model, method)(probe), dtype=float)
                assert len(answer) == 2
                assert np.isfinite(answer).all()


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_fit_is_paid_before_a_row_is_read_and_a_clone_has_no_budget_of_its_own(kind: type, tmp_path: Path) -> None:
    loss: Loss = made(kind).quote(columns=3).loss
    allowance = ApproxDP(2 * loss.epsilon, 2 * loss.delta) if isinstance(loss, ApproxDP) else PureDP(2 * loss.epsilon)  # type: ignore[attr-defined]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", allowance)
    model = made(kind, account=Account(ledger, "people"))
    X, y = table(30)
    model.fit(X, y)
    clone(model).fit(X, y)
    with pytest.raises(BudgetExceeded):
        clone(model).fit(Unreadable(X), y)


class Unreadable:
    """A table that breaks when it is read; only its shape may be seen."""

    def __init__(self, X: Any) -> None:
        self.shape, self.ndim = X.shape, 2

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, *args: Any, **named: Any) -> Any:
        raise AssertionError("a row was read before it was paid for")


@pytest.mark.parametrize(
    "kind",
    [kind for kind in ESTIMATORS if issubclass(kind, (PrivateClassifier, PrivateRegressor))],
    ids=lambda kind: kind.__name__,
)
def test_cross_validation_costs_its_folds_exactly_and_says_that_its_scores_are_not_private(
    kind: type, tmp_path: Path
) -> None:
    loss = made(kind).quote(columns=3).loss
    allowance = ApproxDP(5 * loss.epsilon, 5 * loss.delta) if isinstance(loss, ApproxDP) else PureDP(5 * loss.epsilon)  # type: ignore[attr-defined]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", allowance)
    X, y = table(30)
    with pytest.warns(NotPrivateWarning, match="score"):
        cross_val_score(made(kind, account=Account(ledger, "people")), X, y, cv=5)
    assert ledger.remaining("people").epsilon < 1e-9  # type: ignore[attr-defined]
    with pytest.raises(BudgetExceeded):
        made(kind, account=Account(ledger, "people")).fit(X, y)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_quote_adds_up_to_what_is_charged(kind: type) -> None:
    quote = made(kind).quote(columns=3)
    assert quote.lines
    assert str(quote.loss) in str(quote)
    if isinstance(quote.loss, PureDP) and kind is not PrivateGridSearch:  # its lines are about disjoint rows
        assert sum(line.loss.epsilon for line in quote.lines) <= quote.loss.epsilon  # type: ignore[attr-defined]
    X, y = table(20)
    assert fitted(kind, X, y).privacy_loss_ == quote.loss


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_what_must_be_public_is_asked_for(kind: type) -> None:
    X, y = table(20)
    optional = {"SelectFeatures": SAID[1:], "PrivateGridSearch": SAID}.get(kind.__name__, ())
    for name in SAID:
        if name in inspect.signature(kind).parameters and name not in optional:
            with pytest.raises(ValueError, match="public"):
                made(kind, **{name: None}).fit(X, y)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_other_noise_gives_another_model(kind: type) -> None:
    X, y = table(40)
    seen = {pickle.dumps(learnt(fitted(kind, X, y, random_state=seed))) for seed in range(8)}
    assert len(seen) > 1
