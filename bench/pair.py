"""Two servers: what a question about rows that neither sees costs each of them. `python -m bench.pair`

    owner      a row of Adult: encode, products, split, commitments; bytes as they are sent
    offline    taking rows in (conversion and check), masks and noise of the seven programs: no question needs data
    online     what is left: products, openings, sums
    million    Adult 31 times over (`--rows 1000000`)
    labelled   Paillier with labels, our own, on the program P3: what shares replaced

Two processes over a socket; seconds are those of a processor, of the server that took more.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import resource
import socket
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lapwing.datasets import adult
from lapwing.mechanisms import Laplace
from lapwing.noise import SYSTEM
from lapwing.pair.client import Client
from lapwing.pair.domains import Layout, Listed, split
from lapwing.pair.holdings import Batch, Holdings, chosen, packed
from lapwing.pair.intake import take_in
from lapwing.pair.links import Link
from lapwing.pair.orders import noise_for
from lapwing.pair.programs import seven
from lapwing.pair.runs import Clock, Order, Run
from lapwing.pair.transfers import Transfers
from lapwing.pair.workspace import make

RESULTS = Path(__file__).parent / "results" / "pair.json"
ADULT_ROWS, MILLION = 32_561, 1_000_000
BATCH = 1 << 16
MOST_ONLINE, MOST_OFFLINE, MOST_MICROSECONDS = 0.5, 30.0, 5.0
MOST_UPLOAD_BYTES, MOST_UPLOAD_SECONDS = 3_000, 0.001
MOST_ONLINE_MILLION, MOST_TRAFFIC_MILLION = 10.0, 150e6
LEAST_GAIN_OVER_LABELLED, LEAST_GAIN_OVER_LOCAL = 1_000, 100


def layout() -> Layout:
    """The columns of the seven programs."""
    people = adult("train")

    def listed(name: str) -> Listed:
        return Listed(name, "text", tuple(sorted({value for value in people[name] if value is not None})))

    ages = Listed("age", "integer", tuple(range(17, 91)))
    return Layout((ages, listed("sex"), listed("race"), listed("native_country")), products=8)


def serve(place: int, end: socket.socket, own: Layout, shares: list[list[bytes]], out: Any) -> None:
    """One server: take batches in, then answer the seven programs."""
    link = Link(0 if place == 0 else 1, end)
    start = time.process_time()
    transfers = Transfers(link)
    batches, totals = [], None
    for part in shares:
        lines = packed(part, own)
        intake = take_in(link, transfers, own, lines, len(part))
        batches.append(Batch(chosen(lines, intake.passed), int(intake.passed.sum())))
        totals = intake.totals if totals is None else totals + intake.totals
    taken = time.process_time() - start
    assert totals is not None
    holdings, used, sent = Holdings(own, batches, totals), Counter[str](), link.sent
    figures: dict[str, Any] = {"intake seconds": taken, "intake bytes": sent, "programs": {}}
    for name, program in seven().items():
        compiled, clock = program.compiled(own), Clock()
        order = Order(compiled.measure, noise_for(compiled.measure, own, compiled.epsilon))
        Run(link, holdings, transfers, used, clock=clock).answers([order])
        figures["programs"][name] = {
            "offline seconds": clock.offline,
            "online seconds": clock.online,
            "offline bytes": clock.sent_offline,
            "online bytes": clock.sent_online,
        }
    figures["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    out.put((place, figures))


def run(rows: int) -> dict[str, Any]:
    """Both servers on so many rows of Adult, over and over."""
    own, people = layout(), adult("train")
    repeated = {name: (people[name] * (rows // ADULT_ROWS + 1))[:rows] for name in own.by_name}
    shares: list[list[list[bytes]]] = [[], []]
    start = time.process_time()
    for first in range(0, rows, BATCH):
        part = {name: cells[first : first + BATCH] for name, cells in repeated.items()}
        for place, share in enumerate(split(own.with_products(own.encoded(part)))):
            shares[place].append(share)
    owners = time.process_time() - start
    context = mp.get_context("fork")
    out, ends = context.Queue(), socket.socketpair()
    servers = [context.Process(target=serve, args=(i, ends[i], own, shares[i], out)) for i in (0, 1)]
    for server in servers:
        server.start()
    both = dict(out.get() for _ in servers)
    for server in servers:
        server.join()
    return {
        "rows": rows,
        "row bits": own.row_bits,
        "owners, all at once, seconds": owners,
        "servers": [both[0], both[1]],
    }


def owner() -> dict[str, float]:
    """One owner alone: a row with as many products as `lapwing pair new` writes, and the messages as they are sent."""
    people = adult("train")
    columns = {
        domain.name: {"values": list(domain.values)} for domain in layout().domains if isinstance(domain, Listed)
    }
    with TemporaryDirectory() as folder:
        deployment = make(Path(folder) / "adult", name="adult", columns=columns, owners=1)
    client, row = Client(deployment), {name: people[name][0] for name in columns}
    messages = client._messages([("0" * 24, row)], SYSTEM)
    start = time.process_time()
    for _ in range(200):
        messages = client._messages([("0" * 24, row)], SYSTEM)
    seconds = (time.process_time() - start) / 200
    frames = [{"do": "upload", "file": deployment.fingerprint, "rows": rows} for rows in messages]
    return {"seconds": seconds, "bytes to both": sum(len(json.dumps(frame)) for frame in frames)}


def total(figures: dict[str, Any], what: str) -> float:
    """Of the seven programs, at the server that took more."""
    return max(float(sum(part[what] for part in server["programs"].values())) for server in figures["servers"])


def errors() -> dict[str, float]:
    """Of a histogram of age under replace at ε = 1: joint noise, central noise, and the best local protocol."""
    from lapwing.crowd.unary import UnaryEncoding

    own = layout()
    measure = seven()["P1"].compiled(own).measure
    joint = noise_for(measure, own, Fraction(1)).standard_deviation
    central = Laplace(epsilon=1, sensitivity=2).variance ** 0.5
    coins = UnaryEncoding.from_epsilon(1, domain=74)
    p, q = Fraction(coins.one_if_true), Fraction(coins.one_if_other)
    local = float(ADULT_ROWS * q * (1 - q) / (p - q) ** 2) ** 0.5  # of an answer that few give
    return {"joint": joint, "central": central, "local": local}


def main() -> None:
    """Measure, compare with the bars, and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ADULT_ROWS)
    parser.add_argument("--labelled", action="store_true", help="also Paillier with labels, for some seconds")
    given = parser.parse_args()
    figures = run(given.rows)
    online, offline = total(figures, "online seconds"), total(figures, "offline seconds")
    intake = max(server["intake seconds"] for server in figures["servers"])
    traffic = 2 * total(figures, "online bytes")
    bit = intake / given.rows / figures["row bits"] * 1e6
    print(f"{given.rows:,} rows: taken in {intake:.2f} s ({bit:.2f} µs a bit), offline {offline:.2f} s")
    print(f"the seven programs online: {online:.3f} s, {traffic / 1e6:.1f} MB between both")
    for name, part in figures["servers"][0]["programs"].items():
        print(f"   {name}: offline {part['offline seconds']:.3f} s, online {part['online seconds']:.4f} s")
    bars = {}
    if given.rows >= MILLION:
        bars[f"{given.rows:,} rows online within {MOST_ONLINE_MILLION:g} s"] = online <= MOST_ONLINE_MILLION
        bars[f"{given.rows:,} rows within {MOST_TRAFFIC_MILLION / 1e6:g} MB online"] = traffic <= MOST_TRAFFIC_MILLION
    else:
        person = owner()
        spread = errors()
        print(f"an owner: {1000 * person['seconds']:.2f} ms, {person['bytes to both']:,} bytes")
        print(
            ", ".join(f"{name} {error:.2f}" for name, error in spread.items()), "(standard errors, histogram at ε = 1)"
        )
        figures["owner"], figures["standard errors"] = person, spread
        ratio, gain = spread["joint"] / spread["central"], spread["local"] / spread["joint"]
        bars["the seven programs online within 0.5 s"] = online <= MOST_ONLINE
        bars["everything offline within 30 s"] = intake + offline <= MOST_OFFLINE
        bars["conversion within 5 µs a bit"] = bit <= MOST_MICROSECONDS
        bars["an upload within 3 kB and 1 ms"] = (
            person["bytes to both"] <= MOST_UPLOAD_BYTES and person["seconds"] <= MOST_UPLOAD_SECONDS
        )
        bars["joint noise as small as central noise, within 1 %"] = abs(ratio - 1) <= 0.01
        bars[f"at least {LEAST_GAIN_OVER_LOCAL} times less error than the best local protocol ({gain:.0f})"] = (
            gain >= LEAST_GAIN_OVER_LOCAL
        )
    if given.labelled:
        from bench.labelled import measure

        ours = max(
            server["programs"]["P3"]["offline seconds"] + server["programs"]["P3"]["online seconds"]
            for server in figures["servers"]
        )
        for bits in (None, 64):
            gain = measure(bits).program_seconds / ours
            name = f"P3 {LEAST_GAIN_OVER_LABELLED:,} times faster than labelled encryption, {bits or 2048}-bit pads"
            bars[name] = gain >= LEAST_GAIN_OVER_LABELLED
            print(f"{name}: {gain:,.0f}")
    for name, met in bars.items():
        print("met   " if met else "MISSED", name)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known[f"{given.rows:,} rows"] = figures | {"bars": bars}
    RESULTS.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if all(bars.values()) else 1)


if __name__ == "__main__":
    main()
