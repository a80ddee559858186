"""Issuer, aggregator, analyzer, and the folder of an operator."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import NOON, Keys, Parties, document, free_addresses, handed_in, publish, running, segment, working
from typer.testing import CliRunner

from lapwing.cli.commands import app
from lapwing.collect import documents, exports, hops, reader, tokens
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.analyzer import Analyzer
from lapwing.collect.batches import Batch
from lapwing.collect.collection import UNSIGNED
from lapwing.collect.drafts import PORTS
from lapwing.collect.files import PART, write_durably
from lapwing.collect.issuer import CODE_HEADER, Issuer
from lapwing.collect.key_ring import OPERATOR
from lapwing.collect.keys import Key
from lapwing.collect.participant import Participant
from lapwing.collect.quotes import promises, quote
from lapwing.collect.sealing import seal
from lapwing.collect.segments import SealedSegment
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter


def asked(parties: Parties, request: tokens.Request, code: str | None = None) -> hops.Reply:
    headers = {} if code is None else {CODE_HEADER.decode(): code}
    body = request.epoch.to_bytes(4, "little") + request.to_bytes()
    return hops.post(parties.collection.servers["issuer"].address + "/tokens", body, headers)


def test_codes_admit_their_owners_to_so_many_tokens(tmp_path: Path) -> None:
    with running(tmp_path, admission="codes") as parties:
        [code, other] = parties.issuer.new_codes(2)
        most = parties.collection.tokens_each(parties.collection.epochs[0])
        first, second = tokens.request(1, most - 1), tokens.request(1, 2)
        assert asked(parties, first).status == 403
        assert asked(parties, first, "guess").status == 403
        assert asked(parties, first, code).status == 200
        assert asked(parties, second, code).status == 429
        again = asked(parties, first, code)  # the answer was lost: the same request counts once
        assert again.status == 200
        assert len(first.tokens(parties.keys.tokens.public, again.body)) == most - 1
        assert asked(parties, second, other).status == 200
        assert asked(parties, tokens.request(7, 1), other).status == 410
        assert parties.issuer.issued() == most + 1
        assert all(code.encode() not in path.read_bytes() for path in (tmp_path / "issuer").iterdir())


def test_a_participant_with_a_code_takes_part(tmp_path: Path) -> None:
    with running(tmp_path, admission="codes") as parties:
        [code] = parties.issuer.new_codes(1)
        stranger, guest = (
            Participant(tmp_path / name, clock=lambda: parties.clock[0].timestamp()) for name in ("stranger", "guest")
        )
        stranger.opt_in(parties.collection)
        guest.opt_in(parties.collection, code=code)
        for moment in (NOON, NOON.replace(hour=23, minute=59, second=59, microsecond=999_000)):
            parties.clock[0] = moment
            for person in (stranger, guest):
                person.tick()
        assert parties.ingestor.totals["stored"] == 1


def test_an_own_rule_decides_who_is_admitted(tmp_path: Path) -> None:
    keys = Keys()
    collection = reader.sign(reader.checked(document(keys, admission="sign-in")), keys.operator)
    with pytest.raises(InvalidParameter, match="asks people to sign in"):
        Issuer(collection, tmp_path, {1: keys.tokens.secret})
    assert Issuer(collection, tmp_path, {1: keys.tokens.secret}, admit=lambda request: None)


def test_batches_are_published_when_they_are_large_enough_and_their_time_has_come(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        aggregator = parties.aggregator
        sizes = []
        for turn, count in enumerate((6, 3, 4, 20, 30, 5)):
            parties.clock[0] = NOON + timedelta(hours=9 * turn)
            handed_in(parties, segment(parties, ["bus"] * count).to_bytes())
            aggregator.work()
            aggregator.close_batch()
            aggregator.count_closed()
            aggregator.pass_on()
            sizes.append([result.reports for result in parties.analyzer.results()])
        # closed at 13 ≥ 10; a day later at 20 + 30; what comes after waits for the next
        assert sizes == [[], [], [13], [13], [13], [13, 55]]
        assert parties.analyzer.together().reports == 68
        assert aggregator.progress().reports == 0
        published = json.loads(hops.get(parties.collection.servers["analyzer"].address + "/results").body)
        assert [batch["reports"] for batch in published["batches"]] == [13, 55]
        assert published["together"]["gain_per_fake"] > 1


def test_a_segment_that_is_sent_twice_or_again_after_a_restart_counts_once(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        data = segment(parties, ["bus"] * 12).to_bytes()
        for _ in range(2):
            handed_in(parties, data)
        assert parties.aggregator.work() == 12
        handed_in(parties, data)
        again = Aggregator(
            parties.collection, tmp_path / "aggregator", {1: parties.keys.reports}, parties.keys.aggregator
        )
        assert again.work() == 0
        assert again.progress().reports == 12


def test_an_ingestor_that_repeats_reports_in_other_segments_is_noticed(tmp_path: Path) -> None:
    import numpy as np

    with running(tmp_path) as parties:
        first = segment(parties, ["bus"] * 12)
        repeated = SealedSegment(
            first.digest, 1, np.concatenate([first.reports[:5], segment(parties, ["car"]).reports])
        )
        for part in (first, repeated):
            handed_in(parties, part.to_bytes())
        assert parties.aggregator.work() == 13
        assert parties.aggregator.totals()["duplicate"] == 5


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_around_the_commit_counts_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    with running(tmp_path) as parties:
        handed_in(parties, segment(parties, ["bus"] * 12).to_bytes())

        class PowerFailed(BaseException):
            pass

        def fails(*_: Any, **__: Any) -> Any:
            raise PowerFailed

        with monkeypatch.context() as failing:
            if moment == "before":
                failing.setattr(type(parties.aggregator.runs), "add", fails)
            else:
                failing.setattr(type(parties.aggregator.runs), "merge", fails)
            with pytest.raises(PowerFailed):
                parties.aggregator.work()
        again = Aggregator(
            parties.collection, tmp_path / "aggregator", {1: parties.keys.reports}, parties.keys.aggregator
        )
        again.work()
        assert again.progress().reports == 12
        assert again.totals()["counted"] == 12


def test_reports_of_a_key_that_is_gone_are_dropped(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        handed_in(parties, segment(parties, ["bus"] * 3).to_bytes())
        without = Aggregator(parties.collection, tmp_path / "aggregator", {}, parties.keys.aggregator)
        assert without.work() == 0
        assert without.totals()["the key is gone"] == 3


def test_a_published_batch_never_changes(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        counts = parties.collection.protocol.absorb(None, parties.collection.protocol.randomize(["bus"] * 20))
        batch = Batch(parties.collection.digest, 1, NOON.date(), {}, counts)
        other = Batch(parties.collection.digest, 1, NOON.date(), {"counted": 1}, counts)
        hops.deliver(parties.collection, "analyzer", "/batches", batch.to_bytes(), parties.keys.aggregator)
        hops.deliver(parties.collection, "analyzer", "/batches", batch.to_bytes(), parties.keys.aggregator)
        with pytest.raises(hops.Unreachable, match="409"):
            hops.deliver(parties.collection, "analyzer", "/batches", other.to_bytes(), parties.keys.aggregator)
        with pytest.raises(hops.Unreachable, match="400"):
            hops.deliver(parties.collection, "analyzer", "/batches", batch.to_bytes()[:-1], parties.keys.aggregator)
        assert len(parties.analyzer.stored()) == 1


def test_results_are_computed_once_for_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as parties:
        address, computed = parties.collection.servers["analyzer"].address + "/results", list[int]()
        real = Analyzer.plain
        monkeypatch.setattr(Analyzer, "plain", lambda self: (computed.append(1), real(self))[1])
        nothing = hops.get(address).body
        assert hops.get(address).body == nothing
        for batches in (1, 2):
            publish(parties, batches)
            pages = [hops.get(address).body for _ in range(3)]
            assert pages[0] == pages[1] == pages[2] == json.dumps(real(parties.analyzer)).encode()
            assert len(json.loads(pages[0])["batches"]) == batches
        assert len(computed) == 3


def test_what_a_crash_left_half_written_is_removed_and_what_is_being_written_stays(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        aggregator, analyzer = parties.aggregator, parties.analyzer
        folders = (aggregator.incoming, aggregator.closed, analyzer.folder)
        for folder in folders:
            (folder / f"x.sealed.0123456789abcdef{PART}").write_bytes(b"half of a seg")
        seen = []

        def pieces() -> Iterator[bytes]:
            """While a file is written, everybody tidies up."""
            yield b"one "
            aggregator.work()
            Analyzer(parties.collection, tmp_path / "analyzer")
            seen.extend(path for folder in folders for path in folder.glob(f"*{PART}"))
            yield b"two"

        write_durably(aggregator.incoming / "y.other", pieces())
        assert [path.name.partition(".")[0] for path in seen] == ["y"]
        assert (aggregator.incoming / "y.other").read_bytes() == b"one two"
        assert not any(list(folder.glob(f"*{PART}")) for folder in folders)


def test_an_aggregator_whose_disk_was_lost_goes_on_after_what_is_published(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        handed_in(parties, segment(parties, ["bus"] * 12).to_bytes())
        parties.settle()
        shutil.rmtree(tmp_path / "aggregator")
        keys = {1: parties.keys.reports}
        fresh = Aggregator(
            parties.collection, tmp_path / "aggregator", keys, parties.keys.aggregator, clock=lambda: NOON
        )
        assert fresh._stored(segment(parties, ["bike"] * 11).to_bytes()).status == 201
        assert fresh.work() == 11
        assert fresh.close_batch() == 2
        fresh.count_closed()
        assert fresh.pass_on() == 1
        assert [result.reports for result in parties.analyzer.results()] == [12, 11]


def test_results_come_in_every_form(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    with running(tmp_path) as parties:
        assert "No batch is published yet" in exports.exported(parties.analyzer.plain(), "table").decode()
        handed_in(parties, segment(parties, ["bus"] * 12).to_bytes())
        parties.settle()
        assert "12 reports in 1 batch" in exports.exported(parties.analyzer.plain(), "table").decode()
        assert (
            exports.exported(parties.analyzer.plain(), "csv")
            .decode()
            .splitlines()[0]
            .startswith("batch,day,answer,count")
        )
        assert json.loads(exports.exported(parties.analyzer.plain(), "json"))["together"]["reports"] == 12
        (tmp_path / "results.parquet").write_bytes(exports.exported(parties.analyzer.plain(), "parquet"))
        assert pq.read_table(tmp_path / "results.parquet").num_rows == 3
        with pytest.raises(InvalidParameter, match="is not known"):
            exports.exported(parties.analyzer.plain(), "xlsx")


def test_results_are_asked_for_where_the_analyzer_is_on_another_machine(tmp_path: Path) -> None:
    with working(tmp_path / "all") as parties:
        publish(parties, 2)
        (tmp_path / "mine").mkdir()
        shutil.copy(tmp_path / "all" / "collection.yaml", tmp_path / "mine")
        told = CliRunner().invoke(app, ["collect", "results", str(tmp_path / "mine")])
        assert "80 reports in 2 batches" in told.output
        assert [path.name for path in (tmp_path / "mine").iterdir()] == ["collection.yaml"], "nothing is made here"


def test_a_new_version_keeps_the_keys_of_its_epochs_where_they_are_on_other_machines(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="How?", answers=["bus", "bike"])
    first = workspace.open()
    workspace.close()
    assert workspace.closed()
    for party in ("issuer", "ingestor", "aggregator"):
        shutil.rmtree(tmp_path / party)
    draft = documents.parsed(workspace.draft.read_bytes())
    longer = {"version": 2, "closes": (first.closes + timedelta(days=9)).isoformat()}
    workspace.draft.write_text(documents.written(draft | longer), encoding="utf-8")
    second = workspace.open()
    assert second.epochs[0] == first.epochs[0]
    assert second.servers == first.servers
    made = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.key"))
    assert made == ["aggregator/report-2.key", "ingestor/token-2.key", "issuer/token-2.key", "operator.key"]
    assert not workspace.closed(), "only the first version was closed"


def test_a_sketch_needs_candidates(tmp_path: Path) -> None:
    sketch = {"protocol": "CountMeanSketch", "epsilon": 4, "functions": 16, "width": 64}
    with running(tmp_path, protocol=sketch, candidates=["bus", "bike"]) as parties:
        handed_in(parties, segment(parties, ["bus"] * 12).to_bytes())
        parties.settle()
        assert [row["answer"] for row in parties.analyzer.together().rows()] == ["bus", "bike"]
        assert parties.analyzer.together(["tram"]).rows()[0]["answer"] == "tram"


def test_a_mean_is_published_with_its_interval(tmp_path: Path) -> None:
    rounding = {"protocol": "StochasticRounding", "epsilon": 2, "bounds": [0, 24]}
    with running(tmp_path, protocol=rounding) as parties:
        import numpy as np

        reports = [parties.collection.protocol.randomize([8]).to_bytes() for _ in range(12)]
        rows = b"".join(seal(parties.collection, 1, report) for report in reports)
        sealed = SealedSegment(parties.collection.digest, 1, np.frombuffer(rows, dtype=np.uint8).reshape(12, -1))
        handed_in(parties, sealed.to_bytes())
        parties.settle()
        [row] = parties.analyzer.together().rows()
        assert row["low"] - 1e-9 <= row["mean"] <= row["high"] + 1e-9, "equal if all reports are the same"
        assert (
            json.loads(exports.exported(parties.analyzer.plain(), "json"))["together"]["answers"][0]["answer"] == "mean"
        )


def test_the_quote_says_what_each_party_learns_and_how_good_estimates_are() -> None:
    keys = Keys()
    collection = reader.sign(reader.checked(document(keys)), keys.operator)
    result = quote(collection, devices=5_000, error=0.01)
    assert result.error is not None
    assert result.smallest is not None
    assert 0.03 < result.error.half_width < 0.08
    wanted = quote(collection, devices=result.smallest).error
    assert wanted is not None
    assert wanted.half_width == pytest.approx(0.01, rel=1e-3)
    names = {promise.party for promise in promises(collection)}
    assert names - {"people who lie"} == {*PORTS, "network", "analyzer, public", "disk of the ingestor"} - {"analyzer"}
    assert "74 % sure" in str(result)
    assert "practically certain. Reports do not say which device they came from." in str(result), "an ε of 8"
    assert "100 % sure" not in str(result)
    ingestor = next(promise for promise in promises(collection) if promise.party == "ingestor")
    assert ". If it works with the aggregator, or mixes a report with false ones only" in ingestor.guarantee
    donated = reader.checked(document(keys, accounting="donation"))
    assert "that something happened" in promises(donated)[0].learns
    ports = {"issuer": 1, "ingestor": 2, "aggregator": 3, "analyzer": 4, "relay": 5}
    relayed = {promise.party: promise for promise in promises(reader.checked(document(keys, ports)))}
    assert "addresses" not in relayed["ingestor"].learns
    assert "addresses" in relayed["relay"].learns


def test_the_command_says_what_the_quote_says(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    publishing = {"smallest_batch": 5, "every_hours": 24}
    workspace.create(question="How?", answers=["bus", "bike"], transport="shuffled", publishing=publishing)
    shown = " ".join(CliRunner().invoke(app, ["collect", "quote", str(tmp_path), "--error", "0.02"]).output.split())
    assert "an estimate can be off by more than 100 percentage points, so it says nothing." in shown
    assert "No number of devices makes the error ±2 percentage points" in shown
    for line in quote(workspace.drafted(), error=0.02).accuracy():
        assert line in shown


@pytest.mark.parametrize(("epsilon", "sure"), [("1", "at most 74 % sure"), ("6", "practically certain")])
def test_the_text_to_agree_to_is_true_of_the_epsilon(tmp_path: Path, epsilon: str, sure: str) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="How?", answers=["yes", "no"], epsilon=epsilon)
    draft = documents.parsed(workspace.draft.read_bytes())
    assert f"can become {sure} of it." in draft["consent"]
    assert draft["consent"].count("practically certain") == 1, "of what all reports say, if that is more"
    draft["protocol"]["epsilon"], draft["limits"]["lifetime_epsilon"] = "3", "4"
    draft["consent"] = draft["consent"].replace("and reads", "and\n reads")  # as somebody may break lines
    workspace.draft.write_text(documents.written(draft), encoding="utf-8")
    consent = workspace.open().consent
    assert "reads what one report says, can become at most 96 % sure of it." in consent, "what the last draft says"
    assert "and reads all of them, can become at most 99 % sure of it." in consent
    assert "practically certain" not in consent
    assert workspace.open().version == 1, "again: the same file"


BEFORE = (
    "Your answer is randomised on this device before it is sent. What is sent is often not your answer, and nobody can "
    "tell whether it is. You can leave at any time.\n"
)
AT_FIRST = (
    "Your answer is randomised on this device before it is sent: what is sent is often not your answer,\n and nobody "
    "can tell. You can leave at any time.\n"
)


@pytest.mark.parametrize("old", [BEFORE, AT_FIRST])
def test_drafts_of_earlier_versions_do_not_say_that_nobody_can_tell(tmp_path: Path, old: str) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="How?", answers=["yes", "no"], epsilon="8")
    draft = documents.parsed(workspace.draft.read_bytes()) | {"consent": old}
    workspace.draft.write_text(documents.written(draft), encoding="utf-8")
    consent = " ".join(workspace.open().consent.split())
    assert "nobody can tell" not in consent
    assert "before it is sent. Somebody who was 50 % sure of your answer, and reads what one report says," in consent
    assert "can become practically certain of it. You can leave at any time." in consent
    assert workspace.open().version == 1, "again: the same file"


def test_whoever_runs_a_version_with_a_text_that_is_not_true_is_told(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="How?", answers=["yes", "no"], epsilon="8", transport="shuffled")
    draft = documents.parsed(workspace.draft.read_bytes())

    def said(command: str) -> str:
        shown = CliRunner().invoke(app, ["collect", command, str(tmp_path)], env={"COLUMNS": "300"})
        assert shown.exit_code == 0
        return shown.output

    assert "The text that people agree to" not in said("check"), "a draft is corrected when it is opened"
    new = workspace.open()
    for command in ("check", "status"):
        assert "The text that people agree to" not in said(command)
    unsigned = {name: value for name, value in new.document.items() if name not in UNSIGNED}
    workspace.draft.write_text(documents.written(draft | {"consent": BEFORE}), encoding="utf-8")
    signed = reader.sign(reader.checked(unsigned | {"consent": BEFORE}), Key.read(tmp_path / OPERATOR))
    workspace.signed.write_text(signed.to_yaml(), encoding="utf-8")
    for command in ("check", "status"):
        assert "says too little about what reports tell. A signed version keeps its text." in said(command)
    assert workspace.open() == signed, "devices check the signature"
    workspace.draft.write_text(documents.written(draft | {"consent": BEFORE, "version": 2}), encoding="utf-8")
    assert "nobody can tell" not in workspace.open().consent
    assert "The text that people agree to" not in said("check")


def test_a_version_that_was_signed_keeps_its_text_when_the_library_writes_it_in_other_words(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="How?", answers=["bus", "bike"], transport="shuffled")
    new = workspace.open().consent
    ever = " Somebody who knows which reports came from your device, and reads all of them, can become practically "
    ever += "certain of it."
    server = "and so learns no more about your answer than that report says. It does not learn who you are."
    assert ever in new
    assert server in new
    draft = documents.parsed(workspace.draft.read_bytes())
    old = draft["consent"].replace(ever, "").replace(f", {server}", ", but neither your answer nor who you are.")
    assert old != draft["consent"]
    unsigned = {name: value for name, value in workspace.open().document.items() if name not in UNSIGNED}
    workspace.draft.write_text(documents.written(draft | {"consent": old}), encoding="utf-8")
    signed = reader.sign(reader.checked(unsigned | {"consent": old}), Key.read(tmp_path / OPERATOR))
    workspace.signed.write_text(signed.to_yaml(), encoding="utf-8")
    assert workspace.open() == signed, "again: the same file"
    workspace.draft.write_text(documents.written(draft | {"consent": old, "version": 2}), encoding="utf-8")
    assert workspace.open().consent == new


def test_an_operator_goes_from_nothing_to_a_signed_collection(tmp_path: Path) -> None:
    run, folder = CliRunner().invoke, tmp_path / "Commute 2026"
    made = run(app, ["collect", "new", str(folder), "--question", "How?", "--answers", "bus, bike ,car"])
    assert made.exit_code == 0, made.output
    assert run(app, ["collect", "check", str(folder)]).exit_code == 0
    quoted = run(app, ["collect", "quote", str(folder), "--devices", "500", "--error", "0.05"])
    assert quoted.exit_code == 0, quoted.output
    assert "aggregator" in quoted.output
    written = documents.parsed((folder / "draft.yaml").read_bytes())
    servers = free_addresses(written["servers"])  # those of the draft may be somebody else's
    (folder / "draft.yaml").write_text(documents.written(written | {"servers": servers}), encoding="utf-8")
    opened = run(app, ["collect", "open", str(folder)])
    assert opened.exit_code == 0, opened.output
    collection = Workspace(folder).collection()
    assert collection.signed
    assert collection.name == "commute-2026"
    assert collection.document["protocol"]["one_if_true"] == "1/2"  # exact odds, nothing to compute
    assert collection.document["protocol"]["fingerprint"] == collection.protocol.fingerprint.hex()
    assert run(app, ["collect", "open", str(folder)]).exit_code == 0  # again: the same keys, the same file
    assert Workspace(folder).collection() == collection
    owners = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*.key")}
    assert set(owners.values()) == {0o600}
    assert not (folder / "analyzer").exists()
    draft = documents.parsed((folder / "draft.yaml").read_bytes())
    (folder / "draft.yaml").write_text(documents.written(draft | {"question": "Why?"}), encoding="utf-8")
    refused = run(app, ["collect", "open", str(folder)])
    assert refused.exit_code == 2
    assert "version: 2" in refused.output.replace("\n", " ")
    (folder / "draft.yaml").write_text(documents.written(draft | {"question": "Why?", "version": 2}), encoding="utf-8")
    assert run(app, ["collect", "open", str(folder)]).exit_code == 0
    assert (folder / "collection-1.yaml").exists()
    assert "does not answer" in " ".join(run(app, ["collect", "results", str(folder)]).output.split())
    Workspace(folder).analyzer()
    assert "No batch" in run(app, ["collect", "results", str(folder)]).output
    assert "does not answer" in " ".join(run(app, ["collect", "status", str(folder)]).output.split())
    assert run(app, ["collect", "close", str(folder)]).exit_code == 0
    (folder / "draft.yaml").write_text(documents.written(draft | {"version": 0, "x": 1}), encoding="utf-8")
    wrong = run(app, ["collect", "check", str(folder)])
    assert wrong.exit_code == 2
    assert wrong.output.count("✗") == 2


def test_the_state_of_another_collection_is_not_taken_for_ours(tmp_path: Path) -> None:
    with running(tmp_path / "theirs") as parties:
        servers = {party: {"address": server.address} for party, server in parties.collection.servers.items()}
        ours = Workspace(tmp_path / "ours")
        ours.create(question="How?", answers=["bus", "bike"], servers=servers)
        ours.open()
        output = CliRunner().invoke(app, ["collect", "status", str(ours.folder)]).output
        assert output.count("another") >= 3
        assert "published" not in output


def test_every_party_is_a_process_of_its_own(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["collect", "demo", "--devices", "150", "--folder", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    assert "150 reports were acknowledged, 0 refused" in result.output
    assert Workspace(tmp_path / "demo").analyzer().together().reports == 150
