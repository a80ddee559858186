"""Data sets described in a file: where the rows are, whose they are, what is publicly known, what may be spent.

The fields of a description are the keywords of `lw.open`. `describe` writes a template from names and types of columns
alone. It never reads values: everybody who reads the file would see them.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from lapwing.calls import closest, helpful
from lapwing.curator.ask.documents import read_file, word
from lapwing.curator.plan.expressions import KINDS, Kind
from lapwing.curator.tables.opening import open as open_table
from lapwing.curator.tables.sources import find_source
from lapwing.curator.tables.table import EACH_ROW, PrivateTable
from lapwing.errors import InvalidParameter
from lapwing.privacy import ZCDP, ApproxDP, Ledger, Loss, PureDP, Rules

VERSION = 1
SUFFIXES = (".yaml", ".yml")
_TEXTS = (
    "source",
    "table",
    "name",
    "unit",
    "dataset",
    "ledger",
    "anchor",
    "analyst",
    "delimiter",
    "encoding",
    "decimal",
    "thousands",
    "memory",
)
_WORDS = ("true", "false", "missing")
_MAPPINGS = ("types", "bounds", "keys", "max_units_per")
_LISTS = ("names", "complete")
_COUNTS = ("population", "threads", "max_groups_per_unit", "max_rows_per_group", "max_rows_per_unit")
_FIELDS = ("lapwing_dataset", *_TEXTS, "each_row", *_WORDS, *_MAPPINGS, *_LISTS, *_COUNTS, "allowance", "rules")
_PLACES = ("source", "ledger", "anchor")
"""Fields that name a file beside the description, or a URL."""


@helpful
def open_described(path: str | os.PathLike[str], **more: Any) -> PrivateTable:
    r"""The private table that a YAML file describes: `open_described("visits.yaml")`.

    Args:
        path: The description, as `lw.describe` begins it.
        more: Further keywords of `lw.open`, for what the file does not say. What the file says cannot be changed.

    Returns:
        The private table. Nothing of it is read before a question is asked.

    Raises:
        InvalidParameter: If the file is not a description, or says something that cannot be.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lapwing.datasets import clinic_csv
    >>> description = Path(tempfile.mkdtemp()) / "clinic.yaml"
    >>> _ = description.write_text(f"source: {clinic_csv()}\nunit: patient\nbounds: {{age: [0, 120]}}\n")
    >>> clinic = lw.open_described(description, types={"smoker": "boolean"})
    >>> 40 < clinic.agg(lw.mean("age")).release(epsilon=1).value < 60
    True
    """
    facts = read(path)
    return opened({**facts, **beside(facts, more)})


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of a description, each of the right type, places seen from where the file is."""
    place = Path(path)
    document = read_file(place)
    if not isinstance(document, dict) or "source" not in document:
        raise InvalidParameter(place.name, "", "is not a description of a data set", "Begin with lapwing describe.")
    _known(document, _FIELDS, place.name)
    facts = {name: value for name, value in document.items() if value is not None}
    if facts.pop("lapwing_dataset", VERSION) != VERSION:
        why = "was written for another version of Lapwing"
        raise InvalidParameter(
            "lapwing_dataset", document["lapwing_dataset"], why, f"Write lapwing_dataset: {VERSION}."
        )
    for name, value in facts.items():
        _fitting(name, value)
    for name in _PLACES:
        if name in facts and "://" not in facts[name]:
            facts[name] = str(place.parent / facts[name])
    return facts


