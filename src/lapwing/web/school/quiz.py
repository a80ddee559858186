"""Questions with feedback on every answer, written as YAML in a fence.

    ```quiz
    - ask: What does the scale of Laplace noise depend on?
      options:
        - text: On the size of the data.
          feedback: No. The noise is the same for a hundred people and for a million.
        - text: On sensitivity over epsilon.
          right: true
          feedback: Yes, and on nothing else.
    ```

More than one right option makes it a question with several answers. One answers, then checks: feedback appears once
“Check my answer” is ticked, by style sheet alone, so a quiz needs no script. With scripts the tick is a button.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from lapwing.web.school import plain
from lapwing.web.school.markdown import Markdown
from lapwing.web.school.nugget import InvalidNugget
from lapwing.web.service.plural import counted

_HINT = "Write - ask: …, options: with text, feedback, and right: true where it is right."


@dataclass(frozen=True, slots=True)
class Option:
    """One answer, with what is said when it is chosen."""

    text: str
    feedback: str
    right: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answers."""

    ask: str
    options: tuple[Option, ...]

    @property
    def several(self) -> bool:
        """Whether more than one answer is right."""
        return sum(option.right for option in self.options) > 1


def read_quiz(text: str, *, where: str = "quiz") -> list[Question]:
    """The questions of a fence."""
    try:
        entries = plain.load(text)
    except yaml.YAMLError:
        raise InvalidNugget(where, "a quiz is not YAML", _HINT) from None
    if not isinstance(entries, list) or not entries:
        raise InvalidNugget(where, "a quiz has no questions", _HINT)
    return [_question(entry, where) for entry in entries]


def _question(entry: Any, where: str) -> Question:
    if not isinstance(entry, dict) or set(entry) != {"ask", "options"} or not isinstance(entry["options"], list):
        raise InvalidNugget(where, "a question needs ask and options", _HINT)
    options = tuple(_option(option, where) for option in entry["options"])
    if len(options) < 2 or not any(option.right for option in options) or all(option.right for option in options):
        why = f"of {len(options)} options {sum(option.right for option in options)} are right in {entry['ask']!r}"
        raise InvalidNugget(where, why, "Give at least one right and one wrong option.")
    return Question(str(entry["ask"]), options)


def _option(entry: Any, where: str) -> Option:
    if not isinstance(entry, dict) or not {"text", "feedback"} <= set(entry) <= {"text", "feedback", "right"}:
        raise InvalidNugget(where, "an option needs text and feedback", _HINT)
    return Option(str(entry["text"]), str(entry["feedback"]), entry.get("right") is True)


def quiz_html(questions: list[Question], markdown: Markdown, *, first: int) -> str:
    """The questions as forms; `first` numbers them through the nugget."""
    forms = "".join("".join(_form(question, markdown, first + place)) for place, question in enumerate(questions))
    heading = f"Quiz: {counted(len(questions), 'question')}"
    return f'<section class="quiz"><h3>{heading}</h3><div class="questions">{forms}</div></section>'


def _form(question: Question, markdown: Markdown, number: int) -> Iterator[str]:
    kind = "checkbox" if question.several else "radio"
    prompt = _inline(markdown, question.ask)
    yield f'<form class="question" data-question="{number}"><fieldset><legend>{prompt}</legend>'
    if question.several:
        yield '<p class="note">More than one answer is right.</p>'
    for place, option in enumerate(question.options):
        name = f"q{number}-{place}"
        right = "right" if option.right else "wrong"
        yield (
            f'<div class="option {right}"><input type="{kind}" name="q{number}" id="{name}" value="{place}" '
            f'data-{right}><label for="{name}">{_inline(markdown, option.text)}</label>'
            f'<div class="feedback" id="{name}-f"><span class="verdict">{"Right." if option.right else "Not quite."}'
            f"</span> {_inline(markdown, option.feedback)}</div></div>"
        )
    yield (
        f'<p class="checking"><label class="tick"><input type="checkbox" class="check" id="q{number}-check"> '
        'Check my answer</label><button class="button main" hidden>Check</button>'
        '<span class="result" role="status"></span></p></fieldset></form>'
    )


def _inline(markdown: Markdown, text: str) -> str:
    paragraphs = markdown.html(text).strip()
    return (
        paragraphs.removeprefix("<p>").removesuffix("</p>")
        if paragraphs.count("<p>") == 1
        else paragraphs or html.escape(text)
    )
