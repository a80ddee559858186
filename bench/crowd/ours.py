"""Our side of the local protocols. Entropy is counted; simulated people repeat themselves as real ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.measure import Contender
from bench.ours import ours
from lapwing import crowd
from lapwing.crowd import Answers, OpenProtocol, Protocol, Reports


def people(domain: int, count: int) -> Answers:
    """Uniform answers 0 … domain − 1."""
    return Answers.of(np.random.default_rng(1).integers(0, domain, count))


def client(protocol: Protocol, answers: Answers) -> Contender:
    """One report for everybody."""
    return ours(lambda entropy: protocol.randomize(answers, entropy), len(answers))


def server(protocol: Protocol, answers: Answers, copies: int = 1) -> Contender:
    """Counting reports, which were made before."""
    reports = Reports.together([protocol.randomize(answers)] * copies)
    return Contender("Lapwing", lambda: protocol.absorb(None, reports), reports.n, "integers")


def hashing_server(protocol: Any, answers: Answers, domain: int) -> Contender:
    """Counting, and looking up every answer of the domain: what the peers do for each report."""
    reports = protocol.randomize(answers)
    run: Callable[[], object] = lambda: protocol.estimate(protocol.absorb(None, reports), range(domain))  # noqa: E731
    return Contender("Lapwing", run, reports.n, "counted and looked up")


def discovery(people: int) -> Contender:
    """A million strings without a dictionary, clients included; wrong or missing finds are an error."""
    strings, counts = zipf_strings(1000, 10, 1.3, people)
    puzzle = crowd.SequenceFragmentPuzzle(epsilon_fragments=4, epsilon_strings=4, functions=1024, width=1024, length=10)
    population = Answers.counted(dict(zip(strings, counts, strict=True)))

    def run() -> None:
        found = puzzle.estimate(puzzle.absorb(None, puzzle.randomize(population)))
        shares = dict(zip(found.labels, found.shares.tolist(), strict=True))
        frequent = [string for string, count in zip(strings, counts, strict=True) if count >= people / 200]
        missed = [string for string in frequent if string not in shares]
        false = [string for string, share in shares.items() if share > 0.005 and string not in set(strings)]
        top = [string for string, count in zip(strings, counts, strict=True) if count >= people / 100]
        if false or any(string in missed for string in top) or len(frequent) - len(missed) < 18:
            raise AssertionError(f"missed {missed}, false {false}")

    return Contender("Lapwing", run, 1, "clients, aggregator and analyst")


def zipf_strings(count: int, length: int, exponent: float, people: int) -> tuple[list[str], list[int]]:
    """Random strings, and how many people have each."""
    rng = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    strings = ["".join(row) for row in letters[rng.integers(0, 26, (count, length))]]
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    return strings, rng.multinomial(people, weights / weights.sum()).tolist()


def rappor_decoder(candidates: int, people: int) -> Contender:
    """Lasso, least squares, errors and tests over many candidates."""
    protocol = crowd.Rappor.from_symbols(k=128, h=2, m=64, f=0.5, p=0.25, q=0.75)
    strings, counts = zipf_strings(candidates, 10, 1.1, people)
    state = protocol.absorb(None, protocol.randomize(Answers.counted(dict(zip(strings, counts, strict=True)))))
    return Contender("Lapwing", lambda: protocol.estimate(state, strings), 1, "lasso, least squares, tests")


def deployed(protocol: OpenProtocol, people: int) -> Contender:
    """A whole simulated collection at a size that is in use."""
    population = {f"item {i}": people // 2600 for i in range(2600)}
    return Contender("Lapwing", lambda: crowd.simulate(protocol, population), 1, f"{people:,} people")


def decoder(protocol: Any, answers: Answers, candidates: int) -> Contender:
    """Estimates for many candidates, items hashed in advance by nobody."""
    counts, items = protocol.absorb(None, protocol.randomize(answers)), list(range(candidates))
    return Contender("Lapwing", lambda: protocol.estimate(counts, items), candidates, "with errors")
