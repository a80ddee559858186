"""Straight quotation marks become curly ones, in time that grows with the text and not with its square.

The rule of markdown-it does the same, but looks through all marks that are still open whenever one closes, and copies
the whole text for every mark: 60,000 characters of quotation marks held a thread for half a minute. Here the last open
mark of each kind is known, and every text is put together once. A test compares both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

SINGLE, DOUBLE = "'", '"'
CURLY = {SINGLE: ("‘", "’"), DOUBLE: ("“", "”")}
_APOSTROPHE = "’"
_BREAKS = ("softbreak", "hardbreak")


@dataclass(frozen=True, slots=True)
class Opening:
    """A mark that may open a quotation and has not been closed."""

    sign: str
    token: int
    place: int
    level: int


class Openings:
    """Those that are still open, in the order of the text. What is nested deeper never stands before the rest."""

    def __init__(self) -> None:
        self._all: list[Opening] = []
        self._places: dict[str, list[int]] = {SINGLE: [], DOUBLE: []}

    def add(self, opening: Opening) -> None:
        """One more."""
        self._places[opening.sign].append(len(self._all))
        self._all.append(opening)

    def leave(self, level: int) -> None:
        """Nothing that is nested deeper can be closed any more."""
        while self._all and self._all[-1].level > level:
            self._pop()

    def close(self, sign: str, level: int) -> Opening | None:
        """The one that this mark closes, if any; those that stand behind it are given up."""
        places = self._places[sign]
        if not places or self._all[places[-1]].level < level:
            return None
        place = places[-1]
        while len(self._all) > place + 1:
            self._pop()
        return self._pop()

    def _pop(self) -> Opening:
        last = self._all.pop()
        self._places[last.sign].pop()
        return last


def curly_quotes(state: StateCore) -> None:
    """A rule of the parser, in place of `smartquotes`."""
    for token in state.tokens:
        if token.type == "inline" and token.children and (SINGLE in token.content or DOUBLE in token.content):
            _curl(token.children)


def _curl(tokens: Sequence[Token]) -> None:
    changed: dict[int, list[str]] = {}
    openings = Openings()
    for number, token in enumerate(tokens):
        openings.leave(token.level)
        if token.type != "text" or not (SINGLE in token.content or DOUBLE in token.content):
            continue
        text = token.content
        signs = changed[number] = list(text)
        for place, sign in enumerate(text):
            if sign not in CURLY:
                continue
            before = text[place - 1] if place else _last_before(tokens, number)
            behind = text[place + 1] if place + 1 < len(text) else _first_behind(tokens, number)
            opens, closes = _may(sign, before, behind)
            opening = openings.close(sign, token.level) if closes else None
            if opening is not None:
                changed[opening.token][opening.place], signs[place] = CURLY[sign]
            elif opens:
                openings.add(Opening(sign, number, place, token.level))
            elif sign == SINGLE:
                signs[place] = _APOSTROPHE
    for number, signs in changed.items():
        tokens[number].content = "".join(signs)


def _may(sign: str, before: str, behind: str) -> tuple[bool, bool]:
    """Whether a mark between these two signs can open a quotation, and whether it can close one."""
    if sign == behind == DOUBLE and "0" <= before <= "9":
        return False, False  # 1"": inches
    after_space, before_space = _is_space(before), _is_space(behind)
    after_point, before_point = _is_point(before), _is_point(behind)
    opens = not before_space and (not before_point or after_space or after_point)
    closes = not after_space and (not after_point or before_space or before_point)
    if opens and closes:  # between signs such as hyphens, but not within a word
        return after_point, before_point
    return opens, closes


def _is_space(sign: str) -> bool:
    return isWhiteSpace(ord(sign))


def _is_point(sign: str) -> bool:
    return isMdAsciiPunct(ord(sign)) or isPunctChar(sign)


def _last_before(tokens: Sequence[Token], number: int) -> str:
    for place in range(number - 1, -1, -1):
        if tokens[place].type in _BREAKS:
            break
        if tokens[place].content:
            return tokens[place].content[-1]
    return " "


def _first_behind(tokens: Sequence[Token], number: int) -> str:
    for place in range(number + 1, len(tokens)):
        if tokens[place].type in _BREAKS:
            break
        if tokens[place].content:
            return tokens[place].content[0]
    return " "
