"""Whole numbers of at least 0 that add up along two trees at once.

A table for a pair of levels must agree with the table one level up in the first tree and with the one in the second.
Split by parents it falls into blocks, each with known sums of its rows and of its columns, so every block is rounded by
itself. Whole numbers with given sums of rows and columns always exist. Proof: crossed_hierarchy.md, "Whole numbers"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lapwing.mechanisms.marginals import share_out
from lapwing.mechanisms.trees import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def whole_tables(
    first: Tree, second: Tree, estimates: Mapping[tuple[int, int], NDArray[np.float64]]
) -> dict[tuple[int, int], NDArray[np.int64]]:
    """Whole numbers near the estimates, none below 0, that add up along both trees."""
    import numpy as np

    total = max(0, round(float(estimates[0, 0][0, 0])))
    tables: dict[tuple[int, int], Any] = {(0, 0): np.array([[total]], dtype=np.int64)}
    for i in range(first.levels):
        for j in range(second.levels):
            if (i, j) != (0, 0):
                tables[i, j] = _table(first, second, (i, j), estimates[i, j], tables)
    return tables


def _table(
    first: Tree, second: Tree, levels: tuple[int, int], near: NDArray[np.float64], tables: Mapping[Any, Any]
) -> NDArray[np.int64]:
    import numpy as np

    (i, j), table = levels, np.empty(near.shape, dtype=np.int64)
    for row, rows in enumerate(_families(first, i)):
        for column, columns in enumerate(_families(second, j)):
            block = near[rows, columns]
            if i == 0:
                table[rows, columns] = share_out(block, tables[0, j - 1][rows, column])
            elif j == 0:
                table[rows, columns] = share_out(block.T, tables[i - 1, 0][row, columns]).T
            else:
                table[rows, columns] = transported(
                    block, tables[i, j - 1][rows, column], tables[i - 1, j][row, columns]
                )
    return table


def _families(tree: Tree, level: int) -> list[slice]:
    """The children of each node of the level above, side by side; the root has no siblings."""
    if level == 0:
        return [slice(0, 1)]
    starts, counts = tree.starts(level - 1), tree.counts(level - 1)
    return [slice(int(start), int(start + count)) for start, count in zip(starts, counts, strict=True)]


def transported(near: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers near a table, none below 0, with these sums of rows and columns, which agree in their total.

    First every cell gets what it can have, large ones first. Then two cells give to two others, in the same rows and
    columns, as long as that brings the table nearer in least squares.

    >>> import numpy as np
    >>> transported(np.array([[2.6, -1.0], [0.3, 4.2]]), np.array([2, 5]), np.array([3, 4])).tolist()
    [[2, 0], [1, 4]]
    """
    import numpy as np

    table = np.zeros(near.shape, dtype=np.int64)
    left, below = rows.copy(), columns.copy()
    for wanted in (np.floor(np.maximum(near, 0)).astype(np.int64), np.full(near.shape, rows.sum())):
        for place in np.argsort(-(near - table), axis=None, kind="stable"):
            i, j = np.unravel_index(place, near.shape)
            given = min(int(wanted[i, j]), int(left[i]), int(below[j]))
            table[i, j] += given
            left[i] -= given
            below[j] -= given
    while (exchange := _exchange(table, near)) is not None:
        (i, k), (j, m), size = exchange
        table[[i, k], [j, m]] += size
        table[[i, k], [m, j]] -= size
    return table


def _exchange(
    table: NDArray[np.int64], near: NDArray[np.float64]
) -> tuple[tuple[int, int], tuple[int, int], int] | None:
    """The best pair of rows (i, k) and of columns (j, m): (i, j) and (k, m) get what (i, m) and (k, j) give."""
    import numpy as np

    short = near - table
    apart = short[:, None, :] - short[None, :, :]  # of rows i and k in each column
    gets = np.where(table[None, :, :] > 0, apart, -np.inf)
    gives = np.where(table[:, None, :] > 0, apart, np.inf)
    gains = gets.max(axis=2) - gives.min(axis=2)
    i, k = np.unravel_index(int(np.argmax(gains)), gains.shape)
    gain = float(gains[i, k])
    if not 2 + 1e-9 < gain < np.inf:
        return None
    j, m = int(gets[i, k].argmax()), int(gives[i, k].argmin())
    size = min(max(1, round(gain / 4)), int(table[i, m]), int(table[k, j]))
    return (int(i), int(k)), (j, m), size
