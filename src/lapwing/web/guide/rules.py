"""Rules as data, and the few lines that apply them.

A condition is a short sentence: `about is people or sensitive`, `ask has words`, `ask only records or outliers`,
`people < 20`, `parts >= 30`. A rule fires if all of its conditions hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from lapwing.web.guide.answers import QUESTIONS, STATISTICS

Facts = Mapping[str, Any]
"""What is known: words, whole numbers, and tuples of words."""
VERDICTS = ("yes", "partly", "not yet", "no")
"""From the least to the most cautious."""
TOPICS = {
    "verdict": "Should I, and can I?",
    "why": "Why not something simpler?",
    "model": "Where is the noise added?",
    "unit": "Who is protected?",
    "releases": "How often?",
    "epsilon": "Which epsilon?",
    "care": "What to look out for",
    "law": "What about the law?",
    "help": "Who helps?",
}
COMPUTED = {
    "statistics": "questions about groups",
    "parts": "parts of the budget",
    "met": "questions whose answers are accurate enough",
    "missed": "questions whose answers are too noisy",
    "left": "questions that cannot be answered this way",
    "noisy_days": "questions whose totals go on, but whose single days are too noisy",
}
"""Facts that are no answers, in words."""
_TESTS: dict[str, Callable[[Any, tuple[Any, ...]], bool]] = {
    "is": lambda known, named: known in named,
    "has": lambda known, named: any(name in known for name in named),
    "only": lambda known, named: all(name in named for name in known),
    "<": lambda known, named: bool(known < named[0]),
    ">=": lambda known, named: bool(known >= named[0]),
}
_WORDS = {"is": "", "has": "includes", "only": "is nothing but", "<": "fewer than", ">=": "at least"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One fact, one test, and the values it is compared with."""

    fact: str
    test: str
    values: tuple[Any, ...]

    @classmethod
    def read(cls, text: str) -> Condition:
        """From its sentence.

        >>> Condition.read("people < 20").holds({"people": 5})
        True
        """
        fact, test, rest = text.split(" ", 2)
        if test not in _TESTS or fact not in (*QUESTIONS, *COMPUTED):
            raise ValueError(f"no condition: {text!r}")
        if test in ("<", ">="):
            return cls(fact, test, (int(rest),))
        values = tuple(rest.split(" or "))
        known = {option.name for option in QUESTIONS[fact].options}
        if not set(values) <= known:
            raise ValueError(f"no such answer: {text!r}")
        return cls(fact, test, values)

    def holds(self, facts: Facts) -> bool:
        """Whether it is so. What is not known yet does not hold."""
        return self.fact in facts and _TESTS[self.test](facts[self.fact], self.values)

    def says(self) -> str:
        """For a reader: the question, and the answers that count."""
        if self.test in ("<", ">="):
            what, least = COMPUTED.get(self.fact, self.fact), self.values[0]
            if least == 1:
                return f"{'some' if self.test == '>=' else 'no'} {what}"
            return f"{_WORDS[self.test]} {least:,} {what}"
        question = QUESTIONS[self.fact]
        said = " or ".join(f"“{question.text(value)}”" for value in self.values)
        return " ".join(filter(None, (question.ask, _WORDS[self.test], said)))


@dataclass(frozen=True, slots=True)
class Rule:
    """When it fires, what follows, and why. `do` says what to do, or what to do instead, if need be in `steps`."""

    id: str
    topic: str
    when: tuple[Condition, ...]
    then: Mapping[str, Any]
    why: str
    do: str
    steps: tuple[str, ...]
    read: tuple[str, ...]
    source: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Rule:
        """From an entry of the table; what is missing or unknown in it is an error at the start."""
        known = {"id", "topic", "when", "then", "why", "do", "steps", "read", "source"}
        if not set(entry) <= known or entry["topic"] not in TOPICS:
            raise ValueError(f"the rule {entry.get('id')} has something unknown in it")
        return cls(
            entry["id"],
            entry["topic"],
            tuple(map(Condition.read, entry["when"])),
            entry.get("then", {}),
            entry["why"],
            entry.get("do", ""),
            tuple(entry.get("steps", ())),
            tuple(entry.get("read", ())),
            entry["source"],
        )

    @property
    def title(self) -> str:
        """Its name, for a reader."""
        text = self.id.replace("-", " ")
        return text.upper() if text in ("gdpr", "hipaa") else text.capitalize()

    @property
    def verdict(self) -> str:
        """Yes, partly, not yet, no, or nothing."""
        return str(self.then.get("verdict", ""))

    @property
    def follows(self) -> str:
        """What the rule settles, for a reader."""
        sentences = []
        for name, value in self.then.items():
            if name == "verdict":
                sentences.append(f"the answer is {value}")
            elif name == "tools":
                sentences.append("look at " + ", ".join(value))
            else:
                sentences.append(f"{name}: {value}")
        return "; ".join(sentences)

    def fires(self, facts: Facts) -> bool:
        """Whether all of its conditions hold."""
        return all(condition.holds(facts) for condition in self.when)


@cache
def table() -> tuple[Rule, ...]:
    """All rules, in their order."""
    text = files("lapwing").joinpath("web", "guide", "rules.yaml").read_text(encoding="utf-8")
    rules = tuple(map(Rule.of, yaml.safe_load(text)))
    if len({rule.id for rule in rules}) < len(rules):
        raise ValueError("two rules have the same name")
    return rules


def fired(facts: Facts) -> list[Rule]:
    """Those that apply, in the order of the table."""
    return [rule for rule in table() if rule.fires(facts)]


def early(known: Facts) -> list[Rule]:
    """Those that apply already, before everything is answered."""
    facts = dict(known)
    if "ask" in facts:
        facts["statistics"] = sum(name in STATISTICS for name in facts["ask"])
    return fired(facts)


def settled(rules: Sequence[Rule]) -> dict[str, str]:
    """What the rules settle; the last one counts."""
    choices: dict[str, str] = {}
    for rule in rules:
        choices |= {name: value for name, value in rule.then.items() if name not in ("verdict", "tools")}
    return choices


def settled_by(rules: Sequence[Rule], name: str) -> Rule | None:
    """The rule that settled something."""
    return next((rule for rule in reversed(rules) if name in rule.then), None)


def verdict(rules: Sequence[Rule]) -> str:
    """The most cautious one; without any it is yes."""
    given = [rule.verdict for rule in rules if rule.verdict]
    return max(given, key=VERDICTS.index, default="yes")
