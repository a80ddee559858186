"""The recommendation: what the rules say to a whole interview, in numbers and in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

from lapwing.privacy.explanation import Explanation, explain
from lapwing.privacy.notation import at_most, written_up
from lapwing.web.guide import rules as engine
from lapwing.web.guide.answers import MOST_PEOPLE, QUESTIONS, WANTED, Answers
from lapwing.web.guide.expectations import Bar, Expectation, counted_in, share_of
from lapwing.web.guide.plan import Plan, named, parts, plan
from lapwing.web.guide.rules import Rule
from lapwing.web.guide.snippets import number, program
from lapwing.web.guide.trial import expected

HEADLINES = {
    "yes": "Yes, use differential privacy",
    "partly": "Yes, but not for all of your questions",
    "not yet": "Not yet",
    "no": "No, differential privacy is not for this",
}
MODELS = {
    "central": "with a curator",
    "secure sum": "with a secure sum",
    "two servers": "with two servers",
    "shuffled": "with a mixer",
    "local": "on people's own devices",
}
_FEWEST, _MOST_READ, _ROUNDS = 20, 6, 8


@dataclass(frozen=True, slots=True)
class Tool:
    """Something or somebody that helps."""

    name: str
    text: str
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Days:
    """Whether the counts of single days of a running total can be used, and what to publish if not."""

    enough: bool
    needed: int
    """About so many people would be enough; 0 if nobody can say."""
    instead: str
    """What to do; nothing if they are accurate enough."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """One question: what to expect, and whether that is enough."""

    ask: str
    expected: Expectation
    enough: bool
    needed: int
    """About so many people would be enough; 0 if nobody can say."""
    days: Days | None = None
    """Of a running total. The other numbers are then about the total."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What becomes of one question of the interview."""

    ask: str
    outlook: Outlook | None
    """None if it cannot be answered where the noise is added, or not privately at all."""

    @property
    def enough(self) -> bool:
        """Whether the answer will be as accurate as wanted."""
        return self.outlook is not None and self.outlook.enough


@dataclass(frozen=True, slots=True)
class Advice:
    """All that the guide has to say."""

    answers: Answers
    verdict: str
    rules: tuple[Rule, ...]
    plan: Plan | None
    outlook: tuple[Outlook, ...]
    explanation: Explanation | None
    program: str

    @property
    def headline(self) -> str:
        """The verdict, for the top of a page."""
        return HEADLINES[self.verdict]

    @property
    def reasons(self) -> list[Rule]:
        """Those rules that gave this verdict."""
        return [rule for rule in self.rules if rule.verdict == self.verdict]

    @property
    def replies(self) -> list[Reply]:
        """Each question of the interview, and whether it will be answered well enough."""
        return _replies(self.answers, self.plan, self.outlook)

    def about(self, *topics: str) -> list[Rule]:
        """Rules that fired about something."""
        return [rule for rule in self.rules if rule.topic in topics]

    def by(self, name: str) -> Rule | None:
        """The rule that settled a parameter."""
        return engine.settled_by(self.rules, name)

    @property
    def tools(self) -> list[Tool]:
        """Each once, in the order of the rules."""
        named = [name for rule in self.rules for name in rule.then.get("tools", ())]
        return [tools()[name] for name in dict.fromkeys(named)] if self.verdict != "no" else []

    @property
    def read(self) -> list[str]:
        """Nuggets to read: those of the verdict first, then what most rules name."""
        named = [slug for rule in self.reasons for slug in rule.read]
        others = [slug for rule in self.rules for slug in rule.read]
        often = Counter(others)  # not of the list itself, which is empty while it is sorted
        others.sort(key=lambda slug: -often[slug])
        return list(dict.fromkeys(named + (others if self.verdict != "no" else [])))[:_MOST_READ]

    @property
    def model(self) -> str:
        """Where noise is added, in words."""
        return MODELS[self.plan.model] if self.plan else ""

    @property
    def guarantee(self) -> str:
        """The whole promise in one line."""
        if self.plan is None:
            return ""
        return f"{self.plan.loss}{', against everybody except both servers together' if self._two_servers else ''}"

    @property
    def _two_servers(self) -> bool:
        return self.plan is not None and self.plan.model == "two servers"

    @property
    def split(self) -> str:
        """How the budget is shared out."""
        current = self.plan
        if current is None:
            return ""
        if current.model == "local":
            again = " Reports that are sent again cost nothing more while the answer stays the same."
            return (
                f"Every report costs ε = {number(current.part_epsilon)}.{again if self.answers.often != 'once' else ''}"
            )
        if current.model == "shuffled":
            per = (
                f" and ε = {number(current.epsilon / current.releases)} for each release"
                if current.releases > 1
                else ""
            )
            return (
                f"Each report is randomised with ε = {number(current.part_epsilon)}. In a shuffled batch of "
                f"{current.reports:,} that is at most ε = {number(current.epsilon)} in all{per}."
            )
        if current.steps > 1:
            each = "" if current.parts == 1 else f" each of {_several(current.parts, 'question')} gets"
            return (
                f"Paid once, for all {current.steps} days together:{each or ' the whole budget,'} "
                f"ε = {number(current.part_epsilon)}."
            )
        if current.parts == 1:
            return "One question, one release: it gets the whole budget."
        shared = f"{_several(current.releases, 'release')} of {_several(len(current.asks), 'question')}"
        if current.part_rho:
            return (
                f"{shared}: each part gets ρ = {number(current.part_rho)} of zCDP "
                f"(for pure mechanisms ε = {number(current.part_epsilon)}), which adds up to the total."
            )
        return f"{shared}: each part gets ε = {number(current.part_epsilon)}, which adds up to the total."

    @property
    def odds(self) -> str:
        """What the promise means, in a sentence."""
        if self.explanation is None or self.plan is None:
            return ""
        data = self.explanation.data
        what = "what somebody answered" if self.plan.relation == "replace" else "that somebody is in the data"
        said = (
            f"An attacker who was {data['out_of_100_before']} % sure {what} can become "
            f"{at_most(data['out_of_100_after'])} sure. No answer becomes more than "
            f"{written_up(data['odds_factor'], 4)} times as likely because of one person."
        )
        rare = ""
        if self.plan.delta:
            one_in = f"1 in {round(1 / self.plan.delta):,}"
            rare = f" This leaves δ aside, an additional probability of {one_in} by which the promise may be exceeded."
        together = " If both servers work together, they learn every answer." if self._two_servers else ""
        return said + rare + together


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@cache
def tools() -> Mapping[str, Tool]:
    """All that rules may name."""
    text = files("lapwing").joinpath("web", "guide", "tools.yaml").read_text(encoding="utf-8")
    return {name: Tool(**entry) for name, entry in yaml.safe_load(text).items()}


