"""What a proof rests on: the code it names, and whatever of the same room that code uses, to the last constant.

A unit of code is a function, a constant, a method, or the head of a class (its bases, fields and constants). Names are
followed through assignments and imports, and `self.x` to the class and its bases; annotations are not followed, because
nothing is computed there. Who names a function with variants (`@f.register`) gets all of them. Nothing is imported.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_DOCUMENTED = ast.Module | ast.ClassDef | _FUNCTION


@dataclass
class Module:
    """One file of source text."""

    name: str
    tree: ast.Module

    @cached_property
    def definitions(self) -> dict[str, list[ast.stmt]]:
        """From a name to what gives it its value, in any branch of the top level."""
        defined: dict[str, list[ast.stmt]] = {}
        for statement in _top(self.tree.body):
            for name in _names(statement):
                defined.setdefault(name, []).append(statement)
        return defined

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """From a name to the module and the name there, wherever in the file it is imported."""
        imported: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                imported |= {alias.asname: (alias.name, "") for alias in node.names if alias.asname}
        return imported

    def variants(self, function: str) -> list[str]:
        """The functions that are registered with this one."""
        return [
            name
            for name, statements in self.definitions.items()
            for statement in statements
            if isinstance(statement, _FUNCTION)
            and any(ast.unparse(one).startswith(f"{function}.register") for one in statement.decorator_list)
        ]


@dataclass
class House:
    """The source text of all rooms."""

    source: Path
    _modules: dict[str, Module | None] = field(default_factory=dict)

    def module(self, name: str) -> Module | None:
        """The module of that name, if there is one."""
        if name not in self._modules:
            base = self.source.joinpath(*name.split("."))
            path = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None)
            self._modules[name] = Module(name, ast.parse(path.read_text(encoding="utf-8"))) if path else None
        return self._modules[name]

    def units(self, covers: Iterable[str]) -> dict[str, str]:
        """From each unit that these entries (`module` or `module:Name`) rest on to its digest, sorted."""
        waiting = [unit for entry in covers for unit in self._units(entry)]
        rooms = {_room(unit) for unit in waiting}
        digests: dict[str, str] = {}
        while waiting:
            unit = waiting.pop()
            if unit in digests or _room(unit) not in rooms:
                continue
            nodes = self._nodes(unit)
            digests[unit] = hashlib.sha256("\n".join(map(_outline, nodes)).encode()).hexdigest()[:12]
            for node in nodes:
                waiting += self._used(unit, node)
        return dict(sorted(digests.items()))

    def _units(self, entry: str) -> Iterator[str]:
        """The units of a module, a class, or whatever else has a name; all of one name if it is a class."""
        name, _, qualname = entry.partition(":")
        module = self.module(name)
        if module is None:
            raise SystemExit(f"{entry}: there is no module {name}")
        if not qualname:
            yield f"{name}:"
            for top in module.definitions:
                yield from self._units(f"{name}:{top}")
            return
        first, *rest = qualname.split(".")
        if first not in module.definitions:
            raise SystemExit(f"{entry}: there is no {first} in {name}")
        classes = [one for one in module.definitions[first] if isinstance(one, ast.ClassDef)]
        if rest:
            if len(rest) > 1 or not any(rest[0] in _names(child) for one in classes for child in one.body):
                raise SystemExit(f"{entry}: there is no {'.'.join(rest)} in {first}")
            yield entry
            return
        yield entry
        for one in classes:
            yield from (f"{entry}.{child.name}" for child in one.body if isinstance(child, _FUNCTION))
        yield from (f"{name}:{variant}" for variant in module.variants(first))

    def _nodes(self, unit: str) -> list[ast.AST]:
        """The syntax of a unit: of a class without its methods, of a module what has no name."""
        name, _, qualname = unit.partition(":")
        module = self.module(name)
        assert module is not None
        if not qualname:
            nameless = [one for one in _top(module.tree.body) if not _names(one) and not _is_import(one)]
            return [one for one in nameless if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        first, _, member = qualname.partition(".")
        statements: list[ast.AST] = list(module.definitions[first])
        if member:
            classes = [one for one in statements if isinstance(one, ast.ClassDef)]
            return [child for one in classes for child in one.body if member in _names(child)]
        return [_head(one) if isinstance(one, ast.ClassDef) else one for one in statements]

    def _used(self, unit: str, node: ast.AST) -> Iterator[str]:
        name, _, qualname = unit.partition(":")
        uses = _Uses()
        uses.visit(node)
        for first, attribute in uses.names:
            if first in ("self", "cls") and "." in qualname:
                yield from self._member(name, qualname.partition(".")[0], attribute)
            else:
                yield from self._named(name, first, attribute)

    def _member(self, module: str, name: str, member: str) -> Iterator[str]:
        """A member of a class, or of one that it builds on."""
        place = self.module(module)
        for statement in place.definitions.get(name, []) if place else []:
            if not isinstance(statement, ast.ClassDef):
                continue
            if any(member in _names(child) for child in statement.body):
                yield f"{module}:{name}.{member}"
                return
            for base in statement.bases:
                for unit in self._named(module, *_first_two(base)):
                    place_of_base, _, base_name = unit.partition(":")
                    if "." not in base_name:
                        yield from self._member(place_of_base, base_name, member)

    def _named(self, module: str, name: str, attribute: str = "") -> Iterator[str]:
        """What a name means in a module: something there, or in the module that it comes from."""
        place = self.module(module)
        if place is None:
            return
        if name in place.definitions:
            yield from self._units(f"{module}:{name}")
        elif name in place.imports:
            origin, original = place.imports[name]
            if original and self.module(f"{origin}.{original}") is None:
                yield from self._named(origin, original)
            elif attribute:
                yield from self._named(f"{origin}.{original}" if original else origin, attribute)


class _Uses(ast.NodeVisitor):
    """The names that code computes with, each with the attribute that is taken of it."""

    def __init__(self) -> None:
        self.names: list[tuple[str, str]] = []

    def visit_Name(self, node: ast.Name) -> None:
        self.names.append((node.id, ""))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self.names.append((node.value.id, node.attr))
        else:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Only its annotation has names."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815


def _room(unit: str) -> str:
    return ".".join(unit.partition(":")[0].split(".")[:2])


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those of its branches too, but not what is there for type checkers only."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try):
            if not (isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)):
                for _, value in ast.iter_fields(statement):
                    if isinstance(value, list):
                        yield from _top([one for one in value if isinstance(one, ast.stmt)])
        else:
            yield statement


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _first_two(base: ast.expr) -> tuple[str, str]:
    """The name that a base class begins with, and its attribute: `plans.Node[int]` is plans, Node."""
    while isinstance(base, ast.Subscript | ast.Call):
        base = base.value if isinstance(base, ast.Subscript) else base.func
    if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
        return base.value.id, base.attr
    return (base.id, "") if isinstance(base, ast.Name) else ("", "")


def _head(one: ast.ClassDef) -> ast.ClassDef:
    body = [child for child in one.body if not isinstance(child, _FUNCTION)]
    return ast.ClassDef(one.name, one.bases, one.keywords, body, one.decorator_list)


def _outline(value: object) -> str:
    """The tree as text. `ast.dump` changes between Python versions; empty fields left out, this does not."""
    match value:
        case ast.Constant():
            return repr(value.value)
        case ast.AST():
            fields = [
                f"{name}={_outline(child)}"
                for name, child in _fields(value)
                if child is not None and child != [] and name not in ("ctx", "type_comment")
            ]
            return f"{type(value).__name__}({', '.join(fields)})"
        case list():
            return f"[{', '.join(map(_outline, value))}]"
    return repr(value)


def _fields(node: ast.AST) -> list[tuple[str, object]]:
    """The fields of a node, documentation removed."""
    if isinstance(node, ast.JoinedStr):  # Python 3.12 adds an empty text after the last replacement field
        return [("values", [part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")])]
    fields: list[tuple[str, object]] = list(ast.iter_fields(node))
    if isinstance(node, _DOCUMENTED):
        body = [one for one in node.body if not _is_text(one)]
        fields = [(name, body if name == "body" else child) for name, child in fields]
    return fields


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is text that documents what stands before it."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
