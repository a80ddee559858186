"""`lapwing school …`: looking after the school from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli import theme
from lapwing.cli.serve import DATABASE
from lapwing.errors import InvalidParameter, MissingExtra

app = typer.Typer(help="Look after the school: admins, operators, backup, restore.", no_args_is_help=True)


@app.command()
def admin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the admin.")],
    database: Annotated[str, DATABASE] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before changing an existing account.")] = False,
) -> None:
    """Make somebody an admin, and print a one-time password. The second factor is set up at the first sign-in."""
    with theme.readable_errors():
        try:
            from lapwing.web.accounts import passwords
            from lapwing.web.accounts.forms import name_complaint
            from lapwing.web.accounts.store import sessions, users
            from lapwing.web.service.database import Database
            from lapwing.web.service.settings import Settings
        except ImportError:
            raise MissingExtra("lapwing-web", "web") from None
        known = Database(Settings.of(database).database)
        with known.reading() as db:
            credentials = users.credentials(db, name)
        if credentials is None and (why := name_complaint(name, reserved=True)):
            raise InvalidParameter("name", name, "this cannot be a name", why)
        if credentials is not None and not yes:
            typer.confirm(
                f"{credentials.account.name} exists already. Make them an admin with a new password?", abort=True
            )
        password = passwords.one_time()
        kept = passwords.hashed(password)
        with known.writing() as db:
            account = credentials.account if credentials else users.add(db, name, kept)
            if account is None:
                raise InvalidParameter("name", name, "the name was taken a moment ago", "Try again.")
            users.make_admin(db, account.id, kept)
            sessions.end_all(db, account.id)
        known.close()
    screen = theme.console()
    screen.print(f"[private]{account.name}[/] is an admin. Password, shown once: [budget]{password}[/]")
    screen.print("Sign in at /account/sign-in, set up the second factor, then change the password.")


@app.command()
def operator(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the operator.")],
    database: Annotated[str, DATABASE] = "",
) -> None:
    """Let somebody watch collections at /collections. A new person gets an account with a one-time password."""
    with theme.readable_errors():
        try:
            from lapwing.web.accounts import passwords
            from lapwing.web.accounts.forms import name_complaint
            from lapwing.web.accounts.store import sessions, users
            from lapwing.web.service.database import Database
            from lapwing.web.service.settings import Settings
        except ImportError:
            raise MissingExtra("lapwing-web", "web") from None
        known = Database(Settings.of(database).database)
        with known.reading() as db:
            credentials = users.credentials(db, name)
        if credentials is None and (why := name_complaint(name, reserved=True)):
            raise InvalidParameter("name", name, "this cannot be a name", why)
        password = "" if credentials else passwords.one_time()
        kept = passwords.hashed(password) if password else ""
        with known.writing() as db:
            account = credentials.account if credentials else users.add(db, name, kept)
            if account is None:
                raise InvalidParameter("name", name, "the name was taken a moment ago", "Try again.")
            users.set_operator(db, account.id, True)
            sessions.end_all(db, account.id)
        known.close()
    screen = theme.console()
    screen.print(f"[private]{account.name}[/] may now also watch collections at /collections.")
    if password:
        screen.print(f"Password, shown once: [budget]{password}[/] Change it at /account.")


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write. It must not exist yet.")],
    database: Annotated[str, DATABASE] = "",
) -> None:
    """Save a copy of the whole school. People can go on working meanwhile."""
    with theme.readable_errors():
        try:
            from lapwing.web.backup import save
            from lapwing.web.service.settings import Settings
        except ImportError:
            raise MissingExtra("lapwing-web", "web") from None
        save(Settings.of(database), file)
    theme.console().print(f"Saved to {file}. It holds all data of the school, so keep it safe.")
    theme.console().print(
        "The key beside the database is not in it. Keep a copy: without the key, admins must enrol again."
    )


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that `backup` wrote.")],
    database: Annotated[str, DATABASE] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing database.")] = False,
) -> None:
    """Restore a backup. Everybody must sign in again."""
    with theme.readable_errors():
        try:
            from lapwing.web.backup import bring_back
            from lapwing.web.service.settings import Settings
        except ImportError:
            raise MissingExtra("lapwing-web", "web") from None
        bring_back(Settings.of(database), file, replace=replace)
    theme.console().print(f"The school is restored from {file}. If it is running, stop it and start it again.")
