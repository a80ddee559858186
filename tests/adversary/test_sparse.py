"""Sparse matching: a few ratings with errors find their viewer, and private statistics do not tell."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

from lapwing.adversary.attacks.attack import repeatable
from lapwing.adversary.attacks.bounds import best_guess, limits
from lapwing.adversary.attacks.ratings import (
    DAYS,
    SPARSE,
    Matcher,
    Rating,
    Ratings,
    hit_rate,
    perturbed,
    ratings,
    remembered,
    sparse_match,
)
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6


@lru_cache(maxsize=1)
def usual() -> Ratings:
    return ratings(entropy=repeatable("tests"))


def small() -> Ratings:
    """Three viewers and three films; everybody has seen film 0."""
    viewer, film, stars, day = np.array([[0, 0, 5, 10], [1, 0, 5, 10], [2, 0, 1, 99], [1, 1, 3, 20], [2, 2, 4, 30]]).T
    return Ratings(viewer, film, stars, day, 3, 3)


def test_ratings_have_a_long_tail() -> None:
    table = usual()
    seen, rated = np.bincount(table.film, minlength=table.films), np.bincount(table.viewer, minlength=table.viewers)
    assert seen.max() > 20 * np.median(seen)
    assert rated.max() > 5 * np.median(rated)
    assert rated.min() >= 1
    assert np.sort(seen)[::-1][:200].sum() > 0.4 * len(table.film)


def test_nobody_rates_a_film_twice_and_values_are_in_range() -> None:
    table = usual()
    assert len(np.unique(table.viewer * table.films + table.film)) == len(table.film)
    assert set(table.stars) == {1, 2, 3, 4, 5}
    assert (table.day >= 0).all()
    assert (table.day < DAYS).all()


def test_the_score_is_that_of_the_paper() -> None:
    scores = Matcher.of(small()).scores([Rating(0, 4, 40), Rating(1, 3, 20)])
    everybody, nobody_else = 1 / math.log(3), 1 / math.log(2)
    near = (math.exp(-1 / 1.5) + math.exp(-30 / 30)) * everybody
    assert scores[0] == pytest.approx(near)
    assert scores[1] == pytest.approx(near + 2 * nobody_else)
    assert scores[2] == pytest.approx((math.exp(-3 / 1.5) + math.exp(-59 / 30)) * everybody)


def test_the_best_must_stand_out() -> None:
    matcher = Matcher.of(small())
    scores = matcher.scores([Rating(1, 3, 20)])
    found = matcher.match([Rating(1, 3, 20)])
    assert found.viewer == 1
    assert found.eccentricity == pytest.approx(scores.max() / scores.std())
    weights = np.exp(scores / scores.std())
    assert found.sure == pytest.approx(weights[1] / weights.sum())
    tied = matcher.match([Rating(0, 5, 10)])
    assert (tied.viewer, tied.eccentricity) == (None, 0)
    assert tied.sure < 0.5
    assert matcher.match([Rating(1, 3, 20)], eccentricity=10).viewer is None


def test_nothing_known_matches_nobody() -> None:
    assert sparse_match(small(), []).viewer is None
    assert sparse_match(small(), []).sure == pytest.approx(1 / 3)


def test_stars_or_days_alone_will_do() -> None:
    assert sparse_match(small(), [Rating(1, stars=3)]).viewer == 1
    assert sparse_match(small(), [Rating(2, day=29)]).viewer == 2


def test_what_is_remembered_is_a_little_off_and_partly_wrong() -> None:
    table, entropy = usual(), repeatable("memory")
    viewer = int(np.bincount(table.viewer).argmax())
    true = {rating.film: rating for rating in table.of(viewer)}
    known = remembered(table, viewer, count=40, wrong=10, entropy=entropy)
    right = [rating for rating in known if rating.film in true]
    assert (len(known), len(right)) == (40, 30)
    assert all(abs(rating.stars - true[rating.film].stars) <= 1 for rating in right)
    assert all(abs(rating.day - true[rating.film].day) <= 14 for rating in right)
    assert any(rating != true[rating.film] for rating in right)
    exact = remembered(table, viewer, count=5, wrong=0, stars_off=0, days_off=0, entropy=entropy)
    assert all(rating == true[rating.film] for rating in exact)


def test_more_wrong_ratings_than_ratings_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="wrong"):
        remembered(usual(), 0, count=2, wrong=3)
    with pytest.raises(InvalidParameter, match="nobody rated so many"):
        hit_rate(usual(), count=10**6)


def test_eight_ratings_two_of_them_wrong_find_nearly_everybody() -> None:
    """99 % in the paper, with dates that are off by two weeks."""
    found = hit_rate(usual(), count=8, wrong=2, people=300, entropy=repeatable("eight"))
    assert limits(found.right, 300, FALSE_ALARM)[1] >= 0.99
    assert found.right > 0.97
    assert found.mistaken < 0.01


def test_more_ratings_find_more_people_and_wrong_ones_fewer() -> None:
    def share(count: int, wrong: int) -> float:
        return hit_rate(usual(), count=count, wrong=wrong, people=100, days=False, entropy=repeatable("more")).right

    growing = [share(count, 0) for count in (2, 4, 8)]
    assert growing == sorted(growing)
    assert growing[0] < 0.4
    assert growing[-1] > 0.8
    falling = [share(8, wrong) for wrong in (0, 2, 4)]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] < 0.5


def test_dates_tell_much() -> None:
    with_days, without = (
        hit_rate(usual(), count=4, people=100, days=days, entropy=repeatable("days")).right for days in (True, False)
    )
    assert with_days > without + 0.2


def test_somebody_who_is_not_in_the_table_is_rarely_found() -> None:
    table = usual()
    matcher = Matcher.of(table.chosen(table.viewer >= 200))
    found = [matcher.match(remembered(table, viewer, entropy=repeatable(viewer))).viewer for viewer in range(200)]
    assert sum(viewer is not None for viewer in found) < 40


def test_small_changes_leave_most_ratings_recognisable() -> None:
    table = usual()
    changed = perturbed(table, repeatable("change"))
    assert len(changed.film) / len(table.film) == pytest.approx(0.95, abs=0.01)
    before = dict(zip((table.viewer * table.films + table.film).tolist(), table.stars.tolist(), strict=True))
    after = zip((changed.viewer * table.films + changed.film).tolist(), changed.stars.tolist(), strict=True)
    assert sum(before[key] != stars for key, stars in after) / len(changed.film) == pytest.approx(0.08, abs=0.01)
    matcher = Matcher.of(changed)
    hits = [matcher.match(remembered(table, v, count=12, entropy=repeatable(v))).viewer == v for v in range(100)]
    assert np.mean(hits) > 0.8


def test_the_attack_breaks_pseudonyms_and_not_private_statistics() -> None:
    contest = SPARSE.run(rounds=200, epsilons=[1, 8])
    assert all(score.low > 0.85 for score in contest.weak)
    for score in contest.private:
        assert limits(score.success, score.rounds, FALSE_ALARM)[0] <= score.bound
    assert contest.private[0].bound == best_guess(1)


def test_the_private_attacker_wins_as_often_as_it_believes_to() -> None:
    from lapwing.adversary.attacks.ratings import _posterior, _someone

    entropy = repeatable("calibration")
    viewers, secrets = _someone(40_000, entropy)
    chances = _posterior(64.0, np.array(viewers), np.array(secrets), entropy)
    success = float(((chances > 0.5) == secrets).mean())
    low, high = limits(success, len(viewers), FALSE_ALARM / 2)
    assert low <= np.maximum(chances, 1 - chances).mean() <= high
    assert success > 0.6


def test_the_story_tells_what_was_watched() -> None:
    rows, changed, private = SPARSE.tell(repeatable("story"))
    assert (rows.guess, rows.truth) == (True, True)
    assert rows.sure > 0.8
    assert changed.about != rows.about
    assert private.sure < 0.6


def test_a_film_that_is_not_in_the_table_is_explained() -> None:
    some = ratings(viewers=5, films=3, mean=2, entropy=repeatable("few"))
    for film in (-1, 3):
        with pytest.raises(InvalidParameter, match="from 0 to 2"):
            sparse_match(some, [Rating(film, 3)])
