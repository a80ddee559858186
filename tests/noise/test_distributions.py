"""What the public functions draw, against theory, at a false-alarm rate of one in a million per assertion."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_mean, assert_share, gaussian_pmf, laplace_pmf

from lapwing import noise
from lapwing.errors import InvalidParameter


@together("scale", [Fraction(1, 3), 1, 10, 31.5, 33, 1000, 300_000])
def test_discrete_laplace_has_its_probabilities(scale: float) -> None:
    pmf, bucket = laplace_pmf(float(scale)), max(1, int(scale) // 8)

    def bucket_pmf(k: int) -> float:
        if bucket == 1:
            return pmf(k)
        a, t = math.exp(-1 / scale), float(scale)
        low, high = (k * bucket, k * bucket + bucket) if k >= 0 else (-k * bucket - bucket + 1, -k * bucket + 1)
        return (math.exp(-low / t) - math.exp(-high / t)) / (1 + a)

    assert_follows(noise.discrete_laplace(scale, size=200_000) // bucket, bucket_pmf, range(-120, 120))
    assert_follows([noise.discrete_laplace(scale) // bucket for _ in range(5000)], bucket_pmf, range(-120, 120))


@together("scale", [2.5, 1000, 2**40, 2**57, 2**60])
def test_discrete_laplace_has_its_moments_at_any_scale(scale: float) -> None:
    draws = noise.discrete_laplace(scale, size=20_000 if scale < 2**56 else 4000)
    assert draws.dtype == (np.int64 if scale <= 2**55 else object)
    scaled = np.array([float(draw) for draw in draws]) / float(scale)
    variance = 2 * math.exp(-1 / scale) / (scale * -math.expm1(-1 / scale)) ** 2
    assert_mean(scaled, 0, variance)
    assert_mean(
        scaled**2, variance, 20.5 + 30 / scale
    )  # fourth moment of a Laplace is 24, minus its squared variance 4


def test_every_digit_of_a_large_laplace_is_uniform_where_it_should_be() -> None:
    draws = noise.discrete_laplace(2**44, size=100_000)
    for digit in range(4):
        assert_follows((draws >> (8 * digit)) & 255, lambda _: 1 / 256, range(256))


@together("sigma", [Fraction(1, 4), 1, 10, 250, 1500])
def test_discrete_gaussian_has_its_probabilities(sigma: float) -> None:
    pmf, bucket = gaussian_pmf(float(sigma)), max(1, int(sigma) // 8)
    bucket_pmf = {k: math.fsum(pmf(k * bucket + i) for i in range(bucket)) for k in range(-60, 60)}
    assert_follows(noise.discrete_gaussian(sigma, size=200_000) // bucket, bucket_pmf.__getitem__, bucket_pmf)
    assert_follows([noise.discrete_gaussian(sigma) // bucket for _ in range(3000)], bucket_pmf.__getitem__, bucket_pmf)


def test_huge_gaussians_have_their_variance() -> None:
    for sigma in (10**9, 2**58):
        draws = np.array([float(x) for x in noise.discrete_gaussian(sigma, size=3000)]) / sigma
        assert_mean(draws, 0, 1)
        assert_mean(draws**2, 1, 2)


def test_geometric_has_its_probabilities() -> None:
    for scale in (0.7, 5, 200):
        bucket = max(1, int(scale) // 8)
        a = math.exp(-bucket / scale)
        assert_follows(noise.geometric(scale, size=100_000) // bucket, lambda g, a=a: (1 - a) * a**g, range(200))
        assert_follows(
            [noise.geometric(scale) // bucket for _ in range(3000)], lambda g, a=a: (1 - a) * a**g, range(200)
        )


@together("p", [0, 1, 0.5, Fraction(3, 4), 0.3, Fraction(1, 1000), Fraction(999, 1000), Fraction(1, 2**13)])
def test_bernoulli_has_its_probability_one_by_one_in_arrays_and_packed(p: float) -> None:
    size = 100_003
    words = noise.bernoulli_bits(p, size)
    assert words.dtype == np.uint64
    assert len(words) == math.ceil(size / 64)
    assert int(words[-1]) >> size % 64 == 0
    ones = sum(int(word).bit_count() for word in words)
    array = noise.bernoulli(p, size)
    single = sum(noise.bernoulli(p) for _ in range(2000))
    if p in (0, 1):
        assert (ones, array.sum(), single) == (p * size, p * size, p * 2000)
    else:
        assert_share(ones, size, float(p))
        assert_share(array.sum(), size, float(p))
        assert_share(single, 2000, float(p))


def test_packed_bits_are_independent_of_their_neighbours() -> None:
    bits = noise.bernoulli(0.3, 200_000)
    for lag in (1, 2, 63, 64, 65):
        assert_share((bits[lag:] & bits[:-lag]).sum(), len(bits) - lag, 0.09)


@together("x", [0, 0.001, Fraction(1, 3), 1, 5.5])
def test_bernoulli_exp_has_its_probability(x: float) -> None:
    assert_share(noise.bernoulli_exp(x, 50_000).sum(), 50_000, math.exp(-x))
    assert_share(sum(noise.bernoulli_exp(x) for _ in range(2000)), 2000, math.exp(-x))
    assert not noise.bernoulli_exp(10**9)


def test_uniform_below_and_choice_are_fair() -> None:
    for n in (1, 2, 3, 255, 256, 257):
        assert_follows(noise.uniform_below(n, size=30_000), lambda _, n=n: 1 / n, range(n))
        assert_follows([noise.uniform_below(n) for _ in range(3000)], lambda _, n=n: 1 / n, range(n))
    assert noise.uniform_below(2**80, size=3).dtype == object
    weights = [Fraction(1, 3), 0, 2, 0.5]
    total = float(sum(Fraction(w) for w in weights))
    assert_follows(noise.choice(weights, size=30_000), lambda i: float(weights[i]) / total, range(4))
    assert_follows([noise.choice(weights) for _ in range(3000)], lambda i: float(weights[i]) / total, range(4))


def test_a_permutation_is_one_and_each_is_equally_likely() -> None:
    counts = Counter(tuple(noise.permutation(4).tolist()) for _ in range(6000))
    assert all(sorted(order) == [0, 1, 2, 3] for order in counts)
    codes = {order: code for code, order in enumerate(counts)}
    assert_follows((codes[order] for order in counts.elements()), lambda _: 1 / 24, range(24))


@together(
    "call",
    [
        lambda: noise.discrete_laplace(0),
        lambda: noise.discrete_laplace(-1),
        lambda: noise.discrete_laplace(math.nan),
        lambda: noise.discrete_laplace(math.inf, size=3),
        lambda: noise.discrete_laplace("1"),
        lambda: noise.discrete_laplace(2**61),
        lambda: noise.discrete_laplace(1, size=-1),
        lambda: noise.discrete_laplace(1, size=1.5),
        lambda: noise.discrete_gaussian(0),
        lambda: noise.bernoulli(1.01),
        lambda: noise.bernoulli_exp(-1),
        lambda: noise.uniform_below(0),
        lambda: noise.choice([]),
        lambda: noise.choice([0, 0]),
        lambda: noise.choice([1, -1]),
        lambda: noise.discrete_laplace(True),
    ],
)
def test_impossible_parameters_are_refused_with_a_hint(call: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.hint


def test_an_empty_array_is_an_empty_array() -> None:
    for draw in (noise.discrete_laplace, noise.discrete_gaussian, noise.geometric, noise.bernoulli_exp):
        assert len(draw(3, size=0)) == 0
    assert len(noise.bernoulli(0.3, size=0)) == 0
