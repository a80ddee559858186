"""Hash functions of a collection: three-wise independent, keyed by its public salt, fast, specified byte for byte.

    words   w₀, w₁, … = the bytes of SHA-256 as little-endian words of 32 bits
    item    u = w₀ mod P, v = w₁ mod P   of SHA-256("lapwing item 1\\0" ‖ salt ‖ "\\0" ‖ text of the item)
    row j   a, b, c, d, e = wᵢ mod P     of SHA-256("lapwing row 1\\0" ‖ salt ‖ "\\0" ‖ j as 8 bytes, little-endian)
    hash    h_j(item) = ⌊width · ((a·u² + b·u + c·v² + d·v + e) mod P) / P′⌋,   P = 2³¹ − 1,  P′ = 2³¹

The text of an item is its UTF-8; whole numbers are written in decimal digits, bytes are themselves. Lengths need no
mark: a salt is 16 bytes or fewer and holds no zero byte.

Accuracy: a·u² + b·u + e and c·v² + d·v are polynomials of degree two with uniform coefficients, so three-wise
independent in u and in v (Wegman and Carter 1981), and sums of such functions of two characters are three-wise
independent on pairs (simple tabulation; Pătraşcu and Thorup 2012). Of D items two share both characters with
probability below D²·2^-62. A cell has probability within width·2^-31 of 1/width. Privacy does not rest on the hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PRIME = (1 << 31) - 1
LONGEST_SALT = 16
MISSING = b"\xff"
"""The text of no answer: no item in UTF-8 has it."""


def check_salt(salt: object) -> bytes:
    """A salt as bytes: text of up to 16 bytes."""
    encoded = salt.encode("utf-8", "surrogatepass") if isinstance(salt, str) else salt
    if not isinstance(encoded, bytes) or len(encoded) > LONGEST_SALT or b"\0" in encoded:
        why = f"must be text of at most {LONGEST_SALT} bytes without zero bytes"
        raise InvalidParameter("salt", salt, why, "Write salt='survey 2026'.")
    return encoded


def text_of(item: object) -> bytes:
    """The bytes of an item: UTF-8 of text, digits of a whole number, bytes themselves, otherwise no answer."""
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    if isinstance(item, bytes):
        return bytes(item)
    return b"%d" % int(item) if isinstance(item, Integral) else MISSING


@dataclass(frozen=True, slots=True)
class Hashed:
    """Items by their two characters and the squares of these, as the hash functions need them."""

    u: NDArray[np.uint64]
    v: NDArray[np.uint64]
    u2: NDArray[np.uint64]
    v2: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.u)

    def take(self, places: Any) -> Hashed:
        """The items at these places."""
        return Hashed(self.u[places], self.v[places], self.u2[places], self.v2[places])


def hashed_items(items: Sequence[Any], salt: bytes) -> Hashed:
    """The characters of items: one SHA-256 each."""
    import numpy as np

    start = hashlib.sha256(b"lapwing item 1\0" + salt + b"\0")
    digests = bytearray()
    for item in items:
        one = start.copy()
        one.update(text_of(item))
        digests += one.digest()[:8]
    words = np.frombuffer(bytes(digests), dtype="<u4").reshape(-1, 2).astype(np.uint64) % PRIME
    u, v = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])
    return Hashed(u, v, u * u % PRIME, v * v % PRIME)


@lru_cache(maxsize=16)
def rows(count: int, salt: bytes) -> NDArray[np.uint64]:
    """The coefficients of the first `count` functions: five rows of `count` numbers below P."""
    import numpy as np

    start = hashlib.sha256(b"lapwing row 1\0" + salt + b"\0")
    digests = bytearray()
    for j in range(count):
        one = start.copy()
        one.update(j.to_bytes(8, "little"))
        digests += one.digest()[:20]
    words = np.frombuffer(bytes(digests), dtype="<u4").reshape(-1, 5).astype(np.uint64) % PRIME
    coefficients = np.ascontiguousarray(words.T)
    coefficients.flags.writeable = False
    return coefficients


def cells(items: Hashed, coefficients: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """h(item) below `width`: one function for all items (five numbers), or one for each (five rows of numbers).

    Four products below (P − 1)² and a number below P add up to less than 2^64.
    """
    import numpy as np

    a, b, c, d, e = coefficients
    total: NDArray[np.uint64] = items.u2 * a
    total += items.u * b
    total += items.v2 * c
    total += items.v * d
    total += e
    low = total & np.uint64(PRIME)
    total >>= np.uint64(31)
    total += low  # below 2^34
    low = total & np.uint64(PRIME)
    total >>= np.uint64(31)
    total += low  # at most P + 7
    total -= (total >= PRIME) * np.uint64(PRIME)
    total *= np.uint64(width)
    total >>= np.uint64(31)
    return total
