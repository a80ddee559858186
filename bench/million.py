"""A million virtual devices, end to end: `python -m bench.collect --only million` (most of an hour on two cores).

Issuer, ingestor, aggregator and analyzer are the processes that `lapwing collect serve` starts. Every device has keys
and a token of its own: it asks the issuer for it, checks the proof, randomises, seals and sends one envelope in one
request, all over HTTP. When the batch of all devices is published, the estimates are compared with the truth.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from lapwing.processes import Crew, job, say

CROWDS, LINES = 2, 16
"""Processes that play devices, and connections of each at a time."""
SEAL_AFTER = 20.0
FALSE_ALARM = 1e-6
"""With this probability an honest run has an estimate outside the interval of that confidence, which is a bar."""
START = 60.0
"""Seconds for a process to begin."""
SLOWEST = 100
"""Devices a second, at least."""


def devices() -> None:
    """In a process of its own: so many people of each answer."""
    from lapwing.collect.simulation import send_answers
    from lapwing.collect.workspace import Workspace

    work, last = job(), [time.monotonic()]

    def progress(sent: int) -> None:
        if time.monotonic() - last[0] > 1:
            last[0] = time.monotonic()
            say(sent=sent)

    answers = (answer for answer, count in work["people"].items() for _ in range(count))
    outcome = send_answers(Workspace(work["folder"]).collection(), answers, lines=LINES, progress=progress)
    say(stored=outcome.stored, refused=outcome.refused)


def usage(pid: int) -> dict[str, float]:
    """Processor seconds with those of its children that ended, and megabytes at the most."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000
    return {"processor seconds": ticks / os.sysconf("SC_CLK_TCK"), "megabytes": round(most, 1)}


def run(folder: Path, people: int) -> tuple[dict[str, Any], dict[str, bool]]:
    """What so many devices took, and the bars."""
    from lapwing.cli.collect_demo import ANSWERS, SHARES, _prepare
    from lapwing.collect.simulation import population
    from lapwing.collect.workspace import Workspace

    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    workspace = Workspace(folder)
    _prepare(workspace, people, "direct")
    truth, sent, start = Counter(population(ANSWERS, SHARES, people)), Counter[str](), time.monotonic()
    deadline = start + START + people / SLOWEST

    def heard(name: str, fact: Mapping[str, Any]) -> None:
        sent[name] = fact.get("sent", fact.get("stored", sent[name]))
        if sent.total():
            rate = sent.total() / (time.monotonic() - start)
            print(f"\r{sent.total():>12,} of {people:,} devices, {rate:,.0f} a second", end="", flush=True)

    with (
        closing(Crew("lapwing.collect.child:party")) as parties,
        closing(Crew("bench.million:devices", heard)) as crowd,
    ):
        for party in workspace.collection().servers:
            parties.start(party, {"folder": str(folder), "party": party, "seal_after": SEAL_AFTER})
            parties.fact(party, "address", time.monotonic() + START)
        begun = time.monotonic()
        for number in range(CROWDS):
            shares = {answer: count // CROWDS + (number < count % CROWDS) for answer, count in truth.items()}
            crowd.start(f"devices {number}", {"folder": str(folder), "people": shares})
        stored = sum(crowd.fact(f"devices {number}", "stored", deadline) for number in range(CROWDS))
        refused = sum(crowd.fact(f"devices {number}", "refused", deadline) for number in range(CROWDS))
        answered = time.monotonic()
        while not workspace.analyzer().stored():
            assert time.monotonic() < deadline, workspace.aggregator().totals()
            time.sleep(0.2)
        published = time.monotonic()
        used = {name: usage(process.pid) for name, process in parties.processes.items()}
    print()
    return _compared(workspace, truth, people, stored, refused, used, answered - begun, published - begun)


def _compared(
    workspace: Any,
    truth: Mapping[str, int],
    people: int,
    stored: int,
    refused: int,
    used: dict[str, dict[str, float]],
    answered: float,
    published: float,
) -> tuple[dict[str, Any], dict[str, bool]]:
    result = workspace.analyzer().together()
    sure = replace(result.estimates, confidence=1 - FALSE_ALARM)
    low, high = sure.interval("respondents", simultaneous=True)  # all who answered are known
    inside = all(low[place] <= truth[label] <= high[place] for place, label in enumerate(result.estimates.labels))
    shown = {
        "devices": people,
        "seconds until all had answered": round(answered, 1),
        "seconds until the batch was published": round(published, 1),
        "acknowledged": stored,
        "refused": refused,
        "counted": result.reports,
        "parties": used,
        "estimates": [
            {"answer": row["answer"], "truth": truth[row["answer"]], "estimate": row["count"]}
            | {"low": row["low"], "high": row["high"]}
            for row in result.rows()
        ],
    }
    bars = {
        f"{people:,} devices: acknowledged = counted": stored == result.reports == people,
        f"{people:,} devices: estimates inside their intervals": bool(inside),
    }
    return shown, bars
