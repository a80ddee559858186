"""Private and efficient learning of parities: linear equations over GF(2), on a sample that hides every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.randomized_response import keep_probability
from lapwing.models.account import Account
from lapwing.models.columns import Floats
from lapwing.models.estimator import PrivateClassifier
from lapwing.models.learning import check_binary, rows_to_rule_out
from lapwing.noise import Entropy, bernoulli, bernoulli_exp, uniform_below
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

Words = NDArray[np.uint64]
Bits = NDArray[np.bool_]
_WORD = 64


@dataclass(frozen=True, slots=True)
class _Recipe:
    epsilon: Fraction
    silence: Fraction
    """The probability to answer nothing at first: at least 1/(1 + e^ε)."""
    parts: int
    loss: Loss

    @property
    def lines(self) -> Sequence[Line]:
        return (Line(f"a parity from the first of {self.parts} parts that gives one", self.loss),)


class ParityLearner(PrivateClassifier[_Recipe]):
    """Finds the columns whose exclusive or is the label, in a table of bits.

    Each row goes to one of several parts by its own die. A part is silent with probability 1/(1 + e^ε). Otherwise each
    of its rows stays with probability 1 − e^(−ε), and the part answers with a uniformly random solution of their
    equations; it is silent if there is none. The first part that is not silent gives the result. An entry counts as 1
    if it equals 1, otherwise as 0.

    Privacy: pure ε, add_remove, one row; exactly ε for a single part.
    Accuracy: `parity_sample_bound`, for labels that are a parity without any noise. One wrong label may silence it.
    Proof: parity.md

    Args:
        parts: Into how many parts the rows are divided. More parts make it rarer that all are silent, but leave fewer
            rows for each.
        classes: The two labels, as a public pair: the first for an even number of ones. Rows with another label are
            left out.

    Attributes:
        parity_: The places of the columns; None if all parts were silent.

    >>> X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 40)
    >>> ParityLearner(epsilon=2, random_state=3).fit(X, [a ^ c for a, b, c in X]).parity_
    (0, 2)
    """

    bounds: Any = None

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        parts: int = 4,
        classes: Any = (0, 1),
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.parts = parts
        self.classes = classes
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        check_binary(self.classes)
        spending = self._spending()
        silence = 1 - keep_probability(spending.size, others=1)
        return _Recipe(spending.size, silence, checks.whole(parts=self.parts), spending.stated)

    def _learn(self, recipe: _Recipe, X: Floats, y: NDArray[np.int64], entropy: Entropy) -> None:
        self.parity_ = None
        equations = packed(np.column_stack((X == 1, y == 1))[y >= 0])
        part = uniform_below(recipe.parts, len(equations), entropy)
        for number in range(recipe.parts):
            heard = heard_from(equations[part == number], X.shape[1], recipe, entropy)
            if heard is not None:
                self.parity_ = tuple(np.flatnonzero(heard).tolist())
                return

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row.

        Args:
            X: Rows with the columns of the fit.

        Returns:
            A label for each row; always the first class if nothing was learnt.

        >>> X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 40)
        >>> ParityLearner(epsilon=2, random_state=3).fit(X, [a ^ c for a, b, c in X]).predict([[1, 0, 0], [1, 0, 1]])
        array([1, 0])
        """
        bits = self._rows(X) == 1
        odd = bits[:, list(self.parity_ or ())].sum(axis=1) % 2
        return np.asarray(self.classes_[odd])


def heard_from(equations: Words, columns: int, recipe: _Recipe, entropy: Entropy) -> Bits | None:
    """What one part says: a random solution of a random sample of its equations, or nothing."""
    if bernoulli(recipe.silence, entropy=entropy):
        return None
    stays = ~bernoulli_exp(recipe.epsilon, len(equations), entropy)
    return random_solution(equations[stays], columns, entropy)


