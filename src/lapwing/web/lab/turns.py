"""Fair queue: IP addresses take turns, then browsers of one address.

Somebody with forty pieces of work waits for most of them; somebody else with one is served after one of those.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who wants something: where from, and in which browser. A class has one address and many browsers."""

    address: str
    browser: str


Item = TypeVar("Item", bound=Hashable)


class Turns(Generic[Item]):
    """What waits, in fair order. Whoever uses it holds a lock."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, deque[Item]]] = {}
        self._visitors: dict[Item, Visitor] = {}
        self._places: dict[Item, int] | None = None

    def __len__(self) -> int:
        return len(self._visitors)

    def add(self, item: Item, visitor: Visitor) -> None:
        """Wait for a turn."""
        self._waiting.setdefault(visitor.address, {}).setdefault(visitor.browser, deque()).append(item)
        self._visitors[item] = visitor
        self._places = None

    def take(self, may: Callable[[str], bool]) -> Item | None:
        """The next one of an address that may begin something now; that address and that browser then stand last."""
        address = next((address for address in self._waiting if may(address)), None)
        if address is None:
            return None
        item = _taken(self._waiting, address)
        del self._visitors[item]
        self._places = None
        return item

    def remove(self, item: Item) -> bool:
        """Nobody wants it any more. Whether it was still waiting."""
        visitor = self._visitors.pop(item, None)
        if visitor is None:
            return False
        browsers = self._waiting[visitor.address]
        browsers[visitor.browser].remove(item)
        if not browsers[visitor.browser]:
            del browsers[visitor.browser]
        if not browsers:
            del self._waiting[visitor.address]
        self._places = None
        return True

    def place(self, item: Item) -> int:
        """Which one it is in the queue, from 1, if nobody else comes; 0 if it does not wait."""
        if self._places is None:  # found once for all who ask until somebody comes or goes
            left = {
                address: {browser: deque(items) for browser, items in browsers.items()}
                for address, browsers in self._waiting.items()
            }
            self._places = {}
            while left:
                self._places[_taken(left, next(iter(left)))] = len(self._places) + 1
        return self._places.get(item, 0)


def _taken(waiting: dict[str, dict[str, deque[Item]]], address: str) -> Item:
    browsers = waiting.pop(address)
    browser = next(iter(browsers))
    items = browsers.pop(browser)
    item = items.popleft()
    if items:
        browsers[browser] = items
    if browsers:
        waiting[address] = browsers
    return item


class Ending:
    """Something ends once, which threads and requests may wait for; a request does so without a thread."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def set(self) -> None:
        """It is over."""
        with self._lock:
            self._over.set()
            waiting, self._waiting = self._waiting, []
        for loop, over in waiting:
            with contextlib.suppress(RuntimeError):  # that loop has ended meanwhile
                loop.call_soon_threadsafe(over.set)

    def is_set(self) -> bool:
        """Whether it is over."""
        return self._over.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait in a thread; whether it is over."""
        return self._over.wait(seconds)

    async def waited(self, seconds: float) -> bool:
        """Wait in a request; whether it is over."""
        mine = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if self._over.is_set():
                return True
            self._waiting.append(mine)
        try:
            await asyncio.wait_for(mine[1].wait(), seconds)
        except TimeoutError:
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
        return self._over.is_set()
