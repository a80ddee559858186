"""How often nuggets are opened and finished, day by day. Exact, without anybody's name, and read by one function only:
the one that adds the noise."""

from __future__ import annotations

from datetime import date, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from lapwing.web.service.tables import Usage

KEPT_FOR = timedelta(days=365)


def count(db: Session, day: date, what: str) -> None:
    """One more."""
    more = update(Usage).where(Usage.period == day.isoformat(), Usage.what == what).values(count=Usage.count + 1)
    if db.connection().execute(more).rowcount:
        return
    try:
        with db.begin_nested():
            db.add(Usage(period=day.isoformat(), what=what, count=1))
    except IntegrityError:  # somebody was faster
        db.connection().execute(more)


def exact(db: Session, first: date, last: date) -> dict[str, int]:
    """The counts of some days. They are not for anybody's eyes."""
    statement = (
        select(Usage.what, func.sum(Usage.count))
        .where(Usage.period >= first.isoformat(), Usage.period <= last.isoformat())
        .group_by(Usage.what)
    )
    return {what: int(total) for what, total in db.execute(statement)}


def forget(db: Session, first: date, last: date) -> None:
    """The counts of these days are not needed any more, nor are very old ones."""
    db.execute(delete(Usage).where(Usage.period >= first.isoformat(), Usage.period <= last.isoformat()))
    db.execute(delete(Usage).where(Usage.period < (last - KEPT_FOR).isoformat()))
