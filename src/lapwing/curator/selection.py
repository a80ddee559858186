"""Which rows of a unit survive: a salted hash in plain arithmetic, the same integers on every engine.

    h(x₁, x₂, …) = (a₁x₁ + a₂x₂ + … + c)⁵ mod p,  p = 2³¹ − 1,

over limbs below 2^31 (30 bits each where a number is wider), with coefficients that the salt determines. Sums stay
below 2^63. The hash of a row starts from that of its unit and group. The power breaks linearity: a linear hash of
consecutive numbers selects with bias, and so does a cube (z-scores of 13 for two of four consecutive groups, where the
fifth power has 1); the fifth power is a bijection, because 5 does not divide p − 1. Privacy does not rest on the hash
(any function of the unit's own rows would do), only fairness does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from lapwing.curator.dialects import cast, whole

MODULUS = (1 << 31) - 1
LIMB_BITS = 30


@dataclass(frozen=True, slots=True)
class Salt:
    """Where the coefficients of the hash come from."""

    seed: bytes

    def coefficient(self, label: str) -> int:
        """A number from 1 to p − 1."""
        digest = hashlib.sha256(self.seed + label.encode()).digest()
        return int.from_bytes(digest, "big") % (MODULUS - 1) + 1


@dataclass(frozen=True, slots=True)
class Word:
    """A whole number of the statement, between two known ones, or NULL if it may be."""

    sql: exp.Expr
    low: int
    high: int
    nullable: bool = False

    def limbs(self) -> list[tuple[exp.Expr, int]]:
        """Parts from 0 up to a largest value below 2^31."""
        if self.high - self.low < MODULUS:
            return [(self.sql.copy() - whole(self.low) if self.low else self.sql.copy(), self.high - self.low)]
        parts: list[tuple[exp.Expr, int]] = []
        for shift in range(0, 64, LIMB_BITS):
            part, most = cast(self.sql.copy(), "BIGINT"), (1 << min(LIMB_BITS, 64 - shift)) - 1
            shifted: exp.Expr = part
            if shift:
                shifted = exp.Paren(this=exp.BitwiseRightShift(this=part, expression=whole(shift)))
            parts.append((exp.Paren(this=exp.BitwiseAnd(this=shifted, expression=whole(most))), most))
        return parts


def linear(words: Sequence[Word], salt: Salt, purpose: str) -> exp.Expr:
    """The linear part of the hash; a word that is NULL counts as a constant of its own."""
    constant = salt.coefficient(f"{purpose} constant")
    total, most = whole(constant), constant
    for i, word in enumerate(words):
        for j, (limb, largest) in enumerate(word.limbs()):
            factor = salt.coefficient(f"{purpose} {i} {j}")
            product: exp.Expr = exp.Paren(this=cast(limb, "BIGINT") * whole(factor))
            reach = largest * factor
            if word.nullable:
                absent = salt.coefficient(f"{purpose} {i} {j} null")
                product, reach = exp.Coalesce(this=product, expressions=[whole(absent)]), max(reach, absent)
            if most + reach >= 1 << 63:
                total, most = exp.Paren(this=exp.Mod(this=exp.Paren(this=total), expression=whole(MODULUS))), MODULUS
            total, most = total + product, most + reach
    return exp.Mod(this=exp.Paren(this=total), expression=whole(MODULUS))


def fifth_power(column: exp.Expr) -> exp.Expr:
    """The fifth power modulo p of a number below p."""

    def product(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Mod(this=exp.Paren(this=left.copy() * right.copy()), expression=whole(MODULUS)))

    square = product(column, column)
    return cast(product(product(square, square), column), "INT")  # engines sort narrow numbers faster
