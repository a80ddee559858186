"""Randomised votes, added up; and, apart from them, who need not be counted again."""

from __future__ import annotations

import hashlib

from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from lapwing.web.school.votes import Tally
from lapwing.web.service.tables import VoteCast, VoteTally, VoteToken


def digest(slug: str, token: str) -> bytes:
    """What is kept of a token: neither it nor the nugget can be told from it."""
    return hashlib.sha256(f"{slug}\n{token}".encode()).digest()


def cast(db: Session, slug: str, role: str, yes: bool, *, token: str, user_id: int | None) -> bool:
    """Count a report, once. What says that it was counted is kept apart from what it says."""
    marks: list[VoteToken | VoteCast] = [VoteToken(token_hash=digest(slug, token))]
    if user_id is not None:
        marks.append(VoteCast(user_id=user_id, slug=slug))
    try:
        with db.begin_nested():
            db.add_all(marks)
    except IntegrityError:
        return False
    _add(db, slug, role, yes)
    return True


def _add(db: Session, slug: str, role: str, yes: bool) -> None:
    here = (VoteTally.slug == slug, VoteTally.role == role)
    more = update(VoteTally).where(*here).values(reports=VoteTally.reports + 1, ones=VoteTally.ones + int(yes))
    if db.connection().execute(more).rowcount:
        return
    try:
        with db.begin_nested():
            db.add(VoteTally(slug=slug, role=role, reports=1, ones=int(yes)))
    except IntegrityError:  # somebody was faster
        db.connection().execute(more)


def cast_by(db: Session, user_id: int) -> list[str]:
    """The nuggets somebody voted on."""
    return list(db.scalars(select(VoteCast.slug).where(VoteCast.user_id == user_id).order_by(VoteCast.slug)))


def stamp(db: Session) -> tuple[int, int]:
    """Changes with every vote that is counted: all reports, and those that say yes."""
    row = db.execute(select(func.sum(VoteTally.reports), func.sum(VoteTally.ones))).one()
    return int(row[0] or 0), int(row[1] or 0)


def tallies(db: Session) -> dict[str, dict[str, Tally]]:
    """All of them, by nugget and role."""
    tallies: dict[str, dict[str, Tally]] = {}
    for row in db.scalars(select(VoteTally).order_by(VoteTally.slug, VoteTally.role)):
        tallies.setdefault(row.slug, {})[row.role] = Tally(row.reports, row.ones)
    return tallies
