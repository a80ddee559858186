"""Reconstruction: a whole column of secret bits from noisy sums over random groups of people.

Dinur and Nissim (2003): if the errors of all subset sums stay well below √n, nearly every one of n secret bits follows
from them. Here as the linear program of Dwork, McSherry and Talwar (2007): find x in [0, 1]ⁿ with the least sum of
|answer − query·x|, and round; or faster by least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import SUREST, Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli, discrete_laplace, uniform_below

Floats = NDArray[np.float64]
Answers = Callable[[NDArray[np.int64], Entropy], Floats]
"""What is told about true sums."""

PEOPLE, QUERIES = 32, 320
EACH = 0.5
"""The epsilon of every query where nobody adds them up."""
STEP = 5
"""Rounded answers are multiples of this."""
WITHIN = 3
"""Bounded noise lies between minus and plus this: about half of √PEOPLE."""
METHODS = ("linear programming", "least squares")
_EXACT = 1e-3  # a standard deviation that stands for none
_CERTAIN = 700.0  # in log odds


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """The result of `reconstruct`: a guess of every person's bit.

    >>> result = reconstruct([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [2, 1, 1], noise=0)
    >>> print(result)
    110: 100.0% of these bits are expected to be right.
    >>> print(result.learned(["Ada", "Bob", "Carl"])[0])
    Ada: 1 (certainly). It fits the sums best; 100.0% of all bits are expected to be right.
    """

    bits: NDArray[np.int64]
    """The guess for every person."""
    sure: Floats
    """The chance that each guess is right, as `reconstruct` computes it."""

    def __str__(self) -> str:
        guess = "".join(map(str, self.bits.tolist()))
        return f"{guess}: {self.expected:.1%} of these bits are expected to be right."

    @property
    def expected(self) -> float:
        """The share of the bits that the attacker expects to be right."""
        return float(self.sure.mean())

    def learned(self, names: Sequence[str] | None = None, truth: Sequence[int] | None = None) -> list[Conclusion]:
        """The result as conclusions, one for each person.

        Args:
            names: What the conclusions call people. None means their numbers, from 1.
            truth: Everybody's true bit, to be kept in the conclusions. None if it is not known.

        Returns:
            A conclusion for each person.
        """
        because = f"It fits the sums best; {self.expected:.1%} of all bits are expected to be right."
        return [
            Conclusion(
                about=f"person {i + 1}" if names is None else names[i],
                guess=int(bit),
                sure=float(sure),
                because=because,
                truth=None if truth is None else int(truth[i]),
            )
            for i, (bit, sure) in enumerate(zip(self.bits, self.sure, strict=True))
        ]


def random_queries(people: int, queries: int, entropy: Entropy) -> NDArray[np.int64]:
    """Groups that everybody belongs to with probability one half: a row of zeros and ones for each query."""
    rows = bernoulli(Fraction(1, 2), people * queries, entropy).reshape(queries, people)
    return np.asarray(rows, dtype=np.int64)


def reconstruct(
    queries: ArrayLike, answers: ArrayLike, *, noise: float | None = None, method: str = METHODS[0]
) -> Reconstruction:
    """Guess everybody's bit from noisy sums over groups of people.

    How sure a guess is comes from least squares: its estimate of a bit is taken for a normal variable around the true
    bit, and all bits are fair coins beforehand. So it is below one half where linear programming and least squares
    disagree. It is 1 where exact sums leave no other possibility.

    Args:
        queries: A row for every sum and a column for every person: 1 if the person is in the sum, 0 if not.
        answers: The sums, exact or with noise.
        noise: The standard deviation of an answer, 0 if they are exact. None estimates it from how badly the sums fit,
            which needs more queries than people.
        method: `"linear programming"` is better for noise with long tails, such as Laplace noise. `"least squares"` is
            faster, and better where errors are bounded.

    Returns:
        The guesses, and how sure each is.

    Raises:
        InvalidParameter: If the shapes do not fit, a number is missing or infinite, or the noise cannot be estimated.

    >>> result = reconstruct([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [2, 1, 1], noise=0)
    >>> result.bits.tolist(), result.sure.tolist()
    ([1, 1, 0], [1.0, 1.0, 1.0])
    """
    matrix, sums = np.asarray(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if matrix.ndim != 2 or sums.shape != matrix.shape[:1]:
        why = "must have a row for every answer and a column for every person"
        raise InvalidParameter("queries", f"<shape {matrix.shape}>", why, "Write [[1, 0], [1, 1]] for two of each.")
    if not (np.isfinite(matrix).all() and np.isfinite(sums).all()):
        raise InvalidParameter("answers", "<numbers>", "some are missing or infinite", "Leave out their queries, too.")
    program = checks.one_of(METHODS, method=method) == METHODS[0]
    deviation = _deviation(matrix, sums) if noise is None else float(checks.not_negative(noise=noise))
    estimate, variance = (part[:, 0] for part in _linear(matrix, sums[:, None], deviation))
    most = SUREST if deviation else _CERTAIN
    odds = np.clip((estimate - 0.5) / variance, -most, most)
    bits = (_least_absolute(matrix, sums) if program else estimate) > 0.5
    sure = 1 / (1 + np.exp(np.where(bits, -odds, odds)))
    return Reconstruction(bits.astype(np.int64), sure)


def _linear(queries: Floats, answers: Floats, noise: float) -> tuple[Floats, Floats]:
    """For every person and column of answers: the estimate of a bit without its own prior, and its variance.

    The linear estimate of least mean square error knows that bits are fair coins: with Q the queries and σ the noise
    the posterior has the precision P = QᵀQ/σ² + 4·1, as a coin has the mean ½ and the variance ¼. Taking the prior of
    the very person out of it leaves what the answers say: precision 1/(P⁻¹)ᵢᵢ − 4.
    """
    weight = max(noise, _EXACT) ** -2
    inverse = np.linalg.inv(weight * queries.T @ queries + 4 * np.eye(queries.shape[1]))
    mean = 0.5 + weight * inverse @ (queries.T @ (answers - queries.sum(axis=1, keepdims=True) / 2))
    own = np.diag(inverse)[:, None]
    said = np.maximum(1 / own - 4, 1e-12)
    return 0.5 + (mean - 0.5) / own / said, np.broadcast_to(1 / said, mean.shape)


def _least_absolute(queries: Floats, answers: Floats) -> Floats:
    """The x in [0, 1]ⁿ for which the sum of |answer − query·x| is least, by the dual program, which is much smaller.

    With a for the answers and Q for the queries it is: maximise a·y − Σz for |y| ≤ 1, z ≥ 0 and Qᵀy ≤ z. There is one
    constraint for every person, and x is what their relaxation would be worth.
    """
    from scipy.optimize import linprog

    count, people = queries.shape
    cost, left = np.concatenate([-answers, np.ones(people)]), np.hstack([queries.T, -np.eye(people)])
    bounds = [(-1, 1)] * count + [(0, None)] * people
    solution = linprog(cost, A_ub=left, b_ub=np.zeros(people), bounds=bounds, method="highs")
    return np.asarray(-solution.ineqlin.marginals, dtype=np.float64)


def _deviation(queries: Floats, answers: Floats) -> float:
    """The standard deviation of the errors, from what least squares cannot explain."""
    free = queries.shape[0] - queries.shape[1]
    if free <= 0:
        why = "cannot be taken from the answers if there are no more queries than people"
        raise InvalidParameter("noise", None, why, "Write noise=0 if the sums are exact.")
    # By the normal equations: few enough numbers that no library starts threads, which cost more than they do.
    estimate = np.linalg.lstsq(queries.T @ queries, queries.T @ answers, rcond=None)[0]
    return float(np.sqrt(np.sum((answers - queries @ estimate) ** 2) / free))


def least_squares(queries: ArrayLike, answers: ArrayLike, *, noise: float) -> NDArray[np.int64]:
    """Many tables at once, each with a column of answers to the same queries: a column of bits for each."""
    estimate, _ = _linear(np.asarray(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64), noise)
    return (estimate > 0.5).astype(np.int64)


def shared(queries: NDArray[np.int64], epsilon: float) -> Laplace:
    """Laplace noise with which all answers together are epsilon-private about one person's bit (replace).

    A bit that changes moves every sum its person is in by one, so the l1 sensitivity is the number of these sums.
    """
    most = int(queries.sum(axis=0).max())
    return Laplace(epsilon=Fraction(epsilon), sensitivity=most, dimensions=len(queries), on_grid=True)


def added_up(queries: NDArray[np.int64], bits: ArrayLike, epsilon: float, entropy: Entropy) -> Floats:
    """All answers from the same noisy bits: epsilon-private about one person's bit (replace), however many there are.

    One bit changes one noisy bit by 1. A sum over k people has an error of about √(2k)/ε, of the order at which
    reconstruction ends and no better is possible (Dinur and Nissim 2003); noise for each sum would need far more.
    """
    noise = Laplace(epsilon=Fraction(epsilon), sensitivity=1, dimensions=queries.shape[1], on_grid=True)
    noisy = noise.release(np.asarray(bits, dtype=np.int64), entropy)
    return np.asarray(queries @ noisy, dtype=np.float64)


def _exact(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return sums.astype(np.float64)


def _rounded(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return np.asarray(STEP * np.round(sums / STEP), dtype=np.float64)


def _bounded(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return np.asarray(sums + uniform_below(2 * WITHIN + 1, len(sums), entropy) - WITHIN, dtype=np.float64)


def _unaccounted(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return np.asarray(sums + discrete_laplace(1 / Fraction(EACH), len(sums), entropy), dtype=np.float64)


def _weak(answers: Answers, method: str, rounds: int, entropy: Entropy) -> Rounds:
    """Everybody tosses a fair coin; the share of the coins that are found by the method that finds more."""
    shares = []
    for _ in range(rounds):
        queries = random_queries(PEOPLE, QUERIES, entropy)
        truth = bernoulli(Fraction(1, 2), PEOPLE, entropy)
        guess = reconstruct(queries, answers(queries @ truth, entropy), method=method)
        shares.append(float(np.mean(guess.bits == truth)))
    return shares


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """The same queries. Least squares finds the noisy bits behind the sums, and these reach the bound."""
    queries = random_queries(PEOPLE, QUERIES, entropy)
    truth = bernoulli(Fraction(1, 2), PEOPLE * rounds, entropy).reshape(PEOPLE, rounds)
    answers = np.column_stack([added_up(queries, bits, epsilon, entropy) for bits in truth.T])
    guesses = least_squares(queries, answers, noise=0)
    return [float(share) for share in np.mean(guesses == truth, axis=0)]


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    queries, truth = random_queries(PEOPLE, QUERIES, entropy), bernoulli(Fraction(1, 2), PEOPLE, entropy)
    exact = reconstruct(queries, queries @ truth, noise=0)
    rounded = reconstruct(queries, _rounded(queries @ truth, entropy), method=METHODS[1])
    private = least_squares(queries, added_up(queries, truth, 1, entropy)[:, None], noise=0)[:, 0]
    attempts = [
        ("exact sums", exact.bits, exact.expected),
        (f"sums rounded to multiples of {STEP}", rounded.bits, rounded.expected),
        ("private sums (epsilon = 1 for all)", private, best_guess(1)),  # of a noisy bit: see `averaging.stored`
    ]
    return [
        Conclusion(
            about=f"all {PEOPLE} bits, from {QUERIES} {name}",
            guess="".join(map(str, bits)),
            sure=sure,
            because=f"{np.sum(bits == truth)} of {PEOPLE} are right. Blind guesses get about {PEOPLE // 2} right.",
            truth="".join(str(int(bit)) for bit in truth),
        )
        for name, bits, sure in attempts
    ]


RECONSTRUCTION = Attack(
    name="reconstruction",
    title="Reconstruction: a secret column from sums over random groups",
    secret=f"the bits of {PEOPLE} people",
    source="Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007",
    weak={
        "exact sums": partial(_weak, _exact, METHODS[0]),
        f"sums rounded to multiples of {STEP}": partial(_weak, _rounded, METHODS[1]),
        f"noise of at most ±{WITHIN}": partial(_weak, _bounded, METHODS[1]),
        f"Laplace noise, epsilon = {EACH:g} for each sum, without a ledger": partial(_weak, _unaccounted, METHODS[0]),
    },
    answer="sums of bits with Laplace noise",
    promise="epsilon for all sums together, whatever one person's bit is (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    measured="bits right",
    lesson="Overly accurate answers to too many questions give everything away: errors must reach √n for n people.",
    rounds=100,
)
