"""The colours and their meaning: exact is ink, private teal, noise rufous, the adversary crimson, budget amber."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from lapwing.cli import flags
from lapwing.errors import LapwingError


def picture(console: Console, title: str) -> str:
    """What a recording console showed, as an SVG that loads nothing from anywhere."""
    return re.sub(r"@font-face\s*{[^}]*}", "", console.export_svg(title=title, unique_id="lapwing"))


def console(**options: Any) -> Console:
    """A console that knows our colours. What it takes is imported here: `--help` must not wait for it."""
    from rich.theme import Theme

    from lapwing.curator.show.terminal import STYLES

    return Console(theme=Theme(dict(STYLES)), highlight=False, **options)


@contextmanager
def readable_errors(*options: str, of_a_pair: bool = False) -> Iterator[None]:
    """Turn our own errors, and files that cannot be read or written, into one readable line and exit code 2.

    Keywords that are `options` of the command are called by their flags; the file `of_a_pair` says others.
    """
    try:
        yield
    except LapwingError as error:
        with flags.options(options, of_a_pair=of_a_pair):
            why = flags.spoken(error)
    except OSError as error:
        if error.filename is None or error.strerror is None:
            raise
        why = f"{error.filename}: {error.strerror}."
    else:
        return
    from rich.text import Text

    from lapwing.curator.show.digits import visible

    console(stderr=True).print(Text.assemble(("✗ ", "adversary"), visible(why)))
    raise typer.Exit(2)
