"""Three attacks on an answer of the lab: membership, everybody but one, and repeated questions.

    limits      no data: what no attacker can exceed, by theorems
    play        teaching mode only: one unit of the real table is the target. The attacker knows all other rows and the
                target's, and wants to know whether the target is in. The same mechanism answers at the same epsilon
                about the table with and without the target, and the attacker guesses

Where the relation is replace, "without" is a table in which the target's rows say what somebody else's do.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lapwing.adversary.attacks import average, best_guess, differencing
from lapwing.adversary.attacks.attack import SUREST
from lapwing.adversary.attacks.bounds import limits as likely
from lapwing.noise import uniform_below
from lapwing.privacy import Loss
from lapwing.web.lab.analyses.curated import AFTER
from lapwing.web.lab.analysis import Analysis, Data, Progress
from lapwing.web.lab.engine import engine, quoted, text
from lapwing.web.lab.result import Result

ROUNDS = 80
"""Answers about either table."""
AHEAD = 12
"""Answers of either table from which the attacker learns how much noise there is; not played with."""
TIMES = (5, 20)
"""How often the same question is asked."""
MOST_ROWS = 200_000
"""Of larger tables only the bounds are shown: playing would take too long."""
Numbers = dict[tuple[str, str], float]
"""The numbers of an answer, by series and label."""
UNSURE = 0.05
"""How often the range beside a measured share may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How often an attacker is right: by theorem at most, and, where it was played, against both answers."""

    attack: str
    title: str
    how: str
    """What the attacker does, in a sentence."""
    questions: int
    """How many questions that takes."""
    epsilon: float
    """What they cost together."""
    bound: float
    exact: float | None = None
    private: float | None = None
    low: float | None = None
    high: float | None = None
    games: int = 0


def limits(loss: Loss, unit: str) -> tuple[Outcome, ...]:
    """What no attacker exceeds who gives the secret even odds beforehand. Nothing is read."""
    epsilon, delta = _pair(loss)
    outcomes = [
        Outcome(
            attack="membership",
            title=f"Is this {unit} in the data?",
            how=f"Knows the rows of everybody else, sees your answer, and guesses whether the {unit} is in the data.",
            questions=1,
            epsilon=epsilon,
            bound=best_guess(epsilon, delta=delta),
        ),
        Outcome(
            attack="differencing",
            title=f"With and without the {unit}",
            how=(
                f"Asks about everybody, then about everybody except the {unit}, and subtracts. Only the first answer "
                f"depends on the {unit}, so the limit stays."
            ),
            questions=2,
            epsilon=2 * epsilon,
            bound=best_guess(epsilon, delta=delta),  # the second answer is about a table without the target
        ),
    ]
    for times in TIMES:
        outcomes.append(
            Outcome(
                attack="averaging",
                title=f"The same question {times} times",
                how="Asks again and again, and averages the noise away.",
                questions=times,
                epsilon=times * epsilon,
                bound=best_guess(times * epsilon, delta=min(1.0, times * delta)),
            )
        )
    return tuple(outcomes)


def play(
    analysis: Analysis, data: Data, epsilon: float, loss: Loss, progress: Progress, rounds: int = ROUNDS
) -> tuple[Outcome, ...]:
    """All of them on the real rows. Never in normal mode: the caller makes sure of that."""
    with tempfile.TemporaryDirectory(prefix="lapwing-lab-", dir=data.path.parent) as folder:
        other = Data(without_one(data, Path(folder), loss.relation == "replace"), data.statement, None)
        mine = Data(data.path, data.statement, None)
        exact = [analysis.exact(world, lambda _: None) for world in (mine, other)]
        each = AHEAD + rounds
        pools: list[list[Numbers]] = []
        for place, world in enumerate((mine, other)):
            pools.append([])
            for turn in range(each):
                progress((place * each + turn) / (2 * each))
                pools[place].append(_numbers(analysis.release(world, epsilon, lambda _: None)))
    game = Game.of(exact, [pool[:AHEAD] for pool in pools])
    inside, outside = ([game.aligned(answer) for answer in pool[AHEAD:]] for pool in pools)
    outcomes = []
    for outcome in limits(loss, data.statement.unit_word):
        won = game.won(outcome, inside, outside)
        success = sum(won) / len(won) if won else None
        low, high = likely(success, len(won), UNSURE / 2) if success is not None else (None, None)
        accuracy = 1.0 if game.differs else 0.5
        outcomes.append(replace(outcome, exact=accuracy, private=success, low=low, high=high, games=len(won)))
    return tuple(outcomes)


@dataclass(frozen=True, slots=True)
class Game:
    """What the attacker knows beforehand: both answers without noise, and how large the noise of every number is."""

    names: Sequence[tuple[str, str]]
    inside: Sequence[float]
    outside: Sequence[float]
    scales: Sequence[float]
    differs: bool
    """Whether the exact answers do: then they give the target away for certain."""

    @classmethod
    def of(cls, exact: Sequence[Result], seen: Sequence[Sequence[Numbers]]) -> Game:
        """From the exact answers and a few private ones about both tables."""
        quiet = [_numbers(result, bounded=True) for result in exact]
        names = sorted({name for pool in seen for answer in pool for name in answer} & set(quiet[0]) & set(quiet[1]))
        scales = [_scale([[answer.get(name, 0.0) for answer in pool] for pool in seen]) for name in names]
        inside, outside = ([numbers[name] for name in names] for numbers in quiet)
        least = [abs(a - b) / SUREST for a, b in zip(inside, outside, strict=True)]  # also where there is no noise
        scales = [max(pair) for pair in zip(scales, least, strict=True)]
        return cls(names, inside, outside, scales, _numbers(exact[0]) != _numbers(exact[1]))

    def aligned(self, answer: Numbers) -> list[float]:
        """The numbers of an answer in the order of the names; what is not shown counts as nothing."""
        return [answer.get(name, 0.0) for name in self.names]

    def odds(self, answers: Sequence[Sequence[float]]) -> float:
        """The logarithm of the odds that the target is in, each number of each answer being a witness."""
        total = 0.0
        for i, scale in enumerate(self.scales):
            low, high = sorted((self.inside[i], self.outside[i]))
            if low == high or not scale:
                continue
            learned = average([answer[i] for answer in answers], low=low, high=high, scale=scale)
            weight = math.log(learned.sure / (1 - learned.sure)) if learned.sure < 1 else SUREST
            total += weight if learned.guess == self.inside[i] else -weight
        return total

    def difference(self, answer: Sequence[float], others: Sequence[float]) -> float:
        """The same from one answer about a table and one about everybody but the target."""
        best = max(range(len(self.scales)), key=self._strength, default=None)
        if best is None or not self._strength(best):
            return 0.0
        effect = self.inside[best] - self.outside[best]
        learned = differencing(answer[best] / effect, others[best] / effect, noise=self.scales[best] / abs(effect))
        weight = math.log(learned.sure / (1 - learned.sure)) if learned.sure < 1 else SUREST
        return weight if learned.guess == 1 else -weight

    def won(self, outcome: Outcome, inside: list[list[float]], outside: list[list[float]]) -> list[float]:
        """One for every game that the attacker wins; a tie is worth half."""
        if outcome.attack == "differencing":
            half = min(len(inside), len(outside)) // 2
            rounds = [(inside[i], True) for i in range(half)] + [(outside[i], False) for i in range(half)]
            scores = [
                self.difference(answer, outside[half + i % half]) * (1 if there else -1)
                for i, (answer, there) in enumerate(rounds)
            ]
        else:
            size = outcome.questions
            scores = []
            for pool, sign in ((inside, 1), (outside, -1)):
                groups = [pool[start : start + size] for start in range(0, len(pool) - size + 1, size)]
                scores += [sign * self.odds(group) for group in groups]
        return [1.0 if odds > 0 else 0.5 if odds == 0 else 0.0 for odds in scores]

    def _strength(self, place: int) -> float:
        scale = self.scales[place]
        return abs(self.inside[place] - self.outside[place]) / scale if scale else 0.0


def without_one(data: Data, folder: Path, replaced: bool) -> Path:
    """The table without one unit, drawn at random; or with somebody else's rows in its place."""
    target, source = folder / "without.parquet", f"read_parquet({text(str(data.path))}, file_row_number = true)"
    unit = quoted(data.statement.unit) if data.statement.unit else "file_row_number"
    with engine(data.path.parent) as db:
        [count] = db.execute(f"SELECT count(DISTINCT {unit}) FROM {source}").fetchone() or (0,)
        first = uniform_below(count) if count else 0
        ranked = f"(SELECT *, dense_rank() OVER (ORDER BY {unit}) - 1 AS lapwing_rank FROM {source})"
        rest = f"SELECT * EXCLUDE (file_row_number, lapwing_rank) FROM {ranked} WHERE lapwing_rank <> {first}"
        if replaced and count > 1:
            other = (first + 1 + uniform_below(count - 1)) % count
            mine = f"(SELECT any_value({unit}) FROM {ranked} WHERE lapwing_rank = {first})"
            own = f"REPLACE ({mine} AS {unit})" if data.statement.unit else ""
            same = f"SELECT * EXCLUDE (file_row_number, lapwing_rank) {own} FROM {ranked} WHERE lapwing_rank = {other}"
            rest = f"{rest} UNION ALL BY NAME {same}"
        db.execute(f"COPY ({rest}) TO {text(str(target))} (FORMAT parquet)")
    return target


