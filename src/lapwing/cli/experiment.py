"""`lapwing experiment`: reproduce figures of published papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from lapwing.cli import theme
from lapwing.cli.progress import waiting

app = typer.Typer(no_args_is_help=True, help="Reproduce figures of published papers.", pretty_exceptions_enable=False)


@app.command("list")
def show() -> None:
    """List all experiments."""
    from lapwing.experiments import EXPERIMENTS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "what it shows", "after"):
        table.add_column(heading, style="private" if heading == "name" else "", overflow="fold")
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, experiment.source)
    theme.console().print(table)


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAMES", help="Which experiments, or 'all'.")],
    out: Annotated[Path, typer.Option(help="Folder for the picture, the CSV and the page.")] = Path("experiments"),
    full: Annotated[bool, typer.Option(help="Simulate many more people. This takes minutes.")] = False,
) -> None:
    """Run experiments: compute, draw, and describe the result."""
    from lapwing.experiments import EXPERIMENTS, named

    screen = theme.console(stderr=True)
    with theme.readable_errors():
        for experiment in map(named, list(EXPERIMENTS) if names == ["all"] else names):
            with waiting(experiment.name, screen) as heard:
                files = experiment.write(out, full=full, heard=heard)
            typer.echo("  ".join(str(file) for file in files))
