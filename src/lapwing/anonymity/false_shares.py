"""Reconstructs a shared secret although some shares are false: Reed–Solomon decoding after Gao (2003).

Of n points all but e lie on one polynomial of degree below t. If n ≥ t + 2e, it is the only one for which that is so,
and it is found in about n² multiplications, whichever points are the false ones.

>>> points = {1: 5 + 3 * 1, 2: 5 + 3 * 2, 3: 99, 4: 5 + 3 * 4}
>>> corrected_secret(points, threshold=2, prime=101)
5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Polynomial = list[int]
"""Coefficients, the constant one first; no zero at the end."""


def corrected_secret(points: Mapping[int, int], threshold: int, prime: int) -> int | None:
    """The value at 0 of the polynomial that most points lie on; None if too many are false to tell.

    Up to (n − threshold) / 2 of the n points may be false.
    """
    n = len(points)
    if n < threshold:
        return None
    former, present = _through(points, prime)
    before: Polynomial = []
    factor: Polynomial = [1]
    while 2 * (len(present) - 1) >= n + threshold:  # Euclid's algorithm, ended half way
        quotient, rest = _divided(former, present, prime)
        before, factor = factor, _less(before, _times(quotient, factor, prime), prime)
        former, present = present, rest
    polynomial, rest = _divided(present, factor, prime)
    if rest or len(polynomial) > threshold:
        return None
    return polynomial[0] if polynomial else 0


def _through(points: Mapping[int, int], prime: int) -> tuple[Polynomial, Polynomial]:
    """The polynomial that is 0 at all points, and the one that has their values (Newton's form, multiplied out)."""
    product: Polynomial = [1]
    curve: Polynomial = []
    for point, value in points.items():
        step = (value - _at(curve, point, prime)) * pow(_at(product, point, prime), -1, prime)
        curve = _less(curve, [-step * number % prime for number in product], prime)
        product = _less([0, *product], [point * number % prime for number in product], prime)
    return product, curve


def _at(polynomial: Sequence[int], point: int, prime: int) -> int:
    value = 0
    for number in reversed(polynomial):
        value = (value * point + number) % prime
    return value


def _trimmed(numbers: Polynomial) -> Polynomial:
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _less(left: Sequence[int], right: Sequence[int], prime: int) -> Polynomial:
    size = max(len(left), len(right))
    wide = [[*numbers, *[0] * (size - len(numbers))] for numbers in (left, right)]
    return _trimmed([(ours - theirs) % prime for ours, theirs in zip(*wide, strict=True)])


def _times(left: Sequence[int], right: Sequence[int], prime: int) -> Polynomial:
    product = [0] * (len(left) + len(right))
    for shift, number in enumerate(left):
        for place, other in enumerate(right):
            product[shift + place] += number * other
    return _trimmed([number % prime for number in product])


def _divided(dividend: Sequence[int], divisor: Sequence[int], prime: int) -> tuple[Polynomial, Polynomial]:
    """Quotient and rest."""
    rest, inverse = list(dividend), pow(divisor[-1], -1, prime)
    quotient = [0] * max(0, len(rest) - len(divisor) + 1)
    for shift in reversed(range(len(quotient))):
        quotient[shift] = rest[shift + len(divisor) - 1] * inverse % prime
        for place, number in enumerate(divisor):
            rest[shift + place] = (rest[shift + place] - quotient[shift] * number) % prime
    return _trimmed(quotient), _trimmed(rest)
