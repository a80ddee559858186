"""What people send: one report each, bit-packed, and its bytes.

    bytes  "LWR1" ‖ fingerprint of the protocol (16 bytes) ‖ number of reports (8 bytes, little-endian) ‖ columns

A column of b bits per report is one string of bits, the reports one after another, each number or row with its lowest
bit first, filled up to whole bytes with zeros. One person's report is the same with the number 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.crowd.protocol import Protocol
    from lapwing.noise import Entropy

MAGIC = b"LWR1"
HEADER_BYTES = 28
_NUMBERS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Column:
    """One part of every report: a single bit, a number of up to 63 bits, or a row of bits.

    Attributes:
        name: Its name.
        bits: How many bits it has.
        kind: What it holds: "bit", "number" or "row".

    >>> from lapwing.crowd import LocalHashing
    >>> poll = LocalHashing.from_epsilon(epsilon=1, domain=["bus", "bike", "car"])
    >>> [(column.name, column.kind) for column in poll.layout]
    [('function', 'number'), ('cell', 'number')]
    """

    name: str
    bits: int
    kind: Literal["bit", "number", "row"]
    below: int | None = None
    """Numbers are less than this."""

    @classmethod
    def bit(cls, name: str) -> Column:
        """64 to a word in memory.

        Args:
            name: The name of the column.

        Returns:
            The column.

        >>> Column.bit("answer").shape(100)  # words of 64 bits
        (2,)
        """
        return cls(name, 1, "bit")

    @classmethod
    def number(cls, name: str, below: int) -> Column:
        """0 … below − 1, in the narrowest unsigned type in memory.

        Args:
            name: The name of the column.
            below: Numbers are less than this.

        Returns:
            The column.

        >>> Column.number("cohort", 300).dtype
        'u2'
        """
        return cls(name, max(1, (below - 1).bit_length()), "number", below)

    @classmethod
    def row(cls, name: str, bits: int) -> Column:
        """Whole words in memory.

        Args:
            name: The name of the column.
            bits: How many bits each row has.

        Returns:
            The column.

        >>> Column.row("bits", 128).shape(100)
        (100, 2)
        """
        return cls(name, bits, "row")

    @property
    def dtype(self) -> str:
        """How it is held in memory."""
        return f"u{next(n for n in _NUMBERS if self.bits <= n) // 8}" if self.kind == "number" else "u8"

    def shape(self, n: int) -> tuple[int, ...]:
        """Of the array for n reports.

        Args:
            n: How many reports there are.

        Returns:
            The shape.

        >>> Column.number("cohort", 300).shape(100)
        (100,)
        """
        words = -(-self.bits // 64)
        return {"bit": (-(-n // 64),), "number": (n,), "row": (n, words)}[self.kind]

    def to_bits(self, column: NDArray[Any], n: int) -> NDArray[np.uint8]:
        """One byte per bit, n rows.

        Args:
            column: The array of this column, for n reports.
            n: How many reports there are.

        Returns:
            An array of zeros and ones, with a row for each report.

        >>> import numpy as np
        >>> Column.number("cell", 8).to_bits(np.array([5, 1], np.uint8), 2).tolist()  # lowest bit first
        [[1, 0, 1], [1, 0, 0]]
        """
        import numpy as np

        little = np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"), copy=False).view(np.uint8)
        if self.kind == "bit":
            return np.unpackbits(little, count=n, bitorder="little").reshape(n, 1)
        return np.unpackbits(little.reshape(n, little.size // max(n, 1)), axis=1, count=self.bits, bitorder="little")

    def from_bits(self, bits: NDArray[np.uint8]) -> NDArray[Any]:
        """The array, from one byte per bit, n rows.

        Args:
            bits: An array of zeros and ones, with a row for each report.

        Returns:
            The array of this column.

        >>> import numpy as np
        >>> Column.number("cell", 8).from_bits(np.array([[1, 0, 1], [1, 0, 0]], np.uint8)).tolist()
        [5, 1]
        """
        import numpy as np

        n = len(bits)
        flat = bits.reshape(1, -1) if self.kind == "bit" else bits
        packed = np.packbits(flat, axis=1, bitorder="little")
        size = np.dtype(self.dtype).itemsize
        padded = np.zeros((len(packed), -(-packed.shape[1] // size) * size), dtype=np.uint8)
        padded[:, : packed.shape[1]] = packed
        little = padded.view(np.dtype(self.dtype).newbyteorder("<"))
        return little.astype(self.dtype).reshape(self.shape(n))


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """The reports of n people, column by column. They are private already and may be sent.

    Attributes:
        protocol: The protocol that made them.
        n: How many reports there are.
        columns: One array for each column of `protocol.layout`.

    >>> from lapwing.crowd import UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
    >>> reports = poll.randomize(["yes", "no", "no"])
    >>> Reports.from_bytes(poll, reports.to_bytes()).n
    3
    """

    protocol: Protocol
    n: int
    columns: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"<{some(self.n, 'report')} of {type(self.protocol).__name__}, {some(self.bits_each, 'bit')} each>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reports) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __getitem__(self, which: Any) -> Reports:
        """Some of the reports: a slice, an array of places, or one place."""
        which = [which] if isinstance(which, Integral) else which
        parts = [column.to_bits(held, self.n)[which] for column, held in self._pairs()]
        return Reports(
            self.protocol, len(parts[0]), tuple(c.from_bits(b) for c, b in zip(self._layout, parts, strict=True))
        )

    def __add__(self, other: Reports) -> Reports:
        return Reports.together([self, other])

    @staticmethod
    def together(parts: Sequence[Reports]) -> Reports:
        """Join several batches of one protocol, one after another. `a + b` joins two.

        Args:
            parts: At least one batch.

        Returns:
            All reports, in the order of the batches.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
        >>> Reports.together([poll.randomize(["yes"]), poll.randomize(["no", "no"])]).n
        3
        """
        import numpy as np

        first = parts[0]
        for part in parts[1:]:
            first.protocol.check_own(part.protocol)
        columns = []
        for i, column in enumerate(first._layout):
            if column.kind == "bit" and any(part.n % 64 for part in parts[:-1]):
                columns.append(column.from_bits(np.concatenate([column.to_bits(p.columns[i], p.n) for p in parts])))
            else:
                columns.append(np.concatenate([part.columns[i] for part in parts]))
        return Reports(first.protocol, sum(part.n for part in parts), tuple(columns))

    @property
    def bits_each(self) -> int:
        """How many bits one report has."""
        return sum(column.bits for column in self._layout)

    def shuffled(self, entropy: Entropy | None = None) -> Reports:
        """The same reports in a random order: what a shuffler passes on.

        Args:
            entropy: Source of random bits for the order; None takes the system's.

        Returns:
            The reports in an order that says nothing about the old one.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
        >>> poll.randomize(["yes", "no", "no"]).shuffled().n
        3
        """
        from lapwing.noise import SYSTEM, permutation

        return self[permutation(self.n, SYSTEM if entropy is None else entropy)]

    def column(self, name: str) -> NDArray[Any]:
        """One part of every report.

        Args:
            name: The name of a column of `protocol.layout`.

        Returns:
            The array of that column.

        >>> from lapwing.crowd import CategoryResponse
        >>> poll = CategoryResponse.from_epsilon(1, domain=["bus", "bike", "car"])
        >>> [column.name for column in poll.layout], poll.randomize(["bus"] * 5).column("answer").shape
        (['answer'], (5,))
        """
        return next(held for column, held in self._pairs() if column.name == name)

    def to_bytes(self) -> bytes:
        """The reports as bytes, to be sent.

        Returns:
            The bytes, for `from_bytes` with the same protocol.
        """
        import numpy as np

        body = b"".join(
            np.packbits(column.to_bits(held, self.n).ravel(), bitorder="little").tobytes()
            for column, held in self._pairs()
        )
        return header(self.protocol, self.n) + body

    @classmethod
    def from_bytes(cls, protocol: Protocol, data: bytes) -> Reports:
        """Reports that `to_bytes` wrote. Bytes that this protocol cannot have made are refused with `InvalidParameter`.

        Args:
            protocol: The protocol that the reports were made with.
            data: The bytes of one batch, as they were sent.

        Returns:
            The reports.

        Raises:
            InvalidParameter: If these are not reports of this protocol, made with the same parameters.
        """
        import numpy as np

        try:
            view = memoryview(data)
        except TypeError:
            raise _refused("are not bytes", "Pass the bytes as they were sent.") from None
        n, layout = int.from_bytes(view[20:HEADER_BYTES], "little"), protocol.layout
        if bytes(view[:HEADER_BYTES]) != header(protocol, n):
            raise _refused("are not reports of this protocol", "Use the parameters the reports were made with.")
        sizes = [-(-column.bits * n // 8) for column in layout]
        if len(view) != HEADER_BYTES + sum(sizes):
            raise _refused("have the wrong length", "Pass the bytes as they were sent, one batch at a time.")
        columns, start = [], HEADER_BYTES
        for column, size in zip(layout, sizes, strict=True):
            bits = np.unpackbits(np.frombuffer(view[start : start + size], dtype=np.uint8), bitorder="little")
            if bits[column.bits * n :].any():
                raise _refused("have bits where none belong", "Pass the bytes as they were sent.")
            held = column.from_bits(bits[: column.bits * n].reshape(n, column.bits))
            if column.below is not None and n and int(held.max()) >= column.below:
                raise _refused("hold a number that none of this protocol does", "Drop reports from elsewhere.")
            columns.append(held)
            start += size
        return cls(protocol, n, tuple(columns))

    @classmethod
    def from_singles(cls, protocol: Protocol, rows: NDArray[np.uint8]) -> tuple[Reports, NDArray[np.bool_]]:
        """Reports that many people sent one by one.

        Rows that no report of this protocol can be are left out.

        Args:
            protocol: The protocol that the reports were made with.
            rows: A table of bytes with one row for each person: `to_bytes` of one report.

        Returns:
            The valid reports, and which rows they came from (true for a valid row).

        Raises:
            InvalidParameter: If the rows do not have the length of one report.

        >>> import numpy as np
        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
        >>> sent = [poll.randomize([answer]).to_bytes() for answer in ("yes", "no")]
        >>> reports, valid = Reports.from_singles(poll, np.array([list(row) for row in sent], np.uint8))
        >>> reports.n, valid.tolist()
        (2, [True, True])
        """
        import numpy as np

        start, parts = HEADER_BYTES, []
        wide = start + sum(-(-column.bits // 8) for column in protocol.layout)
        if rows.ndim != 2 or rows.shape[1] != wide:
            raise _refused("have the wrong length", "Pass rows of the bytes of one report each.")
        valid = (rows[:, :HEADER_BYTES] == np.frombuffer(header(protocol, 1), dtype=np.uint8)).all(axis=1)
        for column in protocol.layout:
            size = -(-column.bits // 8)
            bits = np.unpackbits(rows[:, start : start + size], axis=1, bitorder="little")
            valid &= ~bits[:, column.bits :].any(axis=1)
            if column.below is not None:
                valid &= column.from_bits(bits[:, : column.bits]) < column.below
            parts.append((column, bits[:, : column.bits]))
            start += size
        columns = tuple(column.from_bits(bits[valid]) for column, bits in parts)
        return cls(protocol, int(valid.sum()), columns), valid

    @property
    def _layout(self) -> tuple[Column, ...]:
        return self.protocol.layout

    def _pairs(self) -> list[tuple[Column, NDArray[Any]]]:
        return list(zip(self._layout, self.columns, strict=True))


def header(protocol: Protocol, n: int) -> bytes:
    """How the bytes of n reports begin: the format, the fingerprint of the protocol, and how many they are."""
    return MAGIC + protocol.fingerprint + n.to_bytes(8, "little")


def some(count: int, thing: str) -> str:
    """So many things: 1 report, 2,000 reports."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _refused(why: str, hint: str) -> InvalidParameter:
    return InvalidParameter("data", "<bytes>", why, hint)
