"""What must stand before an example of a docstring, so that a reader can run it: imports, and the table `patients`.

A docstring stands in its module, so its examples may use the names of that module, `lw` and `patients`. A reader has
none of these. The site prints the lines that bring them, where a page first needs them.
"""

from __future__ import annotations

import builtins
import doctest
import re
import symtable
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from types import ModuleType

from reference_pages import ROOMS, pages_of, public_path, value_of

LIBRARY = "import lapwing as lw"
PATIENTS = """\
from lapwing.datasets import clinic_csv
regions = ["North", "South", "East", "West", "Coast", "Islands"]
patients = lw.open(
    clinic_csv(),
    name="patients",
    unit="patient",
    bounds={"age": (0, 100), "cost": (0, 2000), "visits": (0, 20)},
    keys={"region": regions},
    types={"smoker": "boolean"},
)
"""
"""The table of the examples. `src/conftest.py` runs these lines, and the site prints them."""


class NotForReaders(Exception):
    """An example uses a name that no reader can import."""


def statements(text: str) -> str:
    """The statements of all examples in a docstring, without their results."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


def free_names(source: str) -> list[str]:
    """The names that these statements use and do not bind, in the order of the alphabet."""
    used = _used(symtable.symtable(source, "example", "exec"), is_top=True)
    return sorted(set(used) - bound_names(source) - set(dir(builtins)))


def bound_names(source: str) -> set[str]:
    """The names that somebody has who ran these statements."""
    symbols = symtable.symtable(source, "example", "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def _used(table: symtable.SymbolTable, *, is_top: bool = False) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_top or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _used(inner)


def setup(source: str, known: set[str], module: str) -> list[str]:
    """The lines to write before these statements.

    Args:
        source: The statements of an example.
        known: Names that the page has brought before. The new ones are added.
        module: The module that the docstring is in.

    Raises:
        NotForReaders: If a name is known inside the library only.
    """
    missing = {name for name in free_names(source) if name not in known}
    if "patients" in missing and "lw" not in known:
        missing.add("lw")
    plain, names = [], dict[str, list[str]]()
    for name in sorted(missing - {"lw", "patients"}):
        line, place = _import(name, module)
        if place:
            names.setdefault(place, []).append(name)
        else:
            plain.append(line)
    plain += [LIBRARY] if "lw" in missing else []
    lines = [*plain, *(f"from {place} import {', '.join(names[place])}" for place in sorted(names))]
    lines += PATIENTS.splitlines() if "patients" in missing else []
    known |= missing | bound_names(source)
    return lines


def prompted(lines: Iterable[str]) -> list[str]:
    """The lines as Python asks for them: `>>>` before a statement, `...` before the lines that go on."""
    return [f"{'...' if re.match(r'[ )]', line) else '>>>'} {line}" for line in lines]


def _import(name: str, module: str) -> tuple[str, str]:
    """The line that imports a name, and the package if it is imported from one."""
    value = vars(import_module(module)).get(name)
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    ours = home.partition(".")[0] == "lapwing"
    if isinstance(value, ModuleType):
        if ours and home.partition(".")[2] in ROOMS:
            return "", home.rpartition(".")[0]
        if not ours:
            return f"import {home}" if home == name else f"import {home} as {name}", ""
    elif place := _places().get((name, id(value))):
        return "", place
    elif not ours and getattr(sys.modules.get(home), name, None) is value is not None:
        return "", home
    raise NotForReaders(f"{module}: an example uses {name}, which no reader can import. Import it in the example.")


@cache
def _places() -> dict[tuple[str, int], str]:
    """The package of each public name. Values may be equal and belong to two packages, so they count by identity."""
    places: dict[tuple[str, int], str] = {}
    for room in reversed([import_module(f"lapwing.{name}") for name in ROOMS]):
        for name in chain.from_iterable(pages_of(room).values()):
            value, (place, _, last) = value_of(room, name), public_path(room, name).rpartition(".")
            places[last, id(value)] = place
            if isinstance(value, ModuleType):
                places |= {(each, id(vars(value)[each])): value.__name__ for each in vars(value) if each[0] != "_"}
    return places
