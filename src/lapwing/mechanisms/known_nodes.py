"""Invariants: nodes of a tree whose numbers were published exactly, and what follows. They are not protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter, withheld
from lapwing.mechanisms.trees import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_INVARIANT = 1 << 53
_HINT = "Write invariants={(0, 0): 1000} if the root is known to be 1,000."


@dataclass(frozen=True)
class KnownNodes:
    """The nodes whose numbers are known: those that were published, and those that follow by adding up."""

    given: tuple[tuple[tuple[int, int], int], ...]
    masks: tuple[NDArray[np.bool_], ...]
    values: tuple[NDArray[np.int64], ...]

    def __bool__(self) -> bool:
        return bool(self.given)

    @staticmethod
    def of(tree: Tree, invariants: Mapping[tuple[int, int], int], *, non_negative: bool) -> KnownNodes:
        """The known nodes of a tree; published numbers that contradict each other are refused."""
        import numpy as np

        if not isinstance(invariants, Mapping):
            raise InvalidParameter("invariants", invariants, "must be a mapping", _HINT)
        masks = [np.zeros(size, bool) for size in tree.sizes]
        values = [np.zeros(size, np.int64) for size in tree.sizes]
        with withheld("has an entry that is no node of the tree, or no number for it", _HINT, invariants=invariants):
            for node, value in invariants.items():
                level, place = _node(node, tree)
                _check_number(value, non_negative)
                masks[level][place], values[level][place] = True, value
        given = tuple(sorted((_node(node, tree), int(value)) for node, value in invariants.items()))
        if given:
            _add_up(tree, masks, values, non_negative)
        return KnownNodes(given, tuple(masks), tuple(values))

    @property
    def levels(self) -> frozenset[int]:
        """The levels of which every node is known: nothing is paid for them."""
        return frozenset(level for level, mask in enumerate(self.masks) if mask.all())

    def put_into(
        self, noisy: Sequence[NDArray[Any]], variances: Sequence[NDArray[np.float64]] | None = None
    ) -> list[NDArray[Any]]:
        """Noisy numbers in which the known ones are replaced by their exact values; of these, those of variance 0."""
        import numpy as np

        chosen = self.masks if variances is None else [spread == 0 for spread in variances]
        return [np.where(mask, value, level) for mask, value, level in zip(chosen, self.values, noisy, strict=True)]

    def without_noise(self, variances: Sequence[float]) -> list[NDArray[np.float64]]:
        """The variance of each node, from that of each level: 0 for what is known."""
        import numpy as np

        return [np.where(mask, 0.0, variance) for mask, variance in zip(self.masks, variances, strict=True)]


def if_unknown(tree: Tree, variances: Sequence[float]) -> list[NDArray[np.float64]]:
    """The variance of each node where nothing is known but leaves that were not measured: of these it is 0."""
    import numpy as np

    leaves = [tree.counts(level) == 0 for level in range(tree.levels)]
    return [np.where(ends & np.isinf(spread), 0.0, spread) for ends, spread in zip(leaves, variances, strict=True)]


def _node(node: object, tree: Tree) -> tuple[int, int]:
    pair = tuple(node) if isinstance(node, Sequence) and not isinstance(node, str) else ()
    if len(pair) != 2 or not all(isinstance(part, int) and not isinstance(part, bool) for part in pair):
        raise InvalidParameter("invariants", node, "must be a pair of a level and a place in it", _HINT)
    level, place = pair
    if not (0 <= level < tree.levels and 0 <= place < tree.sizes[level]):
        raise InvalidParameter("invariants", node, "is not a node of the tree", _HINT)
    return level, place


def _check_number(value: object, non_negative: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_INVARIANT:
        raise InvalidParameter("invariants", value, "must be a whole number that fits a double", _HINT)
    if non_negative and value < 0:
        raise InvalidParameter("invariants", value, "is negative, but no number here may be negative", _HINT)


def _add_up(tree: Tree, masks: list[NDArray[np.bool_]], values: list[NDArray[np.int64]], non_negative: bool) -> None:
    """What is known through the children is known as well; what does not fit together is refused."""
    import numpy as np

    least = [np.zeros(size, np.int64) for size in tree.sizes]
    for level in reversed(range(tree.levels)):
        if level + 1 < tree.levels:
            inner = tree.counts(level) > 0
            every = inner & (tree.add(masks[level + 1].astype(np.int64), level) == tree.counts(level))
            below = tree.add(np.where(masks[level + 1], values[level + 1], 0), level)
            least[level] = tree.add(least[level + 1], level)
            wrong = masks[level] & every & (values[level] != below)
            if non_negative:
                wrong |= masks[level] & inner & (values[level] < least[level])
            if wrong.any():
                node = (level, int(np.flatnonzero(wrong)[0]))
                raise InvalidParameter("invariants", node, "does not fit what is known of its children", _HINT)
            values[level] = np.where(every, below, values[level])
            masks[level] |= every
        least[level] = np.where(masks[level], values[level], least[level])
