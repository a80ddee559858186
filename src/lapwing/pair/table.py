"""A table that two servers hold: questions, quotes and answers as with the curator, but nobody has the rows.

    table = pair.open("pair.yaml", key="ada.pem")
    table.sql("SELECT sex, COUNT(*) FROM adult GROUP BY sex", epsilon=0.5)

Relation: `replace`, because servers see who uploads; or `add_remove`, where everybody on a public list uploads, and
those who do not take part upload an empty row. Unit: a person, who has one row. Proof: measures.md
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.ask.columns import columns_from
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.pricing import Budget, ReleaseItem, shares_of
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.quote import plan_notes
from lapwing.curator.ask.release import answer_of
from lapwing.curator.ask.releaser import Step
from lapwing.curator.engines.elsewhere import Elsewhere
from lapwing.curator.plan.nodes import Scan
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.curator.show.answer import Answer
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.noise import Entropy
from lapwing.pair.behaviour import needed_behaviour
from lapwing.pair.certificates import certificate_in, check_key, encoded
from lapwing.pair.client import Client
from lapwing.pair.compiler import Compiled
from lapwing.pair.compiler import Number as DigitColumn
from lapwing.pair.deployment import Deployment
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.orders import Request, half_width_of, loss_of, noise_for
from lapwing.pair.runs import Way
from lapwing.pair.tallies import Measure
from lapwing.pair.trust import TRUST
from lapwing.privacy import ApproxDP, Loss

NO_ROWS = "two servers hold shares of the rows, and nobody holds the rows"
_STEPS: dict[Step, str] = {
    "unprotected": "Compare with what owners know themselves.",
    "check": "Look at `lapwing pair status`: it says how many rows were refused.",
    "raw_rows": "Ask questions instead.",
    "bounds": "Bounds are public here: they are in the file of the pair.",
    "cdf": "Ask for a histogram, whose counts add up: agg(lw.histogram(…, edges=[…])).",
    "marginals": "Ask for one table with all columns: group_by(…).agg(lw.count()). Its sums agree.",
    "stream": "Ask again from time to time: every answer costs.",
}


@dataclass(frozen=True)
class JointNoise:
    """Noise on one statistic of all groups, made by two servers."""

    statistic: Statistic
    measure: Measure
    size: Fraction
    deployment: Deployment
    way: Way
    outputs: tuple[str, ...]

    @property
    def bounding(self) -> Bounding:
        """One row of each person, in one group."""
        return Bounding()

    @property
    def label(self) -> str:
        """What is released."""
        return str(self.statistic)

    def privacy_loss(self) -> Loss:
        """Its part of the loss."""
        loss = loss_of(self.measure, self.deployment.layout, self.size, self.way, self.deployment.unit)
        return replace(loss)

    def half_width(self, confidence: Number) -> float:
        """How far the noise reaches in one group, in steps."""
        return half_width_of(self._noise, self.way, confidence)

    @cached_property
    def _noise(self) -> JointLaplace:
        return noise_for(self.measure, self.deployment.layout, self.size)

    @property
    def error(self) -> float:
        """What is compared."""
        return self.half_width(Fraction(95, 100))

    @property
    def concentrated(self) -> bool:
        """Whether it is Gaussian noise."""
        return False


@dataclass(frozen=True)
class Pair:
    """How two servers answer."""

    client: Client
    way: Way = "joint"

    @property
    def deployment(self) -> Deployment:
        """The file."""
        return self.client.deployment

    def compiled(self, question: Question) -> Compiled:
        """What servers count for a question."""
        return Compiled(question, self.deployment.layout)

    def refuse(self, question: Question) -> None:
        """What is not answered: compiling says so."""
        if question.grouping.secret:
            frame = self.compiled(question).frame
            for key in question.grouping.keys:
                if isinstance(frame.table(key.expression), DigitColumn):  # to name its groups would not help
                    why = f"owners upload {key.name} as digits, which can only be added up"
                    hint = "Have it uploaded by ranges (bins: in the file) to filter, group or compare."
                    raise UnsupportedQuery(f"group by {key.name}", why, hint)
            name = next(key.name for key in question.grouping.keys if key.values is None)
            why = "which keys occur would be a secret, and two servers cannot look for them"
            raise UnsupportedQuery(question.explain(), why, f"Name the groups: keys={{{name!r}: […]}}.")
        self.compiled(question).measures  # noqa: B018 – for what it refuses

    def refuse_step(self, step: Step) -> None:
        """Nothing reads rows."""
        raise UnsupportedQuery(step, NO_ROWS, _STEPS[step])

    def keeps_count(self, context: Context) -> bool:
        """Both servers do."""
        return True

    def remaining(self, context: Context, analyst: str | None) -> Loss | None:
        """What both servers allow."""
        return self.client.remaining()

    def budget(self, question: Question, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """Epsilon, and the tiny delta of joint coins."""
        if rho is not None or delta is not None:
            name, value = ("rho", rho) if rho is not None else ("delta", delta)
            why = "two servers make Laplace noise: it costs an epsilon and a tiny delta of its own"
            raise InvalidParameter(name, value, why, "Write epsilon=0.5 alone.")
        size = checks.positive(epsilon=epsilon)
        items = self._items(question, size)
        for item in items:
            _check_size(item, size)
        delta_sum = sum((_delta(item.privacy_loss()) for item in items), Fraction(0))
        stated = ApproxDP(
            size, delta_sum, relation=self.deployment.layout.relation, unit=self.deployment.unit, trust=TRUST
        )
        return Budget(size, False, Fraction(0), stated)

    def items(self, question: Question, spend: Budget) -> tuple[JointNoise, ...]:
        """One for each statistic."""
        return self._items(question, spend.size)

    def _items(self, question: Question, size: Fraction) -> tuple[JointNoise, ...]:
        measures, outputs = self.compiled(question).measures, dict[Statistic, tuple[str, ...]]()
        weights: Mapping[Statistic, Fraction]
        if question.top is not None:
            [statistic] = measures
            weights, outputs = {statistic: Fraction(1)}, {statistic: (question.top.output,)}
        else:
            shares = {what: share for what, share in shares_of(question.bounds).items() if isinstance(what, Statistic)}
            weights = {statistic: share.weight for statistic, share in shares.items()}
            outputs = {statistic: share.outputs for statistic, share in shares.items()}
        whole = sum(weights.values(), Fraction(0))
        return tuple(
            JointNoise(
                statistic, measures[statistic], size * weight / whole, self.deployment, self.way, outputs[statistic]
            )
            for statistic, weight in weights.items()
        )

    def notes(self, question: Question, spend: Budget, items: tuple[ReleaseItem, ...]) -> tuple[str, ...]:
        """What a reader must know."""
        layout = self.deployment.layout
        unit = self.deployment.unit
        who = "how many rows there are is public" if layout.relation == "replace" else "the list of people is public"
        noise = (
            "both servers tossed the coins of the noise together, and neither knows it"
            if self.way == "joint"
            else "each server added full noise of its own, so the error is √2 times that of joint noise"
        )
        return (f"one row of each {unit}; {who}", noise, self.holds_if(question), *plan_notes(question))

    def products(self, question: Question) -> Counter[str]:
        """How many products of each column a question uses up."""
        measures = tuple(self.compiled(question).measures.values())
        return Request(measures, (), self.way).products(self.deployment.layout)

    def holds_if(self, question: Question) -> str:
        """What must be true of the servers for the stated loss to hold, in words."""
        return needed_behaviour(self.way, self.compiled(question).measures.values())

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
        """Both servers charge, compute and record; here is only what they opened."""
        if self.client.key_file is None:
            why = "is missing: servers answer only analysts whom the file names"
            raise InvalidParameter("key", None, why, "Write pair.open(…, key='analyst.pem').")
        parts = [item for item in items if isinstance(item, JointNoise)]
        request = Request(tuple(part.measure for part in parts), tuple(part.size for part in parts), self.way)
        reply = self.client.ask(request, key)
        noisy = {part.statistic: numbers for part, numbers in zip(parts, reply.numbers, strict=True)}
        return answer_of(
            question,
            spend,
            columns_from(question, items, noisy, confidence),
            remaining=reply.remaining,
            confidence=confidence,
            notes=self.notes(question, spend, items),
            engine="two servers",
            charge=reply.charge,
        )


def _check_size(item: JointNoise, epsilon: Fraction) -> None:
    """Say it of the epsilon that somebody wrote, and not of the scale that follows from it."""
    layout = item.deployment.layout
    try:
        noise_for(item.measure, layout, item.size)
    except InvalidParameter:
        wrong, right = ("large", "smaller") if item.measure.change(layout) < item.size else ("small", "larger")
        why = f"is too {wrong} for the noise that two servers make"
        raise InvalidParameter("epsilon", float(epsilon), why, f"Write a {right} one.") from None


def _delta(loss: Loss) -> Fraction:
    assert isinstance(loss, ApproxDP)
    return loss.delta


def open(
    file: str | os.PathLike[str] | Deployment,
    *,
    key: str | os.PathLike[str] | None = None,
    noise: Way = "joint",
) -> PrivateTable:
    """Open the table that two servers hold. Questions, quotes and answers are those of the curator.

    Args:
        file: The file of a pair, its folder, or a `Deployment`.
        key: The key file of an analyst whom the file names. None for somebody who only asks for quotes.
        noise: "joint" takes noise that both servers make together. With "each", each server adds full noise of its own:
            √2 times the error. For totals of one column ε then also holds against one server that sends false numbers
            for the answer, if it followed the protocol when rows came.

    Returns:
        The table. Nobody can read its rows, not even one of the servers.

    Raises:
        InvalidParameter: If `noise` is neither "joint" nor "each", the file is not that of a pair, or the file names no
            analyst with this key.

    >>> import tempfile
    >>> from lapwing import pair
    >>> folder = tempfile.mkdtemp() + "/clinic"
    >>> columns = {"smoker": {"values": [False, True]}, "age": {"bounds": [18, 97]}}
    >>> _ = pair.make(folder, name="clinic", columns=columns, owners=20)
    >>> pair.open(folder, key=f"{folder}/analyst.pem")
    <PrivateTable clinic: smoker (2 keys), age (80 keys); every row counts as a different person>
    """
    checks.one_of(("joint", "each"), noise=noise)
    deployment = file if isinstance(file, Deployment) else Deployment.read(Path(file))
    key_file = None if key is None else Path(key)
    if key_file is not None:
        _check_analyst(deployment, key_file)
    return table_of(Pair(Client(deployment, key_file), noise))


def _check_analyst(deployment: Deployment, key_file: Path) -> None:
    """Servers answer nobody else, and do not say why."""
    shown = encoded(certificate_in(key_file))
    own = [certificate for certificate in deployment.analysts.values() if encoded(certificate) == shown]
    if not own:
        names = ", ".join(deployment.analysts) or "nobody"
        why = "is not the key of an analyst whom the file of the pair names"
        raise InvalidParameter("key", str(key_file), why, f"It names: {names}.")
    check_key(key_file, own[0], "this analyst")


def pair_of(question: Question) -> Pair:
    """Who answers a question about such a table."""
    releaser = question.context.releaser
    assert isinstance(releaser, Pair)
    return releaser


def table_of(pair: Pair) -> PrivateTable:
    """The table whose questions a pair answers."""
    deployment = pair.deployment
    fields = tuple(domain.column() for domain in deployment.layout.domains)
    scan = Scan(deployment.name, fields, each_row=True)
    engine = Elsewhere("two servers", NO_ROWS, "Ask a question.")
    context = Context(
        engine,
        {deployment.name: engine.relation(scan)},
        deployment.unit,
        (deployment.name,),
        releaser=pair,
    )
    return PrivateTable(scan, context)
