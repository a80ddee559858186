"""Trees and forests: what one row can change, that levels are partitions, and what an auditor sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import together
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sweeps import few

from lapwing.adversary import Audit, audit
from lapwing.errors import InvalidParameter
from lapwing.models.columns import Box
from lapwing.models.forest import (
    LARGEST_RESIDUAL,
    LARGEST_VALUE,
    SCORE,
    Plan,
    RandomForest,
    imbalance,
    residual_sensitivity,
    residuals,
    votes_of_labels,
)
from lapwing.models.spending import Spending
from lapwing.models.trees import (
    CUTS,
    DecisionTree,
    below_cuts,
    cells_of,
    labels_of,
    leaves_of,
    random_levels,
    votes,
)
from lapwing.noise import Entropy, Reproducible
from lapwing.privacy import PureDP

FALSE_ALARM = 1e-6
MODELS: list[Any] = [
    DecisionTree(),
    DecisionTree(max_depth=3),
    DecisionTree(method="random"),
    RandomForest(),
    RandomForest(n_estimators=2, max_depth=2),
    RandomForest(method="random"),
]
EACH_MODEL = pytest.mark.parametrize("model", MODELS, ids=str)


def random_table(rng: np.random.Generator, classes: int) -> tuple[Any, Any, Any]:
    """Cells, labels and nodes; small and often one-sided, where one row matters most."""
    rows, columns = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    cells = rng.integers(0, len(CUTS) + 1, (columns, rows)).astype(np.int16)
    y = rng.choice(classes, rows, p=rng.dirichlet(np.full(classes, 0.3)))
    return cells, y.astype(np.int64), rng.integers(0, 2, rows)


def changes_of_counts(score: Any, classes: int, trials: int = 300) -> list[int]:
    """How a score changes when the last row is added, over random tables, nodes, columns and cuts."""
    rng, seen = np.random.default_rng(0), []
    for _ in range(trials):
        cells, y, nodes = random_table(rng, classes)
        after = score(*below_cuts(cells, nodes, 2, labels_of(y, classes)))
        before = score(*below_cuts(cells[:, :-1], nodes[:-1], 2, labels_of(y[:-1], classes)))
        assert (after[1 - nodes[-1]] == before[1 - nodes[-1]]).all()  # the other node does not notice
        seen += [*np.ravel(after - before).tolist()]
    return seen


@together("classes", [1, 2, 4])
@pytest.mark.parametrize("score", [votes, votes_of_labels])
def test_a_row_raises_votes_by_one_at_most_and_never_lowers_them(score: Any, classes: int) -> None:
    assert set(changes_of_counts(score, classes)) == {0, 1}


@together("classes", [1, 2, 3, 10])
def test_residuals_of_a_row_are_as_small_as_is_paid_for(classes: int) -> None:
    rng = np.random.default_rng(classes)
    scores = rng.integers(-60 * LARGEST_VALUE, 60 * LARGEST_VALUE, (2000, classes)) // rng.integers(1, 3000, (2000, 1))
    sizes = np.abs(residuals(rng.integers(0, classes, 2000), scores)).sum(axis=0)
    assert sizes.max() <= residual_sensitivity(classes)
    assert classes == 1 or sizes.max() > 0.95 * residual_sensitivity(classes)


@together("classes", [2, 3, 10])
def test_residuals_are_the_class_minus_its_probability(classes: int) -> None:
    scores = np.random.default_rng(1).integers(-2 * SCORE, 2 * SCORE, (500, classes))
    scores[:, 0] += 3 * SCORE
    y = scores.argmax(axis=1)  # rightly predicted: most are not cut
    odds = np.exp(scores / SCORE)
    exact = (np.eye(classes)[y] - odds / odds.sum(axis=1, keepdims=True)).T * 1024
    fits = np.abs(exact).max(axis=0) < LARGEST_RESIDUAL
    got = residuals(y, scores)
    assert fits.sum() > 100
    assert np.abs(got - (exact[1:] if classes == 2 else exact))[:, fits].max() < 3


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_changes_an_imbalance_by_no_more_than_is_paid_for(classes: int) -> None:
    rng, most = np.random.default_rng(2), 0
    for _ in range(300):
        cells, y, nodes = random_table(rng, classes)
        rows = residuals(y, rng.integers(-4 * SCORE, 4 * SCORE, (len(y), classes))).astype(float)
        after = imbalance(*below_cuts(cells, nodes, 2, list(rows)))
        before = imbalance(*below_cuts(cells[:, :-1], nodes[:-1], 2, list(rows[:, :-1])))
        most = max(most, int(np.abs(after - before).max()))
    assert 0.9 * residual_sensitivity(classes) < most <= residual_sensitivity(classes)


def test_residuals_of_a_row_do_not_depend_on_where_it_stands() -> None:
    rng = np.random.default_rng(3)
    scores, y = rng.integers(-2000, 2000, (1001, 3)), rng.integers(0, 3, 1001)
    whole = residuals(y, scores)
    for start in range(1, 9):
        assert (residuals(y[start:], scores[start:]) == whole[:, start:]).all()


def test_a_level_is_a_partition_of_the_rows() -> None:
    X = np.random.default_rng(4).uniform(-1, 1, (500, 3))
    cells = cells_of(Box.of((-1, 1), 3), X)
    levels = random_levels(3, 3, Reproducible(1))
    nodes = np.zeros(500, dtype=np.int64)
    for depth, splits in enumerate(levels):
        below = splits.descend(cells, nodes)
        assert (below // 2 == nodes).all()
        assert below.max() < 2 << depth
        assert np.bincount(below, minlength=2 << depth).sum() == 500
        cut = -1 + 2 * np.array(CUTS)[splits.cuts[nodes]] / 64
        inside = np.abs(X[np.arange(500), splits.columns[nodes]] - cut) > 1e-4  # farther than a step
        assert ((X[np.arange(500), splits.columns[nodes]] > cut) == (below % 2 == 1))[inside].all()
        nodes = below
    assert (leaves_of(levels, cells) == nodes).all()


def test_what_is_no_number_stands_in_the_middle() -> None:
    cells = cells_of(Box.of((0, 2), 1), np.array([[np.nan], [np.inf], [1.0], [5.0], [-5.0]]))
    assert cells[0].tolist() == [CUTS.index(32)] * 3 + [len(CUTS), 0]


@EACH_MODEL
@together("classes", [1, 2, 3, 20])
@together("rows", [0, 1, 3, 50])
def test_every_table_is_fitted_without_a_word(model: Any, rows: int, classes: int) -> None:
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 4)) * 100
    X[::3, 1], X[::4, 2], X[:, 3] = np.nan, np.inf, 7
    y = rng.integers(-1, 2, rows)  # some unknown, and classes that never occur
    made = clone(model).set_params(bounds=(-1, 1), classes=list(range(classes)), random_state=rows)
    made.fit(X, y)
    assert made.privacy_loss_ == PureDP(1)
    probabilities = made.predict_proba([[np.nan, "word", 1e300, None]] * 2)
    assert np.isfinite(probabilities).all()
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert set(made.predict(rng.normal(size=(9, 4))).tolist()) <= set(range(classes))


@EACH_MODEL
def test_rows_of_unknown_classes_are_left_out(model: Any) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    made = clone(model).set_params(bounds=(-2, 2), classes=["no", "yes"], random_state=1)
    labels = np.array(["no", "yes"], dtype=object)[y]
    more = np.concatenate([labels, np.array(["perhaps", None, 3], dtype=object)])
    grid = rng.normal(size=(200, 2))
    first = made.fit(X, labels).predict_proba(grid)
    second = made.fit(np.concatenate([X, X[:3]]), more).predict_proba(grid)
    assert (first == second).all()


@EACH_MODEL
def test_the_order_of_rows_changes_nothing(model: Any) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    made = clone(model).set_params(bounds=(-2, 2), classes=[0, 1, 2], random_state=1)
    order = rng.permutation(400)
    assert (made.fit(X, y).predict_proba(X) == made.fit(X[order], y[order]).predict_proba(X)).all()


@EACH_MODEL
@together("currency", [{"epsilon": 2}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": None, "rho": 0.5}])
def test_the_lines_of_a_quote_add_up_to_what_is_split(model: Any, currency: dict[str, Any]) -> None:
    made = clone(model).set_params(bounds=(-1, 1), classes=[0, 1], **currency)
    unused = "delta" in currency and isinstance(made.quote(3).loss, PureDP)  # where a delta would only add noise
    assert unused == ("delta" in currency and getattr(model, "method", "") == "random" and type(model) is DecisionTree)
    total = Spending.of(currency["epsilon"], None if unused else currency.get("delta"), currency.get("rho"))
    field = "rho" if total.concentrated else "epsilon"
    assert sum(getattr(line.loss, field) for line in made.quote(3).lines) == total.size
    made.set_params(random_state=1).fit(np.zeros((4, 3)), [0, 1, 1, 0])
    assert made.privacy_loss_ == made.quote(3).loss == total.stated


def test_plans_for_few_rows_vote_and_plans_for_many_boost() -> None:
    assert Plan.of(-50, 2, None, None) == Plan(1, 1, "votes")
    assert Plan.of(100, 100, None, None).kind == Plan.of(1000, 3, None, None).kind == "random"
    assert Plan.of(1e7, 2, None, None).trees <= 60
    assert Plan.of(50, 2, 7, 3) == Plan(7, 3)


def test_a_tree_is_deeper_the_more_rows_and_classes_there_are() -> None:
    deep = [
        [DecisionTree(bounds=(0, 1), classes=range(classes))._recipe(2, None).decided(rows).depth for rows in SIGNALS]
        for classes in (1, 2, 3, 10)
    ]
    assert deep == [[1, 1, 3, 5], [1, 1, 3, 5], [2, 2, 4, 6], [2, 2, 6, 8]]


SIGNALS = (-1e9, 100, 5000, 1e9)


def test_wrong_parameters_are_refused_with_their_name() -> None:
    for wrong in ({"method": "best"}, {"max_depth": 40}, {"max_depth": 0}, {"classes": None}):
        for kind in (DecisionTree, RandomForest):
            with pytest.raises(InvalidParameter) as caught:
                kind(**{"bounds": (0, 1), "classes": [0, 1], **wrong}).fit(np.zeros((2, 1)), [0, 1])  # type: ignore[arg-type]
            assert caught.value.name in wrong
    with pytest.raises(InvalidParameter):
        RandomForest(n_estimators=0, bounds=(0, 1), classes=[0, 1]).quote(2)


@pytest.mark.parametrize(("epsilon", "at_least"), few([(1, 0.86), (0.1, 0.8), (10, 0.89)]))
def test_a_forest_learns_from_a_few_hundred_patients(epsilon: float, at_least: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    bounds = list(zip(X.min(0), X.max(0) + 1e-9, strict=True))
    order, scores = np.random.default_rng(0).permutation(len(X)), []
    learn, judge = order[100:], order[:100]
    for seed in range(10):
        forest = RandomForest(epsilon=epsilon, bounds=bounds, classes=[0, 1], random_state=seed).fit(X[learn], y[learn])
        scores.append(np.mean(forest.predict(X[judge]) == y[judge]))
    assert np.mean(scores) > at_least


@EACH_MODEL
def test_a_clear_step_is_found(model: Any) -> None:
    X = np.random.default_rng(7).uniform(0, 1, (5000, 1))
    made = clone(model).set_params(epsilon=5, bounds=(0, 1), classes=["low", "high"], random_state=3)
    made.fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
    assert made.predict([[0.001], [0.999]]).tolist() == ["low", "high"]


# Audits: the row at the upper end lies right of every cut, so that its leaf is known.
NOBODY: tuple[Any, Any] = (np.empty((0, 1)), np.empty(0, dtype=np.int64))
SOMEBODY: tuple[Any, Any] = (np.ones((1, 1)), np.ones(1, dtype=np.int64))


def audited(model: Any, times: int, samples: int, seed: int) -> Audit:
    """What the model says about the leaf of the row, if it states 1 and spends `times` as much."""
    made = clone(model).set_params(epsilon=times, bounds=(-1, 1), classes=[0, 1])
    recipe = made._recipe(1, None)

    def release(data: tuple[Any, Any], entropy: Entropy) -> int:
        made._learn(recipe, *data, entropy)
        values = made.counts_ if isinstance(made, DecisionTree) else made.estimators_[-1].values
        return int(values[-1, 1])

    pair, sure = (NOBODY, SOMEBODY), 1 - FALSE_ALARM
    return audit(release, pair, samples=samples, confidence=sure, claimed=1, entropy=Reproducible(seed))


# The last number is what the audit catches: boosting spends a quarter of its epsilon on what is seen here.
AUDITED = pytest.mark.parametrize(
    ("model", "samples", "times"),
    few(
        [
            (DecisionTree(method="random", max_depth=1), 4000, 2),
            (RandomForest(max_depth=1), 4000, 3),
            (RandomForest(n_estimators=1, max_depth=1), 1500, 10),
        ]
    ),
    ids=["random tree", "tree that votes", "boosted"],
)


@AUDITED
def test_an_auditor_does_not_beat_the_stated_epsilon(model: Any, samples: int, times: int) -> None:
    found = audited(model, 1, samples, 11)
    assert not found.caught, found.explain()


@AUDITED
def test_an_auditor_catches_trees_with_too_little_noise(model: Any, samples: int, times: int) -> None:
    found = audited(model, times, samples, 12)
    assert found.caught, found.explain()
