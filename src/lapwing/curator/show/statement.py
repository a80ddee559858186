"""A privacy statement about an answer, a stream or a planned release: Markdown, JSON, or a page to print.

Everything in it is public already: the answer's own guarantee, and the allowance and the charges in the ledger, which
are made before any row is read. Names of analysts, keys of questions and times of day are left out.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from lapwing.curator.show.digits import visible
from lapwing.errors import UnsupportedConversion
from lapwing.privacy.explanation import spanned
from lapwing.privacy.notation import written_down, written_up
from lapwing.privacy.quotes import SYMBOLS, amount, risk

if TYPE_CHECKING:
    from lapwing.privacy import Ledger, Loss

_RELATIONS = {
    "add_remove": "Compare two data sets: one with the data of this {unit}{these}, one without. "
    "The guarantee limits how well the answer can tell these two apart (relation add_remove).",
    "replace": "Compare two data sets that differ only in the data of this {unit}{these}. "
    "The guarantee limits how well the answer can tell these two apart (relation replace).",
}
_STYLE = """
body { font: 11pt/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 44em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin: 0 0 .5em; } h2 { font-size: 1.1em; margin: 1.2em 0 .3em; break-after: avoid; }
p, ul { margin: .3em 0; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4em 0; }
th, td { text-align: left; padding: .15em 1em .15em 0; border-bottom: 1px solid #bbb; } tr, li { break-inside: avoid; }
@page { margin: 14mm 16mm; }
@media print {
  body { margin: 0; max-width: none; padding: 0; font-size: 8.5pt; line-height: 1.3; }
  h1 { margin: 0 0 .2em; } h2 { margin: .7em 0 .1em; } p, ul { margin: .15em 0; } table { margin: .2em 0; }
  th, td { padding: .05em 1.5em .05em 0; }
}
"""
_MOST_ROWS = 12
"""Of all tables of charges together, so that a statement fits on a page however long its history is."""


@dataclass(frozen=True, slots=True, repr=False)
class Statement:
    """What was promised to whom, what it cost over time, who is trusted, and what is not protected.

    >>> from lapwing.curator.show.answer import Answer, Column
    >>> from lapwing.privacy import PureDP
    >>> answer = Answer((Column("n", "count", (1203,)),), PureDP(0.25, unit="patient"))
    >>> statement = answer.statement(owner="The clinic")
    >>> print(statement.to_markdown().splitlines()[0])
    # Privacy statement
    >>> statement.facts["unit"], statement.facts["relation"]
    ('patient', 'add_remove')
    """

    facts: Mapping[str, Any]
    """The whole statement as plain data."""

    def to_json(self) -> str:
        """The facts for programs, as one JSON document.

        Returns:
            Text in ASCII, with keys in a fixed order.
        """
        return json.dumps(self.facts, indent=2)

    def to_markdown(self) -> str:
        """The statement as Markdown, for a repository, a wiki or a data catalogue.

        Returns:
            Text that ends with a line break.
        """
        lines = ["# Privacy statement", ""]
        for title, paragraphs in _sections(self.facts):
            lines += [f"## {title}", ""] if title else []
            for part in paragraphs:
                lines += [*_markdown(part), ""]
        return "\n".join(lines)

    def to_html(self) -> str:
        """The statement as one page that loads nothing and prints well.

        Returns:
            A whole HTML document.
        """
        body = "".join(
            (f"<h2>{escape(title)}</h2>" if title else "") + "".join(_html(part) for part in paragraphs)
            for title, paragraphs in _sections(self.facts)
        )
        head = f'<meta charset="utf-8"><title>Privacy statement</title><style>{_STYLE}</style>'
        page = f"<head>{head}</head><body><h1>Privacy statement</h1>{body}</body>"
        return f'<!doctype html>\n<html lang="en">{page}</html>\n'

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return self.to_markdown()


Subject = Literal["answer", "stream", "quote"]
"""What a statement is about."""
_COSTS: Mapping[Subject, str] = {
    "answer": "This answer costs {guarantee}.",
    "stream": "All answers of this stream together cost {guarantee}. It was charged once, when the stream was opened.",
    "quote": "Nothing has been released yet. The answer would cost {guarantee}.",
}


def statement_of(
    loss: Loss,
    origin: Mapping[str, Any],
    notes: Sequence[str],
    *,
    about: Subject,
    remaining: Loss | None,
    ledger: Ledger | None,
    owner: str,
) -> Statement:
    """The statement about a loss and what it paid for, with the charges of its data sets where a ledger is given."""
    datasets = [str(name) for name in origin.get("datasets", ())]
    budgets = (
        [] if ledger is None else [_budget(ledger, name, unit) for name in datasets for unit in ledger.units(name)]
    )
    spent = [] if ledger is None else [ledger.spent(budget["dataset"], budget["unit"]) for budget in budgets]
    explained = loss.explain()
    facts = {
        "statement": 2,
        "about": about,
        "owner": owner,
        "question": origin.get("question"),
        "released_on": str(origin.get("released_at") or "")[:10] or None,
        "datasets": datasets,
        "unit": loss.unit,
        "relation": loss.relation,
        "guarantee": str(loss),
        "epsilon": explained.data["epsilon"],
        "delta": explained.data["delta"],
        "meaning": risk(loss),
        "cost": _numbers(loss),
        "remaining": None if remaining is None else {"text": str(remaining)} | _numbers(remaining, written_down),
        "budgets": budgets,
        "trusted": list(_trusted(loss, owner)),
        "not_protected": list(_not_protected(loss, spent)),
        "notes": list(notes),
        "lapwing": origin.get("lapwing"),
    }
    return Statement(facts)


def _budget(ledger: Ledger, dataset: str, unit: str) -> dict[str, Any]:
    """What was allowed and spent for a unit of a data set, day after day."""
    spent, left = ledger.spent(dataset, unit), ledger.remaining(dataset, unit)
    days = []
    for day, group in groupby(ledger.history(dataset, unit), key=lambda charge: _day(charge.time)):
        charges = list(group)
        cost = sum((charge.loss for charge in charges[1:]), start=charges[0].loss)
        days.append({"day": day, "charges": len(charges), "cost": _amount(cost), "spent": _amount(charges[-1].total)})
    return {
        "dataset": dataset,
        "unit": unit,
        "relation": spent.relation,
        "days": days,
        "spent": _amount(spent) | {"meaning": risk(spent)},
        "allowance": _amount(spent + left) | {"meaning": risk(spent + left)},
        "remaining": _amount(left, written_down),
    }


def _day(time: float) -> str:
    return dt.datetime.fromtimestamp(time, dt.UTC).date().isoformat()


def _amount(loss: Loss, written: Callable[[Fraction], str] = written_up) -> dict[str, Any]:
    """A loss to read, and as numbers for programs."""
    return {"text": amount(loss, written)} | _numbers(loss, written)


def _numbers(loss: Loss, written: Callable[..., str] = written_up) -> dict[str, float]:
    """The epsilon, delta or rho that a loss is stated in, to twelve digits; none for a curve."""
    return {name: float(written(getattr(loss, name), 12)) for name in SYMBOLS if hasattr(loss, name)}


def _trusted(loss: Loss, owner: str) -> Iterator[str]:
    trust = loss.trust
    if trust is None:
        who = f"{owner[:1].upper()}{owner[1:]}"
        yield f"{who} holds the true records. Everybody in the data must trust {owner} to keep the records safe."
        yield "Nobody who sees only the released answers has to be trusted, whatever else they know."
    else:
        yield f"The guarantee holds against {trust.towards} ({trust.behaviour})."
        yield f"It does not hold against {trust.not_towards}."
        if trust.assumes:
            yield f"It assumes {' and '.join(trust.assumes)}."
    yield "The software (Lapwing) and the random numbers of the computer that ran it must be sound."


def _for_two(loss: Loss) -> Loss:
    """The guarantee for two units together; as (ε,δ) where no other one is proven."""
    try:
        return loss.for_group(2)
    except UnsupportedConversion:
        return loss.to_approx(loss.explain().data["delta"]).for_group(2)


def _not_protected(loss: Loss, spent: Sequence[Loss]) -> Iterator[str]:
    unit, _, span = loss.unit.partition(" in any ")
    if span:
        yield f"Longer times: what one {unit} does over more than {span} is protected less. The losses add up."
    yield (
        f"What is true of many: a conclusion about a population can reveal something about one {unit}, even about one "
        "that is not in the data."
    )
    both = amount(_for_two(loss))
    together = f", and {amount(_for_two(spent[0]))} for all answers so far" if len(spent) == 1 else ""
    yield f"Groups: for two {unit}s that belong together, the guarantee is weaker: {both}{together}."
    yield "What the owner declared public: names of columns, bounds of values, listed categories, and the question."
    yield (
        "Data that were published in another way, or answers that were charged elsewhere."
        if spent
        else "Other answers from the same data: their losses add to this one."
    )
    if loss.explain().data["delta"]:
        delta = f"{loss.explain().data['delta']:.3g}"
        yield f"Rare failures: with a probability of at most {delta} the limit above may not hold."
    yield "Anything, against attackers who can break AES-256: the noise is drawn with it."


_Part = str | list[str] | tuple[list[str], list[list[str]]]
"""A paragraph, a list, or a table with its head."""


def _sections(facts: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[_Part]]]:
    unit = visible(facts["unit"])
    about = [f"Question: {visible(str(facts['question']))}"] if facts["question"] else []
    about += [f"Data: {visible(', '.join(facts['datasets']))}"] if facts["datasets"] else []
    about += [f"Released on: {facts['released_on']}"] if facts["released_on"] else []
    about += [f"Responsible: {visible(facts['owner'])}"]
    yield "", [about]
    yield "Who is protected", [_protected(unit, facts["relation"])]
    yield "How strongly", list(_strength(facts))
    if facts["budgets"]:
        yield "Privacy budget over time", list(_history(facts["budgets"]))
    elif facts["remaining"]:
        after = "This would leave {left}." if facts["about"] == "quote" else "After this answer, {left} remained."
        yield "Privacy budget over time", [after.format(left=visible(facts["remaining"]["text"]))]
    yield "Who is trusted", [[visible(line) for line in facts["trusted"]]]
    yield "What is not protected", [[visible(line) for line in facts["not_protected"]]]
    if facts["notes"]:
        yield "Notes", [[visible(note) for note in facts["notes"]]]
    maker = f"Made by Lapwing {visible(facts['lapwing'])}." if facts["lapwing"] else "Made by Lapwing."
    yield "", [maker]


def _protected(unit: str, relation: str) -> str:
    who, span, these = spanned(unit)
    each = f"Each {who}, for what it does in {span}, whichever these are." if span else f"Each {who} in the data."
    return f"{each} {_RELATIONS[relation].format(unit=who, these=f' in {these}' if span else '')}"


def _strength(facts: Mapping[str, Any]) -> Iterator[_Part]:
    """What this costs and means, and then the same of everything that was and may be charged."""
    cost = _COSTS[facts["about"]].format(guarantee=visible(facts["guarantee"]))
    alone = f"{cost} {facts['meaning']}"
    if not facts["budgets"]:
        yield alone
        return
    together = [
        line
        for budget in facts["budgets"]
        for name, unit in [(visible(budget["dataset"]), visible(budget["unit"]))]
        for line in (
            f"All answers from the data set {name} so far together cost {budget['spent']['text']} per {unit}. "
            f"{budget['spent']['meaning']}",
            f"The privacy budget of {name} allows {budget['allowance']['text']} per {unit} in all. When it is spent: "
            f"{_continued(budget['allowance']['meaning'])}",
        )
    ]
    yield [alone, *together]


def _continued(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"


def _history(budgets: Sequence[Mapping[str, Any]]) -> Iterator[_Part]:
    for budget in budgets:
        unit, left = visible(budget["unit"]), budget["remaining"]["text"]
        yield f"Data set {visible(budget['dataset'])}, cost per {unit} ({budget['relation']}):"
        rows = [
            [_span(days), _sum(days), days[-1]["spent"]["text"]]
            for days in _condensed(budget["days"], max(2, _MOST_ROWS // len(budgets)))
        ]
        yield ["Day", "Cost", "Spent in all"], rows
        yield f"Still to be spent: {left}."


_Day = Mapping[str, Any]


def _condensed(days: Sequence[_Day], most: int) -> list[Sequence[_Day]]:
    """The days, in so many rows at most: the newest alone, those before by month, and the oldest together."""
    if len(days) <= most:
        return [[day] for day in days]
    recent = most // 2
    months = [list(month) for _, month in groupby(days[:-recent], key=lambda day: day["day"][:7])]
    joined = max(0, len(months) + recent - most)
    oldest = [day for month in months[: joined + 1] for day in month]
    return [oldest, *months[joined + 1 :], *([day] for day in days[-recent:])]


def _span(days: Sequence[_Day]) -> str:
    first, last = days[0]["day"], days[-1]["day"]
    return first if first == last else f"{first} to {last}"


def _sum(days: Sequence[_Day]) -> str:
    totals = {sign: sum(day["cost"].get(name, 0) for day in days) for name, sign in SYMBOLS.items()}
    return ", ".join(f"{sign} = {written_up(total)}" for sign, total in totals.items() if total) or "nothing"


def _markdown(part: _Part) -> Iterator[str]:
    match part:
        case str():
            yield _plain(part)
        case list():
            yield from (f"- {_plain(line)}" for line in part)
        case (head, rows):
            yield from (f"| {' | '.join(map(_plain, row))} |" for row in (head, ["---"] * len(head), *rows))


def _plain(text: str) -> str:
    """Text in which Markdown finds nothing to obey."""
    return text if text == "---" else "".join(f"\\{sign}" if sign in "\\`*_[]<>|#" else sign for sign in text)


def _html(part: _Part) -> str:
    match part:
        case str():
            return f"<p>{escape(part)}</p>"
        case list():
            return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in part)}</ul>"
        case (head, rows):
            body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
            first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
            return f"<table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"
