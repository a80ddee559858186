"""Joins as they are written in Python: columns that both sides have are told apart by the name of the joined table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lapwing.curator.plan.hints import unseen
from lapwing.curator.plan.nodes import JoinPublic, Outer, Plan, Public, Scan, Select
from lapwing.curator.plan.parser import expression
from lapwing.errors import InvalidParameter, UnsupportedQuery


def join_public(plan: Plan, public: Public, on: Any, how: Outer) -> JoinPublic:
    """Rows with the columns of a public table; of columns that both have, those of the public one go by its name."""
    if on is None:
        raise UnsupportedQuery(f"join {public.table}", "a join needs columns to join on", "Write on='region'.")
    pairs = _pairs(on)
    shared = set(plan.by_name) & {field.name for field in public.fields}
    fields, names = [], {}
    for field in public.fields:  # a column that both have would be there twice
        names[field.name] = f"{public.table}.{field.name}" if field.name in shared else field.name
        fields.append(replace(field, name=names[field.name]))
    with unseen([*plan.by_name, *names], on=on):
        for name in pairs.values():
            if name not in names:
                why = f"there is no such column in {public.table}"
                raise UnsupportedQuery(name, why, f"There are: {', '.join(names)}.")
        conditions = tuple((expression(mine, plan.by_name, name="on"), names[theirs]) for mine, theirs in pairs.items())
    return JoinPublic(plan, replace(public, fields=tuple(fields)), conditions, how)


def _pairs(on: Any) -> dict[str, str]:
    """The columns to join on: those of the private table, with those of the public one."""
    given = [on] if isinstance(on, str) else on
    if isinstance(given, Iterable):
        pairs = [*(given.items() if isinstance(given, Mapping) else ((name, name) for name in given))]
        if all(isinstance(name, str) for pair in pairs for name in pair):
            return dict(pairs)
    raise InvalidParameter("on", on, "must name columns", "Write on='region', or on={'region': 'name'}.")


def apart(plan: Plan, other: Plan) -> Plan:
    """The other side of a join, with the name of its table before columns that both sides have."""
    shared = set(plan.by_name) & set(other.by_name)
    if not shared:
        return other
    source = other
    while not isinstance(source, Scan):
        source = source.parents()[0]
    names = [f"{source.table}.{column.name}" if column.name in shared else column.name for column in other.columns]
    return Select(other, tuple(zip(names, other.columns, strict=True)))
