"""Shufflers on a disk that somebody watches: the same law as in memory, and a disk that shows lengths only."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chance import FALSE_ALARM
from collecting import Keys, document, fresh, post, running, shuffler_of, workspace_with_ports
from scipy import stats

from lapwing.collect import hops, oblivious, reader, stash
from lapwing.collect.crowds import CROWD_BYTES
from lapwing.collect.parties import serve
from lapwing.collect.records import Damaged
from lapwing.collect.sealing import layer_info, random_id, report_bytes, row_bytes, sealed_for
from lapwing.collect.segments import SealedSegment, sealed_name
from lapwing.collect.shuffling import STASH, ShufflingServer
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, permutation

KEYS = Keys()
COLLECTION = reader.sign(reader.checked(document(KEYS, transport="shuffled")), KEYS.operator)


# ---------------------------------------------------------------- the law

Selection = Callable[[Any, Any, Any, Any], Iterator[Any]]


def outcomes(runs: int, selected: Selection) -> Counter[bytes]:
    """Which rows come out in which order, of crowds of 3 and 2 rows of which 1 and 2 are kept."""
    rows = np.zeros((5, 5), dtype=np.uint8)
    rows[:, 0], rows[:, 4] = [0, 0, 0, 1, 1], range(5)
    found: Counter[bytes] = Counter()
    for _ in range(runs):
        mixed = rows[permutation(5, SYSTEM)]
        chosen = np.concatenate(list(selected([mixed[:2], mixed[2:]], [3, 2], [1, 2], SYSTEM)))
        found[chosen[:, 0].tobytes()] += 1
    return found


def chance(found: Counter[bytes]) -> float:
    every = [bytes(order) for order in permutations(range(5), 3) if {3, 4} <= set(order)]
    assert found.total() == sum(found[order] for order in every)
    return float(stats.chisquare([found[order] for order in every]).pvalue)


def test_every_choice_of_rows_in_every_order_is_equally_likely() -> None:
    assert chance(outcomes(2_000, oblivious._selected)) > FALSE_ALARM


def test_keeping_the_first_rows_of_each_crowd_would_show_who_lost_more() -> None:
    def first(blocks: Any, sizes: Any, kept: Any, entropy: Any) -> Iterator[Any]:
        left = list(kept)
        for block in blocks:
            chosen = []
            for place, number in enumerate(block[:, 0].tolist()):
                if left[number]:
                    left[number] -= 1
                    chosen.append(place)
            yield block[chosen, 4:]

    assert chance(outcomes(2_000, first)) < FALSE_ALARM


# ---------------------------------------------------------------- one batch


def rows_of(crowds: list[int]) -> np.ndarray:
    """A row for each number of a crowd, sealed for the shuffler; what is inside of it nobody here can open."""
    inside = row_bytes(COLLECTION, "aggregator")
    sealed = [
        sealed_for(
            KEYS.hops["shuffler"].public,
            random_id()
            + bytes([crowd]) * CROWD_BYTES
            + number.to_bytes(4, "little") * (inside // 4)
            + bytes(inside % 4),
            layer_info("shuffler", COLLECTION.digest, 1),
        )
        for number, crowd in enumerate(crowds)
    ]
    return np.frombuffer(b"".join(sealed), dtype=np.uint8).reshape(len(crowds), -1)


def shuffler(folder: Path, **named: Any) -> ShufflingServer:
    return shuffler_of(COLLECTION, folder, KEYS, "shuffler", **named)


def came(server: ShufflingServer, rows: np.ndarray) -> None:
    data = SealedSegment(COLLECTION.digest, 1, rows).to_bytes()
    (server.incoming / f"{sealed_name(data)}.sealed").write_bytes(data)


def numbers_in(server: ShufflingServer) -> list[int]:
    """Which rows are passed on, in order."""
    [path] = server.outgoing.iterdir()
    data = path.read_bytes()
    assert path.stem == sealed_name(data)
    reports = SealedSegment.from_bytes(COLLECTION.digest, data[:-24]).reports
    return np.ascontiguousarray(reports[:, :4]).view("<u4").ravel().tolist()


CROWDS = [0] * 200 + [1] * 90 + [2] * 8 + [3] * 2
ROWS = rows_of(CROWDS)


def test_a_file_that_the_disk_changes_after_it_was_looked_at_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between counting rows and opening them, bytes change: of such a file nothing is used, and the others go on."""
    server = shuffler(tmp_path, oblivious=True)
    came(server, ROWS[:100])
    victim = next(server.incoming.glob("*.sealed"))
    came(server, ROWS[100:])
    begun, changed = type(server)._begun, list[bytes]()

    def changing(self: ShufflingServer, epoch: int) -> Any:
        if not changed:
            data = victim.read_bytes()
            changed.append(data)
            victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        return begun(self, epoch)

    monkeypatch.setattr(type(server), "_begun", changing)
    server.work()
    assert victim.with_suffix(".damaged").exists()
    assert server.totals()["taken"] == 200
    assert min(numbers_in(server)) >= 100
    assert server.totals()["files damaged after they came"] == 1


