"""Every estimator × every law: scikit-learn's contract, strange tables, paying, and nothing public read from rows."""

from __future__ import annotations

import datetime as dt
import inspect
import math
import pickle
import warnings
from array import array
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import together
from estimators import ESTIMATORS, learnt, made
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import lapwing.models as models
from lapwing.errors import BudgetExceeded, InvalidCall, InvalidParameter, NoiseWarning, NotPrivateWarning
from lapwing.mechanisms import CrossedHierarchy, Tree
from lapwing.mechanisms.records import column_values
from lapwing.models import (
    EXPECTED_FAILED_CHECKS,
    Account,
    GaussianNB,
    LinearRegression,
    PrivateGridSearch,
    PrivateScore,
    StandardScaler,
)
from lapwing.models.columns import classes_of, listed, matrix, places, width_of
from lapwing.models.estimator import PrivateClassifier, PrivateRegressor
from lapwing.models.quote import FitQuote
from lapwing.privacy import ApproxDP, Ledger, Loss, PureDP
from lapwing.privacy.quotes import Line


def table(rows: int, columns: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, rng.integers(0, 3, rows)


def fitted(kind: type, X: Any, y: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.simplefilter("ignore", NoiseWarning)  # said from the noisy result
        return made(kind, **more).fit(X, y)


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


class Broken:
    """An entry that raises whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


SAID = ("bounds", "target_bounds", "classes")
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
    "masked numbers": (
        np.ma.array(np.full((4, 3), 1e9), mask=[[1, 0, 0]] * 4),
        np.ma.array([0, 1, 2, 0], mask=[0, 1, 0, 0]),
    ),
    "beyond doubles": (
        np.full((4, 3), np.finfo(np.longdouble).max),
        np.full(4, np.finfo(np.longdouble).max, dtype=np.longdouble),
    ),
    "what breaks when it is looked at": ([[Broken(), 1.0, 2.0]] * 3, [Broken(), 0, 1]),
    "lists in lists": ([[[1.0], [2.0], [3.0]]] * 3, [[0], [1], (2, 3)]),
    "truth values": (np.array([[True, False, True]] * 4), np.array([True, False, True, False])),
    "whole numbers": (np.array([[2**62, -(2**62), 0]] * 4), np.array([0, 1, 2, 0])),
}


def _pair_for_each(kind: type, columns: int) -> dict[str, Any]:
    """Bounds that say how many columns a list has; nothing for estimators without bounds."""
    pairs = [(-10, 10)] * columns
    if kind is PrivateGridSearch:
        return {"estimator": GaussianNB(bounds=pairs, classes=[0, 1, 2], random_state=7)}
    return {"bounds": pairs} if "bounds" in inspect.signature(kind).parameters else {}


def _entries(rows: list[Any]) -> Any:
    """The same entries in an array, which says how many columns there are."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for place in np.ndindex(array.shape):
        array[place] = rows[place[0]][place[1]]
    return array


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_no_table_is_too_strange(kind: type, name: str) -> None:
    X, y = STRANGE[name]
    more = _pair_for_each(kind, 3) if isinstance(X, list) else {}
    if isinstance(X, list) and not more:
        X = _entries(X)
    model, usual = fitted(kind, X, y, **more), fitted(kind, *table(40))
    assert {k: np.shape(v) for k, v in numbers(model).items()} == {k: np.shape(v) for k, v in numbers(usual).items()}
    assert model.privacy_loss_ == usual.privacy_loss_
    for number, value in numbers(model).items():
        absent = number == "coef_interval_"  # which is NaN where nothing can be said
        assert absent or np.asarray(value).dtype.kind not in "fc" or np.isfinite(value).all()
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


def test_what_a_mask_hides_is_not_a_number() -> None:
    hidden = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, True]])
    assert np.isnan(matrix(hidden, 2)).tolist() == hidden.mask.tolist()
    assert np.isnan(matrix(hidden.astype(int), 2)).tolist() == hidden.mask.tolist()


FRAMES: dict[str, Any] = {
    "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
    "nullable": lambda columns: pytest.importorskip("pandas").DataFrame(columns).convert_dtypes(),
    "category": lambda columns: pytest.importorskip("pandas").DataFrame(columns).astype("category"),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "arrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
}


