"""Frequent texts that nobody listed."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from cases import together

from lapwing.crowd.items import Answers
from lapwing.crowd.rappor import OneTimeRappor, Rappor
from lapwing.crowd.reports import Reports
from lapwing.crowd.unary import UnaryEncoding
from lapwing.crowd.unknown import UnknownDictionary
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
FAR = -NormalDist().inv_cdf(FALSE_ALARM / 2 / 64)
"""For up to 64 comparisons in a test."""
WHOLE = OneTimeRappor(bits=128, hashes=2, cohorts=16, permanent_noise=0.5, salt="whole")
PIECE = OneTimeRappor(bits=64, hashes=2, cohorts=8, permanent_noise=0.5, salt="piece")
LETTERS = "abcdefgh"
HUNT = UnknownDictionary(whole=WHOLE, fragment=PIECE, alphabet=LETTERS, length=6)


def texts_of(number: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    made = ("".join(rng.choice(list(LETTERS), size=rng.integers(4, 7))) for _ in range(2 * number))
    return list(dict.fromkeys(made))[:number]


@pytest.fixture(scope="module")
def truth() -> dict[str, int]:
    weights = 1 / np.arange(1, 101) ** 1.3
    people = np.floor(120_000 * weights / weights.sum()).astype(int)
    return dict(zip(texts_of(100, 1), people.tolist(), strict=True))


@pytest.fixture(scope="module")
def reports(truth: dict[str, int]) -> Reports:
    return HUNT.randomize(Answers.counted(truth), Reproducible(2))


def test_frequent_texts_are_found_and_no_others(truth, reports):
    found = HUNT.discover(reports)
    discovered = found.texts.discovered()
    assert set(discovered.labels) <= set(truth)
    assert set(list(truth)[:6]) <= set(discovered.labels)
    assert not found.cut_off
    assert len(found.texts) <= 1000
    errors = [discovered[text] - truth[text] for text in list(truth)[:6]]
    assert np.abs(np.array(errors) / discovered.population_standard_error[:6]).max() < FAR


def test_listed_texts_are_decoded_from_the_counts_alone(truth, reports):
    state = HUNT.absorb(HUNT.absorb(None, reports[:5000]), reports[5000:])
    assert state == HUNT.absorb(None, reports)
    common = next(iter(truth))
    found = HUNT.estimate(state, [common, "hhhhhh"])
    assert found.significant.tolist() == [True, False]


def test_every_position_is_drawn_and_counted(reports):
    state = HUNT.absorb(None, reports)
    pieces = state.table[WHOLE.cohorts * (WHOLE.bits + 1) :].reshape(3, PIECE.cohorts, PIECE.bits + 1)
    assert pieces[:, :, -1].sum() == 2 * reports.n
    assert pieces[:, :, -1].sum(axis=1) == pytest.approx(np.full(3, 2 * reports.n / 3), rel=0.02)


def test_the_loss_is_the_sum_of_the_three_reports():
    assert HUNT.privacy_loss().epsilon == WHOLE.privacy_loss().epsilon + 2 * PIECE.privacy_loss().epsilon
    assert float(HUNT.privacy_loss().epsilon) == pytest.approx(3 * 4 * np.log(3))
    assert HUNT.privacy_loss().relation == "replace"


def test_a_tiny_form_loses_no_more_than_stated_by_full_enumeration():
    """All reports of two texts, their probabilities multiplied out bit by bit."""
    tiny = OneTimeRappor(bits=2, hashes=1, cohorts=1, permanent_noise=Fraction(1, 2), salt="t")
    hunt = UnknownDictionary(whole=tiny, fragment=tiny, alphabet="abcd", length=2, fragment_length=1)

    def law(text: str) -> np.ndarray:
        parts = []
        for piece in (text, text[0], text[1]):
            ones = [float(tiny.one_probability(j in tiny.places([piece])[0, 0])) for j in range(2)]
            parts.append(np.outer([1 - ones[0], ones[0]], [1 - ones[1], ones[1]]).ravel())
        return np.einsum("i,j,k->ijk", *parts).ravel()

    laws = [law(one + other) for one in "abcd" for other in "abcd"]
    worst = max(float(np.log(p / q).max()) for p in laws for q in laws)
    assert worst == pytest.approx(float(hunt.privacy_loss().epsilon))
    people = hunt.randomize(["ab"] * 40_000, Reproducible(5))
    seen = (
        people.column("whole_bits")[:, 0] * 16
        + people.column("first_bits")[:, 0] * 4
        + people.column("second_bits")[:, 0]
    )
    shares, expected = np.bincount(seen.astype(int), minlength=64) / 40_000, law("ab").reshape(4, 4, 4)
    swapped = expected.reshape(2, 2, 2, 2, 2, 2).transpose(1, 0, 3, 2, 5, 4).ravel()  # the first bit is the lowest
    assert (np.abs(shares - swapped) / np.sqrt(swapped * (1 - swapped) / 40_000)).max() < FAR


def test_strange_answers_are_no_answers():
    strange = [None, float("nan"), 7, b"ab", "\ud800", "x" * 50, "", ["list"], "abcdef"]
    reports = HUNT.randomize(strange * 3, Reproducible(3))
    assert Reports.from_bytes(HUNT, reports.to_bytes()) == reports
    assert len(HUNT.discover(reports).texts.discovered()) == 0
    assert len(HUNT.discover(reports[:0]).texts) == 0


def test_fragments_are_letters_and_then_fillers():
    assert UnknownDictionary(whole=WHOLE, fragment=PIECE, alphabet="ab", length=4, filler="_").fragments() == (
        ["aa", "ab", "ba", "bb", "a_", "b_", "__"]
    )


@together(
    "wrong",
    [
        {"alphabet": ""},
        {"alphabet": "aa"},
        {"length": 5},
        {"length": 2},
        {"fragment_length": 0},
        {"fragment_length": 3, "alphabet": "".join(map(chr, range(100, 200)))},
        {"filler": "a"},
        {"whole": UnaryEncoding.from_epsilon(1, domain=3)},
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidParameter):
        UnknownDictionary(**({"whole": WHOLE, "fragment": PIECE, "alphabet": LETTERS, "length": 6} | wrong))


def test_other_parameters_have_another_fingerprint():
    again = Rappor.from_symbols(f=0.5, p=0.25, q=0.75)
    other = UnknownDictionary(whole=again, fragment=PIECE, alphabet=LETTERS, length=6)
    assert other.fingerprint != HUNT.fingerprint
