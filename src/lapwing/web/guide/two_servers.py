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
from lapwing.web.guide.expectations import MADE_UP, RANGE, Bar, Expectation, ages, number, share_of, typical
from lapwing.web.guide.plan import Plan

if TYPE_CHECKING:
    from lapwing.noise import Entropy

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
        bars=(Bar("mean", exact, typical(shown, exact), within),),
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
class Ask:
    """A question to both servers, and the columns that it is about."""

    columns: tuple[str, ...]
    sql: str
    after: str = ""
    """A line that makes more of the answer."""


COLUMNS = {
    "smoker": ('{"values": [False, True]}', ("True", "False", "False")),
    "travels_by": ('{"values": ["bus", "bike", "car"]}', ('"bus"', '"car"', '"car"')),
    "drinks": ('{"values": ["tea", "coffee", "water"]}', ('"tea"', '"coffee"', '"coffee"')),
    "sex": ('{"values": ["female", "male"]}', ('"female"', '"male"', '"female"')),
    "age": ('{"bounds": [0, 100]}', ("34", "51", "29")),
}
"""What is public about each column, and what three made-up people have in it."""
ASKS = {
    "count": Ask(("smoker",), "SELECT COUNT(*) AS smokers FROM people WHERE smoker"),
    "histogram": Ask(("travels_by",), "SELECT travels_by, COUNT(*) AS people FROM people GROUP BY travels_by"),
    "top": Ask(
        ("drinks",), "SELECT drinks, COUNT(*) AS people FROM people GROUP BY drinks ORDER BY people DESC LIMIT 1"
    ),
    "mean": Ask(
        ("age",),
        "SELECT SUM(age) AS years FROM people",
        'print("mean age:", answer.value / len(people))  # the number of people is public',
    ),
    "table": Ask(("sex", "age"), "SELECT sex, COUNT(*) AS people, SUM(age) AS years FROM people GROUP BY sex"),
}
_START = Template("""from pathlib import Path

from lapwing import pair  # needs pip install '.[pair]' in a copy of Lapwing

# Made-up people. Put your own here: one row of each person.
people = [
    $people,
] * $times
folder = Path("people-pair")  # the file of the pair, both ledgers, and a folder for each server
is_new = not folder.exists()
if is_new:
    pair.make(
        folder,
        name="people",
        columns={  # public, never read from the data
            $columns,
        },
        owners=len(people),
        epsilon=$allowance,  # for all questions to this pair: each server has a ledger, and refuses more
        addresses=pair.free_addresses(),
    )
codes = (folder / "codes.txt").read_text().split()  # one for each person; keep them from both servers

# Here both servers run on this machine, which sees everything. In a real study, two organisations each make a key
# (lapwing pair key) and each run lapwing pair serve. $again
with pair.local_servers(folder):
    client = pair.Client(pair.Deployment.read(folder))
    if is_new:  # a server checks each row without seeing it
        client.upload_all(zip(codes, people))  # in a real study, on each device: client.upload(code, row)
    table = pair.open(folder, key=folder / "analyst.pem")
    # A question has a key of its own. Asked again under it, it has the same answer, and costs nothing more.
""")
_QUESTION = Template("""
    # $title
    query = table.query("$sql")
    answer = query.release(epsilon=$epsilon, key="$ask")
    print(answer)""")
_END = """
    for server, state in client.status().items():
        print(server, "has taken in", state["rows"], "rows and refused", state["refused"])"""


def program(plan: Plan, titles: dict[str, str], times: int) -> str:
    """What the plan says, as a program. One pair is for one release, since rows that were taken in stay as they are."""
    names = [name for name in COLUMNS if any(name in ASKS[ask].columns for ask in plan.asks)]
    rows = zip(*(COLUMNS[name][1] for name in names), strict=True)
    again = (
        f"New rows need a new folder:\n# {plan.releases} such releases cost ε = {_written(plan.epsilon)} together."
        if plan.releases > 1
        else "New rows need a new folder,\n# and cost as much again."
    )
    start = {
        "people": ",\n    ".join(
            "{" + ", ".join(f'"{name}": {value}' for name, value in zip(names, row, strict=True)) + "}" for row in rows
        ),
        "columns": ",\n            ".join(f'"{name}": {COLUMNS[name][0]}' for name in names),
        "allowance": _written(len(plan.asks) * plan.part_epsilon),
        "times": str(times),
        "again": again,
    }
    lines = [_START.substitute(start).rstrip("\n")]
    for ask in plan.asks:
        values = {"title": titles[ask], "sql": ASKS[ask].sql, "epsilon": _written(plan.part_epsilon), "ask": ask}
        lines.append(_QUESTION.substitute(values))
        if ASKS[ask].after:
            lines.append(f"    {ASKS[ask].after}")
    return "\n".join([*lines, _END])


def _written(value: Fraction) -> str:
    """As Python reads it back; parts have four digits, and sums of a few parts five."""
    return f"{float(value):.9g}"