def random_solution(equations: Words, unknowns: int, entropy: Entropy) -> Bits | None:
    """A uniformly random solution over GF(2), or None. Bit `unknowns` of an equation is its right side.

    >>> from lapwing.noise import SYSTEM
    >>> random_solution(packed([[1, 0, 1], [1, 1, 0]]), 2, SYSTEM).tolist()
    [True, True]
    """
    rows, pivots = eliminated(equations, unknowns)
    wrong, right = unknowns >> 6, np.uint64(1 << (unknowns & 63))
    if len(rows) > len(pivots) and (rows[len(pivots) :, wrong] & right).any():
        return None
    solution = np.asarray(bernoulli(Fraction(1, 2), unknowns, entropy))
    solution[pivots] = False
    # A pivot is the right side plus the free unknowns of its row: one exclusive or over the bits that are chosen.
    chosen = packed(np.append(solution, True)[None])[0]
    solution[pivots] = odd_ones(rows[: len(pivots)] & chosen)
    return solution


def eliminated(equations: Words, unknowns: int) -> tuple[Words, list[int]]:
    """The reduced echelon form and its pivot columns; rows after the pivots have no unknown left."""
    rows, pivots = equations.copy(), list[int]()
    for column in range(unknowns):
        has = (rows[:, column >> 6] >> np.uint64(column & 63) & np.uint64(1)).astype(bool)
        rank = len(pivots)
        first = int(has[rank:].argmax()) + rank if len(has) > rank else rank
        if first >= len(has) or not has[first]:
            continue
        rows[[rank, first]] = rows[[first, rank]]
        has[first] = has[rank]
        has[rank] = False
        rows[np.flatnonzero(has)] ^= rows[rank]
        pivots.append(column)
    return rows, pivots


def packed(bits: Any) -> Words:
    """Rows of bits, 64 to a word, the first lowest."""
    table = np.asarray(bits, dtype=bool)
    words = -(-table.shape[1] // _WORD)
    octets = np.zeros((len(table), 8 * words), dtype=np.uint8)
    octets[:, : -(-table.shape[1] // 8)] = np.packbits(table, axis=1, bitorder="little")
    return octets.view("<u8").astype(np.uint64)


def odd_ones(words: Words) -> Bits:
    """Whether each row has an odd number of ones."""
    folded = np.bitwise_xor.reduce(words, axis=-1)
    for shift in (32, 16, 8, 4, 2, 1):
        folded = folded ^ (folded >> np.uint64(shift))
    return np.asarray((folded & np.uint64(1)).astype(bool))


def parity_sample_bound(columns: int, *, epsilon: Number, error: Number, failure: Number, parts: int = 4) -> int:
    """How many rows suffice to learn a parity privately.

    The rows must be drawn at random. All parts are silent with probability (1 + e^ε)^−parts. Otherwise one gives the
    result, and each row rules out a given bad parity with probability error·(1 − e^−ε)/parts at least.

    Args:
        columns: How many columns there are.
        epsilon: What `ParityLearner` may spend, as ε.
        error: The result shall be wrong with at most this probability on a new row. Where rows are uniform, every wrong
            parity errs on half of them: write 0.5.
        failure: The probability that it is wrong more often, or that nothing is learnt.
        parts: The number of parts of the learner.

    Returns:
        A number of rows.

    Raises:
        InvalidParameter: If all parts are silent more often than `failure`; the message says how many parts are needed.

    >>> parity_sample_bound(64, epsilon=1, error=0.5, failure=0.1)
    568
    """
    level, risk = checks.positive(epsilon=epsilon), float(checks.probability(failure=failure))
    silent = (1 + math.exp(level)) ** -checks.whole(parts=parts)
    if silent >= risk:
        needed = math.floor(-math.log(risk) / math.log1p(math.exp(level))) + 1
        why = "are all silent with a probability of `failure` or more"
        raise InvalidParameter("parts", parts, why, f"Write parts={needed}.")
    return rows_to_rule_out(checks.whole(columns=columns) * math.log(2), level, error, risk - silent, share=parts)
