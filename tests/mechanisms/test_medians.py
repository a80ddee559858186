"""The smooth and the stable median: their lemmas on every small data set, their delta from the exact laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_seldom, assert_share, laplace_pmf
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import ProposeTestRelease, SmoothMedian, StableMedian
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.median_spans import MedianSpans

TOP = 4
LADDER = Ladder((0, TOP), 1)
DATA = [values for n in range(5) for values in itertools.combinations_with_replacement((0, 1, 3, TOP), n)]


def neighbours(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for i in range(len(values)):
        rest = (*values[:i], *values[i + 1 :])
        yield rest
        yield from ((*rest, new) for new in (0, 1, 3, TOP))
    yield from ((*values, new) for new in (0, 1, 3, TOP))


def widest(values: Sequence[int], k: int) -> int:
    """A_k by its definition, with the bounds continued far to both sides."""
    pad = k + 2
    line = [0] * (pad + 1) + sorted(values) + [TOP] * (pad + 1)
    middle = pad + (len(values) + 1) // 2
    return max(line[i + k + 1] - line[i] for i in range(middle - k - 1, middle + 1))


def median(values: Sequence[int]) -> int:
    return ([0, *sorted(values)])[(len(values) + 1) // 2]


def test_the_lemma_holds_for_all_small_neighbours() -> None:
    for values in DATA:
        for other in neighbours(values):
            assert abs(median(values) - median(other)) <= widest(values, 0)
            assert all(widest(values, k) <= widest(other, k + 1) for k in range(6))


@given(st.lists(st.integers(0, TOP), max_size=9), st.integers(1 << 58, 1 << 64))
def test_the_smooth_sensitivity_is_the_largest_weighted_span(values: list[int], decay: int) -> None:
    weight, naive = 1 << 128, 0
    for k in range(len(values) + 3):
        naive = max(naive, weight * widest(values, k))
        weight = math.ceil(Fraction(weight * decay, 1 << 64))
    for data in (values, np.array(values, dtype=np.int64)):
        spans = MedianSpans(data, LADDER)
        assert spans.smooth_sensitivity(decay, 64, 128) == naive
        assert spans.median == median(values)


@given(st.lists(st.integers(0, TOP), max_size=9), st.integers(0, TOP - 1))
def test_the_distance_is_the_number_of_changes_until_the_span_is_wider(values: list[int], span: int) -> None:
    expected = next(k for k in itertools.count() if widest(values, k) > span)
    assert MedianSpans(values, LADDER).changes_until_wider(span) == expected
    assert MedianSpans(np.array(values, dtype=np.int64), LADDER).changes_until_wider(span) == expected


def noise_scale(mechanism: SmoothMedian, values: Sequence[int]) -> Fraction:
    smooth = MedianSpans(values, LADDER).smooth_sensitivity(mechanism._decay, 64, 128)
    return mechanism._scale(Fraction(smooth, 1 << 128))


@together(("epsilon", "delta"), [(1, 0.05), (0.3, 1e-3), (4, 1e-6)])
def test_the_scale_is_smooth_and_the_exact_delta_below_the_stated_one(epsilon: float, delta: float) -> None:
    mechanism = SmoothMedian(epsilon=epsilon, delta=delta, bounds=(0, TOP), granularity=1)
    assert mechanism.privacy_loss().epsilon == Fraction(epsilon)
    assert mechanism.privacy_loss().delta == Fraction(delta)
    decay, worst = Fraction(mechanism._decay, 1 << 64), 0.0
    laws: dict[tuple[int, ...], tuple[int, float]] = {}
    for values in DATA:
        scale = noise_scale(mechanism, values)
        laws[values] = median(values), float(scale)
        for other in neighbours(values):
            assert noise_scale(mechanism, other) <= scale / decay
            assert 2 * abs(median(values) - median(other)) <= scale * Fraction(epsilon)
    for values, (middle, scale) in laws.items():
        here = laplace_pmf(scale)
        for other in {tuple(sorted(other)) for other in neighbours(values)} & laws.keys():
            there_middle, there_scale = laws[other]
            there = laplace_pmf(there_scale)
            reach = range(-math.ceil(40 * scale) - TOP, math.ceil(40 * scale) + TOP)
            worst = max(
                worst,
                math.fsum(max(0.0, here(z - middle) - math.exp(epsilon) * there(z - there_middle)) for z in reach),
            )
    assert worst <= delta


@pytest.mark.parametrize("kind", [list, np.array])
def test_the_smooth_median_has_noise_of_its_own_scale(kind: Any) -> None:
    mechanism = SmoothMedian(epsilon=1, delta=0.01, bounds=(0, 1000), granularity=1)
    values = [480, 490, 495, 500, 505, 510, 520] * 9
    smooth = MedianSpans(values, mechanism._ladder).smooth_sensitivity(mechanism._decay, 64, 128)
    noise = laplace_pmf(float(mechanism._scale(Fraction(smooth, 1 << 128))))
    draws = (mechanism.release(kind(values)) for _ in range(2000))
    assert_follows(draws, lambda point: noise(point - 500), range(300, 700))


def test_the_smooth_median_gives_tight_data_little_noise_and_stays_in_bounds() -> None:
    mechanism = SmoothMedian(epsilon=1, delta=1e-6, bounds=(0, 1000))
    assert {mechanism.release([40] * 2000) for _ in range(50)} == {40}
    assert all(0 <= mechanism.release([0, 1000]) <= 1000 for _ in range(50))
    assert all(0 <= mechanism.release([]) <= 1000 for _ in range(10))
    strange = [math.nan, None, math.inf, 10**400]
    assert 0 <= mechanism.release(strange) <= 1000
    assert mechanism.accuracy() == 1000
    assert mechanism.accuracy(smooth_sensitivity=0) == 0
    assert mechanism.accuracy(0.95, smooth_sensitivity=3) == pytest.approx(6 * math.log(20), abs=1)


def test_the_scale_of_one_data_set_is_not_kept_in_a_cache() -> None:
    from lapwing.noise.laplace import discrete_laplace_sampler

    before = discrete_laplace_sampler.cache_info()
    SmoothMedian(epsilon=1, delta=1e-6, bounds=(0, 1000)).release([1, 2, 3])
    assert discrete_laplace_sampler.cache_info() == before


def stable(epsilon: float = 2, delta: float = 0.05, bound: int = 1, **more: Any) -> StableMedian:
    return StableMedian(epsilon=epsilon, delta=delta, bound=bound, bounds=(0, TOP), granularity=1, **more)


def test_the_exact_delta_of_the_stable_median_is_below_the_stated_one() -> None:
    mechanism = stable()
    loss = mechanism.privacy_loss()
    assert loss.epsilon == 2
    assert 0 < loss.delta <= Fraction(0.05)
    test, noise = laplace_pmf(float(mechanism._test_scale)), laplace_pmf(float(mechanism._scale))

    def law(values: Sequence[int]) -> dict[int | None, float]:
        distance, answer = mechanism._look(values)
        passes = math.fsum(test(z) for z in range(mechanism._passing - distance, 80))
        return {None: 1 - passes, **{point: passes * noise(point - answer) for point in range(-60, 60)}}

    worst, laws = 0.0, {values: law(values) for values in DATA}
    for values, here in laws.items():
        for other in {tuple(sorted(other)) for other in neighbours(values)} & laws.keys():
            there = laws[other]
            worst = max(worst, math.fsum(max(0.0, here[y] - math.exp(2) * there[y]) for y in here))
    assert 0 < worst <= loss.delta


def test_unstable_data_pass_the_test_with_probability_delta_at_most() -> None:
    mechanism = StableMedian(epsilon=2, delta=0.05, bound=1, bounds=(0, 100))
    passed = sum(mechanism.release([0, 100]) is not None for _ in range(20_000))
    assert mechanism._look([0, 100])[0] == 0
    assert_share(passed, 20_000, float(mechanism.privacy_loss().delta))


def test_stable_data_get_an_answer_with_the_promised_noise() -> None:
    mechanism = StableMedian(epsilon=1, delta=1e-6, bound=2, bounds=(0, 100))
    noise = laplace_pmf(4.0)
    for values in ([50] * 300, np.full(300, 50.0)):
        answers = [mechanism.release(values) for _ in range(4000)]
        assert None not in answers
        assert_follows(
            (int(answer) for answer in answers if answer is not None), lambda y: noise(y - 50), range(1, 100)
        )
    errors = sum(abs(answer - 50) > mechanism.accuracy(0.9) for answer in answers if answer is not None)
    assert_seldom(errors, 4000, 0.1)
    assert mechanism.variance == pytest.approx(2 * 4**2, rel=0.02)
    assert mechanism.release([]) in (None, *range(101))


def test_any_function_with_a_distance_can_be_released() -> None:
    mechanism = ProposeTestRelease(
        epsilon=2, delta=1e-3, bound=0.5, function=lambda data: data[1] / 3, distance=lambda data: data[0]
    )
    assert mechanism.release((10**6, 30)) == pytest.approx(10, abs=20)
    assert_seldom(sum(mechanism.release((0, 30)) is not None for _ in range(200)), 200, 1e-3)
    assert mechanism._steps * mechanism._granularity >= Fraction(1, 2)


@together("distance", [math.nan, math.inf, None, -5, "far", "raise"])
def test_a_distance_that_is_no_number_counts_as_none_at_all(distance: object) -> None:
    def far(data: object) -> object:
        if distance == "raise":
            raise ZeroDivisionError(data)
        return distance

    mechanism = ProposeTestRelease(epsilon=2, delta=1e-9, bound=1, function=lambda data: 1 / 0, distance=far)
    assert mechanism._look("anything") == (0, 0)
    assert mechanism.release("anything") is None


@together(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("epsilon", math.nan),
        ("delta", 0),
        ("delta", 1),
        ("bounds", (3, 3)),
        ("granularity", -1),
    ],
)
@pytest.mark.parametrize("kind", [SmoothMedian, StableMedian])
def test_bad_parameters_are_refused_by_name(kind: Any, name: str, value: object) -> None:
    more = {"bound": 1} if kind is StableMedian else {}
    with pytest.raises(InvalidParameter) as caught:
        kind(**{"epsilon": 1, "delta": 1e-6, "bounds": (0, 100), **more, name: value})
    assert caught.value.name == name


def test_a_proposal_must_lie_between_a_step_and_the_range() -> None:
    for bound in (0, 0.5, 100, "1"):
        with pytest.raises(InvalidParameter, match="bound"):
            StableMedian(epsilon=1, delta=1e-6, bound=bound, bounds=(0, 100))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="callable"):
        ProposeTestRelease(epsilon=1, delta=1e-6, bound=1, function=3, distance=len)  # type: ignore[arg-type]
