"""How much of an engine's memory one unit can take up: at most `ROOM` bytes, whatever its rows are.

An engine that runs out of memory at the rows of one person reveals something about that person. The analyst decides how
often a table is read, how many columns are computed from a row and how many rows a join makes of one. So all of that is
limited before anything is charged: few reads, few columns, text of a public length (`narrowing`), and fewer rows of a
unit in a join (`multiplicity`) if they are wide. The question alone decides this. Proof: curator.md, point 1
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from lapwing.curator.ask.question import Question
from lapwing.curator.plan import multiplicity
from lapwing.curator.plan.narrowing import DISTINCT, NARROW, bytes_of, distinct_totals, held, label_bytes
from lapwing.curator.plan.nodes import Plan, scans
from lapwing.curator.plan.text_forms import LONGEST_KEY
from lapwing.errors import UnsupportedQuery

ROOM = 1 << 28
"""Bytes for the rows that joins make of one unit."""
READS = 32
"""Private tables in one plan, each as often as it is read."""
OUTPUTS = 100
"""Aggregates, and numbers of each row that they need."""
DIFFERENT = 16
"""Numbers of different values: for each of them an engine remembers the values."""
KEYS = 16
COLUMNS = 500
"""Columns of a row that is held: PostgreSQL has at most 1,600 in a row, and a join has those of both sides."""


def check_reads(*plans: Plan) -> None:
    """Plans double with every name that is used twice: stop before a short text becomes an endless statement."""
    left = READS
    for plan in plans:
        left -= sum(1 for _ in islice(scans(plan), left + 1))
        if left < 0:
            raise UnsupportedQuery("FROM …", f"private tables are read more than {READS} times", "Join fewer of them.")


def check(query: Question) -> None:
    """Refuse a question of which one row of one unit could need more than there is room for."""
    check_reads(query.plan)
    values, others = query.contents
    different = len(others) + distinct_totals(query.plan)
    _few(len(query.aggregates), OUTPUTS, "columns are asked for")
    _few(len(values) + len(others), OUTPUTS, "numbers of every row are needed")
    _few(different, DIFFERENT, "numbers of different values are asked for")
    _few(len(query.grouping.keys), KEYS, "columns are grouped by")
    plan = query.narrow
    most = max((columns for columns, _ in held(plan)), default=0)
    _few(most, COLUMNS, "columns are joined, compared or grouped by unit")
    rows = joined_rows(query)
    if rows < 1:
        why = f"rows of {row_bytes(query):,} bytes are too wide to be joined"
        raise UnsupportedQuery("the question", why, "Select the columns that you need before you join, or fewer.")
    multiplicity.check_joins(plan, rows)


def _few(number: int, most: int, what: str) -> None:
    if number > most:
        hint = "Ask several questions, or leave some out."
        raise UnsupportedQuery("the question", f"{number:,} {what}, and {most:,} is the most", hint)


def row_bytes(query: Question) -> int:
    """How wide a row of one unit can be, wherever it is held."""
    values, others = query.contents
    label, keys = label_bytes(query.plan), NARROW
    if query.grouping.secret:
        keys = sum(bytes_of(key.expression.kind, LONGEST_KEY) for key in query.grouping.keys)
    # The values of each column are told apart within each group.
    counted = keys + label + NARROW * len(values) + len(others) * (DISTINCT + keys)
    return max([counted, *(bytes_ for _, bytes_ in held(query.narrow))])


def joined_rows(query: Question) -> int:
    """How many rows of a unit a chain of joins may make; several chains share the room."""
    room = ROOM // max(1, multiplicity.chains(query.plan))
    return min(multiplicity.LARGEST_JOIN, room // row_bytes(query))


def limited(query: Question) -> Any:
    """The plan of a question as engines get it."""
    return multiplicity.limited(query.narrow, joined_rows(query))
