"""Noise drawn ahead of time, so that the time of a release does not tell about its noise.

How long an exact draw takes depends on what is drawn. A server that answers over a network therefore takes draws from
a pool, which it filled before the question came. The pool belongs to one process: a fork empties it, and a draw leaves
the pool before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from lapwing import checks
from lapwing.noise.entropy import process

T = TypeVar("T")


class Pool(Generic[T]):
    """A stock of draws, made before they are needed.

    Args:
        draw: Makes one draw; called without arguments.
        size: How many draws a full pool holds.

    Raises:
        InvalidParameter: If size is not a whole number from 1 on.

    >>> from lapwing import noise
    >>> pool = Pool(lambda: noise.discrete_laplace(10), size=100)
    >>> len(pool), isinstance(pool.take(), int), len(pool)
    (100, True, 99)
    """

    __slots__ = ("_draw", "_process", "_size", "_stock")

    def __init__(self, draw: Callable[[], T], size: int = 1024) -> None:
        self._draw, self._size = draw, checks.whole(size=size)
        self._stock: list[T] = []
        self._process = process()
        self.fill()

    def __len__(self) -> int:
        return len(self._stock) if self._process == process() else 0

    def fill(self) -> None:
        """Fill up; call it between requests. What a parent process drew is thrown away.

        >>> from lapwing import noise
        >>> pool = Pool(lambda: noise.discrete_laplace(10), size=100)
        >>> draws = [pool.take() for _ in range(30)]
        >>> pool.fill()
        >>> len(pool)
        100
        """
        if self._process != process():
            self._stock, self._process = [], process()
        while len(self._stock) < self._size:
            self._stock.append(self._draw())

    def take(self) -> T:
        """One draw, removed from the pool first. An empty pool is filled up to its size.

        Returns:
            The draw. No two calls get the same one.
        """
        if self._process != process():
            self.fill()
        while True:
            try:
                return self._stock.pop()  # one step of the interpreter: two threads never get the same draw
            except IndexError:
                self.fill()

    def __reduce__(self) -> tuple[type[Pool[T]], tuple[Callable[[], T], int]]:
        return Pool, (self._draw, self._size)  # a copy has draws of its own
