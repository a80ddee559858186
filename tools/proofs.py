#!/usr/bin/env python3
"""Keep every proof beside the code it proves: list the stale ones, or renew a digest after re-reading the proof.

    tools/proofs.py                      which proofs no longer describe their code? (exit status 1 if any)
    tools/proofs.py --update laplace     I have read laplace.md against the code again: renew its digest

A proof is a markdown file beside the code, with this front matter:

    ---
    covers:
      - lapwing.mechanisms.laplace:Laplace
    source: 1f0c…
    ---

`source` is a hash of the syntax tree of everything in `covers`, without docstrings: comments, formatting and the
Python version do not matter, a changed constant does.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"


@dataclass(frozen=True, slots=True)
class Proof:
    """One markdown proof: what it covers and the digest it was written for."""

    path: Path
    covers: tuple[str, ...]
    source: str

    @property
    def name(self) -> str:
        return self.path.stem

    def digest(self) -> str:
        return source_digest(self.covers)

    def is_current(self) -> bool:
        return self.source == self.digest()


def all_proofs() -> list[Proof]:
    """Every proof of the house, by name. What the school teaches is Markdown too, and proves no code."""
    return [read_proof(path) for path in sorted(SOURCE.rglob("*.md")) if "web" not in path.relative_to(SOURCE).parts]


def read_proof(path: Path) -> Proof:
    """A proof's front matter; the body is for people."""
    match = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.DOTALL)
    if match is None:
        raise SystemExit(f"{path.name}: no front matter (--- covers: … source: … ---)")
    fields: dict[str, list[str]] = {}
    key = ""
    for line in match[1].splitlines():
        if not line.strip():
            continue
        item = re.match(r"\s+- +(.*)", line)
        if item is None:
            key, _, rest = (part.strip() for part in line.partition(":"))
            fields[key] = [word.strip() for word in rest.strip("[]").split(",") if word.strip()]
        else:
            fields[key].append(item[1].strip())
    if not fields.get("covers"):
        raise SystemExit(f"{path.name}: the front matter covers nothing")
    return Proof(path, tuple(fields["covers"]), "".join(fields.get("source", [])))


def source_digest(covers: tuple[str, ...]) -> str:
    """A hash of the code named by `module:Qualname` entries, in their order."""
    text = "\n".join(f"{entry}\n{_outline(_find(entry))}" for entry in covers)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _find(entry: str) -> ast.AST:
    """The definition that `module:Qualname` names, from the source text; nothing is imported."""
    module, _, qualname = entry.partition(":")
    base = SOURCE.joinpath(*module.split("."))
    path = base.with_suffix(".py") if base.with_suffix(".py").exists() else base / "__init__.py"
    node: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    for name in filter(None, qualname.split(".")):
        found = [child for child in getattr(node, "body", []) if name in _names(child)]
        if not found:
            raise SystemExit(f"{entry}: there is no {name} in {path.relative_to(ROOT)}")
        node = found[-1]
    return node


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


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
    """The fields of a node, docstring removed."""
    fields: list[tuple[str, object]] = list(ast.iter_fields(node))
    if isinstance(node, ast.JoinedStr):  # Python 3.12 adds an empty text after the last replacement field
        return [("values", [part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")])]
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        fields = [(name, node.body[1:] if name == "body" else child) for name, child in fields]
    return fields


def update(names: list[str]) -> None:
    """Renew the digests of the proofs named."""
    proofs = {proof.name: proof for proof in all_proofs()}
    for name in names:
        if name not in proofs:
            raise SystemExit(f"no proof called {name}; there are: {', '.join(proofs)}")
        proof = proofs[name]
        before, front, body = proof.path.read_text(encoding="utf-8").split("---\n", 2)
        lines = [line for line in front.splitlines() if not line.startswith("source:")]
        front = "\n".join([*lines, f"source: {proof.digest()}", ""])
        proof.path.write_text("---\n".join([before, front, body]), encoding="utf-8")
        print(f"{name}: {proof.digest()}")


def main() -> int:
    """Check all proofs, or renew some."""
    parser = argparse.ArgumentParser(description="Keep every proof beside the code it proves.")
    parser.add_argument("--update", nargs="+", metavar="NAME", help="renew these digests after re-reading the proofs")
    names = parser.parse_args().update
    if names:
        update(names)
        return 0
    stale = [proof for proof in all_proofs() if not proof.is_current()]
    for proof in stale:
        print(f"{proof.name}: the code changed since this proof was written (now {proof.digest()}): read it again,")
        print(f"    then renew it with: tools/proofs.py --update {proof.name}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
