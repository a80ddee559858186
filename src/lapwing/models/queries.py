"""Statistical queries in local differential privacy, and MASKED-PARITY, where a second round saves 2^d people.

Each person answers one query about themselves through randomized response. So an algorithm that asks for averages
needs no curator. But what it asks in one round cannot depend on the answers of that round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidCall
from lapwing.exact import ln_up
from lapwing.mechanisms import RandomizedResponse
from lapwing.models.columns import BITS, Floats, same_rows
from lapwing.models.estimator import entropy_of
from lapwing.models.parity import Bits, odd_ones, packed
from lapwing.noise import Entropy, bernoulli, uniform_below
from lapwing.privacy import PureDP

Query = Callable[[Any, Any], NDArray[Any]]
"""Of rows and their labels: a number from −1 to 1 for each row by itself."""

_ONE = 1 << BITS


class QueryOracle:
    """Estimates the mean of a query over a population, from one randomized bit per person. Nobody answers twice.

    A number v from −1 to 1 becomes yes with probability (1 + v)/2, on a grid of 2^-17, and the yes or no goes through
    randomized response. Anything that is not a finite number counts as 0.

    Privacy: pure ε for everybody who answers, with no curator to trust (replace: that somebody answered is not hidden).
    Accuracy: `tolerance(people)`; unbiased up to the grid. People should come in random order.
    Proof: queries.md

    Args:
        X: The rows, one for each person.
        y: The labels, one for each person.
        epsilon: The privacy loss of each answer, as ε of local differential privacy.
        unit: Whom one row is about.
        random_state: None for private answers. A whole number makes them repeatable for experiments, and not private.

    Raises:
        InvalidParameter: If y is missing or does not have one label for each row, or if epsilon is not positive.

    >>> oracle = QueryOracle(np.zeros((1000, 1)), np.ones(1000), epsilon=2, random_state=1)
    >>> abs(oracle.ask(lambda X, y: y, people=600) - 1) < oracle.tolerance(600)
    True
    >>> oracle.remaining
    400
    """

    def __init__(self, X: Any, y: Any, *, epsilon: Number, unit: str = "person", random_state: Any = None) -> None:
        same_rows(X, y)
        self._X, self._y, self._asked = np.asarray(X), np.asarray(y), 0
        self._coins = RandomizedResponse.from_epsilon(epsilon, unit=unit)
        self._entropy = entropy_of(random_state)

    def __repr__(self) -> str:
        return f"QueryOracle({self.privacy_loss()}, {self.remaining} people left)"

    @property
    def remaining(self) -> int:
        """People who have not answered yet. How many there are is public where nobody is trusted."""
        return len(self._X) - self._asked

    def privacy_loss(self) -> PureDP:
        """The loss of each person, whatever is asked, because nobody answers twice.

        Returns:
            The loss of one answer, for the person who gives it.

        >>> print(QueryOracle(np.zeros((1000, 1)), np.ones(1000), epsilon=2).privacy_loss())
        ε = 2 (replace, per person)
        """
        return self._coins.privacy_loss()

    def ask(self, query: Query, *, people: int) -> float:
        """Estimate the mean of a query.

        Args:
            query: A function of rows and labels that gives a number from −1 to 1 for each row by itself.
            people: How many of the people who have not answered yet are asked.

        Returns:
            An unbiased estimate, which may lie outside −1 … 1.

        Raises:
            InvalidCall: If too few people are left, or if the query does not give one number per person.
            InvalidParameter: If people is not a whole number from 1 on.
        """
        return float(self.answers(query, people=people).mean()) / self._slope

    def answers(self, query: Query, *, people: int) -> Floats:
        """What each person sends.

        Args:
            query: A function of rows and labels that gives a number v from −1 to 1 for each row by itself.
            people: How many of the people who have not answered yet are asked.

        Returns:
            −1 or 1 for each person, with mean v·(e^ε − 1)/(e^ε + 1).

        Raises:
            InvalidCall: If too few people are left, or if the query does not give one number per person.
            InvalidParameter: If people is not a whole number from 1 on.

        >>> oracle = QueryOracle(np.zeros((1000, 1)), np.ones(1000), epsilon=2)
        >>> sorted({float(answer) for answer in oracle.answers(lambda X, y: y, people=600)})
        [-1.0, 1.0]
        """
        count = checks.whole(people=people)
        if count > self.remaining:
            why = f"only {self.remaining} people are left, and nobody answers twice"
            raise InvalidCall("ask", why, "Ask fewer people, or fewer queries.")
        rows = slice(self._asked, self._asked + count)
        self._asked += count
        with np.errstate(all="ignore"):  # a warning would depend on a record
            values = np.asarray(query(self._X[rows], self._y[rows]), dtype=float)
        if values.size != count:
            why = "the query must give one number per person"
            raise InvalidCall("ask", why, "Return an array as long as the rows.")
        return local_answers(values.ravel(), self._coins, self._entropy)

    def tolerance(self, people: int, *, failure: Number = 0.05) -> float:
        """How far an answer may be off the mean of the population (Hoeffding's inequality). People are drawn at random.

        Args:
            people: How many people are asked.
            failure: The probability that the answer is farther off.

        Returns:
            The largest error, in the units of the query.

        Raises:
            InvalidParameter: If people is not a whole number from 1 on, or if failure is not above 0 and below 1.
        """
        half = float(ln_up(2 / checks.probability(failure=failure)))
        return math.sqrt(2 * half / checks.whole(people=people)) / self._slope

    def people_for(self, tolerance: Number, *, queries: int = 1, failure: Number = 0.05) -> int:
        """How many people each query needs, so that all answers are accurate together.

        Args:
            tolerance: How far any answer may be off.
            queries: How many queries are asked, each of other people.
            failure: The probability that some answer is farther off.

        Returns:
            A number of people for each query.

        Raises:
            InvalidParameter: If tolerance is not positive, if queries is not a whole number from 1 on, or if failure is
                not above 0 and below 1.

        >>> oracle = QueryOracle(np.zeros((1000, 1)), np.ones(1000), epsilon=2)
        >>> oracle.people_for(0.2) < oracle.people_for(0.1)
        True
        """
        risk = checks.probability(failure=failure) / checks.whole(queries=queries)
        return math.ceil(2 * float(ln_up(2 / risk)) / (float(checks.positive(tolerance=tolerance)) * self._slope) ** 2)

    @property
    def _slope(self) -> float:
        return float(self._coins.alpha)


def local_answers(values: Floats, coins: RandomizedResponse, entropy: Entropy) -> Floats:
    """A randomized −1 or 1 for every number from −1 to 1."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.clip(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0), -1, 1) * _ONE)
    yes = uniform_below(2 * _ONE, len(steps), entropy) < steps + _ONE
    return np.where(coins.release(yes, entropy), 1.0, -1.0)


@dataclass(frozen=True, slots=True)
class MaskedParity:
    """A problem that is easy in two rounds of local differential privacy and hard in one.

    A row is (x, i, b): d bits x, a place i from 0 to d − 1 and a mask bit b. Its label is −1 or 1. Where b = 1 it shows
    one bit of the secret r: (−1)^r_i. Where b = 0 it is the parity (−1)^(r·x + a). So r is easy to learn, and a is easy
    to learn once r is known.

    Args:
        secret: The d bits of r. d is a power of two.
        flipped: The bit a.

    >>> concept = MaskedParity((True, False), flipped=False)
    >>> concept.labels(np.array([[0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]])).tolist()
    [-1, 1, -1]
    """

    secret: tuple[bool, ...]
    flipped: bool

    def labels(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """The label of each row.

        Args:
            X: Rows as `draw` makes them.

        Returns:
            −1 or 1 for each row.
        """
        x, place, mask = parts_of(X)
        shown = np.array(self.secret)[place]
        odd = odd_ones(packed(x) & packed([self.secret])) ^ self.flipped
        return np.where(np.where(mask, shown, odd), -1, 1)

    @classmethod
    def drawn(cls, bits: int, entropy: Entropy) -> MaskedParity:
        """A random concept.

        Args:
            bits: How many bits the secret has: a power of two.
            entropy: Where the random bits come from.

        Returns:
            A concept whose secret and last bit are uniform.

        Raises:
            InvalidCall: If bits is not a power of two.
            InvalidParameter: If bits is not a whole number from 2 on.

        >>> from lapwing.noise import SYSTEM
        >>> len(MaskedParity.drawn(8, SYSTEM).secret)
        8
        """
        coins = np.asarray(bernoulli(0.5, check_power(bits) + 1, entropy)).tolist()
        return cls(tuple(coins[:-1]), coins[-1])

    @staticmethod
    def draw(bits: int, rows: int, entropy: Entropy) -> NDArray[np.uint8]:
        """Uniformly random rows.

        Args:
            bits: How many bits a row has: a power of two.
            rows: How many rows to draw.
            entropy: Where the random bits come from.

        Returns:
            A row for each person: d bits, then the place, then the mask.

        Raises:
            InvalidCall: If bits is not a power of two.
            InvalidParameter: If bits is not a whole number from 2 on.

        >>> from lapwing.noise import SYSTEM
        >>> MaskedParity.draw(8, 1000, SYSTEM).shape  # eight bits, the place and the mask
        (1000, 10)
        """
        x = np.asarray(bernoulli(0.5, rows * check_power(bits), entropy)).reshape(rows, bits)
        place = uniform_below(bits, rows, entropy)
        return np.column_stack((x, place, bernoulli(0.5, rows, entropy))).astype(np.uint8)


def learn_in_two_rounds(oracle: QueryOracle, bits: int) -> MaskedParity:
    """Learn a masked parity in two rounds: half of the people show r, then the others are told r and show a.

    Accuracy: about d²·ln d people suffice.

    Args:
        oracle: The people. All of them are asked.
        bits: How many bits the secret has: a power of two.

    Returns:
        The concept that was learnt; it may be wrong.

    Raises:
        InvalidCall: If bits is not a power of two.
        InvalidParameter: If bits is not a whole number from 2 on.

    >>> from lapwing.noise import Reproducible
    >>> concept, rows = MaskedParity.drawn(4, Reproducible(1)), MaskedParity.draw(4, 20_000, Reproducible(2))
    >>> oracle = QueryOracle(rows, concept.labels(rows), epsilon=3, random_state=3)
    >>> learn_in_two_rounds(oracle, 4) == concept
    True
    """
    secret = _learn_secret(oracle, bits, people=oracle.remaining // 2)
    mean = oracle.ask(_disguised(np.array([secret])), people=oracle.remaining)
    return MaskedParity(secret, mean < 0)


def learn_in_one_round(oracle: QueryOracle, bits: int, *, random_state: Any = None) -> MaskedParity:
    """Learn a masked parity with everybody asked at once.

    Half of the people show r. The others must guess r, and only right guesses tell about a. Public dice give each of
    them a guess. About one in 2^d is right, and which ones is known afterwards. No other way to ask in one round is
    essentially better (queries.md).

    Args:
        oracle: The people. All of them are asked.
        bits: How many bits the secret has: a power of two.
        random_state: Where the guesses come from. They are public, so a whole number does no harm.

    Returns:
        The concept that was learnt; its last bit is little better than a coin if there are fewer than about 2^d people.

    Raises:
        InvalidCall: If bits is not a power of two.
        InvalidParameter: If bits is not a whole number from 2 on.

    >>> from lapwing.noise import Reproducible
    >>> concept, rows = MaskedParity.drawn(4, Reproducible(1)), MaskedParity.draw(4, 20_000, Reproducible(2))
    >>> oracle = QueryOracle(rows, concept.labels(rows), epsilon=3, random_state=3)
    >>> learn_in_one_round(oracle, 4, random_state=4).secret == concept.secret
    True
    """
    secret = _learn_secret(oracle, bits, people=oracle.remaining // 2)
    left = oracle.remaining
    guesses = np.asarray(bernoulli(0.5, left * bits, entropy_of(random_state))).reshape(left, bits)
    answers = oracle.answers(_disguised(guesses), people=left)
    return MaskedParity(secret, float(answers[(guesses == secret).all(axis=1)].sum()) < 0)


def one_round_ceiling(bits: int, people: int, *, epsilon: Number) -> float:
    """The largest probability with which anybody can find the bit a in one round, on average over r and a.

    Args:
        bits: How many bits the secret has.
        people: How many people are asked.
        epsilon: The privacy loss of each answer, as ε.

    Returns:
        A probability from 0.5 to 1.

    Raises:
        InvalidParameter: If epsilon is not positive.

    >>> one_round_ceiling(32, 1_000_000, epsilon=1) < 0.51
    True
    """
    signal = people * math.expm1(float(checks.positive(epsilon=epsilon))) ** 2 / 2.0**bits
    return min(1.0, 0.5 + math.sqrt(signal / 8) / 2)


def parts_of(X: NDArray[Any]) -> tuple[Bits, NDArray[np.int64], Bits]:
    """The bits, the place and the mask of every row, whatever stands there."""
    bits = X.shape[1] - 2
    return X[:, :bits] == 1, X[:, bits].astype(np.int64) % bits, X[:, bits + 1] == 1


def check_power(bits: int) -> int:
    """A power of two, so that places have Walsh functions."""
    if checks.whole(bits=bits, minimum=2) & (bits - 1):
        raise InvalidCall("MaskedParity", f"{bits} is not a power of two", "Write bits=8, for example.")
    return bits


def _learn_secret(oracle: QueryOracle, bits: int, people: int) -> tuple[bool, ...]:
    """r, from its d Walsh coefficients: each query is about all places at once, which saves a factor d of people."""
    each = max(1, people // check_power(bits))
    walsh = _walsh(bits)
    coefficients = np.array([oracle.ask(_coefficient(row), people=each) for row in walsh])
    return tuple((walsh.T @ coefficients < 0).tolist())


def _coefficient(signs: Floats) -> Query:
    def query(X: Any, y: Any) -> NDArray[Any]:
        _, place, mask = parts_of(X)
        return np.asarray(mask * signs[place] * y)

    return query


def _disguised(guesses: Bits) -> Query:
    """y·(−1)^(guess·x) where the mask is 0: the same sign for everybody if the guess is right."""
    words = packed(guesses)

    def query(X: Any, y: Any) -> NDArray[Any]:
        x, _, mask = parts_of(X)
        return np.asarray(~mask * np.where(odd_ones(packed(x) & words), -1, 1) * y)

    return query


def _walsh(size: int) -> Floats:
    numbers = np.arange(size, dtype=np.uint64)
    return np.where(odd_ones((numbers[:, None] & numbers)[..., None]), -1.0, 1.0)
