"""A status that changes: every step is estimated, and a history costs what one answer does."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import together
from numpy.typing import NDArray

from lapwing.crowd import Counts, UnaryEncoding
from lapwing.crowd.items import Answers
from lapwing.crowd.monitoring import Monitoring
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6


def threshold(tests: int) -> float:
    """A normal deviate that none of so many exceeds, but for FALSE_ALARM (P(|Z| > z) ≤ 2·e^(−z²/2))."""
    return math.sqrt(2 * math.log(2 * tests / FALSE_ALARM))


def population(n: int, steps: int, seed: int = 1) -> NDArray[np.bool_]:
    """People who are on for a while, or until the end, or never."""
    chance = np.random.default_rng(seed)
    begin, length = chance.integers(0, 2 * steps, n), chance.integers(1, steps + 1, n)
    times = np.arange(steps)
    return (times >= begin[:, None]) & (times < (begin + length)[:, None])


@together("steps", [1, 2, 7, 64, 100])
def test_all_steps_are_estimated_within_their_errors(steps: int) -> None:
    watch = Monitoring(steps=steps, changes=min(2, steps), epsilon=2)
    people = population(20_000, steps)
    found = watch.estimate(watch.absorb(None, watch.randomize(people, Reproducible(steps))))
    assert list(found.labels) == list(range(1, steps + 1))
    away = np.abs(found.counts - people.sum(axis=0)) / found.population_standard_error
    assert away.max() < threshold(steps)
    assert (found.sample_standard_error >= found.population_standard_error).all()


def law(watch: Monitoring, history: tuple[int, ...]) -> dict[tuple[int, tuple[int, ...]], Fraction]:
    """The exact law of (level, bits), straight from the description of the protocol."""
    times = [t for t in range(watch.steps) if history[t] != (history[t - 1] if t else 0)]
    found: dict[tuple[int, tuple[int, ...]], Fraction] = {}
    levels = math.floor(math.log2(watch.steps)) + 1
    flip = watch._flip
    for level in range(levels):
        nodes = watch.steps // 2**level
        for j in range(watch.changes):
            node = times[j] // 2**level if j < len(times) else None
            up = history[times[j]] if j < len(times) else 0
            for bits in product((0, 1), repeat=nodes):
                p = Fraction(1, levels * watch.changes)
                for place, bit in enumerate(bits):
                    p *= Fraction(1, 2) if place != node else (1 - flip if bit == up else flip)
                found[level, bits] = found.get((level, bits), Fraction(0)) + p
    return found


@together(("steps", "changes"), [(1, 1), (2, 2), (3, 1), (4, 2), (5, 3)])
def test_the_stated_loss_covers_every_pair_of_histories_and_is_reached(steps: int, changes: int) -> None:
    watch = Monitoring(steps=steps, changes=changes, epsilon=1)
    laws = [law(watch, history) for history in product((0, 1), repeat=steps)]
    largest = max(max(x[seen] for x in laws) / min(x[seen] for x in laws) for seen in laws[0])
    stated = watch.privacy_loss().epsilon
    assert math.log(largest) <= stated <= 1
    if changes == 1 and steps > 1:
        assert math.log(largest) == pytest.approx(float(stated))


@pytest.mark.parametrize("steps", [3, 4])
@pytest.mark.parametrize("how", ["together", "step by step"])
def test_reports_follow_the_law(steps: int, how: str) -> None:
    watch, history, n = Monitoring(steps=steps, changes=2, epsilon=1), (0, 1, 0, 0)[:steps], 20_000
    entropy = Reproducible(f"{steps} {how}".encode())
    if how == "together":
        reports = watch.randomize([history] * n, entropy)
    else:
        n = 4000
        reports = Reports.together([watched(watch, history, entropy) for _ in range(n)])
    levels = reports.column("level").tolist()
    rows = reports.column("bits")[:, 0].tolist()
    seen: dict[tuple[int, tuple[int, ...]], int] = {}
    for level, row in zip(levels, rows, strict=True):
        bits = tuple(row >> place & 1 for place in range(steps >> level))
        assert row >> (steps >> level) == 0
        seen[level, bits] = seen.get((level, bits), 0) + 1
    expected = law(watch, history)
    assert set(seen) <= set(expected)
    for cell, p in expected.items():
        spread = math.sqrt(n * p * (1 - p))
        assert abs(seen.get(cell, 0) - n * p) < threshold(len(expected)) * spread + 3


def watched(watch: Monitoring, history: tuple[int, ...], entropy: Reproducible) -> Reports:
    watcher = watch.watcher(entropy)
    for status in history:
        watcher.step(status, entropy)
    return watcher.report()


def test_the_variance_is_as_stated() -> None:
    watch = Monitoring(steps=6, changes=2, epsilon=3)
    people = np.repeat(np.array([[0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]), [20, 30, 10], axis=0)
    runs = 4000
    everybody = watch.randomize(np.tile(people, (runs, 1)), Reproducible(8))
    parts = zip(*(np.split(column, runs) for column in everybody.columns), strict=True)
    found = np.array([watch.estimate(watch.absorb(None, Reports(watch, 60, part))).counts for part in parts])
    p = 1 - float(watch._flip)
    ones = np.array([t.bit_count() for t in range(1, 7)])
    truth = people.sum(axis=0)
    variance = 60 * ones * 4 * watch.levels / (2 * p - 1) ** 2 - truth
    assert (np.abs(found.mean(axis=0) - truth) < threshold(6) * np.sqrt(variance / runs)).all()
    stated = watch.estimate(watch.absorb(None, everybody))
    assert stated.population_standard_error**2 == pytest.approx(runs * variance, rel=0.01)
    assert stated.sample_standard_error**2 == pytest.approx(runs * (variance + truth - truth**2 / 60), rel=0.01)
    assert (np.abs(found.var(axis=0) / variance - 1) < threshold(6) * math.sqrt(2.5 / runs)).all()


def test_one_tree_beats_asking_at_every_step() -> None:
    steps, n = 256, 4000
    watch = Monitoring(steps=steps, changes=2, epsilon=1)
    people = population(n, steps)
    tree = watch.estimate(watch.absorb(None, watch.randomize(people, Reproducible(3))))
    daily = UnaryEncoding.from_epsilon(
        epsilon=Fraction(2, steps), symmetric=True, domain=2
    )  # ε/d for each answer, bit by bit
    assert steps * daily.privacy_loss().epsilon > 1.9 * watch.privacy_loss().epsilon  # and twice that is granted to it
    naive = daily.estimate(daily.absorb(None, daily.randomize(people[:, 200].astype(int), Reproducible(4))))
    assert 3 * tree.population_standard_error.max() < naive.population_standard_error[1]
    error = np.sqrt(np.mean((tree.counts - people.sum(axis=0)) ** 2))
    assert error < tree.population_standard_error.max()


def test_a_step_needs_no_bit_of_a_later_one() -> None:
    watch = Monitoring(steps=11, changes=3, epsilon=1)
    people = [tuple(row) for row in population(300, 11).astype(int).tolist()]
    watchers = [watch.watcher(Reproducible(i)) for i in range(len(people))]
    so_far: list[NDArray[np.float64]] = []
    for t in range(11):
        for i, (watcher, history) in enumerate(zip(watchers, people, strict=True)):
            sent = watcher.step(history[t], Reproducible(1000 * i + t))
            assert (sent is not None) == ((t + 1) % 2**watcher.level == 0)
        counts = watch.absorb(None, Reports.together([watcher.report() for watcher in watchers]))
        so_far.append(watch.estimate(counts).counts[: t + 1])
    for t in range(11):
        assert (so_far[t] == so_far[-1][: t + 1]).all()
    with pytest.raises(InvalidParameter, match="after the last"):
        watchers[0].step(1)


def test_changes_beyond_the_promised_number_are_never_told() -> None:
    watch = Monitoring(steps=8, changes=1, epsilon=8)
    restless = watch.randomize([[0, 1, 0, 1, 0, 1, 0, 1]] * 100, Reproducible(2))
    calm = watch.randomize([[0, 1, 1, 1, 1, 1, 1, 1]] * 100, Reproducible(2))
    assert restless == calm


@together("strange", [None, float("nan"), "yes", b"1", object(), [None, "x", float("nan")], [], {}, [[1]], "\ud800"])
def test_strange_histories_count_as_no(strange: object) -> None:
    watch = Monitoring(steps=4, changes=1, epsilon=1)
    assert watch.randomize([strange] * 5, Reproducible(1)) == watch.randomize([[0, 0, 0, 0]] * 5, Reproducible(1))


def test_histories_come_in_many_forms() -> None:
    pd = pytest.importorskip("pandas")
    watch = Monitoring(steps=4, changes=2, epsilon=1)
    rows = [[0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
    expected = watch.randomize(np.array(rows), Reproducible(1))
    forms = [
        rows,
        [tuple(row) for row in rows],
        [[0, 1], [1, 1, 0], [0] * 9],
        np.array(rows, dtype=np.float32),
        np.array(rows, dtype=bool),
        np.array(rows, dtype=object),
        pd.DataFrame(rows),
        Answers([tuple(row) for row in rows], np.arange(3)),
    ]
    for form in forms:
        assert watch.randomize(form, Reproducible(1)) == expected
    with pytest.raises(InvalidParameter, match="many people"):
        watch.randomize("0111")


def test_reports_travel_and_counts_add_up() -> None:
    watch = Monitoring(steps=70, changes=2, epsilon=1)
    reports = watch.randomize(population(500, 70), Reproducible(1))
    assert Reports.from_bytes(watch, reports.to_bytes()) == reports
    halves = watch.absorb(watch.absorb(None, reports[:123]), reports[123:])
    assert halves == watch.absorb(None, reports.shuffled(Reproducible(2)))
    assert Counts.from_bytes(watch, halves.to_bytes()) == halves
    assert watch.absorb(None, watch.randomize([])) == watch.empty()


def test_bits_where_a_level_has_none_are_not_counted() -> None:
    watch = Monitoring(steps=8, changes=1, epsilon=1)
    fake = Reports(watch, 1, (np.array([3], dtype=np.uint8), np.array([[255]], dtype=np.uint64)))
    assert watch.absorb(None, fake).table.tolist()[3] == [1, 0, 0, 0, 0, 0, 0, 0, 1]


@together(
    "parameters",
    [
        {"steps": 0, "changes": 1, "epsilon": 1},
        {"steps": 4, "changes": 5, "epsilon": 1},
        {"steps": 4, "changes": 1, "epsilon": 0},
        {"steps": 1 << 20, "changes": 1, "epsilon": 1},
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Monitoring(**parameters)


def test_a_single_number_is_no_collection_of_histories() -> None:
    with pytest.raises(InvalidParameter, match="many people") as raised:
        Monitoring(steps=3, changes=1, epsilon=1).randomize(np.array(1))
    assert raised.value.hint
