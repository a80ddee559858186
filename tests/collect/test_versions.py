"""After a new version was signed, every party finishes what it has of the version before."""

from __future__ import annotations

import csv
import json
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
from click.testing import Result
from collecting import NOON, envelopes, handed_in, listening, running, segment, workspace_with_ports
from loops import in_a_loop
from typer.testing import CliRunner

from lapwing.cli.commands import app
from lapwing.collect import documents, exports, hops
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.batches import Batch
from lapwing.collect.clock import Certainty, today
from lapwing.collect.collection import Collection, Transport
from lapwing.collect.parties import _beside_the_ingestor, behind_the_ingestor
from lapwing.collect.serving import Work
from lapwing.collect.versions import earlier, of_every_version
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter

REPORTS = 12


def taken(workspace: Workspace) -> None:
    """So many reports are acknowledged under the present version, and nothing is sealed yet."""
    intake = workspace.ingestor().intake
    in_a_loop(intake.append(b"".join(envelopes(workspace, REPORTS))))
    intake.close()


def signed_again(workspace: Workspace) -> Collection:
    """Another version, on the same machines."""
    draft = documents.parsed(workspace.draft.read_bytes()) | {"version": 2, "question": "How now?"}
    workspace.draft.write_text(documents.written(draft), encoding="utf-8")
    return workspace.open()


@contextmanager
def served(workspace: Workspace, parties: Iterable[str]) -> Iterator[list[Work]]:
    """These parties, at their addresses; and the work of all, the ingestor's first."""
    work = list(_beside_the_ingestor(workspace, 0.0, None))
    with ExitStack() as stack:
        for party in parties:
            app, more = behind_the_ingestor(workspace, party)
            parts = urlsplit(workspace.collection().servers[party].address)
            stack.enter_context(listening(app, socket.create_server((str(parts.hostname), parts.port or 0))))
            work += more
        yield work


def test_what_was_acknowledged_is_counted_under_its_version(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path, REPORTS)
    first = workspace.collection()
    taken(workspace)
    for party in (workspace.aggregator, workspace.analyzer):
        party()  # ran under the first version, and got nothing yet
    second = signed_again(workspace)
    taken(workspace)
    with served(workspace, ("aggregator", "analyzer")) as work:
        for step in work:
            step()
        published = json.loads(hops.get(second.servers["analyzer"].address + "/results").body)
    [before] = earlier(workspace, "analyzer")
    assert before.collection().digest == first.digest
    assert before.analyzer().together().reports == REPORTS
    assert [batch["reports"] for batch in published["batches"]] == [REPORTS]
    assert published["version"] == 2
    left = tmp_path / "ingestor" / first.id
    assert not list(left.rglob("*.open")) + list(left.rglob("*.sealed"))
    for aggregator in (workspace.aggregator(), earlier(workspace, "aggregator")[0].aggregator()):
        aggregator.work()
        assert not any(aggregator.parts.iterdir()), "reports of published batches are gone"


def test_the_folder_of_an_ingestor_goes_when_the_epochs_of_its_version_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with_ports(tmp_path, REPORTS)
    first = workspace.collection()
    taken(workspace)
    workspace.aggregator()
    signed_again(workspace)
    left = tmp_path / "ingestor" / first.id
    monkeypatch.setattr("lapwing.collect.sealer.Certainty", lambda: Certainty(0))
    with served(workspace, ["aggregator"]) as work:
        for step in work:
            step()
        assert any((left / "ids").iterdir())
        assert not list(left.rglob("*.open")) + list(left.rglob("*.sealed"))
        monkeypatch.setattr("lapwing.collect.versions.today", lambda: today() + timedelta(days=60))
        for step in 2 * work:  # what is gone is not looked for again
            step()
    assert not left.exists(), "ids, and the secret that mixed them"


def test_a_key_that_two_versions_have_is_destroyed_by_the_last_that_needs_it(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path, REPORTS)
    workspace.aggregator()
    signed_again(workspace)
    both: list[Aggregator] = of_every_version(
        workspace, "aggregator", lambda version, needed: version.aggregator(needed=needed)
    )
    assert [one.collection.version for one in both] == [2, 1]
    key = tmp_path / "aggregator" / "report-1.key"
    for one, there in zip(both, (True, False), strict=True):
        one.clock, one.sure = lambda: NOON + timedelta(days=400), Certainty(0)
        assert one.retire() == 1
        assert key.exists() is there


@pytest.mark.parametrize("transport", ["shuffled", "blinded"])
def test_shufflers_finish_their_part_of_an_earlier_version(tmp_path: Path, transport: Transport) -> None:
    workspace = workspace_with_ports(tmp_path, REPORTS, transport)
    hop = workspace.collection().after("ingestor")
    workspace.shuffler(hop)
    signed_again(workspace)
    _, work = behind_the_ingestor(workspace, hop)
    assert len(work) == 6


def test_reports_whose_ids_are_in_another_database_are_not_left_without_a_word(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path, REPORTS)
    taken(workspace)
    (tmp_path / "ingestor" / workspace.collection().id / "place").write_text("machine 1", encoding="ascii")
    signed_again(workspace)
    with pytest.raises(InvalidParameter, match="reports of version 1 that were not passed on"):
        _beside_the_ingestor(workspace, 0.0, None)


