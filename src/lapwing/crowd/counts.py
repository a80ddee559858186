"""What an aggregator keeps: whole numbers that add up, in any order, on any number of machines.

bytes  "LWC1" ‖ fingerprint of the protocol (16 bytes) ‖ number of reports (8 bytes) ‖ the numbers (8 each)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from lapwing.crowd.reports import Reports, some
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.crowd.protocol import Protocol

MAGIC = b"LWC1"


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The state of an aggregator: how many reports there were, and what was counted in them.

    Counts hold only sums of reports that are private already. They may be stored, sent and added up on any number of
    machines.

    Attributes:
        protocol: The protocol whose reports were counted.
        n: How many reports were counted.
        table: The counted whole numbers; `protocol.shape` is its shape.

    >>> from lapwing.crowd import UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
    >>> here = poll.absorb(None, poll.randomize(["yes", "no", "no"]))
    >>> there = poll.absorb(None, poll.randomize(["yes"] * 2))
    >>> here.merge(there)
    <counts of 5 reports of UnaryEncoding, 2 numbers>
    >>> Counts.from_bytes(poll, there.to_bytes()).n
    2
    """

    protocol: Protocol
    n: int
    table: NDArray[np.integer]

    def __repr__(self) -> str:
        size = some(self.table.size, "number")
        return f"<counts of {some(self.n, 'report')} of {type(self.protocol).__name__}, {size}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts) or self.protocol != other.protocol or self.n != other.n:
            return False
        return bool((self.table == other.table).all())

    def __hash__(self) -> int:
        return hash((self.protocol, self.n))

    def __add__(self, other: Counts) -> Counts:
        return self.merge(other)

    def merge(self, other: Counts) -> Counts:
        """Both together, as if one aggregator had seen all the reports. `a + b` does the same.

        Args:
            other: Counts of the same protocol, made from other reports.

        Returns:
            New counts; both originals stay as they are.

        Raises:
            InvalidParameter: If the counts belong to another protocol, or are too large for 64 bits.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> here, there = (poll.absorb(None, poll.randomize(answers)) for answers in (["yes"], ["no", "no"]))
        >>> here.merge(there).n
        3
        """
        self.protocol.check_own(other.protocol)
        most = sum(max(part.n, int(part.table.max()), -int(part.table.min())) for part in (self, other))
        if most >= 1 << 63:
            why = "are larger than 64 bits hold, and than any collection's"
            raise InvalidParameter("other", "<counts>", why, "Drop counts from elsewhere.")
        return Counts(self.protocol, self.n + other.n, self.table + other.table)

    def add(self, reports: Reports) -> Counts:
        """Add reports in the same memory, for tables so large that no second one should be made.

        The counts that this was called on must not be used any more.

        Args:
            reports: Reports of the same protocol.

        Returns:
            The counts with these reports added. They use the memory of the original.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> poll.empty().add(poll.randomize(["yes", "no"])).n
        2
        """
        fresh = self.protocol.absorb(None, reports)
        table = self.table
        table += fresh.table
        return Counts(self.protocol, self.n + fresh.n, table)

    def to_bytes(self) -> bytes:
        """The counts as bytes, to be stored or sent.

        Returns:
            The bytes, for `from_bytes` with the same protocol.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> len(poll.empty().to_bytes()) == len(poll.absorb(None, poll.randomize(["yes"])).to_bytes())
        True
        """
        return MAGIC + self.protocol.fingerprint + self.n.to_bytes(8, "little") + self.table.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, protocol: Protocol, data: bytes) -> Counts:
        """Counts that `to_bytes` wrote.

        Args:
            protocol: The protocol that the counts were made with.
            data: The bytes.

        Returns:
            The counts.

        Raises:
            InvalidParameter: If these are not counts of this protocol.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> counts = poll.absorb(None, poll.randomize(["yes", "no"]))
        >>> Counts.from_bytes(poll, counts.to_bytes()).n
        2
        """
        import numpy as np

        ours = data[:4] == MAGIC and data[4:20] == protocol.fingerprint
        if not ours or len(data) != 28 + 8 * prod(protocol.shape):
            why = "are not counts of this protocol"
            raise InvalidParameter("data", "<bytes>", why, "Use the parameters the counts were made with.")
        table = np.frombuffer(data, dtype="<i8", offset=28).astype(np.int64).reshape(protocol.shape)
        return cls(protocol, int.from_bytes(data[20:28], "little"), table)
