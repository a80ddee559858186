"""Who answers a question, and how: the curator who holds the rows, or others who never have them in one place.

A question says which rows, groups and numbers are meant. The releaser of its tables decides the rest: how the budget is
stated and under which relation, what is released, which ledger is charged, and where the noise comes from. `central` is
the one of this package. Another package hands its own to `Context`; nothing here knows of it. Decision 055

    refuse → budget → items → answer (charge, compute, noise, record)

All but `answer` are functions of the question alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from lapwing.checks import Number
    from lapwing.curator.ask.context import Context
    from lapwing.curator.ask.pricing import Budget, ReleaseItem
    from lapwing.curator.ask.question import Question
    from lapwing.curator.plan.statistics import Bounding, Statistic
    from lapwing.curator.show.answer import Answer
    from lapwing.noise import Entropy
    from lapwing.privacy import Loss

Step = Literal["unprotected", "check", "raw_rows", "bounds", "marginals", "cdf", "stream"]
"""What a table offers beside questions: exact answers, a look at the cells, records, proposals of bounds, tables that
agree, distributions, and streams."""


class NoisyStatistic(Protocol):
    """One statistic of all groups that is released with noise, whoever adds it."""

    @property
    def statistic(self) -> Statistic:
        """Which integers."""

    @property
    def bounding(self) -> Bounding:
        """How much of one unit is in them."""

    @property
    def label(self) -> str:
        """What is released, in words."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that are made of it."""

    @property
    def error(self) -> float:
        """How far the noise reaches with the usual confidence."""

    def privacy_loss(self) -> Loss:
        """Its part of the loss."""

    def half_width(self, confidence: Number) -> float:
        """How far the noise reaches in one group, in steps."""


class Releaser(Protocol):
    """How questions about some tables are priced and answered. Two tables can be joined if theirs are equal."""

    def refuse(self, question: Question) -> None:
        """Raise `UnsupportedQuery` for what it does not answer, with why and what to ask instead.

        Called before anything is priced. It must look at the question alone.
        """

    def refuse_step(self, step: Step) -> None:
        """The same for what reads rows in one place, beside questions."""

    def keeps_count(self, context: Context) -> bool:
        """Whether what is spent is recorded, and an answer can be had again by its key."""

    def remaining(self, context: Context, analyst: str | None) -> Loss | None:
        """What this analyst may still spend; None where nobody keeps count."""

    def budget(self, question: Question, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """What was written down, checked. `Budget.stated` is what is charged and shown."""

    def items(self, question: Question, spend: Budget) -> tuple[ReleaseItem, ...]:
        """What a release consists of. Together they lose at most `spend.stated`."""

    def notes(self, question: Question, spend: Budget, items: tuple[ReleaseItem, ...]) -> tuple[str, ...]:
        """What a reader of a quote or an answer must know."""

    def answer(
        self,
        question: Question,
        spend: Budget,
        items: tuple[ReleaseItem, ...],
        *,
        confidence: float,
        entropy: Entropy,
        analyst: str | None,
        key: str | None,
        progress: bool,
    ) -> Answer:
        """Charge, durably; then compute, add noise, record, durably; then return what may be shown.

        The question has passed `refuse` and the checker. With a `key`, the answer that was recorded under it.
        """