def test_reports_that_fill_no_batch_are_deleted_when_no_more_can_come(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        aggregator = parties.aggregator
        handed_in(parties, segment(parties, ["bus"] * 3).to_bytes())
        aggregator.work()
        aggregator.retire()
        assert len(list(aggregator.parts.iterdir())) == 1
        parties.clock[0] = NOON + timedelta(days=50)
        aggregator.retire()
        assert list(aggregator.parts.iterdir()) == []
        assert aggregator.totals()["too few for a batch"] == 3
        assert aggregator.close_batch() is None


def published(folder: Path, reports: int) -> Workspace:
    """Two versions of a collection: the first has this many reports in one batch, the second as many in two."""
    workspace = workspace_with_ports(folder, REPORTS)
    batch_of(workspace, 1, reports)
    signed_again(workspace)
    for number in (1, 2):
        batch_of(workspace, number, reports)
    return workspace


def batch_of(workspace: Workspace, number: int, reports: int) -> None:
    collection = workspace.collection()
    counts = collection.protocol.absorb(None, collection.protocol.randomize(["bus"] * reports))
    batch = Batch(collection.digest, number, today(), {"counted": reports}, counts)
    assert workspace.analyzer()._stored(batch.to_bytes()).status == 201


def shown(folder: Path, *words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["collect", "results", str(folder), *words])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("place", ["here", "on another machine"])
def test_results_of_earlier_versions_are_shown(tmp_path: Path, place: str) -> None:
    workspace = published(tmp_path / "all", 30)
    with ExitStack() as stack:
        folder = workspace.folder
        if place == "on another machine":
            stack.enter_context(served(workspace, ["analyzer"]))
            folder = tmp_path / "mine"
            folder.mkdir()
            shutil.copy(workspace.signed, folder)
        present = shown(folder)
        assert present.stdout.splitlines()[:2] == ["How now?", f"60 reports in 2 batches, the last of {today()}"]
        assert present.stderr == (
            "Earlier versions have results, too: 1. Show one with --version 1, or all with --all-versions.\n"
        )
        first = shown(folder, "--version", "1")
        assert first.stdout.startswith(f"How?\n30 reports in 1 batch, the last of {today()}")
        assert not first.stderr
        assert shown(folder, "--version", "2").stdout == present.stdout
        both = shown(folder, "--all-versions")
        assert both.stdout == f"Version 1\n{first.stdout.rstrip()}\n\nVersion 2\n{present.stdout}"
        told = shown(folder, "--version", "3", code=2)
        assert "Write one of: 1, 2." in " ".join(told.output.split())


def test_files_of_all_versions_say_which_is_which(tmp_path: Path) -> None:
    folder = published(tmp_path / "all", 30).folder
    assert json.loads(shown(folder, "--format", "json").stdout)["version"] == 2
    listed = json.loads(shown(folder, "--format", "json", "--all-versions").stdout)
    assert [(item["version"], len(item["batches"])) for item in listed] == [(1, 1), (2, 2)]
    rows = list(csv.DictReader(shown(folder, "--format", "csv", "--all-versions").stdout.splitlines()))
    assert [(row["version"], row["batch"], row["answer"]) for row in rows] == [
        (version, batch, answer) for version, batch in ("11", "21", "22") for answer in ("bus", "bike")
    ]
    plain = shown(folder, "--format", "csv").stdout.splitlines()
    assert plain[0] == "batch,day,answer,count,low,high" or not plain[0].startswith("version")
    shown(folder, "--format", "parquet", "--all-versions", "--output", str(tmp_path / "all.parquet"))
    assert pq.read_table(tmp_path / "all.parquet")["version"].to_pylist() == [1, 1, 2, 2, 2, 2]


def test_versions_with_other_columns_are_in_one_file() -> None:
    batch = {"batches": [1], "day": "2026-11-16"}
    means = {"version": 1, "batches": [{**batch, "answers": [{"answer": "mean", "mean": 3.0, "low": 2, "high": 4}]}]}
    counts = {"version": 2, "batches": [{**batch, "answers": [{"answer": "bus", "count": 3.0, "low": 2, "high": 4}]}]}
    lines = exports.exported_versions([means, counts], "csv").decode().splitlines()
    assert lines == [
        "version,batch,day,answer,mean,low,high,count",
        "1,1,2026-11-16,mean,3.0,2,4,",
        "2,1,2026-11-16,bus,,2,4,3.0",
    ]
    with pytest.raises(InvalidParameter, match="is not known"):
        exports.exported_versions([means], "xlsx")


def test_an_aggregator_of_an_earlier_version_whose_disk_was_lost_goes_on_after_what_is_published(
    tmp_path: Path,
) -> None:
    workspace = workspace_with_ports(tmp_path, REPORTS)
    batch_of(workspace, 1, 30)
    workspace.aggregator()
    taken(workspace)
    signed_again(workspace)
    with served(workspace, ("aggregator", "analyzer")) as work:
        for step in work:
            step()
    [before] = earlier(workspace, "analyzer")
    assert [result.reports for result in before.analyzer().results()] == [30, REPORTS]
