"""How the other libraries simulate clients, aggregate and decode. They do one person at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.measure import Contender

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"


def _each(name: str, one: Callable[[Any], object], items: Sequence[Any]) -> Contender:
    def run() -> None:
        for item in items:
            one(item)

    return Contender(name, run, len(items), "floats, not secure")


def _values(domain: int, count: int) -> list[int]:
    return np.random.default_rng(1).integers(0, domain, count).tolist()  # type: ignore[no-any-return]


def pure_direct_client(epsilon: float, domain: int, count: int = 20_000) -> Contender:
    """k-ary randomized response, called direct encoding."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    client = DEClient(epsilon, domain, index_mapper=int)
    return _each(PURE, client.privatise, _values(domain, count))


def pure_direct_server(epsilon: float, domain: int, count: int = 20_000) -> Contender:
    """Counting answers."""
    from pure_ldp.frequency_oracles.direct_encoding import DEServer

    server = DEServer(epsilon, domain, index_mapper=int)
    return _each(PURE, server.aggregate, _values(domain, count))


def multi_direct_client(epsilon: float, domain: int, count: int = 20_000) -> Contender:
    """k-ary randomized response, compiled."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    return _each(MULTI, lambda value: GRR_Client(value, domain, epsilon), _values(domain, count))


def multi_direct_server(epsilon: float, domain: int, count: int = 20_000) -> Contender:
    """Counting answers and estimating."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI

    reports = _values(domain, count)
    return Contender(MULTI, lambda: GRR_Aggregator_MI(reports, domain, epsilon), count, "floats, not secure")


def pure_unary_server(epsilon: float, domain: int, count: int = 2_000) -> Contender:
    """Adding vectors."""
    from pure_ldp.frequency_oracles.unary_encoding import UEServer

    server = UEServer(epsilon, domain, use_oue=True, index_mapper=int)
    rows = np.random.default_rng(1).integers(0, 2, (count, domain))
    return _each(PURE, server.aggregate, list(rows))


def multi_unary_server(epsilon: float, domain: int, count: int = 2_000) -> Contender:
    """Adding vectors and estimating."""
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI

    rows = list(np.random.default_rng(1).integers(0, 2, (count, domain)).astype(np.float64))
    return Contender(MULTI, lambda: UE_Aggregator_MI(rows, epsilon), count, "floats, not secure")


def pure_rappor_client(bits: int, hashes: int, cohorts: int, count: int = 2_000) -> Contender:
    """The permanent step only, and ones are never cleared: less work than the protocol asks for."""
    from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer

    server = RAPPORServer(0.5, bits, hashes, 1000, num_of_cohorts=cohorts, reg_const=0.0005, lasso="lasso")
    client = RAPPORClient(0.5, bits, server.get_hash_funcs(), num_of_cohorts=cohorts, index_mapper=int)
    return _each(PURE, client.privatise, _values(1000, count))


def pure_hashing_client(epsilon: float, domain: int, count: int = 10_000) -> Contender:
    """Optimised local hashing."""
    from pure_ldp.frequency_oracles.local_hashing import LHClient

    client = LHClient(epsilon, domain, use_olh=True, index_mapper=int)
    return _each(PURE, client.privatise, _values(domain, count))


def multi_hashing_client(epsilon: float, domain: int, count: int = 10_000) -> Contender:
    """Optimised local hashing."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client

    return _each(MULTI, lambda value: LH_Client(value, domain, epsilon), _values(domain, count))


def pure_hashing_server(epsilon: float, domain: int, count: int = 50) -> Contender:
    """Every answer of the domain is hashed for every report."""
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

    client = LHClient(epsilon, domain, use_olh=True, index_mapper=int)
    server = LHServer(epsilon, domain, use_olh=True, index_mapper=int)
    return _each(PURE, server.aggregate, [client.privatise(value) for value in _values(domain, count)])


def multi_hashing_server(epsilon: float, domain: int, count: int = 50) -> Contender:
    """The same."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    reports = [LH_Client(value, domain, epsilon) for value in _values(domain, count)]
    return Contender(MULTI, lambda: LH_Aggregator_MI(reports, domain, epsilon), count, "floats, not secure")


class _OlderNumpy:
    """pure-ldp asks for arrays of shape None, which numpy no longer makes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def zeros(shape: Any) -> Any:
        return np.zeros(() if shape is None else shape)


def _sketch(epsilon: float, functions: int, width: int, hadamard: bool) -> tuple[Any, Any]:
    """Client and server. A Hadamard matrix of 8-byte numbers would not fit into memory: the peer gets one of bytes."""
    import scipy.linalg
    from pure_ldp.core import _freq_oracle_server
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer

    _freq_oracle_server.np = _OlderNumpy()
    server = CMSServer(epsilon, functions, 2 if hadamard else width, is_hadamard=hadamard)
    if hadamard:
        server.had = None
        server.update_params(k=functions, m=width)
    client = CMSClient(epsilon, server.get_hash_funcs(), 2 if hadamard else width, is_hadamard=hadamard)
    if hadamard:
        client.m, client.had = width, scipy.linalg.hadamard(width, dtype=np.int8)
    return client, server


def pure_sketch_client(epsilon: float, functions: int, width: int, hadamard: bool, count: int = 2_000) -> Contender:
    """(Hadamard) Count Mean Sketch."""
    client, _ = _sketch(epsilon, functions, width, hadamard)
    return _each(PURE, client.privatise, _values(1000, count // 20 if hadamard else count))


def pure_sketch_server(epsilon: float, functions: int, width: int, hadamard: bool, count: int = 2_000) -> Contender:
    """Adding reports to the sketch."""
    client, server = _sketch(epsilon, functions, min(width, 1024), hadamard)
    reports = [client.privatise(value) for value in _values(1000, count)]
    return _each(PURE, server.aggregate, reports)


def pure_sketch_decoder(epsilon: float, functions: int, width: int, candidates: int = 200) -> Contender:
    """Looking candidates up in the sketch."""
    client, server = _sketch(epsilon, functions, width, False)
    for value in _values(1000, 200):
        server.aggregate(client.privatise(value))
    return _each(PURE, lambda item: server.estimate(item, suppress_warnings=True), range(candidates))
