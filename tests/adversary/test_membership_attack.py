"""Who was in the training data: the attacks find members of models that remember, and not of private ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.adversary.attacks.attack import Attack, repeatable
from lapwing.adversary.attacks.bounds import best_advantage
from lapwing.adversary.attacks.membership import (
    Membership,
    as_rows,
    best_threshold,
    evidence,
    hits_at,
    threshold_attack,
)
from lapwing.adversary.attacks.membership_rounds import (
    DELTA,
    LINEAR_MEMBERSHIP,
    LOGISTIC_MEMBERSHIP,
    NETWORK_MEMBERSHIP,
    tables,
)
from lapwing.adversary.attacks.shadow_models import Tell, shadow_attack
from lapwing.errors import InvalidParameter
from lapwing.models import GaussianNB, LinearRegression
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
ALL = (LINEAR_MEMBERSHIP, LOGISTIC_MEMBERSHIP, NETWORK_MEMBERSHIP)


def people(count: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns and targets that have nothing to do with one another: whatever is learnt is about these people."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (count, columns)), rng.uniform(-1, 1, count)


def least_squares(X: np.ndarray, y: np.ndarray) -> Any:
    slopes = np.linalg.lstsq(X, y, rcond=None)[0]
    return lambda rows: rows @ slopes


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_weak_models_are_broken_and_private_ones_stay_within_the_bound(attack: Attack) -> None:
    rounds = 40
    contest = attack.run(rounds=rounds, epsilons=[0.5, 8])
    assert all(score.success >= 0.95 for score in contest.weak)
    for score in contest.private:
        assert score.bound is not None
        right = round(score.success * rounds)
        assert binom.sf(right - 1, rounds, min(score.bound, 1.0)) > FALSE_ALARM
    assert contest.holds


@pytest.mark.parametrize("attack", ALL[:2], ids=lambda attack: attack.name)
def test_a_large_epsilon_protects_little(attack: Attack) -> None:
    """So the attack on the private model works as well, and could have exceeded a bound that is wrong."""
    rounds = 40
    (score,) = attack.run(rounds=rounds, epsilons=[16]).private
    assert binom.cdf(round(score.success * rounds), rounds, 0.8) > FALSE_ALARM
    assert score.success > 0.9


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_a_story_knows_the_truth_and_the_plain_model_gives_it_away(attack: Attack) -> None:
    plain, private = attack.tell(repeatable(1))
    assert plain.guess == plain.truth
    assert plain.sure > 0.9
    assert private.sure < 0.8


def test_the_tables_differ_by_one_row() -> None:
    for labels in (False, True):
        (X, y), (more, targets) = tables(labels)
        assert np.array_equal(more[:-1], X)
        assert np.array_equal(targets[:-1], y)
        assert len(more) == len(X) + 1
        assert max(np.abs(more).max(), np.abs(targets).max()) <= 1
    assert NETWORK_MEMBERSHIP.bound(1) == pytest.approx((1 + best_advantage(1, DELTA)) / 2)


def test_the_threshold_finds_members_of_a_line_through_all_of_them() -> None:
    X, y = people(60, 30)
    inside = (X[:30], y[:30])
    found = threshold_attack(least_squares(*inside), inside, (X[30:], y[30:]))
    assert found.advantage > 0.9
    assert found.limits()[0] > 0.2
    assert found.hits(0.0) == 1
    assert found.truth is not None
    assert sum(entry.guess == entry.truth for entry in found.learned) >= 57
    assert "100.0% of 30 members are detected" in found.explain()


def test_the_threshold_gains_nothing_from_a_private_line() -> None:
    X, y = people(400, 5)
    model = LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1), random_state=3).fit(X[:200], y[:200])
    found = threshold_attack(model, (X[:200], y[:200]), (X[200:], y[200:]))
    low, high = found.limits(1 - FALSE_ALARM)
    assert low < best_advantage(1)
    assert low <= 0 <= high


@pytest.mark.parametrize("offline", [False, True])
def test_shadow_models_find_members(offline: bool) -> None:
    X, y = people(80, 28)
    inside = np.arange(20) % 2 == 0
    member = np.concatenate([inside, np.arange(60) % 2 == 0])
    model = least_squares(X[member], y[member])
    found = shadow_attack(
        least_squares,
        model,
        (X[:20], y[:20]),
        pool=(X[20:], y[20:]),
        shadows=64,
        offline=offline,
        truth=inside,
        entropy=Reproducible(1),
    )
    pairs = found.scores[inside][:, None] > found.scores[~inside][None]
    assert pairs.mean() > 0.8
    assert found.advantage > 0.2
    assert ("offline" if offline else "online") in found.attack


def test_shadow_models_know_probabilities_and_estimators() -> None:
    X, _ = people(40, 2, seed=2)
    y = (X[:, 0] > 0).astype(int)
    model = GaussianNB(epsilon=1, bounds=(-1, 1), classes=[0, 1])
    found = shadow_attack(model, model.fit(X[:20], y[:20]), (X, y), shadows=8, entropy=Reproducible(2))
    assert found.truth is None
    assert np.all((found.chances > 0) & (found.chances < 1))
    assert "candidates are called members" in found.explain()
    with pytest.raises(InvalidParameter, match="truth"):
        _ = found.advantage


def test_a_tell_of_two_fixed_releases_is_certain_and_one_of_the_same_is_a_coin() -> None:
    one, other = np.ones((30, 3)), np.zeros((30, 3))
    tell = Tell.learnt(one, other)
    assert tell.sure(one[0])[0]
    assert not tell.sure(other[0])[0]
    assert tell.sure(one[0])[1] > 0.95
    assert Tell.learnt(one, one).sure(one[0])[1] == pytest.approx(0.5)


def test_evidence_is_minus_the_loss() -> None:
    X, y = np.zeros((3, 1)), np.array([0, 1, 1])
    chances = np.array([[0.5, 0.5], [0.9, 0.1], [0.0, 1.0]])
    assert evidence(lambda rows: chances, X, y) == pytest.approx(np.log([0.5, 0.1, 1.0]))
    assert evidence(lambda rows: np.array([1.0, 1.0, 3.0]), X, y).tolist() == [-1, 0, -4]
    model = GaussianNB(epsilon=1, bounds=(-1, 1), classes=["no", "yes"]).fit(X, ["no", "yes", "yes"])
    said = model.predict_proba(X)
    for given in (model, model.predict_proba):
        assert evidence(given, X, np.array(["yes", "no", "no"])) == pytest.approx(
            np.log(said[:, ::-1][[0, 1, 1], [0, 1, 1]])
        )


def test_thresholds_take_equal_scores_together() -> None:
    scores, inside = np.array([1.0, 1.0, 0.0, 0.0]), np.array([True, False, True, False])
    assert best_threshold(scores, inside) in (0.0, 0.5)
    assert hits_at(scores, inside, 0.0) == 0
    assert hits_at(scores, inside, 1.0) == 1
    curve = Membership(attack="x", scores=scores, chances=scores, truth=inside).curve()
    assert [part.tolist() for part in curve] == [[0, 0.5, 1], [0, 0.5, 1]]


def test_wrong_shapes_say_what_to_write() -> None:
    X, y = people(4, 2)
    for wrong in (X, (X, y[:2]), (X, y, y), (y, y)):
        with pytest.raises(InvalidParameter, match="candidates"):
            as_rows(candidates=wrong)
    with pytest.raises(InvalidParameter, match="pool"):
        shadow_attack(least_squares, least_squares(X, y), (X, y), offline=True)
    with pytest.raises(InvalidParameter, match="every candidate"):
        shadow_attack(least_squares, least_squares(X, y), (X, y), truth=[True])
    with pytest.raises(InvalidParameter, match="two of each"):
        threshold_attack(least_squares(X, y), (X[:1], y[:1]), (X[1:], y[1:]))


@pytest.mark.filterwarnings("error")
def test_frames_keep_their_names_for_the_models_that_know_them() -> None:
    import pandas
    from sklearn.linear_model import LinearRegression as Plain

    rows = np.arange(40.0).reshape(20, 2)
    frame, target = pandas.DataFrame(rows, columns=["a", "b"]), rows[:, 0] % 3
    model = Plain().fit(frame[:10], target[:10])
    found = threshold_attack(model, (frame[:10], target[:10]), (frame[10:], target[10:]))
    plain = threshold_attack(model.predict, (frame[:10], target[:10]), (frame[10:], target[10:]))
    assert found.scores.tolist() == plain.scores.tolist()
    shadow_attack(Plain(), model, (frame[:12], target[:12]), pool=(frame[12:], target[12:]), shadows=4)
    assert "members are detected" in str(found)


def test_predicted_words_are_refused_with_what_to_pass_instead() -> None:
    rows, words = np.eye(4), np.array(["a", "b", "a", "b"])
    with pytest.raises(InvalidParameter, match="predict_proba"):
        threshold_attack(lambda X: words[: len(X)], (rows, words), (rows, words))
