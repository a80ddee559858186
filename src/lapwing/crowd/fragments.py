"""Sequence fragment puzzle (Apple 2017): frequent words that nobody listed, put together from their fragments.

piece   the first 8 bytes of SHA-256("lapwing piece 1\\0" ‖ salt ‖ "\\0" ‖ text), as a little-endian number, mod pieces
item    of a fragment: digits of the piece ‖ "\\0" ‖ fragment;  of a string: the string, cut or filled to `length`
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd import hashing
from lapwing.crowd.count_mean_sketch import CountMeanSketch, check_size, checked_epsilon, count_ones
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.items import Answers
from lapwing.crowd.prefixes import seldom_above
from lapwing.crowd.protocol import ClosedProtocol
from lapwing.crowd.reports import Column
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_FRAGMENTS = 1 << 24
MOST_STRINGS = 1 << 20
STEP = 0.1
"""By how many standard errors the threshold rises if it leaves too many strings."""
NO_TEXT = "\ufffd"
"""Stands for what is no text; no alphabet may have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceFragmentPuzzle(ClosedProtocol):
    """Find frequent strings that nobody listed, from two count mean sketches of each person's string.

    One sketch is of the fragment at a random position with its puzzle piece, the other of the whole string. The piece
    is a small hash of the whole string, so fragments of one string fit together. A string with a character outside the
    alphabet is counted, but never found.

    Privacy: the position is random, so a report costs the sum of two sketch reports: about epsilon_fragments +
    epsilon_strings.
    Accuracy: see `estimate`.
    Proof: fragments.md

    Args:
        epsilon_fragments: What the report about the fragment costs at most.
        epsilon_strings: What the report about the whole string costs at most.
        functions: How many hash functions each sketch has.
        width: How many cells each function has, and bits each sketch report.
        length: How many characters of a string count: a multiple of `fragment`. Longer strings are cut, shorter ones
            filled up.
        fragment: How many characters a fragment has.
        alphabet: The characters that found strings may have.
        padding: The character that fills up short strings.
        pieces: How many values the hash of the whole string has. More pieces make fewer false strings to look up.
        salt: Public text of at most 16 bytes that chooses the hash functions. Take another one for every collection.

    Raises:
        InvalidParameter: If epsilon_fragments or epsilon_strings is not positive, if length is not a multiple of
            fragment, if alphabet is not made of different characters, or if functions, width or pieces is too small or
            too large.

    >>> print(SequenceFragmentPuzzle(epsilon_fragments=4, epsilon_strings=4).privacy_loss())
    ε = 7.99308 (replace, per person)
    """

    epsilon_fragments: Number
    epsilon_strings: Number
    functions: int = 1024
    width: int = 1024
    length: int = 10
    fragment: int = 2
    alphabet: str = LETTERS
    padding: str = " "
    pieces: int = 256
    salt: str = ""
    _fragments: CountMeanSketch = field(init=False, repr=False, compare=False)
    _strings: CountMeanSketch = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        length, fragment = self._checked_lengths()
        functions, width = check_size(self.functions, self.width, 1 + length // fragment)
        self._set(length=length, fragment=fragment, functions=functions, width=width, pieces=int(self.pieces))
        fragments = self._sketch(checked_epsilon(epsilon_fragments=self.epsilon_fragments))
        strings = self._sketch(checked_epsilon(epsilon_strings=self.epsilon_strings))
        self._set(_fragments=fragments, _strings=strings)
        self._set(epsilon_fragments=fragments.epsilon, epsilon_strings=strings.epsilon)

    def _sketch(self, epsilon: Number) -> CountMeanSketch:
        return CountMeanSketch(
            epsilon=epsilon, functions=self.functions, width=self.width, salt=self.salt, unit=self.unit
        )

    def _checked_lengths(self) -> tuple[int, int]:
        length, fragment = checks.whole(length=self.length), checks.whole(fragment=self.fragment)
        if length % fragment:
            hint = f"Write length={-(-length // fragment) * fragment}."
            raise InvalidParameter("length", length, "must be a multiple of the length of a fragment", hint)
        if not isinstance(self.padding, str) or len(self.padding) != 1:
            raise InvalidParameter("padding", self.padding, "must be one character", "Write padding=' '.")
        if not isinstance(self.alphabet, str) or not 2 <= len(set(self.alphabet)) == len(self.alphabet):
            why = "must be text of two or more different characters"
            raise InvalidParameter("alphabet", self.alphabet, why, "Write alphabet='abcdefghijklmnopqrstuvwxyz'.")
        if NO_TEXT in self._characters:
            raise InvalidParameter("alphabet", self.alphabet, "has U+FFFD, which stands for no text", "Drop it.")
        if checks.whole(pieces=self.pieces) * len(self._characters) ** min(fragment, 64) > MOST_FRAGMENTS:
            why = f"makes more than {MOST_FRAGMENTS:,} fragments to look up"
            raise InvalidParameter("fragment", fragment, why, "Use shorter fragments, fewer pieces or letters.")
        return length, fragment

    @property
    def positions(self) -> int:
        """How many fragments a string has."""
        return self.length // self.fragment

    @property
    def _characters(self) -> str:
        return self.alphabet if self.padding in self.alphabet else self.alphabet + self.padding

    @property
    def layout(self) -> tuple[Column, ...]:
        """The position of the fragment, and the two sketch reports: of the fragment and of the string."""
        (first, rows), (second, more) = self._fragments.layout, self._strings.layout
        return (
            Column.number("position", self.positions),
            replace(first, name="fragment_function"),
            replace(rows, name="fragment_bits"),
            replace(second, name="string_function"),
            replace(more, name="string_bits"),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """A sketch of the fragments at each position, and then the one of the strings."""
        return self.positions + 1, *self._strings.shape

    def privacy_loss(self) -> PureDP:
        """What one report costs: the sum of its two sketch reports."""
        return self._fragments.privacy_loss() + self._strings.privacy_loss()

    def estimate(
        self,
        state: Counts,
        *,
        confidence: float = 0.95,
        false_fragments: float = 2.0,
        most_strings: int = MOST_STRINGS,
    ) -> Estimates:
        """The strings that were found, most frequent first.

        Fragments above a threshold are kept. Those of one piece are joined in every way, and every joined string that
        has that piece itself is looked up in the sketch of the strings. The strings that stand out there are returned.

        Accuracy: the estimate of a fragment that nobody has is about normal around 0, so a threshold of z standard
        errors lets 1 − Φ(z) of them through. z is chosen so that `false_fragments` of them are expected for each
        position and piece. A smaller threshold finds rarer strings; the price is only work, since p positions give
        about (1 + false_fragments)^p strings a piece, and of false ones one in `pieces` is looked up. Of C strings
        looked up, those are kept whose count is larger than cells drawn at random would give any of C strings: with
        this confidence, none that nobody has. The count of a given string is unbiased; to be found it must be large, so
        rare strings that were found tend to be estimated too high.

        Args:
            confidence: Probability that no string is found that nobody has; also that of the intervals.
            false_fragments: How many false fragments are expected for each position and piece.
            most_strings: How many strings to look up at most. With more, the threshold rises.

        Returns:
            The strings that were found, with their estimated counts.

        Raises:
            InvalidParameter: If `false_fragments` is as much as all fragments.

        >>> puzzle = SequenceFragmentPuzzle(
        ...     epsilon_fragments=6, epsilon_strings=6, functions=64, width=256, length=4, alphabet="abcdef", pieces=16
        ... )
        >>> counts = puzzle.absorb(None, puzzle.randomize(["cafe"] * 20_000 + ["bead"] * 20_000))
        >>> {"cafe", "bead"} <= set(puzzle.estimate(counts).labels)
        True
        """
        import numpy as np

        self.check_own(state.protocol)
        most = checks.whole(most_strings=most_strings)
        share = checks.positive(false_fragments=false_fragments) / len(self._characters) ** self.fragment
        if not share < 1:
            why = "must be less than the number of possible fragments"
            raise InvalidParameter("false_fragments", false_fragments, why, "Write false_fragments=2.")
        failure = float(1 - checks.probability(confidence=confidence))
        apart, threshold = self._standing_out(state), -NormalDist().inv_cdf(max(float(share), 1e-300))
        while _ways(apart > threshold) > most:
            threshold += STEP
        strings = self._joined(apart > threshold)
        looked_up = self._looked_up(strings, state, confidence)
        enough = seldom_above(self._strings.values(state.table[-1]), failure / max(len(strings), 1))
        kept = np.flatnonzero(looked_up.counts > enough)
        kept = kept[np.argsort(-looked_up.counts[kept], kind="stable")]
        return replace(
            looked_up,
            labels=[strings[place].rstrip(self.padding) for place in kept.tolist()],
            counts=looked_up.counts[kept],
            population_standard_error=looked_up.population_standard_error[kept],
            sample_standard_error=looked_up.sample_standard_error[kept],
            remark=f"found among {len(strings):,} strings; rare ones rather too high",
        )

    def _looked_up(self, strings: Sequence[str], state: Counts, confidence: float) -> Estimates:
        table, sketch = state.table[-1], self._strings
        [cells] = sketch.look_up(table[None], hashing.hashed_items(strings, self._key))
        return sketch.estimates_from(strings, cells, table, state.n, confidence)

    def _standing_out(self, state: Counts) -> NDArray[np.float64]:
        """The estimate of every fragment (last) of every piece at every position (first), in standard errors."""
        import numpy as np

        sketch, texts = self._fragments, self._texts()
        items = hashing.hashed_items([_item(piece, text) for piece in range(self.pieces) for text in texts], self._key)
        tables = state.table[:-1]
        cells = sketch.look_up(tables, items)
        out = np.zeros(cells.shape)  # nothing stands out where there are no reports
        for row, places, table in zip(out, cells, tables, strict=True):
            estimates = sketch.estimates_from(range(len(items)), places, table, int(table[:, -1].sum()), 0.95)
            error = float(estimates.population_standard_error.max())  # that of a fragment which nobody has
            np.divide(estimates.counts, error, out=row, where=error > 0)
        return out.reshape(self.positions, self.pieces, len(texts))

    def _joined(self, kept: NDArray[np.bool_]) -> list[str]:
        """Every way to join fragments of one piece to a string that has that piece."""
        import numpy as np

        texts = self._texts()
        strings = []
        for piece in np.flatnonzero(kept.any(axis=2).all(axis=0)).tolist():
            columns = [[texts[place] for place in np.flatnonzero(row).tolist()] for row in kept[:, piece]]
            joined = map("".join, product(*columns))
            strings += [string for string in joined if self._piece(string) == piece]
        return strings

    def _texts(self) -> list[str]:
        """Every fragment there can be."""
        return ["".join(letters) for letters in product(self._characters, repeat=self.fragment)]

    @property
    def _key(self) -> bytes:
        return hashing.check_salt(self.salt)

    def _piece(self, string: str) -> int:
        text = b"lapwing piece 1\0" + self._key + b"\0" + hashing.text_of(string)
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") % self.pieces

    def _filled(self, answer: object) -> str:
        """An answer as a string of the one length; what is no text has a character that no alphabet should have."""
        text = str.__str__(answer) if isinstance(answer, str) else hashing.text_of(answer).decode("utf-8", "replace")
        return text[: self.length].ljust(self.length, self.padding)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        from lapwing.noise import uniform_below

        given = answers.trimmed()
        strings = [self._filled(label) for label in given.labels]
        starts = range(0, self.length, self.fragment)
        cut = [_item(self._piece(s), s[start : start + self.fragment]) for s in strings for start in starts]
        position = uniform_below(self.positions, len(answers), entropy)
        fragments = hashing.hashed_items(cut, self._key).take(given.places * self.positions + position)
        whole = hashing.hashed_items(strings, self._key).take(given.places)
        return (
            position.astype(self.layout[0].dtype),
            *self._fragments._reported(fragments, entropy),
            *self._strings._reported(whole, entropy),
        )

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        position, fragment_function, fragment_rows, string_function, string_rows = columns
        table = np.zeros(self.shape, dtype=np.int64)
        groups = position.astype(np.int64) * self.functions + fragment_function
        count_ones(fragment_rows, groups, table[:-1].reshape(-1, self.width + 1))
        count_ones(string_rows, string_function, table[-1])
        return table


def _item(piece: int, fragment: str) -> str:
    return f"{piece}\0{fragment}"


def _ways(kept: NDArray[np.bool_]) -> float:
    """How many strings the fragments of each piece make, all pieces together."""
    return float(kept.sum(axis=2).astype(float).prod(axis=0).sum())
