"""The Walsh–Hadamard transform and the Hadamard response."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows
from protocols import Case, Law, loss_ratio, pure_variances, written
from scipy import stats

from lapwing.crowd import Answers, Counts, Reports
from lapwing.crowd.hadamard import BLOCK, HadamardResponse, signs, walsh_hadamard
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_down
from lapwing.mechanisms.probabilities import flip_probability
from lapwing.noise import Reproducible


def matrix(size: int) -> np.ndarray:
    """Sylvester's construction, to compare with."""
    built = np.ones((1, 1), dtype=np.int64)
    while len(built) < size:
        built = np.block([[built, built], [built, -built]])
    return built


@together("size", [1, 2, 4, 8, 16, 64, 512, 1024])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_transform_is_multiplication_by_sylvesters_matrix(size, kind):
    table = np.random.default_rng(size).integers(-1000, 1000, (3, size)).astype(kind)
    transformed = walsh_hadamard(table)
    assert transformed.dtype == kind
    assert (transformed == table @ matrix(size)).all()


@pytest.mark.parametrize("size", [BLOCK // 2, BLOCK, 4 * BLOCK])
def test_transforming_twice_multiplies_by_the_length_whatever_the_blocks(size):
    table = np.random.default_rng(1).integers(-(1 << 30), 1 << 30, (3, size))
    once = walsh_hadamard(table)
    place = 3 * size // 4 + 5
    column = 1 - 2 * signs(np.arange(size, dtype=np.uint64), np.uint64(place)).astype(np.int64)
    assert (once[:, place] == table @ column).all()
    assert (walsh_hadamard(once) == size * table).all()


def test_in_place_is_the_same_and_the_argument_is_untouched_otherwise():
    table = np.random.default_rng(2).integers(-9, 9, (5, 2, 128))
    before = table.copy()
    fresh = walsh_hadamard(table)
    assert (table == before).all()
    assert walsh_hadamard(table, in_place=True) is table
    assert (table == fresh).all()


def test_other_whole_numbers_become_int64_without_overflow():
    assert walsh_hadamard(np.full(256, 127, dtype=np.int8))[0] == 127 * 256


@together("bad", [np.zeros(3), np.zeros((2, 0)), np.float64(1.0)])
def test_lengths_that_are_no_power_of_two_are_refused(bad):
    with pytest.raises(InvalidParameter, match="power of two"):
        walsh_hadamard(bad)


def test_in_place_refuses_what_it_could_not_overwrite():
    with pytest.raises(InvalidParameter, match="C-contiguous"):
        walsh_hadamard(np.zeros((4, 8)).T, in_place=True)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("modern", [True, False])
def test_signs_are_parities_in_every_unsigned_type(kind, modern, monkeypatch):
    if not modern and hasattr(np, "bitwise_count"):
        monkeypatch.delattr(np, "bitwise_count")
    numbers = np.random.default_rng(3).integers(0, np.iinfo(kind).max, (2, 200), dtype=kind, endpoint=True)
    expected = [(int(a) & int(b)).bit_count() & 1 for a, b in zip(*numbers, strict=True)]
    assert signs(*numbers).tolist() == expected


# --- the response ----------------------------------------------------------------------------------------------------

DOMAIN = ("a", "b", "c")


def law_of(protocol: HadamardResponse, answer: object) -> Law:
    """Every report: rows, then the cell, in plain Python."""
    domain = list(range(protocol.domain)) if isinstance(protocol.domain, int) else list(protocol.domain)
    size, cells = 1 << (len(domain) - 1).bit_length(), 2**protocol.rows
    other = flip_probability(protocol.epsilon, others=cells - 1)
    law = {}
    for rows in product(range(size), repeat=protocol.rows):
        bits = [(row & domain.index(answer)).bit_count() & 1 for row in rows] if answer in domain else None
        true = bits and sum(bit << i for i, bit in enumerate(bits))
        for cell in range(cells):
            chance = Fraction(1, cells) if bits is None else 1 - (cells - 1) * other if cell == true else other
            law[*rows, cell] = chance / size**protocol.rows
    return law


def variances(protocol, people, labels):
    cells = 2**protocol.rows
    true = 1 - (cells - 1) * flip_probability(protocol.epsilon, others=cells - 1)
    counts = np.array([sum(answer == label for answer in people) for label in labels], dtype=np.float64)
    return pure_variances(true, Fraction(1, cells), counts, len(people))


CASES = [
    Case(
        name="Hadamard response",
        protocol=HadamardResponse(epsilon=2, domain=20),
        answers=range(20),
        tiny=HadamardResponse(epsilon=1, domain=DOMAIN, rows=2),
        tiny_answers=(*DOMAIN, "d"),
        law=law_of,
        variances=variances,
        others={"epsilon": 1, "domain": 21, "rows": 2, "unit": "household"},
    ),
    Case(
        name="Hadamard response, one bit",
        protocol=HadamardResponse(epsilon=1, domain=20, rows=1),
        answers=range(20),
        tiny=HadamardResponse(epsilon=1, domain=DOMAIN, rows=1),
        tiny_answers=(*DOMAIN, "d"),
        law=law_of,
        variances=variances,
        others={"epsilon": 2, "domain": 21, "rows": 2, "unit": "household"},
    ),
]
tiny = together("rows", [1, 2, 3])


@tiny
def test_the_stated_loss_is_the_largest_ratio_of_all_reports(rows):
    protocol = HadamardResponse(epsilon=1, domain=DOMAIN, rows=rows)
    laws = [law_of(protocol, answer) for answer in (*DOMAIN, "d")]
    assert all(sum(law.values()) == 1 for law in laws)
    stated, shown = Fraction(protocol.privacy_loss().epsilon), ln_down(loss_ratio(laws))
    assert shown <= stated <= 1
    assert stated - shown < Fraction(1, 10**20)


@tiny
@pytest.mark.parametrize("answer", ["a", "c", None])
def test_reports_follow_their_law(rows, answer):
    protocol = HadamardResponse(epsilon=1, domain=DOMAIN, rows=rows)
    law = law_of(protocol, answer)
    numbers = {report: number for number, report in enumerate(law)}
    seen = written(protocol.randomize([answer] * 40_000, Reproducible(rows)))
    chances = [float(p) for p in law.values()]
    assert_follows([numbers[report] for report in seen], chances.__getitem__, range(len(law)))


@tiny
def test_one_person_has_exactly_the_mean_and_variance_of_the_theory(rows):
    protocol = HadamardResponse(epsilon=1, domain=DOMAIN, rows=rows)
    for answer in (*DOMAIN, "elsewhere"):
        law = law_of(protocol, answer)
        reports = np.array(list(law)).T
        adds = []
        for i in range(len(law)):
            columns = tuple(held[i : i + 1].astype(c.dtype) for held, c in zip(reports, protocol.layout, strict=True))
            adds.append(protocol.estimate(protocol.absorb(None, Reports(protocol, 1, columns))).counts)
        chances = np.array([float(p) for p in law.values()])[:, None]
        mean = (chances * np.array(adds)).sum(axis=0)
        assert mean == pytest.approx([float(answer == label) for label in DOMAIN], abs=1e-12)
        variance = (chances * (np.array(adds) - mean) ** 2).sum(axis=0)
        assert variance == pytest.approx(variances(protocol, [answer], DOMAIN)[0], rel=1e-12)


def test_with_one_row_it_is_the_one_bit_response():
    """Its variance is n·((1 + e^−ε)/(1 − e^−ε))² − c, never below n − c (Acharya and Sun 2019)."""
    protocol = HadamardResponse(epsilon=3, domain=100, rows=1)
    odds = math.exp(float(protocol.privacy_loss().epsilon))
    found = protocol.estimate(protocol.empty().merge(Counts(protocol, 1000, np.zeros(128, dtype=np.int64))))
    assert found.counts[5] == pytest.approx(-1000 * (odds + 1) / (odds - 1))
    assert found.population_standard_error[5] ** 2 == pytest.approx(1000 * ((odds + 1) / (odds - 1)) ** 2)


def test_the_number_of_rows_that_is_chosen_has_the_least_error():
    for epsilon in (0.1, 1, 2, 3, 4, 8):
        chosen = HadamardResponse(epsilon=epsilon, domain=1000)
        errors = {}
        for rows in range(1, 7):
            tried = HadamardResponse(epsilon=epsilon, domain=1000, rows=rows)
            errors[rows] = variances(tried, [0] * 1000, [1])[0][0]
        assert errors[chosen.rows] <= min(errors.values()) * 1.01


@pytest.mark.parametrize("case", CASES, ids=str)
def test_estimates_have_the_mean_and_the_errors_that_are_stated(case):
    n, runs = 2000, 300
    truth = np.bincount(case.drawn(n, np.random.default_rng(1)), minlength=len(case.answers))
    people, entropy = Answers.counted(dict(enumerate(truth.tolist()))), Reproducible(5)
    made = [
        case.protocol.estimate(case.protocol.absorb(None, case.protocol.randomize(people, entropy)))
        for _ in range(runs)
    ]
    values = np.array([one.counts for one in made])
    theory = variances(case.protocol, np.repeat(np.arange(len(truth)), truth).tolist(), case.answers)[0]
    z = (values.mean(axis=0) - truth) / np.sqrt(theory / runs)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / len(z))
    ratio, tail = values.var(axis=0, ddof=1) / theory, FALSE_ALARM / 2 / len(z)
    assert ratio.min() > stats.chi2.ppf(tail, runs - 1) / (runs - 1)
    assert ratio.max() < stats.chi2.isf(tail, runs - 1) / (runs - 1)
    stated = np.mean([one.population_standard_error**2 for one in made], axis=0)
    assert stated == pytest.approx(theory, rel=0.02)


def test_counts_are_exact_supports_and_merge():
    protocol = HadamardResponse(epsilon=2, domain=300, rows=3)
    reports = protocol.randomize(np.arange(5000) % 310, Reproducible(1))
    together = protocol.absorb(None, reports)
    assert protocol.absorb(protocol.absorb(None, reports[:1234]), reports[1234:]) == together
    *rows, cell = (held.astype(np.uint64) for held in reports.columns)
    places = np.arange(300, dtype=np.uint64)[:, None]
    named = sum(signs(row, places).astype(np.uint64) << np.uint64(i) for i, row in enumerate(rows))
    assert (walsh_hadamard(together.table)[:300] == 8 * (named == cell).sum(axis=1)).all()


def test_a_fake_report_adds_what_is_stated_and_no_more():
    protocol = HadamardResponse(epsilon=1, domain=DOMAIN, rows=2)
    gain = protocol.estimate(protocol.empty()).gain_per_fake
    most = 0.0
    for *rows, cell in law_of(protocol, "a"):
        columns = [np.array([value], dtype=np.uint8) for value in (*rows, cell)]
        most = max(most, protocol.estimate(protocol.absorb(None, Reports(protocol, 1, tuple(columns)))).counts.max())
    assert most == pytest.approx(gain)


@together(
    ("bad", "name"),
    [({"rows": 0}, "rows"), ({"rows": 7}, "rows"), ({"epsilon": 0}, "epsilon"), ({"domain": 1}, "domain")],
)
def test_parameters_are_checked(bad, name):
    with pytest.raises(InvalidParameter) as caught:
        HadamardResponse(**{"epsilon": 1, "domain": 10} | bad)
    assert caught.value.name == name
