"""Rate limits: counted in memory only, by address and by account."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from fastapi import Request

from lapwing.web.service.problems import Problem


@dataclass(frozen=True, slots=True)
class Rule:
    """At most so many within so many seconds."""

    most: int
    seconds: float


RULES = {
    "sign-in": Rule(5, 60),
    "sign-in hourly": Rule(25, 3600),
    "sign-in address": Rule(30, 60),
    "sign-in wrong": Rule(100, 3600),  # of a name, from anywhere: then each place is slowed, and nobody locked out
    "sign-in slowed": Rule(3, 3600),
    "sign-up": Rule(60, 3600),  # a class behind one router
    "password": Rule(5, 60),
    "code": Rule(5, 60),
    "code daily": Rule(50, 86400),  # three codes in a million fit: in a year of guessing, one in twenty gets in
    "progress": Rule(60, 60),
    "class": Rule(20, 3600),
    "class code": Rule(10, 600),  # of an account; right ones are not counted
    "class code wrong": Rule(100, 3600),  # of an address: then each account is slowed there, and nobody locked out
    "class code slowed": Rule(3, 3600),
    "comment": Rule(10, 600),
    "report": Rule(10, 600),
    "preview": Rule(60, 600),
    "usage": Rule(600, 3600),
    "vote": Rule(60, 60),
    "save": Rule(120, 60),
    "nugget preview": Rule(240, 60),
    "upload": Rule(30, 600),
    "video": Rule(12, 600),
    "export": Rule(10, 600),
    "lab preview": Rule(240, 60),
    "lab release": Rule(120, 60),
    "lab export": Rule(120, 60),
    "lab bring": Rule(240, 600),  # a lecture hall behind one router; what an address holds is limited besides
    "lab state": Rule(120, 600),
    "lab propose": Rule(60, 600),
    "guide": Rule(120, 60),
    "tokens": Rule(30, 600),
    "survey": Rule(20, 3600),
    "survey answer": Rule(300, 60),  # a lecture hall may have one address
    "survey links": Rule(20, 600),
}
_MOST_KEYS = 100_000


class Limits:
    """What was done lately. Old entries are forgotten; when there are too many, the oldest go first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, rules: dict[str, Rule] | None = None) -> None:
        self._clock, self.rules = clock, RULES if rules is None else rules
        self._lock = threading.Lock()
        self._done: dict[Hashable, deque[float]] = {}

    def take(self, what: str, *keys: Hashable) -> None:
        """Count one for every key, or refuse if one of them has none left."""
        rule, now = self.rules[what], self._clock()
        with self._lock:
            counted = []
            for key in keys:
                times = self._done.get((what, key)) or deque()
                while times and times[0] <= now - rule.seconds:
                    times.popleft()
                if len(times) >= rule.most:
                    wait = max(1, round(times[0] + rule.seconds - now + 0.5))
                    raise Problem(429, headers={"retry-after": str(wait)})
                counted.append((key, times))
            for key, times in counted:
                times.append(now)
                self._done.pop((what, key), None)  # what was used last stands last
                self._done[what, key] = times
            self._forget()

    def note(self, what: str, key: Hashable) -> None:
        """Count one, also where there are too many."""
        rule, now = self.rules[what], self._clock()
        with self._lock:
            times = self._done.pop((what, key), None) or deque()
            times.append(now)
            while len(times) > rule.most:
                times.popleft()  # the newest tell enough
            self._done[what, key] = times
            self._forget()

    def _forget(self) -> None:
        while len(self._done) > _MOST_KEYS:
            self._done.pop(next(iter(self._done)))

    def reached(self, what: str, key: Hashable) -> bool:
        """Whether there were as many as the rule has, within its time."""
        rule, now = self.rules[what], self._clock()
        with self._lock:
            times = self._done.get((what, key)) or ()
            return sum(at > now - rule.seconds for at in times) >= rule.most

    def give_back(self, what: str, *keys: Hashable) -> None:
        """It went well: do not count it."""
        with self._lock:
            for key in keys:
                if times := self._done.get((what, key)):
                    times.pop()


def address_of(request: Request) -> str:
    """Whom a request came from, as far as limits go: of a long address, the network."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return host
