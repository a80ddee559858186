"""Tables of the database. Times are seconds since 1970; of people it keeps no address and no e-mail."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

ROLES = ("learner", "instructor", "admin")
"""What people may do, from least to most."""
OPERATOR = "operator"
"""A right beside these: to watch collections, and nothing else. Admins have it by their role."""
COMMENT_STATES = ("visible", "hidden", "removed")
REPORT_STATES = ("open", "kept", "removed")
DECISIONS = ("hide", "restore", "remove", "dismiss")
NUGGET_STATES = ("draft", "review", "published", "withdrawn")
SURVEY_KINDS = ("yes-no", "choice", "number")


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """That a column holds one of these words."""
    return CheckConstraint(f"{column} in ({', '.join(repr(value) for value in values)})", name=f"{column}_known")


class Table(DeclarativeBase):
    """All tables; their constraints have names, so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


def _user(**options: Any) -> Mapped[int]:
    return mapped_column(ForeignKey("users.id", ondelete="CASCADE"), **options)


class User(Table):
    """Somebody with an account. `name_key` is the name as it is compared."""

    __tablename__ = "users"
    __table_args__ = (one_of("role", ROLES), {"sqlite_autoincrement": True})  # no id is ever given twice

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    name_key: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]
    role: Mapped[str] = mapped_column(default="learner")
    operator: Mapped[bool] = mapped_column(default=False, server_default=false())
    active: Mapped[bool] = mapped_column(default=True)
    created_day: Mapped[date]
    totp_secret: Mapped[bytes | None]
    totp_used: Mapped[int] = mapped_column(BigInteger, default=0)


class RecoveryCode(Table):
    """A code that stands in for a lost second factor, once."""

    __tablename__ = "recovery_codes"

    user_id: Mapped[int] = _user(primary_key=True)
    code_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)


class WebSession(Table):
    """A browser somebody is signed in with. The token itself is only in the browser."""

    __tablename__ = "web_sessions"

    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    user_id: Mapped[int] = _user(index=True)
    csrf: Mapped[str]
    verified: Mapped[bool] = mapped_column(default=False)
    created: Mapped[int] = mapped_column(BigInteger)
    last_seen: Mapped[int] = mapped_column(BigInteger)
    expires: Mapped[int] = mapped_column(BigInteger, index=True)


class Profile(Table):
    """What a learner told us about themselves, if anything."""

    __tablename__ = "profiles"

    user_id: Mapped[int] = _user(primary_key=True)
    roles: Mapped[list[str]] = mapped_column(JSON, default=list)
    knowledge: Mapped[str] = mapped_column(default="")
    goals: Mapped[list[str]] = mapped_column(JSON, default=list)


class Progress(Table):
    """How far somebody is in one nugget, as the browser keeps it."""

    __tablename__ = "progress"

    user_id: Mapped[int] = _user(primary_key=True)
    slug: Mapped[str] = mapped_column(primary_key=True)
    done: Mapped[dict[str, Any]] = mapped_column(JSON)


