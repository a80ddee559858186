"""A numeric expression as whole steps of a public grid: floor(clamp(x)·2^k + ½), the same integers on every engine.

Clamping, multiplying by a power of two, adding ½ and taking the floor are monotone in IEEE doubles, so every value lies
between the steps of the two bounds, which are computed here by the very same operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from lapwing.curator.plan.expressions import Call, Constant, Expression
from lapwing.errors import InvalidParameter

SUM_BITS = 29
"""Values of sums and means: at most 2^29 steps, so that 2^33 rows fit 64 bits, too small to see beside the noise."""
MOMENT_BITS = 14
"""Values that are squared or multiplied: at most 2^14 steps, for the same reason."""
_FLUSHED = 90
"""Up to this exponent the numbers that arithmetic takes for 0 have the step 0 anyway."""
LARGEST_BOUND = Fraction(2) ** 500
LARGEST_WHOLE = Fraction(2) ** 62


@dataclass(frozen=True, slots=True)
class GridExpression:
    """An expression, its public bounds, and its grid of 2^-exponent."""

    expression: Expression
    low: float | int
    high: float | int
    exponent: int
    label: str = field(default="", compare=False)
    """What to call it, where its expression would tell people nothing."""

    def __str__(self) -> str:
        return self.label or str(self.expression)

    @property
    def is_whole(self) -> bool:
        """Whether the values are whole numbers already."""
        return self.expression.kind == "integer" and self.exponent == 0

    @property
    def steps(self) -> tuple[int, int]:
        """The bounds in steps."""
        return _steps(self.low, self.high, None if self.is_whole else self.exponent)

    @property
    def middle(self) -> int:
        """The step in the middle of the bounds."""
        low, high = self.steps
        return (low + high) // 2

    @property
    def reach(self) -> int:
        """How far a value may be from the middle, in steps."""
        low, high = self.steps
        return max(high - self.middle, self.middle - low)

    def filled(self) -> tuple[GridExpression, int] | None:
        """For COALESCE(column, constant) within the bounds of the column: the column alone, and the constant in steps.

        Clamped once instead of twice, to the same bounds, it has the same steps. A constant beyond the bounds, which
        has to be clamped as well, is not of that form.
        """
        match self.expression:
            case Call(operator="coalesce", arguments=(Call(operator="clamp") as clamped, Constant() as other)):
                column, low, high = clamped.arguments
                ends = tuple(end.value for end in (low, high) if isinstance(end, Constant))
                if ends != (self.low, self.high) or column.kind != self.expression.kind or self.exponent > _FLUSHED:
                    return None
                if other.value is None or not self.low <= other.value <= self.high:
                    return None
                alone = replace(self, expression=column)
                return alone, alone.step_of(other.value)
        return None

    def step_of(self, value: float) -> int:
        """The step of a value within the bounds."""
        return int(value) if self.is_whole else math.floor(float(value) * math.ldexp(1.0, self.exponent) + 0.5)

    @property
    def moved(self) -> float:
        """How far the grid may move a value, in steps."""
        return 0.0 if self.is_whole else 0.5

    @property
    def step(self) -> float:
        """The width of one step, exactly."""
        return math.ldexp(1.0, -self.exponent)

    @property
    def granularity(self) -> Fraction:
        """The width of one step."""
        return Fraction(1, 1 << self.exponent) if self.exponent >= 0 else Fraction(1 << -self.exponent)


@lru_cache(maxsize=256)
def _steps(low: float, high: float, exponent: int | None) -> tuple[int, int]:
    if exponent is None:
        return int(low), int(high)
    scale = math.ldexp(1.0, exponent)
    return math.floor(float(low) * scale + 0.5), math.floor(float(high) * scale + 0.5)


def gridded(expression: Expression, bounds: tuple[Fraction, Fraction], bits: int = SUM_BITS) -> GridExpression:
    """The finest grid on which no value is more than 2^bits steps from 0; of whole numbers, 1 at the finest."""
    low: float | int
    high: float | int
    if expression.kind == "integer":
        low, high = math.floor(bounds[0]), math.ceil(bounds[1])
    else:
        low, high = float(bounds[0]), float(bounds[1])
    size = max(abs(Fraction(low)), abs(Fraction(high)))
    most = LARGEST_WHOLE if expression.kind == "integer" else LARGEST_BOUND
    if not 1 / LARGEST_BOUND <= size <= most:
        why = f"{expression} cannot be that large or small"
        raise InvalidParameter(
            "bounds", (float(bounds[0]), float(bounds[1])), why, "Write bounds that people can have."
        )
    exponent = bits - (size.numerator.bit_length() - size.denominator.bit_length()) + 1
    while size * Fraction(2) ** exponent > 1 << bits:
        exponent -= 1
    if expression.kind == "integer":
        exponent = min(exponent, 0)
    return GridExpression(expression, low, high, exponent)
