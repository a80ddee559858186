"""A Structured Streaming job on a cluster of its own: a worker is killed amid a batch, and a batch is delivered twice.

Prints one line of JSON for the test that started it. A process of its own, for a process has one Spark.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from spark import Daemon, session_on, start
from streaming import long_after, opened, table

import lapwing as lw
from lapwing.curator.streams.spark import feed

DAYS, FILES, ROWS = 3, 4, 12
PATIENCE = 240
SCHEMA = "patient bigint, region string, cost double, at timestamp"


def write(folder: Path, number: int) -> None:
    """One file of the source, whole from its first moment on."""
    lines = []
    for row in range(ROWS):
        at = dt.datetime(2026, 2, 26 + row % DAYS if row % DAYS < 3 else 26, row, number)
        record = {"patient": row, "region": "NS"[number % 2], "cost": 1.0, "at": f"{at.isoformat()}Z"}
        lines.append(json.dumps(record))
    place = folder / f".{number}.tmp"
    place.write_text("\n".join(lines))
    place.rename(folder / f"{number}.json")


def below(process: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == process:
            found += [int(path.parent.name), *below(int(path.parent.name))]
    return found


def kill(worker: Daemon) -> int:
    """Kill −9 a worker with all that it runs; how many processes that were."""
    doomed = below(worker.process.pid)
    for process in doomed:
        os.kill(process, signal.SIGKILL)
    return len(doomed)


def waited(until: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        if time.monotonic() > end:
            raise SystemExit("Spark did not get that far")
        time.sleep(0.05)


def main(folder: Path) -> dict[str, Any]:
    """The whole story."""
    source, checkpoint = folder / "source", folder / "checkpoint"
    source.mkdir()
    question = table().stream(lw.count(), by="region", every="day", steps=DAYS, start="2026-02-26", time="at")
    with ExitStack() as stack:
        master = start(folder, "master", "org.apache.spark.deploy.master.Master")
        stack.callback(master.stop)
        address = master.says(r"Starting Spark master at (spark://\S+)")
        workers = []
        for number in range(2):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"))
            worker = start(folder, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *size, address)
            stack.callback(worker.stop)
            workers.append(worker)
        for worker in workers:
            worker.says(r"Successfully registered with master (\S+)")
        spark = stack.enter_context(session_on(address, folder / "warehouse"))
        from pyspark.sql.functions import udf

        @udf("string")
        def slowly(region: str) -> str:
            import time

            time.sleep(0.5)
            return region

        stream = opened(folder / "state", question, rho=10_000)

        def job() -> Any:
            rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
            slow = rows.repartition(2).withColumn("region", slowly("region"))
            return feed(stream, slow, name="log", checkpoint=checkpoint, trigger={"availableNow": True})

        for number in range(FILES):
            write(source, number)
        query = job()
        waited(lambda: len(list((checkpoint / "commits").glob("[0-9]*"))) >= 1)
        waited(spark.sparkContext.statusTracker().getActiveJobsIds)
        killed = kill(workers[0])
        if not query.awaitTermination(PATIENCE):
            raise SystemExit("the job did not end")
        commits = sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
        # A driver that is lost after our commit and before Spark's delivers the batch once more.
        for path in (checkpoint / "commits").glob(f"*{commits[-1]}*"):
            path.unlink()
        again = job()
        if not again.awaitTermination(PATIENCE):
            raise SystemExit("the job did not end")
        closed_before = stream.closed
        stream.catch_up()
        batches = _batches(stream)
        history = lw.open_stream(stream.file.path, clock=long_after).history(window=1)
        return {
            "killed": killed,
            "batches": batches,
            "closed by volume": closed_before,
            "counts": list(history["count"]),
            "failed": [str(one.exception()) for one in (query, again) if one.exception() is not None],
        }


def _batches(stream: Any) -> list[int]:
    with stream.file.transaction(write=False) as database:
        return [row["number"] for row in database.execute("SELECT number FROM batch ORDER BY number")]


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))), flush=True)
