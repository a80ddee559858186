"""`python -m bench.collect`: what the servers of a collection do in one second of one core.

    singles, batches, tokens   a real ingestor takes envelopes over HTTP and has them on its disk before it answers
    sealing, ids               duplicates go, ids go, order goes; which ids were seen is known in bounded memory
    opening, issuing           beside what the libraries below allow: an HPKE decryption, a multiplication
    stash shuffle              ten million records of 64 bytes, encrypted on the disk, in bounded memory
    shufflers                  two with blinded crowds, and what a million devices take of a processor
    counting                   report files of a batch, small ones and a sketch of 65,536 × 1,024 cells

Processor time of the process that works, its system calls included, so that other work on the machine counts little;
opening and issuing take turns with their floors, and what counts is the ratio.
`--long` looks for duplicates among 100 million ids, which takes some minutes and 4 GB of disk. `--only million` lets
a million devices answer, end to end (million.py).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import million, shufflers
from bench.identities import Memory, ids, shared_ids
from bench.measure import Contender, take_turns
from bench.rates import Rate, per_second, show, workspace_in

RESULTS = Path(__file__).parent / "results" / "collect.json"
CONNECTIONS = 64
MOST_MEMORY = 500.0
"""Megabytes for the ids of an epoch, however many there are."""
SHUFFLE_SECONDS, SHUFFLE_MEMORY = 60.0, 256.0
"""Of one core, and megabytes beside the store, for a stash shuffle of ten million records."""
TURNS = 5
LEAST_SAVED = 100_000
"""Devices of a run whose results are kept."""


# ---------------------------------------------------------------- the ingestor over HTTP


def serve(folder: str) -> None:
    """In a process of its own: the ingestor that everybody runs, without the sealer, which has a case for itself."""
    from lapwing.collect.serving import run
    from lapwing.collect.workspace import Workspace

    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        print(listener.getsockname()[1], flush=True)
        run(Workspace(folder).ingestor().app(), listener)


@contextmanager
def ingestor(folder: Path) -> Iterator[tuple[int, int]]:
    """Its port and its process."""
    command = [sys.executable, "-m", "bench.collect", "--serve", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.wait(20)


def processor_seconds(pid: int) -> float:
    """Of a process so far, all threads and system calls."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(port: int, pid: int, bodies: Iterator[bytes], warm: int) -> float:
    """Send every body over lines that stay open; seconds of one core for each, once so many have warmed it up."""
    lines, poll, heard = {}, select.epoll(), dict[int, bytes]()
    for _ in range(CONNECTIONS):
        line = socket.create_connection(("127.0.0.1", port))
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines[line.fileno()] = line
        poll.register(line, select.EPOLLIN)

    def send(line: socket.socket) -> bool:
        body = next(bodies, None)
        if body is not None:
            line.sendall(b"POST /reports HTTP/1.1\r\nhost: bench\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        return body is not None

    busy, done, start = sum(send(line) for line in lines.values()), 0, processor_seconds(pid)
    while busy:
        for number, _ in poll.poll():
            answer = heard.pop(number, b"") + lines[number].recv(1 << 16)
            if b"stored" not in answer:
                assert answer.startswith(b"HTTP/1.1 201"), answer[:200]
                heard[number] = answer
                continue
            done += 1
            start = processor_seconds(pid) if done == warm else start
            busy -= not send(lines[number])
    seconds = processor_seconds(pid) - start
    for line in lines.values():
        line.close()
    poll.close()
    return seconds / (done - warm)


def bodies_without_tokens(size: int, batch: int, count: int) -> Iterator[bytes]:
    """Envelopes of the first epoch with random ids; an ingestor cannot read what is in them."""
    import numpy as np

    for _ in range(count):
        rows = np.frombuffer(os.urandom(batch * size), dtype=np.uint8).reshape(batch, size).copy()
        rows[:, :4] = (1, 0, 0, 0)
        yield rows.tobytes()


def bodies_with_tokens(workspace: Any, count: int) -> Iterator[bytes]:
    """Envelopes under tokens; whoever has the issuer's key can make them quickly."""
    from lapwing.collect import oprf
    from lapwing.collect.sealing import HEAD_BYTES, envelope_bytes
    from lapwing.collect.tokens import Token, tagged

    collection, secret = workspace.collection(), workspace.keys("issuer", "token")[1].secret
    size = envelope_bytes(collection) - HEAD_BYTES
    for _ in range(count):
        id = os.urandom(16)
        yield tagged(Token(1, id, oprf.evaluate(secret, id)), collection, os.urandom(size)).to_bytes()


def over_http(folder: Path) -> list[Rate]:
    """Reports that an ingestor acknowledged because they were durable."""
    from lapwing.collect.sealing import envelope_bytes

    free, asked = workspace_in(folder / "free", "nobody-asked"), workspace_in(folder / "asked", "open")
    size = envelope_bytes(free.collection())
    with ingestor(free.folder) as (port, pid):
        single = load(port, pid, bodies_without_tokens(size, 1, 30_000), warm=5_000)
        many = load(port, pid, bodies_without_tokens(size, 100, 6_000), warm=1_000)
    tokened = list(bodies_with_tokens(asked, 10_000))
    with ingestor(asked.folder) as (port, pid):
        token = load(port, pid, iter(tokened), warm=2_000)
    return [
        Rate("durable reports, one in a request", 1 / single, 10_000),
        Rate("durable reports, 100 in a request", 100 / many, 400_000),
        Rate("durable reports with tokens, one in a request", 1 / token, 4_000),
    ]


# ---------------------------------------------------------------- beside the servers


def sealing(folder: Path) -> Rate:
    """From open segments to a sealed one."""
    from lapwing.collect.sealing import envelope_bytes
    from lapwing.collect.segments import OpenSegment

    workspace = workspace_in(folder / "sealed", "nobody-asked")
    collection, sealer, total = workspace.collection(), workspace.sealer(), 300_000
    size = envelope_bytes(collection)
    segment = OpenSegment(sealer.folders.open, collection.digest, size)
    for body in bodies_without_tokens(size, 1_000, total // 1_000):
        segment.append(body)
    segment.close()
    return Rate("reports sealed", per_second(total, sealer.seal))


def stash(folder: Path, records: int = 10_000_000) -> tuple[Rate, float]:
    """A whole stash shuffle, with its encryption; how many records a second, and megabytes."""
    import numpy as np

    from lapwing.collect.stash import StashShuffle

    shuffle, piece, memory = StashShuffle.fitted(records, 64), 100_000, Memory()
    memory.start()  # before the input is written: what that leaves in the heap counts as well
    source = shuffle.input_file(folder / "records")
    numbers = (np.arange(start, start + piece, dtype=np.uint64) for start in range(0, records, piece))
    source.fill(np.repeat(some, 8).view(np.uint8).reshape(piece, 64) for some in numbers)
    start = time.process_time()
    target = shuffle.shuffle(source, folder)
    seconds, megabytes = time.process_time() - start, memory.stop()
    seen = np.zeros(records, dtype=bool)
    for block in target:
        seen[block.view(np.uint64)[:, 0]] = True
    assert seen.all(), "a record is lost"
    source.remove()
    target.remove()
    return Rate("records of 64 bytes in a stash shuffle of 10 M", records / seconds, 1e7 / SHUFFLE_SECONDS), megabytes


def crypto() -> list[Rate]:
    """Opening and tokens beside the libraries that do the arithmetic."""
    import numpy as np
    import rbcl

    from lapwing.collect import oprf, tokens
    from lapwing.collect.keys import Key
    from lapwing.collect.opening import opened_rows
    from lapwing.collect.sealing import _suite, layer_info, sealed_for

    digest, key, many = bytes(32), Key.random("x25519"), 400
    info, private, suite = layer_info("aggregator", digest, 1), key.private, _suite()
    sealed = [sealed_for(key.public, os.urandom(45), info) for _ in range(many)]
    rows = np.frombuffer(b"".join(sealed), dtype=np.uint8).reshape(many, -1)
    secret, request = oprf.random_scalar(), tokens.request(1, 47)
    element, blinded, count = request.blinded[0], request.to_bytes(), len(request.ids)
    floors = [
        Contender("decryption", lambda: [suite.decrypt(one, private, info) for one in sealed], many),
        Contender(
            "multiplication", lambda: [rbcl.crypto_scalarmult_ristretto255(secret, element) for _ in range(many)], many
        ),
    ]
    ours = [
        Contender("reports opened", lambda: opened_rows(key, digest, 1, rows, processes=1), many),
        Contender("tokens issued, 47 in a request", lambda: tokens.issue(secret, blinded), count),
        Contender("tokens evaluated", lambda: [oprf.evaluate(secret, one) for one in request.ids], count),
    ]
    decryption, multiplication, *found = take_turns(floors + ours, TURNS)
    shares = {"reports opened": 0.8, "tokens issued, 47 in a request": 0.3, "tokens evaluated": 0.5}
    rates = []
    for timing in found:
        floor = decryption if timing.name == "reports opened" else multiplication
        faster = timing.times_faster_than(floor)  # in the same turn
        rates.append(Rate(timing.name, faster * floor.rate, floor=floor.rate, share=shares[timing.name]))
    return rates


def counting(folder: Path) -> list[Rate]:
    """Report files as an aggregator keeps them."""
    from lapwing.collect.counting import counted_here
    from lapwing.crowd import UnaryEncoding
    from lapwing.crowd.apple import preset

    poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["bus", "bike", "car"])
    cases: Sequence[tuple[str, Any, list[str], int, int, float]] = [
        ("small reports counted", poll, ["bus", "car"], 500_000, 8, 1e6),
        ("emoji reports counted (65,536 × 1,024 cells)", preset("popular emoji"), ["😀", "🐦"], 50_000, 8, 1e5),
    ]
    rates = []
    for what, protocol, answers, size, files, bar in cases:
        reports = protocol.randomize(answers * (size // 2)).to_bytes()
        paths = [folder / f"{what[:5]}-{number}.reports" for number in range(files)]
        for path in paths:
            path.write_bytes(reports)

        def count(protocol: Any = protocol, paths: list[Path] = paths) -> None:
            counted_here(protocol, paths)

        count()
        rates.append(Rate(what, per_second(size * files, count), bar))
        for path in paths:
            path.unlink()
    return rates


def short(folder: Path, most_ids: int) -> tuple[dict[str, Any], dict[str, bool]]:
    """Everything but the million; results and bars."""
    rates = [*over_http(folder), sealing(folder)]
    looked, megabytes = ids(folder, most_ids)
    in_database = shared_ids(folder, 1_000_000)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        stashed, shuffling = fresh.submit(stash, folder).result()  # in a heap that nothing else has grown
    shuffled, minutes = shufflers.run(folder / "shufflers")
    rates += shuffled
    rates += [looked, stashed, *([in_database] if in_database else []), *crypto(), *counting(folder)]
    show(rates)
    bars = {rate.what: rate.met for rate in rates if rate.bar is not None or rate.floor is not None}
    bars[f"ids within {MOST_MEMORY:g} MB"] = megabytes <= MOST_MEMORY
    bars[f"stash shuffle within {SHUFFLE_MEMORY:g} MB"] = shuffling <= SHUFFLE_MEMORY
    print(f"ids took {megabytes:,.0f} MB of memory (bar {MOST_MEMORY:g})")
    print(f"the stash shuffle took {shuffling:,.0f} MB of memory (bar {SHUFFLE_MEMORY:g})")
    limit = shufflers.MOST_MINUTES
    bars[f"a million devices through two shufflers within {limit:g} minutes of a core"] = minutes <= limit
    print(f"a million devices through two blinded shufflers: {minutes:.1f} minutes of a core (bar {limit:g})")
    results = {"megabytes of ids": megabytes, "megabytes of the stash": shuffling, "minutes of shufflers": minutes}
    return results | {"rates": [asdict(rate) for rate in rates]}, bars


def save(results: dict[str, Any], bars: dict[str, bool]) -> None:
    """Beside what another run measured."""
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"bars": {}}
    shown = before | {"machine": machine, "bars": before["bars"] | bars} | results
    RESULTS.write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """All of it; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.collect", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--long", action="store_true", help="100 million ids instead of 5 million")
    parser.add_argument("--only", choices=["million", "shufflers"], help="one case and nothing else")
    parser.add_argument("--devices", type=int, default=1_000_000, help="so many of them; fewer are not saved")
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as name:
        if given.only == "million":
            results, bars = million.run(Path(name) / "collection", given.devices)
            print(json.dumps(results, indent=2, ensure_ascii=False))
        elif given.only == "shufflers":
            rates, minutes = shufflers.run(Path(name) / "collection")
            show(rates)
            print(f"a million devices through two blinded shufflers: {minutes:.1f} minutes of a core")
            return 0 if all(rate.met for rate in rates if rate.bar) and minutes <= shufflers.MOST_MINUTES else 1
        else:
            results, bars = short(Path(name), 100_000_000 if given.long else 5_000_000)
    for bar, met in bars.items():
        print(f"{'met   ' if met else 'MISSED'} {bar}")
    if given.only is None or given.devices >= LEAST_SAVED:
        save({"million": results} if given.only else results, bars)
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
