"""RAPPOR in its four forms: permanent noise that stays for ever, then fresh noise in every report.

    answer → bits it sets (a Bloom filter, or one bit of a public list) → permanent response → report

                      Bloom filter and cohorts      a bit for each answer of a public list
    many reports      Rappor                        BasicRappor
    one report        OneTimeRappor                 BasicOneTimeRappor

Erlingsson, Pihur and Korolova 2014. A device that reports again and again keeps its permanent responses: `memo.Memo`.
`randomize` is for people who report once each. It takes both steps in one, with exactly their distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd import hashing
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import Domain
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.items import Answers
from lapwing.crowd.permanent_response import PermanentResponse
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol, stated
from lapwing.crowd.reports import Column
from lapwing.crowd.threads import parts
from lapwing.crowd.unary import UnaryEncoding
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, bernoulli, uniform_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.crowd.decoding import DecodedEstimates

MOST_BITS, MOST_COHORTS = 1 << 16, 1 << 16
FEW = 1 << 15
"""People whose reports stay in the cache while they are made."""
READ_OUT = 16
"""How much more work it is to read a counter out than to add to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeRappor(PermanentResponse, OpenProtocol):
    """Report a Bloom filter of the answer with permanent noise. Each person reports once.

    Any text may be an answer. Every person belongs to a cohort, drawn at random. Each cohort has hash functions of its
    own, so answers that collide in one cohort do not collide in another. The analyst decodes the reports with a list of
    candidates.

    Privacy: two answers differ in 2·hashes bits at most, fewer if functions collide; the stated loss is the largest
    possible.
    Proof: rappor.md

    Args:
        bits: Length of the Bloom filter, at most 65,536.
        hashes: How many bits an answer sets. The loss grows in proportion.
        cohorts: How many groups of people have hash functions of their own, at most 65,536.
        salt: Public text of at most 16 bytes that chooses the hash functions.

    Raises:
        InvalidParameter: If permanent_noise is not above 0 and below 1, or if bits, hashes or cohorts is too small or
            too large.

    >>> protocol = OneTimeRappor(permanent_noise=0.5)
    >>> protocol.randomize(["any text"]).n
    1
    """

    bits: int = 128
    hashes: int = 2
    cohorts: int = 8
    salt: str = ""
    _salt: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        PermanentResponse.__post_init__(self)
        for name, most in (("bits", MOST_BITS), ("cohorts", MOST_COHORTS), ("hashes", self.bits)):
            if checks.whole(**{name: getattr(self, name)}) > most:
                hint = "Write bits=128, hashes=2, cohorts=8."
                raise InvalidParameter(name, getattr(self, name), f"must be at most {most}", hint)
        whole = {name: int(getattr(self, name)) for name in ("bits", "hashes", "cohorts")}
        self._set(**whole, _salt=hashing.check_salt(self.salt))

    @property
    def layout(self) -> tuple[Column, ...]:
        """The number of the cohort, and the bits."""
        return (Column.number("cohort", self.cohorts), Column.row("bits", self.bits))

    @property
    def shape(self) -> tuple[int, ...]:
        """A row for each cohort: the ones of each bit, then the number of reports."""
        return (self.cohorts, self.bits + 1)

    @property
    def width(self) -> int:
        """How many bits a report has."""
        return self.bits

    @property
    def most_set(self) -> int:
        """How many bits one answer sets at most: one for each hash function."""
        return self.hashes

    def places(self, labels: Sequence[Any]) -> NDArray[np.intp]:
        """The bits that answers set, in every cohort. Two functions may set the same bit.

        Args:
            labels: The answers.

        Returns:
            An array with the axes cohort, answer and hash function.

        >>> OneTimeRappor(permanent_noise=0.5, cohorts=8, hashes=2).places(["cat", "dog", "owl"]).shape
        (8, 3, 2)
        """
        import numpy as np

        items = hashing.hashed_items(labels, self._salt)
        return np.stack([self._cohort_places(cohort, items) for cohort in range(self.cohorts)])

    def set_places(self, cohort: int, value: Any) -> list[int]:
        places: list[int] = self._cohort_places(cohort, hashing.hashed_items([value], self._salt))[0].tolist()
        return places

    def _cohort_places(self, cohort: int, items: hashing.HashInput) -> NDArray[np.intp]:
        import numpy as np

        numbers = range(cohort * self.hashes, (cohort + 1) * self.hashes)
        return np.stack([hashing.cells(items, self._functions[:, j], self.bits) for j in numbers], axis=1)

    def decided_by(self, cohort: int, value: Any) -> tuple[object, ...]:
        return ("bloom", self.bits, self.hashes, self._salt, cohort, hashing.text_of(value))

    def drawn_cohort(self, entropy: Entropy) -> int:
        return uniform_below(self.cohorts, entropy=entropy)

    def reported(self, cohort: int, rows: NDArray[np.uint64]) -> tuple[NDArray[Any], ...]:
        import numpy as np

        return np.full(len(rows), cohort, dtype=self.layout[0].dtype), rows

    def estimate(
        self, state: Counts, candidates: Sequence[Any], *, confidence: float = 0.95, **options: Any
    ) -> DecodedEstimates:
        """The counts of candidates, decoded with `decode`.

        Args:
            **options: `correction` and `selection`, as `decode` takes them.

        Returns:
            The count of every candidate, whether it is significant, and the share of people that no candidate explains.

        >>> protocol = OneTimeRappor(permanent_noise=0.25)
        >>> counts = protocol.absorb(None, protocol.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> decoded = protocol.estimate(counts, ["cat", "dog", "owl"])
        >>> 6000 < decoded["cat"] < 8000
        True
        """
        from lapwing.crowd.decoding import decode

        self.check_own(state.protocol)
        return decode(self, state, candidates, confidence=confidence, **options)

    @property
    def _functions(self) -> NDArray[np.float64]:
        """Function i of a cohort has the number cohort·hashes + i."""
        return hashing.rows(self.cohorts * self.hashes, self._salt)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.crowd.bits import noise_rows, put, words_for

        n, places_of = len(answers), self._places_of(answers.trimmed())
        cohorts = np.empty(n, dtype=self.layout[0].dtype)
        rows = np.empty((n, words_for(self.bits)), dtype=np.uint64)
        for part in parts(n, FEW):
            cohort = uniform_below(self.cohorts, part.stop - part.start, entropy)
            noise = noise_rows(len(cohort), self.bits, self.one_probability(False), entropy)
            for i in range(self.hashes):  # a bit that two functions share is drawn twice, and the second draw counts
                truth = bernoulli(self.one_probability(True), len(cohort), entropy)
                put(noise, np.arange(len(cohort)), places_of(part, cohort, i), truth)
            cohorts[part], rows[part] = cohort, noise
        return cohorts, rows

    def _places_of(self, answers: Answers) -> Callable[[slice, NDArray[Any], int], NDArray[np.intp]]:
        """Which bit function i sets for some people, given their cohorts: looked up if there are few answers."""
        import numpy as np

        if len(answers.labels) * self.cohorts <= len(answers):
            table = np.ascontiguousarray(self.places(answers.labels).transpose(2, 0, 1))
            return lambda part, cohort, i: table[i].ravel().take(cohort * len(answers.labels) + answers.places[part])
        items = hashing.hashed_items(answers.labels, self._salt)

        def computed(part: slice, cohort: NDArray[Any], i: int) -> NDArray[np.intp]:
            functions = self._functions[:, cohort * self.hashes + i]
            return hashing.cells(items.take(answers.places[part]), functions, self.bits)

        return computed

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        from lapwing.crowd.bits import grouped_column_counts

        cohort, rows = columns
        lanes = self._lanes(n)
        groups = np.arange(n) % lanes + cohort.astype(np.int64) * lanes
        by_lane = np.zeros((self.cohorts * lanes, self.bits), dtype=np.int64)
        for part, counts in grouped_column_counts(rows, groups, len(by_lane), self.bits):
            by_lane[part] = counts
        table = np.empty(self.shape, dtype=np.int64)
        table[:, :-1] = by_lane.reshape(self.cohorts, lanes, self.bits).sum(axis=1)
        table[:, -1] = np.bincount(cohort, minlength=self.cohorts)
        return table

    def _lanes(self, n: int) -> int:
        """How many counters a cohort has side by side: long operations are worth it, counters have to be read out."""
        from lapwing.crowd.bits import GROUPED_LANES, words_for

        words = words_for(self.bits)
        return max(1, min(GROUPED_LANES, math.isqrt(READ_OUT * n * words)) // words // self.cohorts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rappor(OneTimeRappor):
    """Report a Bloom filter of the answer with permanent noise, and add fresh noise to every report.

    Privacy: `privacy_loss()` is what one report costs by itself. `lifetime_loss()` is what all reports about the same
    answer of a `Memo` cost together. The fresh noise only post-processes: the two are never added.
    Proof: rappor.md

    Args:
        one_if_unset: Probability p that a bit of a report is one if it is zero in the permanent response.
        one_if_set: Probability q that a bit of a report is one if it is one in the permanent response: more than p.

    Raises:
        InvalidParameter: If permanent_noise is not above 0 and below 1, or if bits, hashes or cohorts is too small or
            too large. Also if one_if_unset is not less than one_if_set.

    >>> survey = Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75)
    >>> print(survey.privacy_loss(), "|", survey.lifetime_loss())
    ε = 1.07429 (replace, per person) | ε = 4.39445 (replace, per person)
    """

    one_if_unset: Number
    one_if_set: Number

    def __post_init__(self) -> None:
        OneTimeRappor.__post_init__(self)
        self._set(**_fresh_noise(self.one_if_unset, self.one_if_set))

    @classmethod
    def from_symbols(
        cls, *, k: int = 128, h: int = 2, m: int = 8, f: Number, p: Number, q: Number, salt: str = ""
    ) -> Self:
        """The protocol with these parameters, by the letters of the paper.

        Args:
            k: `bits`.
            h: `hashes`.
            m: `cohorts`.
            f: `permanent_noise`.
            p: `one_if_unset`.
            q: `one_if_set`.
            salt: Public text of at most 16 bytes that chooses the hash functions.

        Returns:
            The protocol.

        >>> Rappor.from_symbols(f=0.5, p=0.5, q=0.75) == Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75)
        True
        """
        return cls(bits=k, hashes=h, cohorts=m, permanent_noise=f, one_if_unset=p, one_if_set=q, salt=salt)

    def instantaneous_probability(self, set: bool) -> Fraction:
        """The probability that a bit is one in a report: q if it is one in the permanent response, p if not.

        >>> survey = Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75)
        >>> float(survey.instantaneous_probability(True)), float(survey.instantaneous_probability(False))
        (0.75, 0.5)
        """
        return Fraction(self.one_if_set if set else self.one_if_unset)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicOneTimeRappor(PermanentResponse, ClosedProtocol):
    """Report a bit for each answer of a public list, with permanent noise: no Bloom filter, no cohorts, no decoding.

    It is the symmetric unary encoding, with the noise as RAPPOR writes it.

    Privacy: two answers differ in two bits; see `PermanentResponse`.
    Accuracy: see `estimates.from_support`.
    Proof: rappor.md

    Args:
        domain: The public list of possible answers, or a number k for the answers 0 … k − 1.

    Raises:
        InvalidParameter: If permanent_noise is not above 0 and below 1, or if the domain has fewer than two answers or
            names one twice.

    >>> protocol = BasicOneTimeRappor(permanent_noise=0.5, domain=["yes", "no"])
    >>> protocol.randomize(["yes"]).n
    1
    """

    domain: Domain
    _unary: UnaryEncoding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        PermanentResponse.__post_init__(self)
        true, other = self.one_probability(True), self.one_probability(False)
        unary = UnaryEncoding(domain=self.domain, one_if_true=true, one_if_other=other, unit=self.unit)
        self._set(_unary=unary, domain=unary.domain)

    @property
    def layout(self) -> tuple[Column, ...]:
        """One row of bits: a bit for each answer of the domain."""
        return self._unary.layout

    @property
    def shape(self) -> tuple[int, ...]:
        """How many reports have a one, for each answer."""
        return self._unary.shape

    @property
    def width(self) -> int:
        """How many bits a report has: one for each answer."""
        return self._unary.shape[0]

    @property
    def most_set(self) -> int:
        """How many bits one answer sets: one."""
        return 1

    def set_places(self, cohort: int, value: Any) -> list[int]:
        place = int(Answers.of([value]).within(self._unary._labels, self._unary._index)[0])
        return [place] if place >= 0 else []

    def decided_by(self, cohort: int, value: Any) -> tuple[object, ...]:
        # The list itself: an answer may have the same place in two lists and another has not, which would show.
        return ("basic", self.width, stated(self.domain), *(self.set_places(cohort, value) or [-1]))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The estimated count of every answer of the domain.

        >>> protocol = BasicOneTimeRappor(permanent_noise=0.25, domain=["yes", "no"])
        >>> counts = protocol.absorb(None, protocol.randomize(["yes"] * 7000 + ["no"] * 3000))
        >>> 6000 < protocol.estimate(counts)["yes"] < 8000
        True
        """
        self.check_own(state.protocol)
        return self._unary.estimate(Counts(self._unary, state.n, state.table), confidence=confidence)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        return self._unary._randomized(answers, entropy)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        return self._unary._tally(columns, n)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicRappor(BasicOneTimeRappor):
    """Report a bit for each answer of a public list, with permanent noise, and fresh noise in every report.

    Privacy: as `Rappor`, with one bit for each answer.
    Proof: rappor.md

    Args:
        one_if_unset: Probability p that a bit of a report is one if it is zero in the permanent response.
        one_if_set: Probability q that a bit of a report is one if it is one in the permanent response: more than p.

    Raises:
        InvalidParameter: If permanent_noise is not above 0 and below 1, if one_if_unset is not less than one_if_set, or
            if the domain has fewer than two answers or names one twice.

    >>> poll = BasicRappor(domain=["yes", "no"], permanent_noise=0.5, one_if_unset=0.25, one_if_set=0.75)
    >>> print(poll.privacy_loss(), "|", poll.lifetime_loss())
    ε = 1.02166 (replace, per person) | ε = 2.19723 (replace, per person)
    """

    one_if_unset: Number
    one_if_set: Number

    def __post_init__(self) -> None:
        self._set(**_fresh_noise(self.one_if_unset, self.one_if_set))
        BasicOneTimeRappor.__post_init__(self)

    def instantaneous_probability(self, set: bool) -> Fraction:
        """The probability that a bit is one in a report: q if it is one in the permanent response, p if not.

        >>> poll = BasicRappor(domain=["yes", "no"], permanent_noise=0.5, one_if_unset=0.25, one_if_set=0.75)
        >>> float(poll.instantaneous_probability(True)), float(poll.instantaneous_probability(False))
        (0.75, 0.25)
        """
        return Fraction(self.one_if_set if set else self.one_if_unset)


def _fresh_noise(one_if_unset: Number, one_if_set: Number) -> dict[str, Fraction]:
    p, q = checks.share(one_if_unset=one_if_unset), checks.share(one_if_set=one_if_set)
    if not p < q:
        why = "must be less than one_if_set, or reports say nothing"
        raise InvalidParameter("one_if_unset", one_if_unset, why, "Write one_if_unset=0.5, one_if_set=0.75.")
    return {"one_if_unset": p, "one_if_set": q}
