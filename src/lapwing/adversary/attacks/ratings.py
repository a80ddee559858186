"""Sparse matching: a few ratings with errors identify a row. This is the attack on the Netflix prize.

Narayanan and Shmatikov (2008), Robust de-anonymization of large sparse datasets. Everybody has rated a few of very many
films, and hardly two people the same ones. Eight ratings, two of them wrong, with dates that are off by two weeks,
identify a person. Pseudonyms do not help, nor do small changes to the ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds, repeatable
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import SYSTEM, Entropy, bernoulli, choice, discrete_gaussian, geometric, permutation, uniform_below

STARS = 5
DAYS = 6 * 365
"""How long ratings were collected, as for the Netflix prize."""
STAR_SCALE, DAY_SCALE = 1.5, 30.0
"""ρ₀ and d₀ of the paper: how fast a difference in stars and in days makes two ratings unlike."""
ECCENTRICITY = 1.5
"""φ of the paper: how many standard deviations the best score must lie above the second."""

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings one after another: whose, of which film, how many stars, on which day."""

    viewer: Whole
    film: Whole
    stars: Whole
    day: Whole
    viewers: int
    films: int

    def of(self, viewer: int) -> list[Rating]:
        """The ratings of one viewer."""
        rows = np.flatnonzero(self.viewer == viewer)
        columns = (self.film[rows], self.stars[rows], self.day[rows])
        return [Rating(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]

    def chosen(self, rows: NDArray[np.bool_]) -> Ratings:
        """Only these rows, of the same viewers and films."""
        return Ratings(self.viewer[rows], self.film[rows], self.stars[rows], self.day[rows], self.viewers, self.films)


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating as somebody remembers it; stars or day are None if only the other is known."""

    film: int
    stars: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """Whose row it is, if anybody's.

    >>> from lapwing.adversary.attacks import sparse_match
    >>> from lapwing.adversary.attacks.attack import repeatable
    >>> from lapwing.adversary.attacks.ratings import ratings, remembered
    >>> some = ratings(viewers=500, films=300, entropy=repeatable("films"))
    >>> match = sparse_match(some, remembered(some, 7, entropy=repeatable("memory")))
    >>> match.viewer, match.eccentricity > 2
    (7, True)
    """

    viewer: int | None
    """None if the best row does not stand out."""
    best: int
    """The row with the highest score, standing out or not."""
    eccentricity: float
    """How far the best score lies above the second, in standard deviations of all."""
    sure: float
    """The share of the best row if every row weighs e^(score/σ), as in section 4 of the paper: rather too careful."""


def ratings(viewers: int = 5_000, films: int = 2_000, mean: Number = 50, entropy: Entropy = SYSTEM) -> Ratings:
    """Ratings of nobody: few films are seen by many, most by few; most viewers rate little, some very much.

    The r-th film is chosen in proportion to 1/(r + 10). A viewer rates about `mean` films, in an exponential
    distribution, from some day on; stars depend on the film, the viewer and the mood.

    >>> some = ratings(viewers=100, films=50, mean=10, entropy=repeatable("films"))
    >>> int(some.stars.min()) >= 1, int(some.stars.max()) <= 5
    (True, True)
    """
    people, shown = checks.whole(viewers=viewers), checks.whole(films=films)
    counts = 1 + geometric(checks.positive(mean=mean), people, entropy)
    viewer = np.repeat(np.arange(people), counts)
    film = choice([10**6 // (rank + 10) for rank in range(shown)], len(viewer), entropy)
    once = np.unique(viewer * shown + film)  # nobody rates a film twice
    viewer, film = np.divmod(once, shown)
    liked = (discrete_gaussian(64, shown, entropy)[film] + discrete_gaussian(40, people, entropy)[viewer]) / 100
    mood = discrete_gaussian(90, len(viewer), entropy) / 100
    started = uniform_below(DAYS, people, entropy)[viewer]
    day = np.minimum(started + geometric(200, len(viewer), entropy), DAYS - 1)
    return Ratings(viewer, film, np.clip(np.rint(3.6 + liked + mood), 1, STARS).astype(np.int64), day, people, shown)


def remembered(
    table: Ratings,
    viewer: int,
    *,
    count: int = 8,
    wrong: int = 2,
    stars_off: int = 1,
    days_off: int = 14,
    entropy: Entropy = SYSTEM,
) -> list[Rating]:
    """What an acquaintance remembers: so many ratings, a little off, and `wrong` of them of films never seen."""
    all_of_them = table.of(viewer)
    number = checks.whole(count=count)
    if checks.whole(minimum=0, wrong=wrong) > number:
        raise InvalidParameter("wrong", wrong, f"is more than all {number}", f"Write wrong={number} or less.")
    seen = {rating.film for rating in all_of_them}
    right = [all_of_them[place] for place in permutation(len(all_of_them), entropy)[: number - wrong]]

    def off(value: int | None, most: int, low: int, high: int) -> int:
        return min(max((value or 0) + uniform_below(2 * most + 1, entropy=entropy) - most, low), high)

    known = [Rating(r.film, off(r.stars, stars_off, 1, STARS), off(r.day, days_off, 0, DAYS - 1)) for r in right]
    unseen = [film for film in permutation(table.films, entropy).tolist() if film not in seen][:wrong]
    invented = ((uniform_below(STARS, entropy=entropy) + 1, uniform_below(DAYS, entropy=entropy)) for _ in unseen)
    return known + [Rating(film, stars, day) for film, (stars, day) in zip(unseen, invented, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """A published table, ready to be searched again and again."""

    table: Ratings
    _order: NDArray[np.intp]
    _starts: NDArray[np.intp]

    @classmethod
    def of(cls, table: Ratings) -> Matcher:
        """Sort the ratings by film."""
        order = np.argsort(table.film, kind="stable")
        return cls(table, order, np.searchsorted(table.film[order], np.arange(table.films + 1)))

    def scores(self, known: Iterable[Rating]) -> Floats:
        """How well every viewer fits: similar ratings count, those of rare films by far the most.

        Σ over the known films of (e^(−|stars apart|/ρ₀) + e^(−|days apart|/d₀)) / log(viewers of the film).
        """
        scores = np.zeros(self.table.viewers)
        for rating in known:
            if not 0 <= rating.film < self.table.films:
                hint = f"Films have numbers from 0 to {self.table.films - 1}."
                raise InvalidParameter("known", rating, "its film is not in the table", hint)
            rows = self._order[self._starts[rating.film] : self._starts[rating.film + 1]]
            alike = np.zeros(len(rows))
            if rating.stars is not None:
                alike += np.exp(-np.abs(self.table.stars[rows] - rating.stars) / STAR_SCALE)
            if rating.day is not None:
                alike += np.exp(-np.abs(self.table.day[rows] - rating.day) / DAY_SCALE)
            scores[self.table.viewer[rows]] += alike / np.log(max(len(rows), 2))
        return scores

    def match(self, known: Iterable[Rating], *, eccentricity: Number = ECCENTRICITY) -> Match:
        """The viewer whose row stands out, or none."""
        limit = float(checks.not_negative(eccentricity=eccentricity))
        scores = self.scores(known)
        spread = float(scores.std())
        best = int(scores.argmax())
        second = float(np.delete(scores, best).max(initial=0.0))
        if not spread:
            return Match(None, best, 0.0, 1 / len(scores))
        apart = (float(scores[best]) - second) / spread
        sure = float(1 / np.exp((scores - scores[best]) / spread).sum())
        return Match(best if apart > limit else None, best, apart, sure)


def sparse_match(table: Ratings, known: Iterable[Rating], *, eccentricity: Number = ECCENTRICITY) -> Match:
    """Find the viewer of whom some ratings are known.

    Args:
        table: The published ratings under pseudonyms, as `lapwing.adversary.attacks.ratings.Ratings`.
        known: What the attacker knows, each a `Rating` of the same module. Stars and days may be wrong or missing.
        eccentricity: How many standard deviations the best score must be above the second. The larger it is, the fewer
            people are found, and the fewer by mistake.

    Returns:
        The match. Its `viewer` is None if nobody stands out.

    >>> from lapwing.adversary.attacks.attack import repeatable
    >>> from lapwing.adversary.attacks.ratings import ratings, remembered
    >>> some = ratings(viewers=500, films=300, entropy=repeatable("films"))
    >>> known = remembered(some, 7, entropy=repeatable("memory"))
    >>> sparse_match(some, known).viewer
    7
    """
    return Matcher.of(table).match(known, eccentricity=eccentricity)


@dataclass(frozen=True, slots=True)
class HitRate:
    """How often somebody was found, over many people."""

    known: int
    wrong: int
    people: int
    right: float
    """The share whose own row stood out."""
    mistaken: float
    """The share for whom another row stood out; for the rest none did."""

    @property
    def sure(self) -> float:
        """The chance that a row that stands out is the right one, by Laplace's rule of succession."""
        return (self.people * self.right + 1) / (self.people * (self.right + self.mistaken) + 2)


def hit_rate(
    table: Ratings, *, count: int, wrong: int = 0, people: int = 200, days: bool = True, entropy: Entropy = SYSTEM
) -> HitRate:
    """How often people are found of whom `count` ratings are remembered, `wrong` of them wrongly.

    People who rated enough are chosen at random; without `days` only stars are remembered.
    """
    matcher, hits, misses = Matcher.of(table), 0, 0
    enough = np.flatnonzero(np.bincount(table.viewer, minlength=table.viewers) >= checks.whole(count=count))
    if not len(enough):
        raise InvalidParameter("count", count, "nobody rated so many films", "Write count=4, for example.")
    for chosen in uniform_below(len(enough), checks.whole(people=people), entropy):
        viewer = int(enough[chosen])
        known = remembered(table, viewer, count=count, wrong=wrong, entropy=entropy)
        match = matcher.match(known if days else [Rating(rating.film, rating.stars) for rating in known])
        hits += match.viewer == viewer
        misses += match.viewer not in (viewer, None)
    return HitRate(count, wrong, people, hits / people, misses / people)


def perturbed(table: Ratings, entropy: Entropy = SYSTEM) -> Ratings:
    """A table changed a little before it is published, as Netflix said it had done.

    One rating in twenty is left out, one in ten gets another number of stars, and days move by up to a week.
    """
    kept = table.chosen(bernoulli(Fraction(19, 20), len(table.film), entropy))
    rows = len(kept.film)
    changed = np.where(bernoulli(Fraction(1, 10), rows, entropy), 1 + uniform_below(STARS, rows, entropy), kept.stars)
    day = np.clip(kept.day + uniform_below(15, rows, entropy) - 7, 0, DAYS - 1)
    return Ratings(kept.viewer, kept.film, changed, day, kept.viewers, kept.films)


SENSITIVE = 60
"""The film nobody shall be known to have watched: one viewer in eight has."""
MOST = 10
"""How many ratings of a viewer the private statistics count, drawn from all of that viewer's."""


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """Ratings of everything but the sensitive film, who watched that, and viewers who rated enough to be known."""

    table: Ratings
    watched: NDArray[np.bool_]
    targets: NDArray[np.intp]


@cache
def _world() -> _World:
    table = ratings(entropy=repeatable("ratings of nobody"))
    about = table.film == SENSITIVE
    watched = np.zeros(table.viewers, np.bool_)
    watched[table.viewer[about]] = True
    rest = table.chosen(~about)
    return _World(rest, watched, np.flatnonzero(np.bincount(rest.viewer, minlength=rest.viewers) >= 8))


def _someone(rounds: int, entropy: Entropy) -> tuple[list[int], list[bool]]:
    """A viewer for every round, and whether that viewer watched the film: a fair coin."""
    targets = _world().targets
    return (
        targets[uniform_below(len(targets), rounds, entropy)].tolist(),
        bernoulli(Fraction(1, 2), rounds, entropy).tolist(),
    )


def _play(published: Matcher, shown: Sequence[bool], rounds: int, entropy: Entropy) -> Rounds:
    """Find the target by eight other ratings and look; where nobody stands out, toss a coin."""
    world, won = _world(), list[float]()
    for viewer, secret, still_there in zip(*_someone(rounds, entropy), shown, strict=True):
        match = published.match(remembered(world.table, viewer, entropy=entropy))
        if match.viewer is None:
            guess = bernoulli(Fraction(1, 2), entropy=entropy)
        else:
            guess = secret and still_there if match.viewer == viewer else bool(world.watched[match.viewer])
        won.append(float(guess == secret))
    return won


def _pseudonymous(rounds: int, entropy: Entropy) -> Rounds:
    return _play(Matcher.of(_world().table), [True] * rounds, rounds, entropy)


def _perturbed(rounds: int, entropy: Entropy) -> Rounds:
    shown = bernoulli(Fraction(19, 20), rounds, entropy).tolist()
    return _play(Matcher.of(perturbed(_world().table, entropy)), shown, rounds, entropy)


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    viewers, secrets = _someone(rounds, entropy)
    chances = _posterior(epsilon, np.array(viewers), np.array(secrets), entropy)
    right: Rounds = ((chances > 0.5) == secrets).astype(float).tolist()
    return right


def _posterior(epsilon: float, viewers: Whole, secrets: NDArray[np.bool_], entropy: Entropy) -> Floats:
    """The chance that each watched the film, for somebody who knows how everybody else rated it, and with what stars.

    For every film the number of ratings and the sum of (stars − 3) are released, at most `MOST` ratings of a viewer
    being counted. Replacing all ratings of a viewer (the unit) moves the numbers by 2·MOST in total and the sums, where
    a rating is −2 to 2, by 4·MOST; each gets half of ε. A rating that was not drawn leaves no trace.
    """
    world, rounds = _world(), len(viewers)
    liked = uniform_below(STARS, rounds, entropy) - 2
    kept = np.minimum(1.0, MOST / (1.0 + np.bincount(world.table.viewer, minlength=world.table.viewers)[viewers]))
    counted = secrets & (entropy.words(rounds, np.uint32) * 2.0**-32 < kept)
    numbers, sums = (
        Laplace(
            epsilon=Fraction(epsilon) / 2, sensitivity=most * MOST, dimensions=rounds, on_grid=True, relation="replace"
        )
        for most in (2, 4)
    )
    gap, more = numbers.release(1 * counted, entropy), sums.release(liked * counted, entropy)  # others’ are subtracted
    rate = epsilon / 2 / (2 * MOST)
    likelier = np.exp(-rate * (np.abs(gap - 1) - np.abs(gap)))
    likelier *= np.exp(-rate / 2 * (np.abs(more - liked) - np.abs(more)))
    yes = kept * likelier + (1 - kept)
    beliefs: Floats = yes / (1 + yes)
    return beliefs


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """Somebody who watched the film, by three releases."""
    world = _world()
    some = world.targets[world.watched[world.targets]]
    viewer, truth = int(some[uniform_below(len(some), entropy=entropy)]), True
    known = remembered(world.table, viewer, entropy=entropy)
    conclusions = []
    for method, table in (
        ("ratings under pseudonyms", world.table),
        ("ratings changed a little", perturbed(world.table, entropy)),
    ):
        match, tried = sparse_match(table, known), hit_rate(table, count=8, wrong=2, people=100, entropy=entropy)
        shown = table is world.table or bernoulli(Fraction(19, 20), entropy=entropy)
        seen = None if match.viewer is None else bool(world.watched[match.viewer]) and shown
        conclusions.append(
            Conclusion(
                about=f"viewer {viewer} watched the film, from {method}",
                guess=seen,
                sure=0.5 if seen is None else tried.sure,
                because=f"With 8 ratings, 2 of them wrong, one row scores {match.eccentricity:.1f} standard deviations "
                f"above the next. Of 100 others, this finds {tried.right:.0%} and mistakes {tried.mistaken:.0%}.",
                truth=truth,
            )
        )
    yes = float(_posterior(1.0, np.array([viewer]), np.array([truth]), entropy)[0])
    private = Conclusion(
        about=f"viewer {viewer} watched the film, from private statistics (epsilon = 1)",
        guess=yes > 0.5,
        sure=max(yes, 1 - yes),
        because="The film has about as many ratings either way.",
        truth=truth,
    )
    return [*conclusions, private]


SPARSE = Attack(
    name="sparse",
    title="Sparse matching: a few ratings identify a person",
    secret="whether a viewer watched a sensitive film",
    source="Narayanan and Shmatikov 2008",
    weak={"ratings under pseudonyms": _pseudonymous, "ratings changed a little": _perturbed},
    answer="numbers and sums of stars by film, with Laplace noise",
    promise="epsilon for all ratings of a viewer together (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    lesson="In sparse data nearly everybody is unique. Changing some values hardly protects anybody.",
    rounds=600,
)
