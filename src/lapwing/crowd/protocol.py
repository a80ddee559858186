"""The common interface of local protocols: one frozen object of public parameters, and three roles.

    client       randomize(answers) → Reports         everybody for themselves; nobody else sees an answer
    aggregator   absorb(state, reports) → Counts      whole numbers; a.merge(b) equals absorbing both
    analyst      estimate(counts) → Estimates         unbiased, with errors; of an open domain, of candidates

Privacy: the relation is replace and the guarantee is local: the reports for any two answers have distributions that are
alike within e^ε, whoever looks. That somebody takes part is not hidden. This holds for one report per person. The
losses of several reports add up (see `lifetime`).
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.calls import Helpful, helpful
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.items import Answers
from lapwing.crowd.reports import Column, Reports
from lapwing.crowd.threads import parts, side_by_side
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.records import ratio_of
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP
from lapwing.privacy.neighbours import as_unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.crowd.estimates import Estimates
    from lapwing.crowd.numeric import MeanEstimate

BLOCK_BITS = 1 << 25
"""About so many bits of reports are drawn at a time by one thread: 4 MB."""


def _of_counts(estimate: Callable[..., Any]) -> Callable[..., Any]:
    """The same, refusing what has not been counted."""

    @wraps(estimate)
    def of_counts(self: Protocol, *args: Any, **named: Any) -> Any:
        for state in args[:1] or [named[name] for name in named if name == "state"]:
            checks.of_kind(Counts, "are not counts", "Write estimate(protocol.absorb(None, reports)).", state=state)
        return estimate(self, *args, **named)

    return of_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(metaclass=Helpful):
    """The base class of all local protocols: public parameters, and what clients, aggregator and analyst do with them.

    Args:
        unit: Whom one report is about, as the privacy loss states it ("per person").

    Raises:
        InvalidParameter: If unit is empty, or is not text.

    >>> from lapwing.crowd import Protocol, UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=4, domain=["yes", "no"])
    >>> isinstance(poll, Protocol)
    True
    >>> monday = poll.absorb(None, poll.randomize(["yes"] * 600 + ["no"] * 400))
    >>> both = poll.absorb(monday, poll.randomize(["yes"] * 500))
    >>> both.n, 900 < poll.estimate(both)["yes"] < 1300
    (1500, True)
    """

    version: ClassVar[int] = 1
    """Changes whenever the same parameters would mean other reports."""
    unit: str = "person"
    _fingerprint: bytes = field(default=b"", init=False, repr=False, compare=False)
    """Once it was computed. Equal protocols may have different ones: 1 and True are equal answers."""

    def __init_subclass__(cls, **named: Any) -> None:
        """Let calls that do not fit say what to write: of `estimate`, and of the other ways to make a protocol."""
        object.__init_subclass__(**named)
        for name, member in list(vars(cls).items()):
            if name == "estimate" and not hasattr(member, "__wrapped__"):  # slots make every class twice
                setattr(cls, name, helpful(_of_counts(member)))
            elif isinstance(member, classmethod) and not hasattr(member.__func__, "__wrapped__"):
                setattr(cls, name, classmethod(helpful(member.__func__)))

    def __post_init__(self) -> None:
        as_unit(self.unit)

    @property
    @abstractmethod
    def layout(self) -> tuple[Column, ...]:
        """The columns of a report."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the table of whole numbers that an aggregator keeps."""

    @abstractmethod
    def privacy_loss(self) -> PureDP:
        """What one report costs, computed from the exact probabilities of the coins.

        Returns:
            A bound on the loss, for the unit of the protocol.

        >>> from lapwing.crowd import UnaryEncoding
        >>> print(UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"]).privacy_loss())
        ε = 0.999484 (replace, per person)
        """

    @abstractmethod
    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        """The columns of the reports of a few people."""

    @abstractmethod
    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        """What is counted in n reports."""

    def randomize(self, values: Any, entropy: Entropy = SYSTEM) -> Reports:
        """Randomise answers: one report for each of them.

        Privacy: each report costs `privacy_loss()`. No error depends on an answer.

        Args:
            values: The true answers, one for each person: a list, an array, a column of a data frame, or `Answers`. A
                missing value, or an answer that the protocol does not know, is randomised as well.
            entropy: Source of random bits. Only tests should use another than the system's: whoever knows the bits can
                undo the noise.

        Returns:
            The reports, in the order of the answers. They may be sent.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> poll.randomize(["yes", "no", "no"])
        <3 reports of UnaryEncoding, 2 bits each>
        """
        answers = Answers.of(values)
        blocks = list(parts(len(answers), self.block)) or [slice(0, 0)]
        drawn = side_by_side(lambda part: self._randomized(answers[part], entropy), blocks, entropy)
        sizes = [part.stop - part.start for part in blocks]
        return Reports.together([Reports(self, n, columns) for n, columns in zip(sizes, drawn, strict=True)])

    def empty(self) -> Counts:
        """The counts of an aggregator that has no reports yet.

        Returns:
            Counts of 0 reports.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> poll.empty()
        <counts of 0 reports of UnaryEncoding, 2 numbers>
        """
        import numpy as np

        return Counts(self, 0, np.zeros(self.shape, dtype=np.int64))

    @helpful
    def absorb(self, state: Counts | None, reports: Reports) -> Counts:
        """Add reports to the counts of an aggregator.

        Args:
            state: The counts so far, which stay as they are; None to start.
            reports: Reports of this protocol, made with the same parameters.

        Returns:
            New counts that include these reports.

        Raises:
            InvalidParameter: If these are not reports, if state is not counts, or if they belong to another protocol.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> monday = poll.absorb(None, poll.randomize(["yes", "no"]))
        >>> poll.absorb(monday, poll.randomize(["no"])).n
        3
        """
        hint = "Write absorb(None, protocol.randomize(answers)), or Reports.from_bytes(protocol, data) for bytes."
        checks.of_kind(Reports, "are not reports", hint, reports=reports)
        if state is not None:
            checks.of_kind(Counts, "are not counts", "Write None first, then what absorb returned.", state=state)
        self.check_own(reports.protocol)
        counted = Counts(self, reports.n, self._tally(reports.columns, reports.n))
        return counted if state is None else state.merge(counted)

    @property
    def block(self) -> int:
        """How many reports are drawn at a time: a multiple of 64."""
        return max(1, BLOCK_BITS // sum(column.bits for column in self.layout) // 64) * 64

    @property
    def fingerprint(self) -> bytes:
        """A hash of 16 bytes over all parameters. Reports and counts carry it."""
        if not self._fingerprint:
            self._set(_fingerprint=hashlib.sha256(stated(self).encode()).digest()[:16])
        return self._fingerprint

    def parameters(self) -> dict[str, Any]:
        """The public parameters, as plain values for a file, a form or a fingerprint.

        Returns:
            A value for each parameter, by name.

        >>> from lapwing.crowd import CountMeanSketch
        >>> CountMeanSketch(epsilon=4, functions=64, width=256).parameters()["width"]
        256
        """
        return self._stated(_plain)

    def _named(self, written: Callable[[object], Any]) -> dict[str, Any]:
        return {"protocol": type(self).__name__, "version": self.version, **self._stated(written)}

    def _stated(self, written: Callable[[object], Any]) -> dict[str, Any]:
        return {part.name: written(getattr(self, part.name)) for part in fields(self) if part.init}

    def check_own(self, other: Protocol) -> None:
        """Refuse reports or counts that belong to a protocol with other parameters.

        Args:
            other: The protocol that the reports or counts were made with.

        Raises:
            InvalidParameter: If any of its parameters differs.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> poll.check_own(UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"]))
        """
        if other is not self and other.fingerprint != self.fingerprint:
            why = "belongs to a protocol with other parameters"
            raise InvalidParameter("reports", f"<{type(other).__name__}>", why, "Keep each collection by itself.")

    def _set(self, **derived: object) -> None:
        """Store what is derived from the public fields."""
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _loss(self, epsilon: Fraction) -> PureDP:
        return PureDP(epsilon, relation="replace", unit=self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedProtocol(Protocol):
    """A protocol that needs no candidates: it estimates its whole domain, a mean, or the strings that it finds.

    Raises:
        InvalidParameter: If unit is empty, or is not text.

    >>> from lapwing.crowd import ClosedProtocol, UnaryEncoding
    >>> isinstance(UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"]), ClosedProtocol)
    True
    """

    @abstractmethod
    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates | MeanEstimate:
        """What the counts say about the true answers.

        Args:
            state: Counts of this protocol, from `absorb`.
            confidence: Probability that an interval of the result contains the true number, for each answer by itself.

        Returns:
            The estimated count of every answer, with standard errors and intervals.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=2, domain=["yes", "no"])
        >>> counts = poll.absorb(None, poll.randomize(["yes"] * 7000 + ["no"] * 3000))
        >>> 6000 < poll.estimate(counts)["yes"] < 8000
        True
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenProtocol(Protocol):
    """A protocol for any answers at all: the analyst lists the candidates whose counts are estimated.

    Raises:
        InvalidParameter: If unit is empty, or is not text.

    >>> from lapwing.crowd import OneTimeRappor, OpenProtocol
    >>> isinstance(OneTimeRappor(permanent_noise=0.5), OpenProtocol)
    True
    """

    @abstractmethod
    def estimate(self, state: Counts, candidates: Sequence[Any], *, confidence: float = 0.95) -> Estimates:
        """How many people gave each of the candidate answers.

        Args:
            state: Counts of this protocol, from `absorb`.
            candidates: The answers to count: texts or whole numbers. Other answers are not reported on. Asking for
                other candidates later costs nothing.
            confidence: Probability that an interval of the result contains the true number, for each answer by itself.

        Returns:
            The estimated count of every candidate, with standard errors and intervals.

        >>> from lapwing.crowd import CountMeanSketch
        >>> sketch = CountMeanSketch(epsilon=4, functions=64, width=256)
        >>> counts = sketch.absorb(None, sketch.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> 6000 < sketch.estimate(counts, ["cat", "owl"])["cat"] < 8000
        True
        """


class ByEpsilon:
    """Protocols that have their epsilon as a parameter: `from_epsilon` makes them like all others.

    Args:
        epsilon: What one report costs at most. The coins are rounded, so `privacy_loss()` may be a little less.
    """

    __slots__ = ()

    @classmethod
    def from_epsilon(cls, epsilon: Number, **parameters: Any) -> Self:
        """The protocol with this epsilon.

        Probabilities are exact fractions of few binary digits. They are rounded so that the loss never exceeds epsilon;
        usually more than 99.9 % of it is used.

        Args:
            epsilon: What one report costs at most.
            **parameters: The other parameters of the class.

        Returns:
            The protocol.

        >>> from lapwing.crowd import CountMeanSketch
        >>> print(CountMeanSketch.from_epsilon(4, functions=64, width=256).privacy_loss())
        ε = 3.99654 (replace, per person)
        """
        kind: Any = cls
        return kind(epsilon=epsilon, **parameters)  # type: ignore[no-any-return]


def as_protocol(value: object) -> Protocol:
    """What is a protocol, as it is."""
    if isinstance(value, Protocol):
        return value
    hint = "Write UnaryEncoding.from_epsilon(1, domain=['a', 'b'])."
    raise InvalidParameter("protocol", f"<{type(value).__name__}>", "is not a local protocol", hint)


def stated(value: object) -> str:
    """A public parameter as text that differs wherever it does: JSON."""
    return json.dumps(_marked(value), sort_keys=True, ensure_ascii=True)


def _plain(value: object) -> Any:
    """A value as JSON has it; text for what JSON does not have."""
    if isinstance(value, Protocol):
        return value._named(_plain)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    ratio = ratio_of(value)
    return str(value) if ratio is None else str(Fraction(*ratio))


def _marked(value: object) -> Any:
    """The same, with its kind wherever it is text for something else: 1/2 is not "1/2", and b"a" is not "61"."""
    if isinstance(value, (list, tuple)):
        return [_marked(item) for item in value]
    if isinstance(value, Protocol):
        return value._named(_marked)
    if isinstance(value, str):  # JSON writes two surrogates like the one character that UTF-16 makes of them
        whole = not any("\ud800" <= character <= "\udfff" for character in value)
        return value if whole else {"surrogates": value.encode("utf-8", "surrogatepass").hex()}
    plain = _plain(value)
    if not isinstance(plain, str):
        return plain
    if isinstance(value, bytes) or ratio_of(value) is not None:
        return {"bytes" if isinstance(value, bytes) else "number": plain}
    text = repr(value)  # str may leave out what differs
    if " at 0x" in text or isinstance(value, frozenset):  # an address, an order by hashes
        why = "is written differently by every process, so a device could not report the same way twice"
        raise InvalidParameter("domain", f"<{type(value).__name__}>", why, "Use text, numbers or dates as answers.")
    return {f"{type(value).__module__}.{type(value).__qualname__}": text}
