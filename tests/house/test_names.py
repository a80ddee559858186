"""Names are nouns: a reader should guess what a binding holds three lines after it was made."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "lapwing"
EMPTY = {"one", "found", "told", "made", "asked"}
"""They say how a thing came about, or nothing: write what it is (`row`, `match`, `answer`, `finding`)."""

LEFT = {
    "experiments": (1, "`asked` is a parameter of the experiment `averaging`"),
    "mechanisms": (2, "`one` is the number 1 in fixed point"),
    "models": (2, "`one` is the number 1, in fixed point or in the arithmetic of the caller"),
    "noise": (3, "`one` is the number 1 in fixed point"),
    "web": (4, "the fields `asked` and `told` are names in templates and in what pages tell their scripts"),
    "exact.py": (1, "`one` is the number 1 in fixed point"),
}
"""How many are left in each room, and why. Lower a number when you rename some; a room not named here has none."""

ROOMS = sorted(path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file())


def bound_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that is bound, with its line: variables, parameters, fields and what is caught or imported."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
                yield name, node.lineno


def empty_names(room: Path) -> list[str]:
    files = [room] if room.is_file() else sorted(room.rglob("*.py"))
    return [
        f"{path.relative_to(SOURCE)}:{line} {name}"
        for path in files
        if "node_modules" not in path.parts
        for name, line in bound_in(ast.parse(path.read_text(encoding="utf-8")))
        if name in EMPTY
    ]


def test_bindings_are_called_what_they_hold() -> None:
    wrong = []
    for room in ROOMS:
        names, (most, _) = empty_names(SOURCE / room), LEFT.get(room, (0, ""))
        if len(names) > most:
            wrong += [f"{room}: {len(names)} bindings, of which {most} may be:", *names]
    assert not wrong, "Call these what they hold:\n" + "\n".join(wrong)


def test_the_table_names_rooms_that_there_are() -> None:
    assert set(LEFT) <= set(ROOMS)


def test_every_kind_of_binding_is_seen() -> None:
    code = """
from a import b as told
def f(one, *, asked=1):
    made: int = 2
    try:
        found = [one for one in asked]
    except E as told:
        pass
    match asked:
        case [made]:
            pass
    return (lambda told: told)(found := made)
"""
    assert Counter(name for name, _ in bound_in(ast.parse(code)) if name in EMPTY) == Counter(
        told=3, one=2, asked=1, made=2, found=2
    )
