"""What all protocols stand on: packed bits, hash functions, answers, reports, probabilities and estimates."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, assert_share
from hypothesis import given
from hypothesis import strategies as st
from protocols import PRIME, plain_cell, plain_text, plain_words
from scipy import optimize, stats

from lapwing.crowd import Answers, Counts, Estimates, Reports, UnaryEncoding
from lapwing.crowd import hashing as h
from lapwing.crowd.bits import (
    LANES,
    WORD,
    BitCounters,
    bits_at,
    column_counts,
    grouped_column_counts,
    noise_rows,
    ones,
    pack,
    put,
    unpack_rows,
    words_for,
)
from lapwing.crowd.categories import CategoryResponse, count_places
from lapwing.crowd.domains import domain_of
from lapwing.crowd.estimates import from_support
from lapwing.crowd.reports import Column
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms.probabilities import LARGEST_EPSILON, flip_probability
from lapwing.noise import Reproducible

CHANCE = np.random.default_rng(4)


def random_rows(count: int, bits: int) -> np.ndarray:
    rows = CHANCE.integers(0, 1 << 64, (count, words_for(bits)), dtype=np.uint64)
    if bits % WORD:
        rows[:, -1] &= np.uint64((1 << bits % WORD) - 1)
    return rows


# --- bits ------------------------------------------------------------------------------------------------------------


@together("bits", [1, 63, 64, 65, 200])
@together("count", [0, 1, 2, 255, 3001])
def test_columns_are_counted_as_if_unpacked(bits: int, count: int) -> None:
    rows = random_rows(count, bits)
    before = rows.copy()
    assert (column_counts(rows, bits) == unpack_rows(rows, bits).sum(axis=0, dtype=np.int64)).all()
    assert (rows == before).all()


def test_many_rows_of_ones_overflow_no_counter() -> None:
    count = 3 * LANES + 17
    rows = np.full((count, 1), ~np.uint64(0))
    assert (column_counts(rows, 64) == count).all()
    assert column_counts(rows, 3).tolist() == [count] * 3


@together(("bits", "size"), [(1, 1), (70, 3), (130, 40), (64, 5000)])
def test_columns_are_counted_by_group(bits: int, size: int) -> None:
    rows, groups = random_rows(2000, bits), CHANCE.integers(0, size, 2000).astype(np.uint16)
    found = np.zeros((size, bits), dtype=np.int64)
    for here, counts in grouped_column_counts(rows, groups, size, bits):
        found[here] = counts
    expected = np.zeros((size, bits), dtype=np.int64)
    np.add.at(expected, groups, unpack_rows(rows, bits).astype(np.int64))
    assert (found == expected).all()


def test_upright_counters_count_what_is_added() -> None:
    layers = [random_rows(5, 100) for _ in range(37)]
    counter = BitCounters((5, 2))
    for layer in layers:
        counter.add(layer)
    assert (counter.totals(100) == sum(unpack_rows(layer, 100).astype(np.int64) for layer in layers)).all()


@together("bits", [1, 64, 65, 130])
def test_bits_are_put_and_read_where_they_belong(bits: int) -> None:
    rows = random_rows(500, bits)
    places, truths = CHANCE.integers(0, bits, 500), CHANCE.random(500) < 0.5
    plain = unpack_rows(rows, bits)
    which = np.arange(500)
    put(rows, which, places, truths)
    plain[which, places] = truths
    assert (unpack_rows(rows, bits) == plain).all()
    assert (bits_at(rows, places) == truths).all()


def test_packing_is_the_inverse_of_unpacking() -> None:
    for n in (0, 1, 63, 64, 65, 1000):
        truths = CHANCE.random(n) < 0.3
        words = pack(truths)
        assert words.dtype == np.uint64
        assert len(words) == words_for(n)
        assert (unpack_rows(words.reshape(1, -1), n)[0] == truths).all()
        assert ones(words) == truths.sum()


@together("bits", [1, 63, 64, 65])
@together("probability", [Fraction(1, 4), Fraction(1, 3), Fraction(489, 4096)])
def test_every_column_of_noise_has_its_probability_and_spare_bits_are_zero(bits: int, probability: Fraction) -> None:
    rows = noise_rows(20_000, bits, probability, Reproducible(bits))
    counts = column_counts(rows, bits)
    for count in counts.tolist():
        assert_share(count, 20_000, float(probability))
    assert ones(rows) == counts.sum()


@given(st.lists(st.integers(0, 9), max_size=300), st.integers(10, 3000))
def test_places_are_counted(places: list[int], size: int) -> None:
    found = count_places(np.array(places, dtype=np.uint16), size)
    assert found.tolist() == [places.count(place) for place in range(size)]


def test_places_are_counted_on_several_threads() -> None:
    places = CHANCE.integers(0, 50, 3_000_000).astype(np.uint8)
    assert (count_places(places, 51) == np.bincount(places, minlength=51)).all()


# --- hash functions --------------------------------------------------------------------------------------------------

ITEMS: list[Any] = ["", "a", "Oslo", "ß∂", "\ud800", 0, 17, -5, 10**30, b"\0\xff", True, None, 1.5]


@together("salt", [b"", b"survey", b"0123456789abcdef"])
@together("width", [1, 2, 7, 1024, 1 << 20])
def test_cells_are_what_the_definition_says_in_plain_whole_numbers(salt: bytes, width: int) -> None:
    items, coefficients = h.hashed_items(ITEMS, salt), h.rows(5, salt)
    texts = [item if isinstance(item, bytes) else plain_text(item) for item in ITEMS]
    for row in range(5):
        expected = [plain_cell(text, salt, row, width) for text in texts]
        assert h.cells(items, coefficients[:, row], width).tolist() == expected
        each = h.cells(items, np.repeat(coefficients[:, row : row + 1], len(ITEMS), axis=1), width)
        assert each.tolist() == expected


def test_the_largest_characters_and_coefficients_are_still_exact() -> None:
    few = [0, 1, PRIME // 2, PRIME - 2, PRIME - 1]
    extremes = list(itertools.product(few, repeat=2))
    u, v = (np.array(column, dtype=np.float64) for column in zip(*extremes, strict=True))
    items = h.HashInput(u, h.reduced(u * u), v, h.reduced(v * v))
    for numbers in itertools.product([0, 1, PRIME - 1], repeat=5):
        a, b, c, d, e = numbers
        exact = [(a * x * x + b * x + c * y * y + d * y + e) % PRIME for x, y in extremes]
        for width in (3, h.LARGEST_WIDTH - 1, h.LARGEST_WIDTH):
            found = h.cells(items, np.array(numbers, dtype=np.float64), width)
            assert found.tolist() == [width * value // PRIME for value in exact]


def test_remainders_are_exact_next_to_every_multiple() -> None:
    most = (1 << 52) // PRIME
    chosen = {1, 2, 3, most - 1, most, *CHANCE.integers(1, most, 3000).tolist()}
    numbers = [k * PRIME + r for k in sorted(chosen) for r in (-2, -1, 0, 1, 2) if k * PRIME + r <= 1 << 52]
    found = h.reduced(np.array(numbers, dtype=np.float64))
    assert found.tolist() == [number % PRIME for number in numbers]


def test_items_of_different_kinds_have_their_text() -> None:
    assert h.text_of("é") == b"\xc3\xa9"
    assert h.text_of(12) == h.text_of("12") == h.text_of(np.int64(12)) == b"12"
    assert h.text_of(b"x") == b"x"
    assert h.text_of(1.0) == h.text_of(None) == h.text_of([]) == h.MISSING
    u, v = plain_words(b"lapwing item 1", b"s", b"12", 2)
    one = h.hashed_items([12], b"s")
    assert (one.u[0], one.v[0], one.u_squared[0], one.v_squared[0]) == (u, v, u * u % PRIME, v * v % PRIME)
    assert len(h.hashed_items([], b"")) == 0


def test_three_items_fall_independently() -> None:
    """Chi-square over all triples of cells, from many functions: uniform on the product."""
    functions, width = 20_000, 4
    for trio in (["a", "b", "c"], [1, 2, 3], ["x", "xy", "xyz"]):
        items = h.hashed_items(trio, b"three")
        coefficients = h.rows(functions, b"three")
        cells = [h.cells(items.take([i]), coefficients, width).astype(int) for i in range(3)]
        codes = (cells[0] * width + cells[1]) * width + cells[2]
        assert_follows(codes.tolist(), lambda code: width**-3, range(width**3))


def test_salts_and_rows_give_other_functions() -> None:
    items = h.hashed_items(range(200), b"one")
    one = h.cells(items, h.rows(2, b"one")[:, 0], 1000)
    other_row = h.cells(items, h.rows(2, b"one")[:, 1], 1000)
    other_salt = h.cells(h.hashed_items(range(200), b"two"), h.rows(2, b"two")[:, 0], 1000)
    assert (one == other_row).mean() < 0.1
    assert (one == other_salt).mean() < 0.1
    assert not h.rows(2, b"one").flags.writeable


@together("salt", ["x" * 17, "a\0", 3, None, "ü" * 9])
def test_salts_that_could_be_ambiguous_are_refused(salt: Any) -> None:
    with pytest.raises(InvalidParameter, match="salt"):
        h.check_salt(salt)


# --- answers ---------------------------------------------------------------------------------------------------------


@together(
    "values",
    [
        ["a", "b", "a", None, 3, "a"],
        np.array([3, 1, 3, 0]),
        np.array([-3, 10**15, -3]),
        np.array([True, False, True]),
        np.array([1.5, math.nan, 1.5]),
        np.array(["x", "y", "x"]),
        (1, 2, 1),
        [],
        np.array([], dtype=np.uint8),
    ],
)
def test_everybodys_answer_is_found_again(values: Any) -> None:
    answers = Answers.of(values)
    assert len(answers) == len(values)
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    for value, place in zip(listed, answers.places.tolist(), strict=True):
        label = answers.labels[place]
        assert label == value or (label is None and value != value)
    assert sum(answers.counts().values()) == len(values)
    assert Answers.of(answers) is answers
    assert len(answers[1:]) == max(len(values) - 1, 0)


def test_what_cannot_be_compared_or_hashed_is_no_answer() -> None:
    answers = Answers.of([[1], {}, math.nan, Decimal("sNaN"), None, "a"])
    assert answers.counts() == {None: 5, "a": 1}


def test_answers_of_other_types_are_different_answers() -> None:
    assert len(Answers.of([1, True, 1.0, "1", b"1"]).labels) == 5


def test_a_population_can_be_counted() -> None:
    answers = Answers.counted({"a": 3, "b": 0, "c": 2})
    assert answers.places.tolist() == [0, 0, 0, 2, 2]
    with pytest.raises(InvalidParameter):
        Answers.counted({"a": -1})


def test_places_within_a_domain() -> None:
    labels, index = domain_of(["a", "b", 1, None])
    assert Answers.of(["b", 1, None, True, 1.0, "z", [], math.nan]).within(labels, index).tolist() == [
        *(1, 2, 3, 2, 2, -1, 3, 3)
    ]
    numbers, none = domain_of(3)
    assert none is None
    assert Answers.of([0, 2, 3, -1, 1.0, 1.5, "1", None]).within(numbers, None).tolist() == [
        0,
        2,
        -1,
        -1,
        1,
        -1,
        -1,
        -1,
    ]
    assert Answers.of(np.array([0, 2, 3, 700])).within(numbers, None).tolist() == [0, 2, -1, -1]
    assert Answers.of(np.array([0, -2, 3])).within(numbers, None).tolist() == [0, -1, -1]
    assert Answers.of([]).within(labels, index).tolist() == []


@together("domain", [1, True, 0, -3, "abc", b"ab", ["a"], ["a", "a"], [math.nan, 1], [[1], 2], 2.5, None])
def test_domains_that_are_none_are_refused(domain: Any) -> None:
    with pytest.raises(InvalidParameter, match="domain"):
        domain_of(domain)


# --- reports ---------------------------------------------------------------------------------------------------------


@together(
    "column",
    [
        Column.bit("a"),
        *(Column.number("a", below) for below in (1, 2, 256, 1000, 1 << 16, 1 << 40)),
        *(Column.row("a", bits) for bits in (5, 64, 65)),
    ],
)
@together("n", [0, 1, 63, 64, 65, 200])
def test_columns_come_back_from_their_bits(column: Column, n: int) -> None:
    bits = CHANCE.integers(0, 2, (n, column.bits)).astype(np.uint8)
    held = column.from_bits(bits)
    assert held.shape == column.shape(n)
    assert held.dtype == np.dtype(column.dtype)
    assert (column.to_bits(held, n) == bits).all()


POLL = UnaryEncoding.from_epsilon(2, domain=70)


def test_some_of_the_reports_are_those_reports() -> None:
    reports = POLL.randomize(np.arange(200) % 70, Reproducible(1))
    some = reports[[3, 5, 199]]
    assert some.n == 3
    assert (some.column("bits") == reports.column("bits")[[3, 5, 199]]).all()
    assert reports[10:20] + reports[20:30] == reports[10:30]
    shuffled = reports.shuffled(Reproducible(2))
    assert shuffled != reports
    assert sorted(map(bytes, shuffled.column("bits"))) == sorted(map(bytes, reports.column("bits")))
    assert "70 bits each" in repr(reports)
    assert hash(reports) == hash(reports[:])


def test_one_persons_report_is_the_reports_of_one_person() -> None:
    """Bits of many people run on without a gap; one person's report has its own bytes."""
    poll = CategoryResponse.from_epsilon(1, domain=5)
    reports = poll.randomize([0, 1, 2, 3, 4], Reproducible(1))
    alone = [Reports.from_bytes(poll, reports[i : i + 1].to_bytes()) for i in range(5)]
    assert Reports.together(alone) == reports


