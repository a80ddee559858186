"""`lapwing serve`: the school on this machine."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lapwing.cli import theme
from lapwing.errors import InvalidParameter, MissingExtra

DATABASE = typer.Option(
    help="Database: a file, or postgresql://… for a team. Default: lapwing-school.db in this folder."
)


@contextmanager
def _settling() -> Iterator[None]:
    """What is made meanwhile stays as long as the school is open: nobody looks for garbage in it, now or later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _questions(folder: Path | None) -> list[tuple[str, str]]:
    """The questions of the collections in a folder, and where people take part."""
    if folder is None:
        return []
    from lapwing.web.collections.registry import registered, unreadable

    if complaints := unreadable(folder):
        name, why = complaints[0]
        raise InvalidParameter("collections", str(folder), f"{name} cannot be read: {why}", "See `lapwing collect`.")
    if not (entries := registered(folder)):
        hint = "Name a folder in which `lapwing collect open` has written collection.yaml, or the folder around it."
        raise InvalidParameter("collections", str(folder), "has no collection", hint)
    return [(entry.collection.question, entry.address) for entry in entries]


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on. 127.0.0.1 can be reached from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    database: Annotated[str, DATABASE] = "",
    origin: Annotated[str, typer.Option(help="Address that browsers use, such as https://school.example.")] = "",
    insecure_cookies: Annotated[
        bool,
        typer.Option(
            help="Let people sign in without https. Anybody on the network can then take over their accounts."
        ),
    ] = False,
    collections: Annotated[
        Path | None,
        typer.Option(
            help="A folder of `lapwing collect`, or a folder of several. People can then take part in the browser."
        ),
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option(help="Trust the client addresses that a proxy on this machine reports.")
    ] = False,
) -> None:
    """Start the school (tutorials, lab, surveys) on this machine."""
    with theme.readable_errors(), _settling():
        try:
            import uvicorn

            from lapwing.web.app import create_app
            from lapwing.web.service.heads import SmallHeads
            from lapwing.web.service.settings import Settings
        except ImportError:
            raise MissingExtra("lapwing-web", "web") from None
        settings = Settings.of(
            database,
            origin=origin or f"http://{host}:{port}",
            secure=False if insecure_cookies else None,
            collections=collections,
        )
        questions = _questions(settings.collections)
        app = create_app(settings)
    theme.console().print(f"The school is open at [private]http://{host}:{port}[/] – Ctrl-C closes it.")
    for question, place in questions:
        theme.console().print(
            f"“{escape(question)}” is answered at [private]{settings.origin}{place}[/]", soft_wrap=True
        )
    if questions:
        near = host == "0.0.0.0" and settings.origin.startswith("http://")  # there one can sign in without https
        here = f"http://127.0.0.1:{port}" if near else settings.origin
        theme.console().print(f"Operators watch at [private]{here}/collections[/] (lapwing school operator NAME).")
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=SmallHeads,
        log_level="warning",
        server_header=False,
        proxy_headers=behind_proxy,
    )
