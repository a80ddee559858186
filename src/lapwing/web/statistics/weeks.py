"""How the school is used, told under differential privacy.

The unit is a browser: what one browser adds to a week is bounded where it is collected, to `MOST` things (a nugget
opened, a nugget finished), each once. So the counts of a week, all of them together, change by at most `MOST` when one
browser is added or left out, and `Laplace` releases them as one vector. Nobody sees the exact counts: they are deleted
once the week is released.

Privacy: `EPSILON` for every week that is released, paid from what was granted in the ledger beside the database:
`FIRST` for ever, and what admins granted besides, each grant with its day. It never renews itself. The plain sum holds
whatever instructors choose to look at. Somebody with two browsers is two browsers. The bound is kept by the
browser; who changes their browser so that it tells more weakens the promise to themselves only, but can distort
the numbers, as far as the limits for an address go.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from sqlalchemy.orm import Session

from lapwing.errors import BudgetExceeded
from lapwing.mechanisms import Laplace
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Ledger, PureDP
from lapwing.privacy.ledger import Charge
from lapwing.web.service.database import Database
from lapwing.web.service.settings import Settings
from lapwing.web.statistics.store import usage

EPSILON = Fraction(1, 2)
"""What a released week costs."""
FIRST = Fraction(10)
"""What all released weeks may cost together, for ever, unless an admin grants more."""
GRANTS = (1, 2, 5, 10)
"""What an admin may grant at once."""
MOST = 6
"""How many things a browser tells in a week."""
KINDS = ("opened", "finished")
UNIT = "browser"
OFFERED = 8
"""How many of the last weeks can be released; which ones does not depend on what happened in them."""
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_GRANT = re.compile(r"usage (?:grant (?P<number>\d+) of (?P<day>\d{4}-\d{2}-\d{2})|(?P<year>\d{4}))")
"""How the ledger names a grant; the first schools had one for each year."""


@dataclass(frozen=True, slots=True, order=True)
class Week:
    """A week of the calendar, from Monday to Sunday in UTC."""

    year: int
    number: int

    @classmethod
    def of(cls, day: date) -> Week:
        """The week of a day."""
        year, number, _ = day.isocalendar()
        return cls(year, number)

    @classmethod
    def read(cls, text: str) -> Week | None:
        """From 2026-W46; nothing if there is no such week."""
        match = _WEEK.fullmatch(text)
        if not match:
            return None
        try:
            date.fromisocalendar(int(match[1]), int(match[2]), 1)
        except ValueError:
            return None
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02}"

    @property
    def first(self) -> date:
        """Its Monday."""
        return date.fromisocalendar(self.year, self.number, 1)

    @property
    def last(self) -> date:
        """Its Sunday."""
        return self.first + timedelta(days=6)


@dataclass(frozen=True, slots=True)
class Number:
    """A released count, and where the exact one lies with 95 % confidence."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Row:
    """What was released about a nugget."""

    slug: str
    opened: Number
    finished: Number


@dataclass(frozen=True, slots=True)
class Grant:
    """What somebody allowed to be spent, and what of it was."""

    name: str
    when: str
    spent: Fraction
    left: Fraction

    @property
    def allowed(self) -> Fraction:
        """All of it."""
        return self.spent + self.left


@dataclass(frozen=True, slots=True)
class Budget:
    """All that was ever granted."""

    grants: tuple[Grant, ...]

    @property
    def allowed(self) -> Fraction:
        """What all releases together may cost at most."""
        return sum((grant.allowed for grant in self.grants), Fraction())

    @property
    def spent(self) -> Fraction:
        """What they have cost."""
        return sum((grant.spent for grant in self.grants), Fraction())

    @property
    def left(self) -> Fraction:
        """What they may still cost."""
        return self.allowed - self.spent

    @property
    def weeks_left(self) -> int:
        """How many more weeks can be released; a week is paid from one grant."""
        return sum(int(grant.left / EPSILON) for grant in self.grants)


def today() -> date:
    """The day, in UTC."""
    return datetime.now(UTC).date()


def mechanism(dimensions: int) -> Laplace:
    """The noise on the counts of a week."""
    return Laplace(epsilon=EPSILON, sensitivity=MOST, dimensions=dimensions, on_grid=True, unit=UNIT)


def within(nuggets: int) -> int:
    """How far a number of a week may be off, with 95 % confidence."""
    return int(mechanism(nuggets * len(KINDS)).accuracy(0.95))


def ledger_at(settings: Settings) -> str | Path:
    """Where it is kept what was spent: beside the database, but not in a copy of it that may be put back."""
    if settings.file is not None:
        return settings.file.with_suffix(".ledger")
    return settings.database.replace("postgresql+psycopg://", "postgresql://", 1)


