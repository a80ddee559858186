"""For the site: names have the path that people import, docstrings are completed by those of base classes, and their
examples become blocks of code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docstring_sections import completed
from griffe import Alias, Attribute, Class, Extension, Function, Module, Object

from lapwing._names import LIFTED


class Lifted(Extension):
    """The package has the names of its rooms too. It loads them when they are first used, so griffe cannot see them."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called once, when everything is loaded."""
        for room, names in LIFTED.items():
            for name in names:
                pkg.set_member(name, Alias(name, f"{pkg.path}.{room}.{name}"))


class Inherited(Extension):
    """A method shows what its base classes say of the parameters that it does not describe itself."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called once, when everything is loaded."""
        for kind in _classes(pkg):
            try:
                bases = kind.mro()
            except (ValueError, AttributeError):  # of a base that is not ours, nothing is known
                continue
            _complete(kind, bases, _fields([kind, *bases]))
            for name, member in kind.members.items():
                if isinstance(member, Function):
                    same = [base.members[name] for base in bases if isinstance(base.members.get(name), Function)]
                    _complete(member, same, [each.name for each in member.parameters])


def _classes(module: Module) -> list[Class]:
    found: list[Class] = []
    for member in module.members.values():
        if isinstance(member, Class):
            found.append(member)
        elif isinstance(member, Module):
            found += _classes(member)
    return found


def _fields(kinds: list[Class]) -> list[str]:
    """What makes a value of a class: what its `__init__` takes, or the public fields of it and its bases."""
    taken = [each.name for each in kinds[0].parameters]
    found = [name for kind in reversed(kinds) for name, member in kind.members.items() if _is_field(name, member)]
    return list(dict.fromkeys([*taken, *found]))


def _is_field(name: str, member: Any) -> bool:
    return isinstance(member, Attribute) and member.annotation is not None and not name.startswith("_")


def _complete(member: Object, bases: list[Any], parameters: list[str]) -> None:
    if member.docstring is not None:
        texts = [base.docstring.value for base in bases if base.docstring is not None]
        member.docstring.value = completed(member.docstring.value, texts, parameters)


LIBRARY = Path(__file__).resolve().parents[1] / "src" / "lapwing"
_PROOF = re.compile(r"\bProof: (?P<file>[\w./]+\.md)")


def proof_anchor(page: Path) -> str:
    """The anchor of a proof's page, by which docstrings link to it."""
    return ".".join(["proofs", *page.relative_to(LIBRARY).with_suffix("").parts])


class Examples(Extension):
    """Called by griffe for every object that the reference shows."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Put a fence around every example of a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = with_proofs(fenced(obj.docstring.value), Path(str(obj.filepath)))


def with_proofs(text: str, module: Path) -> str:
    """The text with a link wherever it names a proof beside the code."""

    def link(match: re.Match[str]) -> str:
        page = (module.parent / match["file"]).resolve()
        return f"Proof: [{match['file']}][{proof_anchor(page)}]" if page.is_file() else match[0]

    return _PROOF.sub(link, text)


def fenced(text: str) -> str:
    """The text with a fence around each run of lines from `>>>` to the next empty line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>>") and not inside:
            inside = True
            lines += ["", "```pycon"]
        elif inside and not line.strip():
            inside = False
            lines += ["```"]
        lines.append(line.strip() if inside and line.lstrip().startswith((">>>", "...")) else line)
    return "\n".join([*lines, *["```"] * inside])
