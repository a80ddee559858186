"""The regression behind RAPPOR's decoding: bits of cohorts by candidates, a lasso that selects, least squares.

What is regressed on what, and why, is said in `decoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lapwing.crowd.counts import Counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.crowd.rappor import OneTimeRappor

    Floats = NDArray[np.float64]

STEP = 256
"""So many candidates at most join the lasso at a time."""
ROUNDS = 4
SWEEPS = 200
FEW = 128
"""So many candidates at most are fitted together just to learn how large the noise is."""
OUTLYING = 4.0
"""Cells this many errors away are taken for those of an answer that is no candidate."""
CLOSE = 1e-3
"""Coordinates that move by less than this part of their error stand still."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well the selected candidates explain the bits.

    Attributes:
        chi_square: The sum of the squared residuals, each in standard deviations of the coins.
        degrees_of_freedom: How many residuals there are, less the candidates that were selected.

    >>> from lapwing.crowd import OneTimeRappor, decode
    >>> protocol = OneTimeRappor(permanent_noise=0.25)
    >>> counts = protocol.absorb(None, protocol.randomize(["cat"] * 5000 + ["dog"] * 5000))
    >>> fit = decode(protocol, counts, ["cat", "dog", "owl"]).fit
    >>> fit.p_value > 1e-9, 0 < fit.explained_variance <= 1
    (True, True)
    """

    explained_variance: float
    """The share of the variation between bits, weighted by their errors: coins included, so far from 1 when few
    people answered."""
    chi_square: float
    degrees_of_freedom: int
    p_value: float
    """That coins alone leave residuals this large. Small: answers that were not selected, or no candidates, matter."""

    @property
    def dispersion(self) -> float:
        """The variance of the residuals over that of the coins, at least 1; errors are widened by its root."""
        return max(1.0, self.chi_square / self.degrees_of_freedom) if self.degrees_of_freedom else 1.0


@dataclass(frozen=True, slots=True)
class Cells:
    """The de-biased bits of all cohorts, with their errors, and which candidate sets which.

    A column of the candidate matrix has few ones, so only their rows are held; a hash that falls on the bit of another
    one points to a cell behind the last, of weight 0. Centred by β, no column is sparse any more, but all products are.
    """

    rows: NDArray[np.int32]
    target: Floats
    weights: Floats
    reports: Floats
    background: float
    rates: tuple[float, float]
    cohorts: int

    @classmethod
    def of(cls, protocol: OneTimeRappor, state: Counts, labels: Sequence[Any]) -> Cells:
        import numpy as np

        unset, is_set = protocol.one_probability(False), protocol.one_probability(True)
        k, h, m = protocol.bits, protocol.hashes, protocol.cohorts
        reports = state.table[:, -1].astype(np.float64)
        background = 1 - (1 - 1 / k) ** h
        seen = state.table[:, :-1] / np.maximum(reports, 1)[:, None]
        shares = (seen - float(unset)) / float(is_set - unset)
        places = np.sort(protocol.places(labels), axis=2).astype(np.int32)
        cells = places + np.arange(m, dtype=np.int32)[:, None, None] * np.int32(k)
        cells[:, :, 1:][places[:, :, 1:] == places[:, :, :-1]] = m * k
        rows = np.ascontiguousarray(cells.transpose(1, 0, 2)).reshape(len(labels), m * h)
        padded = np.append(np.where(reports[:, None] > 0, shares - background, 0).ravel(), 0.0)
        many = np.append(np.repeat(reports, k), 0.0)
        rates = float(unset), float(is_set)
        return cls(rows, padded, many, many, background, rates, m).weighted(0.0)

    def weighted(self, fitted: Floats | float) -> Cells:
        """With the errors that follow from fitted shares (less β) instead of observed ones, which would bias."""
        import numpy as np

        unset, is_set = self.rates
        chance = unset + (is_set - unset) * np.clip(self.background + fitted, 0, 1)
        return replace(self, weights=self.reports * (is_set - unset) ** 2 / (chance * (1 - chance)))

    def coins(self, chosen: NDArray[np.intp], shares: Floats) -> Cells:
        """With each weight times the part of the variance of its cell that is due to coins, not to drawing people."""
        import numpy as np

        unset, is_set = self.rates
        truly = np.clip(self.background + self.fitted(chosen, shares), 0, 1)
        chance = unset + (is_set - unset) * truly
        coins = truly * is_set * (1 - is_set) + (1 - truly) * unset * (1 - unset)
        return replace(self, weights=self.weights * coins / (chance * (1 - chance)))

    @property
    def counted(self) -> int:
        """How many bits were counted in at least one report."""
        return int((self.reports > 0).sum())

    @property
    def lengths(self) -> Floats:
        """Of all centred columns, in units of the error: a share has the standard error 1/length by itself."""
        import numpy as np

        ones = self._sums(self.weights)
        total = ones * (1 - 2 * self.background) + self.background**2 * self.weights.sum()
        lengths: Floats = np.sqrt(np.maximum(total, 0))
        return lengths

    def scores(self, residual: Floats) -> Floats:
        """The products of all centred columns with a residual."""
        weighted = self.weights * residual
        scores: Floats = self._sums(weighted) - self.background * weighted.sum()
        return scores

    def gram(self, chosen: NDArray[np.intp]) -> Floats:
        """The products of some centred columns with one another."""
        ones = self._matrix(chosen)
        sums = ones @ self.weights
        product: Floats = (ones.multiply(self.weights) @ ones.T).toarray()
        product -= self.background * (sums[:, None] + sums[None, :])
        product += self.background**2 * self.weights.sum()
        return product

    def fitted(self, chosen: NDArray[np.intp], shares: Floats) -> Floats:
        """What these shares make of every cell, less β."""
        result: Floats = self._matrix(chosen).T @ shares - self.background * shares.sum()
        result[-1] = 0
        return result

    def trimmed(self, chosen: NDArray[np.intp], shares: Floats) -> Cells:
        """Without the cells that stand out so far that an answer missing from the candidates must have set them.

        What stands out there is the share u of such answers, times the hashes and cohorts; all other cells have the
        background of the others only.
        """
        import numpy as np

        residual = self.residual(chosen, shares)
        out = residual * np.sqrt(self.weights) > OUTLYING
        missing = float(residual[out].sum()) / self.rows.shape[1]
        target = np.where(self.reports > 0, self.target + self.background * missing, 0.0)
        reports, weights = (np.where(out, 0, some) for some in (self.reports, self.weights))
        return replace(self, target=target, reports=reports, weights=weights)

    def residual(self, chosen: NDArray[np.intp], shares: Floats) -> Floats:
        """What is left of the target."""
        return self.target - self.fitted(chosen, shares)

    def fit(self, chosen: NDArray[np.intp], shares: Floats) -> Fit:
        """How good these shares are."""
        from scipy.stats import chi2

        left = float(self.weights @ self.residual(chosen, shares) ** 2)
        mean = float(self.weights @ self.target) / max(float(self.weights.sum()), 1e-300)
        total = float(self.weights @ (self.target - mean) ** 2)
        degrees = max(self.counted - len(chosen), 0)
        p_value = float(chi2.sf(left, degrees)) if degrees else 1.0
        return Fit(1 - left / total if total else 0.0, left, degrees, p_value)

    def gain(self, chosen: NDArray[np.intp], spread: Floats) -> float:
        """How many people a report with the best bits, sent to the best cohort, adds to a selected count."""
        import numpy as np

        if not len(chosen) or not self.counted:
            return 0.0
        unset, is_set = self.rates
        if_one, if_zero = ((bit - unset) / (is_set - unset) - self.background for bit in (1, 0))
        ones, people = self._matrix(chosen), np.maximum(self.reports[:-1].reshape(self.cohorts, -1).max(axis=1), 1)
        most = 0.0
        for start in range(0, len(chosen), 64):
            part = spread[start : start + 64]
            pull = (self.weights * (part @ ones - self.background * part.sum(axis=1)[:, None]))[:, :-1]
            best = np.maximum(pull * if_one, pull * if_zero).reshape(len(part), self.cohorts, -1).sum(axis=2) / people
            most = max(most, float(best.max()))
        return most * float(people.sum())

    def _sums(self, values: Floats) -> Floats:
        """For each candidate the sum over the cells of its ones."""
        import numpy as np

        step = max(1, (1 << 20) // max(self.rows.shape[1], 1))
        parts = [values[self.rows[i : i + step]].sum(axis=1) for i in range(0, len(self.rows), step)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _matrix(self, chosen: NDArray[np.intp]) -> Any:
        """The ones of some candidates: candidates by cells, sparse."""
        import numpy as np
        from scipy.sparse import csr_array

        rows = self.rows[chosen]
        pointers = np.arange(len(rows) + 1) * rows.shape[1]
        return csr_array((np.ones(rows.size), rows.ravel(), pointers), shape=(len(rows), len(self.target)))


def fit_selected(cells: Cells) -> tuple[Cells, NDArray[np.intp], Floats, Floats, Fit]:
    """Select and fit; again without the cells of frequent answers that no candidate is, until none is left.

    Such cells make the scores of innocent candidates that share them skew, which no common dispersion accounts for.
    """
    whole = cells
    for _ in range(ROUNDS):
        fitting, chosen, shares, spread = least_squares(cells, _lasso(cells), keep_negative=False)
        fewer = fitting.trimmed(chosen, shares)
        if fewer.counted == fitting.counted:
            break
        cells = replace(fewer, weights=cells.weights * (fewer.reports > 0))
    fit = whole.weighted(whole.fitted(chosen, shares)).fit(chosen, shares)
    return fitting, chosen, shares, spread, fit


def _lasso(cells: Cells) -> NDArray[np.intp]:
    """The candidates that a non-negative lasso gives a share; those whose score is above the penalty join in turn."""
    import numpy as np
    from scipy.stats import norm

    count = len(cells.rows)
    chosen, shares = np.empty(0, dtype=np.intp), np.empty(0)
    if not count or not cells.counted:
        return chosen
    lengths = cells.lengths
    threshold = max(float(norm.isf(1 / count)), 1.0) if count > 1 else 1.0
    known = _dispersion_of_all(cells) if count <= min(FEW, cells.counted) else None
    while True:
        dispersion = cells.fit(chosen, shares).dispersion if known is None else known
        penalty = threshold * dispersion**0.5 * lengths
        excess = cells.scores(cells.residual(chosen, shares)) - penalty
        excess[chosen] = -np.inf
        joining = np.flatnonzero(excess > CLOSE * lengths)
        room = cells.counted - len(chosen)
        joining = joining[np.argsort(-excess[joining] / lengths[joining], kind="stable")][: min(STEP, room)]
        if not len(joining):
            return chosen
        chosen = np.concatenate([chosen, joining])
        start = np.concatenate([shares, np.zeros(len(joining))])
        target = cells.scores(cells.target)[chosen]
        shares = _descended(cells.gram(chosen), target - penalty[chosen], start)
        kept = shares > 0
        chosen, shares = chosen[kept], shares[kept]


def _dispersion_of_all(cells: Cells) -> float:
    """That of the fit of all candidates: what is left by a fit of few is not only noise, if the cells are few, too."""
    import numpy as np

    everything = np.arange(len(cells.rows))
    return cells.fit(everything, inverse(cells.gram(everything)) @ cells.scores(cells.target)).dispersion


def _descended(gram: Floats, target: Floats, start: Floats) -> Floats:
    """The non-negative minimum of x·gram·x/2 − target·x, one coordinate after another."""
    import numpy as np

    at = start.copy()
    slope = target - gram @ at
    curvature = np.diag(gram).tolist()
    for _ in range(SWEEPS):
        moved = False
        for j, bend in enumerate(curvature):
            before = float(at[j])
            after = max(0.0, before + float(slope[j]) / bend)
            if abs(after - before) * bend**0.5 > CLOSE or (after == 0) != (before == 0):
                at[j], moved = after, True
                slope -= gram[j] * (after - before)
        if not moved:
            break
    return at


def least_squares(
    cells: Cells, chosen: NDArray[np.intp], *, keep_negative: bool
) -> tuple[Cells, NDArray[np.intp], Floats, Floats]:
    """Shares of the chosen and their covariances over the coins; with weights from a first fit."""

    for _ in range(2):
        while True:
            spread = inverse(cells.gram(chosen))
            shares = spread @ cells.scores(cells.target)[chosen]
            negative = shares < 0
            if keep_negative or not negative.any():
                break
            chosen = chosen[~negative]
        cells = cells.weighted(cells.fitted(chosen, shares))
    return cells, chosen, shares, spread


def inverse(matrix: Floats) -> Floats:
    """Of a symmetric matrix; where it is singular, the pseudo-inverse."""
    import numpy as np

    return np.asarray(np.linalg.pinv(matrix, rcond=1e-10, hermitian=True) if len(matrix) else matrix, dtype=np.float64)
