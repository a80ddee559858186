"""Labelled homomorphic encryption, as in OUTIS (Cryptε): tests and benchmarks compare the pair with it.

    owner               encrypts a one-hot row once: for each cell m + b, and an encryption of −b. A pad b follows from
                        its label (the column) and the owner's seed, which is encrypted as well
    analytics server    adds cells, and multiplies two cells of a row; it has no key
    key server (CSP)    has the key and so all seeds, but no row; opens sums that the analytics server has masked

Each server adds noise of its own for the whole epsilon, because each knows its own noise. Both roles live in one
process here, and there is no ledger: **not for anybody's data**. The pair answers the curator's questions by shares.

Privacy: ε towards each server and towards those who read the answer, under `replace`; computational, for servers that
follow the protocol and do not work together.
Proof: labelled.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import SYSTEM, Entropy, uniform_below
from lapwing.pair.paillier import KEY_BITS, Ciphertext, PaillierKey, PaillierSecret
from lapwing.privacy import PureDP

SEED_BITS = 128
"""Of an owner."""
SHORTEST_LABEL = 64
"""Bits of a pad. A cell of 0 or 1 is then hidden up to 2^-64."""
_EXCESS = 128
"""Bits that are drawn beyond the modulus, so that a pad is uniform up to 2^-128."""
_LABEL = b"lapwing pair label 1"


@dataclass(frozen=True, slots=True)
class OneHot:
    """The public columns of a row: for each attribute, one cell for each value that it may have."""

    domains: Mapping[str, Sequence[Hashable]]

    @property
    def width(self) -> int:
        """Cells of a row."""
        return sum(map(len, self.domains.values()))

    def columns(self, attribute: str) -> range:
        """Where the cells of an attribute are."""
        names = list(self.domains)
        place = names.index(checks.one_of(tuple(names), attribute=attribute))
        start = sum(len(self.domains[name]) for name in names[:place])
        return range(start, start + len(self.domains[attribute]))

    def cells(self, record: Mapping[str, Any]) -> list[int]:
        """Zeros and ones. A value that is not in the domain has no one."""
        return [int(record.get(name) == value) for name, values in self.domains.items() for value in values]


@dataclass(frozen=True, slots=True)
class Labels:
    """Pads for cells: modulo n, or of few bits, which makes products cheaper and hides up to 2^-bits only."""

    key: PaillierKey
    bits: int | None = None

    def __post_init__(self) -> None:
        longest = int(self.key.modulus).bit_length() // 4
        if self.bits is not None and not SHORTEST_LABEL <= checks.whole(bits=self.bits) <= max(SHORTEST_LABEL, longest):
            why, hint = f"is not between {SHORTEST_LABEL} and {longest}", "Leave bits out for pads of the whole length."
            raise InvalidParameter("bits", self.bits, why, hint)

    def pad(self, seed: int, column: int) -> int:
        """Of one cell of the owner with this seed."""
        modulus = int(self.key.modulus)
        size = self.bits or modulus.bit_length() + _EXCESS
        text = _LABEL + seed.to_bytes(SEED_BITS // 8, "little") + column.to_bytes(4, "little")
        number = int.from_bytes(hashlib.shake_256(text).digest(-(-size // 8)), "little") >> (-size & 7)
        return number if self.bits else number % modulus


@dataclass(frozen=True, slots=True)
class Cell:
    """m + b, and an encryption of −b. Neither tells m without the key or the seed."""

    padded: Any
    pad: Ciphertext


@dataclass(frozen=True, slots=True)
class Upload:
    """A row as its owner sends it: the encrypted seed, and all cells."""

    seed: Ciphertext
    cells: tuple[Cell, ...]

    @classmethod
    def encrypt(cls, row: Sequence[int], labels: Labels, entropy: Entropy = SYSTEM) -> Upload:
        """By its owner, once. Cells are 0 or 1: nobody checks that an owner keeps to it."""
        key, seed = labels.key, entropy.bits(SEED_BITS)
        pads = [labels.pad(seed, column) for column in range(len(row))]
        sums = [cell + pad for cell, pad in zip(row, pads, strict=True)]
        padded = sums if labels.bits else [number % key.modulus for number in sums]
        cells = (Cell(number, key.encrypt(-pad, entropy)) for number, pad in zip(padded, pads, strict=True))
        return cls(key.encrypt(seed, entropy), tuple(cells))


@dataclass(frozen=True, slots=True)
class Masked:
    """What the analytics server sends, and the masks that it keeps to itself."""

    numbers: list[Any]
    masks: list[int] = field(repr=False)

    def unmasked(self, answers: Sequence[int], modulus: int) -> list[int]:
        """The sums, of either sign."""
        half = modulus // 2
        return [(number - mask + half) % modulus - half for number, mask in zip(answers, self.masks, strict=True)]


@dataclass(frozen=True, slots=True)
class AnalyticsServer:
    """Holds all rows, encrypted, and no key."""

    labels: Labels
    rows: Sequence[Upload] = field(repr=False)
    entropy: Entropy = SYSTEM

    @property
    def _modulus(self) -> int:
        return int(self.labels.key.modulus)

    def sums(self, groups: Sequence[Sequence[int]], noise: Sequence[int]) -> Masked:
        """For each group of columns, the sum of all their cells over all rows, with noise and a mask."""
        masks = self._masks(len(groups))
        totals = {
            column: sum(int(row.cells[column].padded) for row in self.rows) for column in sorted(set().union(*groups))
        }
        parts = zip(groups, noise, masks, strict=True)
        numbers = [(sum(totals[c] for c in group) + draw + mask) % self._modulus for group, draw, mask in parts]
        return Masked(numbers, masks)

    def product_sums(self, pairs: Sequence[tuple[int, int]], noise: Sequence[int]) -> Masked:
        """For each pair of columns, the sum over all rows of the products of their cells, with noise and a mask.

        The mask is encrypted anew: its fresh blinding hides from the key server which powers were taken.
        """
        key, masks = self.labels.key, self._masks(len(pairs))
        totals = [key.add(*(self.product(row.cells[i], row.cells[j]) for row in self.rows)) for i, j in pairs]
        parts = zip(totals, noise, masks, strict=True)
        return Masked([key.add(total, key.encrypt(draw + mask, self.entropy)) for total, draw, mask in parts], masks)

    def product(self, left: Cell, right: Cell) -> Ciphertext:
        """An encryption of m·m′ − b·b′: (m+b)(m′+b′) − (m+b)b′ − (m′+b′)b (Barbosa, Catalano and Fiore 2017)."""
        key = self.labels.key
        return key.add(
            key.plain(left.padded * right.padded), key.times(right.pad, left.padded), key.times(left.pad, right.padded)
        )

    def _masks(self, count: int) -> list[int]:
        return [uniform_below(self._modulus, entropy=self.entropy) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class KeyServer:
    """Holds the key and the seeds of all owners, and no row."""

    labels: Labels
    secret: PaillierSecret = field(repr=False)
    seeds: Sequence[int] = field(repr=False)
    entropy: Entropy = SYSTEM

    @classmethod
    def of(
        cls, labels: Labels, secret: PaillierSecret, seeds: Iterable[Ciphertext], entropy: Entropy = SYSTEM
    ) -> KeyServer:
        """Opens the seeds that owners have sent through the analytics server."""
        return cls(labels, secret, [secret.decrypt(seed) for seed in seeds], entropy)

    def open_sums(self, numbers: Sequence[int], groups: Sequence[Sequence[int]], noise: Sequence[int]) -> list[int]:
        """Takes the pads off, and adds noise: no decryption, this part of the scheme is secret sharing."""
        pad, modulus = self.labels.pad, int(self.labels.key.modulus)
        totals = {column: sum(pad(seed, column) for seed in self.seeds) for column in sorted(set().union(*groups))}
        parts = zip(numbers, groups, noise, strict=True)
        return [(number - sum(totals[c] for c in group) + draw) % modulus for number, group, draw in parts]

    def open_products(
        self, numbers: Sequence[Ciphertext], pairs: Sequence[tuple[int, int]], noise: Sequence[int]
    ) -> list[int]:
        """Decrypts, adds the products of pads, and noise."""
        pad, modulus = self.labels.pad, int(self.labels.key.modulus)
        labels = [sum(pad(seed, i) * pad(seed, j) for seed in self.seeds) for i, j in pairs]
        parts = zip(numbers, labels, noise, strict=True)
        return [(self.secret.decrypt(number) + label + draw) % modulus for number, label, draw in parts]


@dataclass(frozen=True, slots=True)
class Answer:
    """Noisy counts, and what they cost towards each server and towards whoever reads them."""

    counts: list[int]
    loss: PureDP


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Both servers, after the owners have uploaded."""

    encoding: OneHot
    analytics: AnalyticsServer
    keys: KeyServer

    @classmethod
    def collect(
        cls,
        records: Iterable[Mapping[str, Any]],
        encoding: OneHot,
        *,
        bits: int = KEY_BITS,
        label_bits: int | None = None,
        unsafe: bool = False,
        entropy: tuple[Entropy, Entropy, Entropy] = (SYSTEM, SYSTEM, SYSTEM),
    ) -> LabelledPair:
        """Keys, uploads and both servers; `entropy` of the owners, the analytics server and the key server."""
        owners, analytics, keys = entropy
        secret = PaillierSecret.generate(bits, keys, unsafe=unsafe)
        labels = Labels(secret.key, label_bits)
        rows = [Upload.encrypt(encoding.cells(record), labels, owners) for record in records]
        seeds = KeyServer.of(labels, secret, (row.seed for row in rows), keys)
        return cls(encoding, AnalyticsServer(labels, rows, analytics), seeds)

    def sums(self, groups: Sequence[Sequence[int]], *, epsilon: Number, sensitivity: int) -> Answer:
        """Counts of rows that are in each group of columns. `sensitivity` is what one replaced row moves, in l1."""
        mechanism = _noise(epsilon, sensitivity, len(groups))
        masked = self.analytics.sums(groups, _draws(mechanism, self.analytics.entropy))
        opened = self.keys.open_sums(masked.numbers, groups, _draws(mechanism, self.keys.entropy))
        return self._answer(mechanism, masked, opened)

    def product_sums(self, pairs: Sequence[tuple[int, int]], *, epsilon: Number, sensitivity: int) -> Answer:
        """Counts of rows that are in both columns of each pair."""
        mechanism = _noise(epsilon, sensitivity, len(pairs))
        masked = self.analytics.product_sums(pairs, _draws(mechanism, self.analytics.entropy))
        opened = self.keys.open_products(masked.numbers, pairs, _draws(mechanism, self.keys.entropy))
        return self._answer(mechanism, masked, opened)

    def _answer(self, mechanism: Laplace, masked: Masked, opened: Sequence[int]) -> Answer:
        return Answer(masked.unmasked(opened, int(self.analytics.labels.key.modulus)), mechanism.privacy_loss())


def _noise(epsilon: Number, sensitivity: int, length: int) -> Laplace:
    return Laplace(epsilon=epsilon, sensitivity=sensitivity, dimensions=length, on_grid=True, relation="replace")


def _draws(mechanism: Laplace, entropy: Entropy) -> list[int]:
    """The noise alone: what the mechanism adds to zeros."""
    draws: list[int] = mechanism.release([0] * (mechanism.dimensions or 1), entropy)
    return draws
