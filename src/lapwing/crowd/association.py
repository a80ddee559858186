"""How two answers of the same people go together, from two RAPPOR reports each (Fanti, Pihur and Erlingsson 2016).

If somebody's answer is a, a report is likelier than by noise alone by a product over the bits that a sets in the
cohort: q*/p* for a bit that is one, and (1−q*)/(1−p*) for a bit that is zero. For an answer that is not a candidate
hashes are uniform, so the mean over all bits, to the power of the hashes, takes its place. With L and M these
likelihoods of the two reports, the joint shares P maximise Σ log Σ_ab P_ab·L_ia·M_ib, a concave function:
expectation-maximisation climbs to its top from anywhere inside, and squared steps (Varadhan and Roland 2008) shorten
the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.crowd.domains import candidate_list
from lapwing.crowd.hashing import different_items
from lapwing.crowd.regression import inverse
from lapwing.crowd.reports import Reports
from lapwing.crowd.threads import parts
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCK = 1 << 13
MOST_ITERATIONS = 1000
LONGEST_STEP = 1e6
MOST_PAIRS = 256
"""Up to so many pairs the whole information matrix is inverted."""


@dataclass(frozen=True, slots=True)
class Independence:
    """A test that the two answers have nothing to do with each other.

    Attributes:
        statistic: The χ² statistic.
        degrees_of_freedom: Its degrees of freedom.
        p_value: The probability of at least such a statistic if the answers are independent.

    >>> from lapwing.crowd import OneTimeRappor, associate
    >>> rappor = OneTimeRappor(permanent_noise=0.25)
    >>> home, work = (rappor.randomize(answers) for answers in (["bus", "car"] * 3000, ["bike", "car"] * 3000))
    >>> test = associate(home, work, ["bus", "car"], ["bike", "car"]).independence
    >>> test.p_value < 0.01, test.permutations
    (True, 0)
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    permutations: int
    """0: the p-value is from the chi-square law."""


@dataclass(frozen=True, slots=True, eq=False)
class Association:
    """The joint shares of two answers. The last row and column stand for any answer that is not a candidate.

    Accuracy: shares of maximum likelihood, within 0 … 1, so those near 0 are too large on average. Standard errors, for
    people drawn at random, are from the observed information (with very many pairs, from what it would be if the
    answers were independent: a product of two small matrices).

    Attributes:
        first: The candidates for the first answer.
        second: The candidates for the second answer.
        n: How many people sent both reports.
        shares: The joint shares: a row for each candidate of the first answer, and one for all others.
        standard_errors: Of the shares, in the same shape.
        log_likelihood: The logarithm of the likelihood of the reports, relative to noise alone.
        iterations: How many steps the search took.
        independence: A test that the two answers are independent.

    >>> from lapwing.crowd import OneTimeRappor, associate
    >>> rappor = OneTimeRappor(permanent_noise=0.25)
    >>> home, work = (rappor.randomize(answers) for answers in (["bus", "car"] * 3000, ["bike", "car"] * 3000))
    >>> joint = associate(home, work, ["bus", "car"], ["bike", "car"])
    >>> joint["bus", "bike"] > 2000 > 1000 > joint["bus", "car"], joint.independence.p_value < 0.01
    (True, True)
    """

    first: Sequence[Any]
    second: Sequence[Any]
    n: int
    shares: Floats
    standard_errors: Floats
    log_likelihood: float
    iterations: int
    independence: Independence

    def __getitem__(self, pair: tuple[Any, Any]) -> float:
        """The estimated number of people who gave both answers."""
        first, second = pair
        return self.n * float(self.shares[list(self.first).index(first), list(self.second).index(second)])


