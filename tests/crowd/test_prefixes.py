"""Frequent strings that nobody listed: prefix extension and TreeHist."""

from __future__ import annotations

import math
import string
from collections import Counter

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, assert_seldom
from protocols import written
from scipy import stats
from sweeps import few

from lapwing.crowd import Answers, Counts, Reports
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.prefixes import END, PrefixExtension, TreeHist, beginning, continued
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

LETTERS = string.ascii_lowercase
PEOPLE = 200_000


@pytest.fixture(scope="module")
def population() -> dict[str, int]:
    """A thousand words of three to six letters, Zipf with exponent 1.3."""
    chance = np.random.default_rng(1)
    words = list(dict.fromkeys("".join(chance.choice(list(LETTERS), chance.integers(3, 7))) for _ in range(1000)))
    shares = 1 / np.arange(1, len(words) + 1) ** 1.3
    return dict(zip(words, chance.multinomial(PEOPLE, shares / shares.sum()).tolist(), strict=True))


def collect(protocol, population, seed):
    answers = Answers.counted(population)
    return protocol.absorb(None, protocol.randomize(answers, Reproducible(seed)))


@pytest.mark.parametrize(
    ("protocol", "share"),
    [
        (PrefixExtension(epsilon=4, alphabet=LETTERS, length=6, keep=32, functions=1 << 12), 0.01),
        (TreeHist(epsilon=4, alphabet=LETTERS, length=6, start=2, step=2), 0.03),
    ],
    ids=["prefix extension", "TreeHist"],
)
def test_frequent_strings_are_found_with_their_errors_and_no_false_ones(protocol, share, population):
    found = protocol.estimate(collect(protocol, population, 3))
    frequent = {word for word, count in population.items() if count > share * PEOPLE}
    assert len(frequent) >= 5
    assert frequent <= set(found.labels)
    assert set(found.labels) <= {word for word, count in population.items() if count}
    assert (np.diff(found.counts) <= 0).all()
    truth = np.array([population[word] for word in found.labels])
    z = np.abs(found.counts - truth) / found.population_standard_error
    assert z.max() < stats.norm.isf(FALSE_ALARM / 2 / len(truth))
    assert found.n == PEOPLE


@pytest.mark.parametrize("confidence", few([0.5, 0.95]))
def test_where_nobody_has_a_string_of_the_alphabet_one_is_named_as_seldom_as_stated(confidence):
    strangers, named = Answers([f"{i}x" for i in range(2000)], np.arange(2000)), 0
    for run in range(100):
        protocol = PrefixExtension(
            epsilon=2, alphabet="01", length=6, start=3, step=3, keep=8, functions=256, salt=str(run)
        )
        state = protocol.absorb(None, protocol.randomize(strangers, Reproducible(run)))
        named += len(protocol.estimate(state, confidence=confidence)) > 0
    assert_seldom(named, 100, 1 - confidence)


def test_estimates_have_the_mean_and_the_errors_that_are_stated():
    """Two levels, a string of many: the last level is a random sample, which adds to the error."""
    truth, runs, entropy = {"00": 2400, "01": 1000, "1": 600}, 300, Reproducible(4)
    people, made, false = Answers.counted(truth), [], 0
    for run in range(runs):
        protocol = PrefixExtension(epsilon=4, alphabet="01", length=2, start=1, step=1, functions=256, salt=str(run))
        found = protocol.estimate(protocol.absorb(None, protocol.randomize(people, entropy)))
        assert set(truth) <= set(found.labels), "all three are certain, so no choice bends their means"
        false += len(found) > len(truth)
        order = [found.labels.index(label) for label in truth]
        made.append([found.counts[order], found.population_standard_error[order], found.sample_standard_error[order]])
    assert_seldom(false, runs, 0.05)
    values, population, sample = (np.array(column) for column in zip(*made, strict=True))
    z = (values.mean(axis=0) - list(truth.values())) / (values.std(axis=0) / math.sqrt(runs))
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 6)
    ratio, tail = values.var(axis=0, ddof=1) / (population**2).mean(axis=0), FALSE_ALARM / 6
    assert ratio.min() > stats.chi2.ppf(tail, runs - 1) / (runs - 1)
    assert ratio.max() < stats.chi2.isf(tail, runs - 1) / (runs - 1)
    share = values / 4000
    assert sample**2 - population**2 == pytest.approx(4000 * share * (1 - share), rel=0.01)


