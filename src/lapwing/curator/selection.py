"""Which rows of a unit survive: a salted hash in plain arithmetic, the same integers on every engine.

    h(x₁, x₂, …) = (a₁x₁ + a₂x₂ + … + c)³ mod p,  p = 2³¹ − 1,

over limbs of at most 30 bits, with coefficients that the salt determines. Every product stays below 2^62. The cube
breaks linearity: a linear hash of consecutive numbers selects with bias. Privacy does not rest on the hash (any
function of the unit's own rows would do), only fairness does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlglot import exp

from lapwing.curator.dialects import whole

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
    """A whole number of the statement, between two known ones."""

    sql: exp.Expr
    low: int
    high: int

    def limbs(self) -> list[exp.Expr]:
        """Parts that lie between 0 and 2^30."""
        if self.high - self.low < 1 << LIMB_BITS:
            return [self.sql.copy() - whole(self.low)] if self.low else [self.sql.copy()]
        mask = whole((1 << LIMB_BITS) - 1)
        parts: list[exp.Expr] = []
        for shift in range(0, 64, LIMB_BITS):
            part = self.sql.copy()
            if shift:
                part = exp.Paren(this=exp.BitwiseRightShift(this=exp.cast(part, "BIGINT"), expression=whole(shift)))
            parts.append(exp.Paren(this=exp.BitwiseAnd(this=exp.cast(part, "BIGINT"), expression=mask.copy())))
        return parts


def linear(words: list[Word], salt: Salt, purpose: str) -> exp.Expr:
    """The linear part of the hash; a word that is NULL counts as a constant of its own."""
    total: exp.Expr = whole(salt.coefficient(f"{purpose} constant"))
    for i, word in enumerate(words):
        for j, limb in enumerate(word.limbs()):
            factor = whole(salt.coefficient(f"{purpose} {i} {j}"))
            product = exp.Paren(
                this=exp.Mod(this=exp.Paren(this=exp.cast(limb, "BIGINT") * factor), expression=whole(MODULUS))
            )
            total = total + exp.Coalesce(this=product, expressions=[whole(salt.coefficient(f"{purpose} {i} {j} null"))])
    return exp.Mod(this=exp.Paren(this=total), expression=whole(MODULUS))


def cubed(column: exp.Expr) -> exp.Expr:
    """The cube modulo p of a number below p."""
    square = exp.Paren(this=exp.Mod(this=exp.Paren(this=column.copy() * column.copy()), expression=whole(MODULUS)))
    cube = exp.Mod(this=exp.Paren(this=square * column.copy()), expression=whole(MODULUS))
    return exp.cast(cube, "INT")  # engines sort narrow numbers faster
