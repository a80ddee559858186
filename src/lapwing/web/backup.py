"""Saving the school and bringing it back, while people go on working."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from lapwing.errors import InvalidParameter
from lapwing.web.service.database import Database, scripts
from lapwing.web.service.settings import Settings


def save(settings: Settings, target: Path) -> None:
    """A copy of the database as it is at one moment, for its owner only. Nothing is overwritten."""
    source = _file(settings)
    if not source.exists():
        raise InvalidParameter("database", str(source), "there is no such file", "Name it with --database.")
    _refuse_existing(target)
    part = target.with_name(f"{target.name}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(part)) as copy:
            live.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, with nothing beside it
        _refuse_unusable(part)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.link(part, target)  # fails if somebody was faster
    finally:
        part.unlink()


def bring_back(settings: Settings, saved: Path, *, replace: bool = False) -> None:
    """The school as it was when it was saved. Everybody has to sign in again: a session that was ended stays so."""
    target = _file(settings)
    if not saved.exists():
        raise InvalidParameter("file", str(saved), "there is no such file", "Name one that was saved.")
    _refuse_unusable(saved)
    if not replace:
        _refuse_existing(target)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
    with closing(sqlite3.connect(saved)) as copy, closing(sqlite3.connect(target, timeout=30)) as live:
        copy.backup(live)
        live.execute("DELETE FROM web_sessions")
        live.commit()
    Database(settings.database).close()


def _file(settings: Settings) -> Path:
    if settings.file is None:
        hint = "Use pg_dump and pg_restore; they too work while the school is open."
        raise InvalidParameter("database", "postgresql://…", "PostgreSQL saves its databases itself", hint)
    return settings.file


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InvalidParameter("file", str(path), "it is there already", "Name another, or say --replace if you may.")


def _refuse_unusable(path: Path) -> None:
    known = {step.revision for step in scripts().walk_revisions()}
    try:
        with closing(sqlite3.connect(f"file:{path.absolute().as_posix()}?mode=ro", uri=True)) as copy:
            copy.execute("PRAGMA trusted_schema=OFF")
            whole = copy.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            revision = copy.execute("SELECT version_num FROM alembic_version").fetchone()
            # Ours has neither: they would run with every change, long after they were brought in.
            active = copy.execute("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchone()[0]
    except sqlite3.DatabaseError:
        whole, revision, active = False, None, 0
    if not whole or revision is None or active:
        raise InvalidParameter("file", str(path), "it is not a school that was saved", "Nothing was changed.")
    if revision[0] not in known:
        raise InvalidParameter(
            "file", str(path), "it was saved by a newer Lapwing", "Nothing was changed; update first."
        )
