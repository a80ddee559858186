"""From RAPPOR's bits back to answers."""

from __future__ import annotations

from itertools import count
from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import binom, chi2
from sweeps import few

from lapwing.crowd.counts import Counts
from lapwing.crowd.decoding import _rejected, _saddlepoint, decode
from lapwing.crowd.items import Answers
from lapwing.crowd.rappor import OneTimeRappor, Rappor
from lapwing.crowd.regression import Cells
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
FAR = -NormalDist().inv_cdf(FALSE_ALARM / 2)


def rappor(salt: str = "", k: int = 64, h: int = 2, m: int = 16, **noise: float) -> Rappor:
    return Rappor.from_symbols(k=k, h=h, m=m, salt=salt, **({"f": 0.5, "p": 0.25, "q": 0.75} | noise))


def names(number: int) -> list[str]:
    return [f"answer {i}" for i in range(number)]


def zipf(people: int, number: int, exponent: float = 1.1) -> np.ndarray:
    weights = 1 / np.arange(1, number + 1) ** exponent
    return np.floor(people * weights / weights.sum()).astype(np.int64)


def collected(protocol: OneTimeRappor, labels: list[str], people: np.ndarray, seed: int) -> Counts:
    truth = Answers.counted(dict(zip(labels, people.tolist(), strict=True)))
    return protocol.absorb(None, protocol.randomize(truth, Reproducible(seed)))


def drawn(protocol: OneTimeRappor, labels: list[str], people: np.ndarray, rng: np.random.Generator) -> Counts:
    """Counts with the law of `collected`, without the reports: quick enough to be drawn hundreds of times."""
    one, other = (float(protocol.one_probability(bit)) for bit in (True, False))
    table = np.zeros(protocol.shape, dtype=np.int64)
    spread = np.array([rng.multinomial(some, np.full(protocol.cohorts, 1 / protocol.cohorts)) for some in people])
    for cohort, places in enumerate(np.sort(protocol.places(labels), axis=2)):
        members = spread[:, cohort]
        truly = np.bincount(places[:, 0], members, protocol.bits)
        for i in range(1, protocol.hashes):
            truly += np.bincount(places[:, i], members * (places[:, i] != places[:, i - 1]), protocol.bits)
        ones = truly.astype(np.int64)
        table[cohort, :-1] = rng.binomial(ones, one) + rng.binomial(members.sum() - ones, other)
        table[cohort, -1] = members.sum()
    return Counts(protocol, int(people.sum()), table)


@pytest.mark.parametrize("selection", ["lasso", "none"])
def test_three_answers_on_three_bits_are_solved_exactly(selection):
    protocol = Rappor(bits=3, hashes=2, cohorts=1, permanent_noise=0.5, one_if_unset=0, one_if_set=1)
    wanted = [{0, 1}, {0, 2}, {1, 2}]
    labels = [next(n for n in count() if set(protocol.places([n])[0, 0].tolist()) == bits) for bits in wanted]
    one, other = protocol.one_probability(True), protocol.one_probability(False)
    ones = [int(other * 9000 + (one - other) * bits) for bits in (6000, 7000, 5000)]
    found = decode(protocol, Counts(protocol, 9000, np.array([[*ones, 9000]])), labels, selection=selection)
    assert found.counts == pytest.approx([4000, 2000, 3000])
    assert found.significant.all()
    assert found.unexplained_share == pytest.approx(0)


@pytest.mark.parametrize(
    "protocol", [rappor("s", 128, 2, 32), OneTimeRappor(permanent_noise=0.5, cohorts=16)], ids=["fresh", "once"]
)
def test_frequent_answers_among_thousands_are_found_with_their_errors(protocol):
    labels, truth = names(3000), zipf(300_000, 300)
    people = np.concatenate([truth, np.zeros(2700, dtype=np.int64)])
    found = decode(protocol, collected(protocol, labels, people, 1), labels)
    limit = -NormalDist().inv_cdf(0.05 / 3000) + FAR
    surely = people > limit * found.sample_standard_error
    assert surely.sum() >= 3
    assert found.significant[surely].all()
    assert not found.significant[people == 0].any()
    errors = (found.counts - people)[surely] / found.population_standard_error[surely]
    assert np.abs(errors).max() < FAR
    assert (errors**2).sum() < chi2.isf(FALSE_ALARM, len(errors))
    assert found.discovered().labels[0] == "answer 0"
    assert len(found.top(7)) == len(found.top(7).p_values) == 7
    assert "answer 0" in str(found)


