"""Surveys: the question, tallies of reports, and apart from them which links were used."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from lapwing.web.accounts.store import sessions
from lapwing.web.service.database import Database, overwrite
from lapwing.web.service.tables import Survey, SurveyLink, SurveyTally, SurveyToken
from lapwing.web.survey.parameters import Design
from lapwing.web.survey.results import batch_of

KEPT_DAYS = 90
"""So long after its last day a survey can still be read; then it is deleted."""
Outcome = Literal["counted", "before", "closed", "stranger"]
"""What became of a report: counted now or before, too late, or sent with a link that nobody handed out."""


class _Closed(Exception):
    """Somebody closed the survey in between."""


@dataclass(frozen=True, slots=True)
class StoredSurvey:
    """A survey as it stands."""

    id: str
    design: Design
    closes: date
    closed: bool
    public: bool
    links: int
    reports: int

    def open_on(self, today: date) -> bool:
        """Whether it takes answers."""
        return not self.closed and today <= self.closes

    @property
    def deleted_on(self) -> date:
        """When it goes by itself."""
        return self.closes + timedelta(days=KEPT_DAYS)


def digest(survey_id: str, token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(f"{survey_id}\n{token}".encode()).digest()


def personal_token(key: str, number: int) -> str:
    """The token of a personal link: made from the key of the survey, so that nobody has to keep the list."""
    return hmac.new(key.encode(), f"link {number}".encode(), hashlib.sha256).hexdigest()[:32]


def add(db: Session, design: Design, *, closes: date, public: bool, links: int, today: date) -> tuple[str, str]:
    """Make a survey. Returns its name and the key of its author, which is shown once. Old surveys are deleted."""
    overwrite(db)
    db.execute(delete(Survey).where(Survey.closes < today - timedelta(days=KEPT_DAYS)))
    survey_id, key = sessions.token()[:16], sessions.token()
    db.add(
        Survey(
            id=survey_id,
            key_hash=sessions.digest(key),
            kind=design.kind,
            question=design.question,
            answers=list(design.answers),
            low=design.low,
            high=design.high,
            measure=design.measure,
            flip=str(design.flip),
            closes=closes,
            closed=False,
            public=public,
            links=links,
            reports=0,
        )
    )
    db.flush()
    hashes = sorted(digest(survey_id, personal_token(key, number)) for number in range(links))  # no order is kept
    if hashes:
        db.execute(insert(SurveyLink), [{"survey_id": survey_id, "token_hash": token_hash} for token_hash in hashes])
    return survey_id, key


def find(db: Session, survey_id: str) -> StoredSurvey | None:
    """A survey by its name."""
    row = db.get(Survey, survey_id)
    return None if row is None else _kept(row)


def with_key(db: Session, survey_id: str, key: str) -> StoredSurvey | None:
    """A survey, for the holder of its key."""
    row = db.get(Survey, survey_id)
    return _kept(row) if row is not None and hmac.compare_digest(row.key_hash, sessions.digest(key)) else None


def _kept(row: Survey) -> StoredSurvey:
    design = Design(
        kind=row.kind,
        question=row.question,
        answers=tuple(row.answers),
        low=row.low,
        high=row.high,
        measure=row.measure,
        flip=Fraction(row.flip),
    )
    return StoredSurvey(row.id, design, row.closes, row.closed, row.public, row.links, row.reports)


def link_state(db: Session, survey: StoredSurvey, token: str) -> Literal["fresh", "used", "unknown"]:
    """Whether a personal link can still be used."""
    key = (survey.id, digest(survey.id, token))
    if db.get(SurveyLink, key) is None:
        return "unknown"
    return "used" if db.get(SurveyToken, key) is not None else "fresh"


def answer(db: Session, survey: StoredSurvey, value: int, token: str, today: date) -> Outcome:
    """Count a report, once for each token. What says that it came is kept apart from what it says.

    The row of the survey is changed before the tally, so two reports at once are counted one after the other.
    """
    used = digest(survey.id, token)
    if survey.links and db.get(SurveyLink, (survey.id, used)) is None:
        return "stranger"
    if db.get(SurveyToken, (survey.id, used)) is not None:
        return "before"
    if not survey.open_on(today):
        return "closed"
    still = (Survey.id == survey.id, Survey.closed.is_(False))
    one_more = update(Survey).where(*still).values(reports=Survey.reports + 1).returning(Survey.reports)
    try:
        with db.begin_nested():
            db.execute(insert(SurveyToken).values(survey_id=survey.id, token_hash=used))
            number = db.connection().execute(one_more).scalar()
            if number is None:
                raise _Closed
    except IntegrityError:
        return "before"
    except _Closed:
        return "closed"
    _count(db, survey.id, batch_of(number), value)
    return "counted"


def _count(db: Session, survey_id: str, batch: int, value: int) -> None:
    here = (SurveyTally.survey_id == survey_id, SurveyTally.batch == batch, SurveyTally.value == value)
    more = update(SurveyTally).where(*here).values(count=SurveyTally.count + 1)
    if not db.connection().execute(more).rowcount:
        db.execute(insert(SurveyTally).values(survey_id=survey_id, batch=batch, value=value, count=1))


def batches(db: Session, survey: StoredSurvey) -> dict[int, list[int]]:
    """The tally of every batch in which there is a report."""
    batches: dict[int, list[int]] = {}
    for row in db.scalars(select(SurveyTally).where(SurveyTally.survey_id == survey.id)):
        batches.setdefault(row.batch, [0] * survey.design.values)[row.value] = row.count
    return batches


def report(db: Session, survey_id: str) -> None:
    """Somebody finds that something is wrong with it; who does is not kept."""
    db.execute(update(Survey).where(Survey.id == survey_id).values(reported=Survey.reported + 1))


def dismiss(db: Session, survey_id: str) -> None:
    """Nothing is wrong with it."""
    db.execute(update(Survey).where(Survey.id == survey_id).values(reported=0))


@dataclass(frozen=True, slots=True)
class ListedSurvey:
    """What moderators see of a survey: its words, and how often it was reported. No answers, and not how many."""

    id: str
    kind: str
    question: str
    answers: tuple[str, ...]
    measure: str
    closes: date
    closed: bool
    reported: int


def listed(db: Session, most: int) -> tuple[list[ListedSurvey], int]:
    """Surveys for moderators, those that were reported most often first; and how many there are."""
    names = (Survey.id, Survey.kind, Survey.question, Survey.answers, Survey.measure)
    statement = select(*names, Survey.closes, Survey.closed, Survey.reported)
    rows = db.execute(statement.order_by(Survey.reported.desc(), Survey.closes.desc(), Survey.id).limit(most))
    surveys = [
        ListedSurvey(name, kind, question, tuple(answers), measure, closes, closed, reported)
        for name, kind, question, answers, measure, closes, closed, reported in rows
    ]
    return surveys, db.scalar(select(func.count()).select_from(Survey)) or 0


def close(db: Session, survey_id: str) -> None:
    """No more answers."""
    db.execute(update(Survey).where(Survey.id == survey_id).values(closed=True))


def remove(database: Database, survey_id: str) -> None:
    """Forget a survey and all that belongs to it; in SQLite its bytes are overwritten, in the journal, too."""
    with database.erasing() as db:
        db.execute(delete(Survey).where(Survey.id == survey_id))
