"""The laws of every local protocol. A new one joins by a case in tests/support/protocols.py."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import pickle
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows
from numpy.typing import NDArray
from protocols import ALL_PROTOCOLS, Case, Law, Report, loss_ratio, marginals, written
from scipy import stats

import lapwing.crowd
from lapwing.adversary import audit
from lapwing.crowd import Answers, Counts, Protocol, Reports
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_down
from lapwing.noise import Entropy, Reproducible

COLLECTIONS = 300
every = pytest.mark.parametrize("case", ALL_PROTOCOLS, ids=str)
estimating = pytest.mark.parametrize("case", [case for case in ALL_PROTOCOLS if case.variances], ids=str)
additive = pytest.mark.parametrize("case", [one for one in ALL_PROTOCOLS if one.variances and one.additive], ids=str)
exactly = pytest.mark.parametrize("case", [case for case in ALL_PROTOCOLS if case.variances and case.exactly], ids=str)


def test_every_exported_protocol_is_here() -> None:
    exported = [getattr(lapwing.crowd, name) for name in lapwing.crowd.__all__]
    protocols = {one for one in exported if isinstance(one, type) and issubclass(one, Protocol)}
    concrete = {one.__name__ for one in protocols if not inspect.isabstract(one)}
    missing = concrete - {type(case.protocol).__name__ for case in ALL_PROTOCOLS}
    assert not missing, "add a case to tests/support/protocols.py"


# --- the exact law of a report ---------------------------------------------------------------------------------------


@every
def test_the_stated_loss_is_the_largest_ratio_of_all_reports(case: Case) -> None:
    laws = [case.law(case.tiny, answer) for answer in case.tiny_answers]
    assert all(sum(law.values()) == 1 for law in laws)
    stated = Fraction(case.tiny.privacy_loss().epsilon)
    shown = ln_down(loss_ratio(laws))
    assert shown <= stated, "more is lost than is stated"
    assert stated - shown < Fraction(1, 10**20), "the loss stated is not tight"
    assert case.tiny.privacy_loss().relation == "replace"


@every
def test_reports_follow_their_law(case: Case) -> None:
    for seed, answer in enumerate(case.tiny_answers):
        law = case.law(case.tiny, answer)
        numbers = {report: number for number, report in enumerate(law)}
        seen = written(case.tiny.randomize([answer] * 30_000, Reproducible(seed)))
        assert set(seen) <= set(law)
        chances = [float(p) for p in law.values()]
        assert_follows([numbers[report] for report in seen], chances.__getitem__, range(len(law)))


@every
def test_reports_of_several_people_are_independent_and_each_follows_its_own_answer(case: Case) -> None:
    first, second = case.tiny_answers[:2]
    laws = case.law(case.tiny, first), case.law(case.tiny, second)
    seen = written(case.tiny.randomize([first, second] * 30_000, Reproducible(7)))
    pairs = Counter(zip(seen[::2], seen[1::2], strict=True))
    together = {(a, b): float(p * q) for a, p in laws[0].items() for b, q in laws[1].items()}
    numbers, chances = {pair: number for number, pair in enumerate(together)}, list(together.values())
    assert_follows([numbers[pair] for pair in pairs.elements()], chances.__getitem__, range(len(chances)))


@every
def test_the_first_and_the_last_person_have_coins_like_everybody(case: Case) -> None:
    """Ends of words and blocks: the law at single places of many small collections."""
    answer, entropy, places = case.tiny_answers[0], Reproducible(8), (0, 1, 63, 64, 65)
    law = case.law(case.tiny, answer)
    numbers, chances = {report: number for number, report in enumerate(law)}, [float(p) for p in law.values()]
    everybody = Answers([answer], np.zeros(66, dtype=np.intp))
    seen = [written(case.tiny.randomize(everybody, entropy)[list(places)]) for _ in range(500)]
    for place in range(len(places)):
        assert_follows([numbers[reports[place]] for reports in seen], chances.__getitem__, range(len(law)))


# --- what an auditor sees --------------------------------------------------------------------------------------------


class Drawn:
    """Reports of one answer after another, made all at once: what a client would send each time."""

    def __init__(self, reports: Iterable[Sequence[Any]]) -> None:
        self._left = [iter(of_one_answer) for of_one_answer in reports]

    def release(self, which: int, entropy: Entropy) -> Any:
        return next(self._left[which])


def most_different(case: Case) -> tuple[Any, Any]:
    """The two answers whose reports are told apart most easily."""

    def distance(pair: tuple[Any, Any]) -> Fraction:
        first, second = (case.law(case.tiny, answer) for answer in pair)
        return sum((abs(first[report] - second[report]) for report in first), Fraction(0))

    return max(itertools.combinations(case.tiny_answers, 2), key=distance)


def bits_of(protocol: Protocol, report: Report) -> list[int]:
    """The bits of the columns that consist of bits."""
    pairs = zip(protocol.layout, report, strict=True)
    return [number >> bit & 1 for column, number in pairs if column.kind != "number" for bit in range(column.bits)]


@every
def test_the_auditor_never_beats_the_stated_loss_of_a_report(case: Case) -> None:
    samples, claimed, pair = 12_000, case.tiny.privacy_loss(), most_different(case)
    reports = [written(case.tiny.randomize([answer] * samples, Reproducible(100 + i))) for i, answer in enumerate(pair)]
    found = audit(
        Drawn(reports), (0, 1), samples=samples, confidence=1 - FALSE_ALARM, relation="replace", claimed=claimed
    )
    assert not found.caught, found.explain()
    assert found.epsilon_lower_bound > 0.2 * float(claimed.epsilon), "these reports would not betray a false claim"


@pytest.mark.sweep
@every
def test_the_auditor_never_beats_the_loss_of_a_single_bit(case: Case) -> None:
    samples, pair = 8_000, most_different(case)
    ones = [marginals(case.law(case.tiny, answer), case.tiny.layout) for answer in pair]
    reports = [written(case.tiny.randomize([answer] * samples, Reproducible(100 + i))) for i, answer in enumerate(pair)]
    bits = [np.array([bits_of(case.tiny, report) for report in of_one]) for of_one in reports]
    for bit, (one, other) in enumerate(zip(*ones, strict=True)):
        ratio = max(one / other, other / one, (1 - one) / (1 - other), (1 - other) / (1 - one))
        claim = math.log(ratio)
        assert claim <= float(case.tiny.privacy_loss().epsilon) + 1e-12
        drawn = Drawn(of_one[:, bit].tolist() for of_one in bits)
        found = audit(
            drawn, (0, 1), samples=samples, confidence=1 - FALSE_ALARM, relation="replace", claimed=max(claim, 1e-9)
        )
        assert not found.caught, f"bit {bit}: {found.explain()}"


# --- estimates -------------------------------------------------------------------------------------------------------


def contributions(case: Case, protocol: Protocol, reports: Reports) -> NDArray[np.float64]:
    """What each report adds to the estimates: they are sums, so the estimate from one report alone."""
    return np.array([case.estimate(protocol.absorb(None, reports[i : i + 1]))[0] for i in range(reports.n)])


def one_of_each(case: Case, answer: Any) -> tuple[Law, dict[Report, NDArray[np.float64]]]:
    """The law of an answer, and what each possible report adds to the estimates."""
    law = case.law(case.tiny, answer)
    adds: dict[Report, NDArray[np.float64]] = {}
    for seed in range(100):
        reports = case.tiny.randomize(list(case.tiny_answers) * 20, Reproducible(seed))
        for i, report in enumerate(written(reports)):
            if report not in adds:
                adds[report] = contributions(case, case.tiny, reports[i : i + 1])[0]
        if len(adds) == len(law):
            return law, adds
    raise AssertionError("some report never comes")


def tiny_case(case: Case) -> Case:
    """The case with the tiny protocol, estimating the answers that are known to it."""
    known = [answer for answer in case.tiny_answers if answer is not None and answer == answer]
    domain = getattr(case.tiny, "domain", None)
    if isinstance(domain, tuple):
        known = list(domain)
    labels = case.labels if case.labels is not None else tuple(known)
    return dataclasses.replace(case, protocol=case.tiny, answers=tuple(known), labels=labels)


@exactly
def test_one_person_has_exactly_the_mean_and_the_variance_of_the_theory(case: Case) -> None:
    small = tiny_case(case)
    assert case.variances is not None
    for answer in small.answers:
        if case.labels == (True, False) and answer not in (True, False):
            continue
        law, adds = one_of_each(small, answer)
        mean = sum(float(p) * adds[report] for report, p in law.items())
        variance = sum(float(p) * (adds[report] - mean) ** 2 for report, p in law.items())
        assert mean == pytest.approx(small.scores([answer])[0], abs=1e-9)
        assert variance == pytest.approx(case.variances(case.tiny, [answer], small.estimated())[0], rel=1e-9, abs=1e-9)


@additive
def test_one_persons_variance_is_within_two_percent_of_the_theory(case: Case) -> None:
    """So many reports that a variance of that kurtosis is off by 2 % less often than FALSE_ALARM."""
    small, answer = tiny_case(case), case.tiny_answers[0]
    law, adds = one_of_each(small, answer)
    table, chances = np.array([adds[report] for report in law]), np.array([float(p) for p in law.values()])[:, None]
    mean = (chances * table).sum(axis=0)
    variance = (chances * (table - mean) ** 2).sum(axis=0)
    kurtosis = (chances * (table - mean) ** 4).sum(axis=0) / variance**2
    needed = (kurtosis - 1) * (stats.norm.isf(FALSE_ALARM / 2 / len(mean)) / 0.02) ** 2
    n = int(min(max(needed.max(), 20_000), 800_000))
    seen = Counter(written(case.tiny.randomize(Answers([answer], np.zeros(n, dtype=np.intp)), Reproducible(3))))
    shares = np.array([seen[report] / n for report in law])[:, None]
    found = (shares * (table - (shares * table).sum(axis=0)) ** 2).sum(axis=0)
    assert np.abs(found / variance - 1).max() < 0.02


@lru_cache(maxsize=1)
def collections(name: str, redrawn: bool) -> tuple[list[Any], list[Any], list[NDArray[np.float64]]]:
    """The same people many times, or people drawn anew each time: their answers, estimates and errors."""
    case = next(case for case in ALL_PROTOCOLS if case.name == name)
    chance, entropy = np.random.default_rng(11), Reproducible(11 + redrawn)
    people = case.drawn(case.people, chance)
    everybody, found = [], []
    for run in range(COLLECTIONS):
        people = case.drawn(case.people, chance) if redrawn else people
        protocol = case.protocol if case.resalted is None else case.resalted(run)
        found.append(case.estimate(protocol.absorb(None, protocol.randomize(people, entropy))))
        everybody.append(people)
    return people, everybody, [np.array(column) for column in zip(*found, strict=True)]


def assert_variance(values: NDArray[np.float64], theory: NDArray[np.float64]) -> None:
    """Chi-square intervals for the variances of many estimates (by the central limit theorem, about normal)."""
    ratio = values.var(axis=0, ddof=1) / theory
    freedom, tail = len(values) - 1, FALSE_ALARM / 2 / values.shape[1]
    assert ratio.min() > stats.chi2.ppf(tail, freedom) / freedom, ratio
    assert ratio.max() < stats.chi2.isf(tail, freedom) / freedom, ratio


@estimating
def test_estimates_are_unbiased_with_the_variance_of_the_coins(case: Case) -> None:
    people, _, (values, population, _) = collections(case.name, False)
    assert case.variances is not None
    theory = case.variances(case.protocol, people, case.estimated())[0]
    z = (values.mean(axis=0) - case.truth(people)) / np.sqrt(theory / COLLECTIONS)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / len(z)), z
    assert_variance(values, theory)
    if case.population_error_is_a_bound:
        assert (population**2).mean(axis=0).min() >= 0.98 * theory.min()
    else:
        assert_stated(population, theory)


@pytest.mark.sweep
@estimating
def test_estimates_about_those_the_people_were_drawn_from_have_the_sample_variance(case: Case) -> None:
    _, everybody, (values, _, sample) = collections(case.name, True)
    # the weights as people: so many that rounding does not matter
    likely = np.rint(case.weights() * 1e5).astype(int)
    typical = [answer for answer, count in zip(case.answers, likely.tolist(), strict=True) for _ in range(count)]
    assert case.variances is not None
    scaled = scaled_sample_variance(case, typical)
    truth = case.truth(typical) / len(typical) * case.people
    z = (values.mean(axis=0) - truth) / np.sqrt(scaled / COLLECTIONS)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / len(z)), z
    assert len({tuple(people) for people in everybody[:5]}) == 5
    assert_variance(values, scaled)
    assert_stated(sample, scaled)


def scaled_sample_variance(case: Case, typical: list[Any]) -> NDArray[np.float64]:
    """The sample variance for as many people as a collection has, drawn from these."""
    assert case.variances is not None
    chance = np.random.default_rng(5)
    if case.resalted is None:  # sums over people: variances grow with their number
        return case.variances(case.protocol, typical, case.estimated())[1] * case.people / len(typical)
    draws = [case.drawn(case.people, chance) for _ in range(20)]
    return np.mean([case.variances(case.protocol, people, case.estimated())[1] for people in draws], axis=0)


def assert_stated(errors: NDArray[np.float64], theory: NDArray[np.float64]) -> None:
    """The squares of the errors that are printed are right within 2 %, apart from the luck of these collections."""
    squares = errors**2
    luck = stats.norm.isf(FALSE_ALARM / 2 / len(theory)) * squares.std(axis=0) / math.sqrt(len(squares))
    assert (np.abs(squares.mean(axis=0) - theory) < 0.02 * theory + luck).all(), squares.mean(axis=0) / theory


# --- counting --------------------------------------------------------------------------------------------------------


@every
def test_merging_equals_absorbing_together_in_any_order_and_any_split(case: Case) -> None:
    chance = np.random.default_rng(2)
    protocol = case.protocol
    reports = protocol.randomize(case.drawn(333, chance), Reproducible(2))
    together = protocol.absorb(None, reports)
    assert together.n == 333
    for cuts in ([0], [1, 332], [64, 128], sorted(chance.integers(0, 334, 5).tolist())):
        parts = [reports[start:end] for start, end in zip([0, *cuts], [*cuts, 333], strict=True)]
        states = [protocol.absorb(None, part) for part in parts]
        for order in (states, states[::-1]):
            total = protocol.empty()
            for state in order:
                total = total.merge(state)
            assert total == together
        running: Counts | None = None
        for part in parts:
            running = protocol.absorb(running, part)
        assert running == together
        assert Reports.together(parts) == reports
    assert protocol.absorb(None, reports.shuffled(Reproducible(3))) == together
    assert protocol.absorb(None, reports[::-1]) == together
    assert Counts.from_bytes(protocol, together.to_bytes()) == together
    assert together.table.shape == protocol.shape
    assert together.table.dtype == np.int64


@every
def test_blocks_and_threads_do_not_change_what_is_sent(case: Case) -> None:
    """More people than one block holds: as many reports, in their order."""
    first, second = case.tiny_answers[:2]
    n = min(case.tiny.block, 1 << 18) + 70
    answers = Answers([first, second], np.repeat([0, 1], [n - 70, 70]))
    reports = case.tiny.randomize(answers)
    assert reports.n == n
    assert set(written(reports[n - 70 :])) <= set(case.law(case.tiny, second))


# --- bytes -----------------------------------------------------------------------------------------------------------


@every
@together("n", [0, 1, 63, 64, 65, 1000])
def test_reports_come_back_from_their_bytes(case: Case, n: int) -> None:
    reports = case.protocol.randomize(case.drawn(n, np.random.default_rng(n)), Reproducible(n))
    data = reports.to_bytes()
    again = Reports.from_bytes(case.protocol, data)
    assert again == reports
    assert again.to_bytes() == data
    assert case.protocol.absorb(None, again) == case.protocol.absorb(None, reports)
    assert len(data) == 28 + sum(-(-column.bits * n // 8) for column in case.protocol.layout)
    assert [held.dtype for held in again.columns] == [held.dtype for held in reports.columns]


@every
def test_bytes_of_another_protocol_are_refused(case: Case) -> None:
    for other in ALL_PROTOCOLS:
        if other is case:
            continue
        data = other.protocol.randomize(other.drawn(5, np.random.default_rng(1)), Reproducible(1)).to_bytes()
        with pytest.raises(InvalidParameter, match="not reports of this protocol"):
            Reports.from_bytes(case.protocol, data)
        with pytest.raises(InvalidParameter, match="not counts of this protocol"):
            Counts.from_bytes(case.protocol, other.protocol.empty().to_bytes())
        with pytest.raises(InvalidParameter, match="other parameters"):
            case.protocol.absorb(None, other.protocol.randomize(other.drawn(2, np.random.default_rng(1))))
        with pytest.raises(InvalidParameter, match="other parameters"):
            case.protocol.empty().merge(other.protocol.empty())


@every
def test_damaged_bytes_are_refused_without_a_word_about_the_data(case: Case) -> None:
    data = case.protocol.randomize(case.drawn(65, np.random.default_rng(1)), Reproducible(1)).to_bytes()
    damaged = [data[:length] for length in (*range(30), len(data) - 1)]
    damaged += [data + b"\0", b"LWR2" + data[4:], data[:20] + (1 << 62).to_bytes(8, "little") + data[28:], bytes(100)]
    damaged += [data[:28] + b"\xff" * (len(data) - 28)]  # spare bits, or a number that is too large
    for place in range(20):
        damaged.append(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for broken in damaged:
        if _may_be_a_report(case, broken):
            continue
        with pytest.raises(InvalidParameter) as caught:
            Reports.from_bytes(case.protocol, broken)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert caught.value.value == "<bytes>"
        assert "xff" not in str(caught.value)


def _may_be_a_report(case: Case, data: bytes) -> bool:
    """All ones are honest reports where no bit is spare and every number is allowed."""
    columns = case.protocol.layout
    full = all(c.kind != "number" or c.below == 1 << c.bits for c in columns)
    return (
        data[28:40] == b"\xff" * len(data[28:40])
        and len(data) > 28
        and full
        and not any(c.bits * 65 % 8 for c in columns)
    )


@every
def test_the_fingerprint_differs_for_every_parameter(case: Case) -> None:
    protocol = case.protocol
    names = {field.name for field in dataclasses.fields(protocol) if field.init}
    assert names == set(case.others), "every parameter needs another value to be tried"
    seen = {protocol.fingerprint}
    for name, value in case.others.items():
        other = dataclasses.replace(protocol, **{name: value})
        assert other != protocol, name
        seen.add(other.fingerprint)
    assert len(seen) == len(names) + 1
    assert len(protocol.fingerprint) == 16
    again = pickle.loads(pickle.dumps(protocol))
    assert again == protocol
    assert again.fingerprint == protocol.fingerprint
    assert dataclasses.replace(protocol) == protocol


@every
def test_numbers_mean_the_same_however_they_are_written(case: Case) -> None:
    protocol = case.protocol
    expected = protocol.randomize(case.answers, Reproducible(5))
    for field in dataclasses.fields(protocol):
        value = getattr(protocol, field.name)
        if not field.init or isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            continue
        for written_so in (int, float, Fraction, Decimal, np.int64, np.float64):
            if written_so(float(value)) != value:
                continue
            try:
                same = dataclasses.replace(protocol, **{field.name: written_so(float(value))})
            except InvalidParameter:  # whole numbers must be whole
                assert written_so not in (int, np.int64)
                continue
            assert same == protocol
            assert same.fingerprint == protocol.fingerprint, (field.name, written_so)
            assert same.randomize(case.answers, Reproducible(5)) == expected


def test_fingerprints_of_all_protocols_differ() -> None:
    assert len({case.protocol.fingerprint for case in ALL_PROTOCOLS}) == len(ALL_PROTOCOLS)


# --- strange answers -------------------------------------------------------------------------------------------------


class Contrary:
    """Equal to nothing, not even comparable, and not hashable."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