def associate(
    first: Reports,
    second: Reports,
    first_candidates: Sequence[Any],
    second_candidates: Sequence[Any],
    *,
    complete: bool = False,
    permutations: int = 0,
    tolerance: float = 1e-3,
    entropy: Entropy = SYSTEM,
) -> Association:
    """The joint shares of two answers, from two RAPPOR reports of each person.

    The test of independence multiplies the scores of the two marginal fits, person by person: no boundary disturbs it,
    as it would a likelihood ratio.

    Privacy: computed from reports, so it costs nothing more; two reports of a person cost the sum of both losses.

    Args:
        first: Everybody's report of the first answer, of `Rappor` or `OneTimeRappor`.
        second: Everybody's report of the second answer, in the same order of people.
        first_candidates: The answers to look for in the first reports.
        second_candidates: The answers to look for in the second reports.
        complete: Whether everybody's answers are among the candidates. If not, some share always goes to others.
        permutations: How many random pairings of the reports the test of independence is compared with, which makes its
            p-value exact. 0 takes the chi-square law.
        tolerance: How much log-likelihood a step must still gain for the search to go on.
        entropy: Source of random bits for the permutations.

    Returns:
        The joint shares with their standard errors, and the test of independence.

    Raises:
        InvalidParameter: If the reports are not two of each person, or `complete` is true without candidates.

    >>> from lapwing.crowd import OneTimeRappor
    >>> rappor = OneTimeRappor(permanent_noise=0.25)
    >>> first, second = rappor.randomize(["tea", "milk"] * 3000), rappor.randomize(["cake", "bread"] * 3000)
    >>> joint = associate(first, second, ["tea", "milk"], ["cake", "bread"], complete=True)
    >>> joint["tea", "cake"] > 2000
    True
    """
    import numpy as np

    if len(first) != len(second) or not len(first):
        why = f"are {len(second):,}, but there are {len(first):,} first reports"
        raise InvalidParameter("second", "<reports>", why, "Pass two reports of each person, in the same order.")
    one_list = different_items(candidate_list(first_candidates), first_candidates=first_candidates)
    other_list = different_items(candidate_list(second_candidates), second_candidates=second_candidates)
    left, right = likelihoods(first, one_list), likelihoods(second, other_list)
    checks.positive(tolerance=tolerance)
    if checks.true_or_false(complete=complete):
        if not one_list or not other_list:
            why = "needs candidates for both answers"
            raise InvalidParameter("complete", complete, why, "Name every answer, or write complete=False.")
        left, right = left[:, :-1], right[:, :-1]
    left_shares, right_shares = _marginal(left, tolerance), _marginal(right, tolerance)
    independence = _independence(
        _scores(left, left_shares),
        _scores(right, right_shares),
        checks.whole(minimum=0, permutations=permutations),
        entropy,
    )
    shares, log_likelihood, iterations = _climb(left, right, np.outer(left_shares, right_shares), tolerance)
    errors = _standard_errors(left, right, shares)
    if complete:
        shares, errors = (np.pad(table, (0, 1)) for table in (shares, errors))
    return Association(
        one_list,
        other_list,
        len(first),
        shares,
        errors,
        log_likelihood,
        iterations,
        independence,
    )


def likelihoods(reports: Reports, candidates: Sequence[Any]) -> Floats:
    """How much likelier than by noise each report is if the answer is a candidate, and in the last column, if none."""
    import numpy as np

    from lapwing.crowd.bits import unpack_rows
    from lapwing.crowd.rappor import OneTimeRappor

    protocol = reports.protocol
    if not isinstance(protocol, OneTimeRappor):
        why = "are not reports of Rappor or OneTimeRappor"
        raise InvalidParameter("reports", f"<{type(protocol).__name__}>", why, "Answers of a list need no decoding.")
    unset, is_set = float(protocol.one_probability(False)), float(protocol.one_probability(True))
    ratios = np.array([(1 - is_set) / (1 - unset), is_set / unset])
    places = np.sort(protocol.places(candidates), axis=2)
    again = places[:, :, 1:] == places[:, :, :-1]  # functions that collide set one bit, and it counts once
    cohorts, rows = reports.column("cohort"), reports.column("bits")
    likelihoods = np.empty((len(reports), len(candidates) + 1))
    order = np.argsort(cohorts, kind="stable")
    for cohort, members in enumerate(np.split(order, np.cumsum(np.bincount(cohorts, minlength=protocol.cohorts))[:-1])):
        likely = ratios[unpack_rows(rows[members], protocol.bits)]
        product = likely[:, places[cohort, :, 0]]
        for i in range(1, protocol.hashes):
            product *= np.where(again[cohort, :, i - 1], 1.0, likely[:, places[cohort, :, i]])
        likelihoods[members, :-1] = product
        likelihoods[members, -1] = likely.mean(axis=1) ** protocol.hashes
    return likelihoods


