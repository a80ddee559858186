"""Quotes and results agree: the error that is expected is the one that intervals have, removals included."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chance import FALSE_ALARM
from collecting import CROWD, FRAGMENTS, NOON, Keys, document, post, running
from scipy import stats
from sweeps import few
from thresholds import CASES, IN_FRAGMENTS, MISSES, Case, crowd_of, zipf

from lapwing.collect import quote, reader
from lapwing.collect.answer_fragments import Fragments
from lapwing.collect.collection import Collection
from lapwing.collect.expected_errors import Rehearsal, error_of, expected_error
from lapwing.collect.sealing import Envelope, random_id, seal

KEYS = Keys()
RUNS = 6
NEAR = 0.15
"""By how much an average over a few runs may differ from what is quoted, as a share of it."""


def reach(estimates: Any) -> float:
    """How far the interval goes to its longer side, for the answer where that is most."""
    low, high = estimates.interval()
    return float(np.maximum(high - estimates.counts, estimates.counts - low).max() / estimates.n)


def even(case: Case) -> Case:
    """The same with answers, and regions, that are spread evenly."""
    shares = (1 / len(case.labels),) * len(case.labels)
    return Case(case.protocol, case.crowd, case.labels, shares, case.people, case.parts, case.regions, case.each)


@pytest.mark.parametrize("name", few([*CASES], stays=4))
def test_a_quote_and_the_results_of_simulated_collections_agree(name: str) -> None:
    case, crowd = even(CASES[name]), CASES[name].crowd
    if crowd.source == "attribute":
        crowd = crowd_of("attribute", values=tuple(map(str, range(case.regions))))
    scene = Rehearsal(case.protocol, crowd, tuple(case.labels), None, 1, case.people)
    expected = scene.error(case.people * case.parts)
    assert expected is not None
    widths = [reach(case.run(seed)[0].estimate(case.estimated)) for seed in range(RUNS)]
    assert expected.half_width == pytest.approx(float(np.mean(widths)), rel=NEAR)


@pytest.mark.parametrize("name", few(["two kinds", "words, most of them rare", "hashed"], stays=1))
def test_a_quote_and_the_results_of_simulated_fragments_agree(name: str) -> None:
    case = even(IN_FRAGMENTS[name])
    fragments = Fragments("report", case.protocol, case.each)
    scene = Rehearsal(case.protocol, case.crowd, tuple(case.labels), fragments, case.parts, 10)
    counted = Rehearsal(case.protocol, case.crowd, tuple(case.labels), fragments, case.parts, case.people * case.each)
    expected, smaller = counted.error(int(0.9 * case.people)), scene.error(int(0.9 * case.people))  # a tenth gets lost
    assert expected is not None
    assert smaller is not None
    assert smaller.half_width >= expected.half_width, "smaller batches lose more"
    widths = [reach(case.run_in_fragments(seed).estimate(case.estimated)) for seed in range(RUNS)]
    assert expected.half_width == pytest.approx(float(np.mean(widths)), rel=NEAR)


def collection(**changes: Any) -> Collection:
    return reader.checked(document(KEYS, **changes))


def batch_of(people: int) -> dict[str, int]:
    return {"smallest_batch": people, "every_hours": 1}


REAL = {**CROWD, "threshold": 20, "mean_drop": 10, "sigma": 2}
WORDS = {"protocol": "CategoryResponse", "epsilon": 3, "domain": [f"w{number}" for number in range(10)]}
SHUFFLED = {"transport": "shuffled", "crowd": REAL, "protocol": WORDS, "admission": "nobody-asked"}


def sent(poll: Collection, answers: list[str]) -> bytes:
    """The envelopes of devices, where nobody asks for tokens: one for each report, or fragment."""
    wholes = [poll.whole.randomize([answer]).to_bytes() for answer in answers]
    pieces = [piece for whole in wholes for piece in (poll.fragments.split(whole) if poll.fragments else [whole])]
    return b"".join(Envelope(1, random_id(), seal(poll, 1, piece)).to_bytes() for piece in pieces)


def test_a_quote_agrees_with_what_comes_through_the_servers(tmp_path: Path) -> None:
    with running(tmp_path, **SHUFFLED, publishing=batch_of(700)) as parties:
        expected = quote(parties.collection, devices=700).error
        assert post(parties, sent(parties.collection, [f"w{turn % 10}" for turn in range(700)])).status == 201
        parties.settle()
        [result] = parties.analyzer.results()
        assert result.removed > 0
        assert expected is not None
        assert expected.half_width == pytest.approx(reach(result.estimates), rel=0.25)
        direct = error_of(parties.collection.local, 700)
        assert direct is not None
        assert expected.half_width > 1.5 * direct.half_width, "without removals it would be too small"


@pytest.mark.sweep
def test_intervals_of_fragments_hold_behind_real_shufflers(tmp_path: Path) -> None:
    """From devices through two shufflers, aggregator and analyzer, batch after batch."""
    rounds, people, shares = 40, 120, zipf(10)
    fragments = {**FRAGMENTS["report"], "limits": {"reports_per_day": 1, "lifetime_epsilon": 90}}
    changes = {**SHUFFLED, **fragments, "shufflers": ("shuffler", "shuffler2"), "days": 10}
    generator, wrong = np.random.default_rng(5), np.zeros(10, dtype=int)
    with running(tmp_path, **changes, publishing=batch_of(60)) as parties:
        for turn in range(rounds):
            parties.clock[0] = NOON + timedelta(hours=2 * turn)
            answers = [f"w{place}" for place in generator.choice(10, people, p=shares)]
            assert post(parties, sent(parties.collection, answers)).status == 201
            parties.settle()
        results = parties.analyzer.results()
        assert len(results) == rounds
        for result in results:
            low, high = result.estimates.interval()
            goal = np.array(shares) * result.estimates.n
            wrong += (goal < low) | (goal > high)
            assert result.removed > 0
    assert stats.binom.sf(int(wrong.max()) - 1, rounds, MISSES) > FALSE_ALARM / 10


def test_how_many_devices_an_error_takes_is_sought_with_what_is_removed() -> None:
    for people, wanted in ((500, 0.05), (2_000, 0.025)):
        poll = collection(**SHUFFLED, publishing=batch_of(people))
        needed = quote(poll, error=wanted).smallest
        assert needed is not None
        reached, fewer = expected_error(poll, needed), expected_error(poll, needed // 3)
        assert reached is not None
        assert fewer is not None
        assert reached.half_width <= wanted < fewer.half_width


def test_a_quote_says_if_no_number_of_devices_is_enough() -> None:
    """In batches of 100 a word has ten reports, so all are removed, however many batches there are."""
    poll = collection(**SHUFFLED, publishing=batch_of(100))
    text = str(quote(poll, devices=50_000, error=0.01))
    assert "No number of devices makes the error ±1 percentage points" in text
    assert quote(poll, error=0.01).smallest is None


def test_a_quote_asks_for_no_fewer_devices_than_a_batch_needs() -> None:
    exact = {"protocol": "CategoryResponse", "epsilon": 10, "domain": ["bus", "bike"]}
    poll = collection(protocol=exact, limits={"reports_per_day": 1, "lifetime_epsilon": 80}, publishing=batch_of(300))
    offer = quote(poll, devices=200, error=0.3)
    assert offer.smallest == 300
    assert "Nothing is published before a batch is full: that takes 300 devices with one answer each." in str(offer)
    assert "For an error of ±30 percentage points, about 300 devices are needed." in str(offer)
    assert "Nothing is published" not in str(quote(poll, devices=300))
    shuffled = collection(**SHUFFLED, publishing=batch_of(2_000))
    assert quote(shuffled, error=0.9).smallest == 2_000


@pytest.mark.parametrize("by", few(["attribute", "report"], stays=1))
def test_fragments_have_an_expected_error(by: str) -> None:
    changes = {**FRAGMENTS[by], "transport": "shuffled", "shufflers": ("shuffler", "shuffler2")}
    crowd = {**REAL, "from": "report" if by == "report" else "position"}
    poll = collection(**{**changes, "crowd": crowd}, publishing=batch_of(1_000))
    few_devices, many = expected_error(poll, 500), expected_error(poll, 5_000)
    assert few_devices is not None
    assert many is not None
    direct = error_of(poll.local, 5_000)
    assert direct is not None
    assert direct.half_width / 3 < many.half_width < few_devices.half_width


def test_a_sketch_that_nobody_can_count_for_a_quote_loses_everything_in_crowds_of_reports() -> None:
    sketch = {
        "protocol": "HadamardCountMeanSketch",
        "epsilon": 4,
        "functions": 1 << 13,
        "width": 1024,
    }
    poll = collection(**{**SHUFFLED, "protocol": sketch}, candidates=["a", "b"], publishing=batch_of(10_000))
    assert "says nothing" in str(expected_error(poll, 10_000))


def test_the_error_of_a_mean_includes_what_is_removed() -> None:
    numbers = {"protocol": "Piecewise", "epsilon": 2, "bounds": [0, 10]}
    crowd = {**REAL, "from": "attribute", "values": ["north", "south"]}
    poll = collection(**{**SHUFFLED, "protocol": numbers, "crowd": crowd}, publishing=batch_of(1_000))
    expected, direct = expected_error(poll, 1_000), error_of(poll.local, 1_000)
    assert expected is not None
    assert direct is not None
    assert expected.of == "mean"
    removed = Fraction(2 * 10, 1_000) * 10  # ten of each region, whose numbers can be anything
    assert expected.half_width > float(removed) / 2 + direct.half_width / 2
