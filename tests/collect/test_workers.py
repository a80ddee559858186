"""Several processes of one ingestor, and one sealer for all of them."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest
from collecting import PATIENCE, awaited, envelopes, workspace_with_ports

from lapwing.collect import hops, parties
from lapwing.collect.clock import Certainty
from lapwing.collect.files import alone
from lapwing.collect.sealing import envelope_bytes
from lapwing.collect.segments import OpenSegment
from lapwing.collect.simulation import Lines
from lapwing.errors import InvalidParameter
from lapwing.processes import Crew


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def test_workers_share_a_port_and_one_that_is_killed_is_started_again(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path / "collection", 60)
    address = workspace.collection().servers["ingestor"].address
    waiting = envelopes(workspace, 60)
    with closing(Crew("lapwing.collect.child:party")) as crew:
        for party in ("ingestor", "aggregator"):
            crew.start(
                party,
                {
                    "folder": str(workspace.folder),
                    "party": party,
                    "seal_after": 0.2,
                    "workers": 1 + (party == "ingestor"),
                },
            )
            crew.fact(party, "address", time.monotonic() + PATIENCE)
        parent = crew.processes["ingestor"].pid
        awaited(lambda: len(children(parent)) == 2)
        before = children(parent)
        for number, envelope in enumerate(waiting):
            with closing(Lines()) as lines:  # a new connection each time: any worker may take it
                assert lines.post(address, "/reports", envelope)[0] == 201
            if number == 30:
                os.kill(before[0], signal.SIGKILL)
        awaited(lambda: len(children(parent)) == 2 and children(parent) != before)
        awaited(lambda: workspace.aggregator().totals().get("counted") == 60)
        crew.processes["ingestor"].send_signal(signal.SIGTERM)
        assert crew.processes["ingestor"].wait(PATIENCE) == 0
    assert workspace.sealer().totals() == {"duplicate": 0, "sealed": 60}
    assert not list((workspace.folder / "ingestor" / workspace.collection().id / "open").iterdir())


def test_every_worker_tells_what_all_of_them_refused(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path / "collection", 60)
    address, job = workspace.collection().servers["ingestor"].address, {"folder": str(workspace.folder)}
    with closing(Crew("lapwing.collect.child:party")) as crew:
        for start in (1, 2):  # what was refused before a restart counts, too
            crew.start("ingestor", job | {"party": "ingestor", "workers": 2})
            crew.fact("ingestor", "address", time.monotonic() + PATIENCE)
            awaited(lambda: len(children(crew.processes["ingestor"].pid)) == 2)
            for _ in range(20):  # a new connection each time: any worker may take it
                assert hops.post(address + "/reports", b"too short").status == 400
            awaited(lambda turn=start: refused(address) == {20 * turn})
            crew.processes["ingestor"].send_signal(signal.SIGTERM)
            assert crew.processes["ingestor"].wait(PATIENCE) == 0


def refused(address: str) -> set[int]:
    """What some workers say, asked over new connections."""
    replies = [json.loads(hops.get(address + "/health").body)["totals"] for _ in range(10)]
    return {reply.get("wrong length", 0) for reply in replies}


def test_workers_end_with_whoever_started_them(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path / "collection", 60)
    with closing(Crew("lapwing.collect.child:party")) as crew:
        crew.start("ingestor", {"folder": str(workspace.folder), "party": "ingestor", "workers": 2})
        crew.fact("ingestor", "address", time.monotonic() + PATIENCE)
        parent = crew.processes["ingestor"]
        awaited(lambda: len(children(parent.pid)) == 2)
        workers = children(parent.pid)
        parent.kill()
        parent.wait()
        awaited(lambda: not any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers))


def test_two_sealers_never_work_on_one_folder(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path / "collection", 60)
    collection, one, two = workspace.collection(), workspace.sealer(), workspace.sealer()
    segment = OpenSegment(one.folders.open, collection.digest, envelope_bytes(collection))
    segment.append(b"".join(envelopes(workspace, 5)))
    segment.close()
    stray = one.folders.sealed / "half.sealed"
    stray.write_bytes(b"what somebody else is about to commit")
    with alone(one.folders.base) as ours:
        assert ours
        assert two.seal() == 0
        two.sure = Certainty(0)
        assert two.retire(collection.closes.replace(year=2100)) == []
        assert stray.exists()
    assert two.seal() == 5
    assert not stray.exists()
    assert one.seal() == 0


def test_only_an_ingestor_has_several_processes(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path / "collection", 60)
    for party, workers in (("analyzer", 2), ("ingestor", 0)):
        with pytest.raises(InvalidParameter, match="several processes"):
            parties.serve(workspace.folder, party, workers=workers)