@pytest.mark.parametrize("name", FRAMES)
def test_data_frames_are_tables_and_missing_values_are_no_numbers(name: str) -> None:
    frame = FRAMES[name]({"a": [1.0, None, 3.0], "b": [4, 5, 6]})
    expected = [[1.0, 4.0], [np.nan, 5.0], [3.0, 6.0]]
    np.testing.assert_array_equal(matrix(frame, 2), expected)
    labels = FRAMES[name]({"y": [0, 1, None]})
    assert width_of(frame) == 2
    assert places(labels, np.array([0, 1])).tolist() == [0, 1, -1]


@together(
    "row",
    [
        (0, 1),
        range(2),
        {"a": 0, "b": 1}.values(),
        deque([0, 1]),
        array("d", [0, 1]),
        np.array([0, 1], dtype=np.float32),
        np.array([(0, 1)], dtype="i,f")[0],
        np.ma.array([0, 1]),
        pd.Series([0, 1], index=["x", "y"]),
        pl.Series([0, 1]),
        pa.array([0, 1]),
        pa.scalar([0, 1]),
    ],
)
def test_rows_of_any_kind_are_read_beside_lists(row: Any) -> None:
    rows = listed([[5, 6], row, None], 2)
    assert matrix(rows, 2).tolist()[:2] == [[5, 6], [0, 1]]
    assert width_of(rows, 2) == 2


ABSENT = (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, pa.scalar(None), "NA")


@pytest.mark.parametrize("kind", [LinearRegression, PrivateGridSearch], ids=lambda kind: kind.__name__)
@together("rows", [[], [None], [[1, 0]], *([absent] for absent in ABSENT), [None, [1, 0]], [[1, 0], None]])
def test_nobody_can_tell_from_an_error_that_every_row_is_absent(kind: type, rows: Any) -> None:
    model: Any = LinearRegression(epsilon=1, bounds=[(0, 1), (0, 1)], target_bounds=(0, 1), random_state=1)
    if kind is PrivateGridSearch:
        model = PrivateGridSearch(
            model, {"epsilon": [1, 2]}, metric="neg_mean_absolute_error", target_bounds=(0, 1), random_state=1
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, [0] * len(rows))
        predicted = model.predict([None, [1, 0]]), model.predict([None])
    assert (model.n_features_in_, len(predicted[0]), len(predicted[1])) == (2, 2, 1)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_the_records_of_a_list_never_say_how_many_columns_there_are(kind: type) -> None:
    rows: tuple[Any, ...] = (
        [],
        [None],
        [[1, 2]],
        [[1, 2], [3]],
        [1, 2],
        deque([[1, 2]]),
        ((1, 2),),
        {"a": [1]}.values(),
    )
    said = set()
    for X in rows:
        with pytest.raises(InvalidParameter, match=r"Pass a data frame or an array.*bounds=\[\(0, 120\)\]") as caught:
            made(kind).fit(X, [0] * len(X))
        said.add(str(caught.value).split(": ", 1)[1])
    assert len(said) == 1
    with pytest.raises(InvalidParameter, match="columns without names cannot be looked up"):
        made(GaussianNB, bounds={"a": (0, 1), "b": (0, 1)}).fit([[0, 1]], [0])


NO_ROWS = (
    5, 5.0, True, False, math.inf, 1j, {}, {"a": 1, "b": 2}, {1, 2}, object(), "x", b"xy", bytearray(b"xy"),
    dt.date(2020, 1, 1), np.datetime64("2020-01-01"), np.datetime64("NaT"), np.timedelta64(1, "s"), np.int64(5),
    np.ones((2, 2)), np.array(5), pa.scalar(5), pa.scalar({"a": 1}), pa.scalar(10**12, pa.timestamp("s")),
    pd.Timestamp(0), pd.DataFrame({"a": [1], "b": [2]}), Broken(),
)  # fmt: skip


@together("record", [*ABSENT, *NO_ROWS])
def test_no_record_in_the_place_of_a_row_stops_a_fit_or_changes_a_shape(record: Any) -> None:
    model = fitted(GaussianNB, [[1, 2], record], [0, 1], bounds=[(0, 10)] * 2)
    alone = fitted(GaussianNB, [record], [1], bounds=[(0, 10)] * 2)
    assert model.theta_.shape == alone.theta_.shape == (3, 2)
    assert np.isnan(matrix(listed([record], 2), 2)).tolist() == [[True, True]]
    scaled = StandardScaler(epsilon=1, bounds=[(0, 10)] * 2).fit_transform([[1, 2], record])
    assert scaled.shape == (2, 2)
    chosen = PrivateScore("accuracy", epsilon=1)(model, [[1, 2], record], [0, 1])
    assert 0 <= chosen <= 1


