"""The randomised threshold and the dummies: exact losses against sums by definition, and controls that are caught."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import together
from chance import assert_share

from lapwing.adversary import Pair, audit
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import CrowdThreshold, DummyCrowds, DummyReports
from lapwing.noise import Entropy, Reproducible, discrete_gaussian
from lapwing.privacy import ApproxDP, Relation

EPSILONS = (0, 0.3, 1, 2.25, 4.5)
FALSE_ALARM = 1e-6


def drops(mean: int, sigma: float, rounded: bool = False) -> list[Any]:
    """The law of the number dropped with 60 digits: a discrete Gaussian or a rounded normal, 0 at least."""
    with mpmath.workdps(60):
        reach = range(mean - math.ceil(30 * sigma), mean + math.ceil(30 * sigma))
        if rounded:
            ends = [mpmath.erfc((mean - drop + mpmath.mpf(1) / 2) / (sigma * mpmath.sqrt(2))) / 2 for drop in reach]
            law = [after - before for before, after in itertools.pairwise(ends)]
        else:
            law = [mpmath.exp(-(mpmath.mpf(drop - mean) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for drop in reach]
        start = -reach[0]
        total = mpmath.fsum(law)
        assert start >= 0
        return [mpmath.fsum(law[: start + 1]) / total, *(weight / total for weight in law[start + 1 :])]


def by_definition(law: list[Any], epsilon: float, relation: Relation) -> float:
    """δ(ε), summed over all outcomes."""
    with mpmath.workdps(60):
        factor = mpmath.exp(epsilon)
        before, after = [0, *law[:-1]], [*law[1:], 0]
        if relation == "add_remove":
            sums = [mpmath.fsum(max(p - factor * q, 0) for p, q in zip(law, x, strict=True)) for x in (before, after)]
            return float(max(sums))
        return float(
            mpmath.fsum(
                max(p * r - factor * q * s, 0)
                for p, q in zip(law, before, strict=True)
                for r, s in zip(law, after, strict=True)
            )
        )


@together(
    ("mean", "sigma", "relation"),
    [(m, s, r) for m, s in ((10, 2.0), (3, 0.75), (0, 1.5), (6, 2.5)) for r in ("add_remove", "replace")],
)
def test_delta_is_the_sum_over_all_outcomes_rounded_up(mean: int, sigma: float, relation: Relation) -> None:
    crowds = CrowdThreshold(threshold=5, mean_drop=mean, sigma=sigma, delta=0.9, relation=relation)
    law = drops(mean, sigma)
    law = law[: mean + math.ceil(15 * sigma)]
    for epsilon in EPSILONS:
        exact = by_definition(law, epsilon, relation)
        assert exact * (1 - 1e-12) <= crowds.delta_at(epsilon) <= exact * (1 + 1e-12) + 1e-40


def test_the_numbers_of_the_literature_are_those_of_a_rounded_normal_and_ours_are_stated() -> None:
    rounded = drops(10, 2, rounded=True)[:60]
    assert by_definition(rounded, 2.25, "add_remove") == pytest.approx(1.04e-6, rel=5e-3)
    assert by_definition(rounded, 1, "add_remove") == pytest.approx(0.0068, abs=5e-5)
    assert by_definition(rounded, 2.25, "replace") == pytest.approx(3.46e-4, rel=5e-3)
    assert by_definition(rounded, 4.5, "replace") == pytest.approx(1.02e-6, rel=5e-3)
    entering = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=1e-5)
    moving = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=1e-5, relation="replace")
    assert entering.delta_at(2.25) == pytest.approx(1.198e-6, rel=1e-3)
    assert moving.delta_at(2.25) == pytest.approx(3.578e-4, rel=1e-3)
    assert moving.privacy_loss().epsilon > entering.privacy_loss().epsilon


@together("relation", ["add_remove", "replace"])
def test_the_stated_epsilon_is_the_least_for_its_delta(relation: Relation) -> None:
    crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=1e-5, relation=relation)
    loss = crowds.privacy_loss()
    assert crowds.delta_at(loss.epsilon) <= 1e-5 < crowds.delta_at(loss.epsilon - 2**-20)
    assert crowds.epsilon_at(1e-5) == loss.epsilon


def test_the_threshold_sets_what_is_seen_and_not_the_price() -> None:
    low, high = (CrowdThreshold(threshold=t, mean_drop=10, sigma=2, delta=1e-5) for t in (1, 500))
    assert low.privacy_loss() == high.privacy_loss()
    assert high.accuracy(0.95) - low.accuracy(0.95) == 499


def test_a_delta_below_the_chance_that_nothing_is_dropped_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="no report is dropped"):
        CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=8e-7)
    assert CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=8.1e-7).privacy_loss().epsilon < 3


@together(
    ("name", "value"), [("sigma", 0.2), ("sigma", 1001), ("mean_drop", 10_001), ("threshold", 0), ("mean_drop", -1)]
)
def test_parameters_that_make_no_sense_are_refused(name: str, value: float) -> None:
    parameters: dict[str, Any] = {"threshold": 20, "mean_drop": 10, "sigma": 2, "delta": 1e-5, name: value}
    with pytest.raises(InvalidParameter) as caught:
        CrowdThreshold(**parameters)
    assert caught.value.name == name


def test_crowds_are_forwarded_as_often_as_stated_and_never_below_the_threshold() -> None:
    crowds = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=1e-5)
    kept = np.array(crowds.release([31] * 40_000, Reproducible(1)))
    assert set(kept[kept < 20]) <= {0}
    assert kept.max() <= 31
    assert_share(int((kept > 0).sum()), len(kept), crowds.probability(31))
    assert abs(kept.mean() - crowds.expected(31)) < 31 * math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(kept)))
    assert crowds.release([19, 0, -4, math.nan, "x"], Reproducible(1)) == [0] * 5


def test_drops_without_noise_on_a_coarse_grid_or_with_too_little_noise_are_caught() -> None:
    class Broken:
        """Claims (1, 0.05) and drops as many as `drop` says."""

        def __init__(self, drop: Any) -> None:
            self.drop = drop

        def privacy_loss(self) -> ApproxDP:
            return ApproxDP(1, 0.05)

        def release(self, sizes: list[int], entropy: Entropy) -> list[int]:
            left = [size - self.drop(entropy) for size in sizes]
            return [number if number >= 2 else 0 for number in left]

    def once(entropy: Entropy) -> int:
        return max(0, 4 + 2 * round(discrete_gaussian(1, entropy=entropy)))  # only even numbers

    pair = Pair([12], [13], "add_remove", "one report more")
    for drop in (lambda entropy: 4, once, lambda entropy: max(0, 4 + discrete_gaussian(0.5, entropy=entropy))):
        assert audit(Broken(drop), pair, samples=20_000).caught
    fair = audit(
        Broken(lambda entropy: max(0, 4 + discrete_gaussian(2, entropy=entropy))),
        pair,
        samples=20_000,
        confidence=1 - FALSE_ALARM,
    )
    assert not fair.caught


def test_a_threshold_that_charges_a_replaced_report_once_is_caught() -> None:
    entering = CrowdThreshold(threshold=2, mean_drop=4, sigma=1, delta=0.05)

    class Half:
        """Charges one crowd where two change."""

        def privacy_loss(self) -> ApproxDP:
            loss = entering.privacy_loss()
            return ApproxDP(loss.epsilon, loss.delta, relation="replace")

        def release(self, sizes: list[int], entropy: Entropy) -> list[int]:
            return entering.release(sizes, entropy)

    assert audit(Half(), Pair([12, 12], [11, 13], "replace", "one report moves"), samples=40_000).caught


def one_sided(scale: float, shift: int) -> list[Any]:
    with mpmath.workdps(60):
        law = [mpmath.exp(-abs(z) / mpmath.mpf(scale)) for z in range(-shift, shift + 1)]
        total = mpmath.fsum(law)
        return [weight / total for weight in law]


@together("relation", ["add_remove", "replace"])
def test_dummies_keep_what_they_state(relation: Relation) -> None:
    reports = DummyReports(epsilon=1, delta=1e-4, relation=relation)
    crowds = DummyCrowds(epsilon=1, delta=1e-4, largest=5, relation=relation)
    changes = {"add_remove": [[(1,)], [(1, 1)]], "replace": [[(1, 1)], [(1, 1, 1, 1), (2, 1, 1)]]}[relation]
    for mechanism, moves in zip((reports, crowds), changes, strict=True):
        noise, loss = mechanism._noise, mechanism.privacy_loss()
        law = one_sided(noise.scale.numerator / noise.scale.denominator, noise.shift)
        assert loss.epsilon == 1
        for move in moves:
            with mpmath.workdps(60):  # all of the first law that the second cannot cover at e^ε, by the union of parts
                missing = mpmath.fsum(mpmath.fsum(law[:step]) for step in move)
                ratios = [max(p / q for p, q in zip(law, law[step:], strict=False)) for step in move]
                assert missing <= loss.delta * (1 + mpmath.mpf(10) ** -20)
                assert mpmath.fprod(ratios) <= mpmath.exp(1) * (1 + mpmath.mpf(10) ** -20)
        smaller = one_sided(noise.scale.numerator / noise.scale.denominator, noise.shift - 1)
        assert max(sum(sum(smaller[:step]) for step in move) for move in moves) > 1e-4  # the shift is the least


def test_dummies_are_drawn_by_their_law_and_never_negative() -> None:
    dummies = DummyReports(epsilon=2, delta=0.01)
    drawn = np.array(dummies.draw(40_000, Reproducible(2)))
    assert drawn.min() >= 0
    assert drawn.max() <= dummies.most
    for number, chance in enumerate(one_sided(0.5, dummies.shift)):
        assert_share(int((drawn == number).sum()), len(drawn), float(chance))
    off = np.abs(drawn - dummies.shift)
    assert (off <= dummies.accuracy(0.95)).mean() > 0.94


def test_dummies_that_are_noise_without_a_shift_are_caught() -> None:
    class Clipped:
        """One-sided noise that starts at nothing: an empty crowd often looks empty."""

        def privacy_loss(self) -> ApproxDP:
            return ApproxDP(1, 0.01)

        def release(self, sizes: list[int], entropy: Entropy) -> list[int]:
            return [size + abs(discrete_gaussian(2, entropy=entropy)) for size in sizes]

    assert audit(Clipped(), Pair([0], [1], "add_remove", "nobody, and somebody"), samples=20_000).caught


def test_sizes_above_the_largest_are_seen_exactly() -> None:
    dummies = DummyCrowds(epsilon=1, delta=1e-4, largest=3)
    assert dummies.release([50, 2, 7], Reproducible(3))[3:] == [7, 50]
    found = audit(dummies, Pair([6], [7], "add_remove", "a crowd that is too large to hide"), samples=5_000)
    assert found.caught
