"""Micro-batches of Spark reach the state once, whatever is killed; volume closes no step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from streaming import opened, table

import lapwing as lw
from lapwing.curator.streams.spark import feed
from lapwing.errors import InvalidParameter

SUPPORT = Path(__file__).resolve().parents[1] / "support"


@pytest.mark.sweep
@pytest.mark.timeout(900)
def test_micro_batches_are_taken_once_although_a_worker_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed here")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is not installed here (Debian: apt-get install openjdk-17-jre-headless)")
    run = subprocess.run(
        [sys.executable, str(SUPPORT / "spark_feed.py"), str(tmp_path)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(SUPPORT), "SPARK_LOCAL_IP": "127.0.0.1"}, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    story = json.loads(run.stdout.splitlines()[-1])
    assert story["killed"] > 0
    assert story["failed"] == []
    assert story["batches"] == [0, 1, 2, 3]  # each once, the last one delivered twice
    assert story["closed by volume"] == 0
    assert story["counts"] == [8, 8] * 3  # of each of three days, 4 of 12 rows in each of 4 files, two for each region


def test_a_job_is_refused_for_what_is_no_stream_of_rows(tmp_path: Path) -> None:
    stream = opened(tmp_path, table().stream(lw.count(), every="day", steps=3, start="2026-02-26", time="at"))
    with pytest.raises(InvalidParameter, match="not a streaming frame"):
        feed(stream, [], name="log", checkpoint=tmp_path)  # type: ignore[arg-type]
