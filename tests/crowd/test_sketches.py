"""Count mean sketches, plain and Hadamard: their reports, their counts, their estimates; and the published features."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from chance import FALSE_ALARM, assert_follows
from numpy.typing import NDArray
from scipy import stats
from sweeps import few

from lapwing.crowd import apple, count_mean_sketch, hadamard_sketch, hashing
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.items import Answers
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_down
from lapwing.noise import SYSTEM, Reproducible

Z = stats.norm.isf(FALSE_ALARM / 2)
Sketch = type[CountMeanSketch] | type[HadamardCountMeanSketch]
both = pytest.mark.parametrize("sketch", [CountMeanSketch, HadamardCountMeanSketch])


def cell(sketch: CountMeanSketch | HadamardCountMeanSketch, function: int, answer: object) -> int:
    """h_j(d), one at a time, in whole numbers."""
    coefficients = [int(one) for one in hashing.rows(sketch.functions, sketch.salt.encode())[:, function]]
    item = hashing.hashed_items([answer], sketch.salt.encode())
    u, v = int(item.u[0]), int(item.v[0])
    a, b, c, d, e = coefficients
    p = hashing.PRIME
    return sketch.width * ((a * (u * u % p) + b * u + c * (v * v % p) + d * v + e) % p) // p


# --- reports and their loss ------------------------------------------------------------------------------------------


def cms_law(sketch: CountMeanSketch, answer: object) -> dict[tuple[int, int], Fraction]:
    law = {}
    for j, bits in product(range(sketch.functions), range(1 << sketch.width)):
        one = 1 << cell(sketch, j, answer)
        flipped = (bits ^ one).bit_count()
        law[j, bits] = sketch.flip**flipped * (1 - sketch.flip) ** (sketch.width - flipped) / sketch.functions
    return law


def hcms_law(sketch: HadamardCountMeanSketch, answer: object) -> dict[tuple[int, int], Fraction]:
    law = {}
    for j, coordinate, bit in product(range(sketch.functions), range(sketch.width), (0, 1)):
        true = (coordinate & cell(sketch, j, answer)).bit_count() % 2
        chance = sketch.flip if bit != true else 1 - sketch.flip
        law[j, 2 * coordinate + bit] = chance / sketch.functions / sketch.width
    return law


def seen(reports: Reports) -> list[tuple[int, int]]:
    columns = zip(reports.protocol.layout, reports.columns, strict=True)
    bits = [column.to_bits(held, reports.n).astype(int) for column, held in columns]
    numbers = [(table << np.arange(table.shape[1])).sum(axis=1) for table in bits]
    rest = numbers[1] if len(numbers) == 2 else 2 * numbers[1] + numbers[2]
    return list(zip(numbers[0].tolist(), rest.tolist(), strict=True))


@pytest.mark.parametrize(
    ("sketch", "law"),
    [
        (CountMeanSketch(epsilon=2, functions=3, width=4, salt="tiny"), cms_law),
        (HadamardCountMeanSketch(epsilon=1, functions=3, width=4, salt="tiny"), hcms_law),
    ],
)
def test_reports_follow_their_law_and_the_loss_is_its_largest_ratio(sketch: Any, law: Callable[..., Any]) -> None:
    laws = [law(sketch, answer) for answer in ("a", "b", 3, None)]
    assert all(sum(one.values()) == 1 for one in laws)
    worst = max(one[report] / other[report] for one in laws for other in laws for report in one)
    stated = sketch.privacy_loss().epsilon
    assert ln_down(worst) <= stated < ln_down(worst) + Fraction(1, 10**20)
    assert stated <= sketch.epsilon
    for seed, (answer, one) in enumerate(zip(("a", "b", 3, None), laws, strict=True)):
        numbers = {report: number for number, report in enumerate(one)}
        drawn = seen(sketch.randomize([answer] * 20_000, Reproducible(seed)))
        chances = [float(p) for p in one.values()]
        assert_follows([numbers[report] for report in drawn], chances.__getitem__, range(len(chances)))


@both
def test_four_is_four_however_it_is_written(sketch: Sketch) -> None:
    written = [sketch(epsilon=epsilon, functions=4, width=8) for epsilon in (4, 4.0, Fraction(4))]
    assert len({one.fingerprint for one in written}) == 1
    assert sketch(epsilon=4, functions=4, width=8, salt="b").fingerprint != written[0].fingerprint


@both
def test_strange_answers_are_answers_like_others(sketch: Sketch) -> None:
    protocol = sketch(epsilon=1, functions=4, width=8)
    strange = [None, float("nan"), "\ud800", b"\xff\x00", [1], {}, object(), 10**40, -1, True, "", 1.5]
    counts = protocol.absorb(None, protocol.randomize(strange, Reproducible(1)))
    assert counts.n == len(strange)
    assert np.isfinite(protocol.estimate(counts, strange).counts).all()


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0), ("epsilon", 100), ("functions", 0), ("width", 1), ("width", 1 << 21), ("salt", "x" * 17)],
)
def test_wrong_parameters_are_named(sketch: Sketch, name: str, value: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        sketch(**{"epsilon": 1, "functions": 4, "width": 8, name: value})
    assert caught.value.name == name


def test_hadamard_matrices_have_powers_of_two() -> None:
    with pytest.raises(InvalidParameter, match=r"Write width=1024\."):
        HadamardCountMeanSketch(epsilon=1, functions=4, width=1000)


@both
def test_one_candidate_must_be_in_a_list(sketch: Sketch) -> None:
    protocol = sketch(epsilon=1, functions=4, width=8)
    with pytest.raises(InvalidParameter, match="candidates"):
        protocol.estimate(protocol.empty(), "apple")


# --- counts ----------------------------------------------------------------------------------------------------------


def test_the_table_of_a_count_mean_sketch_counts_ones_and_reports() -> None:
    sketch = CountMeanSketch(epsilon=1, functions=5, width=70)
    reports = sketch.randomize(range(300), Reproducible(3))
    expected = np.zeros(sketch.shape, dtype=int)
    for function, bits in seen_rows(reports):
        expected[function, :70] += bits
        expected[function, 70] += 1
    assert (sketch.absorb(None, reports).table == expected).all()


def seen_rows(reports: Reports) -> list[tuple[int, NDArray[Any]]]:
    rows = reports.protocol.layout[1].to_bits(reports.columns[1], reports.n)
    return list(zip(reports.columns[0].tolist(), rows, strict=True))


@pytest.mark.parametrize("at_a_time", [64, 1 << 17])
def test_the_table_of_a_hadamard_sketch_sums_signs(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hadamard_sketch, "MANY", at_a_time)
    sketch = HadamardCountMeanSketch(epsilon=1, functions=5, width=8)
    reports = sketch.randomize(range(1000), Reproducible(3))
    expected = np.zeros(sketch.shape, dtype=int)
    for function, rest in seen(reports):
        expected[function, rest // 2] += 1 - 2 * (rest % 2)
    assert (sketch.absorb(None, reports).table == expected).all()


@pytest.mark.parametrize(("tile", "items_at_a_time"), [(1, 1), (64, 7), (1 << 15, 1 << 13)])
def test_cells_are_summed_alike_in_tiles_of_any_size(
    tile: int, items_at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_mean_sketch, "TILE", tile)
    monkeypatch.setattr(count_mean_sketch, "ITEMS", items_at_a_time)
    tables = np.random.default_rng(5).integers(-50, 50, (2, 9, 33))
    items, rows = hashing.hashed_items(range(40), b"s"), hashing.rows(9, b"s")
    expected = [
        [sum(int(table[j, hashing.cells(items, rows[:, j], 32)[i]]) for j in range(9)) for i in range(40)]
        for table in tables
    ]
    assert count_mean_sketch.sums_at(tables, items, rows, 32).tolist() == expected


@both
def test_answers_that_nobody_gives_need_not_be_hashed(sketch: Sketch) -> None:
    protocol = sketch(epsilon=2, functions=8, width=16)
    few = Answers(["a", "b"], np.array([0, 1, 1]))
    many = Answers([*"xyzuvw", "a", "b"], np.array([6, 7, 7]))
    assert protocol.randomize(few, Reproducible(1)) == protocol.randomize(many, Reproducible(1))


# --- estimates -------------------------------------------------------------------------------------------------------


PEOPLE = {"a": 120, "b": 60, "c": 15, "d": 5}
COLLECTIONS = 1500


def apple_variance(sketch: CountMeanSketch | HadamardCountMeanSketch, label: str) -> float:
    """The published formulas, from the true counts of all answers."""
    n, k, m = sum(PEOPLE.values()), sketch.functions, sketch.width
    others = [count for one, count in PEOPLE.items() if one != label]
    squares, f = sum(count**2 for count in others), float(sketch.flip)
    if isinstance(sketch, CountMeanSketch):
        odds = (1 - f) / f  # e^(ε/2)
        inner = n * odds / (odds - 1) ** 2 + (1 / m) * (1 - 1 / m) * ((1 - 1 / k) * sum(others) + squares / k)
    else:
        c = 1 / (1 - 2 * f)
        inner = n * c**2 - PEOPLE.get(label, 0) + (1 / m) * (1 - 1 / m) * squares / k
        inner -= sum(others) * (1 / m**2 + (1 / m) * (1 - 1 / m) / k)
    return (m / (m - 1)) ** 2 * inner


@both
def test_estimates_are_unbiased_and_vary_as_published(sketch: Sketch) -> None:
    """Over coins, functions and hash functions (a new salt each time), for the same people."""
    people, labels = Answers.counted(PEOPLE), [*PEOPLE, "nobody"]
    entropy, found, squares = Reproducible(11), [], []
    for salt in range(COLLECTIONS):
        protocol = sketch(epsilon=3, functions=4, width=16, salt=str(salt))
        counts = protocol.absorb(None, protocol.randomize(people, entropy))
        found.append(protocol.estimate(counts, labels).counts)
        pairs = protocol._pairs(counts.table, counts.n)
        squares.append((4 * pairs + counts.n - counts.n**2 / 16) / (1 - 1 / 16))
    estimates = np.array(found)
    for label, column in zip(labels, estimates.T, strict=True):
        variance = apple_variance(protocol, label)
        assert abs(column.mean() - PEOPLE.get(label, 0)) < Z * math.sqrt(variance / COLLECTIONS), label
        spread = stats.moment(column, 4) / column.var() ** 2 - 1  # collisions are not normal
        assert abs(column.var() / variance - 1) < Z * math.sqrt(spread / COLLECTIONS), label
    off = np.mean(squares) - sum(count**2 for count in PEOPLE.values())
    assert abs(off) < Z * np.std(squares) / math.sqrt(COLLECTIONS)


@both
def test_standard_errors_are_those_of_the_published_formulas(sketch: Sketch) -> None:
    """For many people, when estimates in the place of counts make no difference."""
    protocol = sketch(epsilon=4, functions=16, width=64, salt="errors")
    people = Answers.counted({label: 1000 * count for label, count in PEOPLE.items()})
    found = protocol.estimate(protocol.absorb(None, protocol.randomize(people, Reproducible(2))), list(PEOPLE))
    n, k, m, f = len(people), 16, 64, float(protocol.flip)
    for place, (_, count) in enumerate(PEOPLE.items()):
        others = [1000 * one for one in PEOPLE.values() if one != count]
        collisions = (1 / m) * (1 - 1 / m) * ((1 - 1 / k) * sum(others) + sum(one**2 for one in others) / k)
        c = 1 / (1 - 2 * f)
        coins = n * f * (1 - f) * c**2 if sketch is CountMeanSketch else n * c**2 - 1000 * count - sum(others) / m
        population = (m / (m - 1)) ** 2 * (coins + collisions)
        drawn = 1000 * count * (1 - 1000 * count / n)
        assert found.population_standard_error[place] ** 2 == pytest.approx(population, rel=0.05)
        assert found.sample_standard_error[place] ** 2 == pytest.approx(population + drawn, rel=0.05)


@both
def test_a_fake_report_adds_at_most_the_stated_gain(sketch: Sketch) -> None:
    protocol = sketch(epsilon=1, functions=4, width=8)
    before = protocol.absorb(None, protocol.randomize(["a"] * 100, Reproducible(1)))
    changes = []
    for seed in range(200):
        after = protocol.absorb(before, protocol.randomize([seed], Reproducible(seed)))
        changes.append(protocol.estimate(after, ["a"])["a"] - protocol.estimate(before, ["a"])["a"])
    assert max(map(abs, changes)) == pytest.approx(protocol.estimate(before, ["a"]).gain_per_fake)


@both
@pytest.mark.parametrize(("functions", "width"), few([(2, 2), (1, 4), (1, 16)]))
def test_the_error_is_right_on_average_however_few_cells_there_are(sketch: Sketch, functions: int, width: int) -> None:
    """The square of an estimate is larger than that of the count: with few cells that used to hide the collisions."""
    people, runs = Answers.counted({"a": 400, "b": 500, "c": 100}), 150
    found = []
    for run in range(runs):
        protocol = sketch(epsilon=8, functions=functions, width=width, salt=f"run {run}")
        state = protocol.absorb(None, protocol.randomize(people, Reproducible(run)))
        found.append(protocol.estimate(state, ["a", "b", "c", "d"]))
    off = np.array([one.counts for one in found]) - [400, 500, 100, 0]
    difference = np.array([one.population_standard_error**2 for one in found]) - off**2
    slack = 0.07 * (off**2).mean(axis=0)  # what is kept from being negative is not unbiased
    assert (np.abs(difference.mean(axis=0)) < Z * difference.std(axis=0) / math.sqrt(runs) + slack).all()


@both
def test_one_function_of_two_cells_knows_no_error(sketch: Sketch) -> None:
    protocol = sketch(epsilon=8, functions=1, width=2)
    state = protocol.absorb(None, protocol.randomize(["a", "b"], Reproducible(1)))
    assert protocol.estimate(state, ["a"]).population_standard_error.tolist() == [math.inf]


@both
def test_sizes_may_be_numbers_of_numpy_and_are_not_without_end(sketch: Sketch) -> None:
    plain, other = sketch(epsilon=1, functions=4, width=8), sketch(epsilon=1, functions=np.int64(4), width=np.int8(8))
    assert other.fingerprint == plain.fingerprint
    assert other.randomize(["a"], Reproducible(1)) == plain.randomize(["a"], Reproducible(1))
    with pytest.raises(InvalidParameter, match="numbers to keep"):
        sketch(epsilon=1, functions=1 << 24, width=1 << 20)
    with pytest.raises(InvalidParameter, match="epsilon = 100"):
        sketch(epsilon=100, functions=4, width=8)


@both
def test_no_reports_say_nothing(sketch: Sketch) -> None:
    protocol = sketch(epsilon=1, functions=4, width=8)
    nothing = protocol.estimate(protocol.empty(), ["a", "b"])
    assert nothing.counts.tolist() == [0, 0]
    assert nothing.sample_standard_error.tolist() == [0, 0]
    assert len(protocol.estimate(protocol.empty(), [])) == 0


@both
def test_large_populations_come_out_right_on_two_threads(sketch: Sketch) -> None:
    protocol = sketch(epsilon=4, functions=1024, width=256, salt="large")
    people = Answers.counted({f"w{rank}": 6_000 // rank + 1000 for rank in range(1, 200)})
    labels = [*people.labels, *(f"nobody {i}" for i in range(300))]
    found = protocol.estimate(protocol.absorb(None, protocol.randomize(people, SYSTEM)), labels)
    truth = np.array([people.counts().get(label, 0) for label in labels])
    off = (found.counts - truth) / found.population_standard_error
    assert np.abs(off).max() < stats.norm.isf(FALSE_ALARM / 4 / len(labels))


# --- what is deployed ------------------------------------------------------------------------------------------------


def test_presets_have_the_published_parameters() -> None:
    emoji, domains = apple.preset("popular emoji"), apple.preset("Safari energy-draining domains", salt="2026")
    assert (type(emoji), emoji.shape) == (CountMeanSketch, (65536, 1025))
    assert (type(domains), domains.shape) == (HadamardCountMeanSketch, (1024, 32768))
    assert [sum(column.bits for column in one.layout) for one in (emoji, domains)] == [16 + 1024, 10 + 15 + 1]
    assert 1.99 < float(apple.preset("health type usage").privacy_loss().epsilon) <= 2
    assert 15.9 < float(apple.FEATURES["Safari auto-play intent"].daily_loss().epsilon) <= 16


def test_what_was_not_published_is_not_invented() -> None:
    assert apple.FEATURES["new words"].unknown == ("epsilon",)
    assert apple.FEATURES["Safari crashing domains"].unknown == ("algorithm", "epsilon", "width", "functions")
    for feature in apple.FEATURES.values():
        if feature.unknown:
            with pytest.raises(InvalidParameter, match="did not publish"):
                apple.preset(feature.name)
    with pytest.raises(InvalidParameter, match="popular emoji"):
        apple.preset("emojis")
