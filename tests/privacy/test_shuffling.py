"""Amplification by shuffling: published formulas, brute force, and no epsilon below the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from cases import together
from mpmath import mp, mpf
from scipy.stats import binom

from lapwing.errors import InvalidParameter, UnsupportedConversion
from lapwing.privacy import ZCDP, ApproxDP, PureDP
from lapwing.privacy import shuffling as s

TABLE = [
    # ε₀, n, erlingsson, blanket, clones_closed, clones, lower bound; at δ = 1e-6
    (0.5, 10**4, ".2230", ".0540", ".0939", ".02040", ".01618"),
    (0.5, 10**6, ".0223", ".00462", ".0098", ".00162", ".00127"),
    (1, 10**4, None, ".1666", ".2140", ".05301", ".03566"),
    (1, 10**5, None, ".0492", ".0726", ".01528", ".01014"),
    (1, 10**6, None, ".01445", ".0235", ".00433", ".00285"),
    (2, 10**5, None, ".2765", ".1862", ".04503", ".02466"),
    (4, 10**5, None, None, ".5346", ".16977", ".08471"),
    (4, 10**6, None, None, ".2010", ".04931", ".02401"),
]


@together("row", TABLE)
def test_the_published_table_is_reproduced_to_every_digit(row: tuple[float, int, *tuple[str | None, ...]]) -> None:
    epsilon, n, *expected = row
    functions: tuple[Callable[..., float | Fraction], ...] = (
        s.erlingsson,
        s.blanket,
        s.clones_closed,
        s.clones,
        s.lower_bound,
    )
    for bound, value in zip(functions, expected, strict=True):
        if value is None:
            with pytest.raises(InvalidParameter):
                bound(epsilon, n, 1e-6)
        else:
            assert f"{float(bound(epsilon, n, 1e-6)):.{len(value) - 1}f}"[1:] == value, bound.__name__


@lru_cache
def two_laws(local: float, n: int) -> list[tuple[mpf, mpf]]:
    """The probability of every outcome under both laws, with 40 digits."""
    with mp.workdps(40):
        keep, share = 1 / (1 + mpmath.exp(-mpf(local))), mpmath.exp(-mpf(local))
        found = []
        for clones in range(n):
            weight = mpmath.binomial(n - 1, clones) * share**clones * (1 - share) ** (n - 1 - clones) / mpf(2) ** clones
            halves = [0, *(math.comb(clones, a) for a in range(clones + 1)), 0]
            for before, here in pairwise(halves):
                found.append(
                    (weight * (keep * before + here * (1 - keep)), weight * ((1 - keep) * before + here * keep))
                )
        return found


def true_delta(local: float, n: int, target: float) -> mpf:
    """The hockey-stick divergence of the two laws, term by term."""
    with mp.workdps(40):
        odds = mpmath.exp(mpf(target))
        return mpmath.fsum(p - odds * q for p, q in two_laws(local, n) if p > odds * q)


@together("local", [0.1, 1.0, 3.0, 8.0])
@together("n", [1, 2, 3, 17, 120])
def test_the_sum_is_never_below_brute_force_and_hardly_above(local: float, n: int) -> None:
    for part in (0.0, 0.05, 0.3, 0.7, 0.99):
        target = part * local
        true = true_delta(local, n, target)
        stated = s.clones_delta(local, n, target, tail=1e-12)
        assert true <= stated <= float(true) * (1 + 1e-6) + 1e-17


@pytest.mark.parametrize(("points", "groups"), [(7, 3), (16, 16), (1, 1)])
def test_coarse_blocks_of_clones_are_looser_and_never_below(
    monkeypatch: pytest.MonkeyPatch, points: int, groups: int
) -> None:
    """What happens to billions of people, here to 120."""
    monkeypatch.setattr(s, "_POINTS", points)
    monkeypatch.setattr(s, "_GROUPS", groups)
    monkeypatch.setattr(s, "_law_of_clones", s._law_of_clones.__wrapped__)
    for target in (0.0, 0.1, 0.5):
        assert true_delta(1.0, 120, target) < s.clones_delta(1, 120, target, tail=1e-12)


@together(("local", "n", "delta"), [(0.5, 40, 1e-3), (1, 200, 1e-6), (2, 150, 1e-5), (4, 60, 0.01)])
def test_epsilon_is_the_least_up_to_a_millionth(local: float, n: int, delta: float) -> None:
    epsilon = s.clones(local, n, delta)
    assert true_delta(local, n, float(epsilon)) <= delta
    assert true_delta(local, n, float(epsilon) * (1 - 2e-6)) > delta


@together(("local", "n"), [(0.5, 10**4), (1, 10**6), (2, 3 * 10**5), (6, 10**5)])
def test_large_batches_agree_with_an_independent_sum(local: float, n: int) -> None:
    target = float(s.clones(local, n, 1e-6))
    keep, share = 1 / (1 + math.exp(-local)), math.exp(-local)
    spread = 8 * math.sqrt(n * share)
    clones = np.arange(max(0, int(n * share - spread)), int(n * share + spread))
    threshold = np.floor((clones + 1) * (math.exp(target) * keep - 1 + keep) / (2 * keep - 1) / (1 + math.exp(target)))
    above, at = binom.sf(threshold, clones, 0.5), binom.pmf(threshold, clones, 0.5)
    differs = (keep - math.exp(target) * (1 - keep)) * (above + at) + (1 - keep - math.exp(target) * keep) * above
    independent = float((differs * binom.pmf(clones, n - 1, share)).sum())
    assert independent * (1 - 1e-6) <= s.clones_delta(local, n, target) <= independent * (1 + 1e-3)


def shuffled_law(people: tuple[int, ...], size: int, keep: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The exact law of how often each answer comes out of shuffled k-ary randomized response."""
    other = (1 - keep) / (size - 1)
    law = {(0,) * size: Fraction(1)}
    for truth in people:
        grown: dict[tuple[int, ...], Fraction] = {}
        for seen, p in law.items():
            for answer in range(size):
                counts = tuple(c + (i == answer) for i, c in enumerate(seen))
                grown[counts] = grown.get(counts, Fraction(0)) + p * (keep if answer == truth else other)
        law = grown
    return law


