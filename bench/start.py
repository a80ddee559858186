"""`python -m bench.start`: what one core does until Lapwing says its first word.

    python          an interpreter that does nothing, as the floor
    help            `lapwing --help`
    serve           `lapwing serve` until the first page is there, with a database that was made before
    serve anew      the same with no database yet, so that its tables are made

Processor time, not seconds on the clock, so that other work on the machine counts little. Modules are compiled before,
as they are after the first start of every installation.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results" / "start.json"
BARS = {"help": 0.5, "serve": 3.0, "serve anew": 3.0}
"""Seconds of one core."""
TURNS = 3
LAPWING = [sys.executable, "-c", "from lapwing.cli import main; main()"]


def _environment(folder: Path) -> dict[str, str]:
    """Where compiled modules are kept, whatever the shell says about that."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def command(folder: Path, *words: str) -> float:
    """Processor time of a command that ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def serve(folder: Path, database: Path) -> float:
    """Processor time of a school until its first page is there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*LAPWING, "serve", "--port", str(port), "--database", str(database)]
    process = subprocess.Popen(words, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    try:
        _first_page(process, port)
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    finally:
        process.terminate()
        process.wait(10)


def _first_page(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("the school did not open")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30).read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the school did not answer in a minute")


def measured(folder: Path) -> dict[str, list[float]]:
    """Everything once in every turn; what comes before the first turn compiles."""
    known = folder / "known.db"
    serve(folder, known)
    found: dict[str, list[float]] = {"python": [], "help": [], "serve": [], "serve anew": []}
    for turn in range(TURNS):
        found["python"].append(command(folder, sys.executable, "-c", "pass"))
        found["help"].append(command(folder, *LAPWING, "--help"))
        found["serve"].append(serve(folder, known))
        found["serve anew"].append(serve(folder, folder / f"new-{turn}.db"))
    return found


def main() -> int:
    """All of it; 1 if a bar is missed."""
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder:
        found = measured(Path(folder))
    typical = {what: statistics.median(seconds) for what, seconds in found.items()}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("what", "seconds of one core", "beside an empty interpreter"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for what, seconds in typical.items():
        table.add_row(what, f"{seconds:.2f}", f"{seconds / typical['python']:,.0f} ×")
    Console().print(table)
    bars = {f"{what} within {most:g} s of one core": typical[what] <= most for what, most in BARS.items()}
    for bar, met in bars.items():
        print(f"{'met   ' if met else 'MISSED'} {bar}")
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    text = json.dumps({"machine": machine, "bars": bars, "seconds": found}, indent=2)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