class Statistics:
    """What was released, and what may still be."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._ledger, self._database = Ledger(ledger_at(settings)), database

    def offered(self, day: date) -> list[Week]:
        """Weeks that are over, newest first."""
        return [Week.of(day - timedelta(weeks=back)) for back in range(1, OFFERED + 1)]

    def released(self) -> list[Week]:
        """Weeks that were paid for, newest first."""
        return sorted(self._paid(), reverse=True)

    def budget(self) -> Budget:
        """All that was granted. The first time, this opens the first grant."""
        if not (names := self._names()):
            self._open(1, FIRST)
            names = self._names()
        return Budget(tuple(self._grant(name) for name in names))

    def grant(self, epsilon: int, seen: int) -> bool:
        """Allow more, for good. Not if there are not as many grants as whoever decided this has `seen`."""
        if len(self.budget().grants) != seen:
            return False
        self._open(seen + 1, Fraction(epsilon))
        return True

    def read(self, week: Week) -> list[Row] | None:
        """What was released about a week, if it was; this costs nothing."""
        if week not in self.released():
            return None
        stored = self._charge(week).stored
        return _rows(stored) if stored is not None else None

    def release(self, week: Week, slugs: list[str], day: date, entropy: Entropy = SYSTEM) -> list[Row]:
        """Pay for a week that is over and release it. The second time it costs nothing and says the same."""
        if week.last >= day:
            raise ValueError(f"{week} is not over")
        charge = self._charge(week, entropy)
        stored = charge.stored
        if stored is None:
            with self._database.reading() as db:
                noisy = _noisy(db, week, slugs, entropy)
            stored = self._ledger.record(charge, noisy)
        with self._database.writing() as db:
            usage.forget(db, week.first, week.last)
        return _rows(stored)

    def _open(self, number: int, epsilon: Fraction) -> None:
        self._ledger.open(f"usage grant {number} of {today()}", PureDP(epsilon, unit=UNIT))

    def _names(self) -> list[str]:
        """The grants of the ledger, oldest first."""
        grants = [match for name in self._ledger.datasets() if (match := _GRANT.fullmatch(name))]
        return [match[0] for match in sorted(grants, key=lambda grant: (int(grant["number"] or 0), grant[0]))]

    def _grant(self, name: str) -> Grant:
        spent, left, named = self._ledger.spent(name), self._ledger.remaining(name), _GRANT.fullmatch(name)
        assert isinstance(spent, PureDP)
        assert isinstance(left, PureDP)
        assert named is not None
        return Grant(name, named["day"] or named["year"], Fraction(spent.epsilon), Fraction(left.epsilon))

    def _paid(self) -> dict[Week, str]:
        """Weeks that were paid for, with the grant that paid."""
        bodies = [entry.body for entry in self._ledger.entries() if entry.act == "charge"]
        charges = (
            (Week.read(str(body.get("key")).removeprefix("usage ")), next(iter(body["costs"]))) for body in bodies
        )
        return {week: name for week, name in charges if week is not None}

    def _charge(self, week: Week, entropy: Entropy = SYSTEM) -> Charge:
        """Pay for a week from the first grant that covers it; or give what was paid before."""
        if paid := self._paid().get(week):
            return self._charge_to(paid, week, entropy)
        names = [grant.name for grant in self.budget().grants if grant.left >= EPSILON]
        for name in names[:-1]:
            with suppress(BudgetExceeded):  # somebody was faster
                return self._charge_to(name, week, entropy)
        return self._charge_to(names[-1] if names else self._names()[-1], week, entropy)

    def _charge_to(self, name: str, week: Week, entropy: Entropy) -> Charge:
        loss, binding = mechanism(1).privacy_loss(), [str(week), MOST]
        return self._ledger.charge(name, loss, key=f"usage {week}", binding=binding, seeded=not entropy.private)


def _noisy(db: Session, week: Week, slugs: list[str], entropy: Entropy) -> bytes:
    exact = usage.exact(db, week.first, week.last)
    noise = mechanism(len(slugs) * len(KINDS))
    released = noise.release([exact.get(f"{kind} {slug}", 0) for slug in slugs for kind in KINDS], entropy)
    return json.dumps({"slugs": slugs, "counts": released, "within": noise.accuracy(0.95)}).encode()


def _rows(stored: bytes) -> list[Row]:
    stored_rows = json.loads(stored)
    within = int(stored_rows["within"])
    counts = iter(stored_rows["counts"])

    def number(value: int) -> Number:
        return Number(max(0, value), max(0, value - within), max(0, value + within))

    return [Row(slug, number(next(counts)), number(next(counts))) for slug in stored_rows["slugs"]]
