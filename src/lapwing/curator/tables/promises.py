"""Allowances of a table in the ledger, for its unit and for larger groups such as households."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lapwing import checks
from lapwing.curator.plan.declarations import EachRow
from lapwing.errors import InvalidParameter, withheld
from lapwing.privacy import Ledger, Loss, Rules
from lapwing.privacy.allowances import in_code
from lapwing.privacy.losses import as_loss
from lapwing.privacy.neighbours import Unsaid

ROW = "row"
"""The word for a table in which every row is a unit of its own. No column has it: see `word_for`."""


def word_for(unit: str | EachRow) -> str:
    """The word for the unit of a table, a different one for every column and for EACH_ROW.

    >>> word_for("patient"), word_for("row"), word_for(EachRow())
    ('patient', '“row”', 'row')
    """
    if isinstance(unit, EachRow):
        return ROW
    return f"“{unit}”" if unit == ROW or unit.startswith("“") else unit


def promised(
    book: Ledger | None, dataset: str, unit: str | EachRow, allowance: Loss | None, rules: Rules | None = None
) -> str:
    """Open the allowance with its rules; the word for the unit that it protects.

    Privacy: that a column tells patients apart is for its owner to say: a table per visit charged to an allowance per
    patient would promise what nobody proved. So a word that is not the column's must be written down, each time; the
    "person" of a loss whose unit nobody wrote is not written down.
    """
    word = word_for(unit)
    if rules is not None and allowance is None:
        why = "are declared with an allowance: they limit how it may be spent"
        raise InvalidParameter("rules", rules, why, "Write allowance=lw.PureDP(3) as well.")
    if book is None:
        if allowance is not None:
            raise InvalidParameter("ledger", None, "an allowance is kept in a ledger", "Write ledger='ledger.db'.")
        return word
    if allowance is not None:
        as_loss(allowance, "allowance")
    known = book.units(dataset) if dataset in book.datasets() else []
    if allowance is not None and not isinstance(allowance.unit, Unsaid):
        if allowance.unit == ROW != word:
            why = "per row is for tables in which every row is a unit of its own (lw.EACH_ROW)"
            raise InvalidParameter(
                "allowance", str(allowance), why, f"Write unit={word!r}, or whom {word} tells apart."
            )
        word = allowance.unit
    if allowance is not None and allowance.relation != "add_remove":
        why = "tables need the relation add_remove: a unit joins or leaves"
        raise InvalidParameter("allowance", str(allowance), why, "Write lw.PureDP(3), which means add_remove.")
    if known and word not in known:
        why = f"the ledger has an allowance for {dataset!r} per {' and per '.join(known)}, and this table is per {word}"
        same = next((name for name in known if name != ROW), None)
        hint = "Open the table with another dataset= name, which has an allowance of its own."
        if same is not None:
            there = next(account.allowance for account in book.accounts(dataset) if account.unit == same)
            same_units = f"every row is about another {same}" if word == ROW else "they are the same"
            hint = f"If {same_units}, write allowance={in_code(there)}; this does not raise it."
        raise InvalidParameter("allowance", None if allowance is None else str(allowance), why, hint)
    if allowance is not None:
        stated = replace(allowance, unit=word) if allowance.unit != word else allowance
        book.open(dataset, stated, rules=rules)
    elif not known:
        why = f"the ledger has no allowance for {dataset!r} yet"
        raise InvalidParameter("allowance", None, why, "Write allowance=lw.PureDP(3).")
    return word


def group_sizes(given: Mapping[str, int], book: Ledger | None, dataset: str, word: str) -> dict[str, int]:
    """How many units a household has at most, for each other type of unit that the ledger promises something."""
    if not isinstance(given, Mapping):
        raise InvalidParameter("max_units_per", given, "must be a mapping", "Write max_units_per={'household': 4}.")
    hint = "Leave it out, or open it in the ledger first."
    with withheld(f"names what {dataset!r} has no allowance for in the ledger", hint, max_units_per=list(given)):
        for name in given:
            if book is None or name not in book.units(dataset) or name == word:
                why = f"{dataset!r} has no allowance per {name} in the ledger"
                raise InvalidParameter("max_units_per", name, why, hint)
    return {name: checks.whole(max_units_per=size) for name, size in given.items()}