def playable(data: Data) -> bool:
    """Whether the table is small enough. Teaching mode only: it counts rows."""
    with engine(data.path.parent) as db:
        row = db.execute(f"SELECT count(*) FROM read_parquet({text(str(data.path))})").fetchone()
    return bool(row and row[0] <= MOST_ROWS)


def _pair(loss: Loss) -> tuple[float, float]:
    approximate = loss.to_approx(0) if not getattr(loss, "delta", 0) else loss
    return float(approximate.epsilon), float(getattr(approximate, "delta", 0))  # type: ignore[attr-defined]


def _numbers(result: Result, *, bounded: bool = False) -> Numbers:
    """All numbers of an answer by series and label; of an exact one, if wanted, those that clipping leaves."""
    numbers: Numbers = {}
    for series in result.series:
        after = series.name.endswith(f" {AFTER}")
        if after and not bounded:
            continue
        name = series.name.removesuffix(f" {AFTER}")
        numbers |= {(name, value.label): value.value for value in series.values if value.value is not None}
    return numbers


def _scale(pools: Sequence[Sequence[float]]) -> float:
    """How far off a number is on average: the scale, if the noise is Laplace's."""
    away = [abs(value - _middle(pool)) for pool in pools for value in pool]
    return sum(away) / len(away)


def _middle(values: Sequence[float]) -> float:
    ranked = sorted(values)
    half = len(ranked) // 2
    return ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2
