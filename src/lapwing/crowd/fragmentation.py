"""Fragments: a report is sent in anonymous pieces, which say less than the whole report does.

Erlingsson, Feldman, Mironov, Raghunathan, Song, Talwar and Thakurta 2020 ("Encode, Shuffle, Analyze Privacy Revisited")
split by attribute (every bit of a unary report is a message) or by report (several weak reports instead of a strong
one). Both need what shuffling needs, for every piece: nobody can tell which pieces come from the same person.

*Removal* compares an answer with no answer at all, *replacement* one answer with another: at most twice as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol
from lapwing.crowd.reports import Reports
from lapwing.crowd.shuffling import as_protocol
from lapwing.crowd.unary import UnaryEncoding
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import ApproxDP, PureDP
from lapwing.privacy.notation import written_up
from lapwing.privacy.optimal_composition import optimal_epsilon_at
from lapwing.privacy.shuffling import shuffled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Removal:
    """What tells an answer from none: alike within e^ε, except for a probability δ, both ways.

    Attributes:
        epsilon: The ε.
        delta: The δ.
        unit: Who or what is protected.

    >>> from lapwing.crowd import AttributeFragments, UnaryEncoding
    >>> fragments = AttributeFragments(UnaryEncoding.from_epsilon(epsilon=2, symmetric=True, domain=["yes", "no"]))
    >>> removal = fragments.local_removal()
    >>> print(removal, float(removal.delta))
    ε = 0.999484 (removal, per person) 0.0
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    unit: str = "person"

    def __str__(self) -> str:
        delta = f", δ = {written_up(self.delta)}" if self.delta else ""
        return f"ε = {written_up(self.epsilon)}{delta} (removal, per {self.unit})"


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Anonymous bits in a random order: `bits[i]` belongs to the answer at `positions[i]` of the domain.

    Attributes:
        positions: The position of each bit in the domain.
        bits: The bits.

    Raises:
        InvalidParameter: If positions and bits are not arrays of one length, of whole numbers and of truth values.

    >>> from lapwing.crowd import AttributeFragments, UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=2, domain=["yes", "no"])
    >>> messages = AttributeFragments(poll).fragments(poll.randomize(["yes", "no", "no"]))
    >>> len(messages), sorted(messages.positions.tolist())
    (6, [0, 0, 0, 1, 1, 1])
    """

    positions: NDArray[np.int64]
    bits: NDArray[np.bool_]

    def __post_init__(self) -> None:
        kinds = self.positions.dtype.kind, self.bits.dtype.kind
        if kinds not in (("i", "b"), ("u", "b")) or self.positions.ndim != 1 or self.positions.shape != self.bits.shape:
            why = "must each be a whole number and a truth value"
            raise InvalidParameter(
                "messages", f"<{self.bits.size} messages>", why, "Drop everything that is not a message."
            )

    def __len__(self) -> int:
        return len(self.bits)


@dataclass(frozen=True, slots=True)
class AttributeFragments(metaclass=Helpful):
    """Send every bit of a unary report as an anonymous message of its own: (position, bit).

    Privacy: an answer and no answer differ in one bit, two answers in two; each bit hides among the bits at its
    position.
    Accuracy: that of the protocol; the messages hold the same counts.
    Proof: fragmentation.md

    Args:
        protocol: The unary encoding whose bits are sent one by one.

    Raises:
        InvalidParameter: If protocol is not a `UnaryEncoding`.

    >>> from lapwing.crowd import UnaryEncoding
    >>> fragments = AttributeFragments(UnaryEncoding.from_epsilon(epsilon=2, domain=["yes", "no"]))
    >>> messages = fragments.fragments(fragments.protocol.randomize(["yes"] * 3000 + ["no"] * 7000))
    >>> len(messages), 2000 < fragments.estimate(fragments.absorb(None, messages))["yes"] < 4000
    (20000, True)
    >>> fragments.privacy_loss(n=10_000, delta=1e-6).epsilon < fragments.local_loss().epsilon
    True
    """

    protocol: UnaryEncoding

    def __post_init__(self) -> None:
        given: object = self.protocol
        if not isinstance(given, UnaryEncoding):
            why = "has no bits that are randomised one by one"
            hint = "Pass UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=['a', 'b'])."
            raise InvalidParameter("protocol", f"<{type(given).__name__}>", why, hint)

    def local_loss(self) -> PureDP:
        """What all messages of a person together cost, against somebody who can link them, such as the shuffler.

        Returns:
            The loss of all messages of one person.
        """
        return self.protocol.privacy_loss()

    def local_removal(self) -> Removal:
        """What all messages of a person cost, compared with no answer. A single message can cost as much.

        Returns:
            The loss of taking part, compared with sending nothing.

        >>> from lapwing.crowd import UnaryEncoding
        >>> fragments = AttributeFragments(UnaryEncoding.from_epsilon(epsilon=2, symmetric=True, domain=["yes", "no"]))
        >>> print(fragments.local_removal(), "|", fragments.local_loss())
        ε = 0.999484 (removal, per person) | ε = 1.99897 (replace, per person)
        """
        true, other = self._probabilities
        return Removal(ln_up(max(true / other, (1 - other) / (1 - true))), unit=self.protocol.unit)

    def fragment_loss(self, n: int, delta: Number, *, fakes: int = 0, honest_share: Number = 1) -> ApproxDP:
        """What the shuffled bits at one position say about one person's bit there.

        Args:
            n: How many people send messages.
            delta: The δ of the guarantee, added to every bound on a probability: positive, less than 1.
            fakes: How many of the messages at a position may come from people who do not follow the protocol.
            honest_share: The least share of the others that is honest: positive, at most 1.

        Returns:
            The central (ε, δ) guarantee of one bit.

        Raises:
            InvalidParameter: If n is not a whole number from 1 on, if delta is not above 0 and below 1, or if fakes and
                honest_share leave nobody honest.

        >>> from lapwing.crowd import UnaryEncoding
        >>> fragments = AttributeFragments(UnaryEncoding.from_epsilon(epsilon=2, domain=["yes", "no"]))
        >>> fragments.fragment_loss(10_000, 1e-6).epsilon < fragments.privacy_loss(10_000, 1e-6).epsilon
        True
        """
        bit = PureDP(self.local_removal().epsilon, relation="replace", unit=f"bit of one {self.protocol.unit}")
        return shuffled(bit, n, delta, fakes=fakes, honest_share=honest_share)

    def removal(self, n: int, delta: Number, *, fakes: int = 0, honest_share: Number = 1) -> Removal:
        """What all shuffled messages say about one person's answer, compared with no answer.

        Args:
            n: How many people send messages.
            delta: The δ of the guarantee, added to every bound on a probability: positive, less than 1.
            fakes: How many of the messages at a position may come from people who do not follow the protocol.
            honest_share: The least share of the others that is honest: positive, at most 1.

        Returns:
            The guarantee of removal.

        >>> from lapwing.crowd import UnaryEncoding
        >>> fragments = AttributeFragments(UnaryEncoding.from_epsilon(epsilon=2, domain=["yes", "no"]))
        >>> fragments.removal(10_000, 1e-6).epsilon < fragments.local_removal().epsilon
        True
        """
        bit = self.fragment_loss(n, delta, fakes=fakes, honest_share=honest_share)
        return Removal(bit.epsilon, bit.delta, self.protocol.unit)

    def privacy_loss(self, n: int, delta: Number, *, fakes: int = 0, honest_share: Number = 1) -> ApproxDP:
        """What all shuffled messages of n people say about which answer somebody gave.

        Args:
            n: How many people send messages.
            delta: The δ of the guarantee, added to every bound on a probability: positive, less than 1.
            fakes: How many of the messages at a position may come from people who do not follow the protocol.
            honest_share: The least share of the others that is honest: positive, at most 1.

        Returns:
            The central (ε, δ) guarantee of an answer.

        Raises:
            InvalidParameter: If n is not a whole number from 1 on, if delta is not above 0 and below 1, or if
                honest_share is not above 0 and at most 1.
        """
        half = checks.probability(delta=delta) / 2
        bit = self.fragment_loss(n, half, fakes=fakes, honest_share=honest_share)
        whole = shuffled(self.local_loss(), n, delta, fakes=fakes, honest_share=honest_share)
        epsilon = min(2 * bit.epsilon, whole.epsilon)
        return ApproxDP(epsilon, whole.delta, relation="replace", unit=self.protocol.unit)

    def fragments(self, reports: Reports, entropy: Entropy = SYSTEM) -> Messages:
        """What the shuffler passes on: the bits of all reports, in a random order.

        Args:
            reports: Reports of the protocol.
            entropy: Source of random bits for the order.

        Returns:
            One message for each bit of each report.
        """
        import numpy as np

        from lapwing.crowd.bits import unpack_rows
        from lapwing.noise import permutation

        self.protocol.check_own(reports.protocol)
        width = self.protocol.shape[0]
        order = permutation(reports.n * width, entropy)
        bits = unpack_rows(reports.columns[0], width).ravel().astype(np.bool_)
        return Messages((order % width).astype(np.int64), bits[order])

    def absorb(self, state: Counts | None, messages: Messages) -> Counts:
        """Add messages to the counts of the protocol.

        Args:
            state: The counts so far, which stay as they are; None to start.
            messages: All messages of some people: as many for every position.

        Returns:
            New counts that include these people.

        Raises:
            InvalidParameter: If some messages are missing or name no position of the domain.
        """
        import numpy as np

        width = self.protocol.shape[0]
        inside = messages.positions[(messages.positions >= 0) & (messages.positions < width)].astype(np.int64)
        each = np.bincount(inside, minlength=width)
        if len(inside) != len(messages) or len(set(each.tolist())) > 1:
            why = "must be as many for every position: everybody sends one for each"
            raise InvalidParameter("messages", f"<{len(messages)} messages>", why, "Wait until all have arrived.")
        ones = np.bincount(inside[messages.bits], minlength=width).astype(np.int64)
        counted = Counts(self.protocol, int(each[0]), ones)
        return counted if state is None else state.merge(counted)

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The count of every answer, as the protocol estimates it.

        Args:
            state: The counts, from `absorb`.
            confidence: Probability that an interval of the result contains the true number, for each answer by itself.

        Returns:
            The estimated count of every answer of the domain.
        """
        return self.protocol.estimate(state, confidence=confidence)

    @property
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        return checks.exact(one_if_true=self.protocol.one_if_true), checks.exact(
            one_if_other=self.protocol.one_if_other
        )


