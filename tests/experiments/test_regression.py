"""The regression study: its reference values, its two methods, and what is wrong with the first."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import lapwing
from lapwing import models
from lapwing.errors import InvalidParameter, NotPrivateWarning
from lapwing.experiments import regression, regression_audit, regression_data
from lapwing.experiments.boston import BOUNDS, CAUTION, PRICES, Houses, chosen, fold_edges, houses, plain_error
from lapwing.experiments.experiment import Row, entropy, select
from lapwing.experiments.naive import NaiveOutputPerturbation
from lapwing.experiments.regression_methods import (
    Method1,
    Method2,
    estimator_errors,
    training_error_changes,
    unit_laplace,
    with_ones,
)

FALSE_ALARM = 1e-6
LN2, LN3 = math.log(2), math.log(3)


@cache
def data_rows() -> list[Row]:
    return regression_data.compute()


@cache
def study_rows() -> list[Row]:
    return regression.compute(epsilons=(0.05, 0.3, 5.0, 10.0), private_epsilons=(3.0, 10.0), private_repeats=1)


def error(method: str, epsilon: float | None, of: str = "median") -> float:
    return float(select(study_rows(), method=method, epsilon=epsilon)[0][of])


def test_the_table_is_that_of_the_study() -> None:
    assert houses().X.shape == (506, 13)
    assert (houses().y.min(), houses().y.max()) == (5, 50)


def test_errors_without_privacy_are_those_of_the_study() -> None:
    assert plain_error(houses()) == pytest.approx(5.180846, abs=1e-5)
    assert plain_error(chosen()) == pytest.approx(5.986389, abs=1e-5)


def test_the_features_kept_are_those_of_the_study() -> None:
    assert chosen().names == ("chas", "nox", "rm")
    assert [row["name"] for row in select(data_rows(), what="weight", kept=True)] == ["chas", "nox", "rm"]


def test_correlations_are_those_of_the_study() -> None:
    for first, second, value in (("lstat", "price", -0.74), ("rm", "price", 0.70), ("lstat", "rm", -0.61)):
        found = select(data_rows(), what="correlation", name=first, other=second)[0]["value"]
        assert round(found, 2) == value


def test_record_368_changes_the_training_error_most() -> None:
    numbers = {row["name"]: row["value"] for row in select(data_rows(), what="number")}
    assert numbers["record with the largest residual"] == numbers["record that makes it"] == 368
    assert numbers["largest change of the training error"] == pytest.approx(3.0889, abs=1e-4)
    assert numbers["training error"] == pytest.approx(37.518, abs=1e-3)


def test_leaving_out_by_formula_is_leaving_out_by_fitting_again() -> None:
    table = Houses(chosen().X[::13], chosen().y[::13], chosen().names)
    full = np.mean((LinearRegression().fit(table.X, table.y).predict(table.X) - table.y) ** 2)
    slow = [
        abs(np.mean((LinearRegression().fit(rest.X, rest.y).predict(rest.X) - rest.y) ** 2) - full)
        for rest in map(table.without, range(len(table.y)))
    ]
    assert training_error_changes(with_ones(table.X), table.y) == pytest.approx(slow)


def test_a_record_that_alone_decides_its_prediction_changes_no_residual() -> None:
    design = with_ones(np.array([[0.0], [0.0], [0.0], [1.0]]))
    changes = training_error_changes(design, np.array([1.0, 2.0, 3.0, 77.0]))
    assert np.isfinite(changes).all()
    assert changes[3] == pytest.approx(2 / 3 - 2 / 4)


def test_prices_are_counted_and_cut_off_at_fifty() -> None:
    bars = select(data_rows(), what="prices")
    assert sum(row["value"] for row in bars) == 506
    assert (bars[0]["from"], bars[-1]["to"]) == (5, 50)
    assert bars[-1]["value"] > 4 * bars[-2]["value"]


def test_folds_are_those_of_scikit_learn() -> None:
    for rows in (506, 505, 23):
        tests = [asked for _, asked in KFold(10).split(np.zeros((rows, 1)))]
        assert fold_edges(rows).tolist() == [0, *np.cumsum([len(asked) for asked in tests]).tolist()]
    for (known, asked), (train, test) in zip(chosen().folds(), KFold(10).split(chosen().X), strict=True):
        assert np.array_equal(known.y, chosen().y[train])
        assert np.array_equal(asked.X, chosen().X[test])


def test_both_methods_without_noise_have_the_error_without_privacy() -> None:
    assert Method1.of(chosen()).errors(1e9, 2, entropy("none")) == pytest.approx(plain_error(chosen()), rel=1e-6)
    scaled = Method2.of(chosen().scaled()).errors(1e9, 2, entropy("none"))
    assert scaled * 22.5 == pytest.approx(plain_error(chosen()), rel=1e-6)


def test_method_1_at_once_is_method_1_prediction_by_prediction() -> None:
    table, epsilon = chosen(), 0.5
    noise = unit_laplace(2 * 506, entropy("slow")).reshape(2, 506) * 3.088855688 / epsilon
    slow = []
    for repeat in range(2):
        errors = []
        for train, test in KFold(10).split(table.X):
            predicted = LinearRegression().fit(table.X[train], table.y[train]).predict(table.X[test])
            errors.append(math.sqrt(np.mean((predicted + noise[repeat, test] - table.y[test]) ** 2)))
        slow.append(np.mean(errors))
    assert Method1.of(table).errors(epsilon, 2, entropy("slow")) == pytest.approx(slow)


def test_method_2_at_once_is_method_2_fit_by_fit() -> None:
    table, epsilon, size = chosen().scaled(), 0.2, 4
    scale = (2 * size**2 + 4 * size) / epsilon
    noise = scale * unit_laplace(3 * 10 * size * (size + 1), entropy("slow")).reshape(3, 10, size, size + 1)
    slow = []
    for repeat in range(3):
        errors = []
        for fold, (known, asked) in enumerate(table.folds()):
            design, square = with_ones(known.X), noise[repeat, fold, :, :size]
            form = design.T @ design + (square + square.T) / 2 + 5 * math.sqrt(2) * scale * np.eye(size)
            values, vectors = np.linalg.eigh(form)
            basis = vectors[:, values > 1e-8]
            target = design.T @ known.y + noise[repeat, fold, :, size] / 2
            weights = basis @ np.linalg.solve(basis.T @ form @ basis, basis.T @ target)
            errors.append(math.sqrt(np.mean((with_ones(asked.X) @ weights - asked.y) ** 2)))
        slow.append(np.mean(errors))
    assert Method2.of(table).errors(epsilon, 3, entropy("slow")) == pytest.approx(slow)


@pytest.mark.sweep
def test_method_1_is_nearly_a_hundred_times_off_and_recovers_around_five() -> None:
    exact = error(regression.EXACT, None)
    assert 65 < error(regression.METHOD_1, 0.01) / exact < 100
    assert error(regression.METHOD_1, 5.0) / exact < 1.03
    assert error(regression.METHOD_1, LN2) / exact > 1.3


@pytest.mark.sweep
def test_method_2_is_about_twice_off_and_never_reaches_the_exact_error() -> None:
    exact = error(regression.EXACT, None)
    assert 1.6 < error(regression.METHOD_2, 0.01) / exact < 2.2
    assert 1.05 < error(regression.METHOD_2, 10.0) / exact < 1.2


@pytest.mark.sweep
def test_method_2_is_better_up_to_the_logarithm_of_two_and_worse_from_that_of_three() -> None:
    for epsilon in (0.01, 0.05, 0.1, 0.3, LN2):
        assert error(regression.METHOD_2, epsilon) < error(regression.METHOD_1, epsilon)
    for epsilon in (LN3, 5.0, 10.0):
        assert error(regression.METHOD_2, epsilon) > error(regression.METHOD_1, epsilon)


@pytest.mark.sweep
def test_rows_say_which_methods_are_private() -> None:
    private = {row["method"] for row in study_rows() if row["private"]}
    assert not private & {regression.METHOD_1, regression.METHOD_2, regression.EXACT, regression.EXACT_ALL}
    assert set(regression.OURS) <= private


@pytest.mark.sweep
def test_private_estimators_learn_on_the_same_axes() -> None:
    exact, middle = error(regression.EXACT, None), error(regression.MIDDLE, None)
    assert error("sufficient statistics", 10.0) < 1.1 * exact
    assert error("sufficient statistics", 3.0) < middle
    assert error("functional", 10.0) < middle


def test_estimators_are_scored_like_the_rest() -> None:
    errors = estimator_errors(lambda epsilon, seed: LinearRegression(), 1.0, chosen(), 2)
    assert errors == pytest.approx(plain_error(chosen()))


@pytest.mark.sweep
def test_another_library_gets_its_line_if_it_is_there() -> None:
    theirs = [{**row, "method": regression.THEIRS, "median": 4000.0} for row in select(study_rows(), method="output")]
    assert regression.THEIRS not in {row["method"] for row in study_rows()} or "diffprivlib" in sys.modules
    rows = [*(row for row in study_rows() if row["method"] != regression.THEIRS), *theirs]
    assert f"| {regression.THEIRS} |" in regression.tell(rows)
    labels = [line.get_label() for line in regression.draw(rows).axes[3].lines]
    assert "diffprivlib (up to 4,000)" in labels


def test_the_study_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    regression.compute(
        epsilons=(), repeats=2, private_epsilons=(10.0,), private_repeats=1, heard=lambda *p: told.append(p)
    )
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


def test_every_epsilon_of_the_study_is_in_the_long_run() -> None:
    full = regression.REGRESSION.full
    assert (len(full["epsilons"]), full["epsilons"][0], full["epsilons"][-1], full["repeats"]) == (
        1000,
        0.01,
        10.0,
        100,
    )


def naive(**parameters: object) -> NaiveOutputPerturbation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return NaiveOutputPerturbation(**parameters).fit(chosen().X, chosen().y)


def test_the_naive_method_says_loudly_that_it_is_not_private() -> None:
    with pytest.warns(NotPrivateWarning, match="NOT private"):
        NaiveOutputPerturbation().fit(chosen().X, chosen().y)
    assert "NOT PRIVATE" in str(NaiveOutputPerturbation.__doc__)


def test_the_naive_method_is_nowhere_but_among_the_experiments() -> None:
    assert not any(hasattr(room, "NaiveOutputPerturbation") for room in (lapwing, models))


def test_the_naive_method_reads_its_noise_from_the_data_and_draws_it_anew() -> None:
    model = naive(epsilon=2, random_state=1)
    assert (model.record_, model.sensitivity_) == (368, pytest.approx(3.0889, abs=1e-4))
    asked = np.tile(chosen().X[0], (200_000, 1))
    first, second = model.predict(asked) - model.exact(asked), model.predict(asked) - model.exact(asked)
    assert not np.array_equal(first, second)
    # |Laplace| is exponential: its mean over n draws has the standard deviation scale/√n
    scale, far = model.sensitivity_ / 2, NormalDist().inv_cdf(1 - FALSE_ALARM / 2)
    assert abs(np.abs(first).mean() - scale) < far * scale / math.sqrt(len(first))
    assert naive(sensitivity=7).sensitivity_ == 7


def test_the_naive_method_is_an_estimator() -> None:
    model = clone(naive(epsilon=0.5, random_state=3))
    assert model.get_params() == {"epsilon": 0.5, "sensitivity": None, "random_state": 3}
    with pytest.raises(InvalidParameter):
        naive(epsilon=-1)
    reference = LinearRegression().fit(chosen().X, chosen().y)
    assert naive().exact(chosen().X) == pytest.approx(reference.predict(chosen().X))


@cache
def audited() -> list[Row]:
    return regression_audit.compute(questions=(1, 64), samples=1_500, fits=120)


@pytest.mark.sweep
def test_one_record_within_public_bounds_breaks_the_first_prediction() -> None:
    house, price = regression_audit.worst_record(chosen())
    assert all(low <= value <= high for value, (low, high) in zip(house, BOUNDS.values(), strict=True))
    assert price in PRICES
    found = select(audited(), what="audit", name=regression_audit.ADDED, questions=1)[0]
    assert found["caught"]
    assert found["epsilon"] > 2


@pytest.mark.sweep
def test_many_predictions_tell_whether_record_368_is_there() -> None:
    once, often = select(audited(), what="audit", name=regression_audit.LEFT_OUT)
    assert not once["caught"]
    assert often["epsilon"] > 4


@pytest.mark.sweep
def test_private_fits_are_not_caught_however_much_is_asked() -> None:
    ours = select(audited(), what="audit", name=regression_audit.OURS)
    assert [row["questions"] for row in ours] == [1, 64]
    assert not any(row["caught"] for row in ours)


@pytest.mark.sweep
def test_the_width_of_the_noise_tells_about_a_record() -> None:
    widths = {row["name"]: row["value"] for row in select(audited(), what="width")}
    assert widths["as it is"] == pytest.approx(3.0889, abs=1e-4)
    assert widths["without record 368"] < 2 < 4 < widths["with the record added"]


@pytest.mark.sweep
def test_every_page_and_every_picture_carries_the_caution() -> None:
    for experiment, rows in (
        (regression_data.REGRESSION_DATA, data_rows()),
        (regression.REGRESSION, study_rows()),
        (regression_audit.REGRESSION_AUDIT, audited()),
    ):
        assert CAUTION in experiment.page(rows)
        caption = experiment.draw(rows).get_supxlabel()
        assert "ethical problem" in " ".join(caption.split())


@pytest.mark.sweep
def test_pages_say_what_is_not_private() -> None:
    assert "Neither method of the study is private" in regression.tell(study_rows())
    assert "**not private**" in regression_audit.tell(audited())
    assert "nothing here is private" in regression_data.tell(data_rows())


def test_listing_experiments_does_not_load_scikit_learn() -> None:
    script = "import sys, lapwing.experiments; print({'sklearn', 'matplotlib', 'mlxtend'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
