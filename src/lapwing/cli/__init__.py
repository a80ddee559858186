"""`lapwing …` on the command line."""

from __future__ import annotations


def main() -> None:
    """The entry point; typer and rich are imported only when a command runs."""
    from lapwing.cli.commands import app

    app()
