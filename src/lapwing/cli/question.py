"""The options that `lapwing query` and `lapwing quote` share, and the table and question that they describe."""

from __future__ import annotations

import csv
import datetime as dt
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from lapwing.cli import flags
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.curator.ask.query import Query
    from lapwing.curator.tables.table import PrivateTable

_TABLE, _SPENDING, _UNIT, _BOOK = (
    "What is public about the table",
    "What to spend",
    "Contribution bounds: how many rows of one unit are used",
    "Ledger",
)

ENCODING = "Encoding of a CSV that is not in UTF-8: windows-1252, latin-1 or utf-16."
NAMES = "New names for all columns of a file, in its order, if its first line lacks a name or has one twice."


def _option(help: str, panel: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=False)


@dataclass(frozen=True, kw_only=True)
class Question:
    """The options."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A CSV or Parquet file, a DuckDB file (.duckdb), the URL of a database, or a description (.yaml).",
        ),
    ]
    sql: Annotated[
        str | None,
        typer.Argument(
            metavar="SELECT",
            help="The question in SQL. The table has the name of the file without its extension.",
            show_default=False,
        ),
    ] = None
    saved: Annotated[Path | None, typer.Option(help="A saved question (YAML or JSON) instead of a SELECT.")] = None
    save: Annotated[Path | None, typer.Option(help="Save the question to a new .yaml or .json file.")] = None
    unit: Annotated[
        str | None,
        _option(
            "The column that says whose row it is, for example patient. This is the unit of privacy: who is protected.",
            _TABLE,
        ),
    ] = None
    each_row: Annotated[
        bool, typer.Option("--each-row", help="Every row belongs to a different person.", rich_help_panel=_TABLE)
    ] = False
    bounds: Annotated[
        list[str] | None,
        _option(
            "Public range of a number column. Values outside count as the nearest bound. Can be repeated.",
            _TABLE,
            metavar="COLUMN=LOW:HIGH",
        ),
    ] = None
    keys: Annotated[
        list[str] | None,
        _option("All values of a column to group by. Can be repeated.", _TABLE, metavar="COLUMN=A,B,…"),
    ] = None
    types: Annotated[
        list[str] | None,
        _option("boolean, integer, number, text, date or timestamp. Can be repeated.", _TABLE, metavar="COLUMN=TYPE"),
    ] = None
    complete: Annotated[
        list[str] | None, _option("A column in which no value is missing. Can be repeated.", _TABLE, metavar="COLUMN")
    ] = None
    everything_else: Annotated[
        bool,
        typer.Option(
            "--everything-else", help="Put all values that are not declared into one group.", rich_help_panel=_TABLE
        ),
    ] = False
    table: Annotated[str | None, _option("The table of a database.", _TABLE)] = None
    name: Annotated[str | None, _option("Name of the table in the SELECT.", _TABLE)] = None
    names: Annotated[str | None, _option(NAMES, _TABLE, metavar="A,B,…")] = None
    delimiter: Annotated[str | None, _option("Character that separates the columns of a CSV.", _TABLE)] = None
    encoding: Annotated[str | None, _option(ENCODING, _TABLE)] = None
    decimal: Annotated[
        str | None, _option("Write ',' if the CSV has numbers like 1.234,50 and dates like 31.12.2026.", _TABLE)
    ] = None
    thousands: Annotated[str | None, _option("Write ',' if the CSV has numbers like 1,234.50.", _TABLE)] = None
    true: Annotated[
        list[str] | None, _option("A word that means yes, for example J (German Ja).", _TABLE, metavar="WORD")
    ] = None
    false: Annotated[list[str] | None, _option("A word that means no, for example N.", _TABLE, metavar="WORD")] = None
    missing: Annotated[
        list[str] | None,
        _option("A word that stands for no value in columns of text, for example NA.", _TABLE, metavar="WORD"),
    ] = None
    population: Annotated[
        int | None,
        _option("Public lower limit on the number of units. A delta that is too large for it is refused.", _TABLE),
    ] = None
    public: Annotated[
        list[str] | None, _option("A public table to join with, for example zips.csv.", _TABLE, metavar="FILE")
    ] = None
    other: Annotated[
        list[Path] | None, _option("Another private table, described in YAML.", _TABLE, "--with", metavar="FILE")
    ] = None
    epsilon: Annotated[
        float | None, _option("Privacy loss to spend: smaller is more private and less accurate.", _SPENDING)
    ] = None
    delta: Annotated[
        float | None,
        _option(
            "Needed beside --epsilon if the values to group by are not declared. Also allows Gaussian noise.", _SPENDING
        ),
    ] = None
    rho: Annotated[
        float | None, _option("Instead of --epsilon: the privacy loss in zCDP (Gaussian noise).", _SPENDING)
    ] = None
    within: Annotated[
        list[str] | None,
        _option(
            "Instead of --epsilon: the largest error that you accept. 5 is for all outputs, n=5 for the output n.",
            _SPENDING,
            metavar="ERROR",
        ),
    ] = None
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.", rich_help_panel=_SPENDING)] = 0.95
    count: Annotated[
        int | None,
        _option("For quotes and --within: each group is publicly known to have this many rows or more.", _SPENDING),
    ] = None
    max_groups_per_unit: Annotated[int | None, _option("Largest number of groups per unit.", _UNIT)] = None
    max_rows_per_group: Annotated[int | None, _option("Largest number of rows per unit in each group.", _UNIT)] = None
    max_rows_per_unit: Annotated[
        int | None, _option("Instead of the two limits above: largest number of rows per unit in total.", _UNIT)
    ] = None
    ledger: Annotated[
        str | None, _option("File (or postgresql://…) that records how much privacy budget has been spent.", _BOOK)
    ] = None
    anchor: Annotated[str | None, _option("File that proves the ledger was not replaced.", _BOOK)] = None
    dataset: Annotated[str | None, _option("Name of the data set in the ledger.", _BOOK)] = None
    allowance: Annotated[
        str | None,
        _option(
            "The whole privacy budget: 3, or epsilon=3,delta=1e-6, or rho=0.5. To protect another unit, add unit=, for "
            "example 'epsilon=1,unit=patient in any 7 consecutive days' (for lapwing stream open "
            "--consecutive-steps 7).",
            _BOOK,
            metavar="LOSS",
        ),
    ] = None
    rules: Annotated[
        str | None,
        _option(
            "Limits set with the allowance, for example questions=1000,parts=1000,failures=1: at most 1000 questions "
            "per analyst, and each costs at least 1/1000 of the allowance. A failure is a question that fails while "
            "rows are read. After one failure, nobody can ask this data set until lapwing ledger reopen is run.",
            _BOOK,
            metavar="RULES",
        ),
    ] = None
    analyst: Annotated[str | None, _option("Name of the analyst who asks.", _BOOK)] = None

    def query(self) -> Query:
        """The question, about the opened table; nothing has been read or spent."""
        from lapwing.curator.ask import reader
        from lapwing.curator.tables import descriptions

        if (self.sql is None) == (self.saved is None):
            hint = "Write 'SELECT COUNT(*) FROM visits', or --saved question.yaml."
            raise InvalidParameter("SELECT", self.sql, "exactly one question is needed", hint)
        table, later = self.opened()
        tables: list[Any] = [_public(source) for source in self.public or ()]
        tables += [descriptions.open_described(path) for path in self.other or ()]
        if self.sql is not None:
            later["everything_else"] = self.everything_else or None
            query = table.query(self.sql, tables=tables, **{name: given for name, given in later.items() if given})
        else:
            query = reader.read(self._kept(table, later), table, tables)
        if self.save is not None:
            _write(self.save, query.to_json() if self.save.suffix.lower() == ".json" else query.to_yaml())
        return query

    def _kept(self, table: PrivateTable, later: Mapping[str, Mapping[str, Any]]) -> Any:
        """The saved question as data; what it says stays."""
        from lapwing.curator.ask import documents

        for column in (column for given in later.values() for column in given):
            raise InvalidParameter("column", column, "is not in the table", f"There are: {', '.join(table.columns)}.")
        document = documents.read_file(str(self.saved))
        limited = isinstance(document, dict) and "bounding" in document
        for name in ("everything_else", *(_LIMITS if limited else ())):
            if getattr(self, name):
                hint = "Leave it out, or change the file."
                raise InvalidParameter(name, getattr(self, name), "the saved question says it already", hint)
        return document

    def spending(self) -> dict[str, Any]:
        """What to spend, as `quote` and `release` have it."""
        within: Any = None
        if self.within:
            pairs = [text.rpartition("=") for text in self.within]
            within = {name: _number(value, "within", "5") for name, _, value in pairs}
            if "" in within:
                within = within[""] if len(within) == 1 else within
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "within": within,
            "confidence": self.confidence,
            "count": self.count,
        }

    def opened(self, *, keeps_count: bool = True) -> tuple[PrivateTable, dict[str, Any]]:
        """The table, and the bounds and keys of columns that only the question makes.

        Where nobody `keeps_count`, a description is read without its ledger, of which nothing is touched then.
        """
        from lapwing.curator.tables import descriptions

        is_described = Path(self.source).suffix.lower() in descriptions.SUFFIXES
        facts: dict[str, Any] = descriptions.read(self.source) if is_described else {"source": self.source}
        if not keeps_count:
            facts = {name: fact for name, fact in facts.items() if name not in _COUNTING}
        facts |= descriptions.beside(facts, self._said())
        bounds = _pairs(self.bounds, "bounds", "age=0:120", _ends)
        keys: dict[str, list[Any]] = _pairs(self.keys, "keys", "region=North,South", _words)
        kinds = _kinds(facts) if bounds or keys else {}
        for column, words in keys.items():
            keys[column] = (
                [_value(word, column, kinds[column]) for word in words] if column in kinds else _guessed(words)
            )
        here, later = {}, {}
        for name, given in (("bounds", bounds), ("keys", keys)):
            here[name] = {column: said for column, said in given.items() if column in kinds} or None
            later[name] = {column: said for column, said in given.items() if column not in kinds}
        return descriptions.opened({**facts, **descriptions.beside(facts, here)}), later

    def _said(self) -> dict[str, Any]:
        """Options that are keywords of `lw.open`; None where nothing was said."""
        said = {name: getattr(self, name) for name in _ASIDE}
        said["each_row"] = self.each_row or None
        said["allowance"] = None if self.allowance is None else _allowance(self.allowance)
        said["rules"] = None if self.rules is None else _named(self.rules, "rules", "questions=1000,failures=1")
        said["names"] = listed(self.names)
        said["types"] = _pairs(self.types, "types", "smoker=boolean", str) or None
        return said


_LIMITS = ("max_groups_per_unit", "max_rows_per_group", "max_rows_per_unit")
_COUNTING = ("ledger", "anchor", "dataset", "allowance", "rules", "analyst", "max_units_per")
_ASIDE = (
    "unit",
    "complete",
    "table",
    "name",
    "delimiter",
    "encoding",
    "decimal",
    "thousands",
    "true",
    "false",
    "missing",
    "population",
    "ledger",
    "anchor",
    "dataset",
    "analyst",
    *_LIMITS,
)
"""Options that need no reading."""


def asks(command: Callable[..., None], *, leaving: tuple[str, ...] = ()) -> Callable[..., None]:
    """A command that has the options of a question besides its own, but for some, and gets them as one value."""
    hints = get_type_hints(Question, include_extras=True)
    names = [field.name for field in fields(Question) if field.name not in leaving]
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Question)
        if field.name in names
    ]
    _, *own = inspect.signature(command, eval_str=True).parameters.values()

    def run(**given: Any) -> None:
        with flags.options(set(given) - {"source", "sql"}):
            command(Question(**{name: given.pop(name) for name in names}), **given)

    parameters = [*shared, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own)]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


NOT_ABOUT_A_TABLE = (
    "sql", "saved", "save", "everything_else", "population", "public", "other", "epsilon", "delta", "rho", "within",
    "confidence", "count", "ledger", "anchor", "dataset", "allowance", "rules", "analyst",
)  # fmt: skip
"""Options that mean something only where a question is asked."""

T = TypeVar("T")


def _pairs(given: list[str] | None, name: str, example: str, read: Callable[[str], T]) -> dict[str, T]:
    """Options of the form COLUMN=…, by column."""
    pairs: dict[str, T] = {}
    for text in given or ():
        column, equals, value = text.partition("=")
        if not equals or not column or not value:
            raise InvalidParameter(name, text, "must be a column, =, and a value", f"Write --{name} {example}.")
        if column in pairs:
            raise InvalidParameter(name, column, "is there twice", "Leave one out.")
        pairs[column] = read(value)
    return pairs


def _public(source: str) -> Any:
    """A public table. The options for files are about the private one."""
    from lapwing.curator.tables.opening import public

    try:
        return public(source)
    except InvalidParameter as error:
        if error.name not in ("source", "delimiter", "encoding"):
            raise
        why = str(error).removesuffix(error.hint).partition(": ")[2].rstrip(". ")
        hint = (
            "Pass a Parquet file, or a CSV file in UTF-8 with commas and a first line of names. Options such as "
            "--delimiter are for SOURCE alone. In Python, lw.public has them, too."
        )
        raise InvalidParameter("public", source, why, hint) from None


def listed(text: str | None) -> list[str] | None:
    """Names between commas."""
    return None if text is None else _words(text, "names", "patient,age")


def _ends(text: str) -> list[float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise InvalidParameter("bounds", text, "needs two ends", "Write --bounds age=0:120.")
    return [_number(end, "bounds", "age=0:120") for end in (low, high)]


def _words(
    text: str, name: str = "keys", example: str = "region=North,South, or --keys 'region=\"North, upper\",South'"
) -> list[str]:
    """Words between commas; in quotes where they have commas themselves."""
    try:
        [words] = csv.reader([text], strict=True)
    except csv.Error:
        why, hint = "are words between commas, on one line", f"Write --{name} {example}."
        raise InvalidParameter(name, text, why, hint) from None
    return words


def _guessed(words: list[str]) -> list[Any]:
    """Keys of a column that the question makes: whole numbers if all look like it."""
    return [int(word) for word in words] if all(re.fullmatch(r"-?\d{1,18}", word) for word in words) else words


def _value(word: str, column: str, kind: str) -> Any:
    """A key as a value of its column."""
    try:
        if kind == "boolean":
            return {"true": True, "false": False}[word.lower()]
        if kind == "date":
            return dt.date.fromisoformat(word)
        if kind == "timestamp":
            return dt.datetime.fromisoformat(word)
        return {"integer": int, "number": float}.get(kind, str)(word)
    except (ValueError, KeyError):
        why = f"{column} is of type {kind}"
        raise InvalidParameter("keys", word, why, f"Write values of that type, or --types {column}=text.") from None


def _number(text: str, name: str, example: str) -> float:
    try:
        return int(text) if re.fullmatch(r"[-+]?\d{1,300}", text) else float(text)
    except ValueError:
        raise InvalidParameter(name, text, "is not a number", f"Write --{name} {example}.") from None


def _allowance(text: str) -> dict[str, Any]:
    """3, or epsilon=3,delta=1e-6,unit=patient."""
    if "=" not in text:
        return {"epsilon": _number(text, "allowance", "3")}
    return _named(text, "allowance", "epsilon=3,delta=1e-6")


def _named(text: str, option: str, example: str) -> dict[str, Any]:
    """Numbers with names, and the word for a unit: epsilon=3,delta=1e-6."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        values[name] = value if name == "unit" else _number(value, option, example)
    return values


def _kinds(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the source and what they are, by its catalogue and by declaration."""
    from lapwing.curator.tables.sources import find_source

    said = {name: facts[name] for name in ("table", "delimiter", "encoding", "names") if name in facts}
    source = find_source(facts["source"], **said)
    return {**source.kinds, **facts.get("types", {})}


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
