"""What moderators look at, and what they decided. All reports about one comment are one entry."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from lapwing.web.discussion.store import comments
from lapwing.web.discussion.store.comments import StoredComment
from lapwing.web.service.tables import Comment, Decision, Report, User

AFTER = {"hide": "hidden", "restore": "visible", "remove": "removed", "dismiss": None}
"""The state of a comment after a decision; nothing if it stays as it is."""


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One line of the history."""

    comment_id: int
    slug: str
    action: str
    note: str
    by: str | None
    created: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A comment to look at: what it answers, why people reported it, and what was decided before."""

    comment: StoredComment
    answers: StoredComment | None
    reasons: list[str]
    people: int
    latest: int
    history: list[DecisionLine]


def queue(db: Session, *, most: int) -> list[Entry]:
    """Comments with open reports; what most people reported comes first."""
    people = func.count(func.distinct(Report.user_id))
    statement = select(Report.comment_id).where(Report.state == "open").group_by(Report.comment_id)
    return _entries(db, list(db.scalars(statement.order_by(people.desc(), func.min(Report.id)).limit(most))))


def hidden(db: Session, *, most: int) -> list[Entry]:
    """Comments that are hidden, newest first."""
    statement = select(Comment.id).where(Comment.state == "hidden").order_by(Comment.id.desc())
    return _entries(db, list(db.scalars(statement.limit(most))))


def entry(db: Session, comment_id: int) -> Entry | None:
    """One comment, reported or not."""
    entries = _entries(db, [comment_id])
    return entries[0] if entries else None


def counts(db: Session) -> dict[str, int]:
    """How many comments wait, and how many are hidden."""
    waiting = select(func.count(func.distinct(Report.comment_id))).where(Report.state == "open")
    away = select(func.count()).select_from(Comment).where(Comment.state == "hidden")
    return {"open": db.scalar(waiting) or 0, "hidden": db.scalar(away) or 0}


def history(db: Session, *, most: int, comment_ids: list[int] | None = None) -> list[DecisionLine]:
    """What was decided, newest first."""
    statement = (
        select(Decision.comment_id, Comment.slug, Decision.action, Decision.note, User.name, Decision.created)
        .join(Comment, Comment.id == Decision.comment_id)
        .outerjoin(User, User.id == Decision.user_id)
        .order_by(Decision.id.desc())
        .limit(most)
    )
    if comment_ids is not None:
        statement = statement.where(Decision.comment_id.in_(comment_ids))
    return [DecisionLine(*row) for row in db.execute(statement)]


def decide(db: Session, comment: StoredComment, action: str, note: str, user_id: int, now: int) -> bool:
    """Do it, unless the comment is another one by now; what was removed is gone for good."""
    state = AFTER[action]
    values = {"state": state or comment.state, "text": "" if state == "removed" else comment.text}
    change = (
        update(Comment)
        .where(Comment.id == comment.id, Comment.text == comment.text, Comment.state == comment.state)
        .values(**values)
    )
    if not db.connection().execute(change).rowcount:
        return False
    if action != "restore":
        comments.settle(db, comment.id, "kept" if action == "dismiss" else "removed")
    db.add(Decision(comment_id=comment.id, user_id=user_id, action=action, note=note, created=now))
    return True


def _entries(db: Session, ids: list[int]) -> list[Entry]:
    texts = comments.read(db, ids)
    above = comments.read(db, [comment.parent_id for comment in texts.values() if comment.parent_id is not None])
    reports: dict[int, list[tuple[str, int | None, int]]] = {}
    statement = select(Report.comment_id, Report.reason, Report.user_id, Report.created).where(
        Report.comment_id.in_(ids), Report.state == "open"
    )
    for number, reason, user_id, created in db.execute(statement.order_by(Report.id)):
        reports.setdefault(number, []).append((reason, user_id, created))
    past = history(db, most=500, comment_ids=ids)
    entries = []
    for number in ids:
        if number not in texts:
            continue
        comment, complaints = texts[number], reports.get(number, [])
        people = len({user_id for _, user_id, _ in complaints})
        latest = max((created for *_, created in complaints), default=comment.created)
        decided = [decision for decision in past if decision.comment_id == number]
        answers = above.get(comment.parent_id or 0)
        entries.append(Entry(comment, answers, [reason for reason, *_ in complaints], people, latest, decided))
    return entries