def test_it_keeps_and_counts_what_the_ordinary_way_does(tmp_path: Path) -> None:
    """Two files, with duplicates in one and between both, and rows that were sealed for somebody else."""
    torn = ROWS[:5].copy()
    torn[:, -1] ^= 1
    kept = {}
    for name in ("ordinary", "oblivious"):
        server = shuffler(tmp_path / name, oblivious=name == "oblivious")
        came(server, np.concatenate([ROWS[:160], ROWS[:10], torn]))
        came(server, ROWS[150:])
        passed_on, numbers = server.work(), numbers_in(server)
        assert passed_on == len(numbers)
        assert len(set(numbers)) == len(numbers)
        sizes = Counter(CROWDS[number] for number in numbers)
        assert sizes.keys() - {2} == {0, 1}
        assert 190 <= sizes[0] < 200
        assert 80 <= sizes[1] < 90
        kept[name] = {what: count for what, count in server.totals().items() if what != "passed on"}
        assert not list(server.incoming.iterdir())
        assert server.work() == 0
        came(server, np.concatenate([ROWS[:20], ROWS[40:60]]))  # again: nothing is new
        assert server.work() == 0
        assert not list((server.folder / STASH).glob("*"))
    assert kept["ordinary"] == kept["oblivious"]


def test_too_few_wait_and_nothing_of_them_stays_in_the_stash(tmp_path: Path) -> None:
    server = shuffler(tmp_path, oblivious=True)
    came(server, np.concatenate([ROWS[:6]] * 3))
    assert server.work() == 0
    assert len(list(server.incoming.iterdir())) == 1
    assert not list((server.folder / STASH).iterdir())
    came(server, ROWS[6:40])
    assert server.work() > 0
    assert server.totals()["taken"] == 40


def test_a_shuffle_that_did_not_end_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = shuffler(tmp_path, oblivious=True)
    came(server, ROWS)
    with monkeypatch.context() as patch:
        patch.setattr(stash.StashShuffle, "_compress", lambda *_: (_ for _ in ()).throw(Damaged("a disk")))
        with pytest.raises(Damaged):
            server.work()
    assert not server.totals()
    assert len(list(server.incoming.iterdir())) == 1
    (server.folder / STASH / "left.chunks").write_bytes(b"noise")  # of a process that was killed
    (server.outgoing / "0123.part").write_bytes(b"noise")
    again = shuffler(tmp_path)  # also if it goes on without --oblivious
    assert again.work() > 0
    assert not list((server.folder / STASH).iterdir())
    assert len(list(again.outgoing.iterdir())) == 1


# ---------------------------------------------------------------- what the disk shows

