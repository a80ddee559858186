"""A stream as plain data: its question and its counters, so that the file alone is enough to go on with it."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import Any

from sqlglot import exp

from lapwing import checks
from lapwing.curator.ask.breaker import Fuse
from lapwing.curator.ask.central import CENTRAL
from lapwing.curator.ask.context import Context, OpenedTable, PublicTable
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.reader import read
from lapwing.curator.ask.release import publics
from lapwing.curator.engines.compiler import Relation
from lapwing.curator.engines.duckdb import EmbeddedDuckDB
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.nodes import Public, Scan
from lapwing.curator.plan.statistics import Statistic
from lapwing.curator.plan.text_forms import Notation
from lapwing.curator.streams import protection
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.pricing import FAMILIES, StreamItem
from lapwing.curator.streams.schedule import Schedule
from lapwing.privacy import Ledger
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP

_LOSSES: dict[str, type[Loss]] = {"PureDP": PureDP, "ApproxDP": ApproxDP, "ZCDP": ZCDP}
_MECHANISMS = {word: family for family, word in FAMILIES.items()}
_PUBLIC = {
    "square root": ("sigma", "bins", "sensitivity", "steps", "width", "active_steps", "separation", "unit"),
    "signed tree": ("epsilon", "arity", "sensitivity", "steps", "width", "active_steps", "separation", "unit"),
    "binary tree": (
        "scale",
        "noise",
        "refined",
        "sensitivity",
        "steps",
        "width",
        "active_steps",
        "separation",
        "unit",
    ),
    **dict.fromkeys(
        ("budget distribution", "budget absorption"),
        ("epsilon", "window", "sensitivity", "steps", "width", "decision_share", "unit"),
    ),
}


def written(definition: Definition, notation: Notation) -> dict[str, Any]:
    """A definition with what is public about its table, and without its rows."""
    context, scan = definition.query.context, definition.scan
    return {
        **definition.written(),
        "table": {"name": scan.table, "each_row": scan.each_row, "fields": [_field(field) for field in scan.fields]},
        "public": [_public(public) for public in publics(definition.query.plan)],
        "notation": [
            notation.decimal,
            notation.thousands,
            *map(list, (notation.true, notation.false, notation.missing)),
        ],
        "datasets": list(context.datasets),
        "population": context.population,
    }


def reread(data: dict[str, Any], ledger: Ledger | None, analyst: str | None) -> tuple[Definition, Notation]:
    """The definition that was written; batches bring their own engine."""
    described = data["table"]
    fields = tuple(map(_column, described["fields"]))
    scan = Scan(described["name"], fields, each_row=described["each_row"])
    fuses = tuple(Fuse(dataset) for dataset in data["datasets"])
    nowhere = Relation(exp.to_table(described["name"]), {field.name: "VARCHAR" for field in fields})
    context = Context(
        EmbeddedDuckDB(), {described["name"]: nowhere}, data["unit"], tuple(data["datasets"]), ledger, analyst,
        data["population"], fuses=fuses, releaser=CENTRAL,
    )  # fmt: skip
    tables = [PublicTable(_table(public)) for public in data["public"]]
    query: Query = read(data["question"], OpenedTable(scan, context), tables)
    schedule = Schedule.read(data["schedule"])
    definition = Definition(query, schedule, protection.read(data["protection"]))
    return definition, notation_reread(data["notation"])


def notation_reread(data: list[Any]) -> Notation:
    """The notation that was written; older files say nothing of missing words, and had none."""
    decimal, thousands, *words = data
    return Notation(decimal, thousands, *map(tuple, words))


def item_written(item: StreamItem) -> dict[str, Any]:
    """A counter by its public parameters, exactly."""
    counter: Any = item.counter
    parameters = {name: _exactly(getattr(counter, name)) for name in _PUBLIC[item.family]}
    return {"family": item.family, "shift": item.shift, "concentrated": item.concentrated, "parameters": parameters}


def item_reread(data: dict[str, Any], definition: Definition, statistic: Statistic) -> StreamItem:
    """The counter that was written."""
    parameters = {name: _number(value) for name, value in data["parameters"].items()}
    outputs = tuple(bound.output for bound in definition.query.bounds if statistic in bound.statistics)
    counter = _MECHANISMS[data["family"]](**parameters)
    effective, unit = definition.query.effective, definition.unit
    return StreamItem(statistic, counter, data["shift"], outputs, data["concentrated"], effective, unit)


def loss_written(loss: Loss) -> dict[str, Any]:
    """A loss, exactly."""
    sizes = {name: str(getattr(loss, name)) for name in ("epsilon", "rho", "delta") if hasattr(loss, name)}
    return {"kind": type(loss).__name__, "unit": loss.unit, **sizes}


def loss_reread(data: dict[str, Any]) -> Loss:
    """The loss that was written."""
    sizes: dict[str, Any] = {name: Fraction(data[name]) for name in ("epsilon", "rho", "delta") if name in data}
    return _LOSSES[data["kind"]](**sizes, unit=data["unit"])


def _exactly(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return {"text": value}
    return value if isinstance(value, int) else str(checks.exact(parameter=value))


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return value["text"]
    return value if isinstance(value, int) else Fraction(value)


def _field(field: Column) -> dict[str, Any]:
    return {
        "name": field.name,
        "kind": field.kind,
        "bounds": None if field.bounds is None else [str(end) for end in field.bounds],
        "keys": None if field.keys is None else [value(key) for key in field.keys],
        "unit": field.unit,
        "complete": field.complete,
    }


def _column(data: dict[str, Any]) -> Column:
    bounds = None if data["bounds"] is None else (Fraction(data["bounds"][0]), Fraction(data["bounds"][1]))
    keys = None if data["keys"] is None else tuple(map(known, data["keys"]))
    return Column(data["name"], data["kind"], bounds, keys, data["unit"], complete=data["complete"])


def _public(public: Public) -> dict[str, Any]:
    return {
        "table": public.table,
        "fields": [_field(field) for field in public.fields],
        "rows": [[value(cell) for cell in row] for row in public.rows],
    }


def _table(data: dict[str, Any]) -> Public:
    rows = tuple(tuple(map(known, row)) for row in data["rows"])
    return Public(data["table"], tuple(map(_column, data["fields"])), rows)


def value(given: Any) -> Any:
    """A value as JSON has it; of a time, the kind is said."""
    if isinstance(given, dt.datetime):
        return {"timestamp": given.isoformat()}
    return {"date": given.isoformat()} if isinstance(given, dt.date) else given


def known(data: Any) -> Any:
    """The value that was written."""
    if not isinstance(data, dict):
        return data
    if "timestamp" in data:
        return dt.datetime.fromisoformat(data["timestamp"])
    return dt.date.fromisoformat(data["date"])


def cells_written(names: list[str], cells: tuple[Any, ...]) -> str:
    """A row that waits for its step."""
    return json.dumps({name: value(cell) for name, cell in zip(names, cells, strict=True)})


def cells_reread(text: str) -> dict[str, Any]:
    """The row that was written."""
    return {name: known(cell) for name, cell in json.loads(text).items()}
