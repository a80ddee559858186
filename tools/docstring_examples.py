"""For the site: names have the path that people import, docstrings are completed by those of base classes, and their
examples become blocks of code that run as they are shown."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docstring_sections import completed, described
from example_setup import prompted, setup, statements
from griffe import (
    Alias,
    Attribute,
    Class,
    Expr,
    ExprCall,
    ExprKeyword,
    ExprName,
    Extension,
    Function,
    Module,
    Object,
    ParameterKind,
)
from reference_pages import ROOMS, anchor, pages_of

from lapwing import errors
from lapwing._names import LIFTED


class Lifted(Extension):
    """The package has the names of its rooms too. It loads them when they are first used, so griffe cannot see them."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called once, when everything is loaded."""
        both = {**LIFTED, "errors": errors.__all__}  # docstrings name errors that their modules do not import
        for room, names in both.items():
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
            fields = _fields([kind, *bases])
            _complete(kind, bases, list(fields), [name for name, must in fields.items() if must])
            for name, member in kind.members.items():
                if isinstance(member, Attribute):
                    member.value = _value(member.value)
                if isinstance(member, Function):
                    same = [base.members[name] for base in bases if isinstance(base.members.get(name), Function)]
                    _complete(member, same, [each.name for each in member.parameters])
        for kind in _classes(pkg):
            _tidy(kind)


def _value(value: str | Expr | None) -> str | Expr | None:
    """`field(repr=False)` is no value, and `field(default=0, repr=False)` is 0."""
    if not isinstance(value, ExprCall) or str(value.function) != "field":
        return value
    given = {each.name: each.value for each in value.arguments if isinstance(each, ExprKeyword)}
    return f"{given['default_factory']}()" if "default_factory" in given else given.get("default")


def _tidy(kind: Class) -> None:
    """A signature shows no fields of the library, and its keywords in the order in which they are described."""
    given = list(kind.parameters)
    shown = [each for each in given if not each.name.startswith("_")]
    keywords = [each for each in shown if each.kind is ParameterKind.keyword_only]
    others = [each for each in shown if each.kind is not ParameterKind.keyword_only]
    if "dataclass" in kind.labels and kind.docstring is not None:  # base classes come first, which nobody wants to read
        order = list(described(kind.docstring.value))
        keywords.sort(key=lambda each: order.index(each.name) if each.name in order else len(order))
        keywords.sort(key=lambda each: not each.required)
    ends = [each for each in others if each.kind is ParameterKind.var_keyword]
    for each in given:
        del kind.parameters[each.name]
    for each in [*(each for each in others if each not in ends), *keywords, *ends]:
        kind.parameters.add(each)
    kind.labels.discard("dataclass")
    for member in kind.members.values():
        if isinstance(member, Attribute):
            member.labels -= {"class-attribute", "instance-attribute"}


def _classes(module: Module) -> list[Class]:
    found: list[Class] = []
    for member in module.members.values():
        if isinstance(member, Class):
            found.append(member)
        elif isinstance(member, Module):
            found += _classes(member)
    return found


def _fields(kinds: list[Class]) -> dict[str, bool]:
    """What makes a value of a class, and whether it must be given: what `__init__` takes, or the public fields.

    Where a class writes its own `__init__`, a field with a value belongs to the class, and nobody gives it.
    """
    taken = {each.name: each.required for each in kinds[0].parameters}
    maker = next((kind for kind in kinds if "__init__" in kind.members), None)
    written = maker is not None and "dataclass" not in maker.labels
    members = [pair for kind in reversed(kinds) for pair in kind.members.items() if _is_field(*pair)]
    fields = {name: getattr(member, "value", None) is None for name, member in members}
    return {name: must for name, must in fields.items() if must or not written} | taken


def _is_field(name: str, member: Any) -> bool:
    return isinstance(member, Attribute) and member.annotation is not None and not name.startswith("_")


