"""`lapwing serve`: the school on this machine."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from lapwing.cli import theme
from lapwing.errors import MissingExtra

DATABASE = typer.Option(help="A file, or postgresql://… for a team. Without it lapwing-school.db in this folder.")


@contextmanager
def _settling() -> Iterator[None]:
    """What is made meanwhile stays as long as the school is open: nobody looks for garbage in it, now or later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def serve(
    host: Annotated[str, typer.Option(help="Where to listen; 127.0.0.1 is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="At which port.")] = 8000,
    database: Annotated[str, DATABASE] = "",
    origin: Annotated[str, typer.Option(help="How browsers reach it, such as https://school.example.")] = "",
    insecure_cookies: Annotated[
        bool, typer.Option(help="Let people sign in without https. Anybody on the way can then take their place.")
    ] = False,
    behind_proxy: Annotated[
        bool, typer.Option(help="Believe the proxy on this machine about whose requests it passes on.")
    ] = False,
) -> None:
    """Serve the school to browsers."""
    with theme.told(), _settling():
        try:
            import uvicorn

            from lapwing.web.app import create_app
            from lapwing.web.service.heads import SmallHeads
            from lapwing.web.service.settings import Settings
        except ImportError:
            raise MissingExtra("lapwing-web", "web") from None
        settings = Settings.of(
            database, origin=origin or f"http://{host}:{port}", secure=False if insecure_cookies else None
        )
        app = create_app(settings)
    theme.console().print(f"The school is open at [private]http://{host}:{port}[/] – Ctrl-C closes it.")
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=SmallHeads,
        log_level="warning",
        server_header=False,
        proxy_headers=behind_proxy,
    )
