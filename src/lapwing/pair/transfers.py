"""Oblivious transfers between the two servers, by the million: 128 by public keys, all others by a stream cipher.

    base        the sender offers two keys, the receiver gets the one it chooses, and nobody learns more
                (Chou and Orlandi 2015), over ristretto255
    extension   128 of those, with roles exchanged, become any number (Ishai, Kilian, Nissim and Petrank 2003)
    triples     random bits a, b and c = a ∧ b, XOR-shared: one for each AND of two shared bits
    products    additive shares of x·y, where x is a bit of one server and y a bit of the other

Privacy: against a server that follows the protocol and looks at everything; computational.
Proof: transfers.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from lapwing import ristretto
from lapwing.errors import LapwingError
from lapwing.noise import SYSTEM, Entropy, uniform_below
from lapwing.pair.links import Disagreement, Link

SECURITY = 128
"""Base transfers, and bits of every key."""
KEY_BYTES = SECURITY // 8
BLOCK = 1 << 20
"""Transfers that are made at a time: what memory holds."""
_BASE, _HASH_KEY = b"lapwing pair base transfer 1", hashlib.sha256(b"lapwing pair hash 1").digest()[:16]
Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]
Keys = NDArray[np.uint8]
"""One key of 16 bytes a row."""


def random_bits(count: int, entropy: Entropy) -> Bits:
    """Uniform bits."""
    words = entropy.words(-(-count // 64), np.uint64)
    return np.unpackbits(words.view(np.uint8), count=count, bitorder="little").astype(np.bool_)


class TransferSender:
    """Gets, for each transfer, two keys; the other side knows the one it has chosen."""

    def __init__(self, link: Link, entropy: Entropy = SYSTEM) -> None:
        self._link, self._secret, self._count = link, random_bits(SECURITY, entropy), 0
        self._streams = [_stream(key) for key in _base_receive(link, self._secret.tolist(), entropy)]

    def keys(self, count: int) -> tuple[Keys, Keys]:
        """For zero and for one."""
        size = -(-count // 8)
        theirs = np.frombuffer(self._link.receive(SECURITY * size), dtype=np.uint8).reshape(SECURITY, size)
        columns = _drawn(self._streams, size)
        columns[self._secret] ^= theirs[self._secret]
        rows = transposed(columns)[:count]
        secret = np.packbits(self._secret, bitorder="little")
        first, self._count = self._count, self._count + count
        return hashed(rows, first), hashed(rows ^ secret, first)


class TransferReceiver:
    """Gets, for each transfer, the key of its choice."""

    def __init__(self, link: Link, entropy: Entropy = SYSTEM) -> None:
        self._link, self._count = link, 0
        pairs = _base_send(link, SECURITY, entropy)
        self._streams = [[_stream(pair[choice]) for pair in pairs] for choice in (0, 1)]

    def keys(self, choices: Bits) -> Keys:
        """One for each choice."""
        count, size = len(choices), -(-len(choices) // 8)
        columns, masks = (_drawn(streams, size) for streams in self._streams)
        masks ^= columns
        masks ^= np.packbits(choices, bitorder="little")
        self._link.send(masks.tobytes())
        first, self._count = self._count, self._count + count
        return hashed(transposed(columns)[:count], first)


class OutOfTriples(LapwingError):
    """A computation needs more triples than were made for it: it is refused, and nothing was opened."""

    def __init__(self, needed: int, there: int) -> None:
        self.needed, self.there = needed, there
        super().__init__(
            f"this takes {needed:,} triples, and {there:,} are left. Make more of them first; none is ever used twice"
        )


@dataclass(slots=True)
class Triples:
    """One server's shares of random bits a, b, and c = a ∧ b. Each is used once: `take` gives it away for ever."""

    _a: Bits
    _b: Bits
    _c: Bits
    _used: int = 0

    def __len__(self) -> int:
        return len(self._a) - self._used

    def __reduce__(self) -> Any:
        raise TypeError("triples are not copied: one that is used twice opens what it hides")

    def __copy__(self) -> Any:
        return self.__reduce__()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__reduce__()

    def take(self, count: int) -> tuple[Bits, Bits, Bits]:
        """The next ones."""
        if count > len(self):
            raise OutOfTriples(count, len(self))
        place = slice(self._used, self._used + count)
        self._used += count
        a, b, c = (part[place].copy() for part in (self._a, self._b, self._c))
        for part in (self._a, self._b, self._c):
            part[place] = False
        return a, b, c


