"""A question, computed by two servers: shared bits of rows, shared totals, shared noise, and one opening at the end.

    rows      products of shared bits (`circuits`), block by block
    convert   cells of rows into additive shares: one masked bit each; the masks are made by transfers, without data
    measure   public weights, sums over groups, and comparisons where a measure asks for them
    noise     added to shares; only what is noisy is ever opened

What is sent, and when, depends on the measures and the number of rows alone. Proof: measures.md
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from lapwing.noise import SYSTEM, Entropy, discrete_laplace
from lapwing.pair.circuits import Circuit, Mix, Multiply, Read, absorbed, circuit_of, is_linear
from lapwing.pair.gates import Gates, ands_at_least, at_least, opened_packed, opened_words
from lapwing.pair.holdings import Batch, Holdings, Packed
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link
from lapwing.pair.noise_shares import noise_words, triples_for
from lapwing.pair.tallies import NEVER, Measure, Tally
from lapwing.pair.transfers import Bits, Transfers, Words, random_bits

BLOCK_CELLS = 1 << 21
"""Cells of rows that are converted at a time: what memory holds."""
Way = Literal["joint", "each"]
"""Noise whose coins both toss together, or full noise of each server."""


@dataclass(frozen=True, slots=True)
class Order:
    """Numbers to release, and their noise: its scale is that of `noise` whoever draws it."""

    measure: Measure
    noise: JointLaplace
    way: Way = "joint"


@dataclass(slots=True)
class Clock:
    """Processor seconds of this server and bytes that it sent: before data is touched, and with it."""

    offline: float = 0.0
    online: float = 0.0
    sent_offline: int = 0
    sent_online: int = 0

    @contextmanager
    def before(self, link: Link) -> Iterator[None]:
        """What needs no data."""
        start, sent = time.thread_time(), link.sent
        try:
            yield
        finally:
            self.offline += time.thread_time() - start
            self.sent_offline += link.sent - sent

    @contextmanager
    def during(self, link: Link) -> Iterator[None]:
        """A question, of which a part may need no data."""
        start, sent, offline, sent_offline = time.thread_time(), link.sent, self.offline, self.sent_offline
        try:
            yield
        finally:
            self.online += time.thread_time() - start - (self.offline - offline)
            self.sent_online += link.sent - sent - (self.sent_offline - sent_offline)


@dataclass
class Run:
    """One server's side of one question. Both servers make the same run, in the same order."""

    link: Link
    holdings: Holdings
    transfers: Transfers
    used: Counter[str] = field(default_factory=Counter)
    """Products that earlier questions used up."""
    entropy: Entropy = SYSTEM
    clock: Clock = field(default_factory=Clock)

    def answers(self, orders: Sequence[Order]) -> list[list[int]]:
        """The noisy numbers of every order: the only thing that is opened of them."""
        with self.clock.during(self.link):
            triples = sum(self._triples(order) for order in orders)
            with self.clock.before(self.link):
                gates = Gates(self.link, self.transfers.triples(triples))
                noise = [self._noise(order, gates) for order in orders]
            cells = self._cells(orders)
            words = [self._measured(order.measure, cells[order.measure.tally], gates) for order in orders]
            noisy = np.concatenate([exact + added for exact, added in zip(words, noise, strict=True)])
            numbers = opened_words(self.link, noisy).view(np.int64).tolist()
        ends = np.cumsum([order.measure.size for order in orders]).tolist()
        return [numbers[end - order.measure.size : end] for order, end in zip(orders, ends, strict=True)]

    def _triples(self, order: Order) -> int:
        drawn = triples_for(order.noise, order.measure.size) if order.way == "joint" else 0
        if order.measure.at_least is None:
            return drawn
        return drawn + order.measure.tally.size * ands_at_least(self._width(order.measure))

    def _width(self, measure: Measure) -> int:
        """Bits of a number that is compared, with its sign."""
        assert measure.at_least is not None
        return max(self.holdings.count, measure.at_least).bit_length() + 1

    def _noise(self, order: Order, gates: Gates) -> Words:
        count = order.measure.size
        if order.way == "joint":
            return noise_words(gates, self.transfers, order.noise, count, self.entropy)
        return discrete_laplace(order.noise.scale, count, self.entropy).astype(np.int64).view(np.uint64)

    def _measured(self, measure: Measure, cells: Words, gates: Gates) -> Words:
        if measure.at_least is not None:
            large = at_least(gates, cells, measure.at_least, self._width(measure))
            cells = self.transfers.arithmetic(large)
        weights = np.array([weight % (1 << 64) for weight in measure.weights], dtype=np.uint64)
        groups = np.array(measure.groups, dtype=np.int64)
        totals = np.zeros(measure.size, dtype=np.uint64)
        inside = groups >= 0
        np.add.at(totals, groups[inside], (cells * weights)[inside])
        return totals

    def _cells(self, orders: Sequence[Order]) -> dict[Tally, Words]:
        """My shares of all tallies that are asked for, each counted once."""
        cells: dict[Tally, Words] = {}
        for order in orders:
            tally = order.measure.tally
            if tally not in cells:
                cells[tally] = self._linear(tally) if is_linear(tally) else self._by_rows(tally)
        return cells

    def _linear(self, tally: Tally) -> Words:
        """From totals of one column alone."""
        restricted, where = absorbed(tally)
        if where == NEVER or not tally.size:
            return np.zeros(tally.size, dtype=np.uint64)
        layout, totals = self.holdings.layout, self.holdings.totals
        if not restricted.dimensions:
            everybody = totals[0] if layout.presence else np.uint64(self.holdings.count * (1 - self.link.place))
            return np.array([everybody], dtype=np.uint64)
        [dimension] = restricted.dimensions
        own = totals[layout.places[dimension.column]]
        return np.array([own[list(group)].sum(dtype=np.uint64) for group in dimension.groups], dtype=np.uint64)

    def _by_rows(self, tally: Tally) -> Words:
        circuit = circuit_of(tally, self.holdings.layout)
        first = Counter(self.used)
        self.used.update(circuit.products)
        totals = np.zeros(len(circuit.cells), dtype=np.uint64)
        for batch in self.holdings.batches:
            for place, count in batch.blocks(BLOCK_CELLS // len(circuit.cells)):
                totals += self._block(circuit, first, batch, place, count)
        return totals

    def _block(self, circuit: Circuit, first: Counter[str], batch: Batch, place: slice, count: int) -> Words:
        size = len(circuit.cells)
        with self.clock.before(self.link):
            masks = random_bits(size * count, self.entropy).reshape(size, count)
            mask_words = self.transfers.arithmetic(masks.ravel()).reshape(size, count)
        registers = np.zeros((circuit.width, place.stop - place.start), dtype=np.uint8)
        for step in circuit.steps:
            self._step(step, registers, first, batch, place)
        bits = registers[list(circuit.cells)] ^ np.packbits(masks, axis=1, bitorder="little")
        return self._unmasked(opened_packed(self.link, bits), mask_words)

    def _unmasked(self, bits: Packed, mask_words: Words) -> Words:
        """Σ (d ⊕ r) over rows = Σ d + (1 − 2d) r, for public d."""
        public = np.unpackbits(bits, axis=1, count=mask_words.shape[1], bitorder="little").astype(np.bool_)
        totals: Words = np.where(public, np.uint64(0) - mask_words, mask_words).sum(axis=1, dtype=np.uint64)
        if self.link.place == 0:
            totals += public.sum(axis=1, dtype=np.uint64)
        return totals

    def _step(
        self, step: Read | Multiply | Mix, registers: Packed, first: Counter[str], batch: Batch, place: slice
    ) -> None:
        layout = self.holdings.layout
        if isinstance(step, Mix):
            registers[step.first] = np.bitwise_xor.reduce(registers[list(step.registers)], axis=0)
            if step.negated and self.link.place == 0:
                registers[step.first] ^= np.uint8(255)
            return
        own = np.asarray(batch.lines[layout.places[step.column], place])
        if isinstance(step, Read):
            registers[step.first : step.first + len(step.groups)] = _grouped(own, step.groups)
            return
        products = [
            layout.product(step.column, first[step.column] + step.product + i) for i in range(len(step.factors))
        ]
        masks = np.stack([batch.lines[mask, place] for mask, _ in products])
        public = opened_packed(self.link, registers[list(step.factors)] ^ masks)
        column, width = _grouped(own, step.groups), len(step.groups)
        for number, (_, bits) in enumerate(products):
            start = step.first + number * width
            product = _grouped(np.asarray(batch.lines[bits, place]), step.groups)
            registers[start : start + width] = (column & public[number]) ^ product


def _grouped(lines: Packed, groups: Sequence[Sequence[int]]) -> Packed:
    """Bits of each group together: at most one of them is set, so XOR is OR."""
    if all(len(group) == 1 for group in groups):
        return lines[[group[0] for group in groups]]
    empty = np.zeros((1, lines.shape[1]), dtype=np.uint8)
    return np.stack([np.bitwise_xor.reduce(lines[list(group)] if group else empty, axis=0) for group in groups])


__all__ = ["Bits", "Clock", "Order", "Run", "Way"]
