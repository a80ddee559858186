"""`lapwing collect demo`: each party is a process, each device sends a request, estimates stand beside the truth."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from lapwing.errors import InvalidParameter

ANSWERS, SHARES = ("train", "bike", "car", "on foot"), (0.40, 0.25, 0.25, 0.10)
ADDRESSES, VISITS = ("/home", "/help", "/a rare page", "/my/own/page"), (0.6, 0.3, 0.09, 0.01)
SHUFFLERS = 2
"""Of answers in fragments."""
PATIENCE = 60.0


def show(
    screen: Console,
    devices: int,
    folder: Path | None,
    *,
    transport: Any = "direct",
    strings: bool = False,
    fragments: bool = False,
    stay: bool = False,
) -> None:
    """Start everything, let devices answer, wait for the batch, and compare. The parties end then, or `stay`."""
    from lapwing import checks
    from lapwing.collect.simulation import send_answers
    from lapwing.collect.workspace import Workspace
    from lapwing.processes import Crew

    checks.whole(minimum=100, devices=devices)
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(TemporaryDirectory()))
        workspace = Workspace(place)
        _prepare(workspace, devices, transport, strings=strings, fragments=fragments)
        crew = stack.enter_context(closing(Crew("lapwing.collect.child:party")))
        collection = workspace.collection()
        for party in collection.servers:
            crew.start(party, {"folder": str(place), "party": party, "seal_after": 1.0})
        for party in collection.servers:
            address = crew.fact(party, "address", time.monotonic() + PATIENCE)
            screen.print(f"  {party:<11} a process of its own at [private]{address}[/]")
        people = queue(ADDRESSES, VISITS, devices) if strings else queue(ANSWERS, SHARES, devices)
        with Progress(console=screen, transient=True) as bar:
            task = bar.add_task(f"{devices:,} devices answer", total=devices)
            outcome = send_answers(collection, people, progress=lambda done: bar.update(task, completed=done))
        pieces = f", each in {collection.messages_each} fragments" if fragments else ""
        screen.print(f"  {outcome.stored:,} reports were acknowledged{pieces}, {outcome.refused:,} refused.")
        _wait(workspace, devices)
        _compare(screen, workspace, Counter(people))
        if stay:
            screen.print(f"  The parties run on until Ctrl-C. Watch them: lapwing serve --collections {place}")
            with suppress(KeyboardInterrupt):
                threading.Event().wait()


def queue(answers: Sequence[str], shares: Sequence[float], devices: int) -> list[str]:
    """So many people in a random order: of fragments, only those of the first are published."""
    from lapwing.collect.simulation import population
    from lapwing.noise import permutation

    people = population(answers, shares, devices)
    return [people[place] for place in permutation(devices)]


def _prepare(workspace: Any, devices: int, transport: Any, *, strings: bool = False, fragments: bool = False) -> None:
    import socket

    from lapwing.collect.drafts import ports_of
    from lapwing.collect.string_protocol import StringProtocol

    number = SHUFFLERS if fragments else 1
    ports = ports_of("blinded" if strings else transport, number)
    listeners = {party: socket.create_server(("127.0.0.1", 0)) for party in ports}  # free ports, given back at once
    servers = {party: {"address": f"http://127.0.0.1:{line.getsockname()[1]}"} for party, line in listeners.items()}
    for line in listeners.values():
        line.close()
    workspace.create(
        question="Which page did you see first?" if strings else "How did you come here today?",
        answers=() if strings else ANSWERS,
        strings=StringProtocol(threshold=20, length=32, randomness="issuer") if strings else None,
        epsilon="2",
        name="demo",
        # Coins share fragments out among the shufflers, of which each needs a batch of its own.
        publishing={"smallest_batch": len(ANSWERS) * devices // 3 if fragments else devices, "every_hours": 1},
        servers=servers,
        transport=transport,
        fragments={"by": "attribute"} if fragments else None,
        shufflers=number,
    )
    workspace.open()


def _wait(workspace: Any, devices: int) -> None:
    """Until the batch of all devices is published."""
    deadline = time.monotonic() + PATIENCE + devices / 1000
    while not workspace.analyzer().stored():
        if time.monotonic() > deadline:
            raise InvalidParameter("devices", devices, "took too long on this machine", "Try fewer devices.")
        time.sleep(0.2)


def _compare(screen: Console, workspace: Any, truth: Counter[str]) -> None:
    result = workspace.analyzer().together()
    table = Table(title=Text(workspace.collection().question), title_justify="left")
    for name, style in (("answer", ""), ("truth", "exact"), ("estimate", "private"), ("95 % interval", "private")):
        table.add_column(name, style=style, justify="left" if name == "answer" else "right")
    people = result.reports / truth.total() if result.fragments is not None else 1  # whose fragments fill a batch
    for row in result.rows():
        interval = f"{row['low']:,.0f} to {row['high']:,.0f}"
        table.add_row(row["answer"], f"{people * truth[row['answer']]:,.0f}", f"{row['count']:,.0f}", interval)
    screen.print(table)
    if result.fragments is not None:
        screen.print(
            f"  {result.fragments:,} fragments of complete batches, as many as {result.reports:,} people send."
        )
    if result.removed:
        screen.print(f"  {result.missing()}")
    gain = result.gain_per_fake
    if gain is None:
        closed = sorted(set(truth) - {row["answer"] for row in result.rows()})
        screen.print(f"  Nobody has read what too few devices sent: {', '.join(closed) or 'there was nothing'}.")
        return
    screen.print(f"  No server has seen an answer. One false report can move a count by {gain:.2g} at most.")
