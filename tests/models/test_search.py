"""Scores and searches that are paid for: what they charge, what they find, and that nothing else tells."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import together
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from lapwing.adversary import audit
from lapwing.errors import BudgetExceeded, InvalidParameter, LapwingError, NotPrivateWarning
from lapwing.models import Account, StandardScaler
from lapwing.models.estimator import PrivateClassifier, PrivateRegressor
from lapwing.models.scoring import METRICS, REGRESSION, CoinFolds, PrivateScore, right
from lapwing.models.search import PrivateGridSearch
from lapwing.noise import SYSTEM, discrete_laplace
from lapwing.privacy import ZCDP, Ledger, Loss, PureDP

FALSE_ALARM = 1e-6


@dataclass(frozen=True, slots=True)
class Recipe:
    noise: Any
    loss: Loss
    lines: Sequence[Any] = ()


class Stump(PrivateClassifier[Recipe]):
    """Whether the first column exceeds `cut`: learns by noisy counts only which side is which class."""

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        cut: float = 0.0,
        classes: Any = (0, 1),
        account: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon, self.cut, self.classes = epsilon, cut, classes
        self.account, self.random_state, self.bounds = account, random_state, None

    def _recipe(self, columns: int, names: Any) -> Recipe:
        spending = self._spending()
        return Recipe(spending.additive(l1=1, l2_squared=1, dimensions=4), spending.stated)

    def _learn(self, recipe: Recipe, X: Any, y: Any, entropy: Any) -> None:
        side = (X[:, 0] > self.cut).astype(int)
        cells = np.bincount((2 * side + y)[y >= 0], minlength=4)
        self.sides_ = recipe.noise.release(cells, entropy).reshape(2, 2).argmax(axis=1)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.sides_[(self._rows(X)[:, 0] > self.cut).astype(int)]]


class Level(PrivateRegressor[Recipe]):
    """Predicts `level` whatever is learnt; a release stands for the fit."""

    def __init__(self, *, epsilon: Any = 1.0, rho: Any = None, level: float = 0.0, account: Any = None) -> None:
        self.epsilon, self.rho, self.level, self.account = epsilon, rho, level, account
        self.random_state, self.bounds, self.target_bounds = None, None, (0, 10)

    def _recipe(self, columns: int, names: Any) -> Recipe:
        spending = self._spending()
        return Recipe(spending.additive(l1=1, l2_squared=1, dimensions=1), spending.stated)

    def _learn(self, recipe: Recipe, X: Any, y: Any, entropy: Any) -> None:
        self.rows_ = recipe.noise.release([len(X)], entropy)

    def predict(self, X: Any) -> Any:
        return np.full(len(self._rows(X)), self.level)


def rows(many: int = 400, cut: float = 0.0) -> tuple[Any, Any]:
    X = np.random.default_rng(1).uniform(-1, 1, (many, 2))
    return X, (X[:, 0] > cut).astype(int)


@pytest.fixture
def account(tmp_path: Path) -> Account:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1000))
    return Account(ledger, "people")


def spent(account: Account) -> Fraction:
    left = account.remaining()
    assert isinstance(left, PureDP)
    return 1000 - left.epsilon


def test_cross_validation_spends_folds_times_epsilon_for_fits_and_for_scores(account: Account) -> None:
    X, y = rows()
    score = PrivateScore(epsilon=Fraction(1, 8), account=account)
    scores = cross_val_score(Stump(epsilon=Fraction(1, 2), account=account), X, y, cv=5, scoring=score)
    assert spent(account) == 5 * Fraction(1, 2) + 5 * Fraction(1, 8)
    assert scores.shape == (5,)


def test_cross_validation_without_a_priced_score_spends_for_fits_and_warns(account: Account) -> None:
    X, y = rows()
    with pytest.warns(NotPrivateWarning, match="PrivateScore"):
        cross_val_score(Stump(account=account), X, y, cv=5)
    assert spent(account) == 5


def test_priced_scores_do_not_warn() -> None:
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(Stump(), X, y, cv=CoinFolds(3), scoring=PrivateScore())


@pytest.mark.parametrize("refit", [False, True])
def test_a_search_of_scikit_learn_spends_candidates_times_folds_and_the_refit(account: Account, refit: bool) -> None:
    X, y = rows(100)
    score = PrivateScore(epsilon=Fraction(1, 4), account=account)
    search = GridSearchCV(Stump(account=account), {"cut": [-1, 0, 1]}, cv=4, scoring=score, refit=refit)
    clone(search).fit(X, y)
    assert spent(account) == 3 * 4 + refit + 3 * 4 * Fraction(1, 4)


def test_scores_and_fits_in_other_processes_spend_from_the_same_account(account: Account) -> None:
    X, y = rows(60)
    score = pickle.loads(pickle.dumps(PrivateScore(epsilon=1, account=account)))
    score(Stump(random_state=1).fit(X, y), X, y)
    assert spent(account) == 1


def test_a_pipeline_spends_every_step_in_every_fold(account: Account) -> None:
    X, y = rows()
    pipe = make_pipeline(StandardScaler(bounds=(-1, 1), account=account), Stump(account=account))
    cross_val_score(pipe, X, y, cv=CoinFolds(5), scoring=PrivateScore(account=account))
    assert spent(account) == 5 * 3


def test_a_score_that_the_allowance_does_not_cover_reads_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1))
    score = PrivateScore(epsilon=2, account=Account(ledger, "people"))

    class Untouched:
        def predict(self, X: Any) -> Any:
            raise AssertionError("read")

    with pytest.raises(BudgetExceeded):
        score(Untouched(), [[1]], [1])


def fitted(metric: str) -> tuple[Any, Any, Any]:
    X = np.zeros((20_000, 1))
    if metric in REGRESSION:
        y = np.random.default_rng(2).normal(5, 1, 20_000)
        return DummyRegressor(strategy="constant", constant=5.5).fit(X, y), X, y
    y = (np.arange(20_000) % 4 == 0).astype(int)
    return DummyClassifier(strategy="constant", constant=0).fit(X, y), X, y


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_of_many_rows_is_that_of_scikit_learn(metric: str) -> None:
    from sklearn.metrics import get_scorer

    model, X, y = fitted(metric)
    exact = get_scorer(metric)(model, X, y)
    score = PrivateScore(metric, epsilon=5, target_bounds=(0, 10), random_state=3)
    assert score(model, X, y) == pytest.approx(exact, abs=0.02)


def test_the_noise_of_an_accuracy_is_that_of_its_two_counts() -> None:
    """At a share of one half it is (N₁ − N₂)/(2n), of variance σ²/(2n²), if n is large against the noise."""
    model, X = DummyClassifier(strategy="constant", constant=0).fit([[0]], [0]), np.zeros((100_000, 1))
    y = np.arange(100_000) % 2
    draws = np.array([PrivateScore(epsilon=0.1, random_state=seed)(model, X, y) for seed in range(200)])
    ratio = np.mean((draws - 0.5) ** 2) / (math.sqrt(2) / 0.1 / math.sqrt(2) / 100_000) ** 2
    # The kurtosis of a difference of two Laplace variables is 4.5; twice the normal distance allows for the skew.
    assert abs(ratio - 1) < 2 * stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(3.5 / 200)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("many", [0, 1])
def test_a_score_of_hardly_any_rows_is_a_number(metric: str, many: int) -> None:
    model, X, y = fitted(metric)

    class Silent:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            return model.predict(X) if len(X) else np.empty(0)

    for seed in range(20):
        found = PrivateScore(metric, epsilon=0.1, target_bounds=(0, 10), random_state=seed)(
            Silent(), X[:many], y[:many]
        )
        assert math.isfinite(found)


def test_strange_labels_are_wrong_and_raise_nothing() -> None:
    truth = [1, "1", None, float("nan"), [1], np.array([1, 1]), 1.0]
    assert right([1] * 7, truth).tolist() == [True, False, False, False, False, False, True]


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
@pytest.mark.parametrize("metric", METRICS)
def test_a_column_of_a_table_is_a_target_and_nobody_is_not_predicted(metric: str, shape: Any) -> None:
    model, X, y = fitted(metric)
    score = PrivateScore(metric, epsilon=5, target_bounds=(0, 10), random_state=3)
    assert score(model, X, y.reshape(shape)) == score(model, X, y)
    assert math.isfinite(score(model, X[:0], y[:0].reshape(shape)))  # scikit-learn's own predict raises here


def test_a_score_or_a_search_that_cannot_be_is_refused_before_it_is_paid(account: Account) -> None:
    X, y = rows(20)
    model = fitted("r2")[0]
    for wrong in (
        lambda: PrivateScore("balanced_accuracy", account=account)(model, X, y),
        lambda: PrivateScore(account=account)(model, X, np.column_stack((y, y))),
        lambda: PrivateGridSearch(Stump(), GRID, account=account).fit(X, np.column_stack((y, y))),
        lambda: PrivateGridSearch(StandardScaler(bounds=(0, 1)), {"epsilon": [1]}, account=account).fit(X, y),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
    assert spent(account) == 0


def test_a_missing_label_leaves_the_others_as_they_are() -> None:
    polars = pytest.importorskip("polars")
    labels = PrivateGridSearch(Stump(), GRID)._target(polars.Series([2**53 + 1, None]))
    assert labels.tolist() == [2**53 + 1, None]


@pytest.mark.parametrize("metric", ["accuracy", "r2", "neg_mean_absolute_error"])
def test_an_audit_does_not_refute_a_score(metric: str) -> None:
    score = PrivateScore(metric, epsilon=1, target_bounds=(0, 10))
    model = fitted(metric)[0]
    X, y = np.zeros((4, 1)), np.array([0.0, 0.0, 10.0, 0.0])
    found = audit(
        lambda size: round(score(model, X[:size], y[:size]), 1),
        (3, 4),
        samples=800,
        claimed=1,
        confidence=1 - FALSE_ALARM,
    )
    assert not found.caught, found.explain()


def test_a_score_without_noise_on_the_number_of_rows_would_be_caught() -> None:
    def broken(size: int) -> float:
        return round((size + discrete_laplace(1)) / size, 9)

    assert audit(broken, (3, 4), samples=4000, claimed=1).caught


@together("wrong", [{"metric": "f7"}, {"epsilon": 0}, {"metric": "r2"}])
def test_a_wrong_parameter_of_a_score_is_told_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(LapwingError):
        PrivateScore(**wrong)


def test_coin_folds_keep_every_row_in_its_fold_when_one_is_added() -> None:
    few = [set(test.tolist()) for _, test in CoinFolds(5, random_state=7).split(np.zeros(300))]
    more = [set(test.tolist()) for _, test in CoinFolds(5, random_state=7).split(np.zeros(301))]
    assert [fold - {300} for fold in more] == few
    assert sorted(place for fold in few for place in fold) == list(range(300))


GRID = {"cut": [-0.8, -0.4, 0.0, 0.4, 0.8]}


def test_a_search_finds_the_best_setting() -> None:
    X, y = rows(3000, cut=0.4)
    search = PrivateGridSearch(Stump(), GRID, random_state=1).fit(X, y)
    assert search.best_params_ == {"cut": 0.4}
    assert search.best_estimator_.cut == 0.4
    assert (search.predict(X) == y).mean() > 0.99
    assert is_classifier(search)


@pytest.mark.parametrize("metric", ["neg_mean_squared_error", "neg_mean_absolute_error"])
def test_a_search_over_numbers_finds_the_nearest(metric: str) -> None:
    y = np.full(2000, 7.0)
    y[:5] = np.nan
    search = PrivateGridSearch(
        Level(), {"level": [0.0, 5.0, 8.0]}, metric=metric, target_bounds=(0, 10), random_state=1
    ).fit(np.zeros((2000, 1)), y)
    assert search.best_params_ == {"level": 8.0}


def test_parts_that_are_apart_cost_the_largest_and_shared_rows_the_sum(account: Account) -> None:
    X, y = rows(50)
    grid = {"epsilon": [Fraction(1, 2), Fraction(3, 2)]}
    make: Callable[..., Any] = lambda **more: PrivateGridSearch(Stump(), grid, account=account, **more)  # noqa: E731
    losses = []
    for more in ({}, {"training": "shared"}, {"refit": True}, {"epsilon": 9}):
        before = spent(account)
        search = make(**more)
        assert search.quote(2).loss == search.fit(X, y).privacy_loss_
        losses.append(spent(account) - before)
    assert losses == [Fraction(3, 2), 2, 3, 9]


def test_a_search_inside_cross_validation_is_paid_in_every_fold(account: Account) -> None:
    X, y = rows(60)
    search = PrivateGridSearch(Stump(), GRID, account=account)
    cross_val_score(search, X, y, cv=CoinFolds(4), scoring=PrivateScore(account=account))
    assert spent(account) == 8


def test_a_pipeline_is_quoted_without_rows_and_searched(account: Account) -> None:
    X, y = rows(2000)
    pipe = make_pipeline(StandardScaler(epsilon=2, bounds=(-1, 1)), Stump(epsilon=3))
    search = PrivateGridSearch(pipe, {"stump__cut": [-1.5, 0.0, 1.5]}, account=account, random_state=2)
    assert str(search.quote(2).loss) == "ε = 5 (add_remove, per person)"
    assert search.fit(X, y).best_params_ == {"stump__cut": 0.0}
    assert spent(account) == 5


def test_names_of_columns_reach_the_candidates() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows(300)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    pipe = make_pipeline(StandardScaler(bounds={"a": (-1, 1), "b": (-1, 1)}), Stump())
    search = PrivateGridSearch(pipe, {"stump__cut": [0.0]}, random_state=2).fit(frame, pandas.Series(y))
    assert search.predict(frame).shape == (300,)


def test_losses_of_other_kinds_and_units_are_compared_in_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("wards", ZCDP(10, unit="patient"))
    search = PrivateGridSearch(
        Level(epsilon=None, rho=Fraction(1, 4)), {"level": [1.0, 2.0]}, metric="neg_mean_squared_error",
        target_bounds=(0, 10), account=Account(ledger, "wards", unit="patient"),
    )  # fmt: skip
    assert search.fit(np.zeros((9, 1)), np.zeros(9)).privacy_loss_ == ZCDP(Fraction(1, 2), unit="patient")


@pytest.mark.parametrize("estimator", [LogisticRegression(), make_pipeline(LogisticRegression()), Stump, None])
def test_what_is_not_private_is_refused_before_anything_is_paid(estimator: Any, account: Account) -> None:
    with pytest.raises(InvalidParameter, match="estimator"):
        PrivateGridSearch(estimator, {}, account=account).fit(*rows(20))
    assert spent(account) == 0


def test_an_account_of_the_estimator_alone_is_refused(account: Account) -> None:
    with pytest.raises(InvalidParameter, match="account"):
        PrivateGridSearch(Stump(account=account), GRID).fit(*rows(20))
    PrivateGridSearch(Stump(account=account), GRID, account=account).fit(*rows(20))
    assert spent(account) == 1


@together("many", [0, 1, 2])
@pytest.mark.parametrize("training", ["apart", "shared"])
def test_a_search_over_hardly_any_rows_answers(many: int, training: str) -> None:
    X, y = rows(2)
    for seed in range(5):
        search = PrivateGridSearch(Stump(), GRID, training=training, refit=True, random_state=seed)
        assert search.fit(X[:many], y[:many].tolist()).best_params_["cut"] in GRID["cut"]


def test_the_same_seed_chooses_the_same() -> None:
    X, y = rows(40)
    found = [PrivateGridSearch(Stump(epsilon=0.1), GRID, random_state=5).fit(X, y) for _ in range(2)]
    assert found[0].best_params_ == found[1].best_params_
    assert (found[0].best_estimator_.sides_ == found[1].best_estimator_.sides_).all()


SEARCH = PrivateGridSearch(Stump(epsilon=1), {"cut": [-1, 0]}, epsilon=1, validation=0.1)
RECIPE = SEARCH._recipe(1, None)


def released(many: int) -> tuple[int, ...]:
    """What a search over two settings tells about no rows and about a few."""
    SEARCH._learn(RECIPE, np.full((many, 1), 0.5), np.ones(many), SYSTEM)
    return SEARCH.best_index_, *SEARCH.best_estimator_.sides_.tolist()


def test_an_audit_does_not_refute_a_search_and_sees_the_rows() -> None:
    found = audit(released, (0, 1), samples=600, claimed=1, confidence=1 - FALSE_ALARM)
    assert not found.caught, found.explain()
    group = audit(released, (0, 12), samples=400, claimed=12, confidence=1 - FALSE_ALARM)
    assert 0.2 < group.epsilon_lower_bound < 12, "a group of rows is seen, or such an audit could not fail"


def test_fits_on_the_same_rows_that_are_paid_as_one_would_be_caught() -> None:
    def broken(many: int) -> tuple[int, ...]:
        return tuple(many + discrete_laplace(1) for _ in RECIPE.candidates)

    assert audit(broken, (0, 1), samples=3000, claimed=1).caught


def test_folds_of_scikit_learn_exchange_rows_when_one_is_added() -> None:
    """Why `CoinFolds` exist: three training rows of the middle fold change by one row in front of eight."""
    rows = list(range(8))
    changes = []
    for kept, more in zip(KFold(3).split(rows), KFold(3).split([-1, *rows]), strict=True):
        before, after = {rows[place] for place in kept[0]}, {[-1, *rows][place] for place in more[0]}
        changes.append(len(before ^ after))
    assert max(changes) == 3
