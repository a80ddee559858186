"""Fragments by their exact laws: what the aggregator sees against what is stated, and intervals against the truth."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import exp
from typing import Any

import numpy as np
import pytest
from collecting import CROWD, FRAGMENTS, Keys, document
from numpy.typing import NDArray
from scipy.stats import binom, norm
from sweeps import few

from lapwing.collect import reader
from lapwing.collect.answer_fragments import Fragments, PositionedBit
from lapwing.collect.collection import Collection
from lapwing.collect.crowds import Crowd
from lapwing.collect.fragment_promises import removal, replacement
from lapwing.collect.removals import Removal
from lapwing.crowd import BinaryResponse, Counts, Reports, UnaryEncoding
from lapwing.crowd.intervals import exact_estimate
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
KEYS = Keys()
DELTA = "0.001"
Law = NDArray[np.float64]


def tiny(by: str, n: int, count: int = 2, odds: str = "3/4") -> Collection:
    """A collection in which a fragment hides among n."""
    publishing = {"smallest_batch": n, "every_hours": 1}
    crowd: dict[str, Any] = {**CROWD, "delta": DELTA, "from": "report"}
    protocol: dict[str, Any] = {"protocol": "BinaryResponse", "yes_if_yes": odds, "yes_if_no": str(1 - Fraction(odds))}
    changes = {**FRAGMENTS[by], "transport": "shuffled"}
    if by == "attribute":
        crowd |= {"from": "position", "threshold": n}
        protocol = {"protocol": "UnaryEncoding", "domain": ["a", "b"], "one_if_true": "3/4", "one_if_other": "1/4"}
    else:
        changes["fragments"] = {"by": "report", "count": count}
    return reader.checked(document(KEYS, publishing=publishing, protocol=protocol, **{**changes, "crowd": crowd}))


def ones(*odds: tuple[int, float]) -> Law:
    """How many of independent coins show a one."""
    return reduce(np.convolve, [binom.pmf(np.arange(n + 1), n, p) for n, p in odds])


def beyond(first: Law, second: Law, epsilon: float) -> float:
    """The largest δ that a set of outcomes shows at this ε, in either direction."""
    return float(max(np.maximum(a - exp(epsilon) * b, 0).sum() for a, b in ((first, second), (second, first))))


YES, NO = 0.75, 0.25


@pytest.mark.parametrize("others", few([0, 50, 100], stays=2), ids=lambda share: f"{share} % of the others say yes")
def test_what_the_aggregator_sees_of_reports_is_within_the_stated_replacement(others: int) -> None:
    """Two fragments of one person: in one batch, and in two."""
    n, loss = 100, replacement(tiny("report", 100))
    assert loss.epsilon < Fraction(3, 4) * 2 * tiny("report", 100).protocol.privacy_loss().epsilon
    stated = float(loss.epsilon)
    yes = (n - 2) * others // 100
    rest = ((yes, YES), (n - 2 - yes, NO))
    together = [ones(*rest, (2, odds)) for odds in (YES, NO)]
    assert beyond(*together, stated) <= float(loss.delta)
    among = ((yes, YES), (n - 1 - yes, NO))
    apart = [np.multiply.outer(law, law) for law in (ones(*among, (1, YES)), ones(*among, (1, NO)))]
    assert beyond(*apart, stated) <= float(loss.delta)
    assert beyond(*together, stated / 8) > float(loss.delta), "the computation has power"


def test_what_the_aggregator_sees_of_bits_is_within_the_stated_removal_and_replacement() -> None:
    n, poll = 100, tiny("attribute", 100)
    stated, against_none = replacement(poll), removal(poll)
    assert against_none.epsilon < stated.epsilon < poll.protocol.privacy_loss().epsilon
    for yes in (0, 50, 99):
        true, other = (ones((yes, YES), (n - 1 - yes, NO), (1, odds)) for odds in (YES, NO))
        assert beyond(true, other, float(against_none.epsilon)) <= float(against_none.delta)
        first, second = np.multiply.outer(true, other), np.multiply.outer(other, true)
        assert beyond(first, second, float(stated.epsilon)) <= float(stated.delta)
        assert beyond(first, second, float(stated.epsilon) / 8) > float(stated.delta), "the computation has power"


def test_fragments_that_can_be_linked_break_the_stated_loss() -> None:
    """The control: with a common id the aggregator sees bundles, and four ones of who says no are rare."""
    n, yes, no = 1200, 0.9, 0.1
    loss = replacement(tiny("report", n, 4, odds="9/10"))
    linked = [ones((n // 4 - 1, no**4), (1, odds**4)) for odds in (yes, no)]  # how many bundles are all ones
    assert beyond(*linked, float(loss.epsilon)) > float(loss.delta)
    single = [ones((n - 4, no), (4, odds)) for odds in (yes, no)]
    assert beyond(*single, float(loss.epsilon)) <= float(loss.delta)


# --- estimates from fragments of which some are lost ------------------------------------------------------------------

REPEATS = 400


def covered(hits: int) -> bool:
    """Whether so many of the intervals may hold what they should at 95 %."""
    return hits >= binom.ppf(FALSE_ALARM, REPEATS, 0.95)


def estimate_of_reports(poll: BinaryResponse, each: int, state: Counts) -> Any:
    """As the analyzer does it, where no threshold has removed anything."""
    crowd = Crowd(source="attribute", threshold=20, mean_drop=10, sigma=Fraction(2), delta=Fraction(1, 100))
    return Removal(crowd, state.n, 1, state, poll.empty(), each).estimate(lambda counts: exact_estimate(poll, counts))


def lost(rng: np.random.Generator, people: int, each: int, share: float) -> tuple[Any, Any]:
    """Who says yes, and how many fragments of each came."""
    return rng.random(people) < share, rng.binomial(each, 0.6, people)


@pytest.mark.parametrize("share", few([0.3, 0.0], stays=1))
@pytest.mark.parametrize(("odds", "each"), [(Fraction(3, 5), 3), (Fraction(99, 100), 8)], ids=["weak", "strong"])
def test_intervals_from_several_reports_hold_though_some_are_lost(odds: Fraction, each: int, share: float) -> None:
    rng, poll = np.random.default_rng(7), BinaryResponse(yes_if_yes=odds, yes_if_no=1 - odds)
    p, q = float(odds), 1 - float(odds)
    held = naive = 0
    errors = []
    for _ in range(REPEATS):
        yes, came = lost(rng, 150, each, share)
        hits = int(rng.binomial(came, np.where(yes, p, q)).sum())
        state = Counts(poll, int(came.sum()), np.array([hits]))
        estimates = estimate_of_reports(poll, each, state)
        (low, _), (high, _) = estimates.interval()
        held += low <= share * estimates.n <= high
        errors.append(estimates.shares[0] - share)
        (low, _), (high, _) = exact_estimate(poll, state).interval()
        naive += low <= share * state.n <= high
    assert covered(held)
    assert abs(np.mean(errors)) <= norm.isf(FALSE_ALARM / 2) * np.std(errors) / np.sqrt(REPEATS), "unbiased"
    if share and each == 8:
        assert not covered(naive), "reports of one person are not those of eight people"


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_intervals_from_bits_hold_though_as_many_came_for_no_two_answers(share: float) -> None:
    rng = np.random.default_rng(8)
    poll = UnaryEncoding(domain=["a", "b"], one_if_true=Fraction(1, 2), one_if_other=Fraction(1, 4))
    bits = PositionedBit(base=poll)
    held, errors = 0, []
    for _ in range(REPEATS):
        came = rng.binomial(150, [0.9, 0.5])
        truth = rng.binomial(came, [1 - share, share])
        table = np.array([came, rng.binomial(truth, 0.5) + rng.binomial(came - truth, 0.25)])
        estimates = bits.estimate(Counts(bits, int(came.sum()), table))
        low, high = estimates.interval()
        assert estimates.n == came.max()
        held += low[1] <= share * estimates.n <= high[1]
        errors.append(estimates.shares[1] - share)
    assert covered(held)
    assert abs(np.mean(errors)) <= norm.isf(FALSE_ALARM / 2) * np.std(errors) / np.sqrt(REPEATS), "unbiased"


def test_fragments_have_the_bits_of_the_report_and_the_same_estimates() -> None:
    poll = UnaryEncoding.from_epsilon(2, domain=[f"answer {number}" for number in range(11)])
    fragments = Fragments("attribute", poll)
    assert isinstance(fragments.message, PositionedBit)
    reports = poll.randomize(["answer 3"] * 40 + ["answer 9"] * 20, Reproducible(3))
    singles = [piece for place in range(60) for piece in fragments.split(reports[place].to_bytes())]
    rows = np.frombuffer(b"".join(singles), dtype=np.uint8).reshape(len(singles), -1)
    messages, valid = Reports.from_singles(fragments.message, rows)
    assert valid.all()
    state = fragments.message.absorb(None, messages)
    assert (state.table[0] == 60).all()
    assert (state.table[1] == poll.absorb(None, reports).table).all()
    whole, pieces = exact_estimate(poll, poll.absorb(None, reports)), fragments.message.estimate(state)
    assert np.allclose(whole.counts, pieces.counts)  # type: ignore[union-attr]
    assert np.allclose(whole.interval(), pieces.interval())
    assert fragments.message.estimate(fragments.message.empty()).n == 0


def test_an_answer_of_which_nothing_came_is_left_out() -> None:
    bits = PositionedBit(base=UnaryEncoding.from_epsilon(1, domain=["a", "b", "c"]))
    estimates = bits.estimate(Counts(bits, 9, np.array([[4, 0, 5], [1, 0, 2]])))
    assert list(estimates.labels) == ["a", "c"]
    assert estimates.n == 5


def test_one_bit_at_a_random_position_is_a_protocol_with_the_stated_loss() -> None:
    poll = UnaryEncoding(domain=["a", "b"], one_if_true=Fraction(3, 4), one_if_other=Fraction(1, 4))
    bits, people = PositionedBit(base=poll), 4_000
    state = bits.absorb(None, bits.randomize(["a"] * people, Reproducible(5)))
    low, high = binom.ppf([FALSE_ALARM / 8, 1 - FALSE_ALARM / 8], people, 1 / 2)
    assert low <= state.table[0][0] <= high
    for place, odds in ((0, 0.75), (1, 0.25)):
        low, high = binom.ppf([FALSE_ALARM / 8, 1 - FALSE_ALARM / 8], int(state.table[0][place]), odds)
        assert low <= state.table[1][place] <= high
    assert exp(float(bits.privacy_loss().epsilon)) == pytest.approx(3)
    assert bits.fingerprint != PositionedBit(base=UnaryEncoding.from_epsilon(1, domain=2)).fingerprint


def test_a_bundle_is_as_many_independent_reports() -> None:
    poll = BinaryResponse.from_epsilon(1)
    fragments = Fragments("report", poll, 3)
    bundles = fragments.whole.randomize([True] * 500, Reproducible(6))
    pieces = [fragments.split(bundles[place].to_bytes()) for place in range(500)]
    yes = np.array([[Reports.from_bytes(poll, piece).columns[0][0] for piece in row] for row in pieces])
    assert fragments.whole.absorb(None, bundles).table.tolist() == [int(yes.sum())]
    keep = float(poll.yes_if_yes)
    for same, odds in (((yes[:, 0] == yes[:, 1]).sum(), keep**2 + (1 - keep) ** 2), (yes[:, 2].sum(), keep)):
        low, high = binom.ppf([FALSE_ALARM / 4, 1 - FALSE_ALARM / 4], 500, odds)
        assert low <= same <= high
    assert fragments.whole.privacy_loss().epsilon == 3 * poll.privacy_loss().epsilon
