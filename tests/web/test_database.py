"""What is kept, and that it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from school_site import open_school, signed_in, site_of
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from lapwing.web.database import Database
from lapwing.web.store import users
from lapwing.web.tables import Comment, Table


def differences(database: Database) -> list[object]:
    with database.engine.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection), Table.metadata))


def test_migrations_make_the_tables_the_code_speaks_of(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")
    assert differences(database) == []
    database.close()


def test_starting_again_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        database = Database(f"sqlite:///{tmp_path / 'school.db'}")
        with database.writing() as db:
            users.add(db, "Ada", "hash")
            assert users.count(db) == 1
        database.close()


def test_files_are_durable_and_references_hold(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")
    with database.reading() as db:
        assert db.scalar(text("PRAGMA journal_mode")) == "wal"
        assert db.scalar(text("PRAGMA synchronous")) == 2
    with pytest.raises(IntegrityError), database.writing() as db:
        db.add(Comment(slug="x", user_id=7, text="hello", created=0))
    database.close()


def test_names_differ_by_more_than_case_and_spelling(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")
    with database.writing() as db:
        assert users.add(db, "Straße", "hash") is not None
        assert users.add(db, "STRASSE", "hash") is None
        assert users.add(db, "Ｓｔｒａｓｓｅ", "hash") is None
        assert users.add(db, "Strasser", "hash") is not None
    database.close()


def test_readers_never_touch_the_database(tmp_path: Path) -> None:
    app = open_school(tmp_path)
    client = signed_in(app)
    asked: list[str] = []
    event.listen(site_of(app).database.engine, "before_cursor_execute", lambda *seen: asked.append(seen[2]))
    for address in ("/", "/?q=noise", "/glossary", *(f"/learn/{slug}" for slug in site_of(app).pages.nuggets)):
        assert client.get(address).status_code == 200
    assert asked == []
    client.get("/me")
    assert asked != []
