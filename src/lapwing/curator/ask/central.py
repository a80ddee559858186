"""The trusted curator as a releaser: one ledger, one engine that reads the rows, noise that this process draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from lapwing.curator.ask.breaker import admit, read
from lapwing.curator.ask.columns import look
from lapwing.curator.ask.context import Context, ways_of_reading
from lapwing.curator.ask.distribution import DistributionQuery, look_at_distribution
from lapwing.curator.ask.marginals import MarginalsQuestion, look_at_marginals
from lapwing.curator.ask.pricing import SMALL_DELTA, Budget, budget, price, price_top
from lapwing.curator.ask.quote import NO_LEDGER, SEEDED, noise_notes, plan_notes, rows_notes, selection_notes
from lapwing.curator.ask.release import answer_of
from lapwing.curator.ask.rollup_checks import rollup_notes, trust_of
from lapwing.curator.ask.tree_noise import price_tree
from lapwing.curator.show.answer import Answer
from lapwing.curator.show.progress import shown
from lapwing.errors import InvalidParameter
from lapwing.privacy import Loss, PureDP

if TYPE_CHECKING:
    from lapwing.checks import Number
    from lapwing.curator.ask.pricing import Item
    from lapwing.curator.ask.question import Question
    from lapwing.curator.ask.releaser import Step
    from lapwing.noise import Entropy
    from lapwing.privacy.ledger import Charge


@dataclass(frozen=True, slots=True)
class Central:
    """Questions are answered by whoever holds the rows, who is trusted.

    Privacy: add_remove of one unit. Proof: curator.md
    """

    def refuse(self, question: Question) -> None:
        """Nothing but what the checker refuses."""

    def refuse_step(self, step: Step) -> None:
        """Nothing: the rows are here."""

    def keeps_count(self, context: Context) -> bool:
        """If there is a ledger."""
        return context.ledger is not None

    def remaining(self, context: Context, analyst: str | None) -> Loss | None:
        """The least that may still be spent on any of the data sets, by this analyst, for one unit."""
        book, losses = context.ledger, []
        if book is None:
            return None
        for dataset in context.datasets:
            who = {"analyst": analyst} if analyst and analyst in book.analysts(dataset, context.unit) else {}
            losses.append(book.remaining(dataset, context.unit, **who))
        least = losses[0]
        for other in losses[1:]:
            if type(other) is type(least) and other <= least:
                least = other
        return least

    def _has_own(self, context: Context, analyst: str | None) -> bool:
        """Whether this analyst has an allowance of their own on any of the data sets."""
        book = context.ledger
        if book is None or analyst is None:
            return False
        return any(analyst in book.analysts(dataset, context.unit) for dataset in context.datasets)

    def budget(self, question: Question, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """PureDP, ApproxDP or ZCDP. Secret keys need a delta; one that would publish somebody is refused."""
        context, keys = question.context, question.grouping.keys
        secret = [key.name for key in keys if key.values is None and question.top is None]
        if secret and delta is None and (epsilon is None) != (rho is None):
            why = f"the values of {' and '.join(secret)} are not declared, so showing them needs a delta"
            declared = ", ".join(f"{name!r}: […]" for name in secret)
            hint = f"Declare them, keys={{{declared}}}, or write delta=1e-6 {SMALL_DELTA}."
            if isinstance(context.remaining(context.analyst), PureDP):
                hint = f"Declare them, keys={{{declared}}}. The allowance has no delta that could be spent."
            raise InvalidParameter("delta", None, why, hint)
        spend = budget(epsilon=epsilon, delta=delta, rho=rho, secret_keys=bool(secret), unit=context.unit)
        trust = trust_of(question)
        if trust is not None:
            spend = replace(spend, stated=replace(spend.stated, trust=trust))
        people = context.population
        chance = getattr(spend.stated, "delta", Fraction(0))
        if people is not None and chance * people >= 1:
            why = f"with {people} units or more, it allows publishing one of them"
            raise InvalidParameter("delta", delta, why, f"Write delta={1 / (100 * people):.0e} or less.")
        if spend.noise_delta and not any(item.concentrated for item in self.items(question, spend)):
            return replace(
                spend, stated=PureDP(spend.size, unit=context.unit, trust=trust)
            )  # no delta is lost, so none is paid
        return spend

    def items(self, question: Question, spend: Budget) -> tuple[Any, ...]:
        """Noise for what one unit can change, tests of secret keys, quantiles, or the top keys."""
        if isinstance(question, MarginalsQuestion | DistributionQuery):
            return question.priced(spend)
        unit, top, grouping = question.context.unit, question.top, question.grouping
        if top is not None:
            return price_top(top.most, spend, candidates=grouping.size, unit=unit, outputs=(top.output,))
        if question.rollup is not None:
            return price_tree(question, spend)
        return price(question.bounds, spend, question.effective, unit=unit, secret_keys=grouping.secret)

    def notes(self, question: Question, spend: Budget, items: tuple[Any, ...]) -> tuple[str, ...]:
        """Which rows count, what the plan leaves out, whether nobody keeps count, and which noise a delta bought."""
        unrecorded = () if self.keeps_count(question.context) else (NO_LEDGER,)
        more = question.remarks() if isinstance(question, MarginalsQuestion | DistributionQuery) else ()
        return (
            *rows_notes(question),
            *plan_notes(question),
            *selection_notes(question),
            *rollup_notes(question, spend.stated),
            *more,
            *unrecorded,
            *noise_notes(items, spend),
        )

    def answer(
        self,
        question: Question,
        spend: Budget,
        items: tuple[Any, ...],
        *,
        confidence: float,
        entropy: Entropy,
        analyst: str | None,
        key: str | None,
        progress: bool,
    ) -> Answer:
        """Paid for before the engine is contacted and on record before it is shown."""
        context = question.context
        admit(context)
        if context.ledger is None:
            with shown("reading", progress):
                return self._read(question, spend, items, confidence, entropy)
        binding: dict[str, Any] = {"question": question.digest(), "loss": str(spend.stated), "confidence": confidence}
        binding |= ways_of_reading(context)
        who = {} if analyst is None else {"analyst": analyst}
        losses = context.losses(spend.stated)
        charge = context.ledger.charge(
            context.datasets, losses, key=key, binding=binding, seeded=not entropy.private, **who
        )
        if charge.stored is not None:
            return replace(Answer.from_json(charge.stored.decode()), repeated=True)
        with shown("reading", progress):
            answer = self._read(question, spend, items, confidence, entropy, analyst, charge)
        content = answer.to_json().encode()
        return Answer.from_json(context.ledger.record(charge, content, datasets=context.datasets, **who).decode())

    def _read(
        self,
        question: Question,
        spend: Budget,
        items: tuple[Item, ...],
        confidence: float,
        entropy: Entropy,
        analyst: str | None = None,
        charge: Charge | None = None,
    ) -> Answer:
        context, looked = question.context, partial(look, question)
        if isinstance(question, MarginalsQuestion):
            looked = partial(look_at_marginals, question)
        elif isinstance(question, DistributionQuery):
            looked = partial(look_at_distribution, question)
        reading = partial(looked, items, confidence, entropy=entropy)
        number = None if charge is None else charge.number
        columns = read(context, reading, analyst=analyst, charge=number)
        notes = self.notes(question, spend, items) if entropy.private else (SEEDED, *self.notes(question, spend, items))
        answer = answer_of(
            question,
            spend,
            columns,
            remaining=context.remaining(analyst),
            confidence=confidence,
            notes=notes,
            engine=context.engine.dialect.name,
            charge=number,
        )
        said: dict[str, Any] = {} if entropy.private else {"seeded": True}
        said |= {} if charge is None else {"entry": charge.entry}
        said |= {"own_allowance": True} if self._has_own(context, analyst) else {}
        return replace(answer, provenance={**answer.provenance, **said}) if said else answer


CENTRAL = Central()
