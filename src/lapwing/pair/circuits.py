"""How two servers compute a tally: which shared bits they read, which products they take, in how many rounds.

    Read       bits of a column, XORed in groups: free
    Multiply   secret bits with all bits of a column: one product each, one round for all of them
    Mix        XOR of registers: free

A circuit depends on the tally alone, so lengths and rounds do. Proof: measures.md
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lapwing.errors import UnsupportedQuery
from lapwing.pair.domains import Digits, Layout
from lapwing.pair.tallies import ALWAYS, NEVER, Among, Both, Condition, Dimension, Either, Tally, both

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Read:
    """Registers for groups of bits of a column."""

    column: str
    groups: Groups
    first: int


@dataclass(frozen=True, slots=True)
class Multiply:
    """Each of these registers with each group of bits of a column: products from `product` on."""

    column: str
    groups: Groups
    factors: tuple[int, ...]
    product: int
    first: int


@dataclass(frozen=True, slots=True)
class Mix:
    """XOR of registers, and of one if `negated`."""

    registers: tuple[int, ...]
    first: int
    negated: bool = False


Step = Read | Multiply | Mix


@dataclass
class Circuit:
    """Steps, one after another, and the registers of the cells at the end."""

    layout: Layout
    steps: list[Step] = field(default_factory=list)
    cells: tuple[int, ...] = ()
    products: Counter[str] = field(default_factory=Counter)
    """How many of each column are used up."""
    width: int = 0
    """Registers."""

    def read(self, column: str, groups: Groups) -> tuple[int, ...]:
        """Bits of a column."""
        first = self._take(len(groups))
        self.steps.append(Read(column, groups, first))
        return tuple(range(first, first + len(groups)))

    def multiply(self, factors: tuple[int, ...], column: str, groups: Groups) -> tuple[int, ...]:
        """For each factor, its product with each group."""
        count = len(factors) * len(groups)
        first, product = self._take(count), self.products[column]
        self.products[column] += len(factors)
        self.steps.append(Multiply(column, groups, factors, product, first))
        return tuple(range(first, first + count))

    def mix(self, *registers: int, negated: bool = False) -> int:
        """XOR."""
        first = self._take(1)
        self.steps.append(Mix(registers, first, negated))
        return first

    def _take(self, count: int) -> int:
        first, self.width = self.width, self.width + count
        return first

    @property
    def rounds(self) -> int:
        """How often the servers exchange masked bits, for each block of rows."""
        return sum(isinstance(step, Multiply) for step in self.steps)


def is_linear(tally: Tally) -> bool:
    """Whether totals of columns are enough: it is about one column, or none."""
    restricted, where = absorbed(tally)
    return where == NEVER or not tally.size or (where == ALWAYS and len(restricted.dimensions) <= 1)


def absorbed(tally: Tally) -> tuple[Tally, Condition]:
    """A tally without conditions on its own dimensions, and the condition that is left.

    A condition on a column that is a dimension leaves out bits of its groups: that is free. A condition on one column,
    where there is no dimension, is a dimension.
    """
    parts = tally.where.parts if isinstance(tally.where, Both) else (tally.where,)
    on = {part.column: set(part.bits) for part in parts if isinstance(part, Among)}
    dimensions, used = [], set()
    for dimension in tally.dimensions:
        groups = dimension.groups
        if dimension.column in on:
            used.add(dimension.column)
            groups = tuple(tuple(bit for bit in group if bit in on[dimension.column]) for group in groups)
        dimensions.append(Dimension(dimension.column, groups))
    left = [part for part in parts if not (isinstance(part, Among) and part.column in used)]
    if not dimensions and len(left) == 1 and isinstance(left[0], Among):
        return Tally((Dimension(left[0].column, (left[0].bits,)),)), ALWAYS
    return Tally(tuple(dimensions)), both(*left)


def circuit_of(tally: Tally, layout: Layout) -> Circuit:
    """The steps that make the bits of all cells."""
    circuit = Circuit(layout)
    restricted, where = absorbed(tally)
    order = sorted(range(len(restricted.dimensions)), key=lambda i: _rank(restricted, i, layout))
    cells: dict[tuple[int, ...], int] = {}
    if where != ALWAYS:
        cells[()] = _bit(circuit, where, None)
    for number in order:
        dimension = restricted.dimensions[number]
        if not cells:
            registers = circuit.read(dimension.column, dimension.groups)
            cells = {(place,): register for place, register in enumerate(registers)}
            continue
        registers = circuit.multiply(tuple(cells.values()), dimension.column, dimension.groups)
        width = len(dimension.groups)
        cells = {
            (*key, place): registers[start * width + place] for start, key in enumerate(cells) for place in range(width)
        }
    by_cell = {tuple(key[order.index(i)] for i in range(len(order))): register for key, register in cells.items()}
    circuit.cells = tuple(register for _, register in sorted(by_cell.items()))
    return circuit


def _rank(tally: Tally, number: int, layout: Layout) -> tuple[bool, int]:
    """Small dimensions first: every cell so far takes one product of the next column. Digits can only be last."""
    dimension = tally.dimensions[number]
    return isinstance(layout.by_name[dimension.column], Digits), len(dimension.groups)


def _bit(circuit: Circuit, condition: Condition, factor: int | None) -> int:
    """The bit of a condition, times a factor."""
    if isinstance(condition, Among):
        groups = (condition.bits,)
        if factor is None:
            return circuit.read(condition.column, groups)[0]
        return circuit.multiply((factor,), condition.column, groups)[0]
    if isinstance(condition, Both):
        for part in condition.parts:
            factor = _bit(circuit, part, factor)
        assert factor is not None
        return factor
    return _either(circuit, condition, factor)


def _either(circuit: Circuit, condition: Either, factor: int | None) -> int:
    """x ∨ y = x ⊕ y ⊕ xy, part by part: what the next part adds is where those before do not hold."""
    assert condition.parts
    total = _bit(circuit, condition.parts[0], factor)
    for part in condition.parts[1:]:
        rest = circuit.mix(total, negated=True) if factor is None else circuit.mix(factor, total)
        total = circuit.mix(total, _bit(circuit, part, rest))
    return total


def check_products(circuit: Circuit, used: Counter[str]) -> None:
    """Refuse what takes more products than owners supplied."""
    for column, count in circuit.products.items():
        left = circuit.layout.products - used[column]
        if count > left:
            why = f"it multiplies {column} {count} times, and {left} of the products that owners supplied are left"
            hint = "Ask about fewer columns or groups at once. Only a new pair, with new uploads, has new products."
            raise UnsupportedQuery("the question", why, hint)
