"""The distributions we invert, as rigorous enclosures of their CDFs. All of them are powers of e^-x for rational x.

Enclosures at p bits are pairs of integers around 2^p·value; every product, quotient and difference rounds outwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lapwing.exact import Enclosure, Real, exp_neg

_EXTRA = 32


def _times(a: Enclosure, b: Enclosure, bits: int) -> Enclosure:
    return a[0] * b[0] >> bits, -(-a[1] * b[1] >> bits)


def _over(a: Enclosure, b: Enclosure, bits: int) -> Enclosure:
    return (a[0] << bits) // b[1], -((-a[1] << bits) // b[0])


def _one_minus(a: Enclosure, bits: int) -> Enclosure:
    return (1 << bits) - a[1], (1 << bits) - a[0]


def _coarser(a: Enclosure, drop: int) -> Enclosure:
    return a[0] >> drop, -(-a[1] >> drop)


def _powers(x: Fraction, bits: int) -> Iterator[Enclosure]:
    """1, e^-x, e^-2x, … by multiplication; each step widens the enclosure by at most two units."""
    ratio, power = exp_neg(x)(bits), (1 << bits, 1 << bits)
    while True:
        yield power
        power = _times(power, ratio, bits)


@dataclass(frozen=True, slots=True)
class Geometric:
    """P(G ≥ g) = e^(−rate·g) for g = 0, 1, 2, …"""

    rate: Fraction
    size: None = None

    def outcome(self, index: int) -> int:
        return index

    def cdf(self, index: int) -> Real:
        power = exp_neg(self.rate * (index + 1))
        return lambda bits: _one_minus(power(bits), bits)

    def enclosures(self, bits: int) -> Iterator[Enclosure]:
        powers = _powers(self.rate, bits + _EXTRA)
        next(powers)
        for power in powers:
            yield _coarser(_one_minus(power, bits + _EXTRA), _EXTRA)


@dataclass(frozen=True, slots=True)
class SignedGeometric:
    """H geometric with `rate`, kept with probability 1/(1+e^-tilt), else turned into −1−H.

    Enumerated 0, −1, 1, −2, 2, …: F(2h) = 1 − b^h·(a+b)/(1+a) and F(2h+1) = 1 − b^(h+1) with a = e^-tilt, b =
    e^-rate. With rate = tilt = 1/t this is the discrete Laplace distribution of scale t; with a larger rate it is the
    sign and the leading digit of one.
    """

    rate: Fraction
    tilt: Fraction
    size: None = None

    def outcome(self, index: int) -> int:
        return (index >> 1) ^ -(index & 1)

    def cdf(self, index: int) -> Real:
        def enclose(bits: int) -> Enclosure:
            fine = bits + _EXTRA
            power = exp_neg(self.rate * ((index + 1) >> 1))(fine)
            if not index & 1:
                power = _times(power, self._keep(fine), fine)
            return _coarser(_one_minus(power, fine), _EXTRA)

        return enclose

    def enclosures(self, bits: int) -> Iterator[Enclosure]:
        fine = bits + _EXTRA
        one, many = 1 << fine, 1 << fine + fine
        (least, most), (small, large) = self._keep(fine), exp_neg(self.rate)(fine)
        low = high = one  # of b^h; written out, for tables are made of thousands of these
        while True:
            yield many - high * most >> fine + _EXTRA, -(low * least - many >> fine + _EXTRA)
            low, high = low * small >> fine, -(-high * large >> fine)
            yield one - high >> _EXTRA, -(low - one >> _EXTRA)

    def _keep(self, bits: int) -> Enclosure:
        a, b = exp_neg(self.tilt)(bits), exp_neg(self.rate)(bits)
        return _over((a[0] + b[0], a[1] + b[1]), ((1 << bits) + a[0], (1 << bits) + a[1]), bits)


@dataclass(frozen=True, slots=True)
class TruncatedGeometric:
    """A geometric with `rate`, given that it is below `size`: F(k) = (1 − r^(k+1)) / (1 − r^size)."""

    rate: Fraction
    size: int

    def outcome(self, index: int) -> int:
        return index

    def cdf(self, index: int) -> Real:
        def enclose(bits: int) -> Enclosure:
            fine = self._fine(bits)
            below = _one_minus(exp_neg(self.rate * (index + 1))(fine), fine)
            return _coarser(_over(below, self._total(fine), fine), fine - bits)

        return enclose

    def enclosures(self, bits: int) -> Iterator[Enclosure]:
        fine = self._fine(bits)
        one, (least, most) = 1 << fine, self._total(fine)
        small, large = low, high = exp_neg(self.rate)(fine)  # r^(k+1); written out, for tables are made of these
        while True:
            yield (one - high << bits) // most, -((low - one << bits) // least)
            low, high = low * small >> fine, -(-high * large >> fine)

    def _fine(self, bits: int) -> int:
        """1 − r is about `rate`: a tiny rate loses that many leading bits."""
        return bits + _EXTRA + 2 * int(1 / self.rate).bit_length()

    def _total(self, bits: int) -> Enclosure:
        return _one_minus(exp_neg(self.rate * self.size)(bits), bits)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """P(X = x) proportional to e^(−x²/(2·variance)), enumerated 0, 1, −1, 2, −2, …"""

    variance: Fraction
    size: None = None

    def outcome(self, index: int) -> int:
        return (index + 1 >> 1) * (1 if index & 1 else -1)

    def cdf(self, index: int) -> Real:
        def enclose(bits: int) -> Enclosure:
            partial = _gaussian_cdf(self.variance, bits)
            return partial[index] if index < len(partial) else ((1 << bits) - 1, 1 << bits)

        return enclose

    def enclosures(self, bits: int) -> Iterator[Enclosure]:
        yield from _gaussian_cdf(self.variance, bits)
        while True:
            yield (1 << bits) - 1, 1 << bits


@lru_cache(maxsize=32)
def _gaussian_cdf(variance: Fraction, bits: int) -> list[Enclosure]:
    """Partial sums over the total; w_(k+1) = w_k·q_k, q_(k+1) = q_k·e^(−1/variance), q_0 = e^(−1/(2·variance)).

    The rest beyond the last weight w_K is at most 2·w_K·q_K/(1 − q_K), since ratios of neighbouring weights only
    shrink. An index beyond the list has F > 1 − 2^-bits.
    """
    fine = bits + _EXTRA + 2 * int(variance).bit_length()
    one = (1 << fine, 1 << fine)
    weight, ratio, shrink = one, exp_neg(1 / (2 * variance))(fine), exp_neg(1 / variance)(fine)
    partial, low, high = [one], one[0], one[1]
    floor = 1 << (fine - bits - 8 - int(variance).bit_length())
    while weight[1] > floor:
        weight, ratio = _times(weight, ratio, fine), _times(ratio, shrink, fine)
        for _ in range(2):
            low, high = low + weight[0], high + weight[1]
            partial.append((low, high))
    rest = -((-2 * weight[1] * ratio[1]) // ((1 << fine) - ratio[1]))
    total = (low, high + rest)
    cdf = [_over(part, total, fine) for part in partial]
    return [_coarser((a, min(b, 1 << fine)), fine - bits) for a, b in cdf]
