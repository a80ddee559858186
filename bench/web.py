"""`python -m bench.web`: how many readers the school bears, with the readers on the same cores.

    200 readers       each on a connection of its own that stays open, thinking up to two seconds between pages
    without a pause   as many pages as there are, one after another on some connections

Readers open the landing page and nuggets, packed as browsers ask for them, in an order that is the same every time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from rich import box
from rich.console import Console
from rich.table import Table

from lapwing.web.school.library import FOLDER

RESULTS = Path(__file__).parent / "results" / "web.json"
READERS, THINKING, BUSY = 200, 2.0, 16
SLOWEST, FEWEST = 0.050, 1000.0
"""The bars: 95 of 100 pages within so many seconds, and so many pages a second."""
PAGES = ["/", *(f"/learn/{path.stem.partition('-')[2]}" for path in sorted(FOLDER.glob("[0-9]*.md")))]


@dataclass(frozen=True, slots=True)
class Result:
    """What one kind of crowd saw."""

    crowd: str
    pages: int
    seconds: float
    errors: int
    median: float
    slow: float
    """What 95 of 100 pages stay below, in seconds."""

    @property
    def rate(self) -> float:
        """Pages a second."""
        return self.pages / self.seconds


@contextmanager
def school() -> Iterator[int]:
    """A school of its own, on a free port, with an empty database."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        database = str(Path(folder) / "school.db")
        command = [sys.executable, "-c", "from lapwing.cli import main; main()", "serve", "--port", str(port)]
        process = subprocess.Popen([*command, "--database", database], cwd=folder, stdout=subprocess.DEVNULL)
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the school did not open")


async def _pages(port: int, paths: AsyncIterator[str]) -> tuple[list[float], int]:
    """Seconds for each page over one connection, and how many failed."""
    took: list[float] = []
    errors = 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async for path in paths:
        start = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept-encoding: gzip\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took.append(time.perf_counter() - start)
        errors += not head.startswith(b"HTTP/1.1 200")
    writer.close()
    return took, errors


async def _asked(number: int, until: float, thinking: float) -> AsyncIterator[str]:
    """The pages of one reader."""
    chance = Random(number)
    await asyncio.sleep(chance.uniform(0, thinking))
    while time.perf_counter() < until:
        yield chance.choice(PAGES)
        if thinking:
            await asyncio.sleep(chance.uniform(0, thinking))


async def _crowd(port: int, name: str, readers: int, thinking: float, seconds: float) -> Result:
    start = time.perf_counter()
    crowd = (_pages(port, _asked(number, start + seconds, thinking)) for number in range(readers))
    found = await asyncio.gather(*crowd)
    took = sorted(one for seen, _ in found for one in seen)
    errors = sum(wrong for _, wrong in found)
    passed = time.perf_counter() - start
    return Result(name, len(took), passed, errors, statistics.median(took), took[int(0.95 * len(took))])


def main() -> int:
    """Both crowds; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.web", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args().seconds
    with school() as port:
        asyncio.run(_crowd(port, "warm-up", 4, 0.0, 2.0))
        thinking = asyncio.run(_crowd(port, f"{READERS} readers who think", READERS, THINKING, seconds))
        busy = asyncio.run(_crowd(port, f"{BUSY} readers without a pause", BUSY, 0.0, seconds))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("crowd", "pages", "pages a second", "median", "95 of 100 within", "errors"):
        table.add_column(heading, justify="left" if heading == "crowd" else "right")
    for one in (thinking, busy):
        table.add_row(
            one.crowd, f"{one.pages:,}", f"{one.rate:,.0f}", f"{1e3 * one.median:.1f} ms", f"{1e3 * one.slow:.1f} ms",
            str(one.errors),
        )  # fmt: skip
    Console().print(table)
    bars = {
        "95 of 100 pages within 50 ms for readers who think": thinking.slow <= SLOWEST,
        "1,000 pages a second": busy.rate >= FEWEST,
        "no errors": thinking.errors + busy.errors == 0,
    }
    for bar, met in bars.items():
        print(f"{'met   ' if met else 'MISSED'} {bar}")
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    shown = {
        "machine": machine,
        "bars": bars,
        "crowds": [{**asdict(one), "rate": one.rate} for one in (thinking, busy)],
    }
    RESULTS.write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
