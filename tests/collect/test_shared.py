"""Two ingestors on two machines share one PostgreSQL database: no id is passed on twice, whatever fails."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from collecting import DAY, Keys, document, envelopes, workspace_with_ports

from lapwing.collect import reader
from lapwing.collect.clock import GRACE, ON_THE_WAY, Certainty
from lapwing.collect.sealing import HEAD_BYTES, Envelope, envelope_bytes, random_id
from lapwing.collect.segments import OpenSegment, SealedSegment
from lapwing.collect.shared import SharedSealer
from lapwing.errors import InvalidParameter, LedgerUnavailable
from lapwing.noise import Reproducible

KEYS = Keys()
COLLECTION = reader.sign(reader.checked(document(KEYS, admission="nobody-asked")), KEYS.operator)
SIZE = envelope_bytes(COLLECTION)
MACHINE = """
import sys
from pathlib import Path
from lapwing.collect import reader
from lapwing.collect.shared import SharedSealer
sealer = SharedSealer(reader.read(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
print(sealer.seal())
"""


@cache
def envelope(name: int) -> bytes:
    """Bytes of the right length; nothing here opens them."""
    body = Reproducible(name).bits(8 * (SIZE - HEAD_BYTES)).to_bytes(SIZE - HEAD_BYTES, "little")
    return Envelope(1, random_id(Reproducible(1000 + name)), body).to_bytes()


def wrote(sealer: SharedSealer, names: list[int]) -> None:
    """A worker of this ingestor acknowledged these envelopes."""
    segment = OpenSegment(sealer.folders.open, COLLECTION.digest, SIZE)
    for start in range(0, len(names), 7):
        segment.append(b"".join(envelope(name) for name in names[start : start + 7]))
    segment.close()


def passed_on(*sealers: SharedSealer) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for sealer in sealers:
        with sealer.facts.transaction(write=False) as database:
            query = "SELECT name FROM sealed WHERE place = :place"
            names = [row["name"] for row in database.execute(query, {"place": sealer.place})]
        for name in names:
            data = (sealer.folders.sealed / f"{name}.sealed").read_bytes()
            found.update(row.tobytes() for row in SealedSegment.from_bytes(COLLECTION.digest, data).reports)
    return found


def expected(names: range) -> Counter[bytes]:
    return Counter(envelope(name)[HEAD_BYTES:] for name in names)


def sealed_at_once(folder: Path, names: list[str], url: str) -> list[int]:
    """Two processes begin at the same moment, as on two machines."""
    (folder / "collection.yaml").write_text(COLLECTION.to_yaml(), encoding="utf-8")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MACHINE, str(folder / "collection.yaml"), str(folder / name), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    return [int(process.communicate()[0]) for process in started]


def test_two_sealers_at_once_pass_on_each_id_once(postgres_url: str, tmp_path: Path) -> None:
    names = ["one", "two"]
    machines = [SharedSealer(COLLECTION, tmp_path / name, postgres_url) for name in names]
    assert machines[0].place != machines[1].place
    for turn in range(2):
        first = 20 * turn
        wrote(machines[0], [*range(first, first + 15), first])
        wrote(machines[1], [*range(first + 5, first + 20), *range(first)])
        assert sum(sealed_at_once(tmp_path, names, postgres_url)) == 20
    assert passed_on(*machines) == expected(range(40))
    assert machines[0].totals() == machines[1].totals()
    assert machines[0].totals()["sealed"] == 40
    assert all(not list(one.folders.open.iterdir()) for one in machines)


class Lost(Exception):
    """The process is gone."""


@pytest.mark.parametrize("moment", ["before the commit", "after the commit", "the answer was lost"])
def test_a_crash_around_the_commit_loses_and_repeats_nothing(
    postgres_url: str, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (SharedSealer(COLLECTION, tmp_path / name, postgres_url) for name in ("one", "two"))
    wrote(one, list(range(20)))
    wrote(two, list(range(10, 30)))
    with monkeypatch.context() as patch:
        if moment == "after the commit":
            patch.setattr(SharedSealer, "_finished", _raise(Lost))
        elif moment == "before the commit":
            patch.setattr(SharedSealer, "_record", _raise(Lost))
        else:
            real = type(one.facts)._commit

            def commit(self: Any, connection: Any) -> None:
                real(self, connection)
                raise LedgerUnavailable(self.name, "the server did not answer")

            patch.setattr(type(one.facts), "_commit", commit)
            one._tidy = lambda: None  # type: ignore[method-assign]
        with pytest.raises((Lost, LedgerUnavailable)):
            one.seal()
    assert two.seal() == (20 if moment == "before the commit" else 10)
    again = SharedSealer(COLLECTION, tmp_path / "one", postgres_url)
    assert again.place == one.place
    again.seal()
    assert passed_on(again, two) == expected(range(30))
    assert not list(again.folders.open.iterdir())


def _raise(error: type[Exception]) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return fail


def test_the_key_of_the_table_refuses_an_id_that_is_there(postgres_url: str, tmp_path: Path) -> None:
    sealer = SharedSealer(COLLECTION, tmp_path, postgres_url)
    wrote(sealer, [1])
    assert sealer.seal() == 1
    with psycopg.connect(postgres_url) as connection, pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("INSERT INTO lapwing_collect.seen SELECT * FROM lapwing_collect.seen")


def test_no_id_is_in_the_database_as_it_was_sent_and_each_seal_is_in_sorted_order(
    postgres_url: str, tmp_path: Path
) -> None:
    sealer = SharedSealer(COLLECTION, tmp_path, postgres_url)
    wrote(sealer, list(range(30)))
    sealer.seal()
    with psycopg.connect(postgres_url) as connection:
        stored = [bytes(id) for (id,) in connection.execute("SELECT id FROM lapwing_collect.seen ORDER BY ctid")]
    assert len(stored) == 30
    assert not set(stored) & {envelope(name)[4:20] for name in range(30)}
    keys = [int.from_bytes(id[:8], "little") for id in stored]
    assert keys == sorted(keys)


def test_a_database_serves_one_collection(postgres_url: str, tmp_path: Path) -> None:
    SharedSealer(COLLECTION, tmp_path / "one", postgres_url)
    keys = Keys()
    other = reader.sign(reader.checked(document(keys)), keys.operator)
    with pytest.raises(InvalidParameter, match="another collection"):
        SharedSealer(other, tmp_path / "two", postgres_url)


def test_ids_of_an_epoch_that_is_over_are_deleted_for_all(postgres_url: str, tmp_path: Path) -> None:
    one, two = (SharedSealer(COLLECTION, tmp_path / name, postgres_url) for name in ("one", "two"))
    one.sure = Certainty(0)
    wrote(one, [1, 2])
    one.seal()
    over = COLLECTION.epochs[0].end + GRACE + ON_THE_WAY
    assert one.retire(DAY) == one.retire(over) == []
    assert one.retire(over + timedelta(days=1)) == [1]
    wrote(two, [2, 3])
    assert two.seal() == 0
    assert two.totals()["no epoch in use"] == 2
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM lapwing_collect.seen").fetchone() == (0,)


def test_the_sealer_with_a_database_seals_what_the_ingestor_of_the_folder_wrote(
    postgres_url: str, tmp_path: Path
) -> None:
    workspace = workspace_with_ports(tmp_path / "collection", 5)
    ingestor, sealer = workspace.ingestor(), workspace.sealer(postgres_url)
    segment = OpenSegment(ingestor.intake._folder, ingestor.collection.digest, ingestor.size)
    segment.append(b"".join(envelopes(workspace, 5)))
    segment.close()
    assert sealer.seal() == 5
