"""`lapwing pair demo`: two servers as processes, people of a census who upload rows, two questions, both ledgers."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from lapwing import checks
from lapwing.cli.pair_tables import remarks_on, status_table
from lapwing.datasets import adult

COLUMNS = ("sex", "race", "age", "capital_gain")
MOST = 32_561
QUESTIONS = {
    "about one column: totals of shares are enough": "SELECT sex, COUNT(*) AS people FROM adult GROUP BY sex",
    "about three columns of each row: the servers multiply secret bits": (
        "SELECT race, sex, COUNT(*) AS people FROM adult WHERE age < 40 GROUP BY race, sex"
    ),
}
EPSILON, ALLOWANCE = 0.5, 3
SHOWN_BYTES = 12


def show(screen: Console, rows: int, folder: Path | None = None) -> None:
    """Start both servers, let people upload, ask, and end everything that was started."""
    from lapwing import pair

    people = adult("train")
    rows = min(checks.whole(minimum=10, rows=rows), MOST)
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(TemporaryDirectory())) / "adult"
        deployment = pair.make(
            place,
            name="adult",
            columns=_columns(people),
            owners=rows,
            epsilon=ALLOWANCE,
            addresses=pair.free_addresses(),
        )
        addresses = stack.enter_context(pair.local_servers(place))
        for name, address in addresses.items():
            screen.print(f"  {name:<4} a process of its own at [private]{address}[/]")
        owners = [{name: people[name][number] for name in COLUMNS} for number in range(rows)]
        _upload(screen, place, deployment, owners)
        table = pair.open(place, key=place / "analyst.pem")
        for title, sql in QUESTIONS.items():
            _compare(screen, title, sql, table.sql(sql, epsilon=EPSILON), owners)
        states: list[dict[str, Any] | None] = list(pair.Client(deployment).status().values())
        screen.print(status_table(deployment, states))
        for remark in remarks_on(deployment, states):
            screen.print(Text(f"  {remark}"))
    screen.print("  Neither a server nor the analyst has seen a row. Both servers have stopped.")


def _columns(people: dict[str, list[Any]]) -> dict[str, Any]:
    listed = {name: {"values": sorted(set(people[name]) - {None})} for name in ("sex", "race")}
    return {**listed, "age": {"bounds": [17, 90]}, "capital_gain": {"bounds": [0, 99_999]}}


def _upload(screen: Console, place: Path, deployment: Any, owners: list[dict[str, Any]]) -> None:
    """The first person alone, to look at what arrived; then everybody else."""
    from lapwing.pair import Client
    from lapwing.pair.store import Store
    from lapwing.pair.workspace import codes_in

    client, codes = Client(deployment), codes_in(place)
    client.upload(codes[0], owners[0])
    views = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="What each server saw of the first person")
    views.title_justify = "left"
    views.add_column("who")
    views.add_column("what")
    row = ", ".join(f"{name} {value}" for name, value in owners[0].items())
    views.add_row("the person", Text(row, style="exact"))
    for server in deployment.servers:
        store = Store(place / server.name, deployment.layout)
        with store.taking() as names:
            [share] = store.shares(names)
        what = f"{share[:SHOWN_BYTES].hex(' ')} … {len(share):,} random bytes"
        views.add_row(server.name, Text(what, style="noise"))
    screen.print(views)
    screen.print(
        "  Each line alone is random. The row is where the two differ, so only both servers together could see it."
    )
    with Progress(console=screen, transient=True) as bar:
        task = bar.add_task(f"{len(owners):,} people upload", total=len(owners))
        rest = zip(codes[1:], owners[1:], strict=True)
        client.upload_all(rest, progress=lambda count: bar.update(task, completed=count + 1))
    screen.print(f"  {len(owners):,} people sent each server a share, {deployment.layout.bytes:,} bytes each.")


def _compare(screen: Console, title: str, sql: str, answer: Any, owners: list[dict[str, Any]]) -> None:
    """The private numbers beside the true ones, which only this demonstration knows."""
    names = [column.name for column in answer.columns if column.is_key]
    young = "age < 40" in sql
    truth = Counter(tuple(row[name] for name in names) for row in owners if not young or row["age"] < 40)
    screen.print(Text.assemble((sql, "bold"), f"\n  {title}"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name)
    table.add_column("exact", justify="right", style="exact")
    table.add_column("private", justify="right", style="private")
    for *group, private in zip(*(column.values for column in answer.columns), strict=True):
        table.add_row(*map(str, group), f"{truth[tuple(group)]:,}", f"{private:,}")
    screen.print(table)