def known(answers: Answers) -> dict[str, Any]:
    """The facts that follow from the answers alone."""
    facts = {field.name: getattr(answers, field.name) for field in fields(answers)}
    return facts | {"statistics": len(answers.statistics)}


def first_rules(answers: Answers) -> list[Rule]:
    """What fires before anything is computed."""
    facts = known(answers)
    facts["parts"] = parts(answers, engine.fired(facts))
    return engine.fired(facts)


@lru_cache(maxsize=512)
def advise(answers: Answers) -> Advice:
    """The recommendation for an interview. The same answers always give the same."""
    rules = first_rules(answers)
    draft = plan(answers, rules) if engine.verdict(rules) == "yes" else None
    outlook = _outlook(answers, rules, draft) if draft else ()
    facts = known(answers) | {"parts": draft.parts if draft else 0}
    if draft:
        met = sum(outcome.enough for outcome in outlook)
        left = sum(reply.outlook is None for reply in _replies(answers, draft, outlook))
        noisy = sum(outcome.days is not None and not outcome.days.enough for outcome in outlook)
        facts |= {"met": met, "missed": len(outlook) - met, "left": left, "noisy_days": noisy}
    rules = engine.fired(facts)
    return Advice(
        answers,
        engine.verdict(rules),
        tuple(rules),
        draft,
        outlook,
        explain(draft.loss) if draft else None,
        program(draft) if draft else "",
    )


def _replies(answers: Answers, draft: Plan | None, outlook: tuple[Outlook, ...]) -> list[Reply]:
    """Nothing where no answer was foretold."""
    if draft is None:
        return []
    by_ask = {outcome.ask: outcome for outcome in outlook}
    return [Reply(ask, by_ask.get(named(answers, ask))) for ask in answers.ask]


def _outlook(answers: Answers, rules: list[Rule], draft: Plan) -> tuple[Outlook, ...]:
    outcomes, wanted = [], WANTED[answers.need]
    for ask in draft.asks:
        outcome = expected(draft, ask)
        needed, days = _needed(answers, rules, ask, outcome.error), _days(answers, rules, draft, ask, outcome)
        outcomes.append(Outlook(ask, outcome, outcome.error <= wanted, needed, days))
    return tuple(outcomes)


