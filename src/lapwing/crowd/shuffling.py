"""Shuffled batches: a crowd hides its members when nobody can tell which report is whose.

The shuffler strips sender, address and time, waits until a batch is large enough, and passes its reports on in a random
order. Somebody who sees only that learns much less about a person than from a report with a name on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

from lapwing import checks
from lapwing.calls import Helpful, helpful
from lapwing.checks import Number
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_up
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import ApproxDP, PureDP
from lapwing.privacy.notation import written_up
from lapwing.privacy.shuffling import honest_people, least_people, local_epsilon, shuffled


@dataclass(frozen=True, slots=True)
class Shuffled(metaclass=Helpful):
    """A protocol whose reports are opened in shuffled batches of at least n (amplification by shuffling).

    Privacy: (ε,δ) under replace against somebody who sees the batches and works neither with the shuffler nor with more
    people than `fakes` and `honest_share` allow for; one report per person. Against the shuffler itself only the local
    guarantee of the protocol holds.
    Proof: ../privacy/shuffling.md

    Args:
        protocol: What people randomise their answers with.
        n: How many reports a batch has at least.
        delta: The δ of the central guarantee, added to every bound on a probability: positive, less than 1.

    Raises:
        InvalidParameter: If protocol is not a local protocol, if n is not a whole number from 1 on, if delta is not
            above 0 and below 1, or if fakes and honest_share leave nobody honest.

    >>> from lapwing.crowd import UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike"])
    >>> print(Shuffled(poll, n=100_000, delta=1e-6).privacy_loss())
    ε = 0.0152778, δ = 1e-06 (replace, per person)
    """

    protocol: Protocol
    n: int
    delta: Number
    fakes: int = 0
    """So many of the reports may come from people who do not follow the protocol."""
    honest_share: Number = 1
    """And at least this share of the others is honest."""
    _central: ApproxDP = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        loss = shuffled(
            as_protocol(self.protocol).privacy_loss(),
            self.n,
            self.delta,
            fakes=self.fakes,
            honest_share=self.honest_share,
        )
        object.__setattr__(self, "_central", loss)

    @classmethod
    def reaching(
        cls, protocol: Protocol, epsilon: Number, delta: Number, *, fakes: int = 0, honest_share: Number = 1
    ) -> Self:
        """Batches just large enough for a central epsilon.

        Args:
            protocol: What people randomise their answers with.
            epsilon: The central epsilon to reach.
            delta: The δ of the central guarantee, added to every bound on a probability.
            fakes: How many reports of a batch may come from people who do not follow the protocol.
            honest_share: The least share of the others that is honest: positive, at most 1.

        Returns:
            The protocol with the smallest batches that suffice.

        Raises:
            InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, if honest_share is not
                above 0 and at most 1, or if fakes is negative.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike"])
        >>> batches = Shuffled.reaching(poll, 0.1, 1e-6)
        >>> batches.privacy_loss().epsilon <= 0.1, 2_000 < batches.n < 4_000
        (True, True)
        """
        n = minimum_batch(protocol, epsilon, delta, fakes=fakes, honest_share=honest_share)
        return cls(protocol, n, delta, fakes, honest_share)

    def privacy_loss(self) -> ApproxDP:
        """What one report costs after its batch was shuffled.

        Returns:
            A bound on the loss, against those who see a shuffled batch only.
        """
        return self._central

    def local_loss(self) -> PureDP:
        """What one report costs against somebody who sees it with its sender, such as the shuffler.

        Returns:
            The loss of the protocol, without the help of the shuffler.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike"])
        >>> print(Shuffled(poll, n=100_000, delta=1e-6).local_loss())
        ε = 0.999806 (replace, per person)
        """
        return self.protocol.privacy_loss()

    def open(self, reports: Reports, entropy: Entropy = SYSTEM) -> Reports:
        """The batch in a random order.

        Args:
            reports: The reports of one batch: at least n.
            entropy: Source of random bits for the order.

        Returns:
            The same reports, shuffled.

        Raises:
            InvalidParameter: If the batch is too small, or its reports belong to another protocol.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike"])
        >>> Shuffled(poll, n=1000, delta=1e-6).open(poll.randomize(["bus"] * 1200)).n
        1200
        """
        self.protocol.check_own(reports.protocol)
        if reports.n < self.n:
            why = f"are too few: the guarantee {self._central} is that of {self.n:,} or more"
            raise InvalidParameter(
                "reports", reports.n, why, "Wait for more people, or rely on the local guarantee alone."
            )
        return reports.shuffled(entropy)

    def explain(self) -> str:
        """The guarantee in words.

        Returns:
            A few sentences, for the people who are asked.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike"])
        >>> print(Shuffled(poll, n=1000, delta=1e-6).explain().partition(".")[0])
        Open a batch only when at least 1,000 people have reported
        """
        honest = honest_people(self.n, self.fakes, self.honest_share)
        fakes = f", of whom at least {honest:,} follow the protocol" if honest < self.n else ""
        unit = self.protocol.unit
        central, local = self._central, self.local_loss()
        amplified = central.epsilon < Fraction(9, 10) * local.epsilon
        return " ".join(
            [
                f"Open a batch only when at least {self.n:,} people have reported{fakes}.",
                f"A shuffled batch protects the answer of one {unit} with ε = {written_up(central.epsilon)}"
                f" at δ = {written_up(central.delta)}. If this {unit} gave another answer, no result would become more"
                f" than {written_up(exp_up(central.epsilon))} times as likely, plus {written_up(central.delta)}."
                f"{self._if_honest(honest)}"
                if amplified
                else f"In so small a batch, shuffling adds no protection to the protocol. The odds of any guess about"
                f" the answer of one {unit} change by a factor of at most {written_up(exp_up(local.epsilon))}.",
                f"Towards somebody who sees a report with its sender, the protection is ε = {written_up(local.epsilon)}"
                f" (a factor of {written_up(exp_up(local.epsilon))}).",
                "This holds for one report from each person. Every further report costs again.",
            ]
        )

    def _if_honest(self, honest: int) -> str:
        """That everybody must follow the protocol, where nobody said how many do."""
        if honest < self.n or self.n == 1:
            return ""
        half = shuffled(self.local_loss(), self.n, self.delta, honest_share=Fraction(1, 2)).epsilon
        return f" That holds if all of them follow the protocol. If only half do, ε = {written_up(half)}."


@helpful
def minimum_batch(
    protocol: Protocol, epsilon: Number, delta: Number, *, fakes: int = 0, honest_share: Number = 1
) -> int:
    """How many reports a batch needs before it may be opened with this central epsilon.

    Args:
        protocol: What people randomise their answers with.
        epsilon: The central epsilon to reach.
        delta: The δ of the central guarantee, added to every bound on a probability.
        fakes: How many reports of a batch may come from people who do not follow the protocol.
        honest_share: The least share of the others that is honest: positive, at most 1.

    Returns:
        The smallest number of reports, fakes included.

    Raises:
        InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, if honest_share is not above
            0 and at most 1, or if fakes is negative.

    >>> from lapwing.crowd import UnaryEncoding
    >>> 2_700 < minimum_batch(UnaryEncoding.from_epsilon(1, symmetric=True, domain=2), epsilon=0.1, delta=1e-6) < 3_100
    True
    """
    share = checks.positive(honest_share=checks.share(honest_share=honest_share))
    aimed = checks.positive(epsilon=epsilon)
    people = least_people(local_epsilon(as_protocol(protocol).privacy_loss()), aimed, delta)
    return checks.whole(minimum=0, fakes=fakes) + math.ceil(Fraction(people) / share)


def as_protocol(protocol: object) -> Protocol:
    """A protocol, or an error that names one."""
    if isinstance(protocol, Protocol):
        return protocol
    hint = "Pass a protocol such as UnaryEncoding.from_epsilon(epsilon=1, domain=['a', 'b'])."
    raise InvalidParameter("protocol", f"<{type(protocol).__name__}>", "is not a local protocol", hint)
