"""Questions of the lab as forms: which ones fit a table, and what was typed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lapwing.errors import InvalidParameter, LapwingError
from lapwing.web.lab.analyses import ANALYSES, TEACHING_ONLY
from lapwing.web.lab.analyses.forms import Refused
from lapwing.web.lab.analysis import Analysis, Field
from lapwing.web.lab.statement import Statement
from lapwing.web.service.problems import Problem
from lapwing.web.wording import plainly

Asked = dict[str, Any]
"""What was typed, by the name of the field; a list where several can be chosen."""
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a table: its kind, its form, what was typed into it, and what came of that."""

    slug: str
    kind: type[Analysis]
    fields: tuple[Field, ...]
    asked: Asked
    analysis: Analysis | None
    complaint: str = ""
    wrong: str = ""
    """The field that the complaint is about."""

    @property
    def title(self) -> str:
        """In a few words: the kind, what was chosen, and which rows were used if not all."""
        return ", ".join(part for part in (self._named, self.analysis.rows if self.analysis else "") if part)

    @property
    def _named(self) -> str:
        if self.analysis is not None and self.analysis.asked:
            return f"{self.kind.title}: {self.analysis.asked}"
        chosen = [field for field in self.fields if field.titled and field.choices and self.asked.get(field.name)]
        named = [_listed(self.asked[field.name]) for field in chosen]
        typed = (
            []
            if named
            else [_cut(self.asked[field.name]) for field in self.fields if field.titled and field.kind == "text"]
        )
        said = ", ".join(part for part in (*named, *typed) if part)
        return f"{self.kind.title}: {said}" if said else self.kind.title

    @property
    def private(self) -> bool:
        """Whether it has a private answer at all."""
        return self.slug not in TEACHING_ONLY

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What was typed, as a form sends it."""
        pairs = []
        for name, value in self.asked.items():
            pairs += [(name, str(item)) for item in (value if isinstance(value, list) else [value])]
        return pairs


def possible(statement: Statement) -> dict[str, bool]:
    """All kinds of questions, and whether this table has columns for them."""
    offered = {slug: kind for slug, kind in ANALYSES.items() if statement.teaching or slug not in TEACHING_ONLY}
    return {slug: _askable(kind.fields(statement)) for slug, kind in offered.items()}


def question(statement: Statement, slug: str, sent: Iterable[tuple[str, str]] | None) -> Question:
    """The question that a form describes; with nothing sent, the one it begins with."""
    kind = ANALYSES.get(slug)
    if kind is None:
        raise Problem(404, "There is no such question. Choose one of the list.")
    fields = kind.fields(statement)
    if sent is not None or not _askable(fields):
        return _understood(statement, slug, kind, fields, _first(fields) if sent is None else _sent(fields, sent))
    begun = _understood(statement, slug, kind, fields, _first(fields))
    if begun.analysis is None:  # some questions begin with two columns
        begun = _understood(statement, slug, kind, fields, _first(fields, 2))
    return begun


def _understood(
    statement: Statement, slug: str, kind: type[Analysis], fields: tuple[Field, ...], form: Asked
) -> Question:
    if not _askable(fields):
        return Question(slug, kind, fields, form, None)
    try:
        return Question(slug, kind, fields, form, kind.of(statement, form))
    except InvalidParameter as error:
        wrong = error.name if any(field.name == error.name for field in fields) else ""
        return Question(slug, kind, fields, form, None, complaint(error, fields), wrong)
    except LapwingError as error:
        return Question(slug, kind, fields, form, None, plainly(str(error)))


def complaint(error: InvalidParameter, fields: tuple[Field, ...]) -> str:
    """An error in the words of the form: its label instead of the name of the parameter."""
    if isinstance(error, Refused):
        return str(error)
    label = next((field.label for field in fields if field.name == error.name), error.name)
    said = str(error).removeprefix(error.name)
    return plainly(f"{label}{said}")


def _askable(fields: tuple[Field, ...]) -> bool:
    return all(field.choices for field in fields if field.kind in ("choice", "many"))


def _first(fields: tuple[Field, ...], several: int = 1) -> Asked:
    """What a form begins with."""
    values: Asked = {}
    for field in fields:
        names = [name for name, _ in field.choices]
        begins = field.value or (names[0] if names else "")
        others = [name for name in names if name != begins]
        values[field.name] = [begins, *others][:several] if field.kind == "many" else begins
    return values


def _sent(fields: tuple[Field, ...], sent: Iterable[tuple[str, str]]) -> Asked:
    by_name: dict[str, list[str]] = {}
    for name, value in sent:
        by_name.setdefault(name, []).append(value)
    values = _first(fields)
    whole = all(field.name in by_name for field in fields if field.kind != "many")  # a link may name a few fields only
    for field in fields:
        if field.kind == "many" and (whole or field.name in by_name):
            values[field.name] = by_name.get(field.name, [])
        elif field.name in by_name:
            values[field.name] = by_name[field.name][-1]
    return values


def _cut(text: Any) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
