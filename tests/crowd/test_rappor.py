"""RAPPOR's client: stated losses are the worst of the exact laws, reports follow them, a broken client is caught."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, assert_mean
from scipy import stats

from lapwing.adversary import Audit, audit
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.items import Answers
from lapwing.crowd.permanent_response import PermanentResponse
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_up
from lapwing.noise import Reproducible

SMALL = {"bits": 4, "hashes": 2, "cohorts": 3, "salt": "small"}
NOISE = {"permanent_noise": Fraction(1, 2)}
FRESH = {"one_if_unset": Fraction(1, 4), "one_if_set": Fraction(3, 4)}
HARDLY_ANY = Fraction(1, 1 << 60)
FORMS: dict[str, PermanentResponse] = {
    "rappor": Rappor(**NOISE, **FRESH, **SMALL),
    "one-time": OneTimeRappor(**NOISE, **SMALL),
    "basic": BasicRappor(**NOISE, **FRESH, domain=["a", "b", "c", "d"]),
    "basic one-time": BasicOneTimeRappor(**NOISE, domain=["a", "b", "c", "d"]),
}
VALUES = ("a", "b", "c", "d", "elsewhere", 5, None)
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def cohorts_of(form: PermanentResponse) -> int:
    return form.cohorts if isinstance(form, OneTimeRappor) else 1


def law(probability: Callable[[bool], Fraction], width: int, places: list[int]) -> list[Fraction]:
    """The exact probability of every row of bits, given which are set."""
    ones = [probability(i in places) for i in range(width)]
    return [
        math.prod((one if bit else 1 - one for one, bit in zip(ones, row, strict=True)), start=Fraction(1))
        for row in product((0, 1), repeat=width)
    ]


def patterns(reports: Reports) -> Any:
    """Each report as one number, in the order of `law`."""
    bits = unpack_rows(reports.column("bits"), reports.protocol.layout[-1].bits)
    return bits @ (1 << np.arange(bits.shape[1])[::-1])


@together(
    ("f", "p", "q", "single", "lifetime"),
    [
        (0.5, 0.5, 0.75, 1.0743, 4.3944),
        (0.75, 0.5, 0.75, 0.5343, 2.0433),
        (0.5, 0.25, 0.75, 2.0433, 4.3944),
        (0.25, 0.25, 0.75, 3.1538, 7.7836),
    ],
)
def test_the_losses_of_known_parameters(f: float, p: float, q: float, single: float, lifetime: float) -> None:
    survey = Rappor.from_symbols(f=f, p=p, q=q)
    assert float(survey.privacy_loss().epsilon) == pytest.approx(single, abs=6e-5)
    assert float(survey.lifetime_loss().epsilon) == pytest.approx(lifetime, abs=6e-5)
    assert survey.privacy_loss().relation == "replace"
    once = OneTimeRappor(permanent_noise=f)
    assert once.privacy_loss() == once.lifetime_loss() == survey.lifetime_loss()


@every_form
def test_the_loss_of_a_report_is_the_worst_ratio_of_the_exact_laws(form: PermanentResponse) -> None:
    worst = Fraction(1)
    for cohort in range(cohorts_of(form)):
        laws = [law(form.one_probability, form.width, form.set_places(cohort, value)) for value in VALUES]
        for one, other in combinations(laws, 2):
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(one, other, strict=True)))
    stated = form.privacy_loss().epsilon
    assert worst <= exp_up(stated)
    assert float(stated) == pytest.approx(math.log(worst), rel=1e-9)  # some two values have no bit in common


@every_form
def test_any_two_reports_from_one_permanent_response_stay_within_the_lifetime_loss(form: PermanentResponse) -> None:
    limit = exp_up(form.lifetime_loss().epsilon)
    for value, other in combinations(VALUES[:4], 2):
        ratio = Fraction(1)
        for i in range(form.width):  # bits are independent: the worst ratio is the product of those of the bits
            sets = [i in form.set_places(0, one) for one in (value, other)]
            bits = []
            for truth in sets:
                one = form.permanent_probability(truth)
                by_bit = [(1 - one, form.instantaneous_probability(False)), (one, form.instantaneous_probability(True))]
                sent = product((0, 1), repeat=2)
                bits.append([sum(w * math.prod(q if s else 1 - q for s in pair) for w, q in by_bit) for pair in sent])
            assert all(b or not a for a, b in zip(*bits, strict=True))
            ratio *= max(a / b for a, b in zip(*bits, strict=True) if b)
        assert ratio <= limit


@every_form
def test_reports_follow_their_exact_law(form: PermanentResponse) -> None:
    n = 30_000
    for seed, value in enumerate(("a", "c", None)):
        reports = form.randomize([value] * n, Reproducible(seed))
        cohort = reports.columns[0] if cohorts_of(form) > 1 else np.zeros(n, dtype=np.uint8)
        assert_follows(cohort, lambda _: 1 / cohorts_of(form), range(cohorts_of(form)))
        seen = patterns(reports)
        for number in range(cohorts_of(form)):
            expected = law(form.one_probability, form.width, form.set_places(number, value))
            assert_follows(seen[cohort == number], lambda row: float(expected[row]), range(len(expected)))  # noqa: B023


@every_form
def test_two_steps_one_after_the_other_have_the_law_of_both_in_one(form: PermanentResponse) -> None:
    places, n = form.set_places(0, "b"), 30_000
    outside = np.full(n, -1)
    rows = BasicOneTimeRappor(**NOISE, domain=form.width).randomize(outside, Reproducible(1)).columns[0]
    rows ^= np.uint64(sum(1 << place for place in set(places)))  # the noise of every bit is a flip with probability f/2
    sent = Reports(form, n, form.reported(0, form.instantaneous(rows, Reproducible(2))))
    expected = law(form.one_probability, form.width, places)
    assert_follows(patterns(sent), lambda row: float(expected[row]), range(len(expected)))


@together("n", [0, 1, 63, 1000, 20_001])
@together(("bits", "cohorts"), [(70, 5), (128, 8), (8, 1), (64, 300)])
def test_the_state_counts_the_ones_and_the_reports_of_every_cohort(n: int, bits: int, cohorts: int) -> None:
    survey = OneTimeRappor(permanent_noise=0.5, bits=bits, cohorts=cohorts)
    reports = survey.randomize(np.arange(n) % 7, Reproducible(n))
    table = survey.absorb(None, reports).table
    cohort, rows = reports.columns
    naive = np.zeros((cohorts, bits + 1), dtype=np.int64)
    np.add.at(naive, cohort, np.column_stack([unpack_rows(rows, bits), np.ones(n, dtype=np.uint8)]))
    assert table.shape == survey.shape
    assert (table == naive).all()


def test_merging_equals_absorbing_together() -> None:
    survey = FORMS["rappor"]
    reports = survey.randomize(["a", "b"] * 500, Reproducible(3))
    apart = survey.absorb(None, reports[:300]).merge(survey.absorb(None, reports[300:]))
    assert apart == survey.absorb(None, reports)
    assert Reports.from_bytes(survey, reports.to_bytes()) == reports


@pytest.mark.parametrize("people", [40, 40_000])
def test_without_noise_a_report_is_the_bloom_filter_at_its_places(people: int) -> None:
    """With few people places are computed for each, with many they are looked up."""
    survey = OneTimeRappor(permanent_noise=HARDLY_ANY, bits=100, hashes=3, cohorts=8, salt="x")
    labels = [f"site {i}" for i in range(50)] + [None, "\ud800"]
    answers = Answers(labels, np.arange(people) % len(labels))
    cohort, rows = survey.randomize(answers, Reproducible(4)).columns
    places = survey.places(labels)
    assert places.shape == (8, 52, 3)
    assert places.dtype == np.intp
    filters = np.zeros((8, 52, 100), dtype=np.uint8)
    np.put_along_axis(filters, places, 1, axis=2)
    assert (unpack_rows(rows, 100) == filters[cohort, answers.places]).all()
    assert survey.set_places(5, "site 7") == places[5, 7].tolist()


def test_answers_that_nobody_in_a_block_gives_are_left_out() -> None:
    survey = OneTimeRappor(permanent_noise=HARDLY_ANY, cohorts=1)
    _, rows = survey.randomize(np.array([3000, 7, 3000]), Reproducible(5)).columns
    assert (rows[0] == rows[2]).all()
    assert set(np.flatnonzero(unpack_rows(rows, 128)[1])) == set(survey.places([7])[0, 0].tolist())


def test_cohorts_have_hash_functions_of_their_own() -> None:
    survey = OneTimeRappor(permanent_noise=0.5, bits=256, cohorts=16)
    places = survey.places(range(200))
    same = (places[:8] == places[8:]).sum()
    assert stats.binom.sf(int(same) - 1, places[:8].size, 1 / 256 + 1e-6) > FALSE_ALARM
    other = OneTimeRappor(permanent_noise=0.5, bits=256, cohorts=16, salt="another").places(range(200))
    assert stats.binom.sf(int((places == other).sum()) - 1, places.size, 1 / 256 + 1e-6) > FALSE_ALARM


@pytest.mark.parametrize("form", [FORMS["basic"], FORMS["basic one-time"]], ids=["basic", "basic one-time"])
def test_basic_estimates_are_unbiased_and_as_accurate_as_stated(form: Any) -> None:
    truth, repeats = {"a": 500, "b": 300, "c": 200}, 400
    entropy, answers = Reproducible(6), Answers.counted(truth)
    made = [form.estimate(form.absorb(None, form.randomize(answers, entropy))) for _ in range(repeats)]
    p, q = float(form.one_probability(True)), float(form.one_probability(False))
    for label in form.domain:
        c = truth.get(label, 0)
        variance = (c * p * (1 - p) + (1000 - c) * q * (1 - q)) / (p - q) ** 2
        found = [one[label] for one in made]
        assert_mean(found, c, variance)
        spread = sum((x - c) ** 2 for x in found) / variance
        assert 2 * min(stats.chi2.cdf(spread, repeats), stats.chi2.sf(spread, repeats)) > FALSE_ALARM
        stated = np.mean([one.population_standard_error[list(form.domain).index(label)] ** 2 for one in made])
        assert stated == pytest.approx(variance, rel=0.02)


def test_the_others_are_decoded_with_candidates() -> None:
    survey = Rappor.from_symbols(f=0.25, p=0.25, q=0.75)
    reports = survey.randomize(["red"] * 6000 + ["green"] * 3000 + ["blue"] * 1000, Reproducible(7))
    decoded = survey.estimate(survey.absorb(None, reports), ["blue", "black", "green", "red"])
    assert list(decoded.top(2).labels) == ["red", "green"]


def audited(outputs: tuple[Any, Any], claimed: Any) -> Audit:
    """An audit of outputs that were drawn together, which is faster than one by one."""
    turns = [iter(one) for one in outputs]
    named = {"samples": min(map(len, outputs)), "relation": "replace", "confidence": 1 - FALSE_ALARM}
    return audit(lambda which: next(turns[which]), (0, 1), claimed=claimed, **named)


def sent(form: PermanentResponse, value: str, seed: int) -> tuple[Any, Any]:
    """The cohorts and the bits of many reports of the same answer."""
    reports = form.randomize([value] * 20_000, Reproducible(seed))
    cohort = reports.columns[0] if cohorts_of(form) > 1 else np.zeros(len(reports), dtype=np.uint8)
    return cohort, unpack_rows(reports.column("bits"), form.width)


def apart(form: PermanentResponse) -> tuple[Any, Any]:
    """Two answers that have no bit in common in the first cohort."""
    pairs = combinations((*VALUES[:4], *map(str, range(20))), 2)
    return next((a, b) for a, b in pairs if not set(form.set_places(0, a)) & set(form.set_places(0, b)))


@every_form
def test_an_audit_of_reports_comes_close_to_the_stated_loss_but_does_not_beat_it(form: PermanentResponse) -> None:
    seen = []
    for seed, value in enumerate(apart(form)):
        cohort, bits = sent(form, value, seed)
        seen.append([tuple(row) for row in np.column_stack([cohort, bits])[cohort == 0].tolist()])
    found = audited((seen[0], seen[1]), form.privacy_loss())
    assert not found.caught
    assert found.epsilon_lower_bound > 0.4 * float(form.privacy_loss().epsilon)


@every_form
def test_an_audit_of_one_bit_comes_close_to_what_a_bit_costs_but_does_not_beat_it(form: PermanentResponse) -> None:
    values = apart(form)
    place = form.set_places(0, values[0])[0]
    seen = []
    for seed, value in enumerate(values):
        cohort, bits = sent(form, value, seed)
        seen.append(bits[cohort == 0, place].tolist())
    one, zero = form.one_probability(True), form.one_probability(False)
    claimed = math.log(max(one / zero, (1 - zero) / (1 - one)))
    found = audited((seen[0], seen[1]), claimed)
    assert not found.caught
    assert found.epsilon_lower_bound > 0.5 * claimed


def test_a_client_that_never_clears_a_bit_is_caught() -> None:
    form = OneTimeRappor(permanent_noise=0.75, bits=8, hashes=2, cohorts=1)
    seen = []
    for seed, value in enumerate(apart(form)):
        _, bits = sent(form, value, seed)
        bits[:, form.set_places(0, value)] = 1
        seen.append([tuple(row) for row in bits.tolist()])
    found = audited((seen[0], seen[1]), form.privacy_loss())
    assert found.caught
    assert found.epsilon_lower_bound > 5


def test_ours_clears_set_bits_and_sets_clear_ones() -> None:
    survey = Rappor.from_symbols(f=0.25, p=0.25, q=0.75, m=1)
    bits = unpack_rows(survey.randomize(["a"] * 2000, Reproducible(9)).column("bits"), 128)
    ones = bits.sum(axis=0)
    assert ones.min() > 0
    assert ones.max() < 2000


def test_the_same_noise_is_the_same_protocol_however_it_is_written() -> None:
    written = [Rappor.from_symbols(f=f, p=0.25, q=0.75) for f in (0.5, Fraction(1, 2), Decimal("0.50"))]
    assert len({one.fingerprint for one in written}) == 1
    assert len({form.fingerprint for form in FORMS.values()}) == len(FORMS)


@every_form
def test_strange_answers_are_randomized_without_a_word(form: PermanentResponse) -> None:
    strange = [None, float("nan"), "\ud800", b"\xff\x00", [1], {}, object(), -1, 10**30, 1.5, True]
    entropy = Reproducible(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(form.randomize(strange, entropy)) == len(strange)
        assert form.absorb(None, form.randomize([], entropy)).n == 0


@together(
    ("name", "wrong"),
    [
        ("permanent_noise", 0),
        ("permanent_noise", 1),
        ("one_if_unset", 0.75),
        ("one_if_unset", -0.1),
        ("one_if_set", 1.5),
        ("bits", 0),
        ("bits", 1 << 17),
        ("hashes", 129),
        ("cohorts", 0),
        ("salt", "longer than sixteen bytes"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(name: str, wrong: Any) -> None:
    usual = {"permanent_noise": 0.5, "one_if_unset": 0.5, "one_if_set": 0.75}
    with pytest.raises(InvalidParameter) as refused:
        Rappor(**{**usual, name: wrong})
    assert refused.value.name == name
