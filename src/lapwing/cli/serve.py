"""`lapwing serve`: the school on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from lapwing.cli import theme
from lapwing.errors import MissingExtra


def serve(
    host: Annotated[str, typer.Option(help="Where to listen; 127.0.0.1 is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="At which port.")] = 8000,
) -> None:
    """Serve the school to browsers."""
    with theme.told():
        try:
            import uvicorn

            from lapwing.web.app import create_app
        except ImportError as error:
            raise MissingExtra(error.name or "fastapi", "web") from None
        app = create_app()
    theme.console().print(f"The school is open at [private]http://{host}:{port}[/] – Ctrl-C closes it.")
    uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)
