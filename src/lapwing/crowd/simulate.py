"""A whole collection on one machine: everybody randomises, everything is counted, and the truth is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import SHOWN, Estimates, aligned
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol, Protocol
from lapwing.crowd.reports import some
from lapwing.crowd.threads import THREADS, parts
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.notation import signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_PIECE = 1 << 32
"""Bits of reports held at a time, at most: half a gigabyte."""

Heard = Callable[[int, int], None]
"""Is told how many people have answered, and how many there are."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """The result of `simulate`: what was counted, what is true, and how long it took.

    Attributes:
        protocol: What was simulated.
        counts: The counts of all reports.
        population: The true answers.
        seconds: How long randomising and counting took.

    >>> from lapwing.crowd import CountMeanSketch
    >>> sketch = CountMeanSketch(epsilon=4, functions=64, width=256)
    >>> run = simulate(sketch, {"bus": 30_000, "bike": 70_000})
    >>> run.reports, run.bits_per_report, run.truth["bus"]
    (100000, 262, 30000)
    >>> run.errors(["bus", "bike", "car"]).largest < 10_000
    True
    """

    protocol: ClosedProtocol | OpenProtocol
    counts: Counts
    population: People
    seconds: float
    held_bytes: int
    """Of reports and counts in memory at the same time, at most; what a protocol needs while it works comes on top."""

    def __repr__(self) -> str:
        return (
            f"<{some(self.reports, 'report')} of {type(self.protocol).__name__}, "
            f"{some(self.bits_per_report, 'bit')} each, {self.seconds:.3f} s, "
            f"{self.nanoseconds_per_report:,.0f} ns each, {self.held_bytes / 1e6:,.2f} MB held>"
        )

    @property
    def reports(self) -> int:
        """How many reports were made and counted."""
        return self.counts.n

    @property
    def bits_per_report(self) -> int:
        """How many bits each person sends."""
        return sum(column.bits for column in self.protocol.layout)

    @property
    def bytes_per_report(self) -> float:
        """How many bytes each person sends."""
        return self.bits_per_report / 8

    @property
    def nanoseconds_per_report(self) -> float:
        """The time to make one report and to count it, together."""
        return 1e9 * self.seconds / max(self.reports, 1)

    @cached_property
    def truth(self) -> dict[Any, int]:
        """How many people really gave each answer."""
        return self.population.counts()

    def estimate(self, *candidates: Any, **options: Any) -> Any:
        """What the protocol estimates from the counts.

        Args:
            *candidates: The list of answers to count, for a protocol that needs candidates.
            **options: Options of `protocol.estimate`, such as `confidence`.

        Returns:
            What `protocol.estimate` gives.

        >>> from lapwing.crowd import UnaryEncoding, simulate
        >>> poll = UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike", "car"])
        >>> 5000 < simulate(poll, {"bus": 6000, "bike": 3000, "car": 1000}).estimate()["bus"] < 7000
        True
        """
        return self.protocol.estimate(self.counts, *candidates, **options)

    def errors(self, *candidates: Any, **options: Any) -> Errors:
        """The estimates beside the truth.

        Args:
            *candidates: The list of answers to count, for a protocol that needs candidates.
            **options: Options of `protocol.estimate`, such as `confidence`.

        Returns:
            For every answer how far its estimate is off. Print it.

        Raises:
            InvalidParameter: If the protocol does not estimate counts of answers.
        """
        import numpy as np

        estimates = self.estimate(*candidates, **options)
        if not isinstance(estimates, Estimates):
            why = "does not estimate counts of answers"
            raise InvalidParameter("protocol", type(self.protocol).__name__, why, "Compare with estimate() yourself.")
        truth = np.array([self.truth.get(label, 0) for label in estimates.labels], dtype=np.float64)
        return Errors(estimates, truth)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Errors:
    """Estimated counts beside true ones.

    Attributes:
        estimates: The estimated counts.
        truth: The true counts, in the same order.

    >>> from lapwing.crowd import UnaryEncoding, simulate
    >>> poll = UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike", "car"])
    >>> errors = simulate(poll, {"bus": 6000, "bike": 3000, "car": 1000}).errors()
    >>> [row["answer"] for row in errors.rows()], errors.largest < 1000
    (['bus', 'bike', 'car'], True)
    """

    estimates: Estimates
    truth: NDArray[np.float64]

    @property
    def off_by(self) -> NDArray[np.float64]:
        """Estimate minus truth, in people."""
        return self.estimates.counts - self.truth

    @property
    def root_mean_square(self) -> float:
        """Of all answers, in people."""
        return float(((self.off_by**2).sum() / max(len(self.truth), 1)) ** 0.5)

    @property
    def largest(self) -> float:
        """The worst of all answers, in people."""
        return float(abs(self.off_by).max(initial=0.0))

    @property
    def standardized(self) -> NDArray[np.float64]:
        """In standard errors of the coins: about normal, with variance 1, if these are what they are said to be."""
        return self.off_by / self.estimates.population_standard_error

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per answer.

        Returns:
            The columns `answer`, `truth`, `estimate`, and `standard_errors_off`: how far the estimate is off, in
                standard errors.
        """
        columns = zip(self.estimates.labels, self.truth, self.estimates.counts, self.standardized, strict=True)
        names = ("truth", "estimate", "standard_errors_off")
        return [{"answer": label, **dict(zip(names, map(float, numbers), strict=True))} for label, *numbers in columns]

    def __repr__(self) -> str:
        return f"<Errors of {len(self.truth):,} answers, {self.largest:,.0f} people at most: print it>"

    def __str__(self) -> str:
        rows = self.rows()[:SHOWN]
        names = aligned(["answer", *(str(row["answer"]) for row in rows)])
        lines = [f"{names[0]} {'truth':>12} {'estimate':>12} {'off by':>10}   in standard errors"]
        for name, row in zip(names[1:], rows, strict=True):
            off = row["estimate"] - row["truth"]
            numbers = f"{row['truth']:>12,.0f} {row['estimate']:>z12,.0f} {off:>+z10,.0f}"
            lines.append(f"{name} {signed(numbers)}   {signed(format(row['standard_errors_off'], '+z.1f'))}")
        if len(self.truth) > SHOWN:
            lines.append(f"… and {len(self.truth) - SHOWN:,} more")
        lines.append(f"off by {self.root_mean_square:,.0f} (root mean square), {self.largest:,.0f} at most")
        return "\n".join(lines)