class Comment(Table):
    """What somebody said under a nugget. Who leaves takes the name along; the thread stays readable."""

    __tablename__ = "comments"
    __table_args__ = (one_of("state", COMMENT_STATES), Index(None, "slug", "created"))

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str]
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("comments.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    text: Mapped[str]
    created: Mapped[int] = mapped_column(BigInteger)
    edited: Mapped[int | None] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(default="visible")


class Report(Table):
    """That somebody, perhaps nobody known, found a comment wrong."""

    __tablename__ = "reports"
    __table_args__ = (one_of("state", REPORT_STATES),)

    id: Mapped[int] = mapped_column(primary_key=True)
    comment_id: Mapped[int] = mapped_column(ForeignKey("comments.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    reason: Mapped[str]
    created: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(default="open", index=True)


class Decision(Table):
    """What a moderator did about a comment, with a note that its author can read."""

    __tablename__ = "decisions"
    __table_args__ = (one_of("action", DECISIONS),)

    id: Mapped[int] = mapped_column(primary_key=True)
    comment_id: Mapped[int] = mapped_column(ForeignKey("comments.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    action: Mapped[str]
    note: Mapped[str] = mapped_column(default="")
    created: Mapped[int] = mapped_column(BigInteger)


class NuggetEntry(Table):
    """A nugget written in the school itself; its text is its newest version."""

    __tablename__ = "nuggets"
    __table_args__ = (one_of("state", NUGGET_STATES),)

    slug: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="draft")
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    position: Mapped[int] = mapped_column(default=0)
    published: Mapped[int | None]
    """The number of the version that readers see."""


class Version(Table):
    """One saved text of a nugget; never changed."""

    __tablename__ = "versions"
    __table_args__ = (UniqueConstraint("slug", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(ForeignKey("nuggets.slug", ondelete="CASCADE"))
    number: Mapped[int]
    text: Mapped[str]
    author_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created: Mapped[int] = mapped_column(BigInteger)
    note: Mapped[str] = mapped_column(default="")


class Upload(Table):
    """A picture, known by the digest of its bytes."""

    __tablename__ = "uploads"

    digest: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    size: Mapped[int]
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"), index=True)
    bytes: Mapped[bytes] = mapped_column(LargeBinary)


class VoteTally(Table):
    """Randomised votes, added up at once: no single one is kept."""

    __tablename__ = "vote_tallies"

    slug: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    reports: Mapped[int] = mapped_column(default=0)
    ones: Mapped[int] = mapped_column(default=0)


class VoteCast(Table):
    """That somebody voted on a nugget, so that nobody votes twice. Not how."""

    __tablename__ = "votes_cast"

    user_id: Mapped[int] = _user(primary_key=True)
    slug: Mapped[str] = mapped_column(primary_key=True)


class VoteToken(Table):
    """That some browser voted on some nugget: a hash of a random token, from which neither can be told."""

    __tablename__ = "vote_tokens"
    __table_args__ = ({"sqlite_with_rowid": False},)  # numbered rows would tell the order of the votes

    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)


class Usage(Table):
    """How often something happened in a period; read only through noise."""

    __tablename__ = "usage"

    period: Mapped[str] = mapped_column(primary_key=True)
    what: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(default=0)


def _survey(**options: Any) -> Mapped[str]:
    return mapped_column(ForeignKey("surveys.id", ondelete="CASCADE"), **options)


class Survey(Table):
    """A question that somebody asks, and its odds. Of who made it, only the hash of a key is kept."""

    __tablename__ = "surveys"
    __table_args__ = (one_of("kind", SURVEY_KINDS),)

    id: Mapped[str] = mapped_column(primary_key=True)
    key_hash: Mapped[bytes] = mapped_column(LargeBinary)
    kind: Mapped[str]
    question: Mapped[str]
    answers: Mapped[list[str]] = mapped_column(JSON)
    low: Mapped[str]
    high: Mapped[str]
    measure: Mapped[str]
    flip: Mapped[str]
    closes: Mapped[date] = mapped_column(index=True)
    closed: Mapped[bool] = mapped_column(default=False)
    public: Mapped[bool]
    links: Mapped[int]
    reports: Mapped[int] = mapped_column(default=0)
    reported: Mapped[int] = mapped_column(default=0, server_default="0")


class SurveyTally(Table):
    """Randomised answers, added up at once: how many reports of a batch say what."""

    __tablename__ = "survey_tallies"
    __table_args__ = ({"sqlite_with_rowid": False},)

    survey_id: Mapped[str] = _survey(primary_key=True)
    batch: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(default=0)


class SurveyLink(Table):
    """A personal link that was handed out: a hash of its token."""

    __tablename__ = "survey_links"
    __table_args__ = ({"sqlite_with_rowid": False},)

    survey_id: Mapped[str] = _survey(primary_key=True)
    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)


class SurveyToken(Table):
    """That a link or a browser was used for an answer: a hash, without order and apart from what was answered."""

    __tablename__ = "survey_tokens"
    __table_args__ = ({"sqlite_with_rowid": False},)

    survey_id: Mapped[str] = _survey(primary_key=True)
    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)


class Classroom(Table):
    """A class of one teacher. Whoever has its code can join; without a code nobody can."""

    __tablename__ = "classes"

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = _user(index=True)
    name: Mapped[str]
    code: Mapped[str | None] = mapped_column(unique=True)
    ends: Mapped[date] = mapped_column(index=True)


class ClassPupil(Table):
    """That somebody joined a class, and how they are called there. `mark` names them in addresses."""

    __tablename__ = "class_pupils"
    __table_args__ = (UniqueConstraint("class_id", "pseudonym_key"), {"sqlite_with_rowid": False})  # nor in which order

    class_id: Mapped[str] = mapped_column(ForeignKey("classes.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = _user(primary_key=True, index=True)
    mark: Mapped[str] = mapped_column(unique=True)
    pseudonym: Mapped[str]
    pseudonym_key: Mapped[str]


class ClassResult(Table):
    """That a pupil finished a nugget since joining: the day, and how many questions were answered right."""

    __tablename__ = "class_results"
    __table_args__ = (
        ForeignKeyConstraint(
            ["class_id", "user_id"], ["class_pupils.class_id", "class_pupils.user_id"], ondelete="CASCADE"
        ),
        {"sqlite_with_rowid": False},
    )

    class_id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[date]
    right: Mapped[int]