def _days(answers: Answers, rules: list[Rule], draft: Plan, ask: str, outcome: Expectation) -> Days | None:
    if not outcome.windows:
        return None
    day, *longer = outcome.windows
    wanted = WANTED[answers.need]
    if day.error <= wanted:
        return Days(True, 0, "")
    needed = _needed(answers, rules, ask, day.error, lambda other: other.windows[0].error)
    grouped = outcome.relative_to == "the smallest group" and answers.groups > 1
    too_noisy = "Single days are too noisy to use"
    usable = next((window for window in longer if window.error <= wanted), None)
    if usable:
        name = "weeks" if usable.days == 7 else f"counts of {usable.days} days"
        share = share_of(usable.error, "what is counted in the smallest group" if grouped else "what is counted")
        off = f"the count of any {usable.days} days is off by up to {counted_in(usable.within, draft.rows)}, {share}"
        return Days(False, needed, f"{too_noisy}. Publish {name} instead: {off}.")
    spans = " or ".join(str(window.days) for window in longer)
    so_are = f"{too_noisy}{f', and so are the counts of {spans} days' if longer else ''}."
    totals = " Publish totals only." if outcome.error <= wanted else ""
    fewer = " Fewer groups would help, because each has more people." if grouped else ""
    return Days(False, needed, f"{so_are}{totals}{fewer}")


def _needed(
    answers: Answers,
    rules: list[Rule],
    ask: str,
    error: float,
    error_of: Callable[[Expectation], float] = lambda outcome: outcome.error,
) -> int:
    """The fewest people that would be enough, as a number with two digits; 0 if they are already, or if nobody can say.

    Errors fall like 1/n with a curator and like 1/√n without one, but none is more than everything, and no group has
    less than one person. So that law only says where to look: the result was tried, and a little less was not enough.
    """
    wanted, people = WANTED[answers.need], answers.people
    if error <= wanted or wanted == 0 or ask == "model":
        return 0

    def error_with(people: int) -> float:
        given = replace(answers, people=people)
        draft = plan(given, first_rules(given))
        return error_of(expected(draft, ask)) if draft else math.inf

    fewer = more = max(_place_of(people), _place_of(_FEWEST) - 1)
    for _ in range(_ROUNDS):
        times = max(1.05 * error / wanted, 1.1)  # errors are estimates themselves
        more = max(more, _place_of(people * (times**2 if _at_source(rules) else times))) + 1
        people = _round_number(more)
        if people > MOST_PEOPLE:
            return 0
        if (error := error_with(people)) <= wanted:
            break
        fewer = more
    else:
        return 0
    while more - fewer > 1:
        middle = (fewer + more) // 2
        if error_with(_round_number(middle)) <= wanted:
            more = middle
        else:
            fewer = middle
    return _round_number(more)


def _round_number(place: int) -> int:
    """The numbers with two digits and noughts behind them, in order.

    >>> [_round_number(place) for place in (0, 89, 90, 91)]
    [10, 99, 100, 110]
    """
    noughts: int = 10 ** (place // 90)
    return (10 + place % 90) * noughts


def _place_of(number: float) -> int:
    """The place of the largest of them that is no larger; -1 if all are."""
    if number < 10:
        return -1
    whole = math.floor(number)
    noughts = len(str(whole)) - 2
    return 90 * noughts + int(str(whole)[:2]) - 10


def _at_source(rules: list[Rule]) -> bool:
    """Whether people randomise their own answers."""
    return engine.settled(rules)["model"] in ("local", "shuffled")


@dataclass(frozen=True, slots=True)
class Line:
    """A bar in places of a picture whose axis is 100 wide."""

    label: str
    exact: float
    private: float
    low: float
    high: float
    said: str
    ends: tuple[float, ...]
    """Where the error ends, without what lies outside of the picture."""


def picture(outcome: Expectation) -> list[Line]:
    """Where everything stands; what lies outside is drawn at the edge, and its error without an end."""
    end = outcome.end

    def place(value: float) -> float:
        return round(100 * min(max(value / end, 0.0), 1.0), 2)

    def line(bar: Bar) -> Line:
        low, high = bar.private - bar.within, bar.private + bar.within
        said = f"exact {_shown(bar.exact)}, private {_shown(bar.private)}, off by up to {_shown(bar.within)}"
        ends = tuple(place(value) for value in (low, high) if 0 <= value <= end)
        return Line(bar.label, place(bar.exact), place(bar.private), place(low), place(high), said, ends)

    return [line(bar) for bar in outcome.bars]


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def asked(name: str) -> str:
    """A question of the interview as its reader sees it."""
    return QUESTIONS["ask"].text(name)
