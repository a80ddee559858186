"""What somebody brings: written to disk as it comes, then taken in by a job of its bench."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from typing import IO

from fastapi.concurrency import run_in_threadpool

from lapwing.web.lab.bench import Bench
from lapwing.web.lab.bundled import Example
from lapwing.web.lab.engine import size_of
from lapwing.web.lab.intake import take
from lapwing.web.lab.jobs import Job, Progress
from lapwing.web.lab.keeping import Lab
from lapwing.web.lab.plain import NotUtf8, readable
from lapwing.web.problems import Problem

LATIN = "cp1252"
_BUFFER = 4 << 20
_SPARE = 1 << 30
"""Bytes of the disk that are left to others."""


def refuse_without_room(lab: Lab, declared: int) -> None:
    """Refuse what is too large, or what the disk has no room for, before a byte of it is read."""
    most = lab.settings.lab_upload
    if declared > most + (64 << 10):  # the envelope of a form
        raise Problem(413, too_large(most))
    free = shutil.disk_usage(lab.folder).free
    if free - 2 * declared < _SPARE or size_of(lab.folder) + declared > lab.settings.lab_disk:
        raise Problem(503, "The lab has no room for it now. Try again later.", headers={"retry-after": "1800"})


def too_large(most: int) -> str:
    """What to do with a file that is too large."""
    return f"A table may have {readable(most)}. Bring fewer columns or rows, or save it as Parquet, which is smaller."


async def keep_stream(bench: Bench, pieces: AsyncIterator[bytes], most: int) -> int:
    """Write what comes to the folder of the bench; how many bytes that were."""
    total, waiting = 0, bytearray()
    with (bench.folder / "raw").open("wb") as target:
        async for piece in pieces:
            waiting += piece
            total += len(piece)
            if total > most:
                raise Problem(413, too_large(most))
            if len(waiting) >= _BUFFER:
                bench.touch()
                await run_in_threadpool(target.write, bytes(waiting))
                waiting.clear()
        await run_in_threadpool(target.write, bytes(waiting))
    return total


def keep_file(bench: Bench, source: IO[bytes], most: int) -> int:
    """The same for a file that is here already."""
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

    bench.asks_encoding = False
    bench.intake = lab.jobs.start(bench.id, work, where=f"/lab/{bench.id}", title="Reading your table")
    return bench.intake


def begin_example(lab: Lab, bench: Bench, example: Example) -> Job:
    """Write out a bundled table."""

    def work(progress: Progress) -> None:
        example.write(bench.path)
        bench.suggested = example.statement
        bench.columns = example.taken.columns

    bench.intake = lab.jobs.start(bench.id, work, where=f"/lab/{bench.id}", title="Preparing the table")
    return bench.intake
