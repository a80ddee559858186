"""The group ristretto255 (RFC 9496), by libsodium: elements and scalars are 32 bytes each.

Draws nothing: whoever needs a secret scalar draws it from `lapwing.noise`.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from lapwing.errors import MissingExtra

ELEMENT_BYTES = SCALAR_BYTES = 32
ORDER = (1 << 252) + 27742317777372353535851937790883648493
"""Of the group."""


@cache
def _group() -> ModuleType:
    try:
        import rbcl
    except ImportError:
        raise MissingExtra("rbcl", "collect") from None
    return rbcl  # type: ignore[no-any-return]


def check_installed(extra: str) -> None:
    """Refuse to begin where the library is missing, and name the extra that brings it."""
    try:
        _group()
    except MissingExtra:
        raise MissingExtra("rbcl", extra) from None


def is_element(data: bytes) -> bool:
    """Whether these bytes are an element of the group, in its one encoding, and not the identity."""
    return len(data) == ELEMENT_BYTES and any(data) and bool(_group().crypto_core_ristretto255_is_valid_point(data))


def from_hash(wide: bytes) -> bytes:
    """The element of a uniform text of 64 bytes: nobody knows its logarithm."""
    return bytes(_group().crypto_core_ristretto255_from_hash(wide))


def times(scalar: bytes, element: bytes) -> bytes:
    """A multiple of an element."""
    return bytes(_group().crypto_scalarmult_ristretto255(scalar, element))


def base_times(scalar: bytes) -> bytes:
    """A multiple of the generator."""
    return bytes(_group().crypto_scalarmult_ristretto255_base(scalar))


def add(left: bytes, right: bytes) -> bytes:
    """The sum of two elements."""
    return bytes(_group().crypto_core_ristretto255_add(left, right))


def subtract(left: bytes, right: bytes) -> bytes:
    """Their difference."""
    return bytes(_group().crypto_core_ristretto255_sub(left, right))


def inverse(scalar: bytes) -> bytes:
    """The scalar that takes a multiple back."""
    return bytes(_group().crypto_core_ristretto255_scalar_invert(scalar))


def scalar_product(left: bytes, right: bytes) -> bytes:
    """Modulo the order."""
    return bytes(_group().crypto_core_ristretto255_scalar_mul(left, right))


def scalar_difference(left: bytes, right: bytes) -> bytes:
    """Modulo the order."""
    return bytes(_group().crypto_core_ristretto255_scalar_sub(left, right))
