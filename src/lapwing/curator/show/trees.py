"""An answer whose rows are nodes of a tree: printed with branches; or its leaves alone, ready for a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing.curator.plan.groups import EVERYTHING_ELSE
from lapwing.curator.show import digits
from lapwing.errors import InvalidCall

if TYPE_CHECKING:
    from lapwing.curator.show.answer import Answer, Column

TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Node:
    """One row of the answer in its place: what leads to it, and the rows below it."""

    row: int
    path: tuple[Any, ...]
    children: tuple[Node, ...] = ()
    above: int = 0
    """How many of its labels are told by the node that it stands below."""

    @property
    def name(self) -> str:
        """What to call it below that node: by all labels from there, if groups between them are not shown."""
        return " / ".join(map(digits.key, self.path[self.above :])) or TOTAL


def roots_of(answer: Answer) -> tuple[Node, ...]:
    """The nodes that have no parent in the answer, each with what is below it."""
    columns = keys_of(answer)
    paths: dict[tuple[Any, ...], int] = {}
    for row, labels in enumerate(zip(*(column.values for column in columns), strict=True)):
        length = next((place for place, label in enumerate(labels) if label is None), len(labels))
        paths[labels[:length]] = row
    below: dict[tuple[Any, ...] | None, list[tuple[Any, ...]]] = {}
    for path in paths:
        parent = next((path[:length] for length in reversed(range(len(path))) if path[:length] in paths), None)
        below.setdefault(parent, []).append(path)

    def node(path: tuple[Any, ...], above: int) -> Node:
        return Node(paths[path], path, tuple(node(child, len(path)) for child in below.get(path, ())), above)

    return tuple(node(path, 0) for path in below.get(None, ()))


def is_tree(answer: Answer) -> bool:
    """Whether its rows are nodes, all of whose labels are still there."""
    names = {column.name for column in answer.columns if column.is_key}
    keys = answer.provenance.get("rollup", {}).get("keys", [])
    return bool(keys) and set(keys) <= names


def is_cut(answer: Answer) -> bool:
    """Whether HAVING or LIMIT left out some of its nodes."""
    return bool(answer.provenance["rollup"].get("cut"))


def keys_of(answer: Answer) -> list[Column]:
    """The columns with the labels of the levels."""
    if not is_tree(answer):
        why = "its rows are not levels of groups, or their keys are not among its columns"
        raise InvalidCall(
            "answer.tree", why, "Ask release_hierarchy(…), or GROUP BY ROLLUP (…) with all keys selected."
        )
    return [answer.table.column(name) for name in answer.provenance["rollup"]["keys"]]


def in_all(answer: Answer, column: Column) -> str:
    """How much it is in all, for a title: where the answer has such a row, and its values are parts of a whole."""
    roots = roots_of(answer)
    whole = column.adds_up and len(roots) == 1 and not (is_cut(answer) and roots[0].path)
    return f": {digits.shown(column)[roots[0].row].value} in all" if whole else ""


def text(answer: Answer, column: str | None = None, most: int = 200) -> str:
    """Every node on a line of its own below its parent, with its values and what the noise may have done."""
    columns = [c for c in answer.columns if not c.is_key] if column is None else [answer.table.column(column)]
    cells = [[f"{cell.value} {cell.beside}".strip() for cell in digits.shown(shown)] for shown in columns]
    lines: list[tuple[str, int]] = []
    roots = roots_of(answer)

    def walk(nodes: Sequence[Node], before: str, top: bool) -> None:
        for place, node in enumerate(nodes):
            last = place == len(nodes) - 1
            branch, trunk = ("", "") if top else ("└─ ", "   ") if last else ("├─ ", "│  ")
            lines.append((before + branch + node.name, node.row))
            walk(node.children, before + trunk, top=False)

    walk(roots, "", top=True)
    shown = lines[:most]
    width = max([len(name) for name, _ in shown], default=0)
    wide = [max([len(c.name), *(len(texts[row]) for _, row in shown)]) for c, texts in zip(columns, cells, strict=True)]
    heads = [" " * width, *(c.name.rjust(size) for c, size in zip(columns, wide, strict=True))]
    rows = ["  ".join(heads).rstrip()]
    for name, row in shown:
        values = [texts[row].rjust(size) for texts, size in zip(cells, wide, strict=True)]
        rows.append("  ".join([name.ljust(width), *values]).rstrip())
    if len(lines) > most:
        rows.append(f"… and {len(lines) - most:,} more: write tree(most={len(lines)}), or use answer.table")
    return "\n".join(rows)


def leaves(answer: Answer) -> tuple[Column, ...]:
    """The rows that are not divided further: a code, the labels that lead to it, and the values."""
    from dataclasses import replace

    from lapwing.curator.show.answer import Column

    keys = [column.name for column in keys_of(answer)]
    secret = answer.provenance["rollup"].get("secret", [])
    ends: list[Node] = []

    def walk(nodes: Sequence[Node]) -> None:
        for node in nodes:
            walk(node.children)
            if not node.children and (not is_cut(answer) or _is_leaf(node, keys, secret)):
                ends.append(node)

    walk(roots_of(answer))
    rows = [node.row for node in ends]
    names = {column.name for column in answer.columns}
    code = next(name for name in ("code", "leaf_code", "map_code") if name not in names)
    shown = [Column(code, "key", _codes(ends))]
    for column in answer.columns:
        spans = [None if part is None else tuple(part[row] for row in rows) for part in (column.noise, column.interval)]
        values = tuple(column.values[row] for row in rows)
        shown.append(replace(column, values=values, noise=spans[0], interval=spans[1]))
    return tuple(shown)


def _is_leaf(node: Node, keys: Sequence[str], secret: Sequence[str]) -> bool:
    """Whether a node would have nothing below it, if all were shown: by its labels."""
    length = len(node.path)
    return length == len(keys) or (length > 0 and node.path[-1] == EVERYTHING_ELSE and keys[length - 1] in secret)


def _codes(ends: Sequence[Node]) -> tuple[Any, ...]:
    """A code for each leaf: its last label, or all of its labels if several leaves are called alike.

    What is left of secret groups is called alike everywhere: that alone does not lengthen the codes of the others.
    """
    last = [node.path[-1] if node.path else TOTAL for node in ends]
    often = Counter(map(str, last))
    if len(often) == len(last):
        return tuple(last)
    every = any(count > 1 for label, count in often.items() if label != EVERYTHING_ELSE)
    return tuple(
        " / ".join(map(_within_path, node.path)) if every or often[str(label)] > 1 else str(label)
        for label, node in zip(last, ends, strict=True)
    )


def _within_path(label: Any) -> str:
    """A label as a part of a path: in quotes where it could be taken for several."""
    return f'"{label}"' if " / " in str(label) else str(label)
