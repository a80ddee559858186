"""How long a nugget takes, measured from what stands in it: words, formulas, tables, widgets, questions, exercises.

An author cannot know how long a reader takes; a formula is no faster to read for being short. So nobody writes minutes:
they are counted, with rates that are stated here.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass

WORDS_A_MINUTE = 220
"""Careful reading: the mean for non-fiction is about 240 (Brysbaert, 2019), and technical text takes longer."""
SECONDS = {
    "formula": 2,
    "display": 15,
    "picture": 15,
    "video": 60,
    "widget": 75,
    "question": 30,
    "code": 360,
    "thought": 120,
}
"""A formula in a line, or on a line of its own; a widget to play with; an exercise in Python, or one to think about."""
SHORT = 10
"""Minutes that the short version of a nugget may take."""

_WORD = re.compile(r"\w[\w’'-]*")
_TAG = re.compile(r"<span class=\"unseen\">[^<]*</span>|<[^>]+>")
_KATEX = re.compile(r'<span class="katex(-display)?">')
_TOOLTIP = re.compile(r'<span class="tip"[^>]*>.*?</a></span>')
_QUIZ = re.compile(r'<section class="quiz".*?</section>', re.DOTALL)
_EXERCISE = re.compile(r'<section class="exercise".*?</section>', re.DOTALL)
_CLOSED = re.compile(r'<details class="block.*?</details>', re.DOTALL)
_WIDGET = re.compile(r"<(lw-[a-z-]+) .*?</\1>", re.DOTALL)
_PICTURE = re.compile(r'<figure class="picture"><svg.*?</svg>', re.DOTALL)
_FEEDBACK = re.compile(r'<div class="feedback".*?</div>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds that a part takes: all of it, and of that what the short version leaves out."""

    all: float
    deeper: float

    def __add__(self, other: Pace) -> Pace:
        return Pace(self.all + other.all, self.deeper + other.deeper)

    @property
    def minutes(self) -> int:
        """All of it, as it is told: up to the next minute."""
        return max(1, math.ceil(self.all / 60))

    @property
    def short(self) -> int:
        """The short version."""
        return max(1, math.ceil((self.all - self.deeper) / 60))


NO_TIME = Pace(0, 0)


def pace_of(shown: str, *, deeper: bool = False) -> Pace:
    """How long a screen takes, from its HTML. Exercises and closed blocks are left out of the short version.

    >>> pace_of("<p>" + "word " * 440 + "</p>").minutes
    2
    """
    text, seconds, left_out = shown, 0.0, 0.0
    for block in _EXERCISE.findall(text):
        kind = "code" if "<lw-exercise" in block else "thought"
        left_out += SECONDS[kind] + _words(_CLOSED.sub("", block.partition("<lw-exercise")[0]))
    text = _EXERCISE.sub(" ", text)
    for block in _QUIZ.findall(text):
        seconds += SECONDS["question"] * block.count("<form") + _words(_FEEDBACK.sub(" ", block))
    text = _QUIZ.sub(" ", text)
    left_out += sum(_words(block) for block in _CLOSED.findall(text))
    text = _CLOSED.sub(" ", text)
    seconds += SECONDS["widget"] * len(_WIDGET.findall(text))
    text = _WIDGET.sub(" ", text)
    seconds += SECONDS["picture"] * len(_PICTURE.findall(text)) + SECONDS["video"] * text.count("<video ")
    seconds += _words(_PICTURE.sub(" ", text))
    whole = seconds + left_out
    return Pace(whole, whole if deeper else left_out)


def _words(shown: str) -> float:
    """Seconds for words and formulas; a tooltip is read by few."""
    text = _TOOLTIP.sub(" ", shown)
    displays = text.count('class="katex-display"')
    formulas = text.count('class="katex"') - displays
    return (
        60 * len(_WORD.findall(html.unescape(_TAG.sub(" ", _without_formulas(text))))) / WORDS_A_MINUTE
        + SECONDS["display"] * displays
        + SECONDS["formula"] * formulas
    )


def _without_formulas(text: str) -> str:
    """Their signs are not words: what KaTeX made is cut out, span by span."""
    kept, place = [], 0
    while match := _KATEX.search(text, place):
        kept.append(text[place : match.start()])
        depth, at = 1, match.end()
        for tag in re.compile(r"<(/?)span\b[^>]*>").finditer(text, at):
            depth += -1 if tag[1] else 1
            at = tag.end()
            if not depth:
                break
        place = at
    return "".join((*kept, text[place:]))