@dataclass(frozen=True, slots=True)
class ReportFragments(metaclass=Helpful):
    """Send several independent weak reports of the same answer, each shuffled by itself.

    Privacy: the losses of the reports add up, but each is amplified first, and weak ones are amplified more. Somebody
    who can link the reports sees the sum of their local losses.
    Accuracy: the mean of several estimates.
    Proof: fragmentation.md

    Args:
        protocol: The protocol of each report.
        count: How many reports each person sends.

    Raises:
        InvalidParameter: If protocol is not a local protocol, or if count is not a whole number from 1 on.

    >>> from lapwing.crowd import UnaryEncoding
    >>> weak = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
    >>> fragments = ReportFragments(weak, count=3)
    >>> batches = [batch.shuffled() for batch in fragments.randomize(["yes"] * 3000 + ["no"] * 7000)]
    >>> estimates = fragments.estimate(fragments.absorb(None, batches))
    >>> estimates.n, 1500 < estimates["yes"] < 4500
    (10000, True)
    """

    protocol: ClosedProtocol | OpenProtocol
    count: int

    def __post_init__(self) -> None:
        as_protocol(self.protocol)
        checks.whole(count=self.count)

    def local_loss(self) -> PureDP:
        """What all reports of a person together cost, against somebody who can link them.

        Returns:
            The loss of one report, times `count`.

        >>> from lapwing.crowd import UnaryEncoding
        >>> print(ReportFragments(UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"]), count=3).local_loss())
        ε = 2.99846 (replace, per person)
        """
        return self.count * self.protocol.privacy_loss()

    def privacy_loss(self, n: int, delta: Number, *, fakes: int = 0, honest_share: Number = 1) -> ApproxDP:
        """What all shuffled reports of n people say about one person's answer.

        Args:
            n: How many people send reports.
            delta: The δ of the guarantee, added to every bound on a probability: positive, less than 1.
            fakes: How many reports of a batch may come from people who do not follow the protocol.
            honest_share: The least share of the others that is honest: positive, at most 1.

        Returns:
            The central (ε, δ) guarantee of an answer.

        Raises:
            InvalidParameter: If n is not a whole number from 1 on, if delta is not above 0 and below 1, or if
                honest_share is not above 0 and at most 1.

        >>> from lapwing.crowd import UnaryEncoding
        >>> fragments = ReportFragments(UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"]), count=3)
        >>> fragments.privacy_loss(10_000, 1e-6).epsilon < fragments.local_loss().epsilon
        True
        """
        total = checks.probability(delta=delta)
        whole = shuffled(self.local_loss(), n, delta, fakes=fakes, honest_share=honest_share)
        epsilons = [whole.epsilon]
        for part in (Fraction(1), Fraction(1, 2)):  # all of delta for the batches, or half of it for adding them up
            each = part * total / self.count
            batch = shuffled(self.protocol.privacy_loss(), n, each, fakes=fakes, honest_share=honest_share)
            epsilons.append(self.count * batch.epsilon)
            composed = optimal_epsilon_at(batch.epsilon, batch.delta, self.count, total)
            epsilons += [] if composed is None else [composed]
        return ApproxDP(min(epsilons), whole.delta, relation="replace", unit=self.protocol.unit)

    def randomize(self, values: Any, entropy: Entropy = SYSTEM) -> tuple[Reports, ...]:
        """One batch of reports for every fragment. Shuffle each batch by itself.

        Args:
            values: The true answers, one for each person, as `protocol.randomize` takes them.
            entropy: Source of random bits. Only tests should use another than the system's.

        Returns:
            The batches, `count` of them.
        """
        kept = list(values) if isinstance(values, Iterator) else values  # which can be read only once
        return tuple(self.protocol.randomize(kept, entropy) for _ in range(self.count))

    def absorb(self, state: Counts | None, batches: Sequence[Reports]) -> Counts:
        """Add batches of reports to the counts of the protocol.

        Args:
            state: The counts so far, which stay as they are; None to start.
            batches: The batches of all fragments.

        Returns:
            New counts. They count every fragment as a report.
        """
        for batch in batches:
            state = self.protocol.absorb(state, batch)
        return self.protocol.empty() if state is None else state

    def estimate(self, state: Counts, *candidates: Any, **options: Any) -> Estimates:
        """How many people gave each answer, if each of them sent `count` reports.

        Accuracy: only the coins are averaged. Drawing the people adds the same as ever.

        Args:
            state: The counts, from `absorb`.
            *candidates: The list of answers to count, for a protocol that needs candidates.
            **options: Options of `protocol.estimate`, such as `confidence`.

        Returns:
            The estimated count of every answer, in people.

        Raises:
            InvalidParameter: If some fragments are missing, or the protocol estimates a mean.
        """
        import numpy as np

        if state.n % self.count:
            why = f"must be {self.count} from every person"
            raise InvalidParameter("state", f"<{state.n} reports>", why, "Absorb all batches of a person.")
        estimates: object = self.protocol.estimate(state, *candidates, **options)
        if not isinstance(estimates, Estimates):
            why = "does not estimate counts of answers"
            hint = "Write protocol.estimate(state). It holds only for the people who answered."
            raise InvalidParameter("protocol", type(self.protocol).__name__, why, hint)
        coins = (estimates.population_standard_error / self.count) ** 2
        drawing = (
            np.maximum(estimates.sample_standard_error**2 - estimates.population_standard_error**2, 0) / self.count
        )
        return replace(
            estimates,
            n=state.n // self.count,
            counts=estimates.counts / self.count,
            population_standard_error=np.sqrt(coins),
            sample_standard_error=np.sqrt(coins + drawing),
        )
