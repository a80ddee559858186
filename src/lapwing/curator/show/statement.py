"""A privacy statement about an answer, a stream or a planned release: Markdown, JSON, or a page to print.

Everything in it is public already: the answer's own guarantee, and the allowance and the charges in the ledger, which
are made before any row is read. Names of analysts, keys of questions and times of day are left out.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from itertools import groupby
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from lapwing.curator.show.digits import visible
from lapwing.errors import InvalidParameter, LapwingError
from lapwing.privacy.explanation import beyond_published, for_two, spanned
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.losses import ZCDP, ApproxDP, PureDP
from lapwing.privacy.notation import written_down, written_up
from lapwing.privacy.quotes import SYMBOLS, amount, risk
from lapwing.privacy.trust import EVERYBODY

if TYPE_CHECKING:
    from lapwing.privacy import Loss
    from lapwing.privacy.ledger import Account

_RELATIONS = {
    "add_remove": "Compare two data sets: one with the data of this {unit}{these}, one without.{agree} "
    "The guarantee limits how well the answer can tell these two apart (relation add_remove).",
    "replace": "Compare two data sets that differ only in the data of this {unit}{these}{agree}. "
    "The guarantee limits how well the answer can tell these two apart (relation replace).",
}
_STYLE = """
body { font: 11pt/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 44em; margin: 2em auto; padding: 0 1em; overflow-wrap: anywhere; }
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
NOTHING_LEFT = 0.99
"""From this delta on, a guarantee for a group is said to promise nothing."""
_MOST_ROWS = 12
"""Of all tables of charges together, so that a statement fits on a page however long its history is."""


