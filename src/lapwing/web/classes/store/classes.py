"""Classes: who teaches them, who joined under which pseudonym, and what pupils finished since they joined."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, delete, exists, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from lapwing.web.accounts import passwords
from lapwing.web.accounts.store import sessions
from lapwing.web.accounts.store.users import key_of, tidy
from lapwing.web.service.tables import ClassPupil, ClassResult, Classroom, User

KEPT_DAYS = 400
"""A class is for one school year; then it is deleted with all that is in it."""
MOST_TAUGHT, MOST_PUPILS, MOST_JOINED = 30, 100, 20
"""Classes of one teacher, pupils of one class, classes that one pupil is in."""
LETTERS = "bcdfghjkmnpqrstvwxz"
"""Of codes: none looks like another, none is a digit, and no words come of them. Eight letters have 34 bits."""
Outcome = Literal["joined", "before", "taken", "full", "too many"]
"""What became of the wish to join."""


@dataclass(frozen=True, slots=True)
class ClassDetails:
    """A class, and who teaches it."""

    id: str
    name: str
    teacher: str
    owner_id: int
    code: str | None
    """What pupils join with; nothing while the class is closed."""
    ends: date
    """The last day: then it is deleted."""
    active: bool
    """Whether its teacher may still look at it. If not, nobody can join and nothing is kept."""


@dataclass(frozen=True, slots=True)
class Completion:
    """When somebody finished a nugget, and how many of its questions they answered right."""

    day: date
    right: int


@dataclass(frozen=True, slots=True)
class Pupil:
    """All that a teacher sees of a pupil, and all that is kept for the class."""

    mark: str
    pseudonym: str
    finished: dict[str, Completion] = field(default_factory=dict)
    """By nugget."""


def add(db: Session, owner_id: int, name: str, today: date) -> str | None:
    """A new class that is open, or nothing if its teacher has too many."""
    mine = select(func.count()).where(Classroom.owner_id == owner_id)
    if (db.scalar(mine) or 0) >= MOST_TAUGHT:
        return None
    class_id = sessions.token()[:22]
    db.add(Classroom(id=class_id, owner_id=owner_id, name=name, code=None, ends=today + timedelta(days=KEPT_DAYS)))
    db.flush()
    renew(db, class_id)
    return class_id


def taught(db: Session, owner_id: int, today: date) -> list[tuple[ClassDetails, int]]:
    """The classes of a teacher by name, with how many pupils each has."""
    counted = select(func.count()).where(ClassPupil.class_id == Classroom.id).scalar_subquery()
    statement = (
        _classes(today, Classroom.owner_id == owner_id).add_columns(counted).order_by(Classroom.name, Classroom.id)
    )
    return [(_details(row), row[-1]) for row in db.execute(statement)]


def owned(db: Session, class_id: str, owner_id: int, today: date) -> ClassDetails | None:
    """A class, for its teacher only."""
    row = db.execute(_classes(today, Classroom.id == class_id, Classroom.owner_id == owner_id)).first()
    return _details(row) if row else None


def by_code(db: Session, code: str, today: date) -> ClassDetails | None:
    """The class that is open under this code."""
    row = db.execute(_classes(today, Classroom.code == code)).first()
    return details if row and (details := _details(row)).active else None


def rename(db: Session, class_id: str, name: str) -> None:
    """Another name."""
    db.execute(update(Classroom).where(Classroom.id == class_id).values(name=name))


def renew(db: Session, class_id: str) -> None:
    """Open a class with a new code; the old one does nothing any more."""
    for _ in range(8):  # two classes with one code are possible, though nobody will see it happen
        code = passwords.one_time(2, LETTERS)
        try:
            with db.begin_nested():
                db.execute(update(Classroom).where(Classroom.id == class_id).values(code=code))
            return
        except IntegrityError:
            continue


def close(db: Session, class_id: str) -> None:
    """Nobody can join any more."""
    db.execute(update(Classroom).where(Classroom.id == class_id).values(code=None))


def join(db: Session, class_id: str, user_id: int, pseudonym: str) -> Outcome:
    """Somebody agreed to be in a class under this name."""
    if db.get(ClassPupil, (class_id, user_id)):
        return "before"
    pupils = select(func.count()).where(ClassPupil.class_id == class_id)
    if (db.scalar(pupils) or 0) >= MOST_PUPILS:
        return "full"
    if count_joined(db, user_id) >= MOST_JOINED:
        return "too many"
    named = {"pseudonym": tidy(pseudonym), "pseudonym_key": key_of(pseudonym)}
    try:
        with db.begin_nested():
            db.add(ClassPupil(class_id=class_id, user_id=user_id, mark=sessions.token()[:16], **named))
    except IntegrityError:
        return "before" if db.get(ClassPupil, (class_id, user_id)) else "taken"
    return "joined"


def is_pupil(db: Session, class_id: str, user_id: int) -> bool:
    """Whether somebody is in a class."""
    return db.get(ClassPupil, (class_id, user_id)) is not None


def rename_pupil(db: Session, class_id: str, user_id: int, pseudonym: str) -> Literal["renamed", "taken", "no pupil"]:
    """Another name for somebody in a class; what they finished stays."""
    mine = update(ClassPupil).where(ClassPupil.class_id == class_id, ClassPupil.user_id == user_id)
    named = mine.values(pseudonym=tidy(pseudonym), pseudonym_key=key_of(pseudonym))
    try:
        with db.begin_nested():
            return "renamed" if db.connection().execute(named).rowcount else "no pupil"
    except IntegrityError:
        return "taken"


def count_joined(db: Session, user_id: int) -> int:
    """How many classes somebody is in."""
    return db.scalar(select(func.count()).where(ClassPupil.user_id == user_id)) or 0


def joined(db: Session, user_id: int, today: date) -> list[tuple[ClassDetails, Pupil]]:
    """The classes somebody is in, with what each teacher sees of them."""
    mine = exists().where(ClassPupil.class_id == Classroom.id, ClassPupil.user_id == user_id)
    classes = [_details(row) for row in db.execute(_classes(today, mine).order_by(Classroom.name, Classroom.id))]
    return [
        (details, _pupils(db, ClassPupil.class_id == details.id, ClassPupil.user_id == user_id)[0])
        for details in classes
    ]


def roster(db: Session, class_id: str) -> list[Pupil]:
    """All pupils of a class by pseudonym; nothing tells in which order they came."""
    return _pupils(db, ClassPupil.class_id == class_id)


def pupil(db: Session, class_id: str, mark: str) -> Pupil | None:
    """One pupil of a class."""
    return next(iter(_pupils(db, ClassPupil.class_id == class_id, ClassPupil.mark == mark)), None)


def finish(db: Session, user_id: int, slug: str, right: int, today: date) -> int:
    """Keep for every class of somebody that they finished a nugget; the first day stays. How many classes were told."""
    mine = exists().where(ClassPupil.class_id == Classroom.id, ClassPupil.user_id == user_id)
    class_ids = [details.id for row in db.execute(_classes(today, mine)) if (details := _details(row)).active]
    for class_id in class_ids:
        known = db.get(ClassResult, (class_id, user_id, slug))
        if known is None:
            db.add(ClassResult(class_id=class_id, user_id=user_id, slug=slug, day=today, right=right))
        else:
            known.right = max(known.right, right)
    return len(class_ids)


def leave(db: Session, class_id: str, user_id: int) -> bool:
    """Forget all that a class knows of somebody."""
    return _delete_pupils(db, ClassPupil.class_id == class_id, ClassPupil.user_id == user_id)


def remove_pupil(db: Session, class_id: str, mark: str) -> bool:
    """The same, by the mark that the teacher's pages have."""
    return _delete_pupils(db, ClassPupil.class_id == class_id, ClassPupil.mark == mark)


