"""A report for the owner of a table, before anybody asks: how well its cells fit what was declared about them.

**Not private.** A check reads the records and shows some of them. It is for the owner, who may see them anyway. It
spends nothing and writes nothing, and its output must not reach an analyst.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.engines.compiler import Compiler, constant
from lapwing.curator.engines.dialects import cast, double, when, whole
from lapwing.curator.engines.encodings import is_packed
from lapwing.curator.plan.expressions import Column, Constant, Kind, clamp
from lapwing.curator.plan.hints import NO_VALUE, which_column
from lapwing.curator.plan.limits import LONGEST_EXAMPLE, Frequencies, Limit, Means, percent, trade_off
from lapwing.curator.plan.nodes import Plan, Scan, is_each_row
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from lapwing.curator.engines.compiler import Relation
    from lapwing.curator.engines.engine import Engine, Session
    from lapwing.curator.tables.table import PrivateTable

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Example:
    """A cell as it is written, and how often."""

    text: str
    cells: int


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """One column of a check: what was declared, and how many cells fit that. It is for the owner only.

    Attributes:
        name: The name of the column.
        kind: The declared kind of its cells, such as "integer" or "text".
        is_unit: Whether it says whose row this is.
        bounds: The declared bounds, if any.
        keys: How many keys were declared; None if none were.
        rows: How many rows the table has.
        below: Cells below the bounds: each counts as the lower bound.

    >>> column = patients.check()["age"]
    >>> column.bounds, column.unread, column.below + column.above
    ((0.0, 100.0), 0, 0)
    """

    name: str
    kind: Kind
    is_unit: bool
    bounds: tuple[float, float] | None
    keys: int | None
    rows: int
    absent: int
    """Cells without content."""
    unread: int
    """Cells with content that is not of the declared kind: each counts as absent."""
    below: int
    above: int
    """Cells above the bounds: each counts as the upper bound."""
    elsewhere: int
    """Cells with another value than the declared keys."""
    examples: tuple[Example, ...]
    """The most frequent cells that were not read."""
    others: tuple[Example, ...]
    """The most frequent values that are no declared key."""
    words: tuple[Example, ...] = ()
    """Text that often stands for no value, such as NA or a space, and counts as text all the same."""

    @property
    def read(self) -> int:
        """Cells that are of the declared kind."""
        return self.rows - self.absent - self.unread


@dataclass(frozen=True, slots=True)
class PerUnit:
    """How much of the table belongs to one unit, and what a limit on it would do. It is for the owner only.

    Attributes:
        frequencies: How many units have 1, 2, … rows or groups.
        limits: What some limits would do: rows that are left out, and noise.
        recommended: The limit with the smallest error of both kinds together.

    >>> rows = patients.check().per_unit[0]
    >>> rows.what, rows.keyword, rows.recommended
    ('rows', 'max_rows_per_unit', 1)
    """

    what: str
    """"rows", or the column whose groups were counted."""
    keyword: str
    """The limit of `lw.open` that this is about."""
    frequencies: Frequencies
    limits: tuple[Limit, ...]
    recommended: int


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """What `PrivateTable.check` reports. Not private: it is for the owner of the data only.

    Attributes:
        table: The name of the table.
        rows: How many rows it has.
        rows_without_unit: Rows that name nobody. They never count.
        duplicates: Rows that repeat another one in every column.
        epsilon: What a question would spend, for the recommended limits.
        columns: What was found in each column.
        per_unit: How many rows and groups units have, and what limits on them would do.
        hints: What the owner may want to change.

    >>> check = patients.check(epsilon=0.5)
    >>> check.rows, check.units, check["age"].unread
    (3000, 3000, 0)
    """

    table: str
    unit: str | None
    """None if every row is a unit of its own."""
    rows: int
    rows_without_unit: int
    duplicates: int
    epsilon: float
    columns: tuple[ColumnCheck, ...]
    per_unit: tuple[PerUnit, ...]
    hints: tuple[str, ...]

    def __getitem__(self, column: str) -> ColumnCheck:
        """What was found in one column."""
        for entry in self.columns:
            if entry.name == column:
                return entry
        known = [entry.name for entry in self.columns]
        raise InvalidParameter("column", column, "was not checked", which_column(column, known))

    @property
    def units(self) -> int | None:
        """How many units have rows."""
        return self.per_unit[0].frequencies.units if self.per_unit else None

    def __str__(self) -> str:
        from lapwing.curator.show import check as show_check
        from lapwing.curator.show import terminal as show

        return show.plain(show_check.check(self))

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> RenderableType:
        from lapwing.curator.show import check as show_check

        return show_check.check(self)

    def _repr_html_(self) -> str:
        from lapwing.curator.show import check as show_check

        return show_check.html(self)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw what limits per unit cost: lost rows against noise.

        Args:
            path: The file to draw into. None means that the figure is only returned.

        Returns:
            The figure.

        >>> import tempfile
        >>> figure = patients.check().plot(tempfile.mkdtemp() + "/limits.png")
        """
        from lapwing.curator.show import check as show_check

        return show_check.draw(self, path)


