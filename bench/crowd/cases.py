"""What is measured of the local protocols, and the bars: ratios against the faster peer in the same run."""

from __future__ import annotations

from collections.abc import Callable

from bench.crowd import ours, peers
from bench.measure import Contender
from bench.suite import Case, Latency, Ratio, Suite
from lapwing import crowd

EPSILON, SKETCH = 1.0, 4.0
SIZE, WIDE = 2_000_000, 200_000
DOMAIN, UNARY, HASHED = 100, 1024, 1000
FUNCTIONS = WIDTH = 1024
LARGE_WIDTH = 32_768
CANDIDATES = 250_000
BOTH = (peers.PURE, peers.MULTI)


def _case(
    title: str,
    times: float,
    contenders: Callable[[], list[Contender]],
    rivals: tuple[str, ...] = BOTH,
    result: float = 0,
) -> Case:
    return Case(title, "candidates" if "decoding" in title else "reports", contenders, (Ratio(times, rivals),), result)


def _unary() -> crowd.UnaryEncoding:
    return crowd.UnaryEncoding.from_epsilon(EPSILON, domain=UNARY)


def _sketch() -> crowd.CountMeanSketch:
    return crowd.CountMeanSketch(epsilon=4, functions=FUNCTIONS, width=WIDTH)


def _hadamard() -> crowd.HadamardCountMeanSketch:
    return crowd.HadamardCountMeanSketch(epsilon=4, functions=FUNCTIONS, width=LARGE_WIDTH)


def _transform() -> list[Contender]:
    import numpy as np

    from lapwing.crowd.hadamard import walsh_hadamard

    table = np.random.default_rng(1).integers(-50, 50, (FUNCTIONS, LARGE_WIDTH))
    return [Contender("Lapwing", lambda: walsh_hadamard(table), 1, "exact integers")]


CROWD = Suite(
    "bench.crowd",
    "crowd",
    "Local protocols, two threads, contenders taking turns",
    ("lapwing", "numpy", "pure-ldp", "multi-freq-ldpy", "cryptography"),
    (
        _case(
            "client: randomized response",
            20,
            lambda: [
                ours.client(crowd.BinaryResponse.from_epsilon(EPSILON), ours.people(2, SIZE)),
                peers.pure_direct_client(EPSILON, 2),
                peers.multi_direct_client(EPSILON, 2),
            ],
            result=1 / 8,
        ),
        _case(
            "client: 100-ary randomized response",
            20,
            lambda: [
                ours.client(crowd.CategoryResponse.from_epsilon(EPSILON, domain=DOMAIN), ours.people(DOMAIN, SIZE)),
                peers.pure_direct_client(EPSILON, DOMAIN),
                peers.multi_direct_client(EPSILON, DOMAIN),
            ],
            result=1,
        ),
        _case(
            "client: RAPPOR, 128 bits",
            50,
            lambda: [
                ours.client(
                    crowd.Rappor.from_symbols(k=128, h=2, m=8, f=0.5, p=0.5, q=0.75), ours.people(HASHED, SIZE)
                ),
                peers.pure_rappor_client(128, 2, 8),
            ],
            (peers.PURE,),
            16,
        ),
        _case(
            "client: count mean sketch, 1024 × 1024",
            10,
            lambda: [
                ours.client(_sketch(), ours.people(HASHED, WIDE)),
                peers.pure_sketch_client(SKETCH, FUNCTIONS, WIDTH, False),
            ],
            (peers.PURE,),
            128,
        ),
        _case(
            "client: Hadamard count mean sketch, 1024 × 32768",
            500,
            lambda: [
                ours.client(_hadamard(), ours.people(HASHED, SIZE)),
                peers.pure_sketch_client(SKETCH, FUNCTIONS, LARGE_WIDTH, True),
            ],
            (peers.PURE,),
            4,
        ),
        _case(
            "client: local hashing",
            30,
            lambda: [
                ours.client(crowd.LocalHashing(epsilon=1), ours.people(HASHED, SIZE)),
                peers.pure_hashing_client(EPSILON, HASHED),
                peers.multi_hashing_client(EPSILON, HASHED),
            ],
            result=3,
        ),
        _case(
            "aggregator: 100-ary randomized response",
            20,
            lambda: [
                ours.server(crowd.CategoryResponse.from_epsilon(EPSILON, domain=DOMAIN), ours.people(DOMAIN, SIZE)),
                peers.pure_direct_server(EPSILON, DOMAIN),
                peers.multi_direct_server(EPSILON, DOMAIN),
            ],
            result=1,
        ),
        _case(
            "aggregator: unary encoding, 1024 bits",
            20,
            lambda: [
                ours.server(_unary(), ours.people(UNARY, WIDE)),
                peers.pure_unary_server(EPSILON, UNARY),
                peers.multi_unary_server(EPSILON, UNARY),
            ],
            result=128,
        ),
        _case(
            "aggregator: local hashing, 1000 answers",
            500,
            lambda: [
                ours.hashing_server(crowd.LocalHashing(epsilon=1), ours.people(HASHED, SIZE), HASHED),
                peers.pure_hashing_server(EPSILON, HASHED),
                peers.multi_hashing_server(EPSILON, HASHED),
            ],
        ),
        _case(
            "aggregator: count mean sketch, 1024 × 1024",
            15,
            lambda: [
                ours.server(_sketch(), ours.people(HASHED, WIDE), copies=5),
                peers.pure_sketch_server(SKETCH, FUNCTIONS, WIDTH, False),
            ],
            (peers.PURE,),
            128,
        ),
        _case(
            "aggregator: Hadamard count mean sketch, 1024 × 32768",
            15,
            lambda: [
                ours.server(_hadamard(), ours.people(HASHED, SIZE), copies=5),
                peers.pure_sketch_server(SKETCH, FUNCTIONS, LARGE_WIDTH, True),
            ],
            (peers.PURE,),
            4,
        ),
        _case(
            "decoding: count mean sketch, 250,000 candidates",
            200,
            lambda: [
                ours.decoder(_sketch(), ours.people(HASHED, WIDE), CANDIDATES),
                peers.pure_sketch_decoder(SKETCH, FUNCTIONS, WIDTH),
            ],
            (peers.PURE,),
        ),
        Case(
            "decoding: RAPPOR, 10,000 candidates",
            "decodings",
            lambda: [ours.rappor_decoder(10_000, 1_000_000)],
            (Latency(1.3),),
            0,
        ),
        Case(
            "fragment puzzle: a million strings of 10 letters",
            "collections",
            lambda: [ours.discovery(1_000_000)],
            (Latency(10.0),),
            0,
            turns=3,
        ),
        Case(
            "deployed: count mean sketch, 65536 × 1024, ten million people",
            "collections",
            lambda: [ours.deployed(crowd.CountMeanSketch(epsilon=4, functions=1 << 16, width=1024), 10_000_000)],
            (),
            0,
            turns=1,
            peak=True,
        ),
        Case(
            "deployed: Hadamard count mean sketch, 1024 × 32768, ten million people",
            "collections",
            lambda: [ours.deployed(_hadamard(), 10_000_000)],
            (),
            0,
            turns=1,
            peak=True,
        ),
        Case("transform: 1024 × 32768", "tables", _transform, (Latency(1.0),), 2 * 8 * FUNCTIONS * LARGE_WIDTH),
    ),
    turns=5,
)
