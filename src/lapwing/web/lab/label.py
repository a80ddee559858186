"""The label of an answer: what it promises to whom, and what it does not, in a few lines that travel with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lapwing.privacy import Ledger, Loss, explain
from lapwing.privacy.notation import written_up
from lapwing.web.lab.analyses.local import Local
from lapwing.web.lab.analyses.models import Model
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.result import Preview, Result
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
        Line("epsilon", "Epsilon ε", f"{float(explanation.data['epsilon']):g}"),
        Line("delta", "Delta δ", f"{float(explanation.data['delta']):g}"),
        Line("in words", "In words", explanation.text),
        Line("mechanism", "Mechanism", shown.mechanism),
        Line("stated", "Stated", _stated(statement)),
        Line("contributions", "Rows that count", _contributions(analysis, statement)),
        *_errors(shown),
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
    facts = [f"about {statement.people:,} people"]
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
    most = 1 if isinstance(analysis, Local | Model) else statement.max_rows_per_unit
    return f"at most {counted(most, 'row')} of one {statement.unit} count{'' if most > 1 else 's'}"


def _errors(shown: Preview) -> list[Line]:
    """What holds with a confidence, and apart from it what is only a guess, with what it assumes."""
    bounds: list[str] = []
    guesses: list[str] = []
    why: dict[str, None] = {}
    for band in shown.bands:
        [error] = band.errors
        if error is None:
            bounds.append(f"{band.output}: depends on the data")
            continue
        said = f"± {_plain(error)} {band.measured_in}".rstrip()
        if band.why:
            guesses.append(f"{band.output}: about {said}")
            why[band.why] = None
        else:
            bounds.append(f"{band.output}: {said}")
    lines = [Line("error", f"Error, with {100 * shown.confidence:g} % confidence", "; ".join(bounds))] if bounds else []
    if guesses:
        lines.append(Line("guess", "Estimated error, not guaranteed", f"{'; '.join(guesses)}. {' '.join(why)}"))
    return lines


def _plain(error: float) -> str:
    return f"{math.ceil(error):,}" if error >= 1000 else written_up(error, 3)
