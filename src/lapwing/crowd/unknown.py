"""Frequent texts that nobody listed, from RAPPOR reports on pieces of them (Fanti, Pihur, Erlingsson 2016).

    client    the whole text, and the fragments at two positions drawn at random: three reports
    analyst   1  which fragments are frequent at each position: `decoding.decode`, all fragments as candidates
              2  which of them go together, for each pair of positions: `association.associate`
              3  texts all of whose fragments go together, pair by pair: cliques of a graph with a part per position
              4  these texts as candidates for the reports on whole texts: `decoding.decode`

The paper runs the second step over all pairs of fragments. The first step makes it affordable for large alphabets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.crowd.association import associate
from lapwing.crowd.counts import Counts
from lapwing.crowd.decoding import Correction, DecodedEstimates, decode
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import OpenProtocol
from lapwing.crowd.rappor import OneTimeRappor
from lapwing.crowd.reports import Column, Reports
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_FRAGMENTS = 1 << 17
MOST_POSITIONS = 64
MOST_TEXTS = 20_000
MOST_AT_A_POSITION = 36
"""Fragments that are followed up at each position: the most frequent ones."""
TOGETHER = 2.0
"""Fragments go together if their joint share is above so many of its standard errors; the last step sorts out more."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The texts that `UnknownDictionary.discover` found, and how it found them.

    >>> from lapwing.crowd import OneTimeRappor, UnknownDictionary
    >>> rappor = OneTimeRappor(permanent_noise=0.1, bits=32, cohorts=4)
    >>> words = UnknownDictionary(whole=rappor, fragment=rappor, alphabet="abcd", length=4)
    >>> found = words.discover(words.randomize(["bad"] * 6_000 + ["cab"] * 6_000))
    >>> {"bad", "cab"} <= set(found.texts.discovered().labels), found.cut_off
    (True, False)
    """

    texts: DecodedEstimates
    """All candidates that the fragments gave; `texts.discovered()` are the significant ones."""
    fragments: tuple[tuple[str, ...], ...]
    """The frequent fragments at each position."""
    pairs: int
    """How many pairs of fragments go together."""
    cut_off: bool
    """Whether there were more candidates than could be followed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownDictionary(OpenProtocol):
    """Find frequent texts that nobody listed, from three RAPPOR reports of each person's text.

    One report is on the whole text, two are on its fragments at two random positions. The counts suffice to decode
    candidates that somebody lists. `discover` needs the reports themselves: which two fragments come from one person is
    what tells texts apart.

    Privacy: the three reports are drawn independently from one text and the positions without looking at it, so the
    losses add up: that of `whole` and twice that of `fragment`.
    Proof: unknown.md

    Args:
        whole: The RAPPOR protocol for whole texts.
        fragment: The RAPPOR protocol for each of the two fragments.
        alphabet: The characters that found texts may have, as a public fact.
        length: How many characters of a text count: a multiple of `fragment_length`, at least twice as long. Longer
            texts are cut, shorter ones filled up.
        fragment_length: How many characters a fragment has.
        filler: The character that fills up short texts; not one of the alphabet.

    Raises:
        InvalidParameter: If whole or fragment is not a RAPPOR protocol, if alphabet is not made of different
            characters, if filler is one of them, or if length is not a multiple of fragment_length, at least twice as
            long.

    >>> from lapwing.crowd import OneTimeRappor, UnknownDictionary
    >>> rappor = OneTimeRappor(permanent_noise=0.5, hashes=1)
    >>> words = UnknownDictionary(whole=rappor, fragment=rappor, alphabet="abcdefgh", length=6)
    >>> print(words.privacy_loss())
    ε = 6.59168 (replace, per person)
    """

    whole: OneTimeRappor
    fragment: OneTimeRappor
    alphabet: str
    length: int
    fragment_length: int = 2
    filler: str = "\0"

    def __post_init__(self) -> None:
        OpenProtocol.__post_init__(self)
        for name in ("whole", "fragment"):
            if not isinstance(getattr(self, name), OneTimeRappor):
                raise InvalidParameter(name, "<object>", "must be Rappor or OneTimeRappor", f"Write {name}=Rappor(…).")
        if not isinstance(self.alphabet, str) or not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise InvalidParameter("alphabet", self.alphabet, "must be different characters", "Write alphabet='abc'.")
        if not isinstance(self.filler, str) or len(self.filler) != 1 or self.filler in self.alphabet:
            raise InvalidParameter(
                "filler", self.filler, "must be one character that is not in the alphabet", "Leave filler out."
            )
        length, piece = checks.whole(length=self.length), checks.whole(fragment_length=self.fragment_length)
        if length % piece or length < 2 * piece:
            why = "must be a multiple of fragment_length, and at least twice as long"
            raise InvalidParameter("length", length, why, f"Write length={max(2, -(-length // piece)) * piece}.")
        if length // piece > MOST_POSITIONS:
            why = f"has more than {MOST_POSITIONS} fragments"
            raise InvalidParameter("length", length, why, f"Write length={MOST_POSITIONS * piece} at most.")
        if (len(self.alphabet) + 1) ** min(piece, 64) > MOST_FRAGMENTS:
            why = f"gives more than {MOST_FRAGMENTS:,} fragments to try"
            raise InvalidParameter("fragment_length", piece, why, "Write fragment_length=2.")

    @property
    def positions(self) -> int:
        """How many fragments a text has."""
        return self.length // self.fragment_length

    @property
    def layout(self) -> tuple[Column, ...]:
        """The two positions, then the three RAPPOR reports: of the text and of two fragments."""
        parts = (("whole", self.whole), ("first", self.fragment), ("second", self.fragment))
        return (
            Column.number("positions", len(self._pairs)),
            *(Column(f"{name}_{c.name}", c.bits, c.kind, c.below) for name, rappor in parts for c in rappor.layout),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The counts of whole texts, then those of fragments, position by position, in one row."""
        return (self._size(self.whole) + self.positions * self._size(self.fragment),)

    def privacy_loss(self) -> PureDP:
        """What one report costs: the loss of the report on the whole text, and of two on fragments."""
        return self._loss(self.whole.privacy_loss().epsilon + 2 * self.fragment.privacy_loss().epsilon)

    def estimate(
        self,
        state: Counts,
        candidates: Sequence[str] = (),
        *,
        confidence: float = 0.95,
        correction: Correction = "bonferroni",
    ) -> DecodedEstimates:
        """The counts of texts that somebody listed. To find texts use `discover`.

        Args:
            candidates: The texts to count.
            correction: The correction for many tests, as `decode` takes it.

        Returns:
            The count of every candidate, whether it is significant, and the share of people that no candidate explains.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.1, bits=32, cohorts=4)
        >>> words = UnknownDictionary(whole=rappor, fragment=rappor, alphabet="abcd", length=4)
        >>> counts = words.absorb(None, words.randomize(["bad"] * 6_000 + ["cab"] * 6_000))
        >>> 5_000 < words.estimate(counts, ["bad", "dab"])["bad"] < 7_000
        True
        """
        self.check_own(state.protocol)
        kept = [self._cut(text) for text in candidates]
        return decode(self.whole, self._whole(state), kept, confidence=confidence, correction=correction)

    def discover(
        self, reports: Reports, *, confidence: float = 0.95, correction: Correction = "bonferroni"
    ) -> Discovery:
        """Find the frequent texts.

        Accuracy: a text must be frequent enough for each of its fragments, for each pair of them among the people who
        drew that pair of positions, and as a whole. The significance of a whole text counts the candidates that the
        fragments gave: reports on wholes are independent of those on fragments, so nothing was selected on them.

        Args:
            reports: All reports of the collection.
            confidence: Of the intervals and tests: 1 − confidence is the level that `correction` keeps.
            correction: The correction for many tests of whole texts, as `decode` takes it.

        Returns:
            The texts, with the fragments and pairs that led to them.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.1, bits=32, cohorts=4)
        >>> words = UnknownDictionary(whole=rappor, fragment=rappor, alphabet="abcd", length=4)
        >>> found = words.discover(words.randomize(["bad"] * 6_000 + ["cab"] * 6_000))
        >>> {"bad", "cab"} <= set(found.texts.discovered().labels)
        True
        """
        state = self.absorb(None, reports)
        frequent = tuple(self._frequent(state, position, confidence) for position in range(self.positions))
        together = {pair: self._together(reports, i, frequent) for i, pair in enumerate(self._pairs)}
        texts, cut_off = self._cliques(frequent, together)
        estimates = self.estimate(state, texts, confidence=confidence, correction=correction)
        return Discovery(estimates, frequent, sum(map(len, together.values())), cut_off)

    def fragments(self) -> list[str]:
        """All fragments a text over the alphabet may have; fillers come last in each.

        Returns:
            A list of texts of `fragment_length` characters.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.5, hashes=1)
        >>> words = UnknownDictionary(whole=rappor, fragment=rappor, alphabet="ab", length=4, filler=".")
        >>> words.fragments()
        ['aa', 'ab', 'ba', 'bb', 'a.', 'b.', '..']
        """
        piece, letters = self.fragment_length, self.alphabet
        return [
            "".join(start) + self.filler * (piece - kept)
            for kept in range(piece, -1, -1)
            for start in product(letters, repeat=kept)
        ]

    def _frequent(self, state: Counts, position: int, confidence: float) -> tuple[str, ...]:
        start = self._size(self.whole) + position * self._size(self.fragment)
        table = state.table[start : start + self._size(self.fragment)].reshape(self.fragment.shape)
        counts = Counts(self.fragment, int(table[:, -1].sum()), table)
        decoded = decode(
            self.fragment, counts, self.fragments(), confidence=confidence, correction="benjamini-hochberg"
        ).discovered()
        return tuple(decoded.labels[:MOST_AT_A_POSITION])

    def _together(self, reports: Reports, number: int, frequent: Sequence[Sequence[str]]) -> set[tuple[str, str]]:
        """The fragments at a pair of positions that go together."""
        import numpy as np

        first, second = (frequent[position] for position in self._pairs[number])
        members = np.flatnonzero(reports.column("positions") == number)
        if not first or not second or not len(members):
            return set()
        first_reports, second_reports = (
            Reports(self.fragment, len(members), tuple(reports.columns[i][members] for i in (start, start + 1)))
            for start in (3, 5)
        )
        joint = associate(first_reports, second_reports, first, second)
        likely = (joint.shares > TOGETHER * joint.standard_errors)[:-1, :-1]
        return {(first[i], second[j]) for i, j in zip(*map(np.ndarray.tolist, np.nonzero(likely)), strict=True)}

    def _cliques(
        self, frequent: Sequence[Sequence[str]], together: dict[tuple[int, int], set[tuple[str, str]]]
    ) -> tuple[list[str], bool]:
        """Texts all of whose fragments go together, one position after another; and whether there were too many."""
        chains: list[tuple[str, ...]] = [(start,) for start in frequent[0]]
        cut_off = any(len(some) >= MOST_AT_A_POSITION for some in frequent)
        for position in range(1, self.positions):
            chains = [
                (*start, more)
                for start in chains
                for more in frequent[position]
                if all((part, more) in together[i, position] for i, part in enumerate(start))
            ]
            cut_off |= len(chains) > MOST_TEXTS
            chains = chains[:MOST_TEXTS]
        return list(dict.fromkeys(self._cut("".join(text).rstrip(self.filler)) for text in chains)), cut_off

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.noise import uniform_below

        texts = [self._cut(label) for label in answers.labels]
        drawn = uniform_below(len(self._pairs), len(answers), entropy).astype(np.intp)
        pieces = [self._piece(text, position) for position in range(self.positions) for text in texts]
        columns = [drawn.astype(self.layout[0].dtype), *self.whole._randomized(Answers(texts, answers.places), entropy)]
        for which in (0, 1):
            positions = np.array([pair[which] for pair in self._pairs], dtype=np.intp)[drawn]
            places = positions * len(texts) + answers.places
            columns += self.fragment._randomized(Answers(pieces, places), entropy)
        return tuple(columns)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        drawn, *rest = columns
        parts = [self.whole._tally(rest[:2], n).ravel()]
        pieces = np.zeros((self.positions, *self.fragment.shape), dtype=np.int64)
        for number, pair in enumerate(self._pairs):
            members = np.flatnonzero(drawn == number)
            for position, start in zip(pair, (2, 4), strict=True):
                some = [rest[start][members], rest[start + 1][members]]
                pieces[position] += self.fragment._tally(some, len(members))
        return np.concatenate([*parts, pieces.ravel()])

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.positions), 2))

    @staticmethod
    def _size(rappor: OneTimeRappor) -> int:
        cohorts, columns = rappor.shape
        return cohorts * columns

    def _whole(self, state: Counts) -> Counts:
        table = state.table[: self._size(self.whole)].reshape(self.whole.shape)
        return Counts(self.whole, state.n, table)

    def _cut(self, label: Any) -> Any:
        """The text that is reported; what is no text is no answer."""
        return label[: self.length] if isinstance(label, str) else None

    def _piece(self, text: Any, position: int) -> Any:
        if text is None:
            return None
        start = position * self.fragment_length
        return text.ljust(self.length, self.filler)[start : start + self.fragment_length]
