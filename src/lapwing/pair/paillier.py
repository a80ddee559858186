"""Paillier's encryption: sums of encrypted numbers, and their products with numbers that are known.

Slow: a ciphertext has twice the length of the key, and every encryption is a power modulo its square. It is here for
`labelled`, the oracle that shares are compared with.
Proof: labelled.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from lapwing import checks
from lapwing.errors import InvalidParameter, MissingExtra
from lapwing.noise import SYSTEM, Entropy, uniform_below

KEY_BITS = 2048
"""Of the modulus; about 112 bits of security. Fewer only with `unsafe=True`."""
SMALLEST_BITS = 192
"""Of tests: a seed must fit."""
_ROUNDS = 40
"""Tests of a candidate for a prime."""
Ciphertext = Any
"""A number modulo n², as gmpy2 has it."""


@cache
def _gmp() -> ModuleType:
    try:
        import gmpy2
    except ImportError:
        raise MissingExtra("gmpy2", "labhe") from None
    return gmpy2  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class PaillierKey:
    """The public key: whoever has it can encrypt, add, and multiply by a known number."""

    modulus: Any
    _square: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        number = _gmp().mpz(self.modulus)
        object.__setattr__(self, "modulus", number)
        object.__setattr__(self, "_square", number * number)

    def encrypt(self, number: int, entropy: Entropy = SYSTEM) -> Ciphertext:
        """(1 + n)^m · r^n modulo n², for a fresh r: two encryptions of one number have nothing in common."""
        blind = _gmp().powmod(self._unit(entropy), self.modulus, self._square)
        return self.plain(number) * blind % self._square

    def plain(self, number: int) -> Ciphertext:
        """A number in the form of a ciphertext. Hides nothing: to be added to what is hidden already."""
        return 1 + number % self.modulus * self.modulus

    def add(self, *ciphertexts: Ciphertext) -> Ciphertext:
        """An encryption of the sum."""
        total = _gmp().mpz(1)
        for ciphertext in ciphertexts:
            total = total * ciphertext % self._square
        return total

    def times(self, ciphertext: Ciphertext, factor: int) -> Ciphertext:
        """An encryption of the product with a known number, which is not negative."""
        return _gmp().powmod(ciphertext, factor, self._square)

    def _unit(self, entropy: Entropy) -> Any:
        while True:
            number = uniform_below(int(self.modulus), entropy=entropy)
            if _gmp().gcd(number, self.modulus) == 1:
                return _gmp().mpz(number)


@dataclass(frozen=True, slots=True)
class PaillierSecret:
    """The two primes behind a public key."""

    key: PaillierKey
    _primes: tuple[Any, Any] = field(repr=False)

    @classmethod
    def generate(cls, bits: int = KEY_BITS, entropy: Entropy = SYSTEM, *, unsafe: bool = False) -> PaillierSecret:
        """A new key whose modulus has so many bits. Short keys are for tests, and must be called unsafe."""
        if not checks.true_or_false(unsafe=unsafe) and checks.whole(bits=bits) < KEY_BITS:
            why, hint = (
                "such a modulus can be factored",
                f"Write bits={KEY_BITS}. Tests with made-up rows say unsafe=True.",
            )
            raise InvalidParameter("bits", bits, why, hint)
        if checks.whole(bits=bits) < SMALLEST_BITS or bits % 2:
            why, hint = "is too short for a seed, or odd", f"Write bits={KEY_BITS}."
            raise InvalidParameter("bits", bits, why, hint)
        first = second = _prime(bits // 2, entropy)
        while second == first:
            second = _prime(bits // 2, entropy)
        return cls(PaillierKey(first * second), (first, second))

    def decrypt(self, ciphertext: Ciphertext) -> int:
        """The number, from 0 to n − 1: modulo each prime alone, then together (Paillier 1999, section 7)."""
        gmp, (p, q) = _gmp(), self._primes
        at_p, at_q = (self._residue(ciphertext, prime) for prime in (p, q))
        return int(at_p + p * ((at_q - at_p) * gmp.invert(p, q) % q))

    def _residue(self, ciphertext: Ciphertext, prime: Any) -> Any:
        """c^(p−1) = 1 + m·n·(p−1) modulo p², so m = (c^(p−1) − 1)/p · (−n/p)^−1 modulo p."""
        gmp, square = _gmp(), prime * prime
        power = gmp.powmod(ciphertext, prime - 1, square)
        other = self.key.modulus // prime
        return (power - 1) // prime * gmp.invert(-other, prime) % prime


def _prime(bits: int, entropy: Entropy) -> Any:
    """A random prime whose two highest bits are ones, so that a product of two has all its bits."""
    while True:
        candidate = _gmp().mpz(entropy.bits(bits) | 3 << bits - 2 | 1)
        if _gmp().is_prime(candidate, _ROUNDS):
            return candidate
