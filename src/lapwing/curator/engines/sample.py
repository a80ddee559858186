"""A fair sample of each unit's rows: in each group R rows are kept, and every row has the same chance.

The rows of a unit in a group are sorted by their content and numbered r = 0 … n − 1. A salted hash of unit and group
draws an offset o from 0 … n − 1, and a row is kept if (r·R + o) mod n < R: systematic sampling. That keeps exactly
min(n, R) rows, each with probability min(1, R/n) over salts (curator.md, point 2).

One partition (the unit) and one order (group, content) serve every window. A group begins at its rank and ends at the
number of rows up to its last, so one sort is enough. Rows that agree in group and content are interchangeable. Where
counting in a window takes long, the number of rows comes from a join with the groups that have more than R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from lapwing.curator.engines.dialects import Dialect, cast, frame, when, whole
from lapwing.curator.engines.selection import Salt, Word, offset
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.statistics import LARGEST


@dataclass(frozen=True, slots=True)
class Order:
    """A column to sort by: NULL first, text by its bytes."""

    name: str
    kind: Kind | None = "integer"

    def sql(self, dialect: Dialect) -> exp.Expr:
        """The column in ORDER BY."""
        column: exp.Expr = exp.column(self.name)
        if self.kind is None or self.kind == "text":
            column = dialect.byte_order(column)
        return exp.Ordered(this=column, desc=False, nulls_first=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """At most `rows` rows of each unit in each of its groups, of which there are at most `groups`.

    `words` are what the offset is drawn by: the unit and the group, as numbers. Without `by_group` all rows of a unit
    are one group.
    """

    dialect: Dialect
    salt: Salt
    rows: int
    words: tuple[Word, ...]
    content: tuple[Order, ...]
    by_group: tuple[Order, ...] = ()
    groups: int = 1
    purpose: str = "offset"

    def of(self, source: exp.Query, columns: Sequence[str], shown: Sequence[exp.Expr], *, marked: bool) -> exp.Query:
        """What is `shown` of the rows that are kept, from those columns; `first` is true for one row of each group."""
        rows = self._drawn(self._placed(source, columns), [*columns, "r", "n"])
        first = [self._is_first().as_("first")] if marked else []
        return (
            exp.select(*shown, *first)
            .from_(rows.subquery("f", copy=False), copy=False)
            .where(self._is_kept(), copy=False)
        )

    def _placed(self, source: exp.Query, columns: Sequence[str]) -> exp.Query:
        """The rows with their number in their group, r, and the number of rows there, n."""
        by_join = bool(self.by_group) and self.dialect.counts_by_join
        ranked = self._ranked(source, columns, counted=not by_join)
        start = exp.column("group_start") if self.by_group else whole(1)
        place = exp.column("row_number") - start
        size = exp.column("group_number") if by_join else (exp.column("group_end") - start.copy() + whole(1)).as_("n")
        placed = exp.select(*map(exp.column, columns), place.as_("r"), size)
        placed = placed.from_(ranked.subquery("f", copy=False), copy=False)
        # r < 2^31 and R < 2^31, so r·R + o < 2^62 + 2^50; Spark's RANK and DENSE_RANK have 32 bits and wrap after that.
        placed = placed.where(exp.column("row_number") <= whole(LARGEST), copy=False)
        if self.by_group:
            placed = placed.where(exp.column("group_number") <= whole(self.groups), copy=False)
        return self._joined(placed, [*columns, "r"]) if by_join else placed

    def _ranked(self, source: exp.Query, columns: Sequence[str], *, counted: bool) -> exp.Query:
        """The rows with their number in the unit, that of their group, where it begins and, if `counted`, ends."""
        number, numbering = self.dialect.row_number()
        windows = [self._window(number, [*self.by_group, *self.content], numbering).as_("row_number")]
        if self.by_group:
            windows += [
                self._window(exp.Anonymous(this="DENSE_RANK"), self.by_group).as_("group_number"),
                self._window(exp.Anonymous(this="RANK"), self.by_group).as_("group_start"),
            ]
        if counted:  # up to the last row that is in the same place
            order, spec = (self.by_group, None) if self.by_group else (self.content, frame("ROWS", whole_unit=True))
            windows.append(self._window(exp.Count(this=exp.Star()), order, spec).as_("group_end"))
        return exp.select(*map(exp.column, columns), *windows).from_(source.subquery("f", copy=False), copy=False)

    def _joined(self, placed: exp.Query, columns: Sequence[str]) -> exp.Query:
        """The rows with the number of rows in their group, if that is more than R; otherwise R stands for it.

        Most groups are small, and then no window has to count: a group has more than R rows if it has one with r = R.
        """
        group = ("u", "group_number")
        size = (exp.Max(this=exp.column("r")) + whole(1)).as_("n")
        large = exp.select(*group, size).from_("placed").where(exp.column("r") >= whole(self.rows)).group_by(*group)
        known = exp.Coalesce(this=exp.column("n", table="l"), expressions=[whole(self.rows)])
        rows = exp.select(*(exp.column(name, table="f") for name in columns), known.as_("n")).from_("placed AS f")
        rows = rows.join(large.subquery("l", copy=False), using=group, join_type="left", copy=False)
        return rows.with_("placed", as_=placed, materialized=True, copy=False)

    def _drawn(self, rows: exp.Query, columns: Sequence[str]) -> exp.Query:
        """The rows with the offset of their group, o: NULL in groups that are kept whole, which need none."""
        for stage in offset(self.words, self.salt, self.purpose):
            drawn = when(exp.column("n") > whole(self.rows), stage)
            rows = exp.select(*map(exp.column, columns), drawn.as_("h")).from_(
                rows.subquery("f", copy=False), copy=False
            )
            rows = self.dialect.fenced(rows)
        on_round = exp.Paren(this=exp.Mod(this=exp.column("h"), expression=exp.column("n")))
        return exp.select(*map(exp.column, columns), on_round.as_("o")).from_(
            rows.subquery("f", copy=False), copy=False
        )

    def _place(self) -> exp.Expr:
        return exp.Paren(this=cast(exp.column("r"), "BIGINT") * whole(self.rows) + exp.column("o"))

    def _is_kept(self) -> exp.Expr:
        on_round = exp.Mod(this=self._place(), expression=exp.column("n")) < whole(self.rows)
        return exp.or_(exp.column("n") <= whole(self.rows), on_round)

    def _is_first(self) -> exp.Expr:
        """Whether a row that is kept is the first of its group: no number below r is kept."""
        few = exp.or_(exp.column("n") <= whole(self.rows), exp.column("o") < whole(self.rows))
        begins = exp.EQ(this=exp.column("r"), expression=whole(0))
        return exp.Case().when(few, begins).else_(self._place() < exp.column("n") + whole(self.rows))

    def _window(self, function: exp.Expr, order: Sequence[Order], spec: exp.WindowSpec | None = None) -> exp.Expr:
        """A function over the rows of a unit."""
        ordered = [term.sql(self.dialect) for term in order]
        return exp.Window(
            this=function,
            partition_by=[exp.column("u")],
            order=exp.Order(expressions=ordered) if ordered else None,
            spec=spec,
        )
