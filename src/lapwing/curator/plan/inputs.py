"""What the nodes of a plan take of each row, and of which kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lapwing.curator.plan.expressions import Column, Expression, Kind
from lapwing.errors import UnsupportedQuery

TRUTH: tuple[Kind | None, ...] = ("boolean", None)
"""What a condition is; NULL counts as not true."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a node takes of each row: an expression over these columns, of one of these kinds."""

    role: str
    expression: Expression
    kinds: tuple[Kind | None, ...]
    columns: Mapping[str, Column]
    declares: bool = False
    """Whether a column may have other bounds and keys here than below: what is declared about it."""

    def check(self) -> None:
        """Refuse another kind, which an engine would cast, row by row, and fail at some rows only."""
        if self.expression.kind in self.kinds:
            return
        shown, kind = str(self.expression), self.expression.kind
        if self.kinds == TRUTH:
            why = f"it is of kind {kind}, not a truth value"
            hint = "Write a comparison, or declare types={'…': 'boolean'} when you open the table."
        elif kind is None:
            why, hint = "NULL has no kind", "Name a column."
        else:
            why = f"it is of kind {kind}, and {self.role} is of kind {' or '.join(map(str, self.kinds))}"
            hint = "Declare types={'…': '…'} when you open the table."
        raise UnsupportedQuery(shown, why, hint)
