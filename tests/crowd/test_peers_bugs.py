"""Bugs of released software that concern local protocols: none of them is here, and each check would have caught it.

The broken versions are re-enacted in `lapwing.adversary.peers`, where the auditor catches them; here our protocols
take the same tests.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_mean, assert_share
from protocols import ALL_PROTOCOLS, Case, independent_bits, loss_ratio
from scipy import stats

from lapwing.adversary import audit
from lapwing.adversary.peers import (
    bit_vector_with_an_off_by_one,
    rappor_that_never_clears_a_bit,
    unary_encoding_at_full_epsilon,
)
from lapwing.crowd import Answers, UnaryEncoding
from lapwing.crowd.bits import column_counts, noise_rows, unpack_rows
from lapwing.crowd.categories import CategoryResponse
from lapwing.exact import ln_up
from lapwing.noise import Entropy, Reproducible

SIZES = (2, 63, 64, 65, 128, 130)
ROWS = [case for case in ALL_PROTOCOLS if any(column.kind == "row" for column in case.protocol.layout)]


# --- a client that never clears a bit --------------------------------------------------------------------------------


@together("domain", SIZES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_bit_of_the_true_answer_is_often_zero(symmetric: bool, domain: int) -> None:
    poll, n = UnaryEncoding.from_epsilon(2, symmetric=symmetric, domain=domain), 20_000
    for answer in (0, domain // 2, domain - 1):
        rows = poll.randomize(Answers([answer], np.zeros(n, dtype=np.intp)), Reproducible(answer)).column("bits")
        assert_share(int(column_counts(rows, domain)[answer]), n, float(poll.one_if_true))


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_every_bit_of_every_protocol_is_set_and_cleared_for_every_answer(case: Case) -> None:
    """A bit that one answer can never clear, or never set, betrays that answer: ε = ∞."""
    for answer in case.tiny_answers:
        reports = case.tiny.randomize([answer] * 4000, Reproducible(5))
        for column, held in zip(case.tiny.layout, reports.columns, strict=True):
            if column.kind == "row":
                shares = unpack_rows(held, column.bits).mean(axis=0)
                assert shares.min() > 0
                assert shares.max() < 1


def test_the_auditor_would_have_caught_the_client_that_never_clears() -> None:
    found = audit(rappor_that_never_clears_a_bit, (0, 1), samples=4000, relation="replace", claimed=1)
    assert found.caught


# --- unary encoding that is not ε-LDP --------------------------------------------------------------------------------


@together("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("symmetric", [True, False])
def test_two_bits_together_lose_no_more_than_epsilon(symmetric: bool, epsilon: float) -> None:
    """Exactly, by all reports over three answers and none: every bit with the whole ε would lose twice as much."""
    poll = UnaryEncoding.from_epsilon(epsilon, symmetric=symmetric, domain=3)
    p, q = Fraction(poll.one_if_true), Fraction(poll.one_if_other)
    laws = [independent_bits([p if place == answer else q for place in range(3)]) for answer in range(4)]
    ratio = loss_ratio({(row,): chance for row, chance in law.items()} for law in laws)
    assert ln_up(ratio) == poll.privacy_loss().epsilon <= Fraction(epsilon)
    assert poll.privacy_loss().epsilon > Fraction(998, 1000) * Fraction(epsilon)


def test_what_is_stated_follows_the_probabilities_not_the_wish() -> None:
    """The mistake written out: p = e^ε/(1 + e^ε) for every bit claims ε = 1; the loss stated here is 2."""
    whole = Fraction(math.e / (1 + math.e))
    poll = UnaryEncoding(domain=4, one_if_true=whole, one_if_other=1 - whole)
    assert float(poll.privacy_loss().epsilon) == pytest.approx(2)
    found = audit(unary_encoding_at_full_epsilon, (0, 1), samples=8000, relation="replace", claimed=1)
    assert found.caught


# --- an off-by-one in a vector of bits -------------------------------------------------------------------------------


@together("domain", SIZES)
def test_every_place_of_a_row_is_randomised_the_first_and_the_last_too(domain: int) -> None:
    poll, n = UnaryEncoding.from_epsilon(1, domain=domain), 20_000
    for answer in sorted({0, 1, 62, 63, 64, domain - 2, domain - 1}):
        if not 0 <= answer < domain:
            continue
        rows = poll.randomize(Answers([answer], np.zeros(n, dtype=np.intp)), Reproducible(answer)).column("bits")
        counts = column_counts(rows, domain)
        chances = np.full(domain, float(poll.one_if_other))
        chances[answer] = float(poll.one_if_true)
        z = (counts - n * chances) / np.sqrt(n * chances * (1 - chances))
        assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / domain), int(np.abs(z).argmax())


def test_noise_of_neighbouring_bits_is_independent() -> None:
    rows = unpack_rows(noise_rows(40_000, 66, Fraction(1, 4), Reproducible(1)), 66)
    for first, second in ((0, 1), (0, 65), (62, 63), (63, 64), (64, 65)):
        assert_share(int((rows[:, first] & rows[:, second]).sum()), 40_000, 1 / 16)


def test_the_auditor_would_have_caught_the_off_by_one() -> None:
    pair = ((True, False, True), (False, False, True))
    assert audit(bit_vector_with_an_off_by_one, pair, samples=4000, relation="replace", claimed=1).caught


# --- estimates clipped and renormalised until they are biased --------------------------------------------------------


def test_estimates_are_right_on_average_where_clipping_and_renormalising_is_not() -> None:
    """ε = ½, 128 answers, 1000 people: clipping reports about 0.1 for a true 0.322."""
    poll, n, runs = CategoryResponse.from_epsilon(0.5, domain=128), 1000, 200
    people = Answers.counted({0: 322, 1: 278, 127: 400})
    entropy, ours, clipped = Reproducible(1), [], []
    for _ in range(runs):
        found = poll.estimate(poll.absorb(None, poll.randomize(people, entropy)))
        ours.append(found[0] / n)
        positive = np.maximum(found.counts, 0)
        clipped.append(positive[0] / positive.sum())
    p, q = float(poll.keep), float(poll.switch)
    variance = (322 * p * (1 - p) + 678 * q * (1 - q)) / (p - q) ** 2 / n**2
    assert_mean(ours, 0.322, variance)
    assert sum(clipped) / runs < 0.15


def test_nothing_is_cut_off_unless_asked() -> None:
    for case in ALL_PROTOCOLS:
        if case.variances is None or case.estimated() == (None,):
            continue
        few = case.protocol.randomize([case.answers[0]] * 3, Reproducible(1))
        counts, _, _ = case.estimate(case.protocol.absorb(None, few))
        everyone = [case.protocol.randomize([case.answers[0]] * 3, Reproducible(seed)) for seed in range(20)]
        lowest = min(case.estimate(case.protocol.absorb(None, reports))[0].min() for reports in everyone)
        assert lowest < 0, f"{case}: {counts}"


# --- repeated noise --------------------------------------------------------------------------------------------------


def test_two_people_with_one_answer_do_not_send_the_same_noise() -> None:
    poll = UnaryEncoding.from_epsilon(1, symmetric=True, domain=256)
    rows = poll.randomize([7] * 2000).column("bits")
    assert max(Counter(map(bytes, rows)).values()) == 1
    assert all((one != other).any() for one, other in itertools.pairwise(rows[:100]))


def test_threads_do_not_share_their_noise() -> None:
    class Counted(Entropy):
        """The system's randomness, refusing to hand out the same words twice."""

        private = True

        def __init__(self) -> None:
            self.seen: set[bytes] = set()

        def bits(self, count: int) -> int:
            from lapwing.noise import SYSTEM

            return SYSTEM.bits(count)

        def fill(self, target: memoryview) -> None:
            from lapwing.noise import SYSTEM

            SYSTEM.fill(target)
            start = bytes(target[:32])
            assert len(start) < 32 or start not in self.seen
            self.seen.add(start)

    poll = UnaryEncoding.from_epsilon(1, symmetric=True, domain=64)
    entropy = Counted()
    assert poll.randomize(np.zeros(2 * poll.block + 5, dtype=np.int64), entropy).n == 2 * poll.block + 5
    assert len(entropy.seen) > 2
