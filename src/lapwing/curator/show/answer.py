"""The answer of a release: values, intervals, the cost, and how it was computed.

An `Answer` is public. Everything in it was paid for, so any use of it is post-processing and costs nothing.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

from lapwing import checks
from lapwing.curator.aggregates import BY_KIND
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.privacy.explanation import Explanation
from lapwing.privacy.losses import Loss, as_loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, RenderableType

    from lapwing.curator.show.statement import Statement
    from lapwing.privacy import Ledger

Type = Literal["boolean", "integer", "number", "text", "date", "timestamp"]
Span = tuple[float, float]
Spans = tuple[Span | None, ...]

_PLAIN = (bool, int, float, str, dt.datetime, dt.date, type(None))
_TYPES: tuple[tuple[type, Type], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "text"),
    (dt.datetime, "timestamp"),
    (dt.date, "date"),
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer: a key ("key") or an aggregate ("count", "sum", "mean", "quantile", …).

    Attributes:
        name: Its name in the answer.
        kind: "key", or the aggregate.
        values: One for each row. None is a value without an answer.
        noise: For each row, where the exact, clamped and bounded answer lies, at the answer's confidence.
        interval: For each row, where the population's value lies, sampling included; None where that is not known, or
            no different.
        note: What a reader must know about its values.
        clipped: Whether values were cut to bounds before they were added up.
        type: The type of the values. Left out, it follows from the kind, and for keys from the values.
        in_full: Whether whole numbers are shown with all their digits, because they add up to each other.

    Raises:
        InvalidParameter: If a value is none that an answer can hold, if `noise` or `interval` do not have one entry for
            each value, or if a column of whole numbers holds others.

    >>> count = patients.agg(lw.count()).release(epsilon=1).table.column("count")
    >>> count.kind, count.type
    ('count', 'integer')
    >>> low, high = count.noise[0]
    >>> low < count.values[0] < high
    True
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    noise: Spans | None = None
    interval: Spans | None = None
    note: str = ""
    clipped: bool = False
    type: Type | None = None
    in_full: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(_plain(self.name, value) for value in self.values))
        for name in ("noise", "interval"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _spans(self.name, getattr(self, name), len(self.values)))
        if self.type is None:
            object.__setattr__(self, "type", type_of(self.kind, self.values))
        if self.type == "integer" and any(isinstance(value, float) for value in self.values):
            hint = 'Round them, or write type="number".'
            raise InvalidParameter("values", self.name, f"a {self.kind} holds whole numbers", hint)

    @property
    def is_key(self) -> bool:
        """Whether the column names the groups instead of answering."""
        return self.kind == "key"

    @property
    def is_count(self) -> bool:
        """Whether its values are numbers of rows, units or values."""
        aggregate = BY_KIND.get(self.kind)
        return aggregate is not None and aggregate.counts

    @property
    def adds_up(self) -> bool:
        """Whether its values are parts of a whole: counts and sums."""
        aggregate = BY_KIND.get(self.kind)
        return aggregate is not None and aggregate.adds_up

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers: what is computed from answers may be text, a date or a truth value."""
        return self.type in ("integer", "number")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of an answer: `len(table)`, `table[0]`, `table["n"]`, and `for row in table`.

    Attributes:
        columns: The columns, with their noise and notes.

    >>> table = patients.group_by("region").agg(lw.count()).release(epsilon=1).table
    >>> len(table), table["region"][0], list(table[0])
    (6, 'North', ['region', 'count'])
    >>> 2500 < sum(row["count"] for row in table) < 3500
    True
    """

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = [column.name for column in self.columns]
        for values in zip(*(column.values for column in self.columns), strict=True):
            yield dict(zip(names, values, strict=True))

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: str) -> tuple[Any, ...]: ...
    def __getitem__(self, place: int | str) -> dict[str, Any] | tuple[Any, ...]:
        if isinstance(place, str):
            return self.column(place).values
        return {column.name: column.values[place] for column in self.columns}

    def column(self, name: str) -> Column:
        """The column of that name, with its noise and notes.

        Args:
            name: The name of the column.

        Returns:
            The column.

        Raises:
            InvalidParameter: If the answer has no such column; the message lists those that it has.

        >>> ages = patients.agg(lw.mean("age")).release(epsilon=1).table.column("mean_age")
        >>> low, high = ages.interval[0]
        >>> low < ages.values[0] < high
        True
        """
        for column in self.columns:
            if column.name == name:
                return column
        names = ", ".join(repr(column.name) for column in self.columns)
        raise InvalidParameter("column", name, "is not in this answer", f"It has {names}.")

    def __str__(self) -> str:
        from lapwing.curator.show import terminal as show

        return show.plain(show.table(self.columns))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from lapwing.curator.show import notebook

        return notebook.table(self.columns)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What one release says: values with their intervals, what they cost, and how they were computed.

    `Query.release` gives one, and `Answer.from_json` reads a stored one.

    Attributes:
        columns: The keys and the values, each with its intervals and notes.
        loss: What it cost.
        remaining: What the ledger has left; None without a ledger.
        confidence: The probability that an interval contains the exact answer.
        notes: What a reader must know: which rows count, what was left out.
        provenance: How it was computed: the question, the data sets, the version.

    Raises:
        InvalidParameter: If there is no column, two columns share a name or differ in length, `confidence` is not
            between 0 and 1, `loss` is not a loss, or `provenance` does not fit into JSON.

    >>> from lapwing.privacy import PureDP
    >>> column = Column("n", "count", (1203,), noise=((1191.0, 1215.0),))
    >>> answer = Answer((column,), PureDP(0.25), None, 0.95, (), {})
    >>> answer.value
    1203
    >>> Answer.from_json(answer.to_json()) == answer
    True
    """

    columns: tuple[Column, ...]
    loss: Loss
    remaining: Loss | None = None
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict, hash=False)
    repeated: bool = field(default=False, compare=False)
    """Whether it was asked again under its key: then it cost nothing this time."""

    def __post_init__(self) -> None:
        assign = object.__setattr__
        assign(self, "columns", _fitting(tuple(self.columns)))
        assign(self, "notes", tuple(self.notes))
        assign(self, "confidence", float(checks.probability(confidence=self.confidence)))
        as_loss(self.loss)
        assign(self, "provenance", _json_able(self.provenance))

    @property
    def table(self) -> Table:
        """The rows."""
        return Table(self.columns)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: str) -> tuple[Any, ...]: ...
    def __getitem__(self, place: int | str) -> dict[str, Any] | tuple[Any, ...]:
        """The values of a column, by its name; or a row, by its number."""
        return self.table[place]

    @property
    def value(self) -> int | float | None:
        """The value of an answer that has only one."""
        values = [column for column in self.columns if not column.is_key]
        if len(values) == 1 and len(self.table) == 1:
            value: int | float | None = values[0].values[0]
            return value
        why = f"this answer has {len(self.table)} rows and {len(values)} columns of values, not one of each"
        raise InvalidCall("answer.value", why, "Use answer.table, which has rows and columns.")

    def explain(self) -> Explanation:
        """The guarantee and every column in words, and as data.

        Returns:
            An explanation. Print it, or read its `data`.

        >>> answer = patients.agg(lw.count()).release(epsilon=0.5)
        >>> answer.explain().data["guarantee"]["epsilon"]
        0.5
        """
        from lapwing.curator.show import words

        return words.explain(self)

    def statement(self, ledger: Ledger | None = None, *, owner: str = "the owner of the data") -> Statement:
        """A privacy statement that the owner of the data can hand out.

        It names the unit and the relation, the cost, who is trusted and what is not protected. With the ledger it also
        says what all answers so far tell together, and what was spent over time. Names of analysts and times of day are
        left out.

        Args:
            ledger: The ledger that the answer was charged to, for what all answers cost together.
            owner: Who is responsible for the data, as readers should see it.

        Returns:
            A statement with `to_markdown()`, `to_json()` and `to_html()`, a page to print.

        >>> from lapwing.privacy import PureDP
        >>> answer = Answer((Column("n", "count", (1203,)),), PureDP(0.25, unit="patient"))
        >>> answer.statement(owner="The clinic").facts["guarantee"]
        'ε = 0.25 (add_remove, per patient)'
        """
        from lapwing.curator.show.statement import statement_of

        return statement_of(
            self.loss,
            self.provenance,
            self.notes,
            about="stream" if "stream" in self.provenance else "answer",
            remaining=self.remaining,
            ledger=ledger,
            owner=owner,
        )

    def __str__(self) -> str:
        from lapwing.curator.show import terminal as show

        return show.plain(show.answer(self))

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> RenderableType:
        from lapwing.curator.show import terminal as show

        return show.answer(self)

    def show(self, console: Console | None = None) -> None:
        """Print in colour.

        Args:
            console: A console of rich. None means the terminal.

        >>> from io import StringIO
        >>> from rich.console import Console
        >>> patients.agg(lw.count()).release(epsilon=0.5).show(Console(file=StringIO()))
        """
        from rich.console import Console

        (console or Console(highlight=False)).print(self)

    def _repr_html_(self) -> str:
        from lapwing.curator.show import notebook

        return notebook.answer(self)

    def plot(self, path: str | PathLike[str] | None = None, column: str | None = None) -> Figure:
        """Draw the values with error bars; levels that add up (`release_hierarchy`, GROUP BY ROLLUP) as a treemap.

        Of levels that add up (`release_hierarchy`, GROUP BY ROLLUP) it shows the first count or sum: bars of each level
        along an axis where the levels are dates or bins, otherwise a treemap, or a list if areas would be too small. Of
        `marginals` it shows every table.

        Args:
            path: The file to draw into. None means that the figure is only returned.
            column: The column to draw. None means every column of values; of levels, the first count or sum.

        Returns:
            The figure.

        Raises:
            InvalidParameter: If the folder of `path` does not exist, or `column` is not in this answer.

        >>> import tempfile
        >>> answer = patients.group_by("region").agg(lw.count()).release(epsilon=1)
        >>> figure = answer.plot(tempfile.mkdtemp() + "/regions.png")
        """
        from lapwing.curator.show import cross_tables, plot, tree_plot, trees

        if cross_tables.is_marginals(self):
            return cross_tables.draw(self, path, column)
        return tree_plot.draw(self, path, column) if trees.is_tree(self) else plot.draw(self, path, column)

    def tree(self, column: str | None = None, *, most: int = 200) -> str:
        """An answer of levels as a tree, each node below its parent. Print it: `print(answer.tree())`.

        Args:
            column: The column of values to show. None means all of them.
            most: How many nodes to show.

        Returns:
            The tree as text.

        Raises:
            InvalidParameter: If `column` is no column of values, or `most` is less than 1.
            InvalidCall: If the answer has no levels.

        >>> answer = patients.release_hierarchy(["region", "smoker"], lw.count(), epsilon=1)
        >>> answer.tree().splitlines()[2].startswith("├─ North")
        True
        """
        from lapwing.curator.show import trees

        return trees.text(self, column, checks.whole(most=most))

    def leaves(self) -> Table:
        """The rows of an answer of levels that are not divided further, with the `code` of each.

        Returns:
            A table with the keys, the values, and a column `code`.

        Raises:
            InvalidCall: If the answer has no levels.

        >>> answer = patients.release_hierarchy(["region", "smoker"], lw.count(), epsilon=1)
        >>> len(answer.leaves())
        12
        """
        from lapwing.curator.show import trees

        return Table(trees.leaves(self))

    def to_map_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The leaves of an answer of levels as CSV: a code for a map to join on, the values and their intervals.

        The code is the last label of a leaf, or its whole path ("EWR / 1") where leaves are called alike. It is unique.

        Args:
            path: The file to write. None means that the text is only returned.

        Returns:
            The text.

        >>> answer = patients.release_hierarchy(["region"], lw.count(), epsilon=1)
        >>> answer.to_map_csv().splitlines()[0]
        'code,level,region,count,count_low,count_high'
        """
        from lapwing.curator.show import frames, trees

        text = frames.csv(trees.leaves(self))
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return text

    def to_json(self) -> str:
        """Everything, exactly, as one line of ASCII; `Answer.from_json` reads it back.

        Returns:
            The text.

        >>> answer = patients.agg(lw.count()).release(epsilon=0.5)
        >>> Answer.from_json(answer.to_json()) == answer
        True
        """
        from lapwing.curator.show import storage

        return storage.written(self)

    @staticmethod
    def from_json(text: str | bytes) -> Answer:
        """The answer that `to_json` wrote.

        Args:
            text: The JSON.

        Returns:
            The same answer.

        Raises:
            InvalidParameter: If the text is not an answer, or one of a later version of Lapwing.

        >>> answer = patients.agg(lw.count()).release(epsilon=0.5)
        >>> Answer.from_json(answer.to_json()) == answer
        True
        """
        from lapwing.curator.show import storage

        parts = storage.read(text)
        return Answer(**{**parts, "columns": tuple(Column(**column) for column in parts["columns"])})

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists by name: the keys, the values, and after each value the ends of its interval.

        The ends are called `…_low` and `…_high`. Where a column also has an interval for the population, its ends are
        `…_population_low` and `…_population_high`.

        Returns:
            A list of equal length for each column, in the order of the answer.

        >>> list(patients.agg(lw.count()).release(epsilon=0.5).to_dict())
        ['count', 'count_low', 'count_high']
        """
        from lapwing.curator.show import frames

        return {name: list(values) for name, _, values in frames.flat(self.columns)}

    def to_arrow(self) -> Any:
        """The columns of `to_dict` as a table of pyarrow.

        Returns:
            A `pyarrow.Table`.

        Raises:
            InvalidParameter: If whole numbers of a column do not fit into 64 bits.
            MissingExtra: If pyarrow is not installed.

        >>> patients.agg(lw.count()).release(epsilon=0.5).to_arrow().num_rows
        1
        """
        from lapwing.curator.show import frames

        return frames.arrow(self.columns)

    def to_polars(self) -> Any:
        """The columns of `to_dict` as a frame of Polars.

        Returns:
            A `polars.DataFrame`.

        Raises:
            InvalidParameter: If whole numbers of a column do not fit into 64 bits.
            MissingExtra: If Polars is not installed.

        >>> patients.agg(lw.count()).release(epsilon=0.5).to_polars().height
        1
        """
        from lapwing.curator.show import frames

        return frames.polars(self.columns)

    def to_pandas(self) -> Any:
        """The columns of `to_dict` as a frame of pandas.

        Returns:
            A `pandas.DataFrame`.

        Raises:
            InvalidParameter: If whole numbers of a column do not fit into 64 bits.
            MissingExtra: If pandas is not installed.

        >>> len(patients.group_by("region").agg(lw.count()).release(epsilon=0.5).to_pandas())
        6
        """
        from lapwing.curator.show import frames

        return frames.pandas(self.columns)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The columns of `to_dict` as CSV. NULL is empty.

        Args:
            path: The file to write. None means that the text is only returned.

        Returns:
            The text.

        Raises:
            OSError: If the file cannot be written.

        >>> patients.agg(lw.count()).release(epsilon=0.5).to_csv().splitlines()[0]
        'count,count_low,count_high'
        """
        from lapwing.curator.show import frames

        text = frames.csv(self.columns)
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return text


def _plain(name: str, value: Any) -> Any:
    """A value of Python's own types: numpy's become those, NaN is refused."""
    if type(value) not in _PLAIN and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, _PLAIN) or value != value:
        why = f"the column {name!r} must hold Python's numbers, text, dates or None"
        raise InvalidParameter("values", type(value), why, "Write None where there is no answer.")
    return value


def _spans(name: str, spans: Any, count: int) -> Spans:
    intervals = tuple(None if span is None else (float(span[0]), float(span[1])) for span in spans)
    if len(intervals) != count:
        raise InvalidParameter(
            "noise", len(intervals), f"{name!r} has {count} values", "Write one pair for each, or None."
        )
    if any(span is not None and not span[0] <= span[1] for span in intervals):
        raise InvalidParameter("noise", name, "an interval ends before it begins", "Write (low, high).")
    return intervals


def type_of(kind: str, values: tuple[Any, ...]) -> Type:
    """The type of a column of which only the kind and the values are known."""
    if kind != "key":
        aggregate = BY_KIND.get(kind)
        return "integer" if aggregate is not None and aggregate.whole else "number"
    types = {name for value in values for type_, name in _TYPES if type(value) is type_}
    if types == {"integer", "number"}:
        return "number"
    return types.pop() if len(types) == 1 else "text"


def _fitting(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns, which must be at least one, equally long and named differently."""
    names = [column.name for column in columns]
    if not columns or len(set(names)) < len(names):
        hint = "Name every column of the query differently, with AS."
        raise InvalidParameter("columns", names, "an answer needs columns with names of their own", hint)
    if len({len(column.values) for column in columns}) > 1:
        lengths = {column.name: len(column.values) for column in columns}
        raise InvalidParameter("columns", lengths, "they differ in length", "Write None where there is no answer.")
    return columns


def _json_able(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that nobody else holds, in exactly the types that JSON gives back."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(provenance), allow_nan=False))
    except (TypeError, ValueError) as error:
        why = f"it cannot be written as JSON ({error})"
        raise InvalidParameter("provenance", sorted(map(str, provenance)), why, "Use text and numbers.") from None
    return copy
