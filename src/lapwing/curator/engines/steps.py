"""Long expressions in steps: a part that stands in several places is a column of an inner SELECT, computed once.

A grid mentions an expression several times to clamp it, and an expression its own parts. Written out, that multiplies:
Spark planned a logarithm of 14 pieces for 15 seconds. Expressions are total on every row, so a part may be computed
even where a CASE would not have reached it (curator.md, point 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lapwing.curator.plan.expressions import Call, Column, Expression

LONG = 100
"""Parts of an expression, written out: shorter ones are left as they are."""
_SHORT = 4
"""Parts that are not worth a column."""


@dataclass(slots=True)
class Steps:
    """Columns to compute one step after the other, each over those of the steps before."""

    levels: list[list[tuple[str, Expression]]] = field(default_factory=list)
    _uses: Counter[int] = field(default_factory=Counter)
    _known: dict[int, tuple[Expression, int]] = field(default_factory=dict)

    def over(self, expression: Expression) -> Expression:
        """An expression over these columns, which are found on the way; a short one as it is."""
        if not isinstance(expression, Call) or expression.length <= LONG:
            return expression
        self._count(expression)
        self._uses[id(expression)] += 1  # a grid mentions it several times
        return self._placed(expression)[0]

    def _count(self, expression: Expression) -> None:
        self._uses[id(expression)] += 1
        if isinstance(expression, Call) and self._uses[id(expression)] == 1:
            for argument in expression.arguments:
                self._count(argument)

    def _placed(self, expression: Expression) -> tuple[Expression, int]:
        """What stands for an expression, and how many steps come before it."""
        if not isinstance(expression, Call):
            return expression, 0
        if id(expression) not in self._known:
            parts = [self._placed(argument) for argument in expression.arguments]
            level = max((before for _, before in parts), default=0)
            replacement: Expression = replace(expression, arguments=tuple(part for part, _ in parts))
            if self._uses[id(expression)] > 1 and expression.length > _SHORT:
                replacement, level = self._column(replacement, expression, level), level + 1
            self._known[id(expression)] = replacement, level
        return self._known[id(expression)]

    def _column(self, replacement: Expression, expression: Call, level: int) -> Column:
        if level == len(self.levels):
            self.levels.append([])
        number = sum(map(len, self.levels))
        column = Column(f"\0{number}", expression.kind)  # no column of a table is called so
        self.levels[level].append((column.name, replacement))
        return column


def in_steps(expressions: Sequence[Expression]) -> tuple[list[Expression], list[list[tuple[str, Expression]]]]:
    """The expressions over columns of inner steps, and these steps: names, and what they are computed from."""
    steps = Steps()
    return [steps.over(expression) for expression in expressions], steps.levels