@helpful
def check(table: PrivateTable, *, epsilon: Number = 1) -> Check:
    """Compare a table with what was declared about it. Not private: for the owner only; nothing is spent or written.

    `epsilon` is what a question would spend: the recommended limits balance lost rows against its noise.
    """
    table.context.releaser.refuse_step("check")
    if table.context.analyst is not None:
        why = "a check shows records, and this table was opened for an analyst"
        raise InvalidParameter("analyst", table.context.analyst, why, "Let the owner open it, without analyst=.")
    if not isinstance(table.plan, Scan):
        why = "a check compares a table with its declarations"
        raise InvalidParameter("table", table.plan.explain(), why, "Check the table that lw.open returned.")
    size = float(checks.positive(epsilon=epsilon))
    context = table.context
    relation, texts = _with_texts(context.engine, context.relations[table.plan.table])
    with context.engine.session([relation]) as session:
        look = _Look(Compiler(context.engine.dialect, {table.plan.table: relation}), table.plan, session, texts)
        rows, columns = look.columns()
        distinct = look.distinct_rows()
        unit = None if is_each_row(table.plan) else context.unit
        per_unit = () if unit is None else tuple(look.per_unit(size))
    hints = _hints(table.plan, columns, per_unit, table.bounding.rows, table.bounding.max_groups_per_unit)
    hints = (*_unreadable(relation.table), *hints, *_worded(columns, relation.notation.missing))
    labelled = next((column.read for column in columns if column.is_unit), rows)
    return Check(table.plan.table, unit, rows, rows - labelled, labelled - distinct, size, columns, per_unit, hints)


def _with_texts(engine: Engine, relation: Relation) -> tuple[Relation, Mapping[str, str]]:
    """The table, and the columns that hold the text of others, where those are read from Python objects."""
    from lapwing.curator.engines import duckdb

    return duckdb.with_texts(engine, relation) if isinstance(engine, duckdb.EmbeddedDuckDB) else (relation, {})


