"""Strings that open only when enough devices sent the same one (as in STAR, Davidson and others 2022).

    device     string → seed → key and polynomial, the same for all who have this string
    message    the string under that key ‖ a random point ‖ the polynomial at this point
    crowd      a hash of the seed: what a shuffler's threshold counts
    anybody    messages with equal ciphertexts: from t different points the key, from the key the string

All messages have the same length. A seed is a hash of the string, or, against guessing, the output of an oblivious
pseudorandom function (`oprf.py`) whose key a randomness server holds: it plays the part of an issuer, sees blinded
elements only, and can limit how many a device asks for.

What it protects: a string that nobody can guess and that fewer than t devices sent stays closed.
What it does not protect: a string that can be guessed (without the function it opens at the first guess, with it every
guess costs one question to the server, and the server itself guesses for free); a string that t false devices can send;
how many devices sent the same, unopened, string; who sent it (that is what shufflers are for). It is no differential
privacy: the count of an opened string is exact, unless a shuffler's threshold has dropped some (string_protocol.py).
Proof: secret_strings.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.anonymity.false_shares import corrected_secret
from lapwing.anonymity.sharing import ShamirSharing, Share
from lapwing.errors import InvalidParameter, MissingExtra
from lapwing.noise import SYSTEM, Entropy, uniform_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

PRIME = 2**255 - 19
ELEMENT_BYTES = 32
SEED_BYTES = CROWD_BYTES = 64
_KEY_BITS = 253
_CIPHER_TAG, _LENGTH_BYTES = 16, 2
_NONCE = bytes(12)  # a key encrypts one string only, always the same
LARGEST_LENGTH, LARGEST_THRESHOLD = 4096, 1000
MOST_GROUPS = 8
"""Of t shares that are tried under one ciphertext before false ones are looked for."""
CORRECTED = 3
"""False shares are looked for among so many times t: a third of them may be false."""
_SEED, _KEY, _SLOPE, _CIPHER, _CROWD = (
    b"lapwing string 1 " + part for part in (b"seed", b"key", b"slope", b"cipher", b"crowd")
)


@dataclass(frozen=True, slots=True)
class OpenedString:
    """A string that enough devices sent, and how many messages carried it."""

    text: bytes
    devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretStrings:
    """The messages of one collection: the threshold t, the largest length, and what they are bound to.

    >>> strings = SecretStrings(threshold=3, length=16, context=b"collection and epoch")
    >>> messages = [strings.message(b"a rare word") for _ in range(3)] + [strings.message(b"another")] * 5
    >>> strings.opened(messages)
    [OpenedString(text=b'a rare word', devices=3)]
    >>> strings.opened(messages[1:])
    []
    """

    threshold: int
    length: int
    """Bytes of the longest string."""
    context: bytes
    """Of this collection and epoch: nothing opens together with messages of another one."""

    def __post_init__(self) -> None:
        if not 2 <= checks.whole(threshold=self.threshold) <= LARGEST_THRESHOLD:
            why = f"must be 2 to {LARGEST_THRESHOLD:,}: with 1 every message opens"
            raise InvalidParameter("threshold", self.threshold, why, "Write threshold=20, for example.")
        if checks.whole(length=self.length) > LARGEST_LENGTH:
            why = f"is above {LARGEST_LENGTH:,}"
            raise InvalidParameter("length", self.length, why, "Write length=32, for example.")

    @property
    def message_bytes(self) -> int:
        """How long every message is."""
        return self._cipher_bytes + 2 * ELEMENT_BYTES

    @property
    def _cipher_bytes(self) -> int:
        return _LENGTH_BYTES + self.length + _CIPHER_TAG

    def function_input(self, text: bytes) -> bytes:
        """What a device blinds and asks the randomness server for; the output is the seed."""
        return hashlib.sha512(_SEED + self._bound() + self._checked(text)).digest()

    def message(self, text: bytes, seed: bytes | None = None, entropy: Entropy = SYSTEM) -> bytes:
        """One device's message. Without a seed from the randomness server, whoever guesses the string can open it."""
        key, slopes = self._derived(self._seed(text, seed))
        point = 1 + uniform_below(PRIME - 1, entropy=entropy)
        share = _scheme(self.threshold).share_at(point, key, slopes)
        plain = len(text).to_bytes(_LENGTH_BYTES, "big") + self._checked(text).ljust(self.length, b"\0")
        sealed = bytes(_cipher(key).encrypt(_NONCE, plain, self._bound()))
        return sealed + point.to_bytes(ELEMENT_BYTES, "big") + share.value.to_bytes(ELEMENT_BYTES, "big")

    def crowd(self, text: bytes, seed: bytes | None = None) -> bytes:
        """What all devices with this string have in common, and nobody else: whoever has the seed can compute it."""
        return hashlib.sha512(_CROWD + self._bound() + self._seed(text, seed)).digest()

    def sent(self, text: bytes | None, seed: bytes | None = None, entropy: Entropy = SYSTEM) -> tuple[bytes, bytes]:
        """Message and crowd of one device. Without an answer (None) they are those of a string that nobody else has."""
        if text is None:
            text, seed = b"", entropy.bits(8 * SEED_BYTES).to_bytes(SEED_BYTES, "little")
        return self.message(text, seed, entropy), self.crowd(text, seed)

    def opened(self, messages: Iterable[bytes]) -> list[OpenedString]:
        """The strings that at least t devices sent, in the order of their bytes.

        A message that came twice counts once. Of k messages under a ciphertext up to (k − t) / 2 may have false shares;
        of more than 3t messages a third, about.
        """
        import numpy as np

        whole = [message for message in messages if len(message) == self.message_bytes]
        return self.opened_rows(np.frombuffer(b"".join(whole), dtype=np.uint8).reshape(-1, self.message_bytes))

    def opened_rows(self, rows: Rows) -> list[OpenedString]:
        """The same, of messages as rows of bytes."""
        strings = [
            OpenedString(text, len(points))
            for sealed, points in self._groups(rows)
            if (text := self._text(sealed, points)) is not None
        ]
        return sorted(strings, key=lambda string: string.text)

    def _groups(self, rows: Rows) -> Iterator[tuple[bytes, Rows]]:
        """Each ciphertext with t different points or more, and its points and values, in the order in which they came.

        Only of large groups anything is held beside the rows: what is too small to open costs no memory.
        """
        import numpy as np

        kinds = _as_kinds(rows[:, : self._cipher_bytes])
        _, of_kind, sizes = np.unique(kinds, return_inverse=True, return_counts=True)
        places = np.argsort(of_kind, kind="stable")
        ends = np.cumsum(sizes)
        for kind in np.flatnonzero(sizes >= self.threshold).tolist():
            group = places[ends[kind] - sizes[kind] : ends[kind]]
            shares = rows[group, self._cipher_bytes :]
            _, first = np.unique(_as_kinds(shares[:, :ELEMENT_BYTES]), return_index=True)
            shares = shares[np.sort(first)]
            shares = shares[[_is_share(share.tobytes()) for share in shares]]
            if len(shares) >= self.threshold:
                yield rows[group[0], : self._cipher_bytes].tobytes(), shares

    def _text(self, sealed: bytes, shares: Rows) -> bytes | None:
        """The string of one ciphertext: from the first t shares that open it, or from more, of which some are false."""
        scheme, t = _scheme(self.threshold), self.threshold
        points = dict(_point_and_value(share.tobytes()) for share in shares[: max(MOST_GROUPS, CORRECTED) * t])
        held = [Share(scheme, point, value, scheme.largest) for point, value in points.items()]
        for start in range(0, min(len(held), MOST_GROUPS * t) - t + 1, t):
            text = self._text_under(scheme.reconstruct(held[start : start + t]), sealed)
            if text is not None:
                return text
        key = corrected_secret(dict(list(points.items())[: CORRECTED * t]), t, PRIME)
        return None if key is None else self._text_under(key, sealed)

    def _text_under(self, key: int, sealed: bytes) -> bytes | None:
        plain = self._plain(key, sealed) if 0 <= key < 1 << _KEY_BITS else None
        if plain is None:
            return None
        size = int.from_bytes(plain[:_LENGTH_BYTES], "big")
        return plain[_LENGTH_BYTES : _LENGTH_BYTES + size]

    def _plain(self, key: int, sealed: bytes) -> bytes | None:
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(_cipher(key).decrypt(_NONCE, sealed, self._bound()))
        except InvalidTag:
            return None

    def _seed(self, text: bytes, seed: bytes | None) -> bytes:
        return self.function_input(text) if seed is None else hashlib.sha512(_SEED + seed).digest()

    def _derived(self, seed: bytes) -> tuple[int, Sequence[int]]:
        """Key and slopes: 512 bits each, reduced, so that none is more likely than another by 2^-250."""

        def number(label: bytes, place: int) -> int:
            return int.from_bytes(
                hashlib.sha512(label + place.to_bytes(4, "big") + self._bound() + seed).digest(), "big"
            )

        slopes = [number(_SLOPE, place) % PRIME for place in range(self.threshold - 1)]
        return number(_KEY, 0) % (1 << _KEY_BITS), slopes

    def _bound(self) -> bytes:
        """All that the messages of this collection agree on."""
        return hashlib.sha256(b"%d %d " % (self.threshold, self.length) + self.context).digest()

    def _checked(self, text: bytes) -> bytes:
        if len(text) > self.length:
            why = f"is longer than {self.length} bytes"
            raise InvalidParameter("text", "<withheld>", why, "Cut it on the device, or raise length for all.")
        return text


def _as_kinds(rows: Rows) -> NDArray[Any]:
    """Rows of bytes as single values that can be compared."""
    import numpy as np

    return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()


def _point_and_value(share: bytes) -> tuple[int, int]:
    return int.from_bytes(share[:ELEMENT_BYTES], "big"), int.from_bytes(share[ELEMENT_BYTES:], "big")


def _is_share(share: bytes) -> bool:
    point, value = _point_and_value(share)
    return 0 < point < PRIME and value < PRIME


@lru_cache(maxsize=64)
def _scheme(threshold: int) -> ShamirSharing:
    return ShamirSharing(parties=PRIME - 1, threshold=threshold, prime=PRIME, largest=1 << _KEY_BITS)


def _cipher(key: int) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    except ImportError:
        raise MissingExtra("cryptography>=47", "collect") from None
    return ChaCha20Poly1305(hashlib.sha256(_CIPHER + key.to_bytes(ELEMENT_BYTES, "big")).digest())
