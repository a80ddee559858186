"""What generalising costs: three measures of how much of a table is lost.

*Certainty*: the normalised certainty penalty of a cell is the share of its column's domain that its label covers (0 for
a value, 1 for "*"; for numbers the width of the range over that of the column, for words the number of leaves over all
leaves). The measure is its mean over all cells, and a suppressed row loses everything. Sources: Xu, Wang, Pei, Wang,
Shi and Fu 2006, Utility-based anonymization using local recoding, section 3; the mean over a table: Ghinita, Karras,
Kalnis and Mamoulis 2007, Fast data anonymization with low information loss (GCP).

*Discernibility*: every row is charged the size of its class, a suppressed one the size of the table. Source: Bayardo
and Agrawal 2005, Data privacy through optimal k-anonymization, section 3.

*Class size*: the mean size of the classes over the k that was asked for; 1 is perfect. Source: LeFevre, DeWitt and
Ramakrishnan 2006, Mondrian multidimensional k-anonymity, section 5 (C_AVG), over the rows that are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.anonymity.ladders import Floats

Sizes = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """How much was lost; less is better.

    Attributes:
        discernibility: The sum of the squares of the sizes of the classes; a suppressed row adds the number of rows.
        class_size: The mean size of a class, as a multiple of k.

    >>> from lapwing.anonymity import Mondrian
    >>> losses = Mondrian(k=2, quasi_identifiers=["age"]).anonymise({"age": [47, 41, 78, 71]}).losses
    >>> losses.discernibility, losses.class_size
    (8, 1.0)
    """

    certainty: float
    """From 0, everything is as it was, to 1, nothing is left."""
    discernibility: int
    class_size: float

    def __str__(self) -> str:
        return (
            f"certainty {self.certainty:.3f}, discernibility {self.discernibility:,}, class size {self.class_size:.2f}"
        )


def discernibility(sizes: Sizes, *, suppressed: int = 0) -> int:
    """Σ |class|² + suppressed · rows, of classes that are large enough.

    >>> discernibility(np.array([3, 2]), suppressed=1)
    19
    """
    return int(np.dot(sizes, sizes)) + suppressed * (int(sizes.sum()) + suppressed)


def average_class_size(sizes: Sizes, *, k: int) -> float:
    """(Rows / classes) / k; infinite if nothing is left.

    >>> average_class_size(np.array([3, 2]), k=2)
    1.25
    """
    return float(sizes.sum() / len(sizes) / k) if len(sizes) else float("inf")


def certainty_penalty(shares: Floats, sizes: Sizes, *, suppressed: int = 0) -> float:
    """The mean share of the domain that a cell covers, from 0 to 1; `shares` has a row per class, a column per column.

    >>> certainty_penalty(np.array([[0.5, 0.0], [1.0, 0.5]]), np.array([3, 2]))
    0.45
    """
    rows = int(sizes.sum()) + suppressed
    return float((sizes @ shares.mean(axis=1) + suppressed) / rows) if rows else 0.0


def losses(shares: Floats, sizes: Sizes, *, k: int, suppressed: int = 0) -> Losses:
    """All three."""
    return Losses(
        certainty=certainty_penalty(shares, sizes, suppressed=suppressed),
        discernibility=discernibility(sizes, suppressed=suppressed),
        class_size=average_class_size(sizes, k=k),
    )