def test_numbers_out_of_range_and_spare_bits_are_refused() -> None:
    poll = CategoryResponse.from_epsilon(1, domain=5)  # three bits
    data = poll.randomize([0], Reproducible(1)).to_bytes()
    for last in range(256):
        if last < 5:
            assert Reports.from_bytes(poll, data[:-1] + bytes([last])).column("answer").tolist() == [last]
        else:
            with pytest.raises(InvalidParameter):
                Reports.from_bytes(poll, data[:-1] + bytes([last]))


def test_counts_are_refused_elsewhere_and_compare_by_value() -> None:
    one, other = POLL.absorb(None, POLL.randomize([1, 2], Reproducible(1))), POLL.empty()
    assert one != other
    assert one == one + other
    assert one != "counts"
    assert hash(one) == hash(one + other)
    assert "2 reports" in repr(one)
    for broken in (b"", one.to_bytes()[:-1], one.to_bytes() + b"\0", b"LWC9" + one.to_bytes()[4:]):
        with pytest.raises(InvalidParameter, match="counts of this protocol"):
            Counts.from_bytes(POLL, broken)


@together(
    ("one", "other"),
    [
        (["1", "2"], [1, 2]),
        (["1/2", "2"], [Fraction(1, 2), "2"]),
        ([1.5, 2.5], ["3/2", "5/2"]),
        (["61", "x"], [b"a", "x"]),
        (["None", "x"], [None, "x"]),
        ([math.inf, 1], ["inf", 1]),
        ([("a", "b"), "c"], ["a", "b", "c"]),
        (2, [0, 1]),
    ],
)
def test_fingerprints_tell_domains_apart_that_print_alike(one: Any, other: Any) -> None:
    first, second = (UnaryEncoding.from_epsilon(1, domain=domain) for domain in (one, other))
    assert first.fingerprint != second.fingerprint