def _complete(member: Object, bases: list[Any], parameters: list[str], required: list[str] | None = None) -> None:
    if member.docstring is not None:
        texts = [base.docstring.value for base in bases if base.docstring is not None]
        member.docstring.value = completed(member.docstring.value, texts, parameters, required or [])


LIBRARY = Path(__file__).resolve().parents[1] / "src" / "lapwing"


@cache
def _proofs() -> list[Path]:
    """The pages beside the code, but for the lessons of the school."""
    return [page for page in sorted(LIBRARY.rglob("*.md")) if page.relative_to(LIBRARY).parts[0] != "web"]


_PROOF = re.compile(r"\bProof: (?P<file>[\w./]+\.md)")


def proof_anchor(page: Path) -> str:
    """The anchor of a proof's page, by which docstrings link to it."""
    return ".".join(["proofs", *page.relative_to(LIBRARY).with_suffix("").parts])


_LABEL = re.compile(r"^(Privacy|Accuracy|Proof|Source|Pre-condition): ", re.MULTILINE)
"""What a paragraph is about, at the beginning of a line."""
_PROOF_AT_THE_END = re.compile(r"(?<=\.) (Proof: \[.*)$", re.MULTILINE)


class Labels(Extension):
    """Called by griffe for every object that the reference shows."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Link to the proofs that a docstring names, and give its claims paragraphs of their own."""
        if obj.docstring is not None:
            text = with_proofs(obj.docstring.value, Path(str(obj.filepath)))
            obj.docstring.value = _LABEL.sub(r"\n**\1:** ", _PROOF_AT_THE_END.sub(r"\n\1", text))


def with_proofs(text: str, module: Path) -> str:
    """The text with a link wherever it names a proof beside the code."""

    def link(match: re.Match[str]) -> str:
        pages = [page for page in _proofs() if page.name == Path(match["file"]).name]
        near = [page for page in pages if page == (module.parent / match["file"]).resolve()] or pages
        return f"Proof: [{match['file']}][{proof_anchor(near[0])}]" if len(near) == 1 else match[0]

    return _PROOF.sub(link, text)


class Examples(Extension):
    """The examples of each page become blocks of code. What they need stands before the first that needs it."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called once, when everything is loaded and completed."""
        pages = [
            {anchor(room, name): target(pkg, anchor(room, name)) for name in names}
            for room in (import_module(f"lapwing.{name}") for name in ROOMS)
            for names in pages_of(room).values()
        ]
        for page in pages:
            for top in page.values():
                if isinstance(top, Class):
                    _bring_inherited(top)
                elif isinstance(top, Function):
                    _return_documented(top, pkg)
        for page in pages:
            known = set[str]()
            for place, top in page.items():
                _show_examples(top, place, known)


def target(pkg: Module, path: str) -> Any:
    """What stands at a path, and no alias of it."""
    found = pkg[path.partition(".")[2]]
    return found.final_target if found.is_alias else found


AGGREGATE = "lapwing.curator.aggregates.base.Aggregate"


def _return_documented(function: Function, pkg: Module) -> None:
    """`lw.count` gives a `Count`, but what a reader needs to know of it is on the page of `Aggregate`."""
    returns = function.returns
    if isinstance(returns, ExprName) and returns.canonical_path.startswith("lapwing."):
        kind = target(pkg, returns.canonical_path)
        if isinstance(kind, Class) and AGGREGATE in {base.canonical_path for base in kind.mro()}:
            function.returns = ExprName("Aggregate", parent=target(pkg, AGGREGATE).module)