STRANGE: list[Any] = [
    *(None, math.nan, math.inf, -math.inf, 10**400, -1, 1e308, Decimal("sNaN"), Decimal("1E+99999"), Fraction(1, 3)),
    *("", "\ud800", "a\0b", b"\xff\xfe", "x" * 1000, 1j, [1], {}, set(), object(), Contrary(), type, ...),
    *(np.nan, np.float32(1), np.int8(3), np.longdouble("inf"), np.datetime64("NaT"), np.array([1, 2]), np.ma.masked),
]


@every
@pytest.mark.parametrize("protocol", ["protocol", "tiny"])
def test_strange_answers_never_raise_or_warn(case: Case, protocol: str) -> None:
    chosen: Protocol = getattr(case, protocol)  # any warning is an error here: see pyproject.toml
    for one in STRANGE:
        assert chosen.randomize([one], Reproducible(1)).n == 1
        assert chosen.randomize([one] * 3 + list(case.answers[:2]), Reproducible(1)).n == 5
    everything = chosen.randomize(STRANGE * 12, Reproducible(1))
    assert chosen.absorb(None, everything).n == 12 * len(STRANGE)
    for column in ([1.5, math.nan, 1e308], [True, False], [2**63, 1], ["a", None], [np.inf, -np.inf]):
        assert chosen.randomize(np.array(column)).n == len(column)
    assert chosen.randomize([]).n == 0
    assert chosen.randomize(np.array([], dtype=np.int64)).n == 0


@every
def test_whoever_passes_one_answer_instead_of_many_is_told_so(case: Case) -> None:
    for one in ("Oslo", 3, None):
        with pytest.raises(InvalidParameter):
            case.protocol.randomize(one)
