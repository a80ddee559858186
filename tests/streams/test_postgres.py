"""Rows of a step from PostgreSQL, by their time and by a watermark."""

from __future__ import annotations

from pathlib import Path

import pytest
from streaming import opened, recorded_sums

import lapwing as lw


def test_a_table_of_postgres_is_read_step_by_step(postgres_url: str, tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE streamed (id bigserial, patient text, at timestamptz)")
        table = lw.open(postgres_url, table="streamed", unit="patient", types={"at": "timestamp"})
        question = table.stream(
            lw.count(), lw.units(), every="hour", steps=4, start="2026-02-26 10:00", time="at", watermark="id",
            late="next", active_steps=2,
        )  # fmt: skip
        stream = opened(tmp_path, question)
        hours = [("a", 10), ("b", 10), ("e", 12)], [("a", 10), ("c", 11)], [("a", 12)], [("a", 13), ("d", 99)]
        with recorded_sums() as sums:
            for step, visits in enumerate(hours, start=1):
                for patient, hour in visits:
                    moment = f"2026-02-26 {hour}:30:00+00" if hour < 24 else None
                    owner.execute("INSERT INTO streamed (patient, at) VALUES (%s, %s)", (patient, moment))
                stream.observe(postgres_url, table="streamed", step=step)
    assert stream.position == 8
    # a counts in two steps; what came late comes next; what came early waits for its hour
    assert sums == [[[2], [2]], [[2], [1]], [[1], [1]], [[0], [0]]]
