"""Quotes: what a question or a fit would cost, before anything is spent or read.

The lines of a quote and the errors come from the question or the estimator. The cost, the remaining budget and the
meaning for one unit are the same for all, and are written here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from lapwing.errors import UnsupportedConversion
from lapwing.privacy.allowances import DELTA_UNIT, SIZE_UNIT
from lapwing.privacy.explanation import present, spanned, two_records
from lapwing.privacy.losses import ZCDP, Loss, PureDP
from lapwing.privacy.notation import at_most, visible, written_down, written_up
from lapwing.privacy.trust import implied

SYMBOLS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
"""How the numbers of a loss are written."""
_ROUNDING = {"epsilon": 1000 * SIZE_UNIT, "rho": 1000 * SIZE_UNIT, "delta": 1000 * DELTA_UNIT}
"""By how much a ledger lets charges exceed what remains, so that ten times 0.1 is 1."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a quote: a release, and its part of the loss.

    Attributes:
        what: What is released.
        loss: Its part of the loss.

    >>> from lapwing.privacy import PureDP
    >>> line = Line("rows", PureDP(0.5, unit="patient"), off_by=6.0, of="rows")
    >>> print(f"{line.what}: {line.loss}")
    rows: ε = 0.5 (add_remove, per patient)
    """

    what: str
    loss: Loss
    off_by: float | None = None
    """How far one of its numbers may be off, with 95 % confidence; None where that depends on the data."""
    of: str = ""
    """What `off_by` is measured in; where it has a {}, the number stands there."""
    serves: tuple[str, ...] = ()
    """The outputs that are made of it."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Quote:
    """The price of a question or of a fit.

    Attributes:
        loss: What it would cost in all.
        lines: What would be released, each with its part of the loss.
    """

    loss: Loss
    lines: tuple[Line, ...]
    remaining: Loss | None = None
    """What the ledger has left before this."""

    def remaining_after(self) -> Loss | None:
        """What the ledger would have left; None where there is none, or where it cannot pay the loss.

        >>> from lapwing.privacy import PureDP
        >>> from lapwing.privacy.quotes import Quote
        >>> print(Quote(loss=PureDP(1), lines=(), remaining=PureDP(3)).remaining_after())
        ε = 2 (add_remove, per person)
        """
        return None if self.remaining is None else after(self.remaining, self.loss)

    def spending(self) -> str:
        """What it costs, and what remains before and after, in words.

        >>> from lapwing.privacy import PureDP
        >>> from lapwing.privacy.quotes import Quote
        >>> print(Quote(loss=PureDP(1), lines=()).spending())
        costs ε = 1 (add_remove, per person)
        """
        if self.remaining is None:
            return cost(self.loss)
        price, left, then = cost(self.loss), remains(self.remaining), self.remaining_after()
        if then is not None:
            now = amount(self.remaining, written_down)
            return f"{price} · remaining budget before: {now}; after: {amount(then, written_down)}"
        why = unpayable(self.remaining, self.loss)
        return f"{price} · {left}, {f'but this cannot be paid from it: {why}' if why else 'so this would be refused'}"


def after(remaining: Loss, loss: Loss) -> Loss | None:
    """What would remain, in the kind in which the allowance is counted; None if it cannot pay the loss."""
    price = _counted_in(type(remaining), loss)
    if price is None or unpayable(remaining, loss):
        return None
    rest = {name: getattr(remaining, name) for name in _ROUNDING if hasattr(remaining, name)}
    for name, had in rest.items():
        rest[name] = had - getattr(price, name, Fraction(0))
        if rest[name] < -_ROUNDING[name]:
            return None
    kept = {name: max(Fraction(0), value) for name, value in rest.items()}
    return type(remaining)(**kept, **remaining.frame)


def unpayable(remaining: Loss, loss: Loss) -> str:
    """Why an allowance cannot pay a loss, however much of it remains; nothing if it can."""
    if remaining.relation != loss.relation:
        return f"the allowance is for the relation {remaining.relation}, and this loss for {loss.relation}"
    if remaining.unit != loss.unit:
        return f"the allowance is per {visible(remaining.unit)}, and this loss per {visible(loss.unit)}"
    if not implied(loss.trust, remaining.trust):
        return "the allowance promises more than this loss does"
    if _counted_in(type(remaining), loss) is None:
        return f"the allowance is counted in {type(remaining).__name__}, and this is another kind of loss"
    return ""


def _counted_in(kind: type[Loss], loss: Loss) -> Loss | None:
    """A loss as an allowance of this kind counts it, if it can."""
    try:
        price = loss.to_zcdp() if kind is ZCDP else loss
    except UnsupportedConversion:
        return None
    return price if isinstance(price, PureDP | kind) else None


def amount(loss: Loss, written: Callable[[Fraction], str] = written_up) -> str:
    """A loss in symbols, rounded up."""
    amounts = {sign: getattr(loss, name) for name, sign in SYMBOLS.items() if hasattr(loss, name)}
    if not amounts:
        return {"RenyiDP": "a Rényi curve", "PLD": "a privacy-loss distribution"}.get(type(loss).__name__, str(loss))
    return ", ".join(f"{sign} = {written(value)}" for sign, value in amounts.items() if value) or "nothing"


def cost(loss: Loss) -> str:
    """What something costs."""
    return f"costs {visible(str(loss))}"


def remains(loss: Loss) -> str:
    """What is left of the allowance, rounded down."""
    return f"{amount(loss, written_down)} remains"


def risk(loss: Loss, *, parties: bool = True) -> str:
    """What a release can tell about one unit, in a sentence or two, and against which parties that holds."""
    data = loss.explain().data
    who, span, these = spanned(visible(loss.unit))
    part, most = f" of {these}" if span else "", at_most(data["out_of_100_after"])
    about = (
        present(visible(loss.unit))
        if data["relation"] == "add_remove"
        else f"a given {who} has the record{part} they guessed"
    )
    attacker = f"For any {span}, an attacker" if span else "An attacker"
    if loss.trust is not None and loss.trust.published:
        limit = f"{two_records(who, part)} An attacker who was 50 % sure of each can become {most} sure of either."
    else:
        limit = f"{attacker} who was 50 % sure that {about} can become {most} sure."
    if data["delta"]:
        limit += (
            f" With probability at most {written_up(data['delta'], 3)}, the answer is drawn without this limit, "
            "and may reveal anything."
        )
    return limit if loss.trust is None or not parties else f"{limit} Trust: {visible(str(loss.trust))}."
