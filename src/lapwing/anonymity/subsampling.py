"""Sub-sampling: answers are computed from a random sample of the records.

Every record is in the sample with the same probability, independently (Denning 1980, Secure statistical databases with
random sample queries, draws a sample for each question in the same spirit).

Nobody knows who is in the sample. That is a guarantee with delta = share: with that probability a person's record is
used as it is, and then nothing hides it. Sampling does not protect a person who is known to be in the sample, or who
can be recognised in it because they are rare. If every question gets a fresh sample, asking often finds everybody.
(Under noise, sampling does help: it amplifies differential privacy, see `lapwing.privacy`.)

>>> sample = SubSample(share=0.5).draw({"age": [34, 51, 29], "ill": [0, 1, 0]})
>>> set(sample) == {"age", "ill"} and len(sample["age"]) <= 3
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from lapwing import checks
from lapwing.anonymity.table import Columns, columns_of, rows_of
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, bernoulli


@dataclass(frozen=True, slots=True, kw_only=True)
class SubSample:
    """Draws a random sample: each record is kept with the same probability, independently.

    Args:
        share: The probability that a record is kept, above 0 and at most 1.

    Raises:
        InvalidParameter: If share is not above 0 and at most 1.

    >>> 0 < len(SubSample(share=0.5).draw({"age": list(range(100))})["age"]) < 100
    True
    """

    share: Number = 0.1

    def __post_init__(self) -> None:
        if not checks.share(share=self.share) > 0:
            raise InvalidParameter("share", self.share, "nobody would be in the sample", "Write share=0.1.")

    def draw(self, table: Any, entropy: Entropy = SYSTEM) -> Columns:
        """The records of a fresh sample.

        Args:
            table: Columns by name, rows as dicts, or a data frame.
            entropy: Where the random bits come from.

        Returns:
            The columns by name, with the rows of the sample.
        """
        columns = columns_of(table)
        kept = bernoulli(self.share, rows_of(columns), entropy).tolist()
        return {name: list(compress(values, kept)) for name, values in columns.items()}

    def count(self, flags: Sequence[object], entropy: Entropy = SYSTEM) -> float:
        """How many records have a true flag, estimated from a fresh sample.

        Args:
            flags: One entry for each record; true ones are counted.
            entropy: Where the random bits come from.

        Returns:
            The count in the sample divided by `share`: right on average.

        >>> 300 < SubSample(share=0.5).count([True] * 500 + [False] * 500) < 700
        True
        """
        kept = bernoulli(self.share, len(flags), entropy).tolist()
        return sum(map(bool, compress(flags, kept))) / float(self.share)