Trace = list[tuple[str, str, int, int]]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Trace]:
    """Accesses to files of the shuffle and to what goes on: which kind, read or written, where, how many bytes."""
    seen: Trace = []
    real_pwrite, real_pread, real_write = os.pwrite, os.pread, os.write

    def note(what: str, handle: int, place: int, length: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.parent.name in (STASH, "outgoing"):
            seen.append((what, path.parent.name + path.suffix, place, length))

    def pwrite(handle: int, data: Any, place: int) -> int:
        note("write", handle, place, len(data))
        return real_pwrite(handle, data, place)

    def pread(handle: int, length: int, place: int) -> bytes:
        note("read", handle, place, length)
        return real_pread(handle, length, place)

    def write(handle: int, data: Any) -> int:
        note("append", handle, 0, len(data))
        return real_write(handle, data)

    def watch(work: Callable[[], object]) -> Trace:
        seen.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", pwrite)
            patch.setattr(os, "pread", pread)
            patch.setattr(os, "write", write)
            work()
        return list(seen)

    return watch


def inputs() -> list[np.ndarray]:
    """One crowd, two, many; and one with duplicates and rows that do not open. All have 300 rows."""
    torn = ROWS[:20].copy()
    torn[:, -1] ^= 1
    return [
        rows_of([7] * 300),
        rows_of([1, 2] * 150),
        rows_of([number % 30 for number in range(300)]),
        np.concatenate([ROWS[:260], ROWS[:20], torn]),
    ]


def keep_200(sizes: list[int]) -> list[int]:
    """So many in all, however many crowds there are: the length of the output is no secret."""
    kept, left = [], 200
    for size in sizes:
        kept.append(min(size, left))
        left -= kept[-1]
    return kept


def traces(watched: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Trace]:
    monkeypatch.setattr(stash, "BUCKET_BYTES", 1 << 11)
    monkeypatch.setattr(stash, "CHUNK_MEAN", 8)
    found = []
    for number, rows in enumerate(inputs()):
        server = shuffler(folder / str(number), oblivious=True)
        monkeypatch.setattr(server, "_kept", keep_200)
        came(server, rows)
        found.append(watched(server.work))
        assert len(numbers_in(server)) == 200
    return found


def test_the_disk_shows_the_same_accesses_for_all_crowds_and_all_draws(
    watched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a window that draws leave with probability 2^-64 at most."""
    first, *others = traces(watched, tmp_path, monkeypatch)
    assert len({kind for _, kind, _, _ in first}) == 4  # the input, chunks and output of the shuffle, and what goes on
    assert sum(what == "append" for what, _, _, _ in first) > 2
    assert all(other == first for other in others)


def test_writing_what_is_kept_at_once_would_show_the_draws(
    watched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oblivious, "_due", lambda shuffle, end, total: total)
    first, *others = traces(watched, tmp_path, monkeypatch)
    assert any(other != first for other in others)


def test_leaving_duplicates_out_of_the_shuffle_would_show_how_many_there_are(
    watched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oblivious, "_padded", lambda records, length: records)
    with pytest.raises(InvalidParameter, match="announced"):
        traces(watched, tmp_path, monkeypatch)


def test_nothing_of_a_row_is_in_the_files_of_the_shuffle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, held = shuffler(tmp_path, oblivious=True), list[bytes]()
    real = stash.StashShuffle.shuffle

    def looked_at(self: Any, source: Any, folder: Path, entropy: Any) -> Any:
        target = real(self, source, folder, entropy)
        held.extend(path.read_bytes() for path in folder.iterdir())
        return target

    monkeypatch.setattr(stash.StashShuffle, "shuffle", looked_at)
    came(server, ROWS)
    assert server.work() > 0
    assert len(held) == 2
    marks = [bytes([crowd]) * 12 for crowd in range(4)] + [number.to_bytes(4, "little") * 4 for number in range(300)]
    assert not any(mark in data for mark in marks for data in held)


# ---------------------------------------------------------------- over HTTP


@pytest.mark.parametrize("transport", ["shuffled", "blinded"])
def test_reports_go_through_oblivious_shufflers_to_an_estimate(tmp_path: Path, transport: str) -> None:
    with running(tmp_path, transport=transport) as parties:
        for server in parties.shufflers.values():
            server.oblivious = True
        assert post(parties, b"".join(fresh(parties) for _ in range(60))).status == 201
        counted = parties.settle()
        assert 10 < counted < 60
        [result] = parties.analyzer.results()
        assert result.reports == 60
        assert result.removed == 60 - counted
        for server in parties.shufflers.values():
            assert server.totals()["taken"] == 60
            assert not list(server.incoming.iterdir())


def test_the_blinder_adds_its_dummies_to_an_oblivious_batch(tmp_path: Path) -> None:
    dummies = {"epsilon": 8, "delta": "0.01"}
    crowd = {"from": "answer", "threshold": 40, "mean_drop": 4, "sigma": 1, "delta": "0.01", "dummies": dummies}
    with running(tmp_path, transport="blinded", crowd=crowd) as parties:
        blinder, thresholder = parties.shufflers.values()
        blinder.oblivious = thresholder.oblivious = True
        assert post(parties, b"".join(fresh(parties) for _ in range(12))).status == 201
        parties.settle()
        assert blinder.totals()["taken"] == 12
        assert 12 < blinder.totals()["passed on"] == thresholder.totals()["taken"]


def test_only_shufflers_are_oblivious(tmp_path: Path) -> None:
    workspace_with_ports(tmp_path, 10, "shuffled")
    with pytest.raises(InvalidParameter, match="shufflers only"):
        serve(tmp_path, "aggregator", oblivious=True)


@pytest.mark.sweep
def test_the_command_shuffles_obliviously(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path, 10, "shuffled")
    collection = workspace.collection()
    [key] = workspace.keys("shuffler", "shuffler").values()
    inside = row_bytes(collection, "aggregator")
    assert inside > report_bytes(collection.protocol)
    info = layer_info("shuffler", collection.digest, 1)
    rows = [sealed_for(key.public, random_id() + bytes(CROWD_BYTES + inside), info) for _ in range(60)]
    reports = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(60, -1)
    data = SealedSegment(collection.digest, 1, reports).to_bytes()
    start = "import sys; from lapwing.cli import main; sys.argv[0] = 'lapwing'; main()"
    command = [sys.executable, "-c", start, "collect", "serve", "shuffler", str(tmp_path), "--oblivious"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                try:
                    hops.hand_over(collection, "shuffler", data, sealed_name(data), workspace.signing_key("ingestor"))
                    break
                except hops.Unreachable:
                    time.sleep(0.2)
            stashes = tmp_path / "shuffler" / collection.id / STASH
            for _ in range(300):
                if list((tmp_path / "shuffler" / collection.id / "outgoing").glob("*.sealed")):
                    break
                time.sleep(0.2)
            assert stashes.is_dir()
            assert list((tmp_path / "shuffler" / collection.id / "outgoing").glob("*.sealed"))
        finally:
            process.terminate()