def test_equal_parameters_have_one_fingerprint_however_they_are_written() -> None:
    written = [0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5)]
    polls = [UnaryEncoding(domain=5, one_if_true=half, one_if_other=0.25) for half in written]
    assert len({poll.fingerprint for poll in polls}) == 1
    assert len(set(polls)) == 1
    assert polls[0].parameters()["one_if_true"] == "1/2"


# --- probabilities ---------------------------------------------------------------------------------------------------


@given(st.fractions(Fraction(1, 1000), 40), st.integers(1, 5000))
def test_flip_probabilities_cost_what_was_asked_or_a_little_less(epsilon: Fraction, others: int) -> None:
    q = flip_probability(epsilon, others=others)
    p = 1 - others * q
    assert 0 < q < p
    assert Fraction(998, 1000) * epsilon < ln_up(p / q) <= epsilon
    assert q.denominator & (q.denominator - 1) == 0


@together("epsilon", [0, -1, math.nan, math.inf, LARGEST_EPSILON + 1, Fraction(1, 10**30), "1", None])
def test_epsilons_that_protect_nobody_or_say_nothing_are_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        flip_probability(epsilon)


# --- estimates -------------------------------------------------------------------------------------------------------


def estimates(counts: list[float], n: int) -> Estimates:
    array = np.array(counts, dtype=np.float64)
    return Estimates(
        [f"answer {i}" for i in range(len(counts))], n, array, np.ones_like(array), 2 * np.ones_like(array), 3
    )


