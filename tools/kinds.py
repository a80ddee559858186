#!/usr/bin/env python3
"""What the lab tells its scripts as JSON, as types of TypeScript: written from the types of Python, never by hand.

tools/kinds.py            write src/lapwing/web/frontend/src/lab/kinds.ts
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

KINDS = Path(__file__).resolve().parent.parent / "src/lapwing/web/frontend/src/lab/kinds.ts"
PLAIN = {str: "string", float: "number", int: "number", bool: "boolean", type(None): "null"}
LEFT_OUT = {"loss"}
"""Losses stay on the server."""


def written() -> str:
    """The whole file."""
    from lapwing.web.lab.result import FOR_BROWSERS

    head = "// What the server says about questions and answers, as JSON. Written by tools/kinds.py from result.py."
    return "\n".join([head, *(_interface(kind) for kind in FOR_BROWSERS)])


def _interface(kind: type) -> str:
    hints = typing.get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        hints = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    lines = [f"  {_field(name, hint)};" for name, hint in hints.items() if name not in LEFT_OUT]
    return "\n".join([f"export interface {kind.__name__} {{", *lines, "}", ""])


def _field(name: str, hint: Any) -> str:
    if typing.get_origin(hint) is typing.NotRequired:
        return f"{name}?: {_type(typing.get_args(hint)[0])}"
    return f"{name}: {_type(hint)}"


def _type(hint: Any) -> str:
    """A type of Python, as JSON has it, in TypeScript."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(map(_type, inner))
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"[{', '.join(map(_type, inner))}]"
    if origin in (tuple, list, Sequence):
        of = _type(inner[0])
        return f"({of})[]" if " " in of and not of.startswith("[") else f"{of}[]"
    assert isinstance(hint, type), hint
    return hint.__name__


if __name__ == "__main__":
    if not KINDS.exists() or KINDS.read_text(encoding="utf-8") != written():  # an old file stays old
        KINDS.write_text(written(), encoding="utf-8")
