"""What a survey asks and with which coins: public, fixed when it is made, the same for all who answer."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lapwing.crowd import BinaryResponse, CategoryResponse, Counts, Reports, StochasticRounding
from lapwing.crowd.reports import header
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.probabilities import flip_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

YES_NO, CHOICE, NUMBER = "yes-no", "choice", "number"
KINDS = {YES_NO: "Yes or no", CHOICE: "One of a list", NUMBER: "A number"}
LONGEST_QUESTION, LONGEST_ANSWER, LONGEST_MEASURE = 300, 80, 30
FEWEST_ANSWERS, MOST_ANSWERS = 2, 20
MOST_LINKS = 500
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 100), Fraction(10)
USUAL_EPSILON = "1.0986122886681098"
"""ln 3: a wheel that keeps three answers out of four, as in the first surveys of this kind."""
HARDLY_HIDDEN = 90
"""If one report can make somebody more than this percent sure, the page warns before anybody answers."""
LONGEST_OPEN = 366
"""Days a survey may be open."""
_DECIMAL = re.compile(r"-?\d{1,9}(\.\d{1,6})?")
_EPSILON = re.compile(r"\d{1,3}(\.\d{1,20})?")
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff"))
"""Signs that come along when something is pasted and show nothing: taken out."""
_JOINERS = "\u200c\u200d"
"""Without which Persian words and some pictures fall apart."""
_BLANK = set("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that look like nothing at all."""
_MOST_MARKS = 4
"""On one letter; more of them would cover the lines above."""

Protocol = BinaryResponse | CategoryResponse | StochasticRounding


