"""The group ristretto255 (RFC 9496), by libsodium: elements and scalars are 32 bytes each.

Draws nothing: whoever needs a secret scalar draws it from `lapwing.noise`.
"""

from __future__ import annotations

from ctypes import CDLL, create_string_buffer
from functools import cache
from types import ModuleType

from lapwing.errors import InvalidParameter, MissingExtra

ELEMENT_BYTES = SCALAR_BYTES = 32
ORDER = (1 << 252) + 27742317777372353535851937790883648493
"""Of the group."""


@cache
def _group() -> ModuleType:
    try:
        import rbcl
    except ImportError:
        raise MissingExtra("rbcl", "collect") from None
    return rbcl.rbcl  # type: ignore[no-any-return]


def _library() -> CDLL:
    """libsodium itself. Its functions return another number than 0 for bytes that are no element."""
    library: CDLL = _group()._sodium
    return library


def _not_in_group() -> InvalidParameter:
    return InvalidParameter(
        "element", "<bytes>", "is not an element of the group, or not one that may be multiplied", "Drop it."
    )


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


def times_all(scalar: bytes, elements: bytes) -> bytes:
    """The same multiple of many elements, one after another, without a wrapper around each of them."""
    if len(scalar) != SCALAR_BYTES or len(elements) % ELEMENT_BYTES:
        raise _not_in_group()
    multiply, product = _library().crypto_scalarmult_ristretto255, create_string_buffer(ELEMENT_BYTES)
    products = []
    for start in range(0, len(elements), ELEMENT_BYTES):
        if multiply(product, scalar, elements[start : start + ELEMENT_BYTES]):
            raise _not_in_group()
        products.append(product.raw)
    return b"".join(products)


def difference_of_multiple(left: bytes, scalar: bytes, right: bytes) -> bytes | None:
    """left − scalar · right; None if one of them is no element, or is the identity."""
    if not (len(left) == len(right) == ELEMENT_BYTES and len(scalar) == SCALAR_BYTES and any(left)):
        return None
    library, result = _library(), create_string_buffer(ELEMENT_BYTES)
    if library.crypto_scalarmult_ristretto255(result, scalar, right):  # refuses what is no element
        return None
    return None if library.crypto_core_ristretto255_sub(result, left, result.raw) else result.raw


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