@dataclass(frozen=True, slots=True)
class _Look:
    """The statements of a check."""

    compiler: Compiler
    plan: Scan
    session: Session
    texts: Mapping[str, str]

    def columns(self) -> tuple[int, tuple[ColumnCheck, ...]]:
        """The number of rows, and every column."""
        parts = [_Cells(self.compiler, self.plan, field, self.texts) for field in self.plan.fields]
        counts = [exp.Count(this=exp.Star()).as_("n")]
        for i, cells in enumerate(parts):
            for j, condition in enumerate(cells.conditions):
                counted: exp.Expr = whole(0) if condition is None else exp.Count(this=when(condition, whole(1)))
                counts.append(counted.as_(f"n{i}_{j}"))
        [[rows, *numbers]] = self.session.fetch(exp.select(*counts).from_(self._table()))
        column_checks = []
        for i, cells in enumerate(parts):
            absent, unread, below, above, elsewhere, worded = map(int, numbers[6 * i : 6 * i + 6])
            examples = self._examples(cells.written, cells.unread) if unread else ()
            others = self._examples(cells.written, cells.elsewhere) if elsewhere else ()
            words = self._examples(cells.trimmed, cells.worded, len(NO_VALUE)) if worded else ()
            field = cells.field
            ends = None if field.bounds is None else (float(field.bounds[0]), float(field.bounds[1]))
            keys = None if field.keys is None else len(field.keys)
            column_checks.append(
                ColumnCheck(
                    field.name, field.kind, field.unit, ends, keys, int(rows), absent, unread, below, above, elsewhere,
                    examples, others, words,
                )
            )  # fmt: skip
        return int(rows), tuple(column_checks)

    def distinct_rows(self) -> int:
        """How many different rows there are among those with a unit."""
        columns = [exp.column(f"c{i}") for i in range(len(self.plan.columns))]
        different = exp.select(*columns).from_(self._rows()).distinct()
        [[number]] = self.session.fetch(exp.select(exp.Count(this=exp.Star())).from_(different.subquery("d")))
        return int(number)

    def per_unit(self, epsilon: float) -> Iterable[PerUnit]:
        """Rows per unit, and groups per unit for each column with keys; the rows are read once."""
        numbers = [(i, field) for i, field in enumerate(self.plan.fields) if field.bounds is not None]
        keyed = [(i, field) for i, field in enumerate(self.plan.fields) if field.keys is not None and not field.unit]
        outputs: list[exp.Expr] = [exp.Count(this=exp.Star()).as_("n")]
        for i, field in numbers:
            value = cast(self.compiler.expression(clamp(field), {field.name: exp.column(f"c{i}")}), "DOUBLE")
            outputs.append(exp.Count(this=value.copy()).as_(f"n{i}"))
            outputs.append(exp.func("AVG", value.copy()).as_(f"m{i}"))
            spread = exp.func("VAR_SAMP", value)
            outputs.append(exp.Coalesce(this=spread, expressions=[double(0.0)]).as_(f"v{i}"))
        for i, field in keyed:
            known = when(_among(exp.column(f"c{i}"), field), exp.column(f"c{i}"))
            outputs.append(exp.Count(this=exp.Distinct(expressions=[known])).as_(f"g{i}"))
        units = self.session.keep(exp.select(*outputs).from_(self._rows()).group_by("u"))
        rows = self._frequencies(units, "n")
        limits, best = trade_off(rows, epsilon, means=[self._means(units, i, field.name) for i, field in numbers])
        yield PerUnit("rows", "max_rows_per_unit", rows, limits, best)
        for i, field in keyed:
            groups, size = self._frequencies(units, f"g{i}"), len(field.keys or ())
            limits, best = trade_off(groups, epsilon, groups=size)
            yield PerUnit(field.name, "max_groups_per_unit", groups, limits, min(best, size))

    def _frequencies(self, units: exp.Table, counted: str) -> Frequencies:
        """How many units have how many of something."""
        query = exp.select(counted, exp.Count(this=exp.Star()).as_("units")).from_(units.copy()).group_by(counted)
        return Frequencies({int(n): int(units) for n, units in self.session.fetch(query) if n})

    def _means(self, units: exp.Table, place: int, name: str) -> Means:
        """Of one column, by the number of values of a unit: units, and the sums of their means and variances."""
        counted = exp.column(f"n{place}")
        sums = [exp.Sum(this=exp.column(f"{letter}{place}")).as_(f"s{letter}") for letter in ("m", "v")]
        query = exp.select(counted, exp.Count(this=exp.Star()).as_("units"), *sums).from_(units.copy())
        rows = self.session.fetch(query.group_by(counted.copy()))
        return Means(name, tuple((int(n), int(units), float(m), float(v)) for n, units, m, v in rows if n))

    def _examples(self, written: exp.Expr, condition: exp.Expr | None, most: int = EXAMPLES) -> tuple[Example, ...]:
        """The most frequent cells for which something holds."""
        assert condition is not None
        cut = exp.func("LEFT", written.copy(), exp.Literal.number(LONGEST_EXAMPLE + 1)).as_("cell")
        cells = exp.select(cut).from_(self._table()).where(condition.copy())
        query = exp.select("cell", exp.Count(this=exp.Star()).as_("n")).from_(cells.subquery("e")).group_by("cell")
        ordered = query.order_by(exp.column("n").desc(), "cell").limit(most)
        return tuple(Example(str(text), int(count)) for text, count in self.session.fetch(ordered))

    def _table(self) -> exp.Expr:
        return exp.alias_(self.compiler.relations[self.plan.table].table.copy(), "s", table=True)

    def _rows(self) -> exp.Subquery:
        return self.compiler.rows(self.plan).subquery("r", copy=False)