def test_fitting_all_candidates_is_unbiased_with_the_errors_stated():
    labels, people = names(120), zipf(100_000, 120)
    rng, errors = np.random.default_rng(2), []
    for run in range(40):
        protocol = rappor(f"all {run}")
        found = decode(protocol, drawn(protocol, labels, people, rng), labels, selection="none")
        errors.append((found.counts - people) / found.population_standard_error)
    mean = np.mean(errors, axis=0) * 40**0.5
    assert np.abs(mean).max() < -NormalDist().inv_cdf(FALSE_ALARM / 2 / 120)
    assert np.std(errors) == pytest.approx(1, abs=0.06)


def test_people_who_were_counted_and_people_drawn_at_random_have_each_their_error():
    """With little noise the two differ much."""
    labels, people = names(3), np.array([5000, 3000, 2000])
    rng, counted, sampled = np.random.default_rng(9), [], []
    for run in range(100):
        protocol = OneTimeRappor(bits=256, hashes=2, cohorts=1, permanent_noise=0.05, salt=f"{run}")
        found = decode(protocol, drawn(protocol, labels, people, rng), labels, selection="none")
        counted.append((found.counts - people) / found.population_standard_error)
        found = decode(protocol, drawn(protocol, labels, rng.multinomial(10_000, people / 10_000), rng), labels)
        sampled.append((found.counts - people) / found.sample_standard_error)
    for errors in (counted, sampled):
        for variance in np.var(errors, axis=0) * 100:
            assert chi2.isf(1 - FALSE_ALARM / 12, 99) < variance < chi2.isf(FALSE_ALARM / 12, 99)


def test_answers_outside_the_candidates_do_not_push_counts_up():
    protocol, people = rappor(k=32), np.concatenate([np.full(10, 2000), np.full(800, 100)])
    found = decode(protocol, collected(protocol, names(810), people, 10), names(10), selection="none")
    assert abs(found.counts.sum() - 20_000) / (found.n * found.unexplained_standard_error) < FAR
    assert np.abs((found.counts - 2000) / found.population_standard_error).max() < FAR
    assert found.unexplained_share == pytest.approx(0.8, abs=FAR * found.unexplained_standard_error)


@pytest.mark.parametrize("missing", few([[0.09, 0.06, 0.03], []]), ids=["frequent answers missing", "complete"])
def test_false_discoveries_are_as_rare_as_declared(missing):
    """Also when frequent answers are no candidates: their bits must not be taken for a candidate's."""
    runs, labels = 150, names(400)
    listed = np.concatenate([zipf(60_000, 30, 1.0), np.zeros(370, dtype=np.int64)])
    absent = np.array([int(share * 60_000) for share in missing], dtype=np.int64)
    everything, people = labels + [f"absent {i}" for i in range(len(absent))], np.concatenate([listed, absent])
    rng, any_false, share_false, discoveries = np.random.default_rng(3), 0, [], 0
    for run in range(runs):
        protocol = rappor(f"runs {run}")
        state = drawn(protocol, everything, people, rng)
        found = decode(protocol, state, labels)
        strict, loose = found.significant, _rejected(found.p_values, 0.05, "benjamini-hochberg") & found.selected
        any_false += bool(strict[30:].any())
        share_false.append(loose[30:].sum() / max(loose.sum(), 1))
        discoveries += strict.sum()
    assert any_false <= binom.isf(FALSE_ALARM, runs, 0.05)
    assert np.mean(share_false) < 0.05 + FAR * np.std(share_false) / runs**0.5
    assert discoveries > 2 * runs


def test_the_error_is_smaller_than_that_of_plain_non_negative_least_squares():
    labels, people = names(800), zipf(200_000, 800)
    ours, plain = [], []
    for seed in range(3):
        protocol = rappor(f"nnls {seed}")
        state = collected(protocol, labels, people, seed)
        cells = Cells.of(protocol, state, labels)
        shares, _ = nnls(cells._matrix(np.arange(800)).toarray().T[:-1], cells.target[:-1] + cells.background)
        plain.append(((shares * state.n - people) ** 2).mean())
        ours.append(((decode(protocol, state, labels).counts - people) ** 2).mean())
    assert np.mean(ours) < np.mean(plain)


