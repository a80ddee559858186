"""`lapwing …` on the command line."""

from __future__ import annotations


def main() -> None:
    """The entry point; typer and rich are imported only when a command runs."""
    import sys

    from lapwing.cli.commands import app

    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show ε shows a question mark, not a traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