def _step(left: Floats, right: Floats, shares: Floats) -> tuple[Floats, float]:
    """One step of expectation-maximisation, and the log-likelihood before it."""
    import numpy as np

    total, height = np.zeros_like(shares), 0.0
    for part in parts(len(left), BLOCK):
        left_rows, right_rows = left[part], right[part]
        density = np.einsum("ij,ij->i", left_rows @ shares, right_rows)
        height += float(np.log(density).sum())
        total += left_rows.T @ (right_rows / density[:, None])
    return shares * total / len(left), height


def _climb(left: Floats, right: Floats, start: Floats, tolerance: float) -> tuple[Floats, float, int]:
    """The joint shares of greatest likelihood."""
    import numpy as np

    at, safe, best = start, start, -np.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        once, height = _step(left, right, at)
        if height < best:  # the squared step went too far; two plain ones never go down
            at = safe
            once, height = _step(left, right, at)
        safe, _ = _step(left, right, once)
        if height - best < tolerance:
            return safe, height, iteration
        best = height
        move, bend = once - at, safe - 2 * once + at
        length = -min(max(1.0, float(np.linalg.norm(move)) / max(float(np.linalg.norm(bend)), 1e-300)), LONGEST_STEP)
        leap = np.maximum(at - 2 * length * move + length**2 * bend, 1e-3 * safe)
        at = leap / leap.sum()
    return at, best, MOST_ITERATIONS


def _marginal(likely: Floats, tolerance: float) -> Floats:
    """The shares of one answer by itself."""
    import numpy as np

    nothing = np.ones((len(likely), 1))
    start = np.full((likely.shape[1], 1), 1 / likely.shape[1])
    shares: Floats = _climb(likely, nothing, start, tolerance)[0][:, 0]
    return shares


def _scores(likely: Floats, shares: Floats) -> Floats:
    """Each person's derivative of the log-likelihood by each share, made uncorrelated with variance 1."""
    import numpy as np

    scores = likely / (likely @ shares)[:, None]
    scores -= scores.mean(axis=0)
    values, vectors = np.linalg.eigh(scores.T @ scores / len(scores))
    kept = values > 1e-9 * max(float(values.max()), 1e-300)
    whitened: Floats = scores @ (vectors[:, kept] / np.sqrt(values[kept]))
    return whitened


def _independence(left: Floats, right: Floats, permutations: int, entropy: Entropy) -> Independence:
    """n times the squared correlations of the scores: chi-square if the answers are independent."""
    from scipy.stats import chi2

    from lapwing.noise import permutation

    def statistic(other: Floats) -> float:
        return float(((left.T @ other) ** 2).sum()) / len(left)

    seen, degrees = statistic(right), left.shape[1] * right.shape[1]
    if not degrees:  # an answer that is always the same depends on nothing
        return Independence(seen, 0, 1.0, permutations)
    if not permutations:
        return Independence(seen, degrees, float(chi2.sf(seen, degrees)), 0)
    above = sum(statistic(right[permutation(len(right), entropy)]) >= seen for _ in range(permutations))
    return Independence(seen, degrees, (1 + above) / (1 + permutations), permutations)


def _covariance(likely: Floats, shares: Floats) -> Floats:
    """Of the shares of one answer: the inverse of the information."""
    scores = likely / (likely @ shares)[:, None]
    return inverse(scores.T @ scores)


def _standard_errors(left: Floats, right: Floats, shares: Floats) -> Floats:
    """From the inverse of the observed information among shares that add up to 1."""
    import numpy as np

    if shares.size > MOST_PAIRS:
        ends = ((left, shares.sum(axis=1)), (right, shares.sum(axis=0)))
        left_variance, right_variance = (np.diag(_covariance(likely, share)) for likely, share in ends)
        product: Floats = np.sqrt(np.maximum(np.outer(left_variance, right_variance), 0) * len(left))
        return product
    information = np.zeros((shares.size, shares.size))
    for part in parts(len(left), BLOCK // 8):
        left_rows, right_rows = left[part], right[part]
        density = np.einsum("ij,ij->i", left_rows @ shares, right_rows)
        scores = (left_rows[:, :, None] * (right_rows / density[:, None])[:, None, :]).reshape(len(left_rows), -1)
        information += scores.T @ scores
    flat = np.eye(shares.size) - 1 / shares.size  # the plane on which shares add up to 1
    covariance = inverse(flat @ information @ flat)
    return np.sqrt(np.maximum(np.diag(covariance), 0)).reshape(shares.shape)