def _bring_inherited(kind: Class) -> None:
    """Give a class the members of its base classes, below its own: what they show depends on the page.

    A member that says nothing of itself says what its base class says.
    """
    for depth, base in enumerate(kind.mro(), 1):
        for name, member in base.members.items():
            if name.startswith("_") or member.is_alias or member.docstring is None or _OWNER in member.extra:
                continue
            own = kind.members.get(name)
            if own is not None and (own.is_alias or own.docstring is not None):
                continue
            if own is None:
                own = copy.copy(member)
                own.parent, own.lineno = kind, 100_000 * depth + (member.lineno or 0)
                kind.set_member(name, own)
            words = copy.copy(member.docstring)
            words.parent, own.docstring = own, words  # type: ignore[assignment]
            own.extra = {**own.extra, _OWNER: {"module": member.module.path}}  # type: ignore[misc]


_OWNER = "lapwing"
"""Marks members whose words are those of a base class, and says which module these are in."""


def shown_members(top: Any) -> list[Any]:
    """The members that a page shows, from top to bottom."""
    kinds = (Attribute, Class, Function)
    members = [each for each in top.members.values() if isinstance(each, kinds) and each.name[0] != "_"]
    return sorted(members, key=lambda each: (kinds.index(type(each)), each.lineno or 0))


def _show_examples(top: Any, place: str, known: set[str]) -> None:
    """Put the examples of a public name and of its members into blocks.

    Args:
        top: The class, function, module or constant.
        place: Its anchor on the page.
        known: The names that somebody has who ran everything above. The new ones are added.
    """
    shown = {place: top} | {f"{place}.{each.name}": each for each in shown_members(top) if top.is_class}
    examples = {where: statements(each.docstring.value) for where, each in shown.items() if each.docstring}
    own = {where: source for where, source in examples.items() if source and _OWNER not in shown[where].extra}
    for where, source in examples.items():
        item, text = shown[where], shown[where].docstring.value
        user = _calling(item.name, own) if isinstance(item, Function) and where != place and where not in own else None
        if user is not None and (user == place or not source):
            title = shown[user].name if user == place else f"{top.name}.{shown[user].name}"
            item.docstring.value = f"{without_examples(text)}\n\n{_see(title, user)}"
        elif source:
            module = item.extra.get(_OWNER, {}).get("module", item.module.path)
            item.docstring.value = fenced(text, setup(source, known, module), where)
    if top.is_module:
        for each in shown_members(top):
            _show_examples(each, f"{place}.{each.name}", known)


def _calling(name: str, examples: dict[str, str]) -> str | None:
    """The first place whose example calls a method of this name."""
    return next((where for where, source in examples.items() if re.search(rf"\.{name}\(", source)), None)


def _see(title: str, place: str) -> str:
    words = f'<a href="#{place}--example">see the example of <code>{title}</code></a>'
    return f'<p><span class="doc-section-title">Example:</span> {words}.</p>'


def without_examples(text: str) -> str:
    """The text without each run of lines from `>>>` to the next empty line."""
    return "\n".join(line for line, inside in _marked(text) if not inside).strip()


def fenced(text: str, before: Iterable[str] = (), place: str = "") -> str:
    """The text with a fence around each run of lines from `>>>` to the next empty line, and a heading over the first.

    Args:
        text: A docstring.
        before: Statements that stand before the first example.
        place: The anchor of what the docstring is about. That of the heading follows from it.
    """
    lines: list[str] = []
    is_before, runs = False, 0
    for line, inside in [*_marked(text), ("", False)]:
        if inside and not is_before:
            heading = f'<p id="{place}--example"><span class="doc-section-title">Example:</span></p>'
            lines += ["", *([heading, ""] if runs == 0 else []), "```pycon", *(prompted(before) if runs == 0 else [])]
            runs += 1
        if is_before and not inside:
            lines.append("```")
        lines.append(line)
        is_before = inside
    return "\n".join(lines).rstrip()


def _marked(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to an example."""
    inside = False
    for line in text.splitlines():
        inside = line.lstrip().startswith(">>>") or (inside and bool(line.strip()))
        yield (line.strip() if inside and line.lstrip().startswith((">>>", "...")) else line), inside
