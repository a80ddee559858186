"""`lapwing ledger …`: show, verify and export a privacy budget."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from lapwing.cli.theme import console, readable_errors

if TYPE_CHECKING:
    from lapwing.privacy import Ledger

app = typer.Typer(no_args_is_help=True, help="Look after privacy budgets: show, verify, export, reopen.")

Place = Annotated[
    str, typer.Argument(metavar="LEDGER", help="The ledger: a file, or postgresql://…", show_default=False)
]
Anchor = Annotated[Path | None, typer.Option(help="The anchor file of this ledger, kept elsewhere.")]


Failures = Annotated[
    Path | None, typer.Option(help="The file with the error messages, if it is not beside the ledger.")
]


def _opened(path: str, anchor: Path | None, failures: Path | None = None) -> Ledger:
    from lapwing.privacy import Ledger

    return Ledger(path, anchor=anchor, failures=failures, create=False)


@app.command()
def show(path: Place, anchor: Anchor = None) -> None:
    """Show the spent and the remaining budget by data set and unit, and by analyst if analysts have allowances."""
    with readable_errors():
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
        for dataset in ledger.datasets():
            for line in (*_declared(ledger, dataset), *_stopped(ledger, dataset)):
                console().print(line)


def _declared(ledger: Ledger, dataset: str) -> list[Text]:
    """The rules of a data set in a line, where its owner declared some."""
    from lapwing.privacy import Rules

    rules = ledger.rules(dataset)
    if rules == Rules():
        return []
    asks = f"{rules.questions:,} question{'s' if rules.questions > 1 else ''} per analyst"
    costs = f"each costs at least 1/{rules.parts} of the allowance"
    closes = f"{rules.failures} failure{'s' if rules.failures > 1 else ''} close{'' if rules.failures > 1 else 's'} it"
    return [Text(f"{dataset}: at most {asks}; {costs}; {closes}")]


def _stopped(ledger: Ledger, dataset: str) -> list[Text]:
    """Who may not ask at present, in a line."""
    failed = ledger.failures(dataset)
    if not failed:
        return []
    if len(failed) >= ledger.rules(dataset).failures:
        whom = "everybody"
    else:
        whom = ", ".join(dict.fromkeys(failure.analyst or "analysts without a name" for failure in failed))
    count = f"{len(failed)} question{'s' if len(failed) > 1 else ''} failed while rows were read"
    return [Text(f"{dataset} is closed for {whom}: {count} (lapwing ledger failures, then reopen)", style="exact")]


@app.command()
def failures(
    path: Place,
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="One data set. Default: all.", show_default=False)
    ] = None,
    anchor: Anchor = None,
    failures: Failures = None,
) -> None:
    """Show the error messages of failed questions. For the owner of the data only: a message may quote a record."""
    with readable_errors():
        ledger = _opened(path, anchor, failures)
        names = ledger.datasets() if dataset is None else [dataset]
        shown = [_report(ledger, name) for name in names]
        if not any(shown):
            console().print("[private]✓[/] no question has failed since the last reopening")


@app.command()
def reopen(
    path: Place,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The data set to open again.", show_default=False)],
    anchor: Anchor = None,
    failures: Failures = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Reopen a data set that was closed by a failure. Look at the failures first."""
    with readable_errors():
        ledger = _opened(path, anchor, failures)
        if not _report(ledger, dataset):
            console().print(f"[private]✓[/] {dataset} is open: no question has failed since the last reopening")
            return
        if not yes:
            typer.confirm("Each failure may have revealed something about one row. Reopen the data set?", abort=True)
        ledger.reopen(dataset)
        console().print(f"[private]✓[/] {dataset} is open again")


def _report(ledger: Ledger, dataset: str) -> int:
    """Print the failures of a data set; how many there are."""
    failures = ledger.failures(dataset)
    for failure in failures:
        when = dt.datetime.fromtimestamp(failure.time, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        charge = f" (charge {failure.charge})" if failure.charge is not None else ""
        console().print(
            Text(f"{dataset}, {when}, {failure.analyst or 'an analyst without a name'}{charge}", style="bold")
        )
        said = "The message was not kept." if failure.said is None else failure.said.rstrip()
        console().print(Text("".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in said)))
    return len(failures)


@app.command()
def verify(path: Place, anchor: Anchor = None) -> None:
    """Check every entry, total and release (exit code 2 if anything was changed)."""
    with readable_errors():
        count = len(_opened(path, anchor).entries())
        console().print(f"[private]✓[/] {count} entries, none changed" + ("" if anchor else " (no anchor given)"))


@app.command()
def export(path: Place, anchor: Anchor = None) -> None:
    """Print the journal as JSON, one entry per line."""
    with readable_errors():
        for entry in _opened(path, anchor).entries():
            typer.echo(json.dumps({"number": entry.number, "act": entry.act, **entry.body, "hash": entry.hash}))


@app.command()
def anchor(
    path: Place,
    anchor: Annotated[
        Path, typer.Argument(metavar="ANCHOR", help="The anchor file to write. Keep it on another disk or machine.")
    ],
) -> None:
    """Write an anchor, which detects an old copy of the ledger. Pass it as --anchor from then on."""
    with readable_errors():
        _opened(path, None).start_anchor(anchor)
        console().print(
            "[private]✓[/] the anchor is written. An old copy put in place of this ledger will now be detected"
        )
