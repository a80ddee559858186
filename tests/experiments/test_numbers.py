"""What the figures show is what theory says, at sizes that take seconds."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing.collect.secret_strings import SecretStrings
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.experiments import (
    bloom,
    buds,
    discovery,
    gradients,
    growth,
    percentages,
    sketches,
    stash,
    suggest,
    thresholds,
    trust,
    vocab,
)
from lapwing.experiments.experiment import Row, column, select, slope
from lapwing.privacy.shuffling import clones

FALSE_ALARM = 1e-6
FAR = float(stats.norm.isf(FALSE_ALARM / 2))


def assert_slope(many: list[Row], power: float, repeats: int, kurtosis: float = 3.0) -> None:
    """The logarithm of a measured root mean square has the standard deviation √((κ−1)/4R)."""
    logs = np.log(column(many, "people"))
    deviation = math.sqrt((kurtosis - 1) / (4 * repeats) / ((logs - logs.mean()) ** 2).sum())
    assert abs(slope(column(many, "people"), column(many, "error")) - power) < FAR * deviation


def assert_errors(rows: list[Row], repeats: int) -> None:
    """R·(measured/theory)² is chi-square with R degrees of freedom where the noise is normal."""
    for row in rows:
        law = stats.chi2(repeats)
        square = repeats * (row["error"] / row["theory"]) ** 2
        assert min(law.cdf(square), law.sf(square)) > FALSE_ALARM / len(rows), row


@pytest.mark.sweep
def test_the_error_of_randomized_response_falls_like_one_over_the_root_of_n() -> None:
    many = select(percentages.response(population=1000, repeats=100), series="many surveys")
    assert_errors([row for row in many if row["people"] >= 50], 100)
    assert_slope(many, -0.5, 100)


def test_randomized_response_of_one_survey_stays_in_its_band() -> None:
    one = select(percentages.response(population=3000, repeats=1), series="one survey")
    assert [row["people"] for row in one] == list(range(5, 3001, 5))
    outside = sum(abs(row["estimate"] - 0.2) > 2 * row["theory"] for row in one)
    assert stats.binom.sf(outside - 1, len(one), 0.06) > FALSE_ALARM  # 4.6 % of a normal law; small n are coarser
    assert one[-1]["theory"] ** 2 * 3000 == pytest.approx(0.75)


@pytest.mark.sweep
def test_the_error_of_the_laplace_mechanism_falls_like_one_over_n() -> None:
    many = select(percentages.laplace(repeats=200), series="many surveys")
    assert_slope(many, -1.0, 200, kurtosis=6.1)
    response = select(percentages.response(repeats=1), series="many surveys")
    assert all(ours["theory"] < theirs["theory"] for ours, theirs in zip(many, response, strict=True))


@cache
def trusted() -> list[Row]:
    return trust.compute(sizes=(1_000, 10_000, 100_000), repeats=40)


@pytest.mark.sweep
def test_a_curator_beats_two_shufflers_who_beat_one_who_beats_nobody() -> None:
    for people in (1_000, 10_000, 100_000):
        models = (select(trusted(), trusted=model, people=people)[0] for model in trust.MODELS)
        local, shuffler, pair, servers, curator = models
        assert math.isclose(servers["theory"], curator["theory"], rel_tol=1e-6)
        assert curator["theory"] < pair["theory"] < shuffler["theory"] < local["theory"]
        assert curator["error"] < pair["error"] < shuffler["error"] < local["error"]


def test_two_shufflers_keep_the_promise_of_the_figure_and_hardly_more() -> None:
    assert 0.98 * trust.EPSILON < trust.CROWDS.privacy_loss().epsilon <= trust.EPSILON
    assert trust.CROWDS.relation == "replace"


@pytest.mark.sweep
def test_the_errors_of_all_are_what_theory_says() -> None:
    assert_errors([row for row in trusted() if row["trusted"] not in ("a curator", "two servers")], 40)
    for model in ("a curator", "two servers"):
        assert_slope(select(trusted(), trusted=model), -1.0, 40, kurtosis=6.1)
    assert_slope(select(trusted(), trusted="nobody is trusted"), -0.5, 40)
    theory = select(trusted(), trusted="a shuffler")
    assert slope(column(theory, "people"), column(theory, "theory")) < -0.9


@pytest.mark.sweep
def test_shuffled_reports_keep_the_promise_of_the_figure() -> None:
    for row in select(trusted(), trusted="a shuffler"):
        local, people = row["epsilon_of_a_report"], row["people"]
        assert clones(local, people, trust.DELTA) <= trust.EPSILON * (1 + 1e-6)
        assert clones(local * 1.02, people, trust.DELTA) > trust.EPSILON


@cache
def sketched() -> list[Row]:
    return sketches.compute(people=20_000, repeats=2)


@pytest.mark.sweep
def test_measured_errors_of_sketches_agree_with_the_formulas_of_the_paper() -> None:
    for row in sketched():
        few = row["functions"] < 16 or row["width"] < 64  # few cells: the same collisions in many estimates
        assert row["error"] / row["theory"] == pytest.approx(1, abs=0.45 if few else 0.08), row


@pytest.mark.sweep
def test_more_epsilon_width_or_functions_never_make_a_sketch_worse() -> None:
    for name in sketches.SKETCHES:
        for varied in sketches.GRID:
            theory = column(select(sketched(), sketch=name, varied=varied), "theory")
            assert theory == sorted(theory, reverse=True)
            assert theory[0] > 1.1 * theory[-1]


@pytest.mark.sweep
def test_hadamard_sketches_pay_for_short_reports_with_a_larger_error() -> None:
    for epsilon in (2, 4, 8):
        cms, hcms = (select(sketched(), sketch=s, varied="epsilon", epsilon=epsilon)[0] for s in ("CMS", "HCMS"))
        assert hcms["error"] > cms["error"]
        assert (cms["bits_per_report"], hcms["bits_per_report"]) == (264, 17)


@cache
def discovered() -> list[Row]:
    small = SequenceFragmentPuzzle(
        epsilon_fragments=6, epsilon_strings=6, functions=128, width=256, length=6, pieces=16
    )
    return discovery.compute(sizes=(20_000, 60_000), puzzle=small)


@pytest.mark.sweep
def test_the_puzzle_finds_every_frequent_word_and_no_other() -> None:
    for people in (20_000, 60_000):
        rows = select(discovered(), people=people)
        assert [row["word"] for row in rows if row["found"] and row["rank"] is None] == []
        assert all(row["found"] for row in rows if row["share"] > 0.03)
    assert discovery.limit(discovered(), 60_000) < discovery.limit(discovered(), 20_000)


@pytest.mark.sweep
def test_what_the_puzzle_found_is_estimated_within_its_error() -> None:
    found = [row for row in discovered() if row["found"]]
    assert len(found) > 10
    far = float(stats.norm.isf(FALSE_ALARM / 2 / len(found)))
    assert all(abs(row["estimate"] - row["share"]) < far * row["standard_error"] for row in found)


@pytest.mark.sweep
def test_basic_rappor_shows_the_bell_within_its_errors() -> None:
    for people in (5_000, 50_000):
        rows = bloom.normal(sizes=(people,))
        squares = sum(((row["estimate"] - row["share"]) / row["standard_error"]) ** 2 for row in rows)
        law = stats.chi2(len(rows))
        assert min(law.cdf(squares), law.sf(squares)) > FALSE_ALARM
        assert sum(row["share"] for row in rows) == pytest.approx(1)


@pytest.mark.sweep
def test_rappor_finds_frequent_strings_and_none_that_nobody_has() -> None:
    rows = bloom.exponential(people=300_000)
    assert len(rows) == bloom.STRINGS + bloom.UNHEARD
    assert all(row["found"] for row in rows if row["share"] > 0.045)
    assert not any(row["found"] for row in rows if row["share"] == 0)
    rare = [row for row in rows if 0 < row["share"] < 0.001]
    assert sum(row["found"] for row in rare) <= len(rare) / 10


@pytest.mark.sweep
def test_the_bad_apple_is_mostly_found_and_estimated_at_its_share() -> None:
    rows = bloom.apple(repeats=6)
    bad = select(rows, string=bloom.APPLE)
    assert {row["people"] for row in rows} == {186_792}
    assert all(row["share"] == pytest.approx(0.026, abs=1e-5) for row in bad)
    assert all(row["standard_error"] < 0.01 for row in bad)
    found = [row for row in bad if row["found"]]
    assert len(found) >= 3
    assert all(abs(row["estimate"] - row["share"]) < FAR * row["standard_error"] for row in found)


@pytest.mark.sweep
def test_few_rare_processes_pass_for_common_ones() -> None:
    discovered = [row for row in bloom.apple(repeats=6) if row["found"]]
    rare = [row for row in discovered if row["share"] < 0.01]
    assert len(discovered) > 40
    assert len(rare) < 0.2 * len(discovered)


@pytest.mark.sweep
def test_growth_counts_every_report_and_keeps_little_in_memory() -> None:
    rows = growth.compute(sizes=(1_000, 400_000), repeats=1)
    assert {row["reports"] for row in rows} == {1_000, 400_000}
    assert len(rows) == 2 * len(growth.protocols())
    assert all(row["megabytes_held"] < 20 for row in rows)


def test_a_linear_cost_has_the_power_one() -> None:
    def timed(seconds: Any) -> dict[str, float]:
        rows = [{"protocol": "p", "reports": n, "seconds": seconds(n)} for n in (10_000, 10**6, 10**7, 10**8)]
        return growth.powers(rows)

    assert timed(lambda n: 3e-8 * n if n > 10_000 else 1.0) == {"p": pytest.approx(1)}
    assert timed(lambda n: 1e-12 * n**2) == {"p": pytest.approx(2)}


def test_a_stash_shuffle_fails_as_seldom_as_stated_and_seldomer_with_more_room() -> None:
    rows = stash.compute(runs=200, sizes=(10_000_000,))
    for row in rows:
        if row["part"] in ("stash", "window"):
            assert stats.binom.sf(row["failures"] - 1, row["runs"], row["stated"]) > FALSE_ALARM, row
    for part, name in [("stash", "stash"), ("window", "window")]:
        some = [row for row in select(rows, part=part) if row.get("chunk", 110) == 110]
        assert column(some, "stated") == sorted(column(some, "stated"), reverse=True)
        assert column(some, name) == sorted(column(some, name))
        assert some[0]["failures"] > some[0]["runs"] / 2
        assert some[-1]["stated"] < 1e-12
    waiting = [select(rows, part="stash", chunk=chunk)[0]["most_waiting"] for chunk in stash.CHUNKS]
    assert waiting == sorted(waiting, reverse=True)
    cost = select(rows, part="cost")
    assert column(cost, "stash") == sorted(column(cost, "stash"), reverse=True)
    assert all(row["stated"] <= 2.0**-64 for row in (*cost, *select(rows, part="fitted")))
    [fitted] = select(rows, part="fitted")
    assert fitted["overhead"] < 2.1
    assert fitted["megabytes"] < 60


def test_a_threshold_costs_what_is_published_only_nearly_and_more_under_replace() -> None:
    rows = thresholds.compute(epsilons=(0.0, 1.0, 2.25, 4.5), largest=80)
    for mean, sigma in thresholds.DROPS:
        enters, moves = (
            column(select(rows, part="price", mean_drop=mean, sigma=sigma, relation=relation), "delta")
            for relation in thresholds.RELATIONS
        )
        assert enters == sorted(enters, reverse=True)
        assert all(one <= two for one, two in zip(enters, moves, strict=True))
    usual = select(rows, part="price", mean_drop=10, sigma=2, epsilon=2.25)
    assert column(usual, "delta") == pytest.approx([1.198e-6, 3.578e-4], rel=1e-3)
    for threshold in thresholds.THRESHOLDS:
        passing = select(rows, part="passing", threshold=threshold)
        assert all(row["probability"] == 0 for row in passing if row["size"] < threshold)
        assert passing[threshold + 20]["probability"] > 0.999


def test_the_auditor_refutes_shuffling_without_noise_and_not_with_it() -> None:
    rows = buds.compute(settings=((100, 1, 10), (10, 2, 90)), samples=1_000)
    assert min(column(rows, "claimed")) == pytest.approx(-2.29, abs=0.005)
    for row in select(rows, method="shuffled only"):
        assert row["caught"]
        assert row["found"] > 3.5 > row["claimed"]
    for row in select(rows, method="randomised, then shuffled"):
        assert not row["caught"]
        assert row["found"] <= row["claimed"]


def test_crowds_recover_more_words_than_nobody_and_fewer_than_a_curator() -> None:
    rows = vocab.compute(sizes=(10_000, 100_000), different=50_000)
    for size in (10_000, 100_000):
        words = {method: select(rows, samples=size, method=method)[0]["words"] for method in vocab.METHODS}
        sent = select(rows, samples=size)[0]["unique_words_sent"]
        assert words[vocab.LOCAL] < words[vocab.CROWD] < words[vocab.NO_CROWD] < words[vocab.CENTRAL] < sent
        for method in (vocab.SECRET, vocab.BLINDED):  # the same law, other draws
            assert words[method] == pytest.approx(words[vocab.CROWD], rel=0.15)
    assert words[vocab.CROWD] > 5 * words[vocab.LOCAL]


def test_the_words_that_secret_shares_open_are_those_that_the_experiment_counts() -> None:
    sent = vocab.sample(list(vocab.word_shares().values())[:5_000], 3_000)
    strings = SecretStrings(threshold=vocab.SHARES, length=8, context=b"vocab")
    messages = [strings.message(b"%d" % word) for word, count in enumerate(sent) for _ in range(count)]
    opened = strings.opened(messages)
    assert len(opened) == vocab.recovered(vocab.NO_CROWD, sent, 3_000)
    assert all(sent[int(string.text)] == string.devices >= vocab.SHARES for string in opened)


def test_randomised_gradients_have_the_right_mean_and_length() -> None:
    draws = np.random.default_rng(5)
    vector = np.array([0.6, 0.0, -0.3, 0.1])
    people = 200_000
    mean = gradients.randomised_sum(np.tile(vector, (people, 1)), 1.0, draws) / people
    longest = 2.4 / math.tanh(0.5)  # √π·Γ(5/2)/Γ(2) = 2.36
    assert np.abs(mean - vector).max() < longest * math.sqrt(2 * math.log(8 / FALSE_ALARM) / people)
    small = vector / 32
    mean = gradients.randomised_bits(np.tile(small, (people, 1)), 1.0, draws) / people
    longest = gradients.SLOPE / math.tanh(0.5)
    assert np.abs(mean - small).max() < longest * math.sqrt(2 * math.log(8 / FALSE_ALARM) / people)


def test_more_batches_leave_less_for_each_report_and_the_total_is_kept() -> None:
    few, many = (gradients.report_epsilon(2.0, batches, 2_000) for batches in (5, 20))
    assert 0 < many < few
    for local, batches in ((few, 5), (many, 20)):
        assert gradients.total_epsilon(local, batches, 2_000) <= 2.0
        assert batches * local > 2.0  # what is left without a shuffler


@pytest.mark.sweep
def test_fragments_beat_one_report_and_a_curator_beats_both() -> None:
    rows = gradients.compute(epsilons=(4.0,), repeats=2)
    one, many = (select(rows, method="shuffled", fragments=count)[0]["accuracy"] for count in (1, 16))
    local, central = (select(rows, method=method)[0]["accuracy"] for method in (gradients.LOCAL, gradients.CENTRAL))
    assert local < one < many < central


def test_fragments_predict_nearly_as_well_as_whole_histories_once_many_take_part() -> None:
    rows = suggest.compute(sizes=(1_000, 30_000), items=100)
    few, many = (
        [select(rows, people=people, method=method)[0]["accuracy"] for method in suggest.METHODS]
        for people in (1_000, 30_000)
    )
    whole, pairs, passed, popular = many
    assert popular < passed <= pairs + 0.01
    assert abs(whole - pairs) < 0.02
    assert whole == pytest.approx(suggest.FOLLOWERS[0], abs=0.03)
    assert few[2] < passed  # with few people the threshold lets little pass


def test_fragments_share_no_item_and_whole_pairs_are_all_neighbours() -> None:
    seen = suggest.histories(500, 50, "x")
    pairs, used = suggest.learnt(suggest.PAIRS, seen, 50)
    whole, all_used = suggest.learnt(suggest.WHOLE, seen, 50)
    assert 0.9 * 500 * suggest.LENGTH / 2 < used <= 500 * suggest.LENGTH / 2
    assert suggest.learnt(suggest.PAIRS, np.tile([3, 4], (10, 6)), 50)[1] == 10  # the same pair once for each person
    assert all_used == 500 * (suggest.LENGTH - 1)
    assert (pairs <= whole).all()