@together(("size", "n", "odds"), [(2, 6, 3), (3, 5, 3), (3, 5, 8), (4, 4, 2)])
def test_no_shuffled_protocol_loses_more_than_stated(size: int, n: int, odds: int) -> None:
    """All neighbouring populations of k-ary randomized response, by enumeration."""
    keep, local = Fraction(odds, odds + size - 1), math.log(odds) * (1 + 1e-15)
    laws = {people: shuffled_law(people, size, keep) for people in product(range(size), repeat=n) if _sorted(people)}
    for target in (0.1 * local, 0.4 * local, 0.8 * local):
        stated = s.clones_delta(local, n, target)
        factor = Fraction(math.exp(target))
        for one, other in product(laws, repeat=2):
            if one[1:] == other[1:] and one[0] != other[0]:
                lost = sum(max(p - factor * laws[other][seen], Fraction(0)) for seen, p in laws[one].items())
                assert float(lost) <= stated


def _sorted(people: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in pairwise(people[1:]))


@together("trials", [3, 40, 10**4, 10**9, 2**40 - 1])
@together("share", [0.5, 0.36787944117144233, 1e-3])
def test_binomial_probabilities_keep_their_digits(trials: int, share: float) -> None:
    spread = math.sqrt(trials * share * (1 - share))
    ks = {round(trials * share + z * spread) for z in (-8, -5, -1, 0, 1, 3, 8)} | {0, 1, trials}
    ks = {k for k in ks if 0 <= k <= trials}
    ours = s._binomial(float(trials), np.array(sorted(ks), dtype=np.float64), share)
    with mp.workdps(60):
        for k, found in zip(sorted(ks), ours.tolist(), strict=True):
            log = mpmath.loggamma(trials + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(trials - k + 1)
            true = mpmath.exp(log + k * mpmath.log(mpf(share)) + (trials - k) * mpmath.log1p(-mpf(share)))
            assert abs(found - true) <= s.SLACK / 5 * true + mpf(10) ** -300


@together("trials", [1, 2, 30, 999, 10**6, 10**9])
@together("above", [0.1, 1, 4, 7])
def test_tails_are_enclosed_from_both_sides(trials: int, above: float) -> None:
    k = min(trials + 1, math.floor((trials + 1) / 2 + above * math.sqrt(trials) / 2) + 1)
    others, at = np.array([float(trials)]), np.array([float(k)])
    low = float(s._tail_ratio(others, at, 0.5, upwards=False)[0])
    high = float(s._tail_ratio(others, at, 0.5, upwards=True)[0])
    j = np.arange(k, min(trials, k + 40 * math.isqrt(trials) + 40) + 1, dtype=np.float64)
    true = float(np.cumprod((trials - j + 1) / j).sum())  # P(B = j)/P(B = j−1), one after the other
    assert low <= true * (1 + 1e-10)
    assert true * (1 - 1e-10) <= high
    assert high - low <= (2e-2 if above < 1 else 1e-5) * true


def test_more_people_and_less_local_loss_never_cost_more() -> None:
    by_people = [s.clones(1, n, 1e-6) for n in (1, 10, 100, 10**3, 10**5, 10**7, 10**9)]
    assert by_people == sorted(by_people, reverse=True)
    by_local = [s.clones(local, 10**4, 1e-6) for local in (0.01, 0.1, 1, 3, 6, 9, 20)]
    assert by_local == sorted(by_local)
    assert s.clones(50, 10**6, 1e-6) == 50
    assert s.clones(1, 1, 1e-9) <= 1


@together(("local", "n"), [(0.1, 50), (0.5, 10**4), (1, 10**9), (3, 10**5), (9, 10**6)])
def test_the_best_bound_lies_between_what_is_lost_and_what_is_local(local: float, n: int) -> None:
    best = s.best(local, n, 1e-6)
    assert s.lower_bound(local, n, 1e-6) <= best <= min(Fraction(local), s.clones(local, n, 1e-6))


def test_a_shuffled_loss_is_approximate_and_about_replacement() -> None:
    loss = s.shuffled(PureDP(1, relation="replace", unit="device"), 10**5, 1e-6)
    assert isinstance(loss, ApproxDP)
    assert (loss.relation, loss.unit, loss.delta) == ("replace", "device", Fraction(1e-6))
    assert loss.epsilon == s.best(1, 10**5, 1e-6)
    assert s.shuffled(PureDP(0, relation="replace"), 10, 1e-6).epsilon == 0


@together(
    "loss", [ApproxDP(1, 1e-9, relation="replace"), ZCDP(1, relation="replace"), PureDP(1, relation="add_remove")]
)
def test_other_guarantees_are_refused(loss: ApproxDP | ZCDP | PureDP) -> None:
    with pytest.raises(UnsupportedConversion, match="shuffled loss"):
        s.shuffled(loss, 10**5, 1e-6)


def test_fakes_hide_nobody() -> None:
    loss = PureDP(1, relation="replace")
    with_fakes = s.shuffled(loss, 10_000, 1e-6, fakes=1000, honest_share=0.5)
    assert with_fakes == s.shuffled(loss, 4500, 1e-6)
    assert s.honest_people(10, honest_share=0.25) == 2
    with pytest.raises(InvalidParameter, match="no honest people"):
        s.shuffled(loss, 10, 1e-6, fakes=10)


@together(
    ("bound", "arguments", "why"),
    [
        (s.erlingsson, (0.51, 10**4, 1e-6), "above ½"),
        (s.erlingsson, (0.5, 999, 1e-6), "below 1000"),
        (s.erlingsson, (0.5, 1000, 0.01), "1/100"),
        (s.clones_closed, (1, 100, 1e-6), r"ln\(n/\(16 ln\(2/δ\)\)\)"),
        (s.blanket, (4, 10**5, 1e-6), "not reduced"),
        (s.clones, (1, 10**5, 0), "delta 0"),
        (s.clones, (1, 0, 1e-6), "whole number"),
    ],
)
def test_what_lies_outside_a_theorem_is_refused(
    bound: Callable[..., Fraction], arguments: tuple[float, int, float], why: str
) -> None:
    with pytest.raises(InvalidParameter, match=why) as raised:
        bound(*arguments)
    assert raised.value.hint


def test_the_range_of_the_closed_form_ends_where_the_theorem_does() -> None:
    edge = math.log(10**5 / (16 * math.log(2 / 1e-6)))
    s.clones_closed(edge * (1 - 1e-12), 10**5, 1e-6)
    with pytest.raises(InvalidParameter):
        s.clones_closed(edge * (1 + 1e-12), 10**5, 1e-6)


@together(("local", "target"), [(1, 0.5), (1, 0.1), (4, 1), (0.5, 0.001)])
def test_the_least_number_of_people_reaches_the_target_and_few_less_do_not(local: float, target: float) -> None:
    people = s.least_people(local, target, 1e-6)
    assert s.clones(local, people, 1e-6) <= target
    assert s.clones(local, math.floor(people * 0.9999) - 1, 1e-6) > target


def test_a_target_out_of_reach_says_so() -> None:
    assert s.least_people(1, 1, 1e-6) == 1
    with pytest.raises(InvalidParameter, match="not reached"):
        s.least_people(30, 0.01, 1e-6)


def test_what_is_lost_is_not_stated_for_more_people_than_are_summed() -> None:
    """Fewer people lose more, so their loss is no lower bound for others."""
    most = s.LARGEST_BATCH
    assert 0 < s.lower_bound(0.5, most, 1e-10) < s.best(0.5, most, 1e-10)
    assert s.best(0.5, 100 * most, 1e-10) < s.lower_bound(0.5, most, 1e-10)
    with pytest.raises(InvalidParameter, match="too large") as raised:
        s.lower_bound(0.5, 100 * most, 1e-10)
    assert raised.value.hint


def test_the_sum_has_a_result_or_an_explanation_everywhere() -> None:
    for tail in (Fraction(1, 10**400), 1e-320, 0.9):
        assert true_delta(1.0, 17, 0.3) <= s.clones_delta(1, 17, 0.3, tail=tail)
    with pytest.raises(InvalidParameter, match="no protection"):
        s.clones_delta(1000, 17, 0.3)


@together("local", [0.3, math.log(2), 1])
def test_the_farthest_number_of_clones_in_the_largest_batch_is_within_the_slack(local: float) -> None:
    """31 standard deviations away, where rounding the mean matters most: δ = 10^-200."""
    share, trials = math.exp(-local), s.LARGEST_BATCH - 1
    reach = round(31 * math.sqrt(trials * share * (1 - share)))
    for k in (round(trials * share) - reach, round(trials * share) + reach):
        with mp.workdps(60):
            log = mpmath.loggamma(trials + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(trials - k + 1)
            true = mpmath.exp(log + k * mpmath.log(mpf(share)) + (trials - k) * mpmath.log1p(-mpf(share)))
            found = float(s._binomial(float(trials), np.array([float(k)]), share)[0])
            assert abs(found - true) <= 0.7 * s.SLACK * true


@together("local", [41, 10**6, 10**300])
def test_a_loss_that_is_no_protection_is_left_as_it_is_without_computing_its_exponential(local: int) -> None:
    assert s.shuffled(PureDP(local, relation="replace"), 10**5, 1e-6).epsilon == local
    with pytest.raises(InvalidParameter, match="not reduced"):
        s.blanket(local, 10**5, 1e-6)