@lru_cache(maxsize=256)
def _protocol(kind: str, answers: int, low: str, high: str, flip: Fraction) -> Protocol:
    if kind == YES_NO:
        return BinaryResponse.from_gamma(1 - flip)
    if kind == CHOICE:
        return CategoryResponse(domain=answers, keep=1 - (answers - 1) * flip)
    return StochasticRounding(bounds=(Fraction(low), Fraction(high)), flip=flip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A question, the answers it may have, and the odds.

    `flip` is the probability of each report that is not the truth: of the opposite, of each other answer, of the other
    bound. The loss is stated from it, so it never changes once somebody may have answered.
    """

    kind: str
    question: str
    answers: tuple[str, ...] = ("Yes", "No")
    """In the order they are shown; none if a number is asked for."""
    low: str = ""
    high: str = ""
    measure: str = ""
    """What a number counts, such as hours."""
    flip: Fraction

    @property
    def protocol(self) -> Protocol:
        """Our own `crowd`: what randomises in simulations, states the loss and estimates."""
        return _protocol(self.kind, len(self.answers), self.low, self.high, self.flip)

    @property
    def keep(self) -> Fraction:
        """The probability that what is sent is the truth (for a number: the bound it was rounded to)."""
        return 1 - self.flip * (len(self.answers) - 1 if self.kind == CHOICE else 1)

    @property
    def epsilon(self) -> Fraction:
        """What one report costs, at most."""
        return self.protocol.privacy_loss().epsilon

    @property
    def values(self) -> int:
        """How many different reports there are."""
        return len(self.answers) if self.kind == CHOICE else 2

    def bet(self, times: int = 1) -> int:
        """Somebody who was 50 % sure of one answer rather than another can become at most this sure, in percent.

        If a person answers several times, each with a new turn of the wheel, losses add up and ratios multiply.
        """
        return math.ceil(100 * (ratio := (self.keep / self.flip) ** times) / (1 + ratio))

    @property
    def weak(self) -> bool:
        """Whether one report gives nearly all away."""
        return self.bet() > HARDLY_HIDDEN

    def head(self) -> str:
        """How the bytes of every report begin: the format, the fingerprint of these odds, and that it is one report."""
        return header(self.protocol, 1).hex()

    def read(self, report: str) -> int | None:
        """What one report says; nothing if it is no report of this survey."""
        try:
            reports = Reports.from_bytes(self.protocol, bytes.fromhex(report))
        except (InvalidParameter, ValueError):
            return None
        return int(reports.columns[0][0]) if reports.n == 1 else None

    def counts(self, tally: Sequence[int]) -> Counts:
        """So many reports for each value, as an aggregator keeps them."""
        import numpy as np

        kept = tally if self.kind == CHOICE else tally[1:]
        return Counts(self.protocol, sum(tally), np.array(kept, dtype=np.int64))

    def for_browsers(self) -> dict[str, Any]:
        """What the page of a respondent needs to randomise."""
        return {
            "kind": self.kind,
            "answers": list(self.answers),
            "low": self.low,
            "high": self.high,
            "keep": [str(self.keep.numerator), str(self.keep.denominator)],
            "head": self.head(),
        }


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wrote into the form, read: a design if nothing is wrong, and sentences where something is."""

    design: Design | None
    closes: date
    public: bool
    links: int
    complaints: dict[str, str] = field(default_factory=dict)


def tidy(text: str) -> str:
    """One spelling of every sign, single spaces, and nothing that shows nothing."""
    return " ".join(unicodedata.normalize("NFC", text.translate(_UNSEEN)).split())


def _shows(text: str) -> bool:
    """Whether all of it can be seen, in the order in which it was written."""
    marks = seen = 0
    for sign in text:
        kind = unicodedata.category(sign)
        marks = marks + 1 if kind[0] == "M" else 0
        if marks > _MOST_MARKS or sign in _BLANK or (kind[0] == "C" and sign not in _JOINERS):
            return False
        seen += kind[0] in "LNPS"
    return seen > 0


def _looks(text: str) -> str:
    """The same for answers that look the same."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign not in _JOINERS)


def read_form(form: Mapping[str, str], today: date) -> Wish:
    """A form as it was sent. Nothing in it is trusted, and every complaint says what to write instead."""
    wrong: dict[str, str] = {}
    kind = form.get("kind", "")
    if kind not in KINDS:
        wrong["kind"] = "Choose yes or no, a list, or a number."
    question = _text(form.get("question", ""), LONGEST_QUESTION, "question", "Write the question.", wrong)
    answers: tuple[str, ...] = ("Yes", "No")
    low = high = measure = ""
    if kind == CHOICE:
        answers = _answers(form.get("answers", ""), wrong)
    elif kind == NUMBER:
        answers = ()
        low, high = _bounds(form.get("low", ""), form.get("high", ""), wrong)
        if form.get("measure", "").strip():
            measure = _text(form["measure"], LONGEST_MEASURE, "measure", "", wrong)
    epsilon = _epsilon(form.get("epsilon", ""), wrong)
    closes = _day(form.get("closes", ""), today, wrong)
    links = _links(form.get("links", ""), wrong)
    design = None
    if not wrong:
        flip = flip_probability(epsilon, others=len(answers) - 1 if kind == CHOICE else 1)
        design = Design(kind=kind, question=question, answers=answers, low=low, high=high, measure=measure, flip=flip)
    return Wish(design, closes, form.get("public", "") == "everybody", links, wrong)


def _text(given: str, longest: int, name: str, missing: str, wrong: dict[str, str]) -> str:
    text = tidy(given[: 10 * longest])
    if not text:
        wrong[name] = missing
    elif len(text) > longest or len(given) > 10 * longest:
        wrong[name] = f"Keep it to {longest} characters."
    elif not _shows(text):
        wrong[name] = "It contains characters that cannot be shown. Type it again instead of pasting it."
    return text


def _answers(given: str, wrong: dict[str, str]) -> tuple[str, ...]:
    lines = [line for line in given[: 20 * MOST_ANSWERS * LONGEST_ANSWER].splitlines() if line.strip()]
    if not FEWEST_ANSWERS <= len(lines) <= MOST_ANSWERS:
        wrong["answers"] = (
            f"Write {FEWEST_ANSWERS} to {MOST_ANSWERS} answers, one on each line. More answers make the error larger."
        )
        return ()
    answers = tuple(_text(line, LONGEST_ANSWER, "answers", "", wrong) for line in lines)
    if len({_looks(answer) for answer in answers}) < len(answers):
        wrong.setdefault("answers", "Two answers are the same. Make them different, or leave one out.")
    return answers


def _bounds(low: str, high: str, wrong: dict[str, str]) -> tuple[str, str]:
    low, high = low.strip().replace("−", "-"), high.strip().replace("−", "-")
    if not _DECIMAL.fullmatch(low) or not _DECIMAL.fullmatch(high):
        wrong["bounds"] = "Write two numbers, such as 0 and 24 (or 0.5), with at most nine digits before the point."
    elif not Fraction(low) < Fraction(high):
        wrong["bounds"] = "The smallest answer must be less than the largest one."
    return low, high


def _epsilon(given: str, wrong: dict[str, str]) -> Fraction:
    text = given.strip()
    epsilon = Fraction(text) if _EPSILON.fullmatch(text) else Fraction(0)
    if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        wrong["epsilon"] = (
            f"Choose an epsilon from {float(LEAST_EPSILON):g} to {LARGEST_EPSILON}, such as 1. "
            "A smaller epsilon makes the answers useless; a larger one hides almost nothing."
        )
    return epsilon


def _day(given: str, today: date, wrong: dict[str, str]) -> date:
    last = today + timedelta(days=LONGEST_OPEN)
    try:
        closes = date.fromisoformat(given.strip()) if len(given) <= 12 else today - timedelta(days=1)
    except ValueError:
        closes = today - timedelta(days=1)
    if not today <= closes <= last:
        wrong["closes"] = f"Choose a day from today to {last.isoformat()}."
        return today
    return closes


def _links(given: str, wrong: dict[str, str]) -> int:
    text = given.strip() or "0"
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > MOST_LINKS:
        wrong["links"] = (
            f"Write how many personal links you need, at most {MOST_LINKS}. Write 0 for one link for everybody."
        )
        return 0
    return int(text)
