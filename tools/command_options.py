"""For the site: every option of the command line, one table for each command, as `--help` describes them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from lapwing.cli.commands import app

_SPECIAL = re.compile(r"([\\`*_\[\]])")


def options_section() -> str:
    """The section "All options" of the page about the command line."""
    parts = ["## All options", "Each command has `--help`, too."]
    for name, command in commands():
        summary = (command.help or "").partition("\n\n")[0]
        rows = [f"| `{words}` | {plain(meaning)} |" for words, meaning in described(command, name)]
        parts += [f"### {name}", plain(summary)]
        parts += ["\n".join(["| argument or option | what it means |", "|---|---|", *rows])] if rows else []
    return "\n\n".join(parts)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by its whole name, and `lapwing` itself, which has an option."""
    yield from _below(get_command(app), "lapwing")


def described(command: Any, name: str) -> list[tuple[str, str]]:
    """How each argument and option of a command is written, and what it means. `--help` itself is left out."""
    context = command.make_context(name, [], resilient_parsing=True)
    records = [param.get_help_record(context) for param in command.params]
    return [record for record in records if record is not None]


def _below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", None)
    if inside is None or command.params:
        yield name, command
    context = command.make_context(name, [], resilient_parsing=True)
    for word in inside or ():
        yield from _below(command.get_command(context, word), f"{name} {word}")


def plain(text: str) -> str:
    """Text for a cell of a table, in which nothing is markup."""
    return html.escape(_SPECIAL.sub(r"\\\1", " ".join(text.split())), quote=False).replace("|", "&#124;")
