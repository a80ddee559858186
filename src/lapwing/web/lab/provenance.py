"""Whether bounds and keys that somebody states were read from the data, as far as that can be told.

Teaching mode may read the smallest and the largest value of a column. Outside it these may not be stated: each of them
is the value of one person, and a last digit changed does not make it a public fact. So what is *near* a value that was
read counts as read: within 1 % of it, or the same number rounded to two or more digits, upwards or downwards. Round
numbers that everybody would write (0, 1, 2, 5, 10, 20, 50, …, on both sides of zero) do not, unless both bounds are
exactly those that were read.

It is a reminder, not a guarantee: somebody who looked at the data can state bounds that are a little further off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

Bounds = tuple[float, float]
NEAR = 0.01
"""As a share of the value that was read."""
FEWEST_DIGITS, MOST_DIGITS = 2, 17


@dataclass(frozen=True, slots=True)
class Provenance:
    """What was found out about one column: by reading it, which only teaching mode does, or privately, for a price."""

    read_bounds: Bounds | None = None
    read_keys: tuple[str, ...] = ()
    private_bounds: Bounds | None = None
    private_keys: tuple[str, ...] = ()

    def after(self, bounds: Bounds | None, keys: tuple[str, ...], *, private: bool) -> Provenance:
        """The same with what was found now; what was not looked for stays."""
        if private:
            return replace(self, private_bounds=bounds or self.private_bounds, private_keys=keys or self.private_keys)
        return replace(self, read_bounds=bounds or self.read_bounds, read_keys=keys or self.read_keys)

    def is_read(self, bounds: Bounds | None, keys: tuple[str, ...]) -> bool:
        """Whether one of the bounds, or the keys, were read from the data and not found privately besides."""
        read = bounds is not None and bounds != self.private_bounds and self._are_read(bounds)
        return read or (_folded(keys) != _folded(self.private_keys) and _same_keys(keys, self.read_keys))

    def _are_read(self, bounds: Bounds) -> bool:
        if self.read_bounds is None:
            return False
        pairs = list(zip(bounds, self.read_bounds, strict=True))
        if all(math.isclose(end, read, rel_tol=1e-12) for end, read in pairs):
            return True
        return any(not is_round(end) and is_near(end, read) for end, read in pairs)


def is_round(value: float) -> bool:
    """Whether this is 0, or 1, 2 or 5 times a power of ten, on either side of zero.

    >>> [is_round(one) for one in (0, 0.5, -20, 100, 1e9, 18, 99.5)]
    [True, True, True, True, True, False, False]
    """
    digits = Decimal(repr(float(value))).normalize().as_tuple().digits
    return digits in ((0,), (1,), (2,), (5,))


def is_near(value: float, read: float) -> bool:
    """Whether this is the value that was read, changed by 1 % at most or rounded to two digits or more.

    >>> [is_near(one, 12649.7) for one in (12649.7, 12649.8, 12700, 13000, 12000, 15000)]
    [True, True, True, True, True, False]
    """
    if math.isclose(value, read, rel_tol=NEAR, abs_tol=1e-12):
        return True
    exact, stated = Decimal(repr(float(read))), Decimal(repr(float(value)))
    return any(
        Context(prec=digits, rounding=way).plus(exact) == stated
        for digits in range(FEWEST_DIGITS, MOST_DIGITS)
        for way in (ROUND_FLOOR, ROUND_CEILING, ROUND_HALF_EVEN)
    )


def _same_keys(keys: tuple[str, ...], read: tuple[str, ...]) -> bool:
    """Whether all of these were read, or all that was read is among them with hardly anything added.

    A list of codes that everybody knows usually holds more than those that happen to occur.
    """
    stated, occurring = _folded(keys), _folded(read)
    if not stated or not occurring:
        return False
    return stated <= occurring or (occurring <= stated and len(stated) <= len(occurring) + max(1, len(occurring) // 10))


def _folded(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(key.split()).casefold() for key in keys if key.strip())
