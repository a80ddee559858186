"""How the loss is divided among the levels of a tree, given what people will read. The tree alone decides it.

The error of a workload is computed for a tree whose nodes all have the average number of children of their level: a
function of one number a level, which is minimised by trying. Any weights are private; these are only good ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.trees import Tree

Workload = Literal["leaves", "nodes", "levels", "ranges"]
"""Single leaves; all nodes, each as important; all levels, each as important; sums of neighbouring leaves."""
WORKLOADS: tuple[str, ...] = get_args(Workload)

_PARTS = 4096
"""Weights are whole multiples of one over this."""
_ROUNDS = 60


def level_weights(
    tree: Tree, workload: Workload, sensitivities: Sequence[Fraction], *, concentrated: bool, free: frozenset[int]
) -> tuple[Fraction, ...]:
    """The part of the loss that each level gets; levels in `free` are known and get none.

    A level without leaves may get none, too: then it is not measured, but added up.
    """
    checks.one_of(WORKLOADS, weights=workload)
    fans = tuple(after / before for before, after in zip(tree.sizes, tree.sizes[1:], strict=False))
    needed = frozenset(tree.leaf_levels) - free
    return _chosen(
        workload, fans, tree.sizes, tuple(map(float, sensitivities)), concentrated, free, needed | {tree.levels - 1}
    )


@lru_cache(maxsize=256)
def _chosen(
    workload: str,
    fans: tuple[float, ...],
    sizes: tuple[int, ...],
    sensitivities: tuple[float, ...],
    concentrated: bool,
    free: frozenset[int],
    needed: frozenset[int],
) -> tuple[Fraction, ...]:
    paid = [level for level in range(len(sizes)) if level not in free]
    power = 1 if concentrated else 2

    def error(weights: Sequence[float]) -> float:
        total = sum(weights)
        noise = [0.0] * len(sizes)
        for level, weight in zip(paid, weights, strict=True):
            noise[level] = sensitivities[level] ** 2 / (weight / total) ** power
        return _error(workload, fans, sizes, noise)

    weights = _minimised(error, [1.0] * len(paid))
    total = sum(weights)
    parts = [round(_PARTS * weight / total) for weight in weights]
    parts = [max(part, 1) if level in needed else part for level, part in zip(paid, parts, strict=True)]
    shares = dict(zip(paid, parts, strict=True))
    whole = sum(parts)
    return tuple(Fraction(shares.get(level, 0), whole) for level in range(len(sizes)))


def _minimised(error: Callable[[Sequence[float]], float], weights: list[float]) -> list[float]:
    """Weights with a small error: one after the other is raised or lowered as long as that helps, by less each time."""
    least, factor = error(weights), 4.0
    for _ in range(_ROUNDS):
        better = False
        for place in range(len(weights)):
            for change in (factor, 1 / factor):
                tried = [*weights[:place], weights[place] * change, *weights[place + 1 :]]
                now = error(tried) if tried[place] > 1e-6 * sum(tried) else least
                if now < least:
                    weights, least, better = tried, now, True
                    break
        if not better:
            if factor < 1.01:
                break
            factor **= 0.5
    return weights


def _error(workload: str, fans: Sequence[float], sizes: Sequence[int], noise: Sequence[float]) -> float:
    """The mean variance of what is read, for the noise variances of the levels (as `LeastSquares`, for one node)."""
    below = [noise[-1]]
    for own, fan in zip(reversed(noise[:-1]), reversed(fans), strict=True):
        children = fan * below[0]
        below.insert(0, own * children / (own + children) if own + children else 0.0)
    variances = [below[0]]
    for fan, spread in zip(fans, below[1:], strict=True):
        variances.append(spread * (1 - 1 / fan) + variances[-1] / fan**2)
    if workload == "leaves":
        return variances[-1]
    if workload == "levels":
        return sum(variances)
    if workload == "nodes":
        return sum(size * spread for size, spread in zip(sizes, variances, strict=True))
    return _range_error(fans, sizes, below, variances)


def _range_error(
    fans: Sequence[float], sizes: Sequence[int], below: Sequence[float], variances: Sequence[float]
) -> float:
    """The mean variance of a sum over neighbouring leaves, both ends drawn evenly.

    In a node with f children of variance v an end leaves k of them before it and a part b of the next: the variance of
    these given the node is v·(k + b² − (k + b)²/f), in the mean v·(f − 1)/6, or v·(f² − 1)/(6f) among leaves, where b
    is 0. Where both ends are in one node but not in one child, m children and two parts lie between them, and what they
    are of the node, D = (m + b + b′)/f, is off with the node itself.
    """
    error = 0.0
    for level, fan in enumerate(fans):
        together, apart = 1 / sizes[level], 1 / sizes[level] - 1 / sizes[level + 1]
        if level + 1 == len(fans):
            end, between, square = (fan * fan - 1) / (6 * fan), (fan + 1) / 6, (fan + 1) / (6 * fan)
        elif fan > 1:
            end, square = (fan - 1) / 6, (1 - fan**-3) / (6 * (1 - 1 / fan))
            between = (fan - 2) / 3 + 2 / 3 - fan * square
        else:
            continue
        error += below[level + 1] * (2 * (1 - together) * end + apart * between) + apart * square * variances[level]
    return error


def given_weights(weights: object, tree: Tree, free: frozenset[int]) -> tuple[Fraction, ...]:
    """The weights that an owner wrote down, one for each level, scaled to add up to 1."""
    hint = f'Write weights="levels" ({", ".join(WORKLOADS)}), or {tree.levels} numbers of which some may be 0.'
    if isinstance(weights, str) or not isinstance(weights, Sequence) or len(weights) != tree.levels:
        written = (
            [float(w) if isinstance(w, Fraction) else w for w in weights] if isinstance(weights, tuple) else weights
        )
        raise InvalidParameter("weights", written, f"must be a number for each of the {tree.levels} levels", hint)
    numbers = checks.numbers(weights, checks.not_negative, weights=weights)
    numbers = [Fraction(0) if level in free else number for level, number in enumerate(numbers)]
    for level in tree.leaf_levels:
        if level not in free and not numbers[level]:
            why = f"level {level} has leaves, so its weight must be above 0"
            raise InvalidParameter("weights", weights, why, hint)
    total = sum(numbers, Fraction(0))
    return tuple(number / total if total else number for number in numbers)
