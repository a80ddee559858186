"""Fakes gain what theory says, honest people are left in peace, and careless fakes are found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from scipy.stats import binom

from lapwing.crowd import Answers, Protocol, Reports, UnaryEncoding
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.fakes import liars, maximal_gain, random_reports
from lapwing.crowd.hadamard import HadamardResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.poisoning import Row, gain, honest, suspicious
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

pytestmark = pytest.mark.filterwarnings("ignore:reproducible noise")

FALSE_ALARM = 1e-6
Z = 5.0  # a normal variable is farther out with probability 6e-7


def exact_unary(epsilon: float, *, optimized: bool) -> UnaryEncoding:
    """With the probabilities of the formula, not with the nearest ones of few digits."""
    q = 1 / (1 + math.exp(epsilon if optimized else epsilon / 2))
    return UnaryEncoding(domain=100, one_if_true=Fraction(1, 2) if optimized else 1 - q, one_if_other=q)


@together(
    ("epsilon", "optimized", "shown"),
    [
        (0.5, True, 0.2636),
        (1, True, 0.1677),
        (4, True, 0.1114),
        (0.5, False, 0.2355),
        (1, False, 0.1366),
        (4, False, 0.0673),
    ],
)
def test_five_percent_of_fakes_raise_one_percent_to_what_the_table_says(
    epsilon: float, optimized: bool, shown: float
) -> None:
    """The true share is 1 %, the fakes are 5 % of all reports: by the formula, and by people who do it."""
    protocol, people = exact_unary(epsilon, optimized=optimized), Answers.counted(dict.fromkeys(range(100), 380))
    honestly = protocol.randomize(people, Reproducible(1))
    estimates = protocol.estimate(protocol.absorb(None, honestly))
    exact = replace(estimates, counts=np.full(100, 380.0))
    assert 0.01 + gain(exact, Fraction(5, 100))[0] == pytest.approx(shown, abs=5e-5)

    fakes = maximal_gain(protocol, [0], 2000, Reproducible(2))
    found = protocol.estimate(protocol.absorb(None, honestly + fakes))
    assert abs(found.shares[0] - shown) < Z * float(found.population_standard_error[0]) / found.n + 5e-5


def rows_of(protocol: Protocol) -> Row:
    row = honest(protocol).row
    assert row is not None
    return row


ROWS: list[Protocol] = [
    UnaryEncoding.from_epsilon(1, domain=200),
    UnaryEncoding.from_epsilon(2, symmetric=True, domain=50),
    BasicOneTimeRappor(domain=70, permanent_noise=0.5),
    BasicRappor(domain=130, permanent_noise=0.5, one_if_unset=0.25, one_if_set=0.75),
    OneTimeRappor(bits=64, hashes=2, cohorts=4, permanent_noise=0.5),
    Rappor.from_symbols(k=128, h=2, m=8, f=0.5, p=0.25, q=0.75),
    CountMeanSketch(epsilon=4, functions=16, width=256),
]
OTHERS: list[Protocol] = [
    LocalHashing(epsilon=2, salt="x", functions=1 << 12),
    HadamardResponse(epsilon=2, domain=256),
    HadamardCountMeanSketch(epsilon=2, functions=64, width=256),
    CategoryResponse.from_epsilon(2, domain=20),
    BinaryResponse.from_epsilon(1),
]


def named(protocol: Protocol) -> str:
    return type(protocol).__name__


def estimated(protocol: Any, reports: Reports, label: Any) -> tuple[float, float, float]:
    """The count of a label, its error, and what one fake adds."""
    counts = protocol.absorb(None, reports)
    wanted = isinstance(protocol, CountMeanSketch | HadamardCountMeanSketch | LocalHashing)
    found = protocol.estimate(counts, [label]) if wanted else protocol.estimate(counts)
    return found[label], float(found.population_standard_error[list(found.labels).index(label)]), found.gain_per_fake


@pytest.mark.parametrize("protocol", [p for p in ROWS + OTHERS if not isinstance(p, OneTimeRappor)], ids=named)
def test_a_fake_adds_as_much_as_estimates_say_and_nobody_adds_more(protocol: Protocol) -> None:
    fakes = maximal_gain(protocol, [1], 2000, Reproducible(1), padded=False)
    count, error, each = estimated(protocol, fakes, 1)
    most = 2000 * each
    assert count <= most * (1 + 1e-9)
    # Sketches: one report's worth may depend on the functions it happens to draw.
    assert count >= most * 0.99 - Z * error * isinstance(protocol, HadamardCountMeanSketch)
    for others in (random_reports(protocol, 2000, Reproducible(2)), liars(protocol, [1], 2000, Reproducible(3))):
        assert estimated(protocol, others, 1)[0] < most


@pytest.mark.parametrize("protocol", [p for p in OTHERS if not isinstance(p, BinaryResponse)], ids=named)
def test_fakes_for_several_targets_help_all_of_them_together(protocol: Protocol) -> None:
    targets = [1, 2, 3, 4]
    fakes = maximal_gain(protocol, targets, 4000, Reproducible(5))
    lying = liars(protocol, targets, 4000, Reproducible(6))
    together, honestly = (
        sum(estimated(protocol, reports, target)[0] for target in targets) for reports in (fakes, lying)
    )
    assert together > 1.1 * honestly


def test_rappor_fakes_set_the_bits_of_their_target_in_their_cohort() -> None:
    protocol = Rappor.from_symbols(k=128, h=2, m=8, f=0.5, p=0.25, q=0.75)
    fakes = maximal_gain(protocol, ["a"], 50, Reproducible(1), padded=False)
    for cohort, row in zip(fakes.column("cohort").tolist(), fakes.column("bits"), strict=True):
        ones = np.flatnonzero(unpack_rows(row[None], 128)[0])
        assert ones.tolist() == sorted(set(protocol.places(["a"])[cohort, 0].tolist()))


@pytest.mark.parametrize("protocol", ROWS + OTHERS, ids=named)
@pytest.mark.parametrize("population", ["one answer", "many answers", "no answers"])
def test_honest_people_are_left_in_peace_whatever_they_answer(protocol: Protocol, population: str) -> None:
    n = 4000
    values = {"one answer": [1] * n, "many answers": [i % 40 for i in range(n)], "no answers": [None] * n}[population]
    found = suspicious(protocol.randomize(values, Reproducible(7)), false_alarm=FALSE_ALARM)
    assert not found.alarm, str(found)
    assert len(found.reports) == 0


@pytest.mark.parametrize("protocol", ROWS, ids=named)
def test_p_values_of_honest_reports_are_not_too_small_too_often(protocol: Protocol) -> None:
    """One in five may have p ≤ 0.2: of 60 batches not more than a binomial allows."""
    small = dict.fromkeys(("ones", "alike", "shared"), 0)
    for batch in range(60):
        suspicions = suspicious(protocol.randomize([batch % 5] * 100, Reproducible(batch)), false_alarm=0.2)
        for finding in suspicions.findings:
            small[finding.check] += finding.p_value <= 0.2
    assert max(small.values()) <= binom.isf(FALSE_ALARM, 60, 0.2)


def mixed(protocol: Protocol, fakes: Reports) -> Reports:
    return protocol.randomize([i % 40 for i in range(4000)], Reproducible(8)) + fakes


@pytest.mark.parametrize("protocol", ROWS, ids=named)
def test_fakes_without_padding_are_found_one_by_one(protocol: Protocol) -> None:
    """By their few ones if rows are long, by being alike otherwise; the first 4000 reports are honest."""
    found = suspicious(mixed(protocol, maximal_gain(protocol, [1], 200, Reproducible(9), padded=False)))
    assert found.alarm
    assert set(range(4000, 4200)) <= set(found.reports.tolist())
    assert len(found.reports) < 210  # some honest ones look like them
    if rows_of(protocol).bits >= 128:
        assert found.findings[0].reports.tolist() == list(range(4000, 4200))


@pytest.mark.parametrize("protocol", ROWS, ids=named)
def test_fakes_that_all_have_the_usual_number_of_ones_are_found_by_that(protocol: Protocol) -> None:
    found = suspicious(mixed(protocol, maximal_gain(protocol, [1], 1000, Reproducible(9))))
    ones = next(finding for finding in found.findings if finding.check == "ones")
    assert ones.p_value < FALSE_ALARM
    assert len(ones.reports) == 0  # each by itself could be honest


def test_the_old_name_of_the_findings_still_works() -> None:
    suspicions = suspicious(UnaryEncoding.from_epsilon(1, domain=8).randomize([3] * 10, Reproducible(1)))
    with pytest.warns(DeprecationWarning, match="Suspicions.findings"):
        assert suspicions.found == suspicions.findings


def test_copies_and_near_copies_are_found() -> None:
    protocol = UnaryEncoding.from_epsilon(1, symmetric=True, domain=512)
    fake = protocol.randomize([3], Reproducible(10))
    copies = Reports.together([fake] * 20)
    found = suspicious(mixed(protocol, copies))
    assert found.reports.tolist() == list(range(4000, 4020))
    near = Reports(protocol, 20, (copies.columns[0].copy(),))
    for i in range(20):
        near.columns[0][i, i % 8] ^= np.uint64(1 << i)  # every copy differs from every other
    assert len(np.unique(near.columns[0], axis=0)) == 20
    assert suspicious(mixed(protocol, near)).reports.tolist() == list(range(4000, 4020))


def test_fakes_that_share_the_best_hash_functions_are_found() -> None:
    protocol = LocalHashing(epsilon=2, salt="x", functions=1 << 12)
    fakes = maximal_gain(protocol, list(range(8)), 500, Reproducible(11))
    found = suspicious(mixed(protocol, fakes))
    assert found.alarm
    assert "shared" in str(found)


def test_who_follows_the_coins_passes() -> None:
    """The limit that is stated: a lie told honestly, and noise drawn as honest people draw it, look honest."""
    protocol = UnaryEncoding.from_epsilon(1, domain=200)
    assert not suspicious(mixed(protocol, liars(protocol, [1], 2000, Reproducible(12)))).alarm
    careful = protocol.randomize([None] * 500, Reproducible(13))
    careful.columns[0][:, 0] |= np.uint64(2)  # the target's bit, always one
    assert not suspicious(mixed(protocol, careful)).alarm


def test_the_law_of_ones_is_the_one_of_the_reports() -> None:
    """Chi-square of the number of ones against the stated distribution, all of one answer."""
    protocol = UnaryEncoding.from_epsilon(1, domain=30)
    counts = np.array(
        [bin(int(row[0])).count("1") for row in protocol.randomize([1] * 20_000, Reproducible(14)).columns[0]]
    )
    without, law = rows_of(protocol).ones()
    assert law.sum() == pytest.approx(1)
    seen, hope = np.bincount(counts, minlength=31), 20_000 * law
    usual = hope > 20
    chi2 = float(((seen - hope)[usual] ** 2 / hope[usual]).sum())
    degrees = int(usual.sum()) - 1
    assert chi2 < degrees + Z * math.sqrt(2 * degrees) + Z**2
    far = float(((seen - 20_000 * without)[usual] ** 2 / hope[usual]).sum())
    assert far > 2 * (degrees + Z * math.sqrt(2 * degrees) + Z**2)


def test_the_bound_on_equal_reports_is_exact_for_two_of_one_answer() -> None:
    row = Row("bits", 3, (1,), Fraction(3, 4), Fraction(1, 4))
    law = [math.prod((0.75 if (x >> i & 1) == (i == 0) else 0.25) for i in range(3)) for x in range(8)]
    same = math.log(sum(p * p for p in law))
    assert float(row.log_alike(np.array([2]), 3, (1,))[0]) == pytest.approx(same)


@together(
    ("wrong", "match"),
    [
        (lambda: maximal_gain(UnaryEncoding.from_epsilon(1, symmetric=True, domain=3), [7], 2), "targets"),
        (lambda: gain(None, 2), "between 0 and 1"),  # type: ignore[arg-type]
        (
            lambda: suspicious(UnaryEncoding.from_epsilon(1, symmetric=True, domain=3).randomize([1]), false_alarm=1),
            "strictly",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong: Callable[[], object], match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        wrong()


def test_fakes_need_a_whole_number_of_people_and_a_target() -> None:
    for protocol in ROWS + OTHERS:
        for targets, n in (([], 1), ("yes", 1), ([1], -1), ([1], 2.5)):
            for attack in (maximal_gain, liars):
                with pytest.raises(InvalidParameter, match=r"targets|n"):
                    attack(protocol, targets, n)  # type: ignore[arg-type]


def test_no_reports_are_not_suspicious() -> None:
    for protocol in ROWS + OTHERS:
        found = suspicious(protocol.randomize([]))
        assert not found.alarm
        assert len(found.reports) == 0