class Transfers:
    """One server's side of transfers in both directions. Both servers call the same methods in the same order."""

    def __init__(self, link: Link, entropy: Entropy = SYSTEM) -> None:
        self._link, self._entropy = link, entropy
        if link.place == 0:
            self._sender, self._receiver = TransferSender(link, entropy), TransferReceiver(link, entropy)
        else:
            self._receiver, self._sender = TransferReceiver(link, entropy), TransferSender(link, entropy)

    def triples(self, count: int) -> Triples:
        """So many."""
        parts = [self._some_triples(min(BLOCK, count - start)) for start in range(0, count, BLOCK)]
        empty = np.zeros(0, dtype=np.bool_)
        a, b, c = (np.concatenate([empty, *(part[place] for part in parts)]) for place in range(3))
        return Triples(a, b, c)

    def _some_triples(self, count: int) -> tuple[Bits, Bits, Bits]:
        """My a times the other's b, in both directions: the other's b is the difference of its two keys."""
        ours = random_bits(count, self._entropy)
        if self._link.place == 0:
            offer, other = (_lowest(keys) for keys in self._sender.keys(count))
            chosen = _lowest(self._receiver.keys(ours))
        else:
            chosen = _lowest(self._receiver.keys(ours))
            offer, other = (_lowest(keys) for keys in self._sender.keys(count))
        b = offer ^ other
        return ours, b, (ours & b) ^ chosen ^ offer

    def products(self, bits: Bits) -> Words:
        """My additive share, modulo 2^64, of my bit times the bit of the other server at the same place."""
        parts = [self._some_products(bits[start : start + BLOCK]) for start in range(0, len(bits), BLOCK)]
        return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])

    def _some_products(self, bits: Bits) -> Words:
        if self._link.place == 0:
            keys = _word(self._receiver.keys(bits))
            offers = np.frombuffer(self._link.receive(8 * len(bits)), dtype="<u8").astype(np.uint64)
            return np.where(bits, offers - keys, np.uint64(0) - keys)
        offer, other = (_word(keys) for keys in self._sender.keys(len(bits)))
        self._link.send((other - offer + bits.astype(np.uint64)).astype("<u8").tobytes())
        return offer

    def arithmetic(self, bits: Bits) -> Words:
        """My additive share, modulo 2^64, of bits that are XOR-shared: x ⊕ y = x + y − 2xy."""
        return bits.astype(np.uint64) - np.uint64(2) * self.products(bits)


def _base_send(link: Link, count: int, entropy: Entropy) -> list[tuple[bytes, bytes]]:
    """Two keys each, of which the other side gets one."""
    secret = _scalar(entropy)
    public = ristretto.base_times(secret)
    link.send(public)
    answers, shift = link.receive(count * ristretto.ELEMENT_BYTES), ristretto.times(secret, public)
    pairs = []
    for place in range(count):
        answer = answers[place * ristretto.ELEMENT_BYTES :][: ristretto.ELEMENT_BYTES]
        if not ristretto.is_element(answer):
            raise Disagreement
        power = ristretto.times(secret, answer)
        powers = power, ristretto.subtract(power, shift)
        offer, other = (_base_key(place, public, answer, power) for power in powers)
        pairs.append((offer, other))
    return pairs


def _base_receive(link: Link, choices: list[bool], entropy: Entropy) -> list[bytes]:
    """The key of each choice."""
    public = link.receive(ristretto.ELEMENT_BYTES)
    if not ristretto.is_element(public):
        raise Disagreement
    scalars = [_scalar(entropy) for _ in choices]
    answers = [
        ristretto.add(ristretto.base_times(scalar), public) if choice else ristretto.base_times(scalar)
        for scalar, choice in zip(scalars, choices, strict=True)
    ]
    link.send(b"".join(answers))
    return [
        _base_key(place, public, answer, ristretto.times(scalar, public))
        for place, (scalar, answer) in enumerate(zip(scalars, answers, strict=True))
    ]


def _base_key(place: int, public: bytes, answer: bytes, power: bytes) -> bytes:
    return hashlib.sha256(_BASE + place.to_bytes(2, "little") + public + answer + power).digest()[:KEY_BYTES]


def _scalar(entropy: Entropy) -> bytes:
    return (1 + uniform_below(ristretto.ORDER - 1, entropy=entropy)).to_bytes(ristretto.SCALAR_BYTES, "little")


def _stream(key: bytes) -> Any:
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


def _drawn(streams: list[Any], size: int) -> NDArray[np.uint8]:
    """The next bytes of every stream, a row each."""
    zeros, rows = bytes(size), np.empty((len(streams), size), dtype=np.uint8)
    for row, stream in zip(rows, streams, strict=True):
        row[:] = np.frombuffer(stream.update(zeros), dtype=np.uint8)
    return rows


def transposed(columns: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A matrix of bits, 128 rows packed along their length, turned: one row of 16 bytes for each column.

    In squares of 8 × 8 bits, each in one word, by three exchanges of halves (Warren, "Hacker's Delight", 7-3).
    """
    rows, size = columns.shape
    squares = np.ascontiguousarray(columns.reshape(rows // 8, 8, size).transpose(2, 0, 1)).view("<u8")[..., 0]
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swap = squares >> np.uint64(shift)
        swap ^= squares
        swap &= np.uint64(mask)
        squares ^= swap
        swap <<= np.uint64(shift)
        squares ^= swap
    turned = squares.view(np.uint8).reshape(size, rows // 8, 8).transpose(0, 2, 1)
    return np.ascontiguousarray(turned).reshape(8 * size, rows // 8)


def hashed(rows: Keys, first: int) -> Keys:
    """π(π(x) ⊕ i) ⊕ π(x) for row i: correlation-robust, with a cipher of a fixed key (Guo and others 2020)."""
    once = _permuted(rows)
    tweaked = once.view("<u8").reshape(-1, 2).copy()
    tweaked[:, 0] ^= np.arange(first, first + len(rows), dtype=np.uint64)
    twice = _permuted(tweaked.view(np.uint8).reshape(-1, KEY_BYTES))
    twice ^= once
    return twice


def _permuted(rows: Keys) -> Keys:
    cipher = Cipher(algorithms.AES(_HASH_KEY), modes.ECB()).encryptor()
    data = np.ascontiguousarray(rows)
    return np.frombuffer(bytearray(cipher.update(data.data.cast("B"))), dtype=np.uint8).reshape(-1, KEY_BYTES)


def _lowest(keys: Keys) -> Bits:
    return (keys[:, 0] & 1).astype(np.bool_)


def _word(keys: Keys) -> Words:
    return np.ascontiguousarray(keys[:, :8]).view("<u8").ravel().astype(np.uint64)