@dataclass(frozen=True, slots=True, repr=False)
class Statement:
    """What was promised to whom, what it cost over time, who is trusted, and what is not protected.

    >>> answer = patients.agg(lw.count()).release(epsilon=0.25)
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

        >>> import json
        >>> statement = patients.agg(lw.count()).release(epsilon=0.25).statement()
        >>> json.loads(statement.to_json())["relation"]
        'add_remove'
        """
        return json.dumps(self.facts, indent=2)

    def to_markdown(self) -> str:
        """The statement as Markdown, for a repository, a wiki or a data catalogue.

        Returns:
            Text that ends with a line break.

        >>> statement = patients.agg(lw.count()).release(epsilon=0.25).statement()
        >>> statement.to_markdown().splitlines()[0]
        '# Privacy statement'
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

        >>> statement = patients.agg(lw.count()).release(epsilon=0.25).statement()
        >>> statement.to_html().startswith("<!doctype html>")
        True
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
    "stream": "All answers of this stream together cost {guarantee}. {charged}",
    "quote": "Nothing has been released yet. The release would cost {guarantee}.",
}
_CHARGED = "It was charged once, when the stream was opened."
_UNRECORDED = "No ledger records it."


def statement_of(
    loss: Loss,
    origin: Mapping[str, Any],
    notes: Sequence[str],
    *,
    about: Subject,
    remaining: Loss | None,
    ledger: Ledger | str | PathLike[str] | None,
    owner: str,
) -> Statement:
    """The statement about a loss and what it paid for, with the charges of its data sets where a ledger is given."""
    if origin.get("seeded"):
        why = "the noise of this answer can be computed from a seed, so nothing can be promised"
        raise InvalidParameter("entropy", "reproducible", why, "Release it without entropy=.")
    datasets = [str(name) for name in origin.get("datasets", ())]
    accounts = _accounts(ledger, datasets, origin)
    most_rows = max(2, (_MOST_ROWS - 3 * (len(accounts) - 1)) // max(1, len(accounts)))
    explained = loss.explain()
    facts = {
        "statement": 3,
        "about": about,
        "owner": owner,
        "question": origin.get("question"),
        "written_on": dt.datetime.now(dt.UTC).date().isoformat(),
        "released_on": str(origin.get("released_at") or "")[:10] or None,
        "datasets": datasets,
        "unit": loss.unit,
        "relation": explained.data["relation"],
        "protected": _protected(loss, explained.data["relation"]),
        "guarantee": _guarantee(loss),
        "epsilon": explained.data["epsilon"],
        "delta": explained.data["delta"],
        "meaning": risk(loss, parties=False),
        "cost": _numbers(loss),
        "charged": "charge" not in origin or origin["charge"] is not None,
        "remaining": None if remaining is None else _amount(remaining, written_down),
        "own_allowance": bool(origin.get("own_allowance")),
        "budgets": [_budget(account, most_rows) for account in accounts],
        "together": _together(accounts),
        "trusted": list(_trusted(loss, owner)),
        "not_protected": list(_not_protected(loss, accounts)),
        "notes": list(notes),
        "lapwing": origin.get("lapwing"),
    }
    return Statement(facts)


def _accounts(
    ledger: Ledger | str | PathLike[str] | None, datasets: Sequence[str], origin: Mapping[str, Any]
) -> list[Account]:
    """What the ledger holds of the data sets; refused if it is not the ledger that was charged."""
    if ledger is None or not datasets:
        return []
    if "charge" in origin and origin["charge"] is None:
        why = "this was released without a ledger, so no ledger knows what it cost"
        raise InvalidParameter("ledger", "<ledger>", why, "Leave it out, or open the table with ledger='ledger.db'.")
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger, create=False)
    accounts = book.accounts(*datasets, charge=origin.get("charge"), entry=origin.get("entry"))
    if any(account.spent.trust is not None and account.spent.trust.seeded for account in accounts):
        why = "it holds a charge whose noise came from a seed, so nothing can be promised about all answers together"
        raise InvalidParameter("ledger", "<ledger>", why, "Leave it out: the statement is then about this alone.")
    return accounts


def _told(loss: Loss) -> Loss:
    """The loss that sentences are about, without words about trust: these have a part of their own."""
    return replace(beyond_published(loss), trust=None)


def _guarantee(loss: Loss) -> str:
    """A loss in symbols, as the ledger counts it and as sentences are about it."""
    kept, counted = _told(loss), replace(loss, trust=None)
    stated = str(counted) if kept == counted else f"{counted}, which makes {kept} here"
    if isinstance(loss, PureDP | ApproxDP):
        return stated
    read = kept.explain().data
    if read["epsilon"] is None:
        return stated
    return f"{stated}, that is ε = {written_up(read['epsilon'], 4)} at δ = {written_up(read['delta'], 3)}"


@dataclass(frozen=True, slots=True)
class _Day:
    """The charges of one day, as exact as the ledger holds them."""

    date: str
    charges: int
    cost: Loss
    spent: Loss


def _budget(account: Account, most: int) -> dict[str, Any]:
    """What was allowed and spent for a unit of a data set: day after day, and in a table of so many rows at most."""
    days = []
    for date, group in groupby(account.charges, key=lambda charge: _date(charge.time)):
        charges = list(group)
        days.append(_Day(date, len(charges), _sum([charge.loss for charge in charges]), charges[-1].total))
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "relation": account.spent.relation,
        "days": [
            {"day": day.date, "charges": day.charges, "cost": _amount(day.cost), "spent": _amount(day.spent)}
            for day in days
        ],
        "table": [
            [_span(group), amount(_sum([day.cost for day in group])), amount(group[-1].spent)]
            for group in _condensed(days, most)
        ],
        "spent": _amount(account.spent) | {"meaning": risk(account.spent, parties=False)},
        "allowance": _amount(account.allowance) | {"meaning": risk(account.allowance, parties=False)},
        "remaining": _amount(account.remaining, written_down),
    }


def _together(accounts: Sequence[Account]) -> list[dict[str, Any]]:
    """What all data sets of one question cost each unit that they share, at most.

    A question about several of them was charged to each, and counts several times here: the sum is an upper bound.
    """
    totals = []
    for unit in dict.fromkeys(account.unit for account in accounts):
        mine = [account for account in accounts if account.unit == unit]
        if len(mine) < 2:
            continue
        try:
            spent = _sum([account.spent for account in mine])
        except LapwingError:  # of kinds that do not add up, or against different parties
            continue
        names = [account.dataset for account in mine]
        totals.append(
            {"datasets": names, "unit": unit, "spent": _amount(spent) | {"meaning": risk(spent, parties=False)}}
        )
    return totals


def _sum(losses: Sequence[Loss]) -> Loss:
    return sum(losses[1:], start=losses[0])


def _date(time: float) -> str:
    return dt.datetime.fromtimestamp(time, dt.UTC).date().isoformat()


def _amount(loss: Loss, written: Callable[[Fraction], str] = written_up) -> dict[str, Any]:
    """A loss to read, and as numbers for programs."""
    return {"text": amount(loss, written)} | _numbers(loss, written)


def _numbers(loss: Loss, written: Callable[..., str] = written_up) -> dict[str, float]:
    """The epsilon, delta or rho that a loss is stated in, to twelve digits; none for a curve."""
    return {name: float(written(getattr(loss, name), 12)) for name in SYMBOLS if hasattr(loss, name)}


def _protected(loss: Loss, relation: str) -> str:
    """Who is protected, and which two data sets the guarantee compares."""
    who, span, these = spanned(visible(loss.unit))
    published = loss.trust.published if loss.trust is not None else ()
    agree = f", and agree in what was published exactly ({visible(', '.join(published))})" if published else ""
    each = f"Each {who}, for what it does in any {span}." if span else f"Each {who} in the data."
    return f"{each} {_RELATIONS[relation].format(unit=who, these=f' in {these}' if span else '', agree=agree)}"


_BEHAVIOURS = {
    "semi-honest": "as long as it follows the protocol (semi-honest)",
    "whatever they do": "whatever they do",
}


def _trusted(loss: Loss, owner: str) -> Iterator[str]:
    trust = loss.trust
    if trust is None or trust.towards == EVERYBODY:
        who, them = f"{owner[:1].upper()}{owner[1:]}", f"the {owner[4:]}" if owner.startswith("The ") else owner
        yield f"{who} holds the true records. Everybody in the data must trust {them} to keep the records safe."
        yield "Nobody who sees only the released answers has to be trusted, whatever else they know."
    else:
        behaviour = _BEHAVIOURS.get(trust.behaviour, trust.behaviour)
        yield "The guarantee holds against everybody who sees only the released answers."
        yield f"It also holds against {trust.towards}, {behaviour}."
        yield f"It does not hold against {trust.not_towards}."
    if trust is not None and trust.assumes:
        yield f"It assumes {' and '.join(trust.assumes)}."
    yield "The software (Lapwing) and the random numbers of the computer that ran it must be sound."


def _not_protected(loss: Loss, accounts: Sequence[Account]) -> Iterator[str]:
    unit, span, _ = spanned(loss.unit)
    if loss.trust is not None and loss.trust.published:
        numbers = ", ".join(loss.trust.published)
        yield (
            f"What was published exactly: {numbers}. Somebody who knows the data of all others can tell from it "
            f"whether one {unit} takes part, and in which of these numbers it counts."
        )
    if loss.relation == "replace":
        yield f"How many {unit}s there are, and so whether one {unit} takes part: the guarantee does not cover it."
    if span:
        longer = f"a {span}" if span.startswith("single ") else span
        yield f"Longer times: what one {unit} does over more than {longer} is protected less. The losses add up."
    yield (
        f"What is true of many: a conclusion about a population can reveal something about one {unit}, even about one "
        "that is not in the data."
    )
    yield f"Groups: the guarantee is weaker for two {unit}s that belong together. {_groups(loss, accounts)}"
    yield "What the owner declared public: names of columns, bounds of values, listed categories, and the question."
    yield (
        "Data that were published in another way, or answers that were charged elsewhere."
        if accounts
        else "Other answers from the same data: their losses add to this one."
    )
    stated = [loss, *(each for account in accounts for each in (account.spent, account.allowance))]
    if any(each.explain().data["delta"] for each in stated):
        yield "Rare failures: with the small probabilities that are stated above, an answer may reveal anything."
    yield "Everything, if somebody can break AES-256, because the noise is drawn with it."


def _groups(loss: Loss, accounts: Sequence[Account]) -> str:
    """What two units that belong together are promised."""
    both = _for_two_in_words(loss)
    if both is None:
        return "Nothing is promised to them."
    fourfold = isinstance(loss, ZCDP) and (loss.trust is None or not loss.trust.published)
    lines = [f"For them this costs {both}{' (four times as much: ρ grows with the square)' if fourfold else ''}."]
    if len(accounts) == 1 and amount(accounts[0].spent) != "nothing":
        so_far = _for_two_in_words(accounts[0].spent)
        promised = "promise them nothing together" if so_far is None else f"together cost {so_far}"
        lines.append(f"For them all answers so far {promised}.")
    return " ".join(lines)


def _for_two_in_words(loss: Loss) -> str | None:
    """The loss of two units; None where it promises nothing."""
    both = for_two(_told(loss))
    return None if both.explain().data["delta"] >= NOTHING_LEFT else amount(both)


_Part = str | list[str] | tuple[list[str], list[list[str]]]
"""A paragraph, a list, or a table with its head."""


def _sections(facts: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[_Part]]]:
    about = [f"Question: {visible(str(facts['question']))}"] if facts["question"] else []
    about += [f"Data: {visible(', '.join(facts['datasets']))}"] if facts["datasets"] else []
    about += [f"Released on: {facts['released_on']} (UTC)"] if facts["released_on"] else []
    about += [f"Responsible: {visible(facts['owner'])}"]
    yield "", [about]
    yield "Who is protected", [facts["protected"]]
    yield "How strongly", list(_strength(facts))
    if facts["budgets"]:
        yield "Privacy budget over time", list(_history(facts["budgets"]))
    elif facts["remaining"]:
        yield "Privacy budget over time", [_left(facts)]
    yield "Who is trusted", [[visible(line) for line in facts["trusted"]]]
    yield "What is not protected", [[visible(line) for line in facts["not_protected"]]]
    if facts["notes"]:
        yield "Notes", [[visible(note) for note in facts["notes"]]]
    maker = f"Lapwing {visible(facts['lapwing'])}" if facts["lapwing"] else "Lapwing"
    yield "", [f"Written by {maker} on {facts['written_on']} (UTC)."]


def _left(facts: Mapping[str, Any]) -> str:
    """What is left, where no ledger tells the whole story."""
    left = facts["remaining"]["text"]
    if facts["about"] == "quote":
        return f"This would leave {left}."
    joined = " for questions about all of these data sets" if len(facts["datasets"]) > 1 else ""
    if facts["own_allowance"]:
        return f"After this answer, {left} remained{joined} for the analyst who asked. The data may have more left."
    return f"After this answer, {left} remained{joined}."


def _strength(facts: Mapping[str, Any]) -> Iterator[_Part]:
    """What this costs and means, and then the same of everything that was and may be charged."""
    charged = _CHARGED if facts["charged"] else _UNRECORDED
    cost = _COSTS[facts["about"]].format(guarantee=visible(facts["guarantee"]), charged=charged)
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
            f"The whole privacy budget of {name} is {budget['allowance']['text']} per {unit}. Once it is spent, this "
            f"holds: {budget['allowance']['meaning']}",
        )
    ]
    joint = [
        f"All answers from the data sets {visible(', '.join(total['datasets']))} so far cost at most "
        f"{total['spent']['text']} per {visible(total['unit'])} together. {total['spent']['meaning']}"
        for total in facts["together"]
    ]
    yield [alone, *together, *joint]


def _history(budgets: Sequence[Mapping[str, Any]]) -> Iterator[_Part]:
    for budget in budgets:
        yield f"Data set {visible(budget['dataset'])}, cost per {visible(budget['unit'])} ({budget['relation']}):"
        yield ["Day", "Cost", "Spent in all"], budget["table"]
        yield f"Still to be spent: {budget['remaining']['text']}."


def _condensed(days: Sequence[_Day], most: int) -> list[Sequence[_Day]]:
    """The days, in so many rows at most: the newest alone, those before by month, and the oldest together."""
    if len(days) <= most:
        return [[day] for day in days]
    recent = most // 2
    months = [list(month) for _, month in groupby(days[:-recent], key=lambda day: day.date[:7])]
    joined = max(0, len(months) + recent - most)
    oldest = [day for month in months[: joined + 1] for day in month]
    return [oldest, *months[joined + 1 :], *([day] for day in days[-recent:])]


def _span(days: Sequence[_Day]) -> str:
    first, last = days[0].date, days[-1].date
    return first if first == last else f"{first} to {last}"


def _markdown(part: _Part) -> Iterator[str]:
    match part:
        case str():
            yield _plain(part)
        case list():
            yield from (f"- {_plain(line)}" for line in part)
        case (head, rows):
            yield from (f"| {' | '.join(map(_plain, row))} |" for row in (head, ["---"] * len(head), *rows))


def _plain(text: str) -> str:
    """Text in which Markdown finds nothing to obey, neither marks nor addresses."""
    if text == "---":
        return text
    marked = "".join(f"\\{sign}" if sign in "\\`*_[]<>|#~$&@" else sign for sign in text)
    return re.sub(r"(?i)(://|\bwww\.)", lambda match: match[0].replace(":", "\\:").replace(".", "\\."), marked)


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
