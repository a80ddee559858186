"""The clauses of a SELECT: which are read, and what is said about the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from lapwing.curator.plan.parser import chain, cut, shown
from lapwing.errors import UnsupportedQuery

_LATER = "Write it at the end of the whole query, where it works on the answer, or leave it out."
_INSIDE = "which rows it keeps would depend on other people's rows"
_SAMPLED = "Leave it out: max_rows_per_group= and max_groups_per_unit= limit the rows per unit."
_WINDOW = ("the value of a row would depend on rows of other people", "Group by the unit in a sub-query instead.")
_REASONS: dict[str, tuple[str, str]] = {
    "limit": (_INSIDE, _LATER),
    "offset": (_INSIDE, _LATER),
    "order": ("the order of rows has no effect here", _LATER),
    "sample": ("which rows a sample takes is up to the engine", _SAMPLED),
    "qualify": _WINDOW,
    "windows": _WINDOW,
    "distinct": ("rows are never shown", "Write SELECT key, COUNT(*) FROM … GROUP BY key."),
    "pivots": ("the values of a column would become names", "Write GROUP BY, or SUM(CASE WHEN … THEN x END)."),
    "laterals": ("it makes rows without a known unit", "Join a public table on a column."),
    "joins": ("nested joins are not read", "Write one join after the other, or a sub-query."),
    "recursive": ("the number of repetitions would depend on the data", "Write WITH without RECURSIVE."),
    "columns": ("columns are not renamed here", "Rename them in the SELECT: SELECT x AS y."),
    "method": ("it pairs rows by more than equality", "Write JOIN … ON a.x = b.x."),
    "by_name": ("columns are matched by their place", "Write UNION with the same columns in the same order."),
    "on": ("which of several rows it takes is up to the engine", "Group by the unit in a sub-query, with MIN or MAX."),
    "into": ("nothing is written", "Leave it out: the answer is returned."),
    "locks": ("nothing is locked", "Leave it out."),
    "all": ("the keys are not named", "Write GROUP BY with the names of the keys."),
    "group": (
        "EXISTS is about rows",
        "Put the grouped query into FROM: EXISTS (SELECT 1 FROM (…) g WHERE g.unit = …).",
    ),
}
_REASONS["having"] = _REASONS["group"]
_OTHERWISE = ("this clause is not read", "Leave it out.")


def clauses(node: exp.Expr, *known: str) -> None:
    """Refuse a node with clauses other than these."""
    for name, value in node.args.items():
        plain = name.rstrip("_")
        if not value or plain in known or plain == "comments":
            continue
        first = value[0] if isinstance(value, list) else value
        fragment = shown(first) if isinstance(first, exp.Expr) else f"{plain.upper()} in {shown(node)}"
        raise UnsupportedQuery(cut(fragment), *_REASONS.get(plain, _OTHERWISE))


def part(node: exp.Expr, name: str) -> Any:
    """A clause by its name; some versions of sqlglot write `from_` for `from`."""
    return node.args.get(name) or node.args.get(f"{name}_")


def unwrapped(node: exp.Expr) -> exp.Expr:
    """What parentheses are around."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that must all hold."""
    node = unwrapped(node)
    if not isinstance(node, exp.And):
        return [node]
    return [condition for link in chain(node) for condition in conjuncts(link)]


def inner_query(node: exp.Expr) -> exp.Expr:
    """The query in parentheses."""
    while isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        clauses(node, "this")
        node = node.this
    return node


def unique(name: str, taken: Sequence[str] | set[str]) -> str:
    """A name that is not taken yet."""
    number = 2
    candidate = name
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
