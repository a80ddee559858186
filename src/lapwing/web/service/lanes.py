"""Queues for slow work, so that it never takes the threads that show pages.

A request that waits for its turn in a lane waits in the event loop and takes no thread. When too many wait, the next
one is refused at once and told when to come back.

    @router.post("/preview")
    @in_lane("drafts")
    def preview(asked: Asked, request: Request, site: TheSite, person: Learner) -> Response: ...
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import anyio
from anyio import to_thread
from fastapi import Request

from lapwing.web.service.limits import address_of
from lapwing.web.service.problems import Problem

if TYPE_CHECKING:
    from lapwing.web.accounts.sessions import Person
    from lapwing.web.lab.bench import Bench

Made = TypeVar("Made")


@dataclass(eq=False)
class Lane:
    """A kind of work: how much of it runs at once, and how many requests may be in it, in all and of one person."""

    at_once: int
    most: int
    most_each: int
    busy: str
    """What those are told who do not fit in."""
    _inside: Counter[Hashable] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.CapacityLimiter] = field(
        default_factory=WeakKeyDictionary
    )

    async def run(self, whose: Hashable, work: Callable[[], Made]) -> Made:
        """Do this in a thread of the lane when its turn comes; `whose` is the person or the address that asks."""
        self._enter(whose)
        try:
            return await to_thread.run_sync(work, limiter=self._limiter())
        finally:
            self._leave(whose)

    def _enter(self, whose: Hashable) -> None:
        with self._lock:
            if self._inside[whose] >= self.most_each:
                raise Problem(429, self.busy, headers={"retry-after": "1"})
            if self._inside.total() >= self.most:
                raise Problem(503, self.busy, headers={"retry-after": "2"})
            self._inside[whose] += 1

    def _leave(self, whose: Hashable) -> None:
        with self._lock:
            self._inside[whose] -= 1
            self._inside += Counter()  # forget those that have none left

    def _limiter(self) -> anyio.CapacityLimiter:
        """The one of the event loop that is running: it cannot be shared between two."""
        return self._threads.setdefault(asyncio.get_running_loop(), anyio.CapacityLimiter(self.at_once))


class Lanes:
    """The lanes of one school."""

    def __init__(self) -> None:
        self.drafts = Lane(1, 20, 3, "Many drafts are being looked at. Please try again in a moment.")
        self.passwords = Lane(2, 60, 30, "Many people are signing in. Please try again in a few seconds.")
        self.questions = Lane(4, 600, 6, "Many questions are being looked at. Please try again in a moment.")
        self.releases = Lane(4, 600, 4, "Several answers are on their way to you. Please wait for one of them.")


def in_lane(name: str) -> Callable[[Callable[..., Made]], Callable[..., Coroutine[Any, Any, Made]]]:
    """A route that runs in this lane of its school; it takes `request`, `site`, and `person` or a `bench`."""

    def decorate(route: Callable[..., Made]) -> Callable[..., Coroutine[Any, Any, Made]]:
        @wraps(route)
        async def queued(**given: Any) -> Made:
            lane = getattr(given["site"].lanes, name)
            response: Made = await lane.run(_whose(**given), partial(route, **given))
            return response

        return queued

    return decorate


def _whose(request: Request, person: Person | None = None, bench: Bench | None = None, **_: object) -> Hashable:
    """A class has one address, so a browser is known by its table or its account where it has one."""
    if bench is not None:
        return bench.owner
    return address_of(request) if person is None else person.id
