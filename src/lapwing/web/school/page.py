"""From a nugget to its page: screens, each with the objectives it serves, widgets, quizzes and exercises."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapwing.web.school.exercise import Exercise, exercise_html, read_exercise
from lapwing.web.school.glossary import Glossary
from lapwing.web.school.graph import data_html, graph_html, read_data, read_graph
from lapwing.web.school.markdown import Fence, Markdown
from lapwing.web.school.nugget import InvalidNugget, Nugget
from lapwing.web.school.pace import NO_TIME, SECONDS, SHORT, Pace, pace_of
from lapwing.web.school.picture import pictures
from lapwing.web.school.quiz import Question, quiz_html, read_quiz
from lapwing.web.school.video import read_video, video_html

if TYPE_CHECKING:
    from markdown_it.token import Token

_SERVES = re.compile(r"(?<!\s)\s*\{(?:serves=([0-9,]{1,100}))? ?(deeper)?\}\s*$")
_WIDGET = re.compile(r"[a-z]+(-[a-z]+)*")
_OPTION = re.compile(r"(?<![a-z])([a-z]+)=(\S+)")
_TAG = re.compile(r"<span class=\"unseen\">[^<]*</span>|<[^>]+>")
"""Also the words that only say that a link leads elsewhere: nobody searches for them."""
_NO_OPTION = re.compile(r"on.*|style|class|id|is|slot|part|hidden|inert|popover|title|dir|lang|translate")
"""What a widget cannot be told, because browsers act on it."""
MOST_SCREENS, MOST_FENCES = 60, 60
"""Screens of one nugget; widgets, quizzes, exercises, graphs, tables and pictures."""
PROSE = Markdown()
"""What a task, an answer or a comment may be written in: no blocks, no widgets."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What one sees at once."""

    anchor: str
    title: str
    serves: tuple[int, ...]
    """Which objectives, counted from one."""
    html: str
    deeper: bool = False
    """Whether the short version leaves it out."""
    pace: Pace = NO_TIME
    """How long it takes, measured."""