@given(st.lists(st.floats(-50, 150), min_size=1, max_size=6), st.integers(0, 100))
def test_the_projection_is_the_nearest_point_of_the_simplex(counts: list[float], n: int) -> None:
    """Brute force: the nearest point is the projection onto one of the faces, the best of those that are feasible."""
    found = estimates(counts, n).onto_simplex()
    assert found.counts.min() >= 0
    assert found.counts.sum() == pytest.approx(n, abs=1e-6)
    best = math.inf
    for size in range(1, len(counts) + 1):
        for face in itertools.combinations(range(len(counts)), size):
            shift = (sum(counts[i] for i in face) - n) / size
            point = np.array([counts[i] - shift if i in face else 0.0 for i in range(len(counts))])
            if point.min() >= -1e-12:
                best = min(best, float(((point - counts) ** 2).sum()))
    assert float(((found.counts - counts) ** 2).sum()) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert "biased" in found.remark


def test_the_projection_is_only_on_request_and_no_farther_from_the_truth() -> None:
    poll = CategoryResponse.from_epsilon(1, domain=50)
    truth = np.zeros(50)
    truth[:3] = 600, 300, 100
    people = Answers.counted(dict(enumerate(truth.astype(int).tolist())))
    found = poll.estimate(poll.absorb(None, poll.randomize(people, Reproducible(1))))
    assert found.counts.min() < 0, "cut off without being asked"
    assert found.remark == "unbiased"
    assert np.linalg.norm(found.onto_simplex().counts - truth) < np.linalg.norm(found.counts - truth)