def test_the_loss_is_that_of_one_report_about_one_beginning():
    extension = PrefixExtension(epsilon=3, alphabet="01", length=8, functions=64)
    assert extension.privacy_loss() == LocalHashing(epsilon=3, functions=64).privacy_loss()
    tree = TreeHist(epsilon=3, alphabet="01", length=8)
    sketch = HadamardCountMeanSketch(epsilon=3, functions=tree.functions, width=tree.width)
    assert tree.privacy_loss() == sketch.privacy_loss()


@pytest.mark.parametrize("answer", ["011", "0", None])
def test_levels_are_uniform_and_reports_are_inner_reports_about_the_beginning(answer):
    protocol = PrefixExtension(epsilon=1, alphabet="01", length=3, start=1, step=1, functions=2)
    inner, n = LocalHashing(epsilon=1, functions=2), 60_000
    seen = written(protocol.randomize([answer] * n, Reproducible(1)))
    assert_follows([report[0] for report in seen], lambda level: 1 / 3, range(3))
    for level in range(3):
        expected = Counter(written(inner.randomize([beginning(answer, level + 1)] * n, Reproducible(9))))
        here = Counter(report[1:] for report in seen if report[0] == level)
        table = [[here[report] for report in expected], list(expected.values())]
        assert set(here) <= set(expected)
        assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", [PrefixExtension, TreeHist])
def test_counting_in_parts_and_passing_bytes_on_changes_nothing(kind):
    protocol = kind(epsilon=2, alphabet="abc", length=4, functions=16)
    reports = protocol.randomize(["ab", "abca", "", "ccc", "d", None, 3, "a\0b", "\ud800"] * 111, Reproducible(2))
    together = protocol.absorb(None, reports)
    assert together.table[:, -1].sum() == reports.n
    assert protocol.absorb(protocol.absorb(None, reports[:333]), reports[333:]) == together
    assert Reports.from_bytes(protocol, reports.to_bytes()) == reports
    assert Counts.from_bytes(protocol, together.to_bytes()) == together


def test_nothing_is_found_in_nothing():
    protocol = PrefixExtension(epsilon=2, alphabet="abc", length=4, functions=16)
    found = protocol.estimate(protocol.absorb(None, protocol.randomize([])))
    assert (len(found), found.n) == (0, 0)


def test_beginnings_are_filled_up_and_only_text_has_one():
    assert [beginning("tea", length) for length in (1, 3, 5)] == ["t", "tea", "tea" + 2 * END]
    assert [beginning(strange, 2) for strange in (None, 7, b"tea", "t" + END, math.nan)] == [None] * 5


def test_after_the_end_there_is_only_the_end():
    assert continued([""], 1, "ab") == ["a", "b", END]
    assert continued(["a", END], 2, "b") == ["abb", "ab" + END, "a" + 2 * END, 3 * END]
    assert len(continued([""], 3, LETTERS)) == sum(26**i for i in range(4))


def test_an_empty_string_is_a_string():
    protocol = PrefixExtension(epsilon=4, alphabet="ab", length=2, start=1, step=1, functions=64)
    found = protocol.estimate(collect(protocol, {"": 3000, "ab": 2000}, 1))
    assert set(found.labels) == {"", "ab"}


@together(
    ("bad", "name"),
    [
        ({"alphabet": ""}, "alphabet"),
        ({"alphabet": "aa"}, "alphabet"),
        ({"alphabet": "a\0"}, "alphabet"),
        ({"alphabet": ["a"]}, "alphabet"),
        ({"length": 0}, "length"),
        ({"step": 0}, "step"),
        ({"step": 6}, "step"),
        ({"length": 2000, "step": 1}, "step"),
        ({"keep": 0}, "keep"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_parameters_are_checked(bad, name):
    with pytest.raises(InvalidParameter) as caught:
        PrefixExtension(**{"epsilon": 1, "alphabet": LETTERS, "length": 12} | bad)
    assert caught.value.name == name