def simulate(
    protocol: ClosedProtocol | OpenProtocol,
    population: Any,
    *,
    progress: bool | Heard = False,
    entropy: Entropy = SYSTEM,
) -> Simulation:
    """Let everybody of a population send a report, and count them, piece by piece.

    Privacy: none. This is a simulation, and whoever runs it knows every answer.
    Accuracy: the counts are those of `absorb(None, randomize(everybody))`; with a reproducible source, to the bit.

    Args:
        protocol: The protocol to try.
        population: How many people give each answer (`{"bus": 300, "bike": 500}`, which takes no memory for each of
            them), or everybody's answer: a list, an array, a column, or `Answers`.
        progress: True shows a bar on a terminal. A function is told (people done, people in all) after every piece.
        entropy: Source of random bits; a seeded one makes the run reproducible.

    Returns:
        The counts, the truth, and how long it took.

    Raises:
        InvalidParameter: If protocol is not a local protocol, or if population holds a count that is not a whole number
            from 0 on.

    >>> from lapwing.crowd import UnaryEncoding
    >>> run = simulate(UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike"]), {"bus": 30_000, "bike": 70_000})
    >>> run.reports, run.errors().largest < 10_000
    (100000, True)
    """
    hint = "Pass a protocol first, then the people: {'bus': 300, 'bike': 500}."
    checks.of_kind(Protocol, "is not a local protocol", hint, protocol=protocol)
    people, size = People.of(population), _piece_size(protocol)
    threads = THREADS if size == protocol.block and entropy.private else 1

    def count(part: slice) -> Counts:
        return protocol.absorb(None, protocol.randomize(people[part], entropy))

    started = time.perf_counter()
    total = protocol.empty()
    with _heard(progress, len(people)) as heard:
        for counted in _some_at_once(count, parts(len(people), size), threads):
            table = total.table  # ours alone: added to in place, because it may be half a gigabyte
            table += counted.table
            total = Counts(protocol, total.n + counted.n, table)
            heard(total.n, len(people))
    seconds = time.perf_counter() - started
    reports = min(size * threads, len(people)) * sum(column.bits for column in protocol.layout) // 8
    return Simulation(protocol, total, people, seconds, reports + (1 + threads) * total.table.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Everybody's answer, made a piece at a time: from how many give each, or as they come."""

    labels: Sequence[Any]
    numbers: NDArray[np.int64]
    """How many give each answer."""
    places: NDArray[np.intp] | None = None
    """Whose answer is which; without, all who give the same answer stand together."""

    @classmethod
    def of(cls, population: Any) -> People:
        """From counts by answer, or from answers."""
        import numpy as np

        if isinstance(population, Mapping):
            numbers = [checks.whole(minimum=0, people=count) for count in population.values()]
            return cls(list(population), np.array(numbers, dtype=np.int64))
        answers = Answers.of(population)
        return cls(answers.labels, np.bincount(answers.places, minlength=len(answers.labels)), answers.places)

    def __len__(self) -> int:
        return int(self.numbers.sum())

    def __getitem__(self, part: slice) -> Answers:
        """The answers of a piece, with the labels that may occur in it."""
        import numpy as np

        if self.places is not None:
            return Answers(self.labels, self.places[part]).trimmed()
        ends = np.cumsum(self.numbers)
        first, last = np.searchsorted(ends, (part.start, part.stop - 1), side="right").tolist()
        here = np.diff(np.minimum(ends[first : last + 1], part.stop), prepend=part.start)
        return Answers(self.labels[first : last + 1], np.repeat(np.arange(len(here)), here))

    def counts(self) -> dict[Any, int]:
        """How many people give each answer; labels that are equal (1 and True) are one."""
        truth: dict[Any, int] = {}
        for label, number in zip(self.labels, self.numbers.tolist(), strict=True):
            truth[label] = truth.get(label, 0) + number
        return truth


def _piece_size(protocol: Protocol) -> int:
    """People at a time: one block, or so many that their reports weigh as much as the counts that are added up."""
    bits = sum(column.bits for column in protocol.layout)
    wanted = min(64 * prod(protocol.shape), LARGEST_PIECE)
    return protocol.block * max(1, wanted // (bits * protocol.block))


def _some_at_once(work: Callable[[slice], Counts], pieces: Iterator[slice], threads: int) -> Iterator[Counts]:
    """The results in order, never more of them waiting than there are threads."""
    if threads == 1:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(work, part) for part in islice(pieces, threads)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(work, part) for part in islice(pieces, 1)]


@contextmanager
def _heard(progress: bool | Heard, people: int) -> Iterator[Heard]:
    """Who is told about the progress: a function, a bar on a terminal, or nobody."""
    if not progress:
        yield lambda done, total: None
    elif callable(progress):
        yield progress
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        screen = Console(stderr=True)
        columns = (TextColumn("people"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
            task = bar.add_task("people", total=people)
            yield lambda done, total: bar.update(task, completed=done, total=total)
