"""Files that a disk has damaged: they are set aside and counted, never sent with other bytes, and hold up nothing."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from collecting import Parties, fresh, handed_in, post, publish, running, segment
from sweeps import few

from lapwing.collect import hops
from lapwing.collect.batches import Batch, batch_name
from lapwing.collect.forwarder import forward
from lapwing.collect.handovers import undamaged
from lapwing.collect.segments import sealed_name
from lapwing.collect.shuffling import ShufflingServer
from lapwing.crowd import Reports

Damage = Callable[[bytes], bytes]
DAMAGES: dict[str, Damage] = {
    "the magic": lambda data: b"X" + data[1:],
    "the epoch": lambda data: data[:36] + b"\7" + data[37:],
    "a byte in the middle": lambda data: data[: (at := len(data) // 2)] + bytes([data[at] ^ 1]) + data[at + 1 :],
    "the last byte": lambda data: data[:-1] + bytes([data[-1] ^ 128]),
    "cut": lambda data: data[: len(data) // 2],
    "cut in the head": lambda data: data[:38],
    "empty": lambda data: b"",
    "longer": lambda data: data + bytes(512),
    "zeros": lambda data: bytes(len(data)),
}
SHUFFLERS = [("shuffled", "shuffler"), ("blinded", "blinder"), ("blinded", "thresholder")]
FEW = 3
"""Reports are enough for a batch."""
CAME, TO_BE_SENT = "files damaged after they came", "files damaged before they were sent"


def small(folder: Path, transport: str = "direct") -> AbstractContextManager[Parties]:
    return running(folder, transport=transport, publishing={"smallest_batch": FEW, "every_hours": 1})


def at_the_ingestor(parties: Parties) -> None:
    """A segment more is sealed."""
    assert post(parties, b"".join(fresh(parties) for _ in range(FEW))).status == 201
    parties.ingestor.intake.rotate(now=True)
    assert parties.sealer.seal() == FEW


def at_the_shuffler(parties: Parties, party: str) -> None:
    """A batch more is in `incoming` of this one."""
    at_the_ingestor(parties)
    assert forward(parties.sealer, parties.keys.ingestor) == 1
    if party == "thresholder":
        parties.shufflers["blinder"].work()
        assert parties.shufflers["blinder"].pass_on() == 1


def health(parties: Parties, party: str) -> dict[str, int]:
    totals: dict[str, int] = json.loads(hops.get(parties.collection.servers[party].address + "/health").body)["totals"]
    return totals


def in_three(folder: Path) -> list[Path]:
    """Three files that wait, in the order in which they are read."""
    first, second, third = sorted(folder.glob("*.sealed"))
    return [first, second, third]


@pytest.mark.parametrize(("transport", "party"), few(SHUFFLERS))
def test_a_damaged_file_that_came_is_set_aside_and_the_others_go_on(tmp_path: Path, transport: str, party: str) -> None:
    with small(tmp_path, transport) as parties:
        shuffler = parties.shufflers[party]
        for number, damage in enumerate(DAMAGES.values()):
            before = shuffler.totals()
            for _ in range(3):
                at_the_shuffler(parties, party)
            path = in_three(shuffler.incoming)[number % 3]
            path.write_bytes(broken := damage(path.read_bytes()))
            shuffler.work()
            after = shuffler.totals()
            assert after["taken"] == before.get("taken", 0) + 2 * FEW
            assert after[CAME] == before.get(CAME, 0) + 1
            assert "the key is gone" not in after
            assert path.with_suffix(".damaged").read_bytes() == broken
            assert not list(shuffler.incoming.glob("*.sealed"))
        assert shuffler.work() == 0
        assert health(parties, party)[CAME] == len(DAMAGES)
        assert shuffler.pass_on() == len(DAMAGES) or party == "thresholder"


@pytest.mark.parametrize(("transport", "party"), few(SHUFFLERS))
def test_an_output_that_was_damaged_is_never_sent_and_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str, party: str
) -> None:
    with small(tmp_path, transport) as parties:
        shuffler, sent = parties.shufflers[party], list[bytes]()
        real = hops.post

        def recording(address: str, body: bytes, *rest: object, **named: object) -> hops.Reply:
            sent.append(body)
            return real(address, body, *rest, **named)

        for number, damage in enumerate(DAMAGES.values()):
            for _ in range(3):
                at_the_shuffler(parties, party)
                shuffler.work()
            waiting = in_three(shuffler.outgoing)
            path = waiting[number % 3]
            names = {one.stem for one in waiting if one != path}
            path.write_bytes(damage(path.read_bytes()))
            sent.clear()
            with monkeypatch.context() as during:
                during.setattr(hops, "post", recording)
                assert shuffler.pass_on() == 2
            assert {sealed_name(body) for body in sent} == names
            assert path.with_suffix(".damaged").exists()
        assert shuffler.totals()[TO_BE_SENT] == health(parties, party)[TO_BE_SENT] == len(DAMAGES)
        again(shuffler)
        assert len(list(shuffler.outgoing.glob("*.damaged"))) == len(DAMAGES), "for somebody to look at"


def again(shuffler: ShufflingServer) -> None:
    """Rounds without anything new."""
    for _ in range(2):
        assert shuffler.work() == 0
        assert shuffler.pass_on() == 0


def test_an_output_whose_file_is_lost_is_counted_and_sent_when_it_is_put_back(tmp_path: Path) -> None:
    with small(tmp_path, "shuffled") as parties:
        shuffler = parties.shufflers["shuffler"]
        at_the_shuffler(parties, "shuffler")
        shuffler.work()
        [path] = shuffler.outgoing.iterdir()
        data = path.read_bytes()
        path.unlink()
        again(shuffler)
        assert shuffler.totals()[TO_BE_SENT] == 1
        path.write_bytes(data)  # from a copy that somebody had
        assert shuffler.pass_on() == 1
        assert TO_BE_SENT not in shuffler.totals()


@pytest.mark.parametrize("kind", few(DAMAGES, stays=lambda kind: kind in ("the last byte", "empty")))
def test_a_damaged_file_that_comes_again_counts_once(tmp_path: Path, kind: str) -> None:
    """The party before did not hear the answer, and has the same bytes still."""
    with small(tmp_path, "shuffled") as parties:
        shuffler = parties.shufflers["shuffler"]
        at_the_shuffler(parties, "shuffler")
        [path] = shuffler.incoming.iterdir()
        data = path.read_bytes()
        path.write_bytes(DAMAGES[kind](data))
        shuffler.work()
        for _ in range(2):
            assert shuffler._stored(data).status == 201
            shuffler.work()
        assert shuffler.totals()["taken"] == FEW
        assert "duplicate" not in shuffler.totals() or shuffler.totals()["duplicate"] == 0


@pytest.mark.parametrize("kind", few(DAMAGES, stays=lambda kind: kind in ("the last byte", "empty")))
def test_the_ingestor_and_the_aggregator_set_a_damaged_file_aside(tmp_path: Path, kind: str) -> None:
    with small(tmp_path) as parties:
        for _ in range(2):
            at_the_ingestor(parties)
        path = min(parties.sealer.folders.sealed.iterdir())
        path.write_bytes(DAMAGES[kind](path.read_bytes()))
        for expected in (1, 0):
            assert forward(parties.sealer, parties.keys.ingestor) == expected
            parties.sealer.seal()
        assert path.with_suffix(".damaged").exists()
        assert parties.sealer.totals()[TO_BE_SENT] == 1
        at_the_ingestor(parties)
        assert forward(parties.sealer, parties.keys.ingestor) == 1
        path = min(parties.aggregator.incoming.iterdir())
        path.write_bytes(DAMAGES[kind](path.read_bytes()))
        assert parties.aggregator.work() == FEW
        assert parties.aggregator.work() == 0
        assert health(parties, "aggregator")[CAME] == 1


def test_how_many_reports_there_were_before_thresholding_cannot_be_changed_on_the_disk(tmp_path: Path) -> None:
    """The number stands behind the rows, outside of their checksum, and says how large a batch is."""
    with small(tmp_path, "shuffled") as parties:
        at_the_shuffler(parties, "shuffler")
        parties.shufflers["shuffler"].work()
        assert parties.shufflers["shuffler"].pass_on() == 1
        [path] = parties.aggregator.incoming.iterdir()
        data = path.read_bytes()
        path.write_bytes(data[:-24] + (10**6).to_bytes(8, "little") + data[-16:])
        parties.aggregator.work()
        assert parties.aggregator.totals() == {CAME: 1}
        assert parties.aggregator.close_batch() is None


def test_a_file_whose_blocks_cannot_be_read_is_set_aside_and_one_that_is_busy_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small(tmp_path, "shuffled") as parties:
        shuffler = parties.shufflers["shuffler"]
        for _ in range(2):
            at_the_shuffler(parties, "shuffler")
        first, second = sorted(shuffler.incoming.iterdir())
        numbers = {first: errno.EMFILE}
        real = Path.open

        def opened(path: Path, *rest: object, **named: object) -> object:
            if path in numbers:
                raise OSError(numbers[path], "failed")
            return real(path, *rest, **named)

        with monkeypatch.context() as during:
            during.setattr(Path, "open", opened)
            with pytest.raises(OSError, match="failed"):
                undamaged(first)
            with pytest.raises(OSError, match="failed"):
                shuffler.work()  # in this round: too many files are open
            assert sorted(shuffler.incoming.iterdir()) == [first, second]
            numbers = {first: errno.EIO}
            shuffler.work()
        assert shuffler.totals()["taken"] == FEW
        assert shuffler.totals()[CAME] == 1


def counted(parties: Parties, sizes: list[int]) -> None:
    """One segment of so many reports after another, as they come to the aggregator, in one batch that is closed."""
    for size in sizes:
        handed_in(parties, segment(parties, ["bus"] * size).to_bytes())
    assert parties.aggregator.work() == sum(sizes)
    assert parties.aggregator.close_batch() is not None


def in_parts(parties: Parties, size: int) -> Path:
    """The file of the part that has so many reports."""
    with parties.aggregator.facts.transaction(write=False) as database:
        [name] = database.execute("SELECT name FROM part WHERE reports = :size", {"size": size}).fetchone()
    return parties.aggregator.parts / f"{name}.reports"


@pytest.mark.parametrize("damage", few([name for name in DAMAGES if name != "cut in the head"], stays=2))
def test_a_damaged_file_of_a_closed_batch_is_set_aside_and_the_others_are_counted(tmp_path: Path, damage: str) -> None:
    with small(tmp_path) as parties:
        aggregator = parties.aggregator
        counted(parties, [4, 5, 6])
        path = in_parts(parties, 5)
        path.write_bytes(broken := DAMAGES[damage](path.read_bytes()))
        for _ in range(2):
            aggregator.count_closed()
        assert aggregator.pass_on() == 1
        assert [result.reports for result in parties.analyzer.results()] == [10]
        aggregator.work()
        assert path.with_suffix(".damaged").read_bytes() == broken, "for somebody to look at"
        totals = health(parties, "aggregator")
        assert (totals["counted"], totals["in damaged files"], totals[CAME]) == (10, 5, 1)


def test_what_is_left_of_a_batch_waits_where_it_is_too_little(tmp_path: Path) -> None:
    with running(tmp_path) as parties:  # ten reports are a batch
        aggregator = parties.aggregator
        counted(parties, [4, 7])
        in_parts(parties, 7).write_bytes(b"")
        assert aggregator.count_closed() == 1
        assert aggregator.pass_on() == 0
        assert aggregator.progress().reports == 4, "never fewer than the smallest batch"
        assert list(parties.analyzer.folder.iterdir()) == []
        counted(parties, [8])
        aggregator.count_closed()
        assert aggregator.pass_on() == 1
        assert [result.reports for result in parties.analyzer.results()] == [12]


def test_damaged_counts_are_counted_again(tmp_path: Path) -> None:
    with small(tmp_path) as parties:
        aggregator = parties.aggregator
        counted(parties, [5])
        aggregator.count_closed()
        [path] = aggregator.closed.glob("*.batch")
        path.write_bytes(DAMAGES["the last byte"](path.read_bytes()))
        assert aggregator.pass_on() == 0, "what is damaged is never sent"
        aggregator.count_closed()
        assert aggregator.pass_on() == 1
        assert [result.reports for result in parties.analyzer.results()] == [5]
        assert aggregator.totals()[CAME] == 1


def test_kinds_of_reports_are_made_anew_from_the_reports(tmp_path: Path) -> None:
    with small(tmp_path, "shuffled") as parties:
        crowd = parties.collection.crowd
        assert crowd is not None
        protocol = parties.collection.local
        rows = np.frombuffer(
            b"".join(protocol.randomize([answer]).to_bytes() for answer in ["bus", "car"] * 20), dtype=np.uint8
        ).reshape(40, -1)
        reports, _ = Reports.from_singles(protocol, rows)
        data, kinds = reports.to_bytes(), parties.aggregator._kinds(protocol, rows).to_bytes()
        path = parties.aggregator.parts / f"{sealed_name(data)}-{sealed_name(kinds)}-x.kinds"
        path.with_suffix(".reports").write_bytes(data)
        for damage in DAMAGES.values():
            path.write_bytes(damage(kinds))
            parties.aggregator._mend_kinds(protocol, path)
            assert path.read_bytes() == kinds


@pytest.mark.parametrize("named", ["with its hash", "as once"])
def test_a_damaged_batch_does_not_hide_the_others_at_the_analyzer(tmp_path: Path, named: str) -> None:
    with running(tmp_path) as parties:
        publish(parties, 3)
        analyzer = parties.analyzer
        if named == "with its hash":
            for path in list(analyzer.folder.iterdir()):
                path.rename(path.with_name(batch_name(path.stem, path.read_bytes())))
        [_, path, _] = sorted(analyzer.folder.iterdir())
        whole = path.read_bytes()
        path.write_bytes(DAMAGES["cut" if named == "as once" else "the last byte"](whole))
        assert [result.batches for result in analyzer.results()] == [(1,), (3,)]
        page = json.loads(hops.get(parties.collection.servers["analyzer"].address + "/results").body)
        assert (len(page["batches"]), page["damaged"]) == (2, 1)
        other = Batch.from_bytes(parties.collection, whole)
        changed = replace(other, totals={"counted": 7}).to_bytes()
        assert analyzer._stored(changed).status == 409, "a published batch never changes"
        assert analyzer._stored(whole).status == (201 if named == "with its hash" else 409)
        assert len(analyzer.results()) == (3 if named == "with its hash" else 2)
