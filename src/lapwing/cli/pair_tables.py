"""What `lapwing pair` shows: a quote for both kinds of noise, and the two servers side by side."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lapwing.cli.pair_rows import Misfits
    from lapwing.curator.ask.query import Query
    from lapwing.pair.deployment import Deployment


def show_quote(screen: Console, query: Query, other: Query, spending: dict[str, Any], *, as_json: bool) -> None:
    """What a question would cost, and both kinds of noise beside each other."""
    from lapwing.curator.show.quote import data
    from lapwing.pair.table import pair_of

    quotes = [(pair_of(each), each, each.quote(**spending)) for each in (query, other)]
    ways: list[dict[str, Any]] = [
        {
            "noise": pair.way,
            "errors": {expected.output: expected.error for expected in quote.expected},
            "holds_if": pair.holds_if(question),
        }
        for pair, question, quote in sorted(quotes, key=lambda part: part[0].way, reverse=True)
    ]
    pair, question, quote = quotes[0]
    products = pair.products(question)
    if as_json:
        typer.echo(json.dumps({**data(quote), "noise": pair.way, "ways": ways, "products": products}))
        return
    screen.print(quote)
    if products:
        states = list(pair.client.status().values())
        parts = [
            f"{count} of {column} ({left} left{', which is too few' if count > left else ''})"
            for column, count in products.items()
            for left in [min(state["products"][column] for state in states)]
        ]
        screen.print(Text(f"Uses up products: {', '.join(parts)}"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Both kinds of noise, at the same price")
    table.title_justify = "left"
    for title in ("--noise", "off by at most", "good against"):
        table.add_column(title, style="noise" if title == "off by at most" else "")
    for way in ways:
        errors = [f"{name} {'depends' if e is None else f'± {e:,.6g}'}" for name, e in way["errors"].items()]
        table.add_row(way["noise"], Text("\n".join(errors)), Text(way["holds_if"]))
    screen.print(table)


def status_table(deployment: Deployment, states: list[dict[str, Any] | None]) -> Table:
    """What each of two servers said of itself."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for server in deployment.servers:
        table.add_column(server.name, justify="right")

    def line(title: str, shown: Any, style: str = "") -> None:
        cells = ["–" if state is None else shown(state) for state in states]
        table.add_row(Text(title), *(Text(cell, style=style) for cell in cells))

    table.add_row("address", *(server.address for server in deployment.servers))
    table.add_row("state", *("does not answer" if state is None else "runs" for state in states))
    for name, title in (("rows", "rows that count"), ("waiting", "rows that wait"), ("refused", "rows refused")):
        line(title, lambda state, name=name: f"{state[name]:,}")
    line("ledger allows", lambda state: f"ε = {float(Fraction(state['epsilon'])):.4g}", "budget")
    for column in deployment.layout.by_name:
        line(f"products of {column}", lambda state, column=column: f"{state['products'][column]}")
    return table


def remarks_on(deployment: Deployment, states: list[dict[str, Any] | None]) -> list[str]:
    """Where two servers differ, and what that means."""
    first, second = states
    if first is None or second is None:
        return ["A server that does not answer is started with: lapwing pair serve FOLDER NAME"]
    remarks = []
    if {first["file"], second["file"]} != {deployment.fingerprint}:
        remarks.append("A server has another pair.yaml than this one: it refuses uploads and questions.")
    if (first["rows"], first["refused"]) != (second["rows"], second["refused"]):
        remarks.append("The servers do not have the same rows: one of them may run on an old copy of its folder.")
    if (first["epsilon"], first["products"]) != (second["epsilon"], second["products"]):
        remarks.append("One server charged more than the other: a question was cut off, or a folder is an old copy.")
        remarks.append("The smaller number counts.")
    if first["waiting"] or second["waiting"]:
        remarks.append("Rows that wait at both servers are taken in with the next question.")
    return remarks


def misfit_table(count: int, misfits: dict[str, Misfits]) -> Table:
    """Cells of a CSV that would not count as they stand there."""
    rows = "1 row" if count == 1 else f"{count:,} rows"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{rows}; nothing was uploaded. Cells that do not fit:")
    table.title_justify = "left"
    table.add_column("")
    for title in ("empty", "unknown", "beyond a bound"):
        table.add_column(title, justify="right")
    for column, own in misfits.items():
        table.add_row(Text(column), *(f"{number:,}" for number in (own.empty, own.unknown, own.beyond)))
    return table
