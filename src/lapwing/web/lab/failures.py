"""The breaker of a table in the lab: a question that fails after rows were read is recorded before anybody hears of it.

The curator has its own failures on record (`lapwing.curator.ask.breaker`). This is for what the lab does itself: rows
that it reads for a model, the fit, and every question that takes too long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lapwing.curator.engines.containment import written
from lapwing.errors import EngineFailed, EngineUnreachable
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.jobs import Cancelled, TooLong
from lapwing.web.lab.statement import DATASET

Found = TypeVar("Found")


def on_record(data: Data, look: Callable[[], Found], of: type[Exception] = Exception) -> Found:
    """What `look` finds; a failure of this kind trips the breaker of the table, durably, then it is `EngineFailed`.

    Once the table is closed, a job that was under way shows neither what it found nor that it failed. A job that its
    owner stops is no failure (decision 019), nor is a database that cannot be opened: no row was read.
    Teaching mode, which counts nothing and promises nothing, has no breaker.
    """
    try:
        result = look()
    except of as error:
        stopped = isinstance(error, Cancelled) and not isinstance(error, TooLong)
        if data.ledger is None or stopped or isinstance(error, EngineUnreachable):
            raise
        said = str(error) if isinstance(error, TooLong) else written(error)
    else:
        if data.ledger is not None:
            data.ledger.admit([DATASET])
        return result
    try:
        closed = data.ledger.trip([DATASET], said)
    finally:
        del said  # some programs print the variables of a frame that an error went through
    raise closed or EngineFailed("DuckDB")  # not above, where Python would attach what was caught
