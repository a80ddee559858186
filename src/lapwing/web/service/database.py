"""The database of the school: short transactions, durable once they are acknowledged, and migrations at the start."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from lapwing.errors import LapwingError, MissingExtra
from lapwing.web.service.tables import Table

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

_PATIENCE = 10.0
"""Seconds that one writer waits for another."""
_MIGRATING = 0x6C617077
"""The lock two servers of one team meet at, so that one of them migrates."""

_ONE_AT_A_TIME = threading.Lock()
"""Alembic tells its steps about the connection by a global variable."""


class UnusableDatabase(LapwingError):
    """A database that cannot be opened, or is not ours."""

    def __init__(self, engine: Engine, why: str) -> None:
        shown = engine.url.render_as_string(hide_password=True)
        super().__init__(
            f"{shown} cannot be used: {why}. Name another with --database, or see to its folder and rights."
        )


class Database:
    """Transactions on a database whose tables are there. Readers never wait for writers."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self._writing = self.engine.execution_options(writes=True)
        try:
            if not _is_newest(self.engine):
                migrate(self._writing)
        except UnusableDatabase:
            self.close()
            raise
        except DatabaseError as error:
            self.close()
            raise UnusableDatabase(self.engine, str(error.orig).strip().splitlines()[0]) from None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A look at the data; nothing is kept."""
        with Session(self.engine, autoflush=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """All or nothing; when it ends without an error, it is on disk."""
        with Session(self._writing) as session, session.begin():
            yield session

    @contextmanager
    def erasing(self) -> Iterator[Session]:
        """Deletions for good: in SQLite the bytes are overwritten, in the journal, too, once nobody reads."""
        with self.writing() as session:
            overwrite(session)
            yield session
        if self.engine.dialect.name == "sqlite":
            connection = self.engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # does nothing while somebody reads
            finally:
                connection.close()

    def close(self) -> None:
        """Give everything back."""
        self.engine.dispose()


def overwrite(session: Session) -> None:
    """From now on, what is deleted in this session is overwritten with zeros."""
    if session.connection().dialect.name == "sqlite":
        session.execute(text("PRAGMA secure_delete=ON"))


def _engine(url: str) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        try:
            return create_engine(url, pool_pre_ping=True, hide_parameters=True)
        except ImportError as error:
            raise MissingExtra(error.name or "psycopg", "postgres") from None
    engine = create_engine(url, connect_args={"timeout": _PATIENCE}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say, see below
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Who means to write says so at once: a reader that turns writer halfway could only fail.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def newest() -> str:
    """The version of the tables that the code speaks of: the last step, as its file is called (`v0005_…`)."""
    steps = files("lapwing.web.migrations") / "versions"
    return max(step.name[1:5] for step in steps.iterdir() if step.name.startswith("v") and step.name.endswith(".py"))


def _is_newest(engine: Engine) -> bool:
    """Whether nothing is to be done; then Alembic, which takes as long to load as the rest, is not needed."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return False
        return list(connection.scalars(text("SELECT version_num FROM alembic_version"))) == [newest()]


def scripts() -> ScriptDirectory:
    """The steps from one version of the tables to the next."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "lapwing.web:migrations")
    return ScriptDirectory.from_config(config)


def migrate(engine: Engine) -> None:
    """Bring the tables up to date, in one transaction; servers that start together do it once."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.util import CommandError

    steps = scripts()

    def upgrade(revision: Any, _: Any) -> Any:
        return steps._upgrade_revs("head", revision)

    with _ONE_AT_A_TIME, engine.begin() as connection, EnvironmentContext(Config(), steps, fn=upgrade) as environment:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATING})"))
        environment.configure(connection=connection, target_metadata=Table.metadata, render_as_batch=True)
        try:
            environment.run_migrations()
        except CommandError:
            raise UnusableDatabase(engine, "it was made by a newer Lapwing") from None
