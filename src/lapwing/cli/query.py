"""`lapwing query`, `lapwing quote`, `lapwing describe` and `lapwing check`: private tables on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lapwing import charts
from lapwing.cli import flags, theme
from lapwing.cli.progress import waiting
from lapwing.cli.question import ENCODING, NAMES, NOT_ABOUT_A_TABLE, Question, asks, listed
from lapwing.errors import InvalidParameter

AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


@asks
def query(
    question: Question,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the columns as CSV.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the answer into this file.")] = None,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this question. Ask again with the same name, and the same answer costs nothing."),
    ] = None,
    progress: Annotated[
        bool, typer.Option(help="Show a progress bar on a terminal, if the question takes more than a second.")
    ] = True,
) -> None:
    """Ask private questions about a table, in SQL.

    For example: lapwing query visits.csv --unit patient --epsilon 1 "SELECT COUNT(*) FROM visits"
    """
    with theme.readable_errors():
        if plot is not None:
            charts.drawable(plot, name="plot")
        query, spending = question.query(), question.spending()
        with _stoppable(key):
            answer = query.release(**spending, key=key, progress=progress)
        if as_json or as_csv:
            typer.echo(answer.to_json() if as_json else answer.to_csv(), nl=as_json)
        else:
            theme.console().print(answer)
        if plot is not None:
            answer.plot(plot)


@asks
def quote(question: Question, as_json: AsJson = False) -> None:
    """Show what a question would cost and how accurate it would be. Nothing is spent, and no record is read."""
    with theme.readable_errors():
        quote = question.query().quote(**question.spending())
        expected = tuple(replace(each, why=flags.advice(each.why)) for each in quote.expected)
        quote = replace(quote, expected=expected)
    if as_json:
        from lapwing.curator.show.quote import data

        typer.echo(json.dumps(data(quote)))
    else:
        theme.console().print(quote)


def _check(
    question: Question,
    epsilon: Annotated[
        float, typer.Option(help="Epsilon of a typical question. The recommended limits depend on it.")
    ] = 1.0,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw how limits per unit affect the error, into this file.")
    ] = None,
) -> None:
    """Compare a table with its declarations. NOT PRIVATE: for the owner of the data only. Nothing is spent."""
    from lapwing.curator.plan.hints import which_column
    from lapwing.curator.tables.check import check as look

    with theme.readable_errors():
        if plot is not None:
            charts.drawable(plot, name="plot")
        table, later = question.opened(keeps_count=False)
        for column in (column for given in later.values() for column in given):
            raise InvalidParameter("column", column, "is not in the table", which_column(column, table.columns))
        with waiting("reading", theme.console(stderr=True)):
            report = look(table, epsilon=epsilon)
        theme.console().print(report)
        if plot is not None:
            report.plot(plot)


_check.__name__ = "check"
check = asks(_check, leaving=NOT_ABOUT_A_TABLE)


def describe(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A CSV or Parquet file, or the URL of a database.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the template to this new file.")] = None,
    table: Annotated[str | None, typer.Option(help="The table of a database.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Character that separates the columns of a CSV.")] = None,
    encoding: Annotated[str | None, typer.Option(help=ENCODING)] = None,
    names: Annotated[str | None, typer.Option(help=NAMES, metavar="A,B,…")] = None,
) -> None:
    """Write a YAML template for what is public about a table. It is made from names and types, never from values."""
    from lapwing.curator.tables.descriptions import describe

    with theme.readable_errors("table", "delimiter", "encoding", "names"):
        text = describe(source, output, table=table, delimiter=delimiter, encoding=encoding, names=listed(names))
    if output is None:
        typer.echo(text, nl=False)
    else:
        theme.console().print(f"[private]✓[/] {output.name} is ready to be filled in", soft_wrap=True)


@contextmanager
def _stoppable(key: str | None) -> Iterator[None]:
    """Ctrl-C ends a question with a word about what it cost."""
    try:
        yield
    except KeyboardInterrupt:
        again = f" Asking again with --key {key} costs nothing more." if key else ""
        theme.console(stderr=True).print(
            f"Stopped. If the question was already charged, the charge stays in the ledger.{again}", soft_wrap=True
        )
        raise typer.Exit(130) from None
