"""A real Spark cluster for tests: a master and two workers on loopback, started when first needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKERS = 2
PATIENCE = 120  # seconds until a process that never answers counts as broken; no verdict on its speed
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SUPERVISOR = '"$@" < /dev/null & read -r _; kill $!; wait $!'
"""Ends its child when its own input ends, so also when the tests are killed."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A process of Spark that runs until it is stopped."""

    log: Path
    process: subprocess.Popen[bytes]

    def says(self, pattern: str) -> str:
        """Wait for a line of its log; gives the first group."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(pattern, self.log.read_text(errors="replace")):
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"Spark did not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """End it, and with it what it started."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def start(folder: Path, name: str, *arguments: str) -> Daemon:
    """Start a master or a worker on loopback, on ports that are free."""
    import pyspark

    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    command = [program, *arguments, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    settings = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK_START}
    log = folder / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["sh", "-c", SUPERVISOR, "sh", *command], env={**os.environ, **settings}, cwd=folder,
            stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    return Daemon(log, process)


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers of one core and one gigabyte each; they write into the folder."""
    with ExitStack() as stack:
        master = start(folder, "master", "org.apache.spark.deploy.master.Master")
        stack.callback(master.stop)
        address = master.says(r"Starting Spark master at (spark://\S+)")
        workers = []
        for number in range(WORKERS):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"))
            worker = start(folder, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *size, address)
            stack.callback(worker.stop)
            workers.append(worker)
        for worker in workers:
            worker.says(r"Successfully registered with master (\S+)")
        yield address


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the cluster; one worker runs all tests that use it."""
    pytest.importorskip("pyspark", reason="pyspark is not installed here")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is not installed here (Debian: apt-get install openjdk-17-jre-headless)")
    with cluster(tmp_path_factory.mktemp("spark")) as address:
        yield address


@contextmanager
def session_on(address: str, warehouse: Path) -> Iterator[SparkSession]:
    """A user's session on a cluster. Its settings are unlike ours on purpose: another time zone, ANSI arithmetic."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.warehouse.dir": str(warehouse),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName("lapwing tests").master(address)
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="session")
def spark(spark_cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that all tests share."""
    with session_on(spark_cluster, tmp_path_factory.mktemp("warehouse")) as session:
        yield session
