"""Bins in a statement: by arithmetic where their edges are evenly spaced, otherwise by halving."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lapwing.curator.engines.dialects import cast, double, when, whole


def bin_of(value: exp.Expr, edges: Sequence[float]) -> exp.Expr:
    """The number of the bin of a double, or NULL."""
    last = len(edges) - 2
    number = _counted(value, edges) if is_even(edges) else _halved(value, edges, 0, last)
    inside = exp.and_(value.copy() >= double(edges[0]), value.copy() < double(edges[-1]))
    return when(inside, number).when(exp.EQ(this=value.copy(), expression=double(edges[-1])), whole(last))


def is_even(edges: Sequence[float]) -> bool:
    """Whether every edge is first + i·step to the last bit, in doubles."""
    step = edges[1] - edges[0]
    return 2.0**-500 < step < 2.0**500 and all(edge == edges[0] + i * step for i, edge in enumerate(edges))


def _counted(value: exp.Expr, edges: Sequence[float]) -> exp.Expr:
    """A guess that is off by one at most (a quotient of doubles), put right by comparing with the edges around it."""
    step = edges[1] - edges[0]
    # clamped once more, although what is outside is not used: engines may compute it, and the cast must not fail
    low, high = value.copy() < double(edges[0]), value.copy() > double(edges[-1])
    inside = exp.Case().when(low, double(edges[0])).when(high, double(edges[-1])).else_(value.copy())
    beyond = exp.Paren(this=inside - double(edges[0]))
    # PostgreSQL raises where a product is too small for a double; so far below the width of a bin it is 0
    quotient = when(beyond.copy() > double(2.0**-530), beyond * double(1 / step), double(0.0))
    guess = cast(exp.func("FLOOR", quotient), "INT")

    def edge(after: int) -> exp.Expr:
        place = cast(guess.copy(), "DOUBLE")
        return double(edges[0]) + exp.Paren(this=(place + double(after)) if after else place) * double(step)

    below, above = value.copy() < edge(0), value.copy() >= edge(1)
    return guess - when(below, whole(1), whole(0)) + when(above, whole(1), whole(0))


def _halved(value: exp.Expr, edges: Sequence[float], low: int, high: int) -> exp.Expr:
    """The bin among those from low to high."""
    if low == high:
        return whole(low)
    middle = (low + high + 1) // 2
    return when(
        value.copy() < double(edges[middle]),
        _halved(value, edges, low, middle - 1),
        _halved(value, edges, middle, high),
    )