def test_intervals_have_their_coverage() -> None:
    poll, runs = UnaryEncoding.from_epsilon(1, domain=20), 400
    people = Answers.counted(dict(enumerate([2000, 1000] + [50] * 18)))
    truth = np.array(list(people.counts().values()), dtype=float)
    entropy, single, all_at_once = Reproducible(6), 0, 0
    for _ in range(runs):
        found = poll.estimate(poll.absorb(None, poll.randomize(people, entropy)), confidence=0.9)
        low, high = found.interval("respondents")
        single += int(((low <= truth) & (truth <= high)).sum())
        low, high = found.interval("respondents", simultaneous=True)
        all_at_once += bool(((low <= truth) & (truth <= high)).all())
        wide = found.interval("sample")
        assert (wide[0] <= found.interval("respondents")[0]).all()
    assert abs(single / (runs * 20) - 0.9) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(0.09 / (runs * 20)) + 0.005
    assert stats.binom.cdf(all_at_once, runs, 0.9) > FALSE_ALARM


def test_intervals_refuse_other_questions_and_confidences() -> None:
    with pytest.raises(InvalidParameter, match="about"):
        estimates([1, 2], 3).interval("people")  # type: ignore[arg-type]
    poll = UnaryEncoding.from_epsilon(1, domain=2)
    with pytest.raises(InvalidParameter, match="confidence"):
        poll.estimate(poll.empty(), confidence=1.5).interval()


def test_estimates_can_be_read() -> None:
    found = estimates([5.0, -1.0, 40.0], 44)
    assert found["answer 2"] == 40
    assert len(found) == 3
    assert found.shares.sum() == pytest.approx(1)
    assert found.top(2).labels == ["answer 2", "answer 0"]
    assert found.top(2).sample_standard_error.tolist() == [2, 2]
    assert found.moved_by(10) == pytest.approx(30 / 44)
    lines = found.to_csv().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("answer,count,share,population_standard_error")
    assert "one fake report" in str(found)
    assert "more" in str(estimates([1.0] * 50, 50))
    with pytest.raises(ValueError, match="is not one of these answers"):
        found["nothing"]


def test_nobody_at_all_can_be_estimated() -> None:
    found = from_support(["a"], np.zeros(1, dtype=np.int64), 0, if_true=Fraction(1, 2), if_other=Fraction(1, 4))
    assert found.counts.tolist() == [0]
    assert found.shares.tolist() == [0]
    assert found.sample_standard_error.tolist() == [0]


def test_a_fake_report_gains_what_is_said() -> None:
    """Poisoning of optimised unary encoding: β((1−q)/(p−q) − f) with β = 5 %, f = 1 % (Cao, Jia and Gong 2021)."""
    for epsilon, expected in ((0.5, 0.2636), (1, 0.1677), (4, 0.1114)):
        poll = UnaryEncoding.from_epsilon(epsilon, domain=100)
        gain = poll.estimate(poll.empty()).gain_per_fake
        assert 0.01 + 0.05 * (gain - 0.01) == pytest.approx(expected, abs=5e-4)
        n, q = 1000, float(poll.one_if_other)
        honest = np.full(100, round(n * q), dtype=np.int64)
        poisoned = honest.copy()
        poisoned[7] += 1
        before, after = (
            poll.estimate(Counts(poll, people, t)).counts[7] for people, t in ((n, honest), (n + 1, poisoned))
        )
        assert after - before == pytest.approx(gain)


def test_the_optimised_encoding_has_the_least_variance_for_a_rare_answer() -> None:
    def variance(p: float) -> float:
        q = p / (p + (1 - p) * math.e)  # p(1−q)/((1−p)q) = e
        return q * (1 - q) / (p - q) ** 2

    found = optimize.minimize_scalar(variance, bounds=(0.01, 0.99), method="bounded")
    assert found.x == pytest.approx(0.5, abs=1e-3)
