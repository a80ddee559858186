#!/usr/bin/env python3
"""Random questions about random tables on every engine, for as long as one likes: `make fuzz`, or tools/fuzz.py --help.

It ends with status 1 at the first broken law and prints the seed, with a small version of the case. The same seed gives
the same case again: tools/fuzz.py --seed 1234 --cases 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

ENGINES = ("duckdb", "files", "postgres", "spark")
EVERY = {"duckdb": 1, "files": 1, "postgres": 1, "spark": 4}
"""Spark takes about a second for each statement: it gets every fourth case."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The status of the command."""
    asked = parsed(arguments)
    warnings.simplefilter("ignore")  # of noise that can be repeated
    first = time.time_ns() % 10**12 if asked.seed is None else asked.seed
    end = time.monotonic() + 60 * asked.minutes if asked.cases is None else float("inf")
    last = None if asked.cases is None else first + asked.cases
    with ExitStack() as stack:
        places = {engine: stack.enter_context(open_place(engine)) for engine in asked.engine or ENGINES}
        return fuzz(first, last, end, places)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="number of the first case (default: a fresh one, by the clock)")
    parser.add_argument("--minutes", type=float, default=10, help="how long to run (default: 10)")
    parser.add_argument("--cases", type=int, help="how many cases to run instead")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="one engine; may be given several times")
    return parser.parse_args(arguments)


def fuzz(first: int, last: int | None, end: float, places: dict[str, Any]) -> int:
    """Run cases until the time is up; 1 if a law was broken."""
    fuzzing: Any = import_module("fuzzing")
    seen: Counter[str] = Counter()
    started, seed, shown = time.monotonic(), first, 0.0
    while time.monotonic() < end and (last is None or seed < last):
        case = fuzzing.case_of(seed)
        chosen = places_of(case, places)
        try:
            seen += fuzzing.run(case, chosen)
        except Exception as error:
            print(f"\n\nseed {seed}: {type(error).__name__}: {error}\n", flush=True)
            if isinstance(error, fuzzing.Broken):
                again = f"tools/fuzz.py --seed {seed} --cases 1"
                shrinking: Any = import_module("shrinking")
                print(shrinking.report(case, shrinking.place_of(error, chosen), error, again))
                return 1
            raise
        seed += 1
        if time.monotonic() - shown > 1:
            shown = time.monotonic()
            print(f"\r{progress(seed - first, shown - started, seed, seen)}", end="", flush=True)
    print(f"\r{progress(seed - first, time.monotonic() - started, seed, seen)}")
    print(f"No law was broken. {summary(seen)}")
    return 0


def places_of(case: Any, places: dict[str, Any]) -> list[Any]:
    """Where a case is asked: of the forms of files, and of Spark, one after another."""
    fuzzing: Any = import_module("fuzzing")
    alone = len(places) == 1
    chosen = []
    for engine, some in places.items():
        if alone or case.seed % EVERY[engine] == 0:
            chosen += fuzzing.fitting(some, replace(case, seed=case.seed // EVERY[engine]))
    return chosen


def progress(cases: int, seconds: float, seed: int, seen: Counter[str]) -> str:
    """One line."""
    engines = ", ".join(f"{name[3:]} {count}" for name, count in sorted(seen.items()) if name.startswith("on "))
    return f"{cases} cases in {seconds:.0f} s ({60 * cases / max(seconds, 1):.0f} a minute; {engines}), now seed {seed}"


def summary(seen: Counter[str]) -> str:
    """What else happened."""
    words = ("in SQL", "refused", "spoiled and refused", "spoiled and asked")
    return "; ".join(f"{seen[word]} {word}" for word in words) + "."


@contextmanager
def open_place(engine: str) -> Iterator[list[Any]]:
    """Where questions are asked: servers of our own, gone afterwards."""
    places: Any = import_module("places")
    if engine == "duckdb":
        yield [places.InDuckDB()]
    elif engine == "files":
        with tempfile.TemporaryDirectory(prefix="lapwing-fuzz-") as folder:
            yield [places.InFiles(form, Path(folder)) for form in ("csv", "parquet", "arrow")]
    elif engine == "postgres":
        server: Any = import_module("postgres").new_server()
        try:
            yield [places.InPostgres(server.new_database())]
        finally:
            server.stop("immediate")
            shutil.rmtree(server.folder)
    else:
        servers: Any = import_module("spark")
        with tempfile.TemporaryDirectory(prefix="lapwing-fuzz-") as name:
            shared = Path(name)
            with servers.cluster(shared) as address, servers.session_on(address, shared / "warehouse") as session:
                yield [places.InSpark(session), places.InSpark(session, "csv", shared)]


if __name__ == "__main__":
    sys.exit(main())
