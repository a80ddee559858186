"""`lapwing collect …`: ask many devices one question with local differential privacy."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from lapwing.cli.theme import console, readable_errors

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection, Transport
    from lapwing.collect.counting import Counting
    from lapwing.collect.string_protocol import StringProtocol
    from lapwing.collect.workspace import Workspace
    from lapwing.errors import LapwingError

SMALLEST_ERROR = 1e-12
app = typer.Typer(no_args_is_help=True, help="Collect answers that devices randomise themselves (local DP).")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the collection.", show_default=False)]


def _workspace(folder: Path) -> Workspace:
    from lapwing.collect.workspace import Workspace

    return Workspace(folder)


def _transport(written: str) -> Transport:
    from lapwing.collect.collection import ROUTES
    from lapwing.errors import InvalidParameter

    for transport in ROUTES:
        if transport == written:
            return transport
    raise InvalidParameter("transport", written, "is not known", f"Write one of: {', '.join(ROUTES)}.")


def _fragments(written: str | None, shufflers: int) -> dict[str, Any] | None:
    from lapwing.collect.collection import MOST_SHUFFLERS
    from lapwing.errors import InvalidParameter

    if not 1 <= shufflers <= MOST_SHUFFLERS:
        why = f"must be 1 to {MOST_SHUFFLERS}"
        raise InvalidParameter("shufflers", shufflers, why, "Write --shufflers 3.")
    if written is None and shufflers > 1:
        why = "several shufflers are for fragments only"
        raise InvalidParameter("shufflers", shufflers, why, "Write --fragments 3 or --fragments attribute as well.")
    if written is None or written == "attribute":
        return None if written is None else {"by": "attribute"}
    if not written.isascii() or not written.isdigit():
        why = "is neither a number of reports nor attribute"
        raise InvalidParameter("fragments", written, why, "Write --fragments 3 or --fragments attribute.")
    return {"by": "report", "count": int(written)}


@app.command()
def new(
    folder: Folder,
    question: Annotated[str, typer.Option(help="What devices are asked.")],
    answers: Annotated[str, typer.Option(help="The possible answers, separated by commas.")] = "",
    strings: Annotated[
        int | None,
        typer.Option(help="Instead of --answers: collect strings of at most this many bytes.", show_default=False),
    ] = None,
    threshold: Annotated[
        int, typer.Option(help="How many devices must send the same string before it can be read.")
    ] = 20,
    randomness: Annotated[
        str,
        typer.Option(help="issuer: guessing strings needs the issuer. none: only for strings that nobody can guess."),
    ] = "issuer",
    epsilon: Annotated[str, typer.Option(help="The privacy loss (epsilon) of one report. Strings have none.")] = "1",
    host: Annotated[
        str, typer.Option(help="Address at which devices reach this machine, such as 192.168.1.20.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The first port. The parties use this port and the following ones.")] = 8101,
    batch: Annotated[int, typer.Option(help="How many reports a batch needs before anything is published.")] = 100,
    transport: Annotated[
        str | None,
        typer.Option(
            help="direct, shuffled (one server mixes reports) or blinded (two servers do). Strings are always blinded.",
            show_default="direct; shuffled with fragments",
        ),
    ] = None,
    fragments: Annotated[
        str | None,
        typer.Option(
            help="Send each answer in pieces: a number of reports, such as 3, or attribute (one piece per bit)."
        ),
    ] = None,
    shufflers: Annotated[
        int, typer.Option(help="How many shufflers there are. Each piece goes through one of them, chosen at random.")
    ] = 1,
) -> None:
    """Start a collection: write a draft to edit, and the key that will sign it."""
    with readable_errors():
        listed = [answer.strip() for answer in answers.split(",") if answer.strip()]
        workspace = _workspace(folder)
        publishing = {"smallest_batch": batch, "every_hours": 24}
        pieces = _fragments(fragments, shufflers)
        draft = workspace.create(
            question=question,
            answers=listed,
            epsilon=epsilon,
            strings=_strings(listed, strings, threshold, randomness),
            host=host,
            port=port,
            transport=_transport(transport or ("direct" if pieces is None else "shuffled")),
            fragments=pieces,
            shufflers=shufflers,
            publishing=publishing,
        )
        _problems(workspace)
        console().print(
            Text(f"Draft written to {draft}. Edit it, then:\n  lapwing collect quote {folder}"), soft_wrap=True
        )


def _strings(answers: list[str], length: int | None, threshold: int, randomness: Any) -> StringProtocol | None:
    from lapwing.collect.string_protocol import StringProtocol
    from lapwing.errors import InvalidParameter

    if bool(answers) == (length is not None):
        why = "must be a list of answers, or strings"
        raise InvalidParameter("answers", ", ".join(answers), why, 'Write --answers "bus, bike", or --strings 32.')
    return None if length is None else StringProtocol(threshold=threshold, length=length, randomness=randomness)


@app.command()
def check(folder: Folder) -> None:
    """List the mistakes in the draft (exit code 2 if there are any)."""
    with readable_errors():
        if _problems(_workspace(folder)):
            raise typer.Exit(2)
        console().print("[private]✓[/] the draft can be opened")
        if note := _workspace(folder).outdated_consent():
            console().print(Text(note))


def _problems(workspace: Workspace) -> int:
    problems = workspace.checked()
    for problem in problems:
        console().print(Text.assemble(("✗ ", "adversary"), problem))
    return len(problems)


@app.command()
def quote(
    folder: Folder,
    devices: Annotated[int, typer.Option(help="How many devices you expect.")] = 10_000,
    error: Annotated[float | None, typer.Option(help="The error you want: 0.02 is 2 percentage points.")] = None,
) -> None:
    """Show what each party could learn, and how accurate the estimates will be. Nothing is sent."""
    from lapwing.collect.quotes import quote as quoted

    with readable_errors():
        result = quoted(_either(_workspace(folder)), devices=devices, error=_wanted(error))
        if error is not None and result.error is not None and result.error.of == "share" and error >= 1:
            raise _too_coarse(error)
        screen = console()
        screen.print(Text(f"{result.collection.question}", style="bold"))
        screen.print(Text(result.explain()))
        for line in result.accuracy():
            screen.print(Text(line))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("who", "can learn", "what protects people from this party"):
            table.add_column(name)
        for promise in result.promises:
            table.add_row(Text(promise.party, style="bold"), Text(promise.learns), Text(promise.guarantee))
        screen.print(table)


def _wanted(error: float | None) -> float | None:
    from lapwing.errors import InvalidParameter

    if error is not None and not SMALLEST_ERROR <= error < float("inf"):
        why = "is an error that no number of devices can reach" if error > 0 else "must be a number above 0"
        raise InvalidParameter("error", error, why, "Write 0.02 for 2 percentage points, for example.")
    return error


def _too_coarse(error: float) -> LapwingError:
    from lapwing.errors import InvalidParameter

    points = f"{100 * error:,.6g} percentage points"
    why = f"is {points}, and no share of people can be off by more than 100"
    return InvalidParameter("error", error, why, f"Write --error {error / 100:g} for {error:g} percentage points.")


def _either(workspace: Workspace) -> Collection:
    """The signed collection, or the draft as it would be signed."""
    if workspace.signed.exists():
        return workspace.collection()
    return workspace.drafted()


@app.command()
def open(folder: Folder) -> None:
    """Make the keys of all parties, sign the draft, and write collection.yaml for everybody."""
    from lapwing.cli.collect_answer import example

    with readable_errors():
        collection = _workspace(folder).open()
        screen = console()
        signed = f"Signed: {folder / 'collection.yaml'}, version {collection.version}, hash {collection.id}."
        screen.print(Text(signed), soft_wrap=True)
        screen.print("Start each party on its machine, or all of them here:")
        for party in collection.servers:
            if party == "issuer" and collection.admission == "sign-in":
                screen.print(Text(f"  lapwing serve --collections {folder}   (the school is the issuer)"))
            else:
                screen.print(Text(f"  lapwing collect serve {party} {folder}"))
        first = example(collection)
        if first is not None:
            code = " --code CODE" if collection.admission == "codes" else ""
            screen.print("Then send a first answer, and check the parties:")
            screen.print(Text(f"  lapwing collect answer {folder} {shlex.quote(first)}{code}"))
            screen.print(Text(f"  lapwing collect status {folder}"))


@app.command()
def serve(
    party: Annotated[
        str,
        typer.Argument(
            metavar="PARTY",
            help="issuer, relay, ingestor, shuffler (shuffler2, …), blinder, thresholder, aggregator or analyzer.",
            show_default=False,
        ),
    ],
    folder: Folder,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on. Default: the address in collection.yaml, which devices use."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on. Default: the port in collection.yaml, which devices use.")
    ] = None,
    seal_after: Annotated[
        float, typer.Option(help="Maximum seconds that a report waits at the ingestor before it is sealed.")
    ] = 600.0,
    workers: Annotated[int, typer.Option(help="How many processes of the ingestor share its port.")] = 1,
    database: Annotated[
        str | None,
        typer.Option(help="PostgreSQL database that several ingestors share, postgresql://user@host/name"),
    ] = None,
    spark: Annotated[
        str | None, typer.Option(help="The master of a Spark cluster that counts for the aggregator: spark://host:7077")
    ] = None,
    shared: Annotated[Path | None, typer.Option(help="A folder that all machines of the cluster can read.")] = None,
    oblivious: Annotated[
        bool,
        typer.Option(
            "--oblivious",
            help="Shuffle without revealing the order through disk access. Also for shufflers with little memory.",
        ),
    ] = False,
) -> None:
    """Run one party of a collection."""
    from lapwing.collect.parties import serve as served

    with readable_errors():
        served(
            folder,
            party,
            host=host,
            port=port,
            workers=workers,
            seal_after=seal_after,
            database=database,
            counting=_counting(spark, shared),
            oblivious=oblivious,
            ready=lambda address: console().print(f"The {party} listens at [private]{address}[/] – Ctrl-C ends it."),
        )


def _counting(spark: str | None, shared: Path | None) -> Counting:
    from lapwing.collect.counting import Cluster, counted_here
    from lapwing.errors import InvalidParameter

    if spark is None:
        return counted_here
    if shared is None:
        why = "is missing: the machines of a cluster read reports from there"
        raise InvalidParameter("shared", None, why, "Write --shared FOLDER.")
    return Cluster(spark, shared)


@app.command()
def codes(
    folder: Folder, count: Annotated[int, typer.Argument(metavar="COUNT", help="How many codes.", show_default=False)]
) -> None:
    """Make admission codes for people. The codes are shown only once, because the issuer keeps only their hashes."""
    from lapwing.errors import InvalidParameter

    with readable_errors():
        workspace = _workspace(folder)
        admission = workspace.collection().admission
        if admission != "codes":
            why = "does not ask for codes"
            raise InvalidParameter("admission", admission, why, "Write admission: codes in the draft, and open it.")
        if not any((folder / "issuer").glob("token-*.key")):  # codes that it made would be known to nobody
            why = "has no keys of the issuer, and only the issuer can make codes"
            hint = "Run this on the machine of the issuer, with the folder that `lapwing collect serve issuer` uses."
            raise InvalidParameter("folder", str(folder), why, hint)
        for code in workspace.issuer().new_codes(count):
            typer.echo(code)


@app.command()
def answer(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="The folder of the collection, or its collection.yaml.", show_default=False
        ),
    ],
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="An answer of the collection.", show_default=False)],
    devices: Annotated[int, typer.Option(help="How many devices send this answer, with one report each.", min=1)] = 1,
    code: Annotated[str | None, typer.Option(help="An admission code, if the collection asks for one.")] = None,
) -> None:
    """Send an answer now. This is for testing.

    A real device uses lapwing.collect.Participant: it sends at a random time and counts what it spends.
    """
    from lapwing.cli.collect_answer import answer as answered

    with readable_errors():
        answered(console(), source, text, devices, code)


@app.command()
def status(folder: Folder) -> None:
    """Show the state of every party."""
    from lapwing.cli.collect_state import state_of

    with readable_errors():
        table, notes = state_of(_workspace(folder))
        console().print(table)
        for note in notes:
            console().print(Text(note))


@app.command()
def results(
    folder: Folder,
    form: Annotated[str, typer.Option("--format", help="table, csv, json or parquet.")] = "table",
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of the screen.")] = None,
    version: Annotated[int | None, typer.Option(help="Show an earlier version of the collection.")] = None,
    all_versions: Annotated[bool, typer.Option("--all-versions", help="Show every version separately.")] = False,
    watch: Annotated[bool, typer.Option(help="Show the results again whenever a batch is published.")] = False,
) -> None:
    """Show the estimates of all published batches together, with 95 % intervals."""
    with readable_errors():
        workspace, shown = _workspace(folder), None
        while True:
            batches, data, notes = _results(workspace, form, version, all_versions=all_versions)
            if (batches, notes) != shown:
                shown = batches, notes
                _show(data, output)
                for note in notes:
                    typer.echo(note, err=True)  # not among the results, which a program may read
            if not watch:
                return
            time.sleep(1)


def _results(
    workspace: Workspace, form: str, version: int | None, *, all_versions: bool
) -> tuple[int, bytes, list[str]]:
    """How many batches there are, what they say, and what to know besides."""
    from lapwing.cli.collect_state import notes_of
    from lapwing.collect import exports

    if all_versions:
        listed = [exports.published(workspace, number) for number in exports.published_versions(workspace)]
        if listed:
            notes = notes_of(workspace, listed[-1], present=listed[-1]["version"] == workspace.collection().version)
            return sum(len(item["batches"]) for item in listed), exports.exported_versions(listed, form), notes
    chosen = exports.published(workspace, version)
    notes = notes_of(workspace, chosen, present=chosen["version"] == workspace.collection().version)
    others = [number for number in exports.published_versions(workspace) if number < chosen["version"]]
    if others and version is None:
        note = f"Earlier versions have results, too: {', '.join(map(str, others))}. "
        notes.append(note + f"Show one with --version {others[-1]}, or all with --all-versions.")
    return len(chosen["batches"]), exports.exported(chosen, form), notes


def _show(data: bytes, output: Path | None) -> None:
    if output is not None:
        output.write_bytes(data)
        console().print(Text(f"Written to {output}."))
    else:
        typer.echo(data.decode(errors="replace"))


@app.command()
def close(folder: Folder) -> None:
    """Close a collection. It takes no more reports, and an incomplete batch is never published."""
    with readable_errors():
        since = _workspace(folder).close()
        here = "the ingestor of this folder takes no more reports; results stay"
        console().print(f"[private]✓[/] closed since {since:%-d %B %Y, %H:%M} UTC: {here}")


@app.command()
def demo(
    devices: Annotated[int, typer.Option(help="How many simulated devices answer.")] = 10_000,
    folder: Annotated[Path | None, typer.Option(help="Keep everything in this folder.")] = None,
    transport: Annotated[str, typer.Option(help="direct, shuffled or blinded.")] = "direct",
    strings: Annotated[bool, typer.Option("--strings", help="Devices send strings, through two shufflers.")] = False,
    fragments: Annotated[
        bool, typer.Option("--fragments", help="Devices send answers in pieces, each through one of two shufflers.")
    ] = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the parties running until Ctrl-C, so that you can watch them.")
    ] = False,
) -> None:
    """Run a whole collection on this machine: a process for each party, and thousands of devices that answer."""
    from lapwing.cli.collect_demo import show
    from lapwing.errors import InvalidParameter

    with readable_errors():
        way = _transport("shuffled" if fragments and transport == "direct" else transport)
        if fragments and (strings or way != "shuffled"):
            why = "go through one of several shufflers each, and strings are sent whole"
            raise InvalidParameter("fragments", way, why, "Write --fragments alone, or leave it out.")
        show(console(), devices, folder, transport=way, strings=strings, fragments=fragments, stay=stay)
