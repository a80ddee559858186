"""The interview: what is asked, what may be answered, and what to say to an answer that does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from urllib.parse import urlencode

MOST_PEOPLE = 10**10
MOST_GROUPS = 1_000_000
_LONGEST = 40
"""Characters of an answer that are shown again when it does not fit."""
_WHOLE = re.compile(r"[0-9]+|[0-9]{1,3}([,'’_ \u00a0\u202f][0-9]{3})+")


@dataclass(frozen=True, slots=True)
class Option:
    """One answer: its short name in addresses and rules, what a reader sees, and a line about it."""

    name: str
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `kind` is "one" (of the options), "some" of them, or a whole "number" from 1 to `most`."""

    name: str
    ask: str
    why: str
    kind: str = "one"
    options: tuple[Option, ...] = ()
    most: int = 0
    unit: str = ""

    def text(self, name: str) -> str:
        """An option as a reader sees it."""
        return next((option.text for option in self.options if option.name == name), name)


@dataclass(frozen=True, slots=True)
class Step:
    """Questions that stand on one screen."""

    title: str
    questions: tuple[Question, ...]


STEPS = (
    Step(
        "The data",
        (
            Question(
                "about",
                "What are the data about?",
                "Differential privacy protects people. Without people there is nobody to protect.",
                options=(
                    Option("people", "People", "Customers, pupils, readers, drivers. A device with an owner counts."),
                    Option("sensitive", "People, and it could harm them", "Health, money, places, beliefs, children."),
                    Option("public", "People, but every record is public already", "Published lawfully, with names."),
                    Option("things", "Not people", "Weather, machines, prices; nobody can be traced through them."),
                ),
            ),
            Question(
                "form",
                "What does a record look like?",
                "Noise is added to numbers. Text and pictures have to become numbers first.",
                options=(
                    Option("table", "A row with columns", "Numbers, categories, dates, yes or no."),
                    Option("text", "Free text, pictures or sound", "Letters, notes, photographs, recordings."),
                ),
            ),
            Question(
                "people",
                "How many people are in the data?",
                "Noise has a fixed size. The more people, the less it matters.",
                "number",
                most=MOST_PEOPLE,
                unit="people",
            ),
            Question(
                "rows",
                "How many records does one person have?",
                "What one person can do to an answer decides how much noise it needs.",
                options=(
                    Option("one", "One", "A patient, a pupil, a questionnaire."),
                    Option("few", "A few", "Two to ten: visits, orders, tests."),
                    Option("many", "Many", "Clicks, trips, messages."),
                    Option("unknown", "Nobody can tell", "Records cannot be traced to a person, not even by us."),
                ),
            ),
        ),
    ),
    Step(
        "The questions",
        (
            Question(
                "ask",
                "What do you want to find out?",
                "Tick all that apply. Each question takes a part of one privacy budget.",
                "some",
                options=(
                    Option("count", "How many, or what share", "Smokers among patients."),
                    Option("histogram", "How many in each group", "Patients by region, orders by weekday."),
                    Option("nested", "Groups within groups that add up", "Towns, their regions, and the country."),
                    Option("top", "What is most common", "The favourite of a list that you know."),
                    Option("mean", "A mean or a sum", "Mean age, total spending."),
                    Option("quantile", "A median or another quantile", "Median income, the slowest tenth."),
                    Option("table", "A table of groups, or SQL", "Count and mean by region and year."),
                    Option("words", "Frequent words that are on no list", "New words, search terms, addresses."),
                    Option("model", "A model that predicts", "Regression, classification, a network."),
                    Option("records", "Single records", "The file of one patient; rows for another team."),
                    Option("outliers", "Who is unusual", "Fraud, abuse, a rare case to treat."),
                ),
            ),
            Question(
                "groups",
                "Into how many groups are results split?",
                "The smallest group decides how much noise is acceptable. Write 1 if there are no groups. Questions "
                "about groups, a table or what is most common have a result for each group. If you ticked any of "
                "them, only they are split. If you ticked none, all your questions are split.",
                "number",
                most=MOST_GROUPS,
                unit="groups",
            ),
            Question(
                "need",
                "How far off may a result be, with 95 % confidence?",
                "Decide this before you choose how private it is (epsilon). For counts it is a percentage of all "
                "people, or of the smallest group if there are groups. For a mean it is a percentage of the range of "
                "the numbers.",
                options=(
                    Option("rough", "By 10 %", "Enough to see a trend."),
                    Option("good", "By 3 %", "Like a good poll."),
                    Option("fine", "By 1 %", "Like official statistics."),
                    Option("exact", "Not at all", "Bills, doses, seats."),
                ),
            ),
        ),
    ),
    Step(
        "The setting",
        (
            Question(
                "trust",
                "Who may see the true data?",
                "Trust decides where the noise is added, and that decides how much of it there is.",
                options=(
                    Option("us", "One place that people trust", "A clinic, a registry, our own data team."),
                    Option(
                        "partners",
                        "Several organisations; each sees only its own data",
                        "Banks or clinics that compare.",
                    ),
                    Option(
                        "two",
                        "Nobody, but two organisations compute together",
                        "They do not work together otherwise; each sees random numbers only.",
                    ),
                    Option(
                        "mixer",
                        "Nobody, but somebody may mix the reports",
                        "This mixer removes names and sees nothing else.",
                    ),
                    Option("nobody", "Nobody but the people themselves", "Noise on their phone or in their browser."),
                ),
            ),
            Question(
                "often",
                "How often will you publish?",
                "Every release reveals a little about the people in it, and that adds up.",
                options=(
                    Option("once", "Once"),
                    Option("yearly", "Every year", "We plan for five years."),
                    Option("monthly", "Every month", "We plan for one year."),
                    Option("daily", "Every day, or all the time", "We plan for 365 days."),
                    Option("asking", "Whenever an analyst asks", "We plan for fifty questions."),
                ),
            ),
            Question(
                "same",
                "Is it the same people each time?",
                "If nobody is in two releases, nothing adds up.",
                options=(Option("yes", "Yes, or some of them"), Option("no", "No, different people every time")),
            ),
            Question(
                "seen",
                "Who sees the results?",
                "What is public is public for ever.",
                options=(
                    Option("team", "A team that is bound by contract"),
                    Option("partners", "Partners outside"),
                    Option("public", "Everybody"),
                ),
            ),
            Question(
                "law",
                "Which rules apply?",
                "The guide is not a lawyer. It says what to ask a lawyer.",
                options=(
                    Option("none", "None that I know of"),
                    Option("gdpr", "GDPR", "Data about people in Europe."),
                    Option("hipaa", "HIPAA", "Health data in the United States."),
                    Option("official", "Duties of official statistics", "A census, a statistical office."),
                ),
            ),
        ),
    ),
)
QUESTIONS = {question.name: question for step in STEPS for question in step.questions}
STATISTICS = ("count", "histogram", "nested", "top", "mean", "quantile", "table", "words", "model")
"""What differential privacy can answer; the others are about single people."""
WANTED = {"rough": 0.10, "good": 0.03, "fine": 0.01, "exact": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A whole interview."""

    about: str
    form: str
    people: int
    rows: str
    ask: tuple[str, ...]
    groups: int
    need: str
    trust: str
    often: str
    same: str
    seen: str
    law: str

    @property
    def statistics(self) -> tuple[str, ...]:
        """What is asked about groups of people."""
        return tuple(name for name in self.ask if name in STATISTICS)

    @property
    def address(self) -> str:
        """The interview as the end of an address: the same answers always give the same."""
        given = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return urlencode(given, doseq=True)

    def told(self) -> list[tuple[Question, str]]:
        """Each question, and what was answered, in words."""
        lines = []
        for question in QUESTIONS.values():
            value = getattr(self, question.name)
            if question.kind == "number":
                text = f"{value:,}"
            else:
                text = "; ".join(map(question.text, (value,) if isinstance(value, str) else value))
            lines.append((question, text))
        return lines


Given = Mapping[str, Sequence[str]]
USUAL = {"form": "table", "groups": "1", "same": "yes"}
"""What holds unless something else is answered."""


def read(given: Given) -> tuple[Answers | None, dict[str, str]]:
    """The answers, if all fit; else what to write instead, by question."""
    values: dict[str, object] = {}
    complaints: dict[str, str] = {}
    for question in QUESTIONS.values():
        value, complaint = _read(question, [text.strip() for text in given.get(question.name, ()) if text.strip()])
        if complaint:
            complaints[question.name] = complaint
        else:
            values[question.name] = value
    return (None if complaints else Answers(**values)), complaints  # type: ignore[arg-type]


def partly(given: Given) -> dict[str, object]:
    """What is answered so far, or usual; what does not fit is not."""
    facts = {}
    for question in QUESTIONS.values():
        value, complaint = _read(question, [text.strip() for text in given.get(question.name, ()) if text.strip()])
        if not complaint:
            facts[question.name] = value
    return facts


def _read(question: Question, texts: list[str]) -> tuple[object, str]:
    if not texts and question.name in USUAL:
        texts = [USUAL[question.name]]
    if not texts:
        return None, "Write a whole number." if question.kind == "number" else "Choose an answer."
    if question.kind == "number":
        return _number(question, texts[-1])
    known = [option.name for option in question.options]
    if wrong := next((text for text in texts if text not in known), None):
        return None, f"“{wrong[:_LONGEST]}” is none of the answers. Choose one of those below."
    if question.kind == "one":
        return texts[-1], ""
    return tuple(name for name in known if name in texts), ""


def _number(question: Question, text: str) -> tuple[object, str]:
    if not _WHOLE.fullmatch(text):
        return None, f"“{text[:_LONGEST]}” is not a whole number. Write digits only, such as 2000."
    digits = re.sub(r"\D", "", text)
    if len(digits) > _LONGEST or not 1 <= int(digits) <= question.most:
        return None, f"Write a number from 1 to {question.most:,}."
    return int(digits), ""
