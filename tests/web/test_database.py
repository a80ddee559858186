"""What is kept, and that it stays."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from school_site import PASSWORD, open_school, signed_in, site_of, visitor
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from lapwing.web.accounts.store import users
from lapwing.web.service import settings
from lapwing.web.service.database import Database, UnusableDatabase, newest, scripts
from lapwing.web.service.tables import Comment, Table


def differences(database: Database) -> list[object]:
    with database.engine.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection), Table.metadata))


def test_migrations_make_the_tables_the_code_speaks_of(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")
    assert differences(database) == []
    database.close()


def test_migrations_are_one_line_without_branches() -> None:
    assert scripts().get_heads() == [newest()]


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


def test_a_team_keeps_its_school_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    app = open_school(tmp_path, database=settings.address(postgres_url))
    database = site_of(app).database
    assert differences(database) == []
    client = visitor(app)
    assert client.post("/account/sign-up", data={"name": "Ada", "password": PASSWORD}).status_code == 303
    told = client.get("/me").json()
    assert told["name"] == "Ada"
    client.headers["x-csrf-token"] = told["csrf"]
    done = {"tools": {"screens": ["a"], "questions": [1], "total": 3, "at": 4}}
    assert client.post("/me/progress", json=done).json() == done
    assert client.post("/account/profile", data={"roles": ["student"]}).status_code == 303
    assert client.get("/account/data").json()["profiles"][0]["roles"] == ["student"]
    assert client.post("/account/sign-in", data={"name": "A\0da", "password": PASSWORD}).status_code == 422
    assert visitor(app).post("/account/sign-up", data={"name": "ADA", "password": PASSWORD}).status_code == 422
    assert client.post("/account/delete", data={"password": PASSWORD}).status_code == 303
    with database.reading() as db:
        assert users.count(db) == 0
    database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_servers_that_start_together_make_the_tables_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path / 'school.db'}"
    if kind == "postgresql":
        url = settings.address(request.getfixturevalue("postgres_url"))
    command = [
        sys.executable,
        "-c",
        "import sys; from lapwing.web.service.database import Database; Database(sys.argv[1])",
        url,
    ]
    servers = [subprocess.Popen(command) for _ in range(3)]
    assert [server.wait() for server in servers] == [0, 0, 0]
    database = Database(url)
    assert differences(database) == []
    database.close()


def test_many_write_at_the_same_time_and_nothing_is_lost(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")

    def add(number: int) -> None:
        with database.writing() as db:
            before = users.count(db)
            users.add(db, f"Person {number}", "hash")
            assert users.count(db) == before + 1

    with ThreadPoolExecutor(8) as together:
        list(together.map(add, range(60)))
    with database.reading() as db:
        assert users.count(db) == 60
    database.close()


def test_a_database_that_cannot_be_used_is_named_without_its_password(tmp_path: Path) -> None:
    (tmp_path / "rubbish.db").write_bytes(b"rubbish" * 999)
    newer = Database(f"sqlite:///{tmp_path / 'newer.db'}")
    with newer.writing() as db:
        db.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    newer.close()
    nowhere = "postgresql+psycopg://ada:sesame@127.0.0.1:1/school"
    for url, why in (
        (f"sqlite:///{tmp_path / 'rubbish.db'}", "not a database"),
        (f"sqlite:///{tmp_path / 'no' / 'folder.db'}", "unable to open"),
        (f"sqlite:///{tmp_path / 'newer.db'}", "newer Lapwing"),
        (nowhere, "refused"),
    ):
        with pytest.raises(UnusableDatabase, match=why) as refused:
            Database(url)
        assert "sesame" not in str(refused.value)