class _Cells:
    """Conditions on the cells of one column."""

    def __init__(self, compiler: Compiler, plan: Scan, field: Column, texts: Mapping[str, str]) -> None:
        relation, dialect = compiler.relations[plan.table], compiler.dialect
        name = texts.get(field.name, field.name)
        declared = relation.types[name]
        raw = exp.column(exp.to_identifier(name, quoted=True), table="s")
        value = compiler.cell(plan, field)
        is_text = dialect.is_text(declared)
        text = dialect.text(raw.copy(), declared) if is_text else cast(raw.copy(), "TEXT")
        present = _not_null(raw)
        if is_text and field.kind != "text":
            present = exp.and_(present, exp.NEQ(this=exp.Trim(this=text.copy()), expression=exp.Literal.string("")))
        if is_text and relation.notation.missing:  # where a word is read as a number, it is one
            other = _not_null(exp.Paren(this=dialect.present(text.copy(), relation.notation.missing)))
            present = exp.and_(present, exp.Paren(this=exp.or_(other, _not_null(exp.Paren(this=value.copy())))))
        self.field, self.written, self.trimmed = field, text, dialect.trimmed(text.copy())
        self.absent: exp.Expr = exp.not_(exp.Paren(this=present.copy()))
        self.unread: exp.Expr = exp.and_(present, exp.Is(this=exp.Paren(this=value.copy()), expression=exp.null()))
        self.below: exp.Expr | None = None
        self.above: exp.Expr | None = None
        self.elsewhere: exp.Expr | None = None
        self.worded: exp.Expr | None = None
        words = [exp.Literal.string(word) for word in NO_VALUE if word not in (field.keys or ())]
        if is_text and field.kind == "text":
            self.worded = exp.and_(_not_null(exp.Paren(this=value.copy())), self.trimmed.copy().isin(*words))
        if field.bounds is not None:
            low, high = (double(float(end)) for end in field.bounds)
            number = cast(value.copy(), "DOUBLE")
            self.below, self.above = number < low, number.copy() > high
        if field.keys is not None:
            self.elsewhere = exp.and_(_not_null(exp.Paren(this=value)), exp.not_(_among(value, field)))

    @property
    def conditions(self) -> tuple[exp.Expr | None, ...]:
        """In the order in which they are counted."""
        return self.absent, self.unread, self.below, self.above, self.elsewhere, self.worded


def _among(value: exp.Expr, field: Column) -> exp.Expr:
    """Whether a value is a declared key."""
    known = [constant(Constant(key, field.kind)) for key in field.keys or () if key is not None]
    return exp.Paren(this=exp.In(this=value.copy(), expressions=known)) if known else exp.false()


def _not_null(value: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=value.copy(), expression=exp.null()))


def _unreadable(table: exp.Expr) -> Iterable[str]:
    """Say how many lines of a CSV are no UTF-8: their records are left out wherever that text is read."""
    read = table.find(exp.Anonymous)
    if read is None or read.name != "read_csv":
        return
    path = re.sub(r"\[([*?[])\]", r"\1", read.expressions[0].name)  # the file, not a pattern for it
    opener: Any = gzip.open if is_packed(Path(path)) else open
    with opener(path, "rb") as file:
        lines = sum(not _is_utf8(line) for line in file)
    if lines:
        why = "A question that reads such text leaves the record out"
        instead = "Open it with encoding='windows-1252' or encoding='latin-1' if it is that, or save it as UTF-8"
        yield f"Lines that are not UTF-8 (Latin-1, perhaps): {lines:,}. {why}. {instead}."


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _hints(
    plan: Plan, columns: Sequence[ColumnCheck], per_unit: Sequence[PerUnit], rows: int, groups: int
) -> Iterable[str]:
    """What to change, in order of importance."""
    separators = {";": "a semicolon", "\t": "a tab", "|": "a bar"}
    for column in columns:
        sign = next((sign for sign in separators if sign in column.name), None)
        if sign is not None and len(plan.columns) == 1:
            yield f"The file seems to be separated by {separators[sign]}: open it with delimiter={sign!r}."
    for column in columns:
        cells = column.rows - column.absent
        if cells and column.unread == cells:
            yield f"No cell of {column.name} could be read as {column.kind}: declare another type."
        if column.below + column.above > column.read / 20:
            yield f"More than 5 % of {column.name} lie beyond its bounds: wider bounds would bias less."
        if column.elsewhere > column.read / 20:
            yield f"More than 5 % of {column.name} are not among its keys: declare more keys, or use everything_else."
    given: Mapping[str, int] = {"max_rows_per_unit": rows, "max_groups_per_unit": groups}
    for part in per_unit:
        kept = part.frequencies.kept(given[part.keyword])
        if kept < part.frequencies.total / 2 and part.recommended > given[part.keyword]:
            what = "rows" if part.what == "rows" else f"pairs of a unit and a {part.what}"
            share = percent(kept, part.frequencies.total)
            yield f"With {part.keyword}={given[part.keyword]} only {share} of all {what} count: see the table below."


def _worded(columns: Sequence[ColumnCheck], missing: Sequence[str]) -> Iterable[str]:
    """Say how often text columns have words for no value, and what they count as; first of the unit."""
    for is_unit, counted in ((True, "All rows with the same word belong to one unit"), (False, "They count as text")):
        worded = [column for column in columns if column.words and column.is_unit == is_unit]
        words = list(dict.fromkeys(example.text for column in worded for example in column.words))
        listed = " or ".join(repr(word) if word else "spaces" for word in words)
        cells = ", ".join(f"{sum(word.cells for word in column.words):,} of {column.name}" for column in worded)
        instead = f"If no value is meant, open it with missing={[*missing, *words]}"
        if worded:
            yield f"Cells that are {listed}: {cells}. {counted}. {instead}."
