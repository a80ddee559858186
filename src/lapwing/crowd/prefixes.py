"""Frequent strings that nobody listed: short prefixes are counted first, and only frequent ones grow longer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.hadamard import walsh_hadamard
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.items import Answers
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.protocol import ByEpsilon, ClosedProtocol, OpenProtocol
from lapwing.crowd.reports import Column
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.probabilities import as_written
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

END = "\0"
"""Fills strings up to the full length."""
MOST_CANDIDATES = 1 << 22
MOST_LEVELS = 1 << 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTree(ByEpsilon, ClosedProtocol):
    """Find frequent strings that nobody listed: everybody reports a prefix of a random length, and nothing else.

    Prefixes have `start` characters, then `step` more at every level, up to `length`. The analyst takes the `keep` most
    frequent prefixes of a level, with every continuation over the `alphabet`, as candidates for the next one. A
    value that is not text, or has other characters, is never found.

    Privacy: a level is drawn without regard to the answer, and the prefix goes through one local protocol: its loss.
    Accuracy: see `estimate`.
    Proof: prefixes.md

    Args:
        alphabet: The characters that found strings may have, as a public fact.
        length: How many characters of a string count. Longer strings are cut, shorter ones filled up.
        start: How many characters the shortest prefix has.
        step: How many characters longer the prefixes of each next level are.
        keep: How many prefixes of each level are continued.
        salt: Public text of at most 16 bytes that chooses the hash functions. Take another one for every collection.
    """

    epsilon: Number
    alphabet: str
    length: int
    start: int
    step: int
    keep: int = 64
    salt: str = ""
    _lengths: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _inner: OpenProtocol = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        if not isinstance(self.alphabet, str) or len(set(self.alphabet)) != len(self.alphabet) or not self.alphabet:
            raise InvalidParameter("alphabet", self.alphabet, "must be different characters", "Write alphabet='01'.")
        if END in self.alphabet:
            raise InvalidParameter(
                "alphabet", self.alphabet, "has the zero character, which fills strings up", "Drop it."
            )
        length, step = checks.whole(length=self.length), checks.whole(step=self.step)
        start = min(checks.whole(start=self.start), length)
        if -(-(length - start) // step) >= MOST_LEVELS:
            raise InvalidParameter("step", step, f"makes more than {MOST_LEVELS} levels", "Take longer steps.")
        lengths = (*range(start, length, step), length)
        most = max(
            (len(self.alphabet) + 1) ** min(start, 64),
            checks.whole(keep=self.keep) * (len(self.alphabet) + 1) ** min(step, 64) if len(lengths) > 1 else 0,
        )
        if most > MOST_CANDIDATES:
            why = f"makes {most:,} candidates at one level"
            raise InvalidParameter("step", step, why, "Take shorter steps, a shorter start, or keep fewer.")
        self._set(epsilon=as_written(checks.positive(epsilon=self.epsilon)), start=start, _lengths=lengths)
        self._set(_inner=self._protocol())

    @abstractmethod
    def _protocol(self) -> OpenProtocol:
        """How a beginning is reported: a protocol that is asked about candidates."""

    @abstractmethod
    def _values(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each cell (column) of each function (row) adds to the estimate of a string that it holds, at a level."""

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column.number("level", len(self._lengths)), *self._inner.layout)

    @property
    def shape(self) -> tuple[int, ...]:
        """Each level's counts in a row, and its number of reports."""
        return len(self._lengths), self._size + 1

    @property
    def _size(self) -> int:
        from math import prod

        return prod(self._inner.shape)

    @property
    def block(self) -> int:
        return self._inner.block

    def privacy_loss(self) -> PureDP:
        """What one report costs: the loss of the report about one prefix.

        >>> from lapwing.crowd import PrefixExtension
        >>> print(PrefixExtension(epsilon=4, alphabet="abcdefgh", length=4).privacy_loss())
        ε = 3.99989 (replace, per person)
        """
        return self._loss(self._inner.privacy_loss().epsilon)

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The strings that were found, most frequent first, with the counts that the last level gives them.

        A candidate of the last level is found if its count is larger than cells drawn at random would give any of as
        many candidates: with this confidence no string that nobody has is among them (see prefixes.md).
        Accuracy: the last level is a random sample of the people, so its counts are multiplied by n and divided by its
        size: unbiased for every candidate, and independent of the levels before. Strings near the limit appear only
        when they are overestimated. The errors are those of the sample; see prefixes.md.

        Args:
            confidence: Probability that no string is found that nobody has; also that of the intervals.

        Returns:
            The strings that were found, with their estimated counts.
        """
        import numpy as np

        self.check_own(state.protocol)
        candidates, estimates = [""], self._level(state, 0, [], confidence)
        for level, length in enumerate(self._lengths):
            before = self._lengths[level - 1] if level else 0
            candidates = continued(candidates, length - before, self.alphabet)
            estimates = self._level(state, level, candidates, confidence)
            if length < self.length:
                candidates = list(estimates.top(self.keep).labels)
        failure = float(1 - checks.probability(confidence=confidence)) / max(len(candidates), 1)
        certain = np.flatnonzero(estimates.counts > seldom_above(self._values(state.table[-1]), failure))
        everybody = self._of_everybody(estimates, state.n)
        return replace(
            everybody,
            labels=[candidates[place].rstrip(END) for place in certain.tolist()],
            counts=everybody.counts[certain],
            population_standard_error=everybody.population_standard_error[certain],
            sample_standard_error=everybody.sample_standard_error[certain],
            remark=f"chosen as certain among {len(candidates):,} candidates, unbiased before the choice",
        ).top(max(1, len(certain)))

    def _level(self, state: Counts, level: int, candidates: Sequence[str], confidence: float) -> Estimates:
        """What the people of a level say about beginnings of its length."""
        table = state.table[level, :-1].reshape(self._inner.shape)
        counts = Counts(self._inner, int(state.table[level, -1]), table)
        return self._inner.estimate(counts, candidates, confidence=confidence)

    @staticmethod
    def _of_everybody(estimates: Estimates, n: int) -> Estimates:
        """Estimates about a random part of the people, for all n of them."""
        import numpy as np

        factor = n / max(estimates.n, 1)
        sample = factor * estimates.sample_standard_error
        share = np.clip(estimates.shares, 0, 1)
        return replace(
            estimates,
            n=n,
            counts=factor * estimates.counts,
            population_standard_error=np.sqrt(np.maximum(sample**2 - n * share * (1 - share), 0)),
            sample_standard_error=sample,
            gain_per_fake=factor * estimates.gain_per_fake,
        )

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.noise import uniform_below

        level = uniform_below(len(self._lengths), len(answers), entropy).astype(self.layout[0].dtype)
        beginnings = [beginning(label, length) for length in self._lengths for label in answers.labels]
        places = level.astype(np.intp) * len(answers.labels) + answers.places
        return (level, *self._inner._randomized(Answers(beginnings, places), entropy))

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        level, *reported = columns
        table = np.zeros(self.shape, dtype=np.int64)
        for i in range(len(self._lengths)):
            which = np.flatnonzero(level == i)
            some = [_some(column, held, n, which) for column, held in zip(self._inner.layout, reported, strict=True)]
            table[i, :-1] = self._inner._tally(some, len(which)).ravel()
            table[i, -1] = len(which)
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixExtension(PrefixTree):
    """Find frequent strings; prefixes are reported by local hashing (prefix extending method; Wang, Li and Jha 2021).

    Few levels with many people each find more. Take two or three characters at a time, as long as `keep` times all
    continuations can be looked up.

    Args:
        functions: How many hash functions there are: a power of two.

    Raises:
        InvalidParameter: If epsilon is not positive, if alphabet is not made of different characters, or if length,
            start, step and keep make too many levels or candidates.

    >>> words = PrefixExtension(epsilon=4, alphabet="abcdefghijklmnopqrstuvwxyz", length=4, keep=8, functions=1024)
    >>> reports = words.randomize(["bird"] * 10_000 + ["lake"] * 10_000)
    >>> {"bird", "lake"} <= set(words.estimate(words.absorb(None, reports)).labels)
    True
    """

    start: int = 2
    step: int = 2
    functions: int = 1 << 13

    def _protocol(self) -> LocalHashing:
        return LocalHashing(epsilon=self.epsilon, functions=self.functions, salt=self.salt)

    def _values(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        inner = self._protocol()
        table = row[:-1].reshape(inner.shape)
        values: NDArray[np.float64] = table - table.mean(axis=1, keepdims=True)
        return values / float(inner._true - Fraction(1, inner._width))


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHist(PrefixTree):
    """Find frequent strings; each level adds one character and is reported by one bit of a Hadamard sketch.

    Bassily, Nissim, Stemmer and Thakurta 2017. Reports are short and the analyst has little work: cells are looked up
    in transformed tables. At an ε above 1 the one bit says less than local hashing would. Where the authors take
    medians over hash functions, we take unbiased means.

    Args:
        functions: How many hash functions the sketch has.
        width: How many cells each function has: a power of two.

    Raises:
        InvalidParameter: If epsilon is not positive, if alphabet is not made of different characters, or if length,
            start, step and keep make too many levels or candidates.

    >>> words = TreeHist(epsilon=4, alphabet="abcdefgh", length=3, keep=8, functions=64, width=256)
    >>> reports = words.randomize(["bad"] * 20_000 + ["fee"] * 20_000)
    >>> {"bad", "fee"} <= set(words.estimate(words.absorb(None, reports)).labels)
    True
    """

    start: int = 1
    step: int = 1
    functions: int = 1 << 8
    width: int = 1 << 12

    def _protocol(self) -> HadamardCountMeanSketch:
        return HadamardCountMeanSketch(epsilon=self.epsilon, functions=self.functions, width=self.width, salt=self.salt)

    def _values(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        inner = self._protocol()
        cells: NDArray[np.float64] = walsh_hadamard(row[:-1].reshape(inner.shape)) / float(1 - 2 * inner.flip)
        return (self.width * cells - int(row[-1]) / self.functions) / (self.width - 1)


def beginning(text: object, length: int) -> str | None:
    """The first characters, filled up; none of what is no text."""
    if not isinstance(text, str) or END in text:
        return None
    return text[:length].ljust(length, END)


def continued(beginnings: Sequence[str], characters: int, alphabet: str) -> list[str]:
    """Every continuation by so many characters; after the end there is only the end."""
    longer = list(beginnings)
    for _ in range(characters):
        longer = [text + letter for text in longer for letter in (END if text.endswith(END) else alphabet + END)]
    return longer


def seldom_above(values: NDArray[np.float64], failure: float) -> float:
    """What the sum of one value from every row, drawn uniformly, exceeds with at most this probability.

    Chernoff's bound: (Σ ln E e^(t·value) + ln(1/failure))/t for every t > 0. The best t of a normal law and some around
    it are tried; each is valid, and the least counts.
    """
    import numpy as np

    means = values.mean(axis=1, keepdims=True)
    spread, needed = float(np.sqrt(values.var(axis=1).sum())), -math.log(failure)
    if not spread:
        return float(means.sum())

    def limit(tilt: float) -> float:
        tilted = tilt * (values - means)
        top = tilted.max(axis=1, keepdims=True)
        return float((top[:, 0] + np.log(np.exp(tilted - top).mean(axis=1))).sum() + needed) / tilt

    normal = math.sqrt(2 * needed) / spread
    return float(means.sum()) + min(limit(normal * 2 ** (i / 4)) for i in range(-12, 5))


def _some(column: Column, held: NDArray[Any], n: int, which: NDArray[np.intp]) -> NDArray[Any]:
    """Some of n reports' values in a column."""
    if column.kind == "bit":
        return column.from_bits(column.to_bits(held, n)[which])
    return held.take(which, axis=0)
