"""Accounts as people use them."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pyotp
import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PASSWORD, USUAL_HASHER, account, open_school, signed_in, site_of, visitor
from typer.testing import CliRunner

from lapwing.cli.commands import app as commands
from lapwing.web.accounts import passwords
from lapwing.web.accounts.store import users
from lapwing.web.service.database import Database
from lapwing.web.service.settings import Settings
from lapwing.web.service.tables import Comment

NEW = "seven other words apart"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def enter(client: TestClient, name: str, password: str = PASSWORD) -> int:
    """Sign in; the token of the session is sent from then on."""
    client.headers.pop("x-csrf-token", None)
    status = client.post("/account/sign-in", data={"name": name, "password": password}).status_code
    if status == 303:
        refresh(client)
    return status


def refresh(client: TestClient) -> None:
    told = client.get("/me").json()
    if told["signed_in"]:
        client.headers["x-csrf-token"] = told["csrf"]


def csrf_in(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found
    return found[1]


def test_somebody_signs_up_signs_out_and_in_again(app: FastAPI) -> None:
    client = visitor(app)
    answer = client.post("/account/sign-up", data={"name": "Ada Lovelace", "password": PASSWORD, "next": "/glossary"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/glossary")
    refresh(client)
    assert "Welcome, Ada Lovelace." in client.get("/account").text
    assert "Welcome" not in client.get("/account").text
    assert client.post("/account/sign-out").status_code == 303
    assert client.get("/me").json() == {"signed_in": False}
    assert enter(client, "ada  LOVELACE") == 303
    assert client.get("/me").json()["name"] == "Ada Lovelace"


@together(
    ("name", "password"),
    [
        ("Ada", "short"),
        ("Ada", "password1234"),
        ("Ada", "aaaaaaaaaaaaaaa"),
        ("Ada Lovelace", "adalovelace12"),
        ("", PASSWORD),
        ("x" * 41, PASSWORD),
        ("Ad\u202ea", PASSWORD),
        ("<script>", PASSWORD),
        ("admin", PASSWORD),
        ("\u0301\u0301", PASSWORD),
        ("Ada", "x" * 999),
    ],
)
def test_names_and_passwords_that_will_not_do_are_explained(app: FastAPI, name: str, password: str) -> None:
    answer = visitor(app).post("/account/sign-up", data={"name": name, "password": password})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert password not in answer.text


@pytest.mark.parametrize("name", ["Zoë", "李雷", "О'Нил", "Robert'; DROP TABLE users--", "नमस्ते", "R2-D2"])
def test_names_of_all_the_world_are_welcome(app: FastAPI, name: str) -> None:
    client = visitor(app)
    status = client.post("/account/sign-up", data={"name": name, "password": PASSWORD}).status_code
    assert status == (422 if ";" in name else 303)
    if status == 303:
        assert client.get("/me").json()["name"] == name
    with site_of(app).database.reading() as db:
        assert users.count(db) == (status == 303)


def test_a_name_is_taken_once(app: FastAPI) -> None:
    account(app, "Ada")
    answer = visitor(app).post("/account/sign-up", data={"name": "ADA", "password": PASSWORD})
    assert (answer.status_code, "taken" in answer.text) == (422, True)


def test_an_old_hash_is_made_anew_at_the_next_sign_in(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    account(app, "Ada")
    monkeypatch.setattr(passwords, "_HASHER", USUAL_HASHER)
    assert enter(visitor(app), "Ada") == 303
    with site_of(app).database.reading() as db:
        known = users.credentials(db, "Ada")
    assert known is not None
    assert known.password_hash.startswith("$argon2id$")
    assert not passwords.outdated(known.password_hash)


def test_another_password_signs_every_other_browser_out(app: FastAPI) -> None:
    account(app, "Ada")
    here, elsewhere = visitor(app), visitor(app)
    assert enter(here, "Ada") == enter(elsewhere, "Ada") == 303
    assert here.post("/account/password", data={"old": "wrong", "new": NEW}).status_code == 422
    assert here.post("/account/password", data={"old": PASSWORD, "new": "short"}).status_code == 422
    assert here.post("/account/password", data={"old": PASSWORD, "new": NEW}).status_code == 303
    assert here.get("/me").json()["signed_in"] is True
    assert elsewhere.get("/me").json()["signed_in"] is False
    assert (enter(elsewhere, "Ada", PASSWORD), enter(elsewhere, "Ada", NEW)) == (422, 303)


def test_a_profile_keeps_what_we_asked_for_and_nothing_else(app: FastAPI) -> None:
    client = signed_in(app)
    told = {"roles": ["engineer", "pirate"], "knowledge": "some", "goals": ["build", "prove"]}
    assert client.post("/account/profile", data=told).status_code == 303
    assert client.get("/me").json()["profile"] == {
        "roles": ["engineer"],
        "knowledge": "some",
        "goals": ["build", "prove"],
    }
    assert client.post("/account/profile", data={}).status_code == 303
    assert client.get("/me").json()["profile"] == {"roles": [], "knowledge": "", "goals": []}


def test_progress_of_two_browsers_comes_together(app: FastAPI) -> None:
    client, slug = signed_in(app), "the-laplace-mechanism"
    client.post("/me/progress", json={slug: {"screens": ["a", "b"], "questions": [1], "total": 9, "at": 10}})
    both = client.post("/me/progress", json={slug: {"screens": ["c"], "questions": [1, 2], "total": 8, "at": 5}}).json()
    assert both == {slug: {"screens": ["a", "b", "c"], "questions": [1, 2], "total": 9, "at": 10}}
    assert client.get("/me").json()["progress"] == both
    assert client.post("/me/progress", json={"no-such-nugget": {"screens": ["a"]}}).json() == both
    assert client.post("/me/progress", json={slug: {"screens": "abc"}}).status_code == 422


def test_my_data_has_everything_but_secrets(app: FastAPI) -> None:
    client = signed_in(app)
    account(app, "Bob")
    with site_of(app).database.writing() as db:
        db.add(Comment(slug="tools", user_id=1, text="mine", created=0))
        db.add(Comment(slug="tools", user_id=2, text="of Bob", created=0))
    answer = client.get("/account/data")
    assert "attachment" in answer.headers["content-disposition"]
    told = answer.json()
    assert [comment["text"] for comment in told["comments"]] == ["mine"]
    assert told["users"][0]["name"] == "Ada"
    for secret in ("argon2", "password", "csrf", "token", "Bob"):
        assert secret not in answer.text


@pytest.mark.parametrize("also_comments", [True, False])
def test_who_leaves_is_forgotten(app: FastAPI, also_comments: bool) -> None:
    client = signed_in(app)
    with site_of(app).database.writing() as db:
        db.add(Comment(slug="tools", user_id=1, text="mine", created=0))
    assert client.post("/account/delete", data={"password": "wrong"}).status_code == 422
    asked = {"password": PASSWORD, "comments": "remove" if also_comments else ""}
    assert client.post("/account/delete", data=asked).status_code == 303
    assert client.get("/me").json() == {"signed_in": False}
    with site_of(app).database.reading() as db:
        assert users.count(db) == 0
        left = db.get(Comment, 1)
        assert left is not None
        assert (left.user_id, left.text) == (None, "" if also_comments else "mine")


def test_an_admin_enrols_a_second_factor_before_anything_else(tmp_path: Path) -> None:
    database = tmp_path / "school.db"
    made = CliRunner().invoke(commands, ["school", "admin", "Grace", "--database", str(database)])
    assert made.exit_code == 0, made.output
    password = re.search(r"shown once: (\S+)", made.output)
    assert password
    app = open_school(tmp_path)
    client = visitor(app)
    answer = client.post("/account/sign-in", data={"name": "Grace", "password": password[1]})
    assert answer.headers["location"] == "/account/second-factor"
    assert client.get("/admin").status_code == client.get("/account").status_code == 403
    assert (
        client.get("/admin", headers={"accept": "text/html"}).headers["location"].startswith("/account/second-factor")
    )
    page = client.get("/account/second-factor").text
    sealed = re.search(r'name="sealed" value="([^"]+)"', page)
    secret = re.search(r"<code>([A-Z2-7 ]+)</code>", page)
    assert sealed
    assert secret
    totp = pyotp.TOTP(secret[1].replace(" ", ""))
    form = {"csrf": csrf_in(page), "sealed": sealed[1], "password": password[1]}
    now = int(time.time())
    assert client.post("/account/second-factor", data={**form, "code": "12345"}).status_code == 422
    assert (
        client.post("/account/second-factor", data={**form, "sealed": "AAAA", "code": totp.at(now)}).status_code == 422
    )
    codes = client.post("/account/second-factor", data={**form, "code": totp.at(now)})
    assert codes.status_code == 200
    recovery = re.findall(r"<code>([a-z2-9-]+)</code>", codes.text)
    assert len(set(recovery)) == 10
    assert client.get("/admin").status_code == 200

    assert totp.secret.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    later = visitor(app)
    later.post("/account/sign-in", data={"name": "Grace", "password": password[1]})
    assert later.get("/admin").status_code == 403
    token = csrf_in(later.get("/account/code").text)
    assert later.post("/account/code", data={"csrf": token, "code": totp.at(now)}).status_code == 422, "used before"
    assert later.post("/account/code", data={"csrf": token, "code": recovery[0]}).status_code == 303
    assert later.get("/admin").status_code == 200
    again = visitor(app)
    again.post("/account/sign-in", data={"name": "Grace", "password": password[1]})
    token = csrf_in(again.get("/account/code").text)
    assert again.post("/account/code", data={"csrf": token, "code": recovery[0]}).status_code == 422, "used before"
    assert again.post("/account/code", data={"csrf": token, "code": totp.at(now + 30)}).status_code == 303


def test_admins_decide_what_others_may_do_but_not_about_themselves(app: FastAPI) -> None:
    admin, learner = signed_in(app, "Grace", "admin"), signed_in(app, "Ada")
    assert "Ada" in admin.get("/admin/users").text
    assert "Ada" not in admin.get("/admin/users", params={"like": "gr"}).text
    assert admin.post("/admin/users/2/role", data={"role": "instructor"}).status_code == 303
    assert learner.get("/me").json()["signed_in"] is False, "a new role needs a new session"
    assert enter(learner, "Ada") == 303
    assert learner.get("/me").json()["role"] == "instructor"
    assert admin.post("/admin/users/1/role", data={"role": "learner"}).status_code == 409
    assert admin.post("/admin/users/1/active", data={"active": "no"}).status_code == 409
    assert admin.post("/admin/users/99/active", data={"active": "no"}).status_code == 404
    assert admin.post("/admin/users/2/role", data={"role": "god"}).status_code == 422
    page = admin.post("/admin/users/2/password").text
    given = re.search(r"<code>([a-z2-9-]+)</code>", page)
    assert given
    assert (enter(learner, "Ada", PASSWORD), enter(learner, "Ada", given[1])) == (422, 303)


def test_the_last_admin_cannot_leave(app: FastAPI) -> None:
    admin = signed_in(app, "Grace", "admin")
    assert "only admin" in admin.post("/account/delete", data={"password": PASSWORD}).text
    account(app, "Hedy", "admin")
    assert admin.post("/account/delete", data={"password": PASSWORD}).status_code == 303


def test_the_command_line_gives_a_lost_admin_a_new_start(app: FastAPI, tmp_path: Path) -> None:
    client = signed_in(app, "Ada")
    where = ["--database", str(tmp_path / "school.db")]
    assert CliRunner().invoke(commands, ["school", "admin", "ada", *where], input="n\n").exit_code == 1
    assert client.get("/me").json()["role"] == "learner"
    assert CliRunner().invoke(commands, ["school", "admin", "ada", *where, "--yes"]).exit_code == 0
    assert client.get("/me").json() == {"signed_in": False}
    assert CliRunner().invoke(commands, ["school", "admin", "<b>", *where]).exit_code == 2


def test_what_was_saved_comes_back_while_the_school_is_open(app: FastAPI, tmp_path: Path) -> None:
    client, where = signed_in(app, "Ada"), ["--database", str(tmp_path / "school.db")]
    saved = tmp_path / "saved.db"
    run = CliRunner().invoke
    assert run(commands, ["school", "backup", str(saved), *where]).exit_code == 0
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert run(commands, ["school", "backup", str(saved), *where]).exit_code == 2, "it never overwrites"
    account(app, "Bob")
    assert run(commands, ["school", "restore", str(saved), *where]).exit_code == 2, "not without --replace"
    (tmp_path / "rubbish.db").write_bytes(b"rubbish" * 999)
    assert run(commands, ["school", "restore", str(tmp_path / "rubbish.db"), *where, "--replace"]).exit_code == 2
    assert client.get("/me").json()["signed_in"] is True
    assert run(commands, ["school", "restore", str(saved), *where, "--replace"]).exit_code == 0
    assert client.get("/me").json() == {"signed_in": False}, "sessions do not come back"
    with site_of(app).database.reading() as db:
        assert [one.name for one in users.everybody(db)] == ["Ada"]
    fresh = tmp_path / "fresh.db"
    assert run(commands, ["school", "restore", str(saved), "--database", str(fresh)]).exit_code == 0
    copy = Database(f"sqlite:///{fresh}")
    with copy.reading() as db:
        assert users.count(db) == 1
    copy.close()


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    settings = Settings.of(str(tmp_path / "school.db"), environment={})
    assert settings.secret() == settings.secret() != bytes(32)
    assert stat.S_IMODE((tmp_path / "school.key").stat().st_mode) == 0o600


def test_an_acknowledged_write_survives_a_kill(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from lapwing.cli import main; main()", "serve", "--port", str(port)]
    command += ["--database", str(tmp_path / "school.db")]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            for _ in range(600):
                assert server.poll() is None
                try:
                    client.get("/health")
                    break
                except httpx2.TransportError:
                    time.sleep(0.1)
            answer = client.post("/account/sign-up", data={"name": "Ada", "password": PASSWORD})
            os.kill(server.pid, signal.SIGKILL)
            assert answer.status_code == 303
    finally:
        server.kill()
        server.wait()
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")
    with database.reading() as db:
        assert [one.name for one in users.everybody(db)] == ["Ada"]
    database.close()