def _moments(*seconds: int) -> list[Any]:
    """Rows as cells of arrow, each with a moment and the beginning of 1970."""
    pairs = pa.array([[second, 0] for second in seconds], pa.list_(pa.int64()))
    return list(pairs.cast(pa.list_(pa.timestamp("s"))))


@together("late", [10, 10**12])
def test_a_moment_that_python_cannot_hold_is_an_entry_without_a_number(late: int) -> None:
    assert fitted(GaussianNB, _moments(0, late), [0, 1], bounds=[(0, 10)] * 2).theta_.shape == (3, 2)
    sums = CrossedHierarchy(trees=(Tree([[2]]), Tree([[2]])), epsilon=1)
    assert sums.release(_moments(0, late)).tables[0, 0].shape == (1, 1)


def test_dates_that_python_cannot_hold_are_not_told_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    far = [pl.Series([10**8, 0]).cast(pl.Date), pl.Series([2**62, 0]).cast(pl.Datetime("ms"))]
    assert np.isnan(matrix(listed(far, 2), 2)).all()
    assert column_values(far[0]) == [None, dt.date(1970, 1, 1)]
    assert column_values(far[1]) == [None, dt.datetime(1970, 1, 1)]
    ends = pl.Series([dt.date.min, dt.date.max, None])
    assert column_values(ends) == [dt.date.min, dt.date.max, None]
    assert capfd.readouterr().err == ""


@together("rows", [[25, 9], [25.0, 9.0], [np.float32(25), None], [{"a": 25, "b": 9}]])
def test_a_flat_list_to_predict_is_refused(rows: Any) -> None:
    model = fitted(GaussianNB, [[1, 2]], [0], bounds=[(0, 10)] * 2)
    with pytest.raises(InvalidParameter, match=r"X.reshape\(-1, 1\)"):
        model.predict(rows)


@together(
    ("classes", "labels", "found"),
    [
        ([0, "a"], [0, "a", "0", 1, None], [0, 1, -1, -1, -1]),
        ([1, "1", b"1"], [1.0, np.str_("1"), b"1", True], [0, 1, 2, 0]),
        ({"b", "a"}, np.array(["a", "b", "c"]), [0, 1, -1]),
        (range(2), [0.0, -0.0, 1, 0.5, float("nan")], [0, 0, 1, -1, -1]),
        ([(0, 1), (1, 0)], [(0, 1), (1, 0), 0], [0, 1, -1]),
        ([2**53, 2**53 + 1], [2**53 + 1, 2**53], [1, 0]),
    ],
)
def test_labels_are_the_classes_that_they_equal(classes: Any, labels: Any, found: list[int]) -> None:
    assert places(labels, classes_of(classes)).tolist() == found


