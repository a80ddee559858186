"""A whole column of secrets from noisy sums over random groups of people.

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
from lapwing.adversary.attacks.attack import Attack, Learned, Rounds
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
_SUREST, _CERTAIN = 36.0, 700.0  # in log odds: with noise nothing is certain, and 1/(1 + e^−36) is less than 1


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """Secrets that were read out of sums."""

    bits: NDArray[np.int64]
    """The guess for every person."""
    sure: Floats
    """The chance that it is right: see `reconstruct`."""

    @property
    def expected(self) -> float:
        """The share of the bits that the attacker believes to be right."""
        return float(self.sure.mean())

    def learned(self, names: Sequence[str] | None = None, truth: Sequence[int] | None = None) -> list[Learned]:
        """Person by person."""
        because = f"It fits the sums best; {self.expected:.1%} of all bits are expected to be right."
        return [
            Learned(
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
    """Everybody's bit from sums over groups: `queries[j, i]` is 1 if person i is in the sum `answers[j]`.

    `noise` is the standard deviation of an answer, 0 if they are exact; None takes it from how badly the sums fit,
    which needs more queries than people. How sure is what least squares says of the guess: its estimate of a bit is
    taken for a normal variable around it, all bits having been fair coins. Sure is 1 where exact sums leave no other
    way.

    >>> found = reconstruct([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [2, 1, 1], noise=0)
    >>> found.bits.tolist(), found.sure.tolist()
    ([1, 1, 0], [1.0, 1.0, 1.0])
    """
    asked, told = np.asarray(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if asked.ndim != 2 or told.shape != asked.shape[:1]:
        why = "must have a row for every answer and a column for every person"
        raise InvalidParameter("queries", f"<shape {asked.shape}>", why, "Write [[1, 0], [1, 1]] for two of each.")
    program = checks.one_of(METHODS, method=method) == METHODS[0]
    deviation = _deviation(asked, told) if noise is None else float(checks.not_negative(noise=noise))
    estimate, variance = (part[:, 0] for part in _linear(asked, told[:, None], deviation))
    most = _SUREST if deviation else _CERTAIN
    odds = np.clip((estimate - 0.5) / variance, -most, most)
    bits = (_least_absolute(asked, told) if program else estimate) > 0.5
    sure = np.maximum(1 / (1 + np.exp(np.where(bits, -odds, odds))), 0.5)
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
    """The x in [0, 1]ⁿ for which the sum of |answer − query·x| is least: each error is over − under, both ≥ 0."""
    from scipy import sparse
    from scipy.optimize import linprog

    count, people = queries.shape
    unit = sparse.identity(count, format="csr")
    left = sparse.hstack([sparse.csr_matrix(queries), unit, -unit], format="csr")
    cost = np.concatenate([np.zeros(people), np.ones(2 * count)])
    bounds = np.column_stack([np.zeros(len(cost)), np.where(cost, np.inf, 1.0)])
    found = linprog(cost, A_eq=left, b_eq=answers, bounds=bounds, method="highs")
    return np.asarray(found.x[:people], dtype=np.float64)


def _deviation(queries: Floats, answers: Floats) -> float:
    """The standard deviation of the errors, from what least squares cannot explain."""
    free = queries.shape[0] - queries.shape[1]
    if free <= 0:
        why = "cannot be taken from the answers if there are no more queries than people"
        raise InvalidParameter("noise", None, why, "Write noise=0 if the sums are exact.")
    found = np.linalg.lstsq(queries, answers, rcond=None)[0]
    return float(np.sqrt(np.sum((answers - queries @ found) ** 2) / free))


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


def _exact(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return sums.astype(np.float64)


def _rounded(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return np.asarray(STEP * np.round(sums / STEP), dtype=np.float64)


def _bounded(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return np.asarray(sums + uniform_below(2 * WITHIN + 1, len(sums), entropy) - WITHIN, dtype=np.float64)


def _unaccounted(sums: NDArray[np.int64], entropy: Entropy) -> Floats:
    return np.asarray(sums + discrete_laplace(1 / Fraction(EACH), len(sums), entropy), dtype=np.float64)


def _weak(answers: Answers, rounds: int, entropy: Entropy) -> Rounds:
    """Everybody tosses a fair coin; the share of the coins that the linear program finds."""
    shares = []
    for _ in range(rounds):
        queries = random_queries(PEOPLE, QUERIES, entropy)
        truth = bernoulli(Fraction(1, 2), PEOPLE, entropy)
        found = reconstruct(queries, answers(queries @ truth, entropy))
        shares.append(float(np.mean(found.bits == truth)))
    return shares


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """The same queries. Where noise is large, least squares finds more than the linear program, so it attacks here."""
    queries = random_queries(PEOPLE, QUERIES, entropy)
    truth = bernoulli(Fraction(1, 2), PEOPLE * rounds, entropy).reshape(PEOPLE, rounds)
    honest = shared(queries, epsilon)
    answers = np.column_stack([honest.release(column, entropy) for column in (queries @ truth).T])
    found = least_squares(queries, answers, noise=honest.variance**0.5)
    return [float(share) for share in np.mean(found == truth, axis=0)]


def _example(entropy: Entropy) -> Sequence[Learned]:
    queries, truth = random_queries(PEOPLE, QUERIES, entropy), bernoulli(Fraction(1, 2), PEOPLE, entropy)
    honest = shared(queries, 1)
    told = [
        (f"sums rounded to multiples of {STEP}", _rounded(queries @ truth, entropy), METHODS[0]),
        ("private sums (epsilon = 1 for all)", honest.release(queries @ truth, entropy), METHODS[1]),
    ]
    return [
        Learned(
            about=f"all {PEOPLE} bits, from {QUERIES} {name}",
            guess="".join(map(str, found.bits)),
            sure=found.expected,
            because=f"{np.sum(found.bits == truth)} of {PEOPLE} are right, {PEOPLE // 2} or so would be by guessing.",
            truth="".join(str(int(bit)) for bit in truth),
        )
        for name, answers, method in told
        for found in [reconstruct(queries, answers, method=method)]
    ]


RECONSTRUCTION = Attack(
    name="reconstruction",
    title="Reconstruction: a secret column from sums over random groups",
    secret=f"the bits of {PEOPLE} people",
    source="004 §2.1; Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007",
    weak={
        "exact sums": partial(_weak, _exact),
        f"sums rounded to multiples of {STEP}": partial(_weak, _rounded),
        f"noise of at most ±{WITHIN}": partial(_weak, _bounded),
        f"Laplace noise, epsilon = {EACH:g} for each sum and nobody adds up": partial(_weak, _unaccounted),
    },
    answer="Laplace noise, one epsilon for all sums",
    promise="epsilon for all sums together, whatever one person's bit is (replace)",
    private=_private,
    bound=best_guess,
    example=_example,
    measured="bits right",
    lesson="Overly accurate answers to too many questions give everything away: noise must grow with the questions.",
    rounds=100,
)
