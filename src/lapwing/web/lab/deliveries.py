"""Uploads to the lab: written to disk as they arrive, then taken in by a job of the bench."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO

from anyio import CancelScope
from fastapi.concurrency import run_in_threadpool

from lapwing.curator.engines.encodings import WINDOWS
from lapwing.web.lab.arrivals import too_large
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.benches import Lab
from lapwing.web.lab.bundled import Example
from lapwing.web.lab.intake import take
from lapwing.web.lab.jobs import Job, Progress
from lapwing.web.lab.plain import NotUtf8
from lapwing.web.service.problems import Problem

LATIN = WINDOWS.name
"""What people call Latin-1 is Windows-1252, on most machines and in every browser."""
_BUFFER = 1 << 20


@asynccontextmanager
async def bench_for(lab: Lab, owner: str, title: str, address: str) -> AsyncIterator[Bench]:
    """A bench for what somebody brings. If that comes to nothing, for whatever reason, nothing of it is left."""
    bench = await run_in_threadpool(lab.bring, owner, title, address)
    try:
        yield bench
    except BaseException:
        with CancelScope(shield=True):
            await run_in_threadpool(lab.delete, bench)
        raise


async def keep_stream(bench: Bench, first: bytes, rest: AsyncIterator[bytes], most: int) -> None:
    """Write what comes to the folder of the bench. How slowly it may come, `web/bodies.py` knows."""
    total, waiting = len(first), bytearray(first)
    with (bench.folder / "raw").open("wb") as target:
        async for piece in rest:
            waiting += piece
            total += len(piece)
            if total > most:
                raise Problem(413, too_large(most))
            if len(waiting) >= _BUFFER:
                bench.touch()
                await run_in_threadpool(target.write, bytes(waiting))
                waiting.clear()
        await run_in_threadpool(target.write, bytes(waiting))


def keep_file(bench: Bench, source: IO[bytes], most: int) -> int:
    """The same for a file that is here already; how many bytes it has."""
    with (bench.folder / "raw").open("wb") as target:
        shutil.copyfileobj(source, target, _BUFFER)
        total = target.tell()
    if total > most:
        raise Problem(413, too_large(most))
    return total


def begin(lab: Lab, bench: Bench, encoding: str = "") -> Job:
    """Take in what was written to the folder."""
    raw, most = bench.folder / "raw", lab.settings.lab_upload

    def work(progress: Progress) -> None:
        try:
            taken = take(raw, bench.path, progress, most=most, encoding=encoding)
        except NotUtf8:
            bench.asks_encoding = True
            raise
        except BaseException:
            raw.unlink(missing_ok=True)
            raise
        raw.unlink(missing_ok=True)
        bench.notes, bench.columns = taken.notes, taken.columns
        bench.delimiter, bench.encoding, bench.names = taken.delimiter, taken.encoding, taken.names
        bench.parquet = taken.parquet

    was_asked, bench.asks_encoding = bench.asks_encoding, False
    try:
        bench.intake = bench.start(work, where=f"/lab/{bench.id}", title="Reading your table")
    except Problem:
        bench.asks_encoding = was_asked  # it can be tried again
        raise
    return bench.intake


def begin_example(bench: Bench, example: Example) -> Job:
    """Write out a bundled table."""

    def work(progress: Progress) -> None:
        example.write(bench.path)
        bench.suggested, bench.code = example.statement, example.code
        bench.columns = example.taken.columns

    bench.intake = bench.start(work, where=f"/lab/{bench.id}", title="Preparing the table")
    return bench.intake