def remove(db: Session, class_id: str) -> None:
    """Forget a class and all that belongs to it."""
    db.execute(delete(Classroom).where(Classroom.id == class_id))


def remove_ended(db: Session, today: date) -> None:
    """Forget the classes whose time is over."""
    db.execute(delete(Classroom).where(Classroom.ends < today))


def any_ended(db: Session, today: date) -> bool:
    """Whether there are such."""
    return bool(db.scalar(select(exists().where(Classroom.ends < today))))


def _classes(today: date, *which: ColumnElement[bool]) -> Select[Classroom, str, str, bool]:
    statement = select(Classroom, User.name, User.role, User.active).join(User, User.id == Classroom.owner_id)
    return statement.where(Classroom.ends >= today, *which)


def _details(row: Any) -> ClassDetails:
    kept, teacher, role, active = row[:4]
    may = active and role != "learner"
    return ClassDetails(kept.id, kept.name, teacher, kept.owner_id, kept.code, kept.ends, may)


def _pupils(db: Session, *which: ColumnElement[bool]) -> list[Pupil]:
    people = db.execute(select(ClassPupil).where(*which).order_by(ClassPupil.pseudonym_key)).scalars()
    pupils = {(person.class_id, person.user_id): Pupil(person.mark, person.pseudonym) for person in people}
    same = (ClassResult.class_id == ClassPupil.class_id, ClassResult.user_id == ClassPupil.user_id)
    for entry in db.scalars(select(ClassResult).join(ClassPupil, same[0] & same[1]).where(*which)):
        pupils[entry.class_id, entry.user_id].finished[entry.slug] = Completion(entry.day, entry.right)
    return list(pupils.values())


def _delete_pupils(db: Session, *which: ColumnElement[bool]) -> bool:
    return bool(db.connection().execute(delete(ClassPupil).where(*which)).rowcount)
