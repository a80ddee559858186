"""What somebody brings: written to disk as it comes, then taken in by a job of its bench."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import IO

from fastapi.concurrency import run_in_threadpool

from lapwing.curator.encodings import WINDOWS
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.bundled import Example
from lapwing.web.lab.engine import SPARE, free_at
from lapwing.web.lab.intake import take
from lapwing.web.lab.jobs import Job, Progress
from lapwing.web.lab.keeping import Lab
from lapwing.web.lab.plain import NotUtf8, readable
from lapwing.web.problems import Problem

LATIN = WINDOWS.name
"""What people call Latin-1 is Windows-1252, on most machines and in every browser."""
_BUFFER = 4 << 20
AT_ONCE_EACH = 3
"""Files that may be on their way from one address."""


@contextmanager
def room_for(lab: Lab, declared: str | None, address: str, there: int) -> Iterator[None]:
    """Keep room for a file as long as it is on its way, or refuse it before a byte of it is read.

    `there` is what the lab holds already. Whoever does not say how much comes may send as much as is allowed, so room
    for that is kept.
    """
    most = lab.settings.lab_upload
    size = int(declared) if declared is not None and declared.isdecimal() else most
    if size > most + (64 << 10):  # the envelope of a form
        raise Problem(413, too_large(most))
    with lab.lock:
        if sum(whose == address for whose, _ in lab.arriving) >= AT_ONCE_EACH:
            raise Problem(429, "Some files are on their way from you. Wait until they are here.")
        coming = size + sum(other for _, other in lab.arriving)
        if free_at(lab.folder) - 2 * coming < SPARE or there + coming > lab.settings.lab_disk:
            raise Problem(503, "The lab has no room for it now. Try again later.", headers={"retry-after": "1800"})
        lab.arriving.append((address, size))
    try:
        yield
    finally:
        with lab.lock:
            lab.arriving.remove((address, size))


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
        bench.delimiter, bench.encoding, bench.names = taken.delimiter, taken.encoding, taken.names

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