def test_the_fit_tells_when_a_frequent_answer_is_missing():
    protocol, labels, people = rappor(), names(20), zipf(100_000, 20)
    state = collected(protocol, labels, people, 5)
    good, bad = decode(protocol, state, labels), decode(protocol, state, labels[1:])
    assert good.fit.p_value > FALSE_ALARM > bad.fit.p_value
    assert good.fit.explained_variance > bad.fit.explained_variance
    assert good.fit.dispersion < 1.2 < bad.fit.dispersion
    left_out = people[0] / people.sum()
    assert bad.unexplained_share > left_out / 2 > abs(good.unexplained_share)


def test_a_rare_process_among_hundreds_is_estimated_as_in_the_case_of_bad_apple():
    """k=128, h=2, m=8, q=.75, p=.5, f=.5; 186,792 reports; 2.6 % run it."""
    protocol = rappor("processes", 128, 2, 8, p=0.5)
    people = np.append(zipf(181_935, 250, 0.8), 4857)
    labels = [*names(250), "BADAPPLE.COM"]
    found = decode(protocol, collected(protocol, labels, people, 8), labels, selection="none")
    share, error = found["BADAPPLE.COM"] / found.n, found.sample_standard_error[-1] / found.n
    assert abs(share - 0.026) < FAR * error
    assert 0.006 < error < 0.009


def test_one_fake_report_adds_no_more_than_stated():
    protocol, labels = rappor(m=4), names(40)
    state = collected(protocol, labels, zipf(20_000, 40), 6)
    honest = decode(protocol, state, labels, selection="none")
    gains = []
    for cohort in range(4):
        for place in range(0, 40, 5):
            table = state.table.copy()
            table[cohort, np.unique(protocol.places(labels)[cohort, place])] += 100
            table[cohort, -1] += 100
            faked = decode(protocol, Counts(protocol, state.n + 100, table), labels, selection="none")
            gains.append((faked.counts[place] - honest.counts[place]) / 100)
    assert honest.gain_per_fake / 3 < max(gains) < 1.1 * honest.gain_per_fake


def test_corrections_reject_what_the_textbook_does():
    p_values = np.array([0.041, 0.001, 0.039, 0.008, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216])
    rejected = {rule: np.flatnonzero(_rejected(p_values, 0.05, rule)).tolist() for rule in ("bonferroni", "none")}
    assert rejected == {"bonferroni": [1], "none": [0, 1, 2, 3, 4]}
    assert np.flatnonzero(_rejected(p_values, 0.05, "benjamini-hochberg")).tolist() == [1, 3]
    assert np.flatnonzero(_rejected(np.array([0.01, 0.04, 0.03, 0.005]), 0.05, "holm")).tolist() == [0, 3]
    assert _rejected(np.array([0.01, 0.01]), 0.05, "holm").all()
    assert not len(_rejected(np.empty(0), 0.05, "holm"))


def test_the_saddlepoint_gives_the_tail_of_sums_of_skew_draws():
    pulls = np.random.default_rng(4).exponential(size=(8, 64)) ** 1.5
    rng = np.random.default_rng(5)
    sums = sum(pulls[row][rng.integers(64, size=(2, 400_000))].sum(axis=0) for row in range(8))
    for share in (0.1, 0.01, 0.001):
        assert _saddlepoint(pulls, 2, float(np.quantile(sums, 1 - share))) == pytest.approx(share, rel=0.25)


def test_nothing_to_decode_is_no_error():
    protocol = rappor()
    nobody = decode(protocol, protocol.empty(), ["a", "b"])
    assert nobody.counts.tolist() == [0, 0]
    assert not nobody.significant.any()
    state = collected(protocol, ["a"], np.array([50]), 7)  # cohorts without a report, too
    assert len(decode(protocol, state, [])) == 0
    assert np.isfinite(decode(protocol, state, ["a", "a", "b", None, float("nan"), "\ud800", 7]).counts).all()
    assert isinstance(protocol.estimate(state, ["a"]).counts[0], float)


def test_what_cannot_be_decoded_is_refused():
    protocol = rappor()
    state = protocol.empty()
    for options in ({"correction": "holmes"}, {"selection": "ridge"}, {"confidence": 1}):
        with pytest.raises(InvalidParameter):
            decode(protocol, state, ["a"], **options)
    with pytest.raises(InvalidParameter):
        decode(rappor("other"), state, ["a"])
    with pytest.raises(InvalidParameter, match="lasso"):
        decode(protocol, collected(protocol, ["a"], np.array([500]), 1), names(2000), selection="none")
