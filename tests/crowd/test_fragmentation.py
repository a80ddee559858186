"""Reports in pieces: the same totals, less to be seen, and exact accounts by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import together

from lapwing.crowd import CountMeanSketch, Monitoring, StochasticRounding, UnaryEncoding
from lapwing.crowd.fragmentation import AttributeFragments, Messages, ReportFragments
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible
from lapwing.privacy.shuffling import shuffled

FALSE_ALARM = 1e-6
NORMAL = 4.9  # two-sided normal quantile of FALSE_ALARM
POLL = UnaryEncoding.from_epsilon(epsilon=4, symmetric=True, domain=["bus", "bike", "car"])
PEOPLE = ["bus"] * 700 + ["bike"] * 250 + ["train"] * 50


@pytest.mark.parametrize("protocol", [POLL, UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike", "car"])])
def test_fragments_hold_the_same_totals_as_whole_reports(protocol: UnaryEncoding) -> None:
    pieces = AttributeFragments(protocol)
    reports = protocol.randomize(PEOPLE, Reproducible(1))
    messages = pieces.fragments(reports, Reproducible(2))
    assert len(messages) == 3 * len(PEOPLE)
    counts = pieces.absorb(None, messages)
    assert counts == protocol.absorb(None, reports)
    assert (pieces.estimate(counts).counts == protocol.estimate(counts).counts).all()
    twice = pieces.absorb(counts, messages)
    assert twice.n == 2 * len(PEOPLE)


def test_fragments_are_mixed_across_people_and_positions() -> None:
    reports = POLL.randomize(PEOPLE, Reproducible(1))
    messages = AttributeFragments(POLL).fragments(reports, Reproducible(2))
    assert np.bincount(messages.positions).tolist() == [1000, 1000, 1000]
    runs = int((np.diff(messages.positions) == 1).sum())
    assert abs(runs - 2999 * 2 / 9) < NORMAL * math.sqrt(2999 * 2 / 9)


def test_messages_that_do_not_come_from_everybody_are_refused() -> None:
    pieces = AttributeFragments(POLL)
    for positions in ([0, 1, 2, 0], [0, 1, 2, 3], []):
        if positions:
            with pytest.raises(InvalidParameter, match="every position"):
                pieces.absorb(None, Messages(np.array(positions), np.zeros(len(positions), dtype=np.bool_)))


@together(
    ("positions", "bits"),
    [
        ([-1, 0, 1, 2], [True] * 4),
        ([0, 1, 10**13], [True] * 3),
        ([0, 1, 2], [True]),
        ([0.0, 1.0, 2.0], [True] * 3),
        ([0, 1, 2], [1, 0, 1]),
        ([[0, 1, 2]], [[True] * 3]),
    ],
)
def test_messages_that_are_none_are_refused_before_they_fill_the_memory(positions: list[int], bits: list[bool]) -> None:
    with pytest.raises(InvalidParameter) as raised:
        AttributeFragments(POLL).absorb(None, Messages(np.array(positions), np.array(bits)))
    assert raised.value.hint


def bit_laws(protocol: UnaryEncoding, answer: int | None) -> list[Fraction]:
    ones = (Fraction(protocol.one_if_other), Fraction(protocol.one_if_true))
    return [ones[place == answer] for place in range(3)]


def row_law(protocol: UnaryEncoding, answer: int | None) -> dict[tuple[int, ...], Fraction]:
    laws = bit_laws(protocol, answer)
    return {
        row: Fraction(math.prod((p if bit else 1 - p) for bit, p in zip(row, laws, strict=True)))
        for row in product((0, 1), repeat=3)
    }


@pytest.mark.parametrize(
    "protocol", [POLL, UnaryEncoding.from_epsilon(epsilon=2, domain=3)], ids=["symmetric", "other"]
)
def test_local_losses_are_those_of_all_reports_there_are(protocol: UnaryEncoding) -> None:
    pieces = AttributeFragments(protocol)
    removal, whole = float(pieces.local_removal().epsilon), float(pieces.local_loss().epsilon)
    laws = [row_law(protocol, answer) for answer in (0, 1, 2)]
    none = row_law(protocol, None)
    ratios = [max(law[row] / none[row], none[row] / law[row]) for law in laws for row in none]
    assert math.log(max(ratios)) == pytest.approx(removal, rel=1e-12)
    assert whole <= 2 * removal * (1 + 1e-12)
    assert math.log(max(a[row] / b[row] for a in laws for b in laws for row in a)) == pytest.approx(whole, rel=1e-12)


def test_removal_is_half_of_replacement_when_bits_are_symmetric() -> None:
    pieces = AttributeFragments(POLL)
    assert 2 * pieces.local_removal().epsilon == pytest.approx(pieces.local_loss().epsilon)
    assert "removal" in str(pieces.local_removal())


def count_laws(protocol: UnaryEncoding, people: list[int | None]) -> list[list[Fraction]]:
    """For every position the law of how many ones there are: all that shuffled messages show."""
    found = []
    for place in range(3):
        law = [Fraction(1)]
        for answer in people:
            p = bit_laws(protocol, answer)[place]
            law = [a * (1 - p) + b * p for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
        found.append(law)
    return found


def lost(one: list[list[Fraction]], other: list[list[Fraction]], epsilon: float) -> float:
    """The exact hockey-stick divergence of the product laws."""
    factor = Fraction(math.exp(epsilon))
    joint = [[math.prod(cells) for cells in product(*laws)] for laws in (one, other)]
    return float(sum(max(p - factor * q, Fraction(0)) for p, q in zip(*joint, strict=True)))


@pytest.mark.parametrize(
    "protocol", [POLL, UnaryEncoding.from_epsilon(epsilon=2, domain=3)], ids=["symmetric", "other"]
)
@pytest.mark.parametrize("delta", [0.02, 0.2])
def test_what_shuffled_fragments_lose_is_covered_for_replacement_and_removal(
    protocol: UnaryEncoding, delta: float
) -> None:
    pieces = AttributeFragments(protocol)
    others: list[list[int | None]] = [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2], [None] * 6]
    replacement, removal = pieces.privacy_loss(7, delta), pieces.removal(7, delta)
    for rest in others:
        laws = {answer: count_laws(protocol, [answer, *rest]) for answer in (0, 1, 2, None)}
        assert lost(laws[0], laws[1], float(replacement.epsilon)) <= delta
        assert lost(laws[1], laws[0], float(replacement.epsilon)) <= delta
        assert lost(laws[0], laws[None], float(removal.epsilon)) <= delta
        assert lost(laws[None], laws[0], float(removal.epsilon)) <= delta


def test_fragments_cost_less_than_whole_reports_and_never_more() -> None:
    pieces = AttributeFragments(POLL)
    whole = shuffled(POLL.privacy_loss(), 10**5, 1e-6)
    assert pieces.privacy_loss(10**5, 1e-6).epsilon < 0.6 * whole.epsilon
    assert pieces.removal(10**5, 1e-6).epsilon < pieces.privacy_loss(10**5, 1e-6).epsilon
    assert pieces.privacy_loss(5, 1e-6).epsilon <= pieces.local_loss().epsilon
    assert pieces.privacy_loss(10**5, 1e-6, fakes=90_000).epsilon == pieces.privacy_loss(10**4, 1e-6).epsilon


def test_only_bits_that_are_randomised_one_by_one_are_split() -> None:
    with pytest.raises(InvalidParameter, match="one by one"):
        AttributeFragments("poll")  # type: ignore[arg-type]


def test_several_weak_reports_cost_less_when_shuffled_than_one_strong_one() -> None:
    weak = ReportFragments(UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=3), 4)
    strong = UnaryEncoding.from_epsilon(epsilon=4, symmetric=True, domain=3)
    assert weak.local_loss().epsilon == 4 * weak.protocol.privacy_loss().epsilon
    stated = weak.privacy_loss(10**5, 1e-6)
    assert stated.epsilon < 0.45 * shuffled(strong.privacy_loss(), 10**5, 1e-6).epsilon
    once = ReportFragments(weak.protocol, 1).privacy_loss(10**5, 1e-6)
    assert once.epsilon == shuffled(weak.protocol.privacy_loss(), 10**5, 1e-6).epsilon
    assert once.epsilon < stated.epsilon < 4 * once.epsilon * 1.2


def test_many_report_fragments_cost_less_than_their_sum() -> None:
    weak = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=3)
    few, many = (float(ReportFragments(weak, count).privacy_loss(10**5, 1e-6).epsilon) for count in (4, 64))
    assert many < 0.7 * 16 * few


def test_report_fragments_average_the_coins_and_not_the_people() -> None:
    protocol, count = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike", "car"]), 8
    pieces = ReportFragments(protocol, count)
    batches = pieces.randomize(PEOPLE * 20, Reproducible(5))
    found = pieces.estimate(pieces.absorb(None, batches))
    once = protocol.estimate(protocol.absorb(None, batches[0]))
    assert found.n == once.n == 20_000
    truth = np.array([14_000, 5_000, 0])
    assert (np.abs(found.counts - truth) < NORMAL * found.population_standard_error).all()
    smaller = found.population_standard_error / once.population_standard_error
    assert smaller == pytest.approx(1 / math.sqrt(count), rel=0.02)
    drawing = found.sample_standard_error[0] ** 2 - found.population_standard_error[0] ** 2
    assert drawing == pytest.approx(20_000 * 0.7 * 0.3, rel=0.05)
    with pytest.raises(InvalidParameter, match="from every person"):
        pieces.estimate(protocol.absorb(None, batches[0][:15]))


def test_report_fragments_of_histories_are_histories() -> None:
    watch = Monitoring(steps=4, changes=1, epsilon=3)
    pieces = ReportFragments(watch, 3)
    people = np.repeat([[0, 1, 1, 1], [0, 0, 0, 1]], 2000, axis=0)
    for values in (people, list(people), iter(people)):
        batches = pieces.randomize(values, Reproducible(6))
        assert [batch.n for batch in batches] == [4000] * 3
        found = pieces.estimate(pieces.absorb(None, batches))
        assert (np.abs(found.counts - [0, 2000, 2000, 4000]) < NORMAL * found.population_standard_error).all()


def test_report_fragments_of_open_domains_are_asked_about_candidates() -> None:
    sketch = CountMeanSketch(epsilon=4, functions=64, width=64, salt="fragments")
    pieces = ReportFragments(sketch, 2)
    state = pieces.absorb(None, pieces.randomize(iter(PEOPLE * 10), Reproducible(7)))
    found = pieces.estimate(state, ["bus", "bike"])
    assert (np.abs(found.counts - [7000, 2500]) < NORMAL * found.population_standard_error).all()


def test_a_mean_of_fragments_says_where_its_error_is() -> None:
    """One bit each does not tell how the numbers differ, so what drawing the people adds is unknown."""
    pieces = ReportFragments(StochasticRounding.from_epsilon(1, bounds=(0, 1)), 2)
    state = pieces.absorb(None, pieces.randomize([0.5] * 100, Reproducible(8)))
    with pytest.raises(InvalidParameter, match="does not estimate counts") as raised:
        pieces.estimate(state)
    assert "protocol.estimate" in raised.value.hint
