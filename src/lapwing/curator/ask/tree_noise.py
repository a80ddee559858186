"""The price of a rollup: noise on every level of one statistic, and tests of secret keys, level by level.

A unit is on every level, so what the levels lose adds up. Proof: curator.md, point 11
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lapwing.checks import Number
from lapwing.curator.ask.pricing import DEFAULT_CONFIDENCE, Budget, Item, Keys, Purpose, check, share_out, shares_of
from lapwing.curator.ask.rollup_checks import trust_of
from lapwing.curator.plan.rollups import Nodes, Path, Rollup, public_nodes
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up, sqrt_up
from lapwing.mechanisms import Hierarchy, Tree, TreeEstimate
from lapwing.noise import Entropy
from lapwing.privacy import Loss

if TYPE_CHECKING:
    from lapwing.curator.ask.question import Question


@dataclass(frozen=True, slots=True)
class TreeNoise:
    """Noise on one statistic of every node of a tree."""

    statistic: Statistic
    size: Fraction
    concentrated: bool
    bounding: Bounding
    unit: str
    outputs: tuple[str, ...]
    rollup: Rollup
    nodes: Nodes | None
    """The public tree; None where the keys are secret."""
    known: tuple[tuple[Path, int], ...] = ()
    """What was published of this statistic."""
    published: tuple[str, ...] = ()
    """The same in words."""

    @property
    def label(self) -> str:
        """What is released."""
        return f"{self.statistic} of every level"

    @property
    def tree(self) -> Tree:
        """The public tree or, where it is a secret, one with as many levels: the loss is the same."""
        return Tree.even(*(2,) * (len(self.rollup.levels) - 1)) if self.nodes is None else self.nodes.tree

    def mechanism(self, tree: Tree) -> Hierarchy:
        """For this tree; of secret keys nothing but the values depends on it."""
        return _mechanism(self, tree)

    def privacy_loss(self) -> Loss:
        """Its part of the loss: the sum over the levels."""
        return self.mechanism(self.tree).privacy_loss()

    def level_losses(self) -> list[tuple[str, Loss]]:
        """What each level loses: nothing, if it is not measured."""
        mechanism = self.mechanism(self.tree)
        total: Any = mechanism.privacy_loss()  # PureDP or ZCDP
        lines: list[tuple[str, Loss]] = []
        for depth, loss in enumerate(mechanism.level_losses()):
            if loss is None:
                why = "published" if not depth and any(not path for path, _ in self.known) else "added up"
                lines.append((f"{self._level(depth)} (not measured: {why})", type(total)(0, **total.frame)))
            else:
                lines.append((self._level(depth), loss))
        return lines

    def _level(self, depth: int) -> str:
        """A level in words: by one key of a tree of places or dates, otherwise by all keys down to it."""
        rollup = self.rollup
        keys = rollup.names[: rollup.given + depth]
        if not keys:
            return f"total {self.statistic}"
        return f"{self.statistic} by {keys[-1] if rollup.paths is not None else ' and '.join(keys)}"

    def half_widths(self, confidence: Number) -> list[float]:
        """How far a number of each level may be off, the worst node of it, in steps."""
        mechanism = self.mechanism(self.tree)
        if self.nodes is None:  # adding up makes no estimate worse than its own noise
            return [mechanism.width(spread, confidence).item() for spread in mechanism.level_variances()]  # type: ignore[arg-type]
        return [float(widths.max()) for widths in mechanism.half_widths(confidence)]  # type: ignore[arg-type]

    def half_width(self, confidence: Number) -> float:
        """How far the worst node may be off, in steps."""
        return max(self.half_widths(confidence))

    @property
    def error(self) -> float:
        """What is compared where the kind of noise may be chosen."""
        return self.half_width(DEFAULT_CONFIDENCE)

    def release(self, tree: Tree, leaves: Sequence[int], entropy: Entropy) -> TreeEstimate:
        """The numbers of every node, from those of the leaves."""
        return self.mechanism(tree).release(list(leaves), entropy)

    def intervals(self, tree: Tree, estimate: TreeEstimate, confidence: Number) -> list[tuple[Any, Any]]:
        """Where the exact numbers lie, level by level."""
        return list(self.mechanism(tree).intervals(estimate, confidence))  # type: ignore[arg-type]

    def sensitivities(self, tree: Tree) -> tuple[Number, ...]:
        """How far one unit can move the numbers of each level: in l1, or for Gaussian noise in l2."""
        most, squared = self.statistic.sensitivity(self.bounding)
        if not self.concentrated:
            return (most,) * tree.levels
        together = self.bounding.max_groups_per_unit if self.bounding.max_rows_per_unit is None else 1
        each = squared // together  # of one group, squared
        widest = _most_leaves(tree) if self.nodes is not None else [together] * (tree.levels - 1) + [1]
        squares = []
        for leaves in widest:
            full, rest = divmod(together, min(leaves, together))
            squares.append(each * (full * min(leaves, together) ** 2 + rest**2))
        return tuple(float_up(sqrt_up(Fraction(square))) for square in squares)


@lru_cache(maxsize=64)
def _mechanism(item: TreeNoise, tree: Tree) -> Hierarchy:
    money = {"rho": item.size} if item.concentrated else {"epsilon": item.size}
    weights: Any = item.rollup.weights
    places = {(): (0, 0)} if item.nodes is None else item.nodes.places  # of secret keys no other node is surely there
    known = {places[path]: value for path, value in item.known}
    if item.nodes is None:
        if isinstance(weights, str):
            weights = (1,) * len(item.rollup.levels)  # how many nodes a level has is a secret
        weights = weights[: tree.levels]
    try:
        return Hierarchy(
            tree=tree,
            sensitivity=item.sensitivities(tree),
            weights=weights,
            integers=item.rollup.integers,
            non_negative=item.statistic.contribution[0] >= 0,
            invariants=known,
            published=item.published,
            unit=item.unit,
            **money,  # type: ignore[arg-type]
        )
    except InvalidParameter as wrong:
        named = {place: path for path, place in places.items()}
        if wrong.name != "invariants":
            raise
        if isinstance(wrong.value, tuple) and wrong.value in named:
            why, hint = (
                "is less than what was declared for its parts, or is not their sum",
                "Declare numbers that add up.",
            )
            raise InvalidParameter("invariants", named[wrong.value], why, hint) from None
        why = "must leave a number open. Together they say all numbers, so nothing is left to release"
        paths = [path for path, _ in item.known]
        raise InvalidParameter("invariants", paths, why, "Leave out those that need noise.") from None


def _most_leaves(tree: Tree) -> list[int]:
    """The most leaves that a node of each level has below it."""
    import numpy as np

    return [int(level.max()) for level in tree.sums(np.ones(tree.leaves, np.int64))]


@dataclass(frozen=True, slots=True)
class LevelKeys(Keys):
    """The test which secret keys of one level may be shown, below those that are."""

    level: str = ""
    depth: int = 0
    """The place of the key among the keys."""

    @property
    def label(self) -> str:  # type: ignore[override]
        """What is released."""
        return f"which values of {self.level} occur"

    @property
    def called(self) -> str:  # type: ignore[override]
        """What its expectation is called."""
        return f"keys of {self.level}"


def price_tree(question: Question, spend: Budget) -> tuple[Item, ...]:
    """All items of a rollup: tests of secret keys from the top, then noise on the levels of each statistic."""
    rollup, grouping, bounding, unit = question.rollup, question.grouping, question.effective, question.context.unit
    assert rollup is not None
    shares = shares_of(question.bounds)
    secret = [place for place, key in enumerate(grouping.keys) if key.values is None]
    nodes = None if secret else question.nodes[0]
    weights: dict[Purpose, Fraction] = {}
    if secret:
        average = sum((bound.weight for bound in question.bounds), Fraction(0)) / len(question.bounds)
        weights = {place: average / len(secret) for place in secret}
    weights |= {purpose: share.weight for purpose, share in shares.items()}
    trust = trust_of(question)  # of a question with one count

    def item(purpose: Purpose, size: Fraction, concentrated: bool) -> Item:
        if isinstance(purpose, int):
            delta, name = spend.key_delta / len(secret), grouping.keys[purpose].name
            return LevelKeys(size, concentrated, delta, bounding, unit, level=name, depth=purpose)
        assert isinstance(purpose, Statistic)
        known = (rollup.invariants, trust.published) if trust is not None else ((), ())
        return TreeNoise(purpose, size, concentrated, bounding, unit, shares[purpose].outputs, rollup, nodes, *known)

    items = share_out(weights, spend, item)
    check(items, spend)
    return items


def tree_items(items: Sequence[Any]) -> Mapping[Statistic, TreeNoise]:
    """The items with noise on a tree, by statistic."""
    return {item.statistic: item for item in items if isinstance(item, TreeNoise)}


__all__ = ["LevelKeys", "TreeNoise", "price_tree", "public_nodes", "tree_items"]
