"""`lapwing pair …`: two servers answer questions about rows that neither of them sees."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from lapwing.cli.pair_tables import misfit_table, remarks_on, show_quote, status_table
from lapwing.cli.theme import console, readable_errors
from lapwing.errors import InvalidParameter, LapwingError

if TYPE_CHECKING:
    from lapwing.curator.ask.query import Query
    from lapwing.pair.client import Client
    from lapwing.pair.deployment import Deployment

app = typer.Typer(
    no_args_is_help=True,
    help="Let two servers answer questions; neither can read a row.",
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the pair.", show_default=False)]
File = Annotated[Path, typer.Argument(metavar="FILE", help="pair.yaml, or the folder it is in.", show_default=False)]


@app.command()
def new(
    folder: Folder,
    columns: Annotated[Path, typer.Option(help="YAML file that lists every column with its values, bounds or bins.")],
    owners: Annotated[
        int | None, typer.Option(help="How many owners there are. Each gets a code.", show_default=False)
    ] = None,
    codes: Annotated[
        Path | None,
        typer.Option(
            help="Instead of --owners: a file with one code per line, one for each owner.", show_default=False
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="The privacy budget (epsilon) of all answers together, for each person.")
    ] = 3.0,
    name: Annotated[
        str | None, typer.Option(help="Name of the table in a SELECT.", show_default="as the folder")
    ] = None,
    unit: Annotated[str, typer.Option(help="What one row is about.")] = "person",
    relation: Annotated[str, typer.Option(help="replace, or add_remove, which also hides who takes part.")] = "replace",
    products: Annotated[int, typer.Option(help="How many times each column can be combined with other columns.")] = 16,
    host: Annotated[str, typer.Option(help="Address at which both servers are reached.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the server 'as'. The server 'csp' uses the next port.")] = 8201,
    as_address: Annotated[
        str | None,
        typer.Option(help="If the servers run on two machines: HOST:PORT of the server 'as'.", show_default=False),
    ] = None,
    csp_address: Annotated[str | None, typer.Option(help="HOST:PORT of the server 'csp'.", show_default=False)] = None,
    as_certificate: Annotated[
        Path | None,
        typer.Option(
            help="Certificate of the server 'as', made on its machine: lapwing pair key FOLDER as.", show_default=False
        ),
    ] = None,
    csp_certificate: Annotated[
        Path | None,
        typer.Option(
            help="Certificate of the server 'csp', made on its machine: lapwing pair key FOLDER csp.",
            show_default=False,
        ),
    ] = None,
    analyst: Annotated[
        list[str] | None,
        typer.Option(
            help="Who may ask: a name, or NAME=CERTIFICATE. Can be repeated.", metavar="NAME", show_default="analyst"
        ),
    ] = None,
) -> None:
    """Start a pair: write the public file, the codes for owners, and a folder for each server."""
    with readable_errors():
        from lapwing.cli.pair_rows import codes_of
        from lapwing.curator.ask.documents import read_file
        from lapwing.pair import workspace
        from lapwing.pair.certificates import certificate_in

        if (owners is None) == (codes is None):
            why = "says who may upload. It must be a number, or a list of codes"
            raise InvalidParameter("owners", owners, why, "Write --owners 100, or --codes codes.txt.")
        files = {"as": as_certificate, "csp": csp_certificate}
        elsewhere = {server: certificate_in(file) for server, file in files.items() if file is not None}
        known = [entry.partition("=") for entry in analyst or ["analyst"]]
        deployment = workspace.make(
            folder,
            name=name or re.sub(r"\W+", "_", folder.resolve().name),
            columns=read_file(columns),
            owners=codes_of(codes) if codes is not None else owners or 0,
            epsilon=epsilon,
            unit=unit,
            relation=relation,
            products=products,
            addresses=(as_address or f"{host}:{port}", csp_address or f"{host}:{port + 1}"),
            analysts={who: certificate_in(Path(file)) if file else None for who, _, file in known},
            certificates=elsewhere,
        )
        _next_steps(folder, deployment, bool(elsewhere))


def _next_steps(folder: Path, deployment: Deployment, apart: bool) -> None:
    screen = console()
    screen.print(Text(f"Written to {folder}. The table is called {deployment.name}."), soft_wrap=True)
    parts = Table.grid(padding=(0, 2))
    parts.add_row("  pair.yaml", "for everybody: owners, servers, analysts")
    parts.add_row("  codes.txt", "a code for each owner; keep it from both servers")
    parts.add_row("  as, csp", "each for its own server: what it admits, hashed for it alone")
    for name in deployment.analysts:
        if (folder / f"{name}.pem").is_file():
            parts.add_row(f"  {name}.pem", f"the key with which {name} asks")
    screen.print(parts)
    if apart:
        screen.print("Carry pair.yaml and a server's folder to the machine that has its key. There:")
    for server in deployment.servers:
        screen.print(Text(f"  lapwing pair serve {shlex.quote(str(folder))} {server.name}"), soft_wrap=True)


@app.command()
def key(
    folder: Folder,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="as, csp, or the name of an analyst.", show_default=False)
    ],
) -> None:
    """Make a key on the machine that uses it, and print its certificate, which is not secret."""
    with readable_errors():
        from lapwing.pair.workspace import key_file, new_key

        certificate = new_key(folder, name)
        typer.echo(certificate, nl=False)
        typer.echo(f"The key is in {key_file(folder, name)}: it stays here. Only its certificate travels.", err=True)


@app.command()
def serve(
    folder: Folder,
    server: Annotated[str, typer.Argument(metavar="SERVER", help="as or csp.", show_default=False)],
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="as in pair.yaml")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="as in pair.yaml")] = None,
) -> None:
    """Run one of the two servers, until Ctrl-C."""
    with readable_errors():
        from lapwing.pair.server import PairServer

        party = PairServer(folder, server)
        own_host, own_port = party.deployment.servers[party.place].place
        at = (host or own_host, own_port if port is None else port)

        def ready() -> None:
            where = f"The server {server} listens at [private]{at[0]}:{at[1]}[/] – Ctrl-C ends it."
            console().print(where, soft_wrap=True)

        try:
            party.serve(ready, at)
        except KeyboardInterrupt:
            party.close()
            console().print("Stopped. Uploads and charges are saved on disk.")
        except OSError as error:
            why = f"cannot be used as an address ({error.strerror or error})"
            raise InvalidParameter("address", f"{at[0]}:{at[1]}", why, "Write --host and --port.") from None


@app.command()
def upload(
    file: File,
    row: Annotated[
        list[str] | None, typer.Argument(metavar="COLUMN=VALUE", help="Your row: age=39 sex=Male", show_default=False)
    ] = None,
    code: Annotated[str | None, typer.Option(help="The code that you were given.", show_default=False)] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", help="Rows of many people, with --codes.", show_default=False)
    ] = None,
    codes: Annotated[
        Path | None, typer.Option(help="File with one code per line, one for each row of the CSV.", show_default=False)
    ] = None,
    absent: Annotated[
        bool,
        typer.Option("--absent", help="Upload an empty row for somebody who does not take part. For add_remove only."),
    ] = False,
    skip: Annotated[int, typer.Option(help="Skip this many rows and codes, which both servers have already.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="With --csv: count the cells that do not fit, and upload nothing.")
    ] = False,
) -> None:
    """Split a row into two shares, and send each server one of them."""
    with readable_errors():
        from lapwing.cli.pair_rows import misfits_in, row_of
        from lapwing.pair.client import Client
        from lapwing.pair.deployment import Deployment

        deployment = Deployment.read(file)
        client = Client(deployment)
        if check:
            if table is None:
                raise InvalidParameter("csv", None, "is missing: --check looks at a CSV", "Write --csv rows.csv.")
            console().print(misfit_table(*misfits_in(table, deployment.layout)))
            console().print(
                "An empty or unknown cell counts as none of the values. A number beyond a bound counts as that bound."
            )
            return
        if (code is None) == (codes is None) or (table is not None and (row or absent or codes is None)):
            hint = "Write --code CODE age=39 …, or --csv rows.csv --codes codes.txt."
            raise InvalidParameter("code", code, "one row with a code, or many with a list of codes", hint)
        if codes is not None:
            _upload_many(client, table, codes, absent, skip)
            return
        if absent and row:
            raise InvalidParameter(
                "row", row[0], "cannot be combined with --absent, which uploads an empty row", "Leave one out."
            )
        client.upload(str(code).strip(), None if absent else row_of(deployment.layout, row or []))
        console().print("[private]✓[/] both servers have their share of the row, and neither can read it")


def _upload_many(client: Client, table: Path | None, codes: Path, absent: bool, skip: int) -> None:
    from rich.progress import Progress

    from lapwing.cli.pair_rows import codes_of, rows_in, table_in

    listed, layout, screen = codes_of(codes), client.deployment.layout, console()
    if table is None and not absent:
        raise InvalidParameter("csv", None, "is missing", "Write --csv rows.csv, or --absent for all these codes.")
    count, left_out = (len(listed), []) if table is None else table_in(table, layout)
    if count != len(listed):
        why = f"has {count:,} rows, and there are {len(listed):,} codes"
        raise InvalidParameter("csv", str(table), why, "Write a code for each row, in the same order.")
    if left_out:
        screen.print(Text(f"Left out, because the file does not name them: {', '.join(left_out)}."))
    rows = (None for _ in listed) if table is None else rows_in(table, layout)
    sent = skip
    with Progress(console=screen, transient=True) as bar:
        task = bar.add_task("rows that both servers have", total=count, completed=skip)

        def moved(number: int) -> None:
            nonlocal sent
            sent = skip + number
            bar.update(task, completed=sent)

        try:
            client.upload_all(islice(zip(listed, rows, strict=True), skip, None), progress=moved)
        except (LapwingError, KeyboardInterrupt):
            if sent:
                screen.print(f"Both servers have the first {sent:,} of {count:,} rows. Go on with --skip {sent}.")
            raise
    rows_sent = "1 row" if sent - skip == 1 else f"{sent - skip:,} rows"
    screen.print(f"[private]✓[/] both servers have their shares of {rows_sent}, and neither can read one")


@app.command()
def ask(
    file: File,
    sql: Annotated[str, typer.Argument(metavar="SELECT", help="The question in SQL.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="Privacy loss to spend, at both servers.")],
    key: Annotated[
        Path | None, typer.Option(help="File with your key.", show_default="analyst.pem in the folder of pair.yaml")
    ] = None,
    noise: Annotated[
        str,
        typer.Option(
            help="joint: both servers make the noise together (smaller error). each: every server adds full noise."
        ),
    ] = "joint",
    quote: Annotated[
        bool, typer.Option("--quote", help="Print what the question would cost. Nothing is spent.")
    ] = False,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    count: Annotated[
        int | None,
        typer.Option(help="Each group is publicly known to have this many rows or more.", show_default=False),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=A,B,…", help="All values of a column to group by. Can be repeated.", show_default=False
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="A name for this question. Ask again with the same name, and the same answer costs nothing.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the columns as CSV.")] = False,
) -> None:
    """Ask both servers: each checks and charges its own ledger, and they compute the answer together."""
    from lapwing.noise import SYSTEM

    with readable_errors("epsilon", "key", "noise", "confidence", "count", "keys", of_a_pair=True):
        key_file = _key_of(file, key)
        query = _query(file, sql, key_file, noise, keys)
        spending: dict[str, Any] = {"epsilon": epsilon, "confidence": confidence, "count": count}
        if quote:
            other = _query(file, sql, key_file, "each" if noise == "joint" else "joint", keys)
            show_quote(console(), query, other, spending, as_json=as_json)
            return
        question_key = name or f"{SYSTEM.bits(64):016x}"
        with _again(question_key):
            answer = query.release(**spending, key=question_key)
        if as_json or as_csv:
            typer.echo(answer.to_json() if as_json else answer.to_csv(), nl=as_json)
        else:
            console().print(answer)


def _key_of(file: Path, key: Path | None) -> Path:
    usual = (file if file.is_dir() else file.parent) / "analyst.pem"
    if key is None and not usual.is_file():
        why = "is missing: servers answer only the analysts named in pair.yaml"
        raise InvalidParameter("key", None, why, "Write --key ada.pem.")
    return key or usual


def _query(file: Path, sql: str, key: Path, noise: Any, keys: list[str] | None) -> Query:
    from lapwing.cli.question import _guessed, _pairs, _words
    from lapwing.pair.table import open

    groups = _pairs(keys, "keys", "decade=2,3,4", lambda text: _guessed(_words(text)))
    return open(file, key=key, noise=noise).query(sql, **({"keys": groups} if groups else {}))


@contextmanager
def _again(name: str) -> Iterator[None]:
    """If somebody was cut off while a question was charged, say how to get the answer without a second charge."""
    try:
        yield
    except KeyboardInterrupt:
        _hint(name)
        raise typer.Exit(130) from None
    except LapwingError as error:
        why = str(error)
        if "under another key" in why or "for another question" in why:  # the same one will not do
            typer.echo(f"The key of this question is --name {name}: choose another one.", err=True)
        elif "same key" in why or "stays charged" in why:
            _hint(name)
        raise


def _hint(name: str) -> None:
    typer.echo(f"Asking again with --name {name} is not charged a second time.", err=True)


@app.command()
def status(file: File) -> None:
    """Show both servers side by side: rows, the remaining budget of each ledger, and the products left."""
    with readable_errors():
        from lapwing.pair.client import Client
        from lapwing.pair.deployment import Deployment

        client = Client(Deployment.read(file), patience=10.0)
        states: list[dict[str, Any] | None] = []
        screen = console()
        for server in client.deployment.servers:
            try:
                states.append(client.status_of(server.name))
            except LapwingError:
                states.append(None)
        screen.print(status_table(client.deployment, states))
        for remark in remarks_on(client.deployment, states):
            screen.print(Text(remark))
        if None in states:
            raise typer.Exit(1)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="How many people of the census upload a row.")] = 5000,
    folder: Annotated[Path | None, typer.Option(help="Keep everything in this new folder.", show_default=False)] = None,
) -> None:
    """Run a pair on this machine: two servers, people of a public census who upload rows, and two questions."""
    from lapwing.cli.pair_demo import show

    with readable_errors():
        show(console(), rows, folder)
