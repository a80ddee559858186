"""Two servers that add up shares and make the noise together: what to expect of it, and a program that does it.

Both servers see who sends shares, so the number of people is public, and a person is replaced by another one, not
removed. The noise is that of `lapwing.pair.joint_noise`, which has the law of discrete Laplace noise but for less than
a millionth; trials draw the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from string import Template
from typing import TYPE_CHECKING

from lapwing.mechanisms import Laplace
from lapwing.web.guide import with_curator
from lapwing.web.guide.expectations import MADE_UP, RANGE, Bar, Expectation, ages, number, share_of
from lapwing.web.guide.plan import Plan

if TYPE_CHECKING:
    from lapwing.noise import Entropy

WIDER = Fraction(1_000_001, 1_000_000)
"""Joint noise is so much wider than exact noise: the coins have finitely many digits, and epsilon is kept to."""
_RUNS = 20


def count(plan: Plan, entropy: Entropy) -> Expectation:
    """How many say yes: another person changes it by one, as one person more does."""
    return replace(with_curator.count(plan, entropy), mechanism="joint Laplace noise")


def histogram(plan: Plan, entropy: Entropy) -> Expectation:
    """How many are in each group: another person changes two of them."""
    outcome = with_curator.histogram(_replaced(plan), entropy)
    return replace(outcome, mechanism="joint Laplace noise on each count")


def mean(plan: Plan, entropy: Entropy) -> Expectation:
    """The mean of a number: only the sum needs noise."""
    noise = Laplace(epsilon=plan.part_epsilon, sensitivity=RANGE * plan.rows, on_grid=True)
    within = min(float(RANGE), float(noise.accuracy(0.95)) / plan.people)
    exact = float(ages(min(plan.people, MADE_UP)).mean())
    draws = [exact + float(noise.release(0, entropy)) / plan.people for _ in range(_RUNS)]
    shown = [min(max(value, 0.0), float(RANGE)) for value in draws]
    return Expectation(
        mechanism="joint Laplace noise on the sum",
        sentence=f"With 95 % confidence, the mean of numbers between 0 and {RANGE} is off by at most {number(within)}, "
        f"{share_of(within / RANGE, 'the range')}. The number of people is public and needs no noise.",
        error=within / RANGE,
        relative_to="the range",
        runs=_RUNS,
        kept=sum(abs(value - exact) <= within for value in shown),
        bars=(Bar("mean", exact, shown[0], within),),
        most=RANGE,
        axis="the range of the numbers",
    )


def table(plan: Plan, entropy: Entropy) -> Expectation:
    """Counts and sums of groups: another person changes those of two groups."""
    outcome = with_curator.table(_replaced(plan), entropy)
    return replace(outcome, mechanism="joint Laplace noise on the count and the sum of each group")


def _replaced(plan: Plan) -> Plan:
    """Who is replaced leaves one group and joins another: noise for one person more or less has half of epsilon."""
    return replace(plan, part_epsilon=plan.part_epsilon / 2)


WITH_TWO_SERVERS: dict[str, Callable[[Plan, Entropy], Expectation]] = {
    "count": count,
    "histogram": histogram,
    "top": histogram,
    "mean": mean,
    "table": table,
}


@dataclass(frozen=True, slots=True)
class Cells:
    """What a person sends: numbers with names, and the most that each can be."""

    names: tuple[str, ...]
    most: tuple[int, ...]
    changes: int
    """How many of them another person changes, each from nothing to the most or back."""
    people: str
    shown: str


CELLS = {
    "count": Cells(("smokers",), (1,), 1, "[[1], [0], [0]]", '"smokers:", totals["smokers"]'),
    "histogram": Cells(("bus", "bike", "car"), (1, 1, 1), 2, "[[1, 0, 0], [0, 0, 1], [0, 0, 1]]", "totals"),
    "top": Cells(("tea", "coffee"), (1, 1), 2, "[[1, 0], [0, 1], [0, 1]]", '"favourite:", max(totals, key=totals.get)'),
    "mean": Cells(("total age",), (100,), 1, "[[34], [51], [29]]", '"mean age:", totals["total age"] / len(people)'),
    "table": Cells(
        ("women", "age of women", "men", "age of men"),
        (1, 100, 1, 100),
        4,
        "[[1, 34, 0, 0], [0, 0, 1, 51], [1, 29, 0, 0]]",
        "totals",
    ),
}
_START = """import socket
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
from lapwing.noise import SYSTEM
from lapwing.pair.gates import Gates, opened_words  # needs pip install '.[pair]' in a copy of Lapwing
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link
from lapwing.pair.noise_shares import noise_words, triples_for
from lapwing.pair.transfers import Transfers


def server(place, connection, shares, noises):
    \"\"\"Runs at one organisation, which sees its shares, random messages, and the noisy sums.\"\"\"
    with connection:
        link = Link(place, connection)
        transfers = Transfers(link)
        gates = Gates(link, transfers.triples(sum(triples_for(noise, 1) for noise in noises)))
        joint = np.concatenate([noise_words(gates, transfers, noise, 1) for noise in noises])
        return opened_words(link, shares.sum(axis=0) + joint).view(np.int64).tolist()  # opened with noise in it


def noisy_sums(people, noises):
    \"\"\"Here both servers are threads. Nobody checks what people send or counts epsilon: lapwing pair does.\"\"\"
    rows = np.array(people, dtype=np.uint64)
    first = SYSTEM.words(rows.size, np.uint64).reshape(rows.shape)  # on each device: a random share for server A
    shares = [first, rows - first]  # and what is missing to the row, modulo 2^64, for server B
    with ThreadPoolExecutor(2) as pool:
        ends = enumerate(socket.socketpair())
        runs = [pool.submit(server, place, end, shares[place], noises) for place, end in ends]
        return runs[0].result()"""
_QUESTION = Template("""
# $title
names = $names
most, changes = $most, $changes  # the most of each number; how many of them another person changes
scales = [Fraction("$wider") * changes * each / Fraction("$epsilon") for each in most]
people = $people * $times  # made up; put your own here, one row of each person
totals = dict(zip(names, noisy_sums(people, [JointLaplace(scale) for scale in scales])))
print($shown)""")


def program(plan: Plan, titles: dict[str, str], epsilon: str, times: int) -> str:
    """What the plan says, as a program."""
    lines = [_START]
    for ask in plan.asks:
        cells = CELLS[ask]
        values = {
            "title": titles[ask],
            "names": "[" + ", ".join(f'"{name}"' for name in cells.names) + "]",
            "most": str([plan.rows * most for most in cells.most]),
            "changes": str(cells.changes),
            "wider": f"{float(WIDER):.6f}",
            "epsilon": epsilon,
            "people": cells.people,
            "times": str(times),
            "shown": cells.shown,
        }
        lines.append(_QUESTION.substitute(values))
    return "\n".join(lines)
