"""The breaker: a failure that may depend on rows always shows the same text, and alarms the owner.

Failures are told apart by *when* they happen. Before the first statement that reads rows, a failure depends on the
tables and not on the question, and is shown as it is. From then on a failure may be the answer to the question: an
engine may stumble over one row, one person's rows may fill the memory, our own code may fail at a strange value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from lapwing.curator.ask.columns import Reading
from lapwing.curator.engines.containment import written
from lapwing.errors import DatasetClosed, EngineFailed

if TYPE_CHECKING:
    from lapwing.curator.ask.context import Context

Result = TypeVar("Result")


_ONE_AT_A_TIME = threading.Lock()
"""Of several questions that end together, the first to fail is the only one that is seen to."""


@dataclass
class Fuse:
    """The breaker of a table without a ledger: it lasts as long as what `lw.open` gave."""

    dataset: str
    blown: bool = False


def admit(context: Context) -> None:
    """Refuse a question to data sets that failures have closed. With a ledger, its charge does that."""
    if context.ledger is None:
        for fuse in context.fuses:
            if fuse.blown:
                raise DatasetClosed(fuse.dataset, None, ledger=False)


def read(
    context: Context, look: Callable[[Reading], Result], *, analyst: str | None = None, charge: int | None = None
) -> Result:
    """What `look` finds in a session; `EngineFailed` and nothing else if anything fails once it has begun to read.

    The failure is on record before it is shown. A question that was under way when another one failed shows neither an
    answer nor a failure: here without a ledger, else where the answer is recorded (`Ledger.record`). Who interrupts a
    question (KeyboardInterrupt) learns how long it has been running, as by waiting: no failure.
    """
    reading: Reading | None = None
    try:
        with context.engine.session(context.relations.values()) as session:
            reading = Reading(session)
            result = look(reading)
    except Exception as error:
        began = reading is not None and reading.began
        if not began and not isinstance(error, EngineFailed):  # a frame that is taken in, a file that is copied: rows
            raise
        said = written(error)
    else:
        with _ONE_AT_A_TIME:
            admit(context)
        return result
    try:
        closed = _trip(context, said, analyst, charge)
    finally:
        del said  # some programs print the variables of a frame that an error went through
    raise closed or EngineFailed(context.engine.name)  # not above, where Python would attach what was caught


def fetch(
    context: Context, rows: Callable[[], Result], *, analyst: str | None = None, charge: int | None = None
) -> Result:
    """Rows that a cursor of somebody's brings; `EngineFailed`, on record, if it fails: perhaps at one of them."""
    try:
        return rows()
    except Exception as error:
        said = written(error)
    try:
        closed = _trip(context, said, analyst, charge)
    finally:
        del said
    raise closed or EngineFailed("the database")


def _trip(context: Context, said: str, analyst: str | None, charge: int | None) -> DatasetClosed | None:
    """Stop the analyst in every data set of the question; what to show instead of a failure, if not that.

    Where the ledger cannot be written, it says so as it would have for the answer, which is recorded as well.
    """
    with _ONE_AT_A_TIME:
        admit(context)
        for fuse in context.fuses:
            fuse.blown = True
    if context.ledger is not None:
        who = {} if analyst is None else {"analyst": analyst}
        return context.ledger.trip(context.datasets, said, charge=charge, **who)
    return None