@dataclass(frozen=True, slots=True)
class Page:
    """A nugget ready to be shown."""

    nugget: Nugget
    screens: tuple[Screen, ...]
    widgets: tuple[str, ...]
    questions: tuple[Question, ...]
    exercises: tuple[Exercise, ...]
    opening: str = ""
    """The figure it opens with."""
    pace: Pace = NO_TIME
    """How long it takes, measured."""

    @property
    def long(self) -> bool:
        """Whether it goes step by step."""
        return self.pace.minutes > SHORT

    @property
    def words(self) -> str:
        """Its text, for searching."""
        return " ".join(html.unescape(_TAG.sub(" ", screen.html)) for screen in self.screens)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A fence that cannot be shown, and why."""

    error: InvalidNugget
    text: str


def page_of(
    nugget: Nugget,
    glossary: Glossary | None = None,
    *,
    wrong: list[Wrong] | None = None,
    first_line: int | None = None,
) -> Page:
    """The page; a nugget that cannot be shown raises `InvalidNugget`.

    With a list for what is `wrong`, fences that cannot be shown are collected there, and say so where they stand.
    With the `first_line` of its body, elements say on which line they were written.
    """
    widgets: list[str] = []
    questions: list[Question] = []
    exercises: list[Exercise] = []

    def widget(rest: str, text: str) -> str:
        name, _, options = rest.partition(" ")
        if not _WIDGET.fullmatch(name):
            raise InvalidNugget(nugget.slug, f"{name!r} is not the name of a widget", "Write ```widget epsilon.")
        told_what = _OPTION.findall(options)
        if refused := [key for key, _ in told_what if _NO_OPTION.fullmatch(key)]:
            raise InvalidNugget(nugget.slug, f"a widget cannot be told {refused[0]!r}", "Leave it out.")
        widgets.append(name)
        settings = "".join(f' {key}="{html.escape(value, quote=True)}"' for key, value in told_what)
        prose = PROSE.html(text) if text.strip() else ""
        return f'<lw-{name} class="widget"{settings}>{prose}</lw-{name}>'

    def quiz(rest: str, text: str) -> str:
        quiz_data = read_quiz(text, where=nugget.slug)
        first = len(questions) + 1
        questions.extend(quiz_data)
        return quiz_html(quiz_data, PROSE, first=first)

    def exercise(rest: str, text: str) -> str:
        exercises.append(read_exercise(text, where=nugget.slug))
        return exercise_html(exercises[-1], PROSE)

    def graph(rest: str, text: str) -> str:
        graph_data = read_graph(text, where=nugget.slug)
        widgets.append("graph")
        return graph_html(graph_data, widgets.count("graph"))

    def data(rest: str, text: str) -> str:
        table_data = read_data(text, rest, where=nugget.slug)
        widgets.append("data")
        return data_html(table_data, widgets.count("data"))

    drawn: set[str] = set()

    def picture(rest: str, text: str) -> str:
        drawing = pictures().get(rest)
        if drawing is None:
            known = ", ".join(pictures())
            raise InvalidNugget(nugget.slug, f"there is no picture {rest[:60]!r}", f"There are {known}.")
        if rest in drawn:
            raise InvalidNugget(nugget.slug, f"the picture {rest} stands twice", "Show it once.")
        drawn.add(rest)
        return drawing.html(PROSE.html(text) if text.strip() else "")

    fences: dict[str, Fence] = {"widget": widget, "quiz": quiz, "exercise": exercise, "graph": graph, "data": data}
    fences["picture"] = picture
    fences["video"] = lambda rest, text: video_html(read_video(text, where=nugget.slug))
    seen = [0]
    handlers = {name: _counted(fence, nugget.slug, seen) for name, fence in fences.items()}
    if wrong is not None:
        handlers = {name: _said_in_place(fence, wrong) for name, fence in handlers.items()}
    opens = handlers["picture"] if wrong is not None else picture
    opening = opens(nugget.picture, "") if nugget.picture else ""
    markdown = Markdown(handlers, blocks=True, glossary=glossary, first_line=first_line)
    screens = tuple(_screens(nugget, markdown))
    if not screens:
        raise InvalidNugget(nugget.slug, "it has no screens", "Begin each screen with ## and a title.")
    begun = Pace(SECONDS["picture"] if opening else 0, 0)
    pace = sum((screen.pace for screen in screens), begun)
    return Page(nugget, screens, tuple(dict.fromkeys(widgets)), tuple(questions), tuple(exercises), opening, pace)


def _counted(fence: Fence, where: str, seen: list[int]) -> Fence:
    def made(rest: str, text: str) -> str:
        seen[0] += 1
        if seen[0] > MOST_FENCES:
            why = f"it has more than {MOST_FENCES} widgets, quizzes, exercises, graphs, tables and pictures"
            raise InvalidNugget(where, why, "Make two nuggets of it.")
        return fence(rest, text)

    return made


def _said_in_place(fence: Fence, wrong: list[Wrong]) -> Fence:
    def made(rest: str, text: str) -> str:
        try:
            return fence(rest, text)
        except InvalidNugget as error:
            wrong.append(Wrong(error, text))
            said = f"{error.why[:1].upper()}{error.why[1:]}. {error.hint}"
            return f'<div class="box warning"><p>{html.escape(said)}</p></div>'

    return made


def _screens(nugget: Nugget, markdown: Markdown) -> Iterator[Screen]:
    anchors: set[str] = set()
    for title, tokens in _cut(markdown.tokens(nugget.body)):
        served = _SERVES.search(title)
        objectives = tuple(int(number) for number in (served[1] or "").split(",") if number) if served else ()
        if any(not 1 <= number <= len(nugget.objectives) for number in objectives):
            why = f"a screen serves {objectives} of {len(nugget.objectives)} objectives"
            raise InvalidNugget(nugget.slug, why, "Count objectives from 1.")
        name = _SERVES.sub("", title)
        anchor = base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "screen"
        number = 1
        while anchor in anchors:
            number += 1
            anchor = f"{base}-{number}"
        anchors.add(anchor)
        if len(anchors) > MOST_SCREENS:
            raise InvalidNugget(nugget.slug, f"it has more than {MOST_SCREENS} screens", "Make two nuggets of it.")
        shown, deeper = markdown.html(tokens), bool(served and served[2])
        yield Screen(anchor, name, objectives, shown, deeper, pace_of(shown, deeper=deeper))


def _cut(tokens: list[Token]) -> Iterator[tuple[str, list[Token]]]:
    """Titles with what follows them; whatever stands before the first title has none."""
    title, place = "", 0
    part: list[Token] = []
    while place < len(tokens):
        token = tokens[place]
        if token.type == "heading_open" and token.tag == "h2" and token.level == 0:
            if part or title:
                yield title, part
            title, part = tokens[place + 1].content, []
            place += 3
            continue
        part.append(token)
        place += 1
    if part or title:
        yield title, part
