"""The privacy label of an answer: what it promises to whom, and what it does not, in a few lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lapwing.privacy import Ledger, Loss, explain
from lapwing.privacy.notation import written_up
from lapwing.web.lab.analyses.curated import THRESHOLD, CuratedAnalysis
from lapwing.web.lab.analyses.local import Local
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.result import Preview, Result, measured, off_by
from lapwing.web.lab.statement import DATASET, Statement
from lapwing.web.service.plural import counted

NOT_PROTECTED = (
    "what everybody learns about people like you: that smokers fall ill is a fact about smokers, not a leak",
    "what you state about the table: bounds, keys and the number of people are public",
    "the table itself: people who have the file can read it; only the answer is private",
)
MANY_ROWS = "anybody with several rows, if you stated that every row is a different person"


@dataclass(frozen=True, slots=True)
class Line:
    """One fact of a label."""

    name: str
    """Which fact it is, for pages and programs."""
    title: str
    """The same for people."""
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """All facts, in the order in which they are read."""

    title: str
    lines: tuple[Line, ...]
    odds: dict[str, Any]
    """The library's explanation as numbers, for a picture."""
    not_protected: tuple[str, ...]


def label(
    analysis: Analysis,
    statement: Statement,
    result: Result,
    *,
    ledger: Ledger | None = None,
    preview: Preview | None = None,
) -> Label:
    """The label of a private answer; an exact one has none. `preview` is that of the answer's epsilon."""
    loss = result.loss
    if loss is None:
        return Label(analysis.title, (Line("guarantee", "Guarantee", "none: this answer is exact"),), {}, ())
    explanation = explain(loss)
    shown = preview or analysis.preview(statement, (float(explanation.data["epsilon"]),))
    lines = [
        Line("protected", "Protected", f"one {loss.unit}"),
        Line("relation", "Compared", _relation(analysis, loss)),
        Line("epsilon", "Epsilon ε", written_up(float(explanation.data["epsilon"]))),
        Line("delta", "Delta δ", written_up(float(explanation.data["delta"]))),
        Line("in words", "In words", explanation.text),
        Line("mechanism", "Mechanism", result.mechanism or shown.mechanism),
        Line("stated", "Stated", _stated(statement)),
        Line("contributions", "Rows that count", _contributions(analysis, statement)),
        *_errors(
            shown, statement.unit != "", analysis.basis(statement) if isinstance(analysis, CuratedAnalysis) else ()
        ),
    ]
    if ledger is not None:
        lines.append(Line("left", "Left of the budget", f"{ledger.remaining(DATASET)} of {statement.allowance}"))
    spared = NOT_PROTECTED if statement.unit else (*NOT_PROTECTED, MANY_ROWS)
    return Label(analysis.title, tuple(lines), dict(explanation.data), spared)


def _relation(analysis: Analysis, loss: Loss) -> str:
    """Which two tables the guarantee compares."""
    words = {
        "add_remove": f"the table with and without one {loss.unit}",
        "replace": f"two tables that differ only in the data of one {loss.unit}",
    }[loss.relation]
    if isinstance(analysis, Local):
        return f"{words}. It also limits what each report by itself can tell about the true answer"
    return words


def _stated(statement: Statement) -> str:
    facts = [f"about {statement.crowd_size}"]
    for column in statement.columns:
        if column.bounds:
            facts.append(f"{column.name} from {column.bounds[0]:g} to {column.bounds[1]:g}")
        if column.keys:
            some = ", ".join(column.keys[:5]) + (f", … ({len(column.keys)} keys)" if len(column.keys) > 5 else "")
            facts.append(f"{column.name} is one of {some}")
    return "; ".join(facts)


def _contributions(analysis: Analysis, statement: Statement) -> str:
    if not statement.unit:
        return "every row: each one is a different person, as stated"
    most = analysis.rows_of_each(statement)
    return f"at most {counted(most, 'row')} of one {statement.unit} count{'' if most > 1 else 's'}"


def _errors(shown: Preview, of_people: bool, basis: Sequence[str]) -> list[Line]:
    """What holds with a confidence and what it rests on, and apart from it what is only a guess."""
    lines: list[Line] = []
    bounds: list[str] = []
    guesses: list[str] = []
    why: dict[str, None] = {}
    for band in shown.bands:
        [error] = band.errors
        if error is None:
            bounds.append(f"{band.output}: depends on the data")
            continue
        if band.measured_in == THRESHOLD:
            sure = f"{100 * shown.confidence:g} %"
            have = (
                counted(math.ceil(error), "person has", "people have")
                if of_people
                else counted(math.ceil(error), "row has", "rows have")
            )
            among = f" among the rows that count ({shown.rows_used})" if shown.rows_used else ""
            text = f"{band.output} that at least {have}{among}, with a probability of {sure} or more"
            lines.append(Line("shown", "Shown", f"{text}. A rarer one may be shown, too"))
            continue
        said = f"± {measured(off_by(error), band.measured_in)}"
        if band.why:
            guesses.append(f"{band.output}: about {said}")
            why[band.why] = None
        else:
            of = f" {band.condition}" if band.measured_in == "ranks" and band.condition else ""
            bounds.append(f"{band.output}: {said}{of}")
    if bounds:
        said = ". ".join(("; ".join(bounds), *(f"{rest[0].upper()}{rest[1:]}" for rest in basis)))
        named = "Error from noise" if shown.rows_used else "Error"
        lines.append(Line("error", f"{named}, with {100 * shown.confidence:g} % confidence", said))
    if guesses:
        lines.append(Line("guess", "Estimated error, not guaranteed", f"{'; '.join(guesses)}. {' '.join(why)}"))
    return lines
