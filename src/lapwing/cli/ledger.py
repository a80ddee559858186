"""`lapwing ledger …`: look at a budget, check it, take it along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from lapwing.cli.theme import console, told
from lapwing.privacy import Ledger

app = typer.Typer(no_args_is_help=True, help="Show, verify or export a ledger of spent budgets.")

Place = Annotated[str, typer.Argument(metavar="LEDGER", help="Its file, or postgresql://…", show_default=False)]
Anchor = Annotated[Path | None, typer.Option(help="The anchor file kept elsewhere, if there is one.")]


def _opened(path: str, anchor: Path | None) -> Ledger:
    return Ledger(path, anchor=anchor, create=False)


@app.command()
def show(path: Place, anchor: Anchor = None) -> None:
    """What was spent and what remains, by data set, unit, and analyst with an allowance of their own."""
    with told():
        ledger = _opened(path, anchor)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("data set")
        table.add_column("spent", style="budget")
        table.add_column("remains", style="private")
        for dataset in ledger.datasets():
            for unit in ledger.units(dataset):
                for who in ("", *ledger.analysts(dataset, unit)):
                    spent = ledger.spent(dataset, unit, analyst=who)
                    remains = ledger.remaining(dataset, unit, analyst=who)
                    table.add_row(Text(f"  {who}" if who else dataset), Text(str(spent)), Text(str(remains)))
        console().print(table)


@app.command()
def verify(path: Place, anchor: Anchor = None) -> None:
    """Check every entry, total and release; exit code 2 if anything was changed."""
    with told():
        count = len(_opened(path, anchor).entries())
        console().print(f"[private]✓[/] {count} entries, none changed" + ("" if anchor else " (no anchor given)"))


@app.command()
def export(path: Place, anchor: Anchor = None) -> None:
    """The journal as JSON, one entry a line."""
    with told():
        for entry in _opened(path, anchor).entries():
            typer.echo(json.dumps({"number": entry.number, "act": entry.act, **entry.body, "hash": entry.hash}))


@app.command()
def anchor(path: Place, anchor: Annotated[Path, typer.Argument(help="The file to write, kept elsewhere.")]) -> None:
    """Start an anchor for a ledger that has none; pass it as --anchor from then on."""
    with told():
        _opened(path, None).start_anchor(anchor)
        console().print("[private]✓[/] an old copy put back in place of this ledger will be found")
