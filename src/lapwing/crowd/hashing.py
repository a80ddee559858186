"""Hash functions of a collection: three-wise independent, keyed by its public salt, fast, specified byte for byte.

    words   w₀, w₁, … = the bytes of SHA-256 as little-endian words of 32 bits
    item    u = w₀ mod P, v = w₁ mod P     of SHA-256("lapwing item 1\\0" ‖ salt ‖ "\\0" ‖ text of the item)
    row j   a, b, c, d, e = wᵢ mod P       of SHA-256("lapwing row 1\\0" ‖ salt ‖ "\\0" ‖ j as 8 bytes, little-endian)
    hash    h_j(item) = ⌊width · ((a·u₂ + b·u + c·v₂ + d·v + e) mod P) / P⌋,   P = 2²⁵ − 39, a prime;
            u₂ = u² mod P, v₂ = v² mod P

The text of an item is its UTF-8; whole numbers are written in decimal digits (with more than 4300 they are no answer),
bytes are themselves. Lengths need no mark: a salt is 16 bytes or fewer and holds no zero byte. Every number on the way
is a whole number below 2⁵², so doubles hold it exactly, which vector units multiply faster than integers; and so does
JavaScript.

Accuracy: a·u² + b·u + e and c·v² + d·v are polynomials of degree two with uniform coefficients, so three-wise
independent in u and in v (Wegman and Carter 1981), and sums of such functions of two characters are three-wise
independent on pairs (simple tabulation; Pătraşcu and Thorup 2012). Of D items two share both characters with
probability below D²·2^-51. A cell has probability within 1/P of 1/width, and words modulo P are uniform but for 4992 of
2³² values. Privacy does not rest on the hash.
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

PRIME = (1 << 25) - 39
LARGEST_WIDTH = 1 << 20
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
    try:
        if isinstance(item, str):
            return item.encode("utf-8", "surrogatepass")
        if isinstance(item, bytes):
            return bytes(item)
        return b"%d" % int(item) if isinstance(item, (int, Integral)) else MISSING  # int first: it is told faster
    except Exception:  # more digits than Python writes, a type of the user's own: an error would tell about the item
        return MISSING


def different_items(items: Sequence[Any], **named: object) -> list[Any]:
    """Public items as a list; refused where two are one item, or one is none (but None, which is no answer)."""
    listed = list(items)
    texts = [text_of(item) for item in listed]
    strange = any(text == MISSING and item is not None for text, item in zip(texts, listed, strict=True))
    if strange or len(set(texts)) < len(texts):
        [(name, _)] = named.items()
        why = "must be different texts or whole numbers (5 and '5' are the same)"
        raise InvalidParameter(name, f"<{name}>", why, f"Write {name}=['a', 'b'], each of them once.")
    return listed


@dataclass(frozen=True, slots=True)
class HashInput:
    """Items as the hash functions need them: whole numbers below P, in doubles."""

    u: NDArray[np.float64]
    u_squared: NDArray[np.float64]
    v: NDArray[np.float64]
    v_squared: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.u)

    def take(self, places: Any) -> HashInput:
        """The items at these places."""
        return HashInput(self.u[places], self.u_squared[places], self.v[places], self.v_squared[places])


def hashed_items(items: Sequence[Any], salt: bytes) -> HashInput:
    """One SHA-256 for each item."""
    # most whole numbers need no try: half of the time is gone before anything is hashed otherwise
    texts = [b"%d" % item if type(item) is int and abs(item) < 1 << 63 else text_of(item) for item in items]
    u, v = _words(texts, b"lapwing item 1\0" + salt + b"\0", 2)
    return HashInput(u, reduced(u * u), v, reduced(v * v))


@lru_cache(maxsize=16)
def rows(count: int, salt: bytes) -> NDArray[np.float64]:
    """The coefficients of the first `count` functions: five rows of `count` numbers."""
    numbers = (j.to_bytes(8, "little") for j in range(count))
    coefficients = _words(numbers, b"lapwing row 1\0" + salt + b"\0", 5)
    coefficients.flags.writeable = False
    return coefficients


def cells(items: HashInput, coefficients: NDArray[np.float64], width: int) -> NDArray[np.intp]:
    """h(item) below `width`: one function for all items (five numbers), or one for each (five rows of numbers).

    The sum is at most 4(P − 1)² + P < 2^52. width·r/P is at least 1/P from the whole number above it, much more than
    what rounding adds.
    """
    import numpy as np

    a, b, c, d, e = coefficients
    total = items.u_squared * a
    product = items.u * b
    total += product
    np.multiply(items.v_squared, c, out=product)
    total += product
    np.multiply(items.v, d, out=product)
    total += product
    total += e
    total = reduced(total, product)
    total *= width / PRIME
    return total.astype(np.intp)


def matrix_of(items: HashInput) -> NDArray[np.float64]:
    """What the five coefficients of a function are multiplied with: five rows."""
    import numpy as np

    return np.stack([items.u_squared, items.u, items.v_squared, items.v, np.ones(len(items))])


def all_cells(matrix: NDArray[np.float64], coefficients: NDArray[np.float64], width: int) -> NDArray[np.intp]:
    """h_j(item) of many functions (rows) and items (columns, by `matrix_of` them): `cells`, by one product of matrices.

    Whole numbers below 2^52 add up exactly in whatever order a library takes them.
    """
    import numpy as np

    total = reduced(np.matmul(coefficients.T, matrix))
    total *= width / PRIME
    return total.astype(np.intp)


def reduced(numbers: NDArray[np.float64], scratch: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Whole numbers from 0 to 2^52, modulo P, in place: x − ⌊x·(1/P)⌋·P.

    The double 1/P is off by 0.015·2^-53 relatively. So for a multiple of P the product rounds to its quotient, and
    otherwise it moves by less than 1.02·2^-26, too little to reach the next whole number, 1/P away.
    """
    import numpy as np

    quotient = np.multiply(numbers, 1 / PRIME, out=scratch)
    np.floor(quotient, out=quotient)
    quotient *= PRIME
    numbers -= quotient
    return numbers


def _words(texts: Any, start: bytes, count: int) -> NDArray[np.float64]:
    """The first words of SHA-256 of many texts, modulo P: `count` rows."""
    import numpy as np

    digests = b"".join([hashlib.sha256(start + text).digest() for text in texts])
    words = np.frombuffer(digests, dtype="<u4").reshape(-1, 8)[:, :count] % PRIME
    return np.ascontiguousarray(words.T.astype(np.float64))
