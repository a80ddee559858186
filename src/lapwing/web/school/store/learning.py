"""What somebody told us about themselves, and how far they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from lapwing.web.school.nugget import ROLES
from lapwing.web.service.tables import Profile, Progress

KNOWLEDGE = {
    "": "I would rather not say",
    "new": "This is new to me",
    "some": "I know the idea",
    "good": "I have used it",
}
GOALS = {
    "understand": "Understand what the promise is",
    "decide": "Decide whether we should use it",
    "build": "Build something with it",
    "prove": "Follow the proofs",
    "teach": "Explain it to others",
}
_MOST_PARTS, _LONGEST_PART = 200, 120


@dataclass(frozen=True, slots=True)
class About:
    """A profile; all of it may be empty."""

    roles: tuple[str, ...] = ()
    knowledge: str = ""
    goals: tuple[str, ...] = ()

    def known(self) -> About:
        """Without anything we did not ask."""
        return About(
            tuple(role for role in ROLES if role in self.roles),
            self.knowledge if self.knowledge in KNOWLEDGE else "",
            tuple(goal for goal in GOALS if goal in self.goals),
        )


def about(db: Session, user_id: int) -> About:
    """What somebody told us."""
    kept = db.get(Profile, user_id)
    return About(tuple(kept.roles), kept.knowledge, tuple(kept.goals)) if kept else About()


def tell(db: Session, user_id: int, about: About) -> None:
    """Keep what somebody told us."""
    values = asdict(about.known())
    values |= {"roles": list(values["roles"]), "goals": list(values["goals"])}
    db.merge(Profile(user_id=user_id, **values))


def progress(db: Session, user_id: int) -> dict[str, dict[str, Any]]:
    """How far somebody is, nugget by nugget."""
    return {row.slug: row.done for row in db.scalars(select(Progress).where(Progress.user_id == user_id))}


def carry(db: Session, user_id: int, more: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Add what another browser knows; nothing that was done is ever undone."""
    known = progress(db, user_id)
    for slug, done in more.items():
        merged = _merged(known.get(slug, {}), done)
        if merged != known.get(slug):
            db.merge(Progress(user_id=user_id, slug=slug, done=merged))
            known[slug] = merged
    return known


def _merged(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    def together(name: str, kind: type) -> list[Any]:
        parts = [part for done in (first, other) for part in done.get(name, ()) if isinstance(part, kind)]
        short = [part for part in dict.fromkeys(parts) if len(str(part)) <= _LONGEST_PART]
        return short[:_MOST_PARTS]

    newest = max((first, other), key=lambda done: done.get("at", 0))
    return {
        "screens": together("screens", str),
        "questions": together("questions", int),
        "total": newest.get("total", 1),
        "at": newest.get("at", 0),
    }
