"""Private feature selection: scores of certain sensitivity, choices that are paid, columns that keep their names."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import together
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from lapwing.adversary import audit
from lapwing.errors import BudgetExceeded, InvalidCall, InvalidParameter, MissingBounds
from lapwing.models.account import Account
from lapwing.models.feature_selection import SelectFeatures, _class_scores, _number_scores
from lapwing.models.kmeans import KMeans
from lapwing.models.scaling import StandardScaler
from lapwing.noise import Entropy, Reproducible
from lapwing.privacy import Ledger, PureDP

FALSE_ALARM = 1e-6


def related(rows: int = 3000, columns: int = 6, seed: int = 0) -> tuple[Any, Any]:
    """Columns 1 and 4 make the target; the others are far from the middle of their bounds, or noise."""
    X = np.random.default_rng(seed).uniform(-1, 1, (rows, columns))
    y = X[:, 1] - X[:, 4]
    X[:, 0] = 1.0
    return X, y


TARGETS: dict[str, tuple[dict[str, Any], Any]] = {
    "number": ({"target_bounds": (-2, 2)}, lambda y: y),
    "number far from the middle": ({"target_bounds": (-2, 10)}, lambda y: y),
    "two classes": ({"classes": [True, False]}, lambda y: y > 0),
    "three classes": ({"classes": ["low", "middle", "high"]}, lambda y: np.digitize(y, [-0.5, 0.9])),
}


def target(name: str, y: Any) -> tuple[dict[str, Any], Any]:
    public, of = TARGETS[name]
    made = of(y)
    return public, np.array(["low", "middle", "high"])[made] if name == "three classes" else made


@together("budget", [{"epsilon": 2}, {"epsilon": 2, "delta": 1e-6}, {"epsilon": None, "rho": 0.2}])
@pytest.mark.parametrize("name", TARGETS)
def test_the_columns_that_make_the_target_are_kept(name: str, budget: dict[str, Any]) -> None:
    X, y = related()
    public, y = target(name, y)
    selector = SelectFeatures(2, bounds=(-1, 1), random_state=1, **public, **budget).fit(X, y)
    assert selector.get_support().tolist() == [False, True, False, False, True, False]
    assert selector.get_support(indices=True).tolist() == [1, 4]
    assert sorted(selector.chosen_.tolist()) == [1, 4]
    assert np.array_equal(selector.transform(X), X[:, [1, 4]])


CORNERS = np.array(list(itertools.product([-65536.0, 0.0, 1.0, 65536.0], repeat=2)))


@together("middle", [-65536, -1, 0, 20000, 65536])
@together("rows", [0, 1, 50])
def test_no_row_changes_a_score_for_a_number_by_more_than_is_stated(rows: int, middle: int) -> None:
    rng = np.random.default_rng(rows)
    X, y = np.rint(rng.uniform(-65536, 65536, (rows, 2))), np.rint(rng.uniform(-65536, 65536, (rows, 1)))
    before, allowed = _number_scores(X, y, middle)
    changes = []
    for row, more in itertools.product(CORNERS, [-65536.0, 0.0, 65536.0]):
        after, again = _number_scores(np.vstack([X, row]), np.vstack([y, [[more]]]), middle)
        assert again == allowed
        changes += [abs(a - b) for a, b in zip(after, before, strict=True)]
    assert max(changes) <= allowed
    assert rows or max(changes) > 0.98 * allowed  # and little more is stated than needed


@together("shares", [[65536], [32768, 32768], [0, 65536], [10000, 50000, 5536], [0, 0, 0]])
@together("rows", [0, 1, 50])
def test_no_row_changes_a_score_for_classes_by_more_than_is_stated(rows: int, shares: list[int]) -> None:
    rng = np.random.default_rng(rows)
    X, y = np.rint(rng.uniform(-65536, 65536, (rows, 2))), rng.integers(-1, len(shares), rows)
    before, allowed = _class_scores(X, y, shares)
    changes = []
    for row, more in itertools.product(CORNERS, range(-1, len(shares))):
        after, again = _class_scores(np.vstack([X, row]), np.append(y, more), shares)
        assert again == allowed
        changes += [abs(a - b) for a, b in zip(after, before, strict=True)]
        assert more >= 0 or after == before
    assert max(changes) <= allowed
    assert rows or len(shares) == 1 or max(changes) > 0.98 * allowed


def test_scores_are_what_a_plain_computation_gives() -> None:
    rng = np.random.default_rng(1)
    X, t, y = rng.integers(-65536, 65536, (300, 3)), rng.integers(-65536, 65536, 300), rng.integers(0, 3, 300)
    numbers, _ = _number_scores(X.astype(float), t[:, None].astype(float), 123)
    assert numbers == np.abs((X * (t - 123)[:, None]).sum(axis=0)).tolist()
    shares = [20000, 40000, 5536]
    indicator = 65536 * (y[:, None] == np.arange(3)) - np.array(shares)
    assert _class_scores(X.astype(float), y, shares)[0] == np.abs(X.T @ indicator).sum(axis=1).tolist()


def test_a_column_far_from_its_middle_is_not_kept_for_that() -> None:
    """A constant at its bound has no covariance with anything, however unbalanced the target is."""
    X, y = related(rows=3000)
    for public, labels in (({"target_bounds": (-20, 2)}, y), ({"classes": [0, 1]}, (y > 1.2).astype(int))):
        chosen = [
            SelectFeatures(1, epsilon=5, bounds=(-1, 1), random_state=seed, **public).fit(X, labels).chosen_[0]
            for seed in range(20)
        ]
        assert 0 not in chosen


STRANGE: dict[str, tuple[Any, Any]] = {
    "no rows": (np.zeros((0, 3)), []),
    "one row": (np.ones((1, 3)), [1]),
    "constant": (np.full((50, 3), 0.25), [0] * 50),
    "not a number": (np.full((5, 3), np.nan), [np.nan] * 5),
    "infinite": (np.array([[np.inf, -np.inf, 1e308]] * 3), [np.inf, -np.inf, 1e308]),
    "text": ([["a", None, "3"]] * 4, ["a", None, "1", 1]),
    "unknown targets": (np.ones((4, 3)), [7, 8, 9, -1]),
    "far outside": (np.full((4, 3), -1e9), [1e9, -1e9, 1, 0]),
}


@together("budget", [{"epsilon": 0.01}, {"epsilon": 50}, {"epsilon": None, "rho": 1}])
@together("public", [{"classes": [0, 1]}, {"classes": [1]}, {"target_bounds": (0, 1)}])
@pytest.mark.parametrize("name", STRANGE)
def test_no_rows_whatever_raise_or_warn(name: str, public: dict[str, Any], budget: dict[str, Any]) -> None:
    X, y = STRANGE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kept in (1, 3):
            selector = SelectFeatures(kept, bounds=[(0, 1)] * 3, **public, **budget).fit(X, y)
            assert selector.get_support().sum() == kept
            assert selector.transform(X).shape == (len(X), kept)


def test_what_is_no_number_becomes_the_middle_of_its_bounds() -> None:
    X, y = related()
    bounds = [(-1, 1), (-1, 3), (-1, 1), (-1, 1), (-1, 1), (-1, 1)]
    selector = SelectFeatures(2, epsilon=20, bounds=bounds, target_bounds=(-2, 2), random_state=0).fit(X, y)
    assert selector.transform([[0, np.nan, 0, 0, "word", 0], [0, 50, 0, 0, np.inf, 0]]).tolist() == [[1, 0], [50, 0]]


def test_many_columns_are_no_trouble() -> None:
    X = np.random.default_rng(2).uniform(-1, 1, (400, 700))
    selector = SelectFeatures(3, epsilon=50, bounds=(-1, 1), target_bounds=(-1, 1), random_state=0)
    assert 600 in selector.fit(X, X[:, 600]).chosen_


def test_a_target_that_is_not_public_or_missing_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("rows", PureDP(1))
    account = Account(ledger, "rows")
    X, y = related(20)
    for wrong, error in (
        ({"classes": None}, InvalidCall),
        ({"classes": []}, InvalidParameter),
        ({"classes": None, "target_bounds": (1, 0)}, InvalidParameter),
        ({"k": 0}, InvalidParameter),
        ({"k": 7}, InvalidParameter),
        ({"bounds": None}, MissingBounds),
    ):
        with pytest.raises(error):
            SelectFeatures(**{"k": 1, "bounds": (-1, 1), "classes": [0, 1], "account": account, **wrong}).fit(X, y)
    with pytest.raises(InvalidParameter):
        SelectFeatures(1, bounds=(-1, 1), classes=[0, 1], account=account).fit(X)
    assert account.remaining() == PureDP(1)


@pytest.mark.parametrize("budget", [{"epsilon": 0.7}, {"epsilon": None, "rho": 0.3}], ids=str)
@pytest.mark.parametrize("public", [{"classes": list(range(12))}, {"target_bounds": (0, 1)}], ids=["classes", "number"])
def test_the_lines_of_a_quote_add_up_to_the_loss(public: dict[str, Any], budget: dict[str, Any]) -> None:
    quote = SelectFeatures(4, bounds=(0, 1), **public, **budget).quote(5)
    [name] = [name for name, value in budget.items() if value]
    parts = [getattr(line.loss, name) for line in quote.lines]
    assert sum(parts) <= getattr(quote.loss, name)
    assert math.isclose(sum(parts), getattr(quote.loss, name))


def test_each_step_of_a_pipeline_pays_for_itself_and_names_reach_the_model(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("rows", PureDP(3))
    account = Account(ledger, "rows")
    X, y = related()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    bounds = dict.fromkeys(frame.columns, (-1, 1))
    selector = SelectFeatures(2, epsilon=1, bounds=bounds, target_bounds=(-2, 2), account=account, random_state=3)
    scaler = StandardScaler(epsilon=1, bounds=bounds, account=account, random_state=3)
    pipeline = make_pipeline(
        selector.set_output(transform="pandas"), scaler, KMeans(2, bounds=(-3, 3), account=account)
    )
    clone(pipeline).fit(frame, y)
    assert account.remaining() == PureDP(0)
    with pytest.raises(BudgetExceeded):
        pipeline.fit(frame, y)
    alone = clone(selector).set_params(account=None).fit(frame, y)
    assert alone.get_feature_names_out().tolist() == ["b", "e"]
    assert list(alone.set_output(transform="pandas").transform(frame).columns) == ["b", "e"]


def test_what_is_not_fitted_says_so() -> None:
    selector = SelectFeatures(1, bounds=(0, 1), classes=[0, 1])
    for call in (selector.get_support, selector.get_feature_names_out, lambda: selector.transform([[0.0]])):
        with pytest.raises(NotFittedError):
            call()


# Nearly a tie, and an extreme row that speaks for the second column and against the first.
WITHOUT = (np.array([[0.5, 0.45], [-0.5, -0.45]]), [1.0, -1.0])
WITH = (np.array([[0.5, 0.45], [-0.5, -0.45], [-1.0, 1.0]]), [1.0, -1.0, 1.0])


def choice(epsilon: float) -> Any:
    selector = SelectFeatures(1, epsilon=epsilon, bounds=(-1, 1), target_bounds=(-1, 1))
    recipe = selector._recipe(2, None)

    def release(table: Any, entropy: Entropy) -> int:
        selector._learn(recipe, table[0], np.array(table[1]), entropy)
        return int(selector.chosen_[0])

    return release


def test_an_audit_does_not_refute_the_stated_loss() -> None:
    found = audit(
        choice(1), (WITHOUT, WITH), samples=4000, claimed=1, confidence=1 - FALSE_ALARM, entropy=Reproducible(4)
    )
    assert found.verdict == "not caught"


def exact_choice(table: Any, entropy: Entropy) -> int:
    """The best column without noise, as scikit-learn's selectors choose it."""
    X, y = table
    return int(np.abs(X.T @ np.asarray(y)).argmax())


@pytest.mark.parametrize("release", [choice(8), exact_choice], ids=["8ε", "exact"])
def test_the_same_audit_catches_broken_choices(release: Any) -> None:
    found = audit(
        release, (WITHOUT, WITH), samples=4000, claimed=1, confidence=1 - FALSE_ALARM, entropy=Reproducible(4)
    )
    assert found.verdict == "caught"
