"""Which ids were seen: in files of one ingestor, and in the database that several ingestors share."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from pathlib import Path

from bench.rates import Rate, workspace_in


class Memory(threading.Thread):
    """Watches how much memory this process takes that is not a file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.start_megabytes = self.most = self._now()
        self._end = threading.Event()

    def _now(self) -> float:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1000

    def run(self) -> None:
        while not self._end.wait(0.02):
            self.most = max(self.most, self._now())

    def stop(self) -> float:
        """Megabytes beyond the start."""
        self._end.set()
        self.join()
        return self.most - self.start_megabytes


def ids(folder: Path, total: int) -> tuple[Rate, float]:
    """Ids in rounds of a million, a tenth of them seen before; how many a second, and megabytes."""
    import numpy as np

    from lapwing.collect import identities

    sealer, size = workspace_in(folder / "ids", "nobody-asked").sealer(), 1_000_000
    runs, dice, memory, fresh_ids, seconds = sealer.runs, np.random.default_rng(1), Memory(), 0, 0.0
    memory.start()
    before = dice.bytes(16 * size // 10)
    for turn in range(total // size):
        given = before + dice.bytes(16 * (size - size // 10))
        before = given[-16 * (size // 10) :]
        start = time.process_time()
        keys, rests, _ = runs.mixing.sorted(np.frombuffer(given, dtype=np.uint8).reshape(-1, 16))
        fresh = identities.unseen(runs.of(1), keys, rests)
        name = runs.write(keys[fresh], rests[fresh])
        with sealer.facts.transaction() as database:
            runs.add(database, name, 1)
        runs.merge(1)
        seconds += time.process_time() - start
        fresh_ids += int(fresh.sum())
        assert fresh_ids == size + turn * (size - size // 10), "an id was taken for another"
    return Rate(f"ids looked for among up to {total / 1e6:,.0f} M", total / seconds), memory.stop()


def shared_ids(folder: Path, total: int) -> Rate | None:
    """The same in PostgreSQL, in rounds of 100,000; time of ours and of the server. None where there is no server."""
    import numpy as np

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from postgres import new_server, program  # type: ignore[import-not-found]

    from lapwing.collect.gathering import Fresh
    from lapwing.collect.shared import SharedSealer, _add, _unseen

    if program("initdb") is None:
        return None
    server, size, dice = new_server(), 100_000, np.random.default_rng(1)
    try:
        postmaster = int((server.folder / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0])
        collection = workspace_in(folder / "shared", "nobody-asked").collection()
        sealer = SharedSealer(collection, folder / "shared" / "ids", server.new_database())
        before, fresh_ids, start = dice.bytes(16 * size // 10), 0, time.process_time() + _of_server(postmaster)
        for _ in range(total // size):
            given = before + dice.bytes(16 * (size - size // 10))
            before = given[-16 * (size // 10) :]
            keys, rests, _ = sealer.mixing.sorted(np.frombuffer(given, dtype=np.uint8).reshape(-1, 16))
            with sealer.facts.transaction() as database:
                fresh = _unseen(database, 1, keys, rests)
                _add(database, Fresh(1, keys[fresh], rests[fresh], np.empty((0, 0), np.uint8), "aggregator"))
            fresh_ids += int(fresh.sum())
        seconds = time.process_time() + _of_server(postmaster) - start
        assert fresh_ids == size + (total // size - 1) * (size - size // 10), "an id was taken for another"
    finally:
        server.stop("immediate")
        shutil.rmtree(server.folder)
    return Rate(f"ids looked for in PostgreSQL among up to {total / 1e6:g} M, with the server", total / seconds)


def _of_server(postmaster: int) -> float:
    """Processor seconds of a server, with its children that run and that ended."""
    ticks = 0
    tasks = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii").split()
    for pid, fields in ((postmaster, slice(11, 15)), *((int(task), slice(11, 13)) for task in tasks)):
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        except FileNotFoundError:  # it ended meanwhile, and counts with its parent's the next time
            continue
        ticks += sum(map(int, text.rpartition(")")[2].split()[fields]))
    return ticks / os.sysconf("SC_CLK_TCK")
