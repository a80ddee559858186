"""Rows as arrays, for what the owner computes outside of the curator: a model that pays for itself, a local protocol.

**Not private.** The owner holds the file and can read it anyway. Rows are read by the rules of questions: a cell that
is no number where one is declared is missing, whatever it says. No error quotes a cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from lapwing import checks
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.hints import unseen, which_column
from lapwing.curator.plan.multiplicity import AtMost
from lapwing.curator.plan.narrowing import is_simple
from lapwing.curator.plan.nodes import Select, is_each_row
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, permutation

if TYPE_CHECKING:
    from lapwing.curator.plan.expressions import Kind
    from lapwing.curator.tables.table import PrivateTable


def raw_rows(
    table: PrivateTable,
    columns: Sequence[str],
    *,
    text: Sequence[str] = (),
    per_unit: int | None = 1,
    most: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Columns of a table as arrays of the same length. `PrivateTable.raw_rows` says the rest."""
    table.context.releaser.refuse_step("raw_rows")
    wanted = _names(table, columns)
    if table.context.analyst is not None:
        why = "these are records, and this table was opened for an analyst"
        raise InvalidParameter("analyst", table.context.analyst, why, "Let the owner open it, without analyst=.")
    if not is_simple(table.plan):
        why = "rows are read from one table"
        raise InvalidParameter("table", table.plan.explain(), why, "Take the table that lw.open returned.")
    with unseen(wanted, text=text):
        for name in _given("text", text):
            if name not in wanted:
                hint = f"Write one of: {', '.join(wanted)}."
                raise InvalidParameter("text", name, "is not one of the columns to read", hint)
    if per_unit is not None:
        checks.whole(per_unit=per_unit)
    if most is not None:
        checks.whole(most=most)
    plan: Any = Select(table.plan, tuple((name, table.plan.by_name[name]) for name in wanted))
    if per_unit is not None and not is_each_row(table.plan):
        plan = AtMost(plan, per_unit)
    context, salt = table.context, Salt(SYSTEM.bits(256).to_bytes(32, "big"))
    compiler = Compiler(context.engine.dialect, context.relations, salt=salt)
    cells = [exp.column(f"c{i}") for i in range(len(wanted))]
    with context.engine.session(context.relations.values()) as session:
        rows = session.fetch(exp.select(*cells).from_(compiler.rows(plan).subquery("r", copy=False), copy=False))
    if most is not None and len(rows) > most:
        rows = [rows[place] for place in permutation(len(rows))[:most]]
    kinds = {column.name: column.kind for column in plan.columns}
    return {
        name: _array([row[i] for row in rows], "text" if name in text else kinds[name]) for i, name in enumerate(wanted)
    }


def _names(table: PrivateTable, columns: Sequence[str]) -> list[str]:
    given = _given("columns", columns)
    with unseen(table.columns, columns=columns):
        for name in given:
            if name not in table.columns:
                raise InvalidParameter("columns", name, "is not in this table", which_column(name, table.columns))
    return list(dict.fromkeys(given))


def _given(name: str, columns: Any) -> list[str]:
    """Names of columns as a list."""
    given = [columns] if isinstance(columns, str) else columns
    if not isinstance(given, Iterable) or not all(isinstance(each, str) for each in given):
        raise InvalidParameter(name, columns, "must be a list of columns", f"Write {name}=['age', 'region'].")
    return list(given)


def _array(values: list[Any], kind: Kind) -> NDArray[Any]:
    if kind in ("integer", "number"):
        return np.array([np.nan if value is None else float(value) for value in values], dtype=float)
    cells = np.empty(len(values), dtype=object)
    cells[:] = [_written(value) for value in values] if kind == "text" else values
    return cells


def _written(value: Any) -> str | None:
    """A value as keys and classes are written: true, 12, 2026-02-28."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
