"""A new version is signed while parties run: started again, they finish the old one (docs/collect-deployment.md).

Every party is a process of the command line, as on a real machine. In one process: tests/collect/test_versions.py.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from collecting import OPEN_DOOR, envelopes, workspace_with_ports

from lapwing.collect import documents, hops
from lapwing.collect.collection import ROUTES, Transport
from lapwing.collect.exports import published_versions
from lapwing.collect.simulation import Lines
from lapwing.collect.versions import earlier
from lapwing.collect.workspace import Workspace

COMMAND = [sys.executable, "-c", "from lapwing.cli import main; main()", "collect"]
REPORTS, EARLY = 12, 7
"""All reports of a version make one batch; so many of the first come long before the others."""
PATIENCE = 240.0


def told(*words: str) -> str:
    """What the command line says."""
    return subprocess.run([*COMMAND, *words], capture_output=True, check=True, encoding="utf-8").stdout


@contextmanager
def serving(workspace: Workspace, parties: Sequence[str]) -> Iterator[None]:
    """All parties, until they are asked to end, as systemd does it."""
    options = {"ingestor": ["--seal-after", "0.5"]}
    processes = [
        subprocess.Popen(
            [*COMMAND, "serve", party, str(workspace.folder), *options.get(party, [])], stdout=subprocess.DEVNULL
        )
        for party in parties
    ]
    try:
        servers = workspace.collection().servers
        for party in parties:
            until(lambda party=party: answers(servers[party].address))
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            assert process.wait(PATIENCE) in (0, -signal.SIGTERM)


def answers(address: str) -> bool:
    try:
        return hops.get(address + "/health").status > 0
    except OSError:
        return False


def until(state: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not state():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def totals(workspace: Workspace, party: str) -> dict[str, int]:
    address = workspace.collection().servers[party].address
    counts: dict[str, int] = json.loads(hops.get(address + "/health").body)["totals"]
    return counts


def sent(workspace: Workspace, bodies: Sequence[bytes]) -> list[int]:
    with closing(Lines()) as lines:
        address = workspace.collection().servers["ingestor"].address
        return [lines.post(address, "/reports", body)[0] for body in bodies]


def results(workspace: Workspace, *words: str) -> Any:
    return json.loads(told("results", str(workspace.folder), "--format", "json", *words))


def signed_again(workspace: Workspace) -> None:
    """What the operator does: edit the draft, and sign it."""
    draft = documents.parsed(workspace.draft.read_bytes()) | {"version": 2, "question": "How now?"}
    workspace.draft.write_text(documents.written(draft), encoding="utf-8")
    told("open", str(workspace.folder))


@pytest.mark.sweep
@pytest.mark.timeout(1800)  # a dozen processes start twice, where the machine is busy
@pytest.mark.parametrize("transport", ROUTES)
def test_what_was_acknowledged_before_a_new_version_is_published_under_the_old_one(
    tmp_path: Path, transport: Transport
) -> None:
    crowds = {"crowd": dict(OPEN_DOOR)} if transport != "direct" else {}
    workspace = workspace_with_ports(tmp_path, REPORTS, transport, **crowds)
    parties, crowd = (*ROUTES[transport], "analyzer", "issuer"), b"attribute\nnorth" if crowds else None
    first = envelopes(workspace, REPORTS + 1, crowd)
    with serving(workspace, parties):
        assert sent(workspace, first[:EARLY]) == [201] * EARLY
        until(lambda: totals(workspace, "ingestor").get("sealed") == EARLY)  # these are on their way
        assert sent(workspace, first[EARLY:REPORTS]) == [201] * (REPORTS - EARLY)  # these may not be sealed yet
        told("close", str(workspace.folder))
        assert sent(workspace, first[REPORTS:]) == [410], "from now on nothing is taken"
    signed_again(workspace)
    with serving(workspace, parties):
        assert sent(workspace, first[:1]) == [403], "an envelope of the old version has no epoch here"
        second = envelopes(workspace, REPORTS, crowd)
        assert sent(workspace, second) == [201] * REPORTS
        until(lambda: published_versions(workspace) == [1, 2])
        both = results(workspace, "--all-versions")
    for item, question in zip(both, ("How?", "How now?"), strict=True):
        assert item["question"] == question
        [batch] = item["batches"]
        assert batch["taken"] == REPORTS, "all that was acknowledged, and nothing twice"
    check_old_version(workspace, transport)


def check_old_version(workspace: Workspace, transport: Transport) -> None:
    """Nothing of it is left on the way, and its totals agree."""
    [aggregator] = [version.aggregator() for version in earlier(workspace, "aggregator")]
    counts = aggregator.totals()
    passed_on = REPORTS
    for party in ROUTES[transport][1:-1]:
        [shuffler] = [version.shuffler(party) for version in earlier(workspace, party)]
        assert shuffler.totals()["taken"] == counts["before thresholding"] == REPORTS
        passed_on = shuffler.totals()["passed on"]
    assert counts["counted"] == passed_on
    [analyzer] = [version.analyzer() for version in earlier(workspace, "analyzer")]
    together = analyzer.together()
    assert together.reports == REPORTS, "shares are of all who took part"
    assert together.removed == REPORTS - passed_on
    assert not [path for kind in ("open", "sealed") for path in workspace.folder.rglob(f"*.{kind}")]