WRONG: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "a seed that is none": ({"random_state": "x"}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "a negative seed": ({"random_state": -1}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "two targets": ({}, np.zeros((4, 2)), np.zeros((4, 2))),
    "text for a target": ({}, np.zeros((4, 2)), "0101"),
    "a target without a length": ({}, np.zeros((4, 2)), iter([0, 1, 0, 1])),
    "too few targets": ({}, np.zeros((4, 2)), [0, 1]),
    "complex numbers": ({}, np.zeros((4, 2)) * 1j, [0, 1, 0, 1]),
    "rows of several lengths": ({}, [[1, 2], [3]], [0, 1]),
    "one column of numbers": ({}, [1, 2], [0, 1]),
    "text for a table": ({}, "abcd", [0, 1, 0, 1]),
    "mappings for rows": ({}, [{"a": 0, "b": 1}, {"a": 1, "b": 0}], [0, 1]),
    "a number among rows": ({}, [[0, 1], 1.0], [0, 1]),
    "rows that can be read only once": ({}, [iter([0, 1]), iter([1, 0])], [0, 1]),
    "bounds the wrong way round": ({"bounds": (1, 0)}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "bounds that doubles cannot hold": ({"bounds": (0, 5e-324)}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "lower and upper ends apart": ({"bounds": ([0, 0, 0], [1, 1, 1])}, np.zeros((4, 3)), [0, 1, 0, 1]),
    "text for bounds": ({"bounds": "01"}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "classes without order": ({"classes": {0, "a"}}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "how many classes": ({"classes": 2}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "text for classes": ({"classes": "ab"}, np.zeros((4, 2)), [0, 1, 0, 1]),
    "no number among classes": ({"classes": [0, float("nan")]}, np.zeros((4, 2)), [0, 1, 0, 1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_costs_nothing_and_says_what_to_write(name: str, tmp_path: Path) -> None:
    more, X, y = WRONG[name]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1))
    with pytest.raises(InvalidParameter, match=r"(Write|Pass|Leave|Count)"):
        made(GaussianNB, account=Account(ledger, "people"), **more).fit(X, y)
    assert ledger.remaining("people") == PureDP(1)


def test_columns_of_one_name_are_refused_before_they_are_paid_for() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidParameter, match="same name"):
        made(GaussianNB).fit(pandas.DataFrame([[1, 2]], columns=[0, 0]), [1])


def test_an_account_that_is_none_is_told() -> None:
    with pytest.raises(InvalidParameter, match="Account"):
        made(GaussianNB, account="ledger.db").quote(2)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_refused_fit_leaves_the_model_that_was_paid_for(kind: type, tmp_path: Path) -> None:
    loss: Loss = made(kind).quote(columns=3).loss
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", loss)
    X, y = table(30)
    model = fitted(kind, X, y, account=Account(ledger, "people"))
    before = pickle.dumps(learnt(model))
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    with pytest.raises(InvalidParameter):
        model.fit([1], y)
    assert pickle.dumps(learnt(model)) == before


class Crashing(GaussianNB):
    """Breaks down after it has learnt something."""

    def _learn(self, recipe: Any, X: Any, y: Any, entropy: Any) -> None:
        super()._learn(recipe, X, y, entropy)
        if len(X) == 13:
            raise KeyboardInterrupt


def test_after_a_crash_the_fit_is_paid_for_and_there_is_no_model(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(2))
    model = made(Crashing, account=Account(ledger, "people")).fit(*table(20))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*table(13))
    assert ledger.remaining("people") == PureDP(0)
    with pytest.raises(NotFittedError):
        model.predict(table(3)[0])


def test_a_second_fit_leaves_nothing_of_the_first() -> None:
    model = made(models.LinearRegression, method="output")
    model.fit(*table(20)).of_the_first_ = 1
    assert not hasattr(model.set_params(method="functional").fit(*table(20)), "of_the_first_")


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_misspelt_keyword_is_answered_with_the_right_one(kind: type) -> None:
    with pytest.raises(InvalidCall, match="Did you mean epsilon"):
        kind(epsilonn=1)


def test_a_quote_knows_columns_by_number_by_names_by_bounds_and_by_the_last_fit() -> None:
    pandas = pytest.importorskip("pandas")
    named = models.StandardScaler(bounds={"a": (0, 1), "b": (0, 1)})
    for columns in (None, 2, np.int64(2), ["b"], pandas.Index(["a", "b"])):
        assert named.quote(columns).loss == PureDP(1)
    assert models.StandardScaler(bounds=[(0, 1)] * 3).quote().loss == PureDP(1)
    frame = pandas.DataFrame({"b": [1.0], "a": [0.0]})
    assert models.StandardScaler(bounds=(0, 1)).fit(frame).quote().loss == PureDP(1)
    for columns in (0, 2.5, "ab", True, np.zeros((3, 2)), 3):
        with pytest.raises(InvalidParameter):
            named.quote(columns)


def test_a_quote_is_a_table_with_costs_below_costs_and_what_remains(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(3))
    quote = models.StandardScaler(bounds=(0, 1), account=Account(ledger, "people")).quote(2)
    shown = str(quote).splitlines()
    [at] = {line.index("ε") for line in shown if "ε" in line and "costs" not in line}
    assert shown[2].index("costs") == at
    assert any("remaining budget before: ε = 3; after" in line for line in shown)
    assert all(line.what in str(quote) and line.what in quote._repr_html_() for line in quote.lines)
    assert max(map(len, shown)) <= 100


def test_a_quote_in_a_notebook_is_not_markup() -> None:
    line = Line("<script>", PureDP(1), 2.0, "half widths & more")
    quote = FitQuote(estimator="<b>", loss=PureDP(1), lines=(line,))
    assert "<script>" not in quote._repr_html_()
    assert "<b>" not in quote._repr_html_()
    assert "half the distance between the bounds" in str(quote)