def beside(facts: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """What is said besides, joined with what the description says about other columns; nothing is said twice."""
    joined = {}
    for name, value in more.items():
        if value is None:
            continue
        known = facts.get(name)
        if known is None or (isinstance(known, dict) and not set(known) & set(value)):
            joined[name] = {**known, **value} if isinstance(known, dict) else value
            continue
        raise InvalidParameter(name, value, "the description says it already", "Leave it out, or change the file.")
    return joined


def opened(facts: Mapping[str, Any]) -> PrivateTable:
    """The table with these facts, which are keywords of `lw.open` in the words of a description."""
    options = dict(facts)
    each_row, unit = options.pop("each_row", False), options.pop("unit", None)
    if each_row == (unit is not None):
        hint = (
            "Write unit: patient_id (the column that says whose row it is), or each_row: true if nobody has two rows; "
            "on the command line, --unit patient_id or --each-row."
        )
        raise InvalidParameter("unit", unit, "every row needs exactly one unit of protection", hint)
    if "allowance" in options:
        options["allowance"] = allowance_of(options["allowance"])
    if "rules" in options:
        options["rules"] = rules_of(options["rules"])
    anchor = options.pop("anchor", None)
    if anchor is not None:
        if "ledger" not in options:
            raise InvalidParameter("anchor", anchor, "is for a ledger", "Write ledger: ledger.db as well.")
        options["ledger"] = Ledger(options["ledger"], anchor=anchor)
    return open_table(options.pop("source"), unit=EACH_ROW if each_row else unit, **options)


def allowance_of(value: Any) -> Loss:
    """An allowance as one writes it down: 3, {epsilon: 3, delta: 1e-6}, {rho: 0.5}, with a word for the unit or not."""
    if isinstance(value, Loss):
        return value
    given = dict(value) if isinstance(value, Mapping) else {"epsilon": value}
    _known(given, ("epsilon", "delta", "rho", "unit"), "allowance")
    if ("epsilon" in given) == ("rho" in given):
        hint = "Write 3, {epsilon: 3}, {epsilon: 3, delta: 1e-6} or {rho: 0.5}."
        raise InvalidParameter("allowance", value, "must say exactly once how much may be spent", hint)
    if "rho" in given:
        return ZCDP(**given)
    return ApproxDP(**given) if "delta" in given else PureDP(**given)


def rules_of(value: Any) -> Rules:
    """Rules as one writes them down: {questions: 1000, failures: 1}."""
    if isinstance(value, Rules):
        return value
    if not isinstance(value, Mapping):
        raise InvalidParameter("rules", value, "must be a mapping", "Write {questions: 1000, failures: 1}.")
    _known(value, tuple(field.name for field in fields(Rules)), "rules")
    return Rules(**value)


@helpful
def describe(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """A template of a description, with a place for everything that is to be filled in.

    Privacy: it is made from the names and declared types of the columns. No record is read. Columns of a CSV file are
    text until you declare them.

    Args:
        source: What `lw.open` takes.
        path: A new file to write the template into. None means that it is only returned.
        table: Which table of a database.
        delimiter: The character between the cells of a CSV file. None means a comma, and a tab for .tsv.
        encoding: The encoding of a CSV file. None means UTF-8.
        names: New names for all columns of a file, in its order, for names that are missing or doubled.

    Returns:
        The template, as YAML.

    Raises:
        InvalidParameter: If the file cannot be written, or exists already.

    >>> from lapwing.datasets import clinic_csv
    >>> "unit" in lw.describe(clinic_csv())
    True
    """
    origin = find_source(source, table=table, delimiter=delimiter, encoding=encoding, names=names)
    texts = {"table": table, "delimiter": delimiter, "encoding": encoding}
    said = {name: None if text is None else word(text) for name, text in texts.items()}
    said["names"] = None if names is None else f"[{', '.join(map(word, names))}]"
    text = "\n".join(_template(source, path, origin.name, origin.kinds, said)) + "\n"
    if path is not None:
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            why = f"cannot be written ({error.strerror})"
            raise InvalidParameter("path", str(path), why, "Name a new file in a folder that exists.") from None
    return text


def _template(
    source: Any,
    path: str | os.PathLike[str] | None,
    name: str,
    kinds: Mapping[str, Kind | None],
    said: Mapping[str, str | None],
) -> Iterator[str]:
    usable = {column: kind for column, kind in kinds.items() if kind is not None}
    is_text = bool(usable) and set(usable.values()) == {"text"}
    file = "description.yaml" if path is None else Path(path).name
    yield f"# {_one_line(name)}, described for Lapwing from names and types alone: no record was read."
    yield "# Fill in public knowledge only. Do not look it up in the data: everybody can read what you write here."
    yield f'# Then: lapwing query {_one_line(file)} --epsilon 0.5 "SELECT COUNT(*) FROM {_one_line(name)}"'
    yield f"lapwing_dataset: {VERSION}"
    yield f"source: {_place(source, path)}"
    yield from (f"{field}: {value}" for field, value in said.items() if value is not None)
    yield from (
        "",
        "# Whose row is it? Name the column of the unit of privacy, for example patient. Or write each_row: true,",
        "# if nobody has two rows.",
        "unit:",
        "",
        f"# Types of the columns: {', '.join(KINDS)}.",
    )
    if is_text:
        yield "# Every column is text until you declare its type: guessing types would mean reading records."
        yield "# If numbers look like 1.234,50 and dates like 31.12.2026, also write decimal: ','."
        yield "# If numbers look like 1,234.50, write thousands: ','. If J and N mean yes and no,"
        yield "# write 'true': J and 'false': N, with the quotes. If NA stands for no value, write missing: NA."
    yield from _fields("types", usable)
    if len(usable) < len(kinds):
        yield f"# Not usable, because of their types: {', '.join(_one_line(c) for c in kinds if c not in usable)}."
    numbers = {column: "[low, high]" for column, kind in usable.items() if kind in ("integer", "number") or is_text}
    yield from (
        "",
        "# Range of each number column. Values outside count as the nearest bound. Sums, means and quantiles",
        "# need them.",
        *_fields("bounds", numbers),
        "",
        "# Values to group by. Each is in the answer, even if nobody has it. Without them only frequent values",
        "# are shown, and showing them needs a delta.",
        *_fields("keys", {column: "[…, …]" for column, kind in usable.items() if kind not in ("number", "timestamp")}),
        "",
        "# Contribution bounds: how many groups per unit, and how many rows in each. Larger bounds need more noise.",
        "max_groups_per_unit: 1",
        "max_rows_per_group: 1",
        "",
        "# A stable name for these people (other tables about them share it), their whole privacy budget, and",
        "# the ledger that records what is spent.",
        f"dataset: {word(name)}",
        "# allowance: {epsilon: 3}",
        "# rules: {questions: 1000, parts: 1000, failures: 1}  # see lapwing query --help",
        "# ledger: ledger.db",
        "",
        "# Public lower limit on the number of units. A delta that is too large for it is refused.",
        "# population: 10000",
    )


def _fields(name: str, columns: Mapping[str, Any]) -> Iterator[str]:
    yield f"{name}:"
    yield from (f"  # {word(column)}: {value}" for column, value in columns.items())


def _place(source: Any, path: str | os.PathLike[str] | None) -> str:
    """Where the rows are, as seen from the description; a password is left out."""
    if not isinstance(source, str | os.PathLike):
        return "# where the rows are: a .csv or .parquet file, or a URL"
    text = os.fspath(source)
    if "://" in text:
        return word(re.sub(r"(?<=://)([^:@/]*):[^@]*@", r"\1@", text))
    return word(text if path is None else os.path.relpath(text, Path(path).parent))


def _one_line(text: str) -> str:
    return " ".join(text.split()) if text.isprintable() else ascii(text)


def _known(names: Iterable[str], known: tuple[str, ...], where: str) -> None:
    for name in names:
        if name not in known:
            meant = closest(name, known)
            hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(known)}."
            raise InvalidParameter(where, name, "there is no such field", hint)


def _fitting(name: str, value: Any) -> None:
    """Refuse a field of the wrong type here, where it can be named."""
    if name in _TEXTS:
        wanted, fits = "text", isinstance(value, str) and bool(value)
    elif name in _MAPPINGS:
        wanted, fits = "a mapping", isinstance(value, dict)
    elif name in _COUNTS:
        wanted, fits = "a whole number", isinstance(value, int) and not isinstance(value, bool)
    elif name in _WORDS:
        words = [value] if isinstance(value, str) else value
        wanted, fits = "text", isinstance(words, list) and bool(words) and all(isinstance(text, str) for text in words)
    elif name == "each_row":
        wanted, fits = "true or false", isinstance(value, bool)
    elif name in _LISTS:
        wanted, fits = "a list of columns", isinstance(value, list) and all(isinstance(column, str) for column in value)
    else:
        return
    if not fits:
        raise InvalidParameter(name, value, f"must be {wanted}", f"Write {name}: {_EXAMPLES.get(name, '…')}")
    if name == "keys":
        for column, keys in value.items():
            _fitting_keys(column, keys)


def _fitting_keys(column: str, keys: Any) -> None:
    plain = (bool, int, float, str, dt.date, type(None))
    if not isinstance(keys, list) or not all(isinstance(key, plain) for key in keys):
        raise InvalidParameter("keys", column, "needs a list of values", f"Write {column}: [North, South].")


_EXAMPLES = {
    "unit": "patient_id",
    "types": "{smoker: boolean}",
    "bounds": "{age: [0, 120]}",
    "keys": "{region: [North, South]}",
    "max_units_per": "{household: 4}",
    "each_row": "true",
    "names": "[patient, age]",
    "complete": "[age]",
    "decimal": "','",
    "thousands": "','",
    "true": "'Y'",
    "false": "'N'",
    "missing": "NA",
    **dict.fromkeys(_COUNTS, "1"),
}
