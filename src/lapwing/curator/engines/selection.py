"""Which groups and rows of a unit survive: a salted hash in exact double arithmetic, the same integers on every engine.

    y = a₁x₁ + a₂x₂ + … + c,   h = y²·(y² + d) mod q,   q = 16,777,213, the largest prime below 2²⁴,

with coefficients that the salt determines; wide numbers are folded into 24 bits. Every product is a whole number below
2^53, so doubles hold it exactly, and engines compute doubles much faster than remainders of integers. The powers break
linearity: a linear hash of consecutive numbers selects with bias, and so does a cube (z-scores of 13 for two of four
consecutive groups, where this has at most 1). Privacy does not rest on the hash (any function of the unit's own rows
would do), only fairness does.

Groups are chosen by a hash of unit and group. Where a fair sample of rows begins is drawn by two more (`offset`), whose
48 bits leave no remainder of a division by the number of rows noticeably more likely than another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from lapwing.curator.engines.dialects import Dialect, cast, double, whole
from lapwing.curator.plan.expressions import Kind

MODULUS = 16_777_213
BITS = 24
FEW = 2
"""Up to so many words, of 24 bits each with their coefficients, a line is short enough to be squared as it is."""
EXACT_BITS = 53
MARGIN = 4
"""More than a hash can be below 0 (see `remainder`)."""
NARROW_BITS = 30
"""So many bits of a whole number are filled if it is to be a narrow one."""


@dataclass(frozen=True, slots=True)
class Salt:
    """Where the coefficients of the hash come from."""

    seed: bytes

    def coefficient(self, label: str, bits: int = BITS) -> int:
        """A number from 1 to 2^bits − 1, at most q − 1; 1 if there are no bits."""
        digest = hashlib.sha256(self.seed + label.encode()).digest()
        return int.from_bytes(digest, "big") % max(1, min(MODULUS - 1, (1 << bits) - 1)) + 1


@dataclass(frozen=True, slots=True)
class Word:
    """A whole number of the statement, between two known ones, or NULL if it may be."""

    sql: exp.Expr
    low: int
    high: int
    nullable: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether it enters folded."""
        return self.high - self.low >= 1 << BITS

    @property
    def bits(self) -> int:
        """How many bits its absolute value may have when it enters."""
        return BITS if self.is_wide else max(self.high - self.low, 1).bit_length()

    def number(self) -> exp.Expr:
        """What enters, as a double."""
        if self.is_wide:
            return cast(_folded(self.sql, (self.high - self.low).bit_length()), "DOUBLE")
        return cast(exp.Paren(this=self.sql.copy() - whole(self.low)) if self.low else self.sql.copy(), "DOUBLE")


def word(dialect: Dialect, name: str, kind: Kind | None, *, nullable: bool = True) -> Word:
    """A column of any kind as a whole number."""
    code = dialect.code(exp.column(name), kind or "text")
    low, high = (0, (1 << BITS) - 1) if (kind or "text") == "text" else (-(1 << 63), (1 << 63) - 1)
    return Word(code, low, high, nullable)


def _folded(sql: exp.Expr, bits: int) -> exp.Expr:
    """x ⊕ ⌊x/2²⁴⌋ ⊕ … below 2²⁴: engines do that several times faster than remainders."""
    folded: exp.Expr = sql.copy()
    for shift in range(BITS, bits, BITS):
        high = exp.Paren(this=exp.BitwiseRightShift(this=sql.copy(), expression=whole(shift)))
        folded = exp.Paren(this=exp.BitwiseXor(this=folded, expression=high))
    return exp.Paren(this=exp.BitwiseAnd(this=folded, expression=whole((1 << BITS) - 1)))


def linear(words: Sequence[Word], salt: Salt, purpose: str) -> exp.Expr:
    """The linear part of the hash, below 2^53 (of few words: 2^26); a word that is NULL counts as a constant."""
    total: exp.Expr = double(salt.coefficient(f"{purpose} constant"))
    room = BITS if len(words) <= FEW else EXACT_BITS - 1 - (len(words) - 1).bit_length()
    for i, word in enumerate(words):
        coefficient = salt.coefficient(f"{purpose} {i}", min(BITS, room - word.bits))
        product: exp.Expr = word.number() * double(coefficient) if coefficient > 1 else word.number()
        if word.nullable:
            absent = double(salt.coefficient(f"{purpose} {i} null"))
            product = exp.Coalesce(this=exp.Paren(this=product), expressions=[absent])
        total = total + product
    return total


def remainder(value: exp.Expr) -> exp.Expr:
    """value − ⌊value·(1/q)⌋·q: the remainder, or one q away from it where the product is rounded across a whole number.

    A product takes less time than a quotient, and every engine rounds it alike.
    """
    quotient = cast(exp.func("FLOOR", exp.Paren(this=value.copy()) * double(1 / MODULUS)), "DOUBLE")
    return exp.Paren(this=value.copy()) - exp.Paren(this=quotient * double(MODULUS))


def stages(words: Sequence[Word], salt: Salt, purpose: str) -> list[exp.Expr]:
    """The steps of the hash; each is a column `h` for the next, so that none is computed twice."""
    last = remainder(_quartic(salt, f"{purpose} shift"))
    return [*_squared(words, salt, purpose), cast(last, "INT")]  # engines sort narrow numbers faster


def offset(words: Sequence[Word], salt: Salt, purpose: str) -> list[exp.Expr]:
    """The steps of a whole number from 0 to 2^50, two hashes beside each other, in the same manner.

    A hash may be one or two below 0 (see `remainder`); the margin keeps the sign off.
    """
    high, low = (
        exp.Paren(this=remainder(_quartic(salt, f"{purpose} {part}")) + double(MARGIN)) for part in ("high", "low")
    )
    return [*_squared(words, salt, purpose), cast(high * double(1 << (BITS + 1)) + low, "BIGINT")]


def _squared(words: Sequence[Word], salt: Salt, purpose: str) -> list[exp.Expr]:
    before = exp.column("h")
    reduced = [] if len(words) <= FEW else [remainder(before)]
    return [linear(words, salt, purpose), *reduced, remainder(before * before.copy())]


def _quartic(salt: Salt, label: str) -> exp.Expr:
    before = exp.column("h")
    return before * exp.Paren(this=before.copy() + double(salt.coefficient(label)))


def packing(size: int) -> tuple[exp.Expr, exp.Expr]:
    """`place`, a whole number made of the columns `group_hash` and `g` < size, ordered by the hash first; and g of it.

    To be narrow it may lose up to 8 low bits of the hash: numbers then break more of the ties.
    """
    bits = (size - 1).bit_length()
    lost = max(0, BITS + bits - NARROW_BITS)
    hashed: exp.Expr = exp.column("group_hash")
    if lost > BITS - 16:
        hashed = cast(hashed, "BIGINT")
    elif lost:
        hashed = exp.Paren(this=exp.BitwiseRightShift(this=hashed, expression=whole(lost)))
    packed = exp.BitwiseOr(this=exp.Paren(this=hashed * whole(1 << bits)), expression=exp.column("g"))
    mask = exp.BitwiseAnd(this=exp.column("place"), expression=whole((1 << bits) - 1))
    return packed, exp.Paren(this=mask)
