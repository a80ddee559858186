"""How numbers are distributed between public bounds, from one small number per person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.numeric import Piecewise
from lapwing.mechanisms.probabilities import flip_probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ROUNDS = 500
PATIENCE = 1e-2
"""Of log-likelihood: rounds that gain less end the search."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The estimated distribution of people's numbers, on an even grid.

    Privacy: computed from reports that are private already, so it costs nothing more.
    Accuracy: the most likely distribution, smoothed. It is not unbiased.

    Attributes:
        values: The numbers of the grid, evenly spaced between the bounds.
        shares: The share of people at each of them; together 1.
        n: How many people reported.

    >>> from lapwing.crowd import SquareWave
    >>> wave = SquareWave.from_epsilon(4, bounds=(0, 100))
    >>> ages = wave.distribution(wave.absorb(None, wave.randomize([20] * 5_000 + [60] * 5_000)))
    >>> 30 < ages.mean < 50, 10 < ages.quantile(0.25) < 30, 50 < ages.quantile(0.75) < 70
    (True, True, True)
    """

    values: NDArray[np.float64]
    shares: NDArray[np.float64]
    n: int

    @property
    def mean(self) -> float:
        """The mean of the distribution; `estimate` has one that is unbiased."""
        return float(self.shares @ self.values)

    def quantile(self, q: Number) -> float:
        """The first number of the grid up to which the share q of the people lies.

        Args:
            q: A share from 0 to 1; 0.5 gives the median.

        Returns:
            The quantile.

        Raises:
            InvalidParameter: If q is not a share from 0 to 1.
        """
        import numpy as np

        place = int(np.searchsorted(np.cumsum(self.shares), float(checks.share(q=q)) - 1e-12))
        return float(self.values[min(place, len(self.values) - 1)])

    def excess(self, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much people's numbers exceed each of these limits, on average: what clamping there takes away.

        Args:
            limits: The limits to try.

        Returns:
            The mean excess above each limit.

        >>> import numpy as np
        >>> from lapwing.crowd import SquareWave
        >>> wave = SquareWave.from_epsilon(4, bounds=(0, 100))
        >>> ages = wave.distribution(wave.absorb(None, wave.randomize([20] * 5_000 + [60] * 5_000)))
        >>> below, above = ages.excess(np.array([10.0, 90.0]))
        >>> bool(20 < below < 40), bool(above < 5)
        (True, True)
        """
        import numpy as np

        above = np.maximum(self.values[None, :] - np.asarray(limits, dtype=np.float64)[:, None], 0)
        return np.asarray(above @ self.shares, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareWave(Piecewise):
    """Reports like those of `Piecewise`, with a window that says most about the whole distribution.

    The square wave mechanism of Li, Wang, Lopuhaä-Zwakenberg, Škorić and Li (2020) on a grid. `estimate` is the
    unbiased mean, `distribution` the shares of people by number.

    Privacy: as `Piecewise`, ln(P(M−W)/((1−P)W)) for one report.
    Proof: hybrid.md

    Raises:
        InvalidParameter: If bounds are not a pair (low, high) with low below high, if cells is not a whole number from
            2 on, if window is not less than cells, or if inside is not above window/cells and below 1.

    >>> wave = SquareWave.from_epsilon(2, bounds=(0, 24))
    >>> print(wave.privacy_loss())
    ε = 1.99831 (replace, per person)
    >>> hours = wave.distribution(wave.absorb(None, wave.randomize([3, 4, 20] * 10_000)))
    >>> 3 < hours.quantile(0.5) < 6
    True
    """

    _instead: ClassVar[dict[str, str]] = {"epsilon": "Write SquareWave.from_epsilon(1, bounds=(0, 120))."}

    @classmethod
    def from_epsilon(
        cls, epsilon: Number, *, bounds: tuple[Number, Number], cells: int = 1024, unit: str = "person"
    ) -> Self:
        """The window that says most about a uniform number (mutual information), as likely as ε allows.

        Returns:
            The protocol.

        Raises:
            InvalidParameter: If epsilon is not positive, if cells is not a whole number from 2 on, or if bounds are not
                a pair (low, high) with low below high.
        """
        size, exact = checks.whole(minimum=2, cells=cells), checks.positive(epsilon=epsilon)
        half = _half_width(float(min(exact, Fraction(100))))
        window = min(max(1, round(size * 2 * half / (1 + 2 * half))), size - 1)
        others = Fraction(size - window, window)
        inside = 1 - others * flip_probability(exact, others=others)
        return cls(bounds=bounds, window=window, inside=inside, cells=size, unit=unit)

    def distribution(self, state: Counts, *, below: Number | None = None) -> Distribution:
        """The shares of people by number, by expectation maximisation with smoothing (Li et al. 2020).

        Args:
            state: Counts of this protocol, from `absorb`.
            below: A limit that no number exceeds, if one is known: then the noise cannot put anybody above it. None
                takes the upper bound.

        Returns:
            The distribution.

        Raises:
            InvalidParameter: If below is not a finite number, or if the counts belong to another protocol.
        """
        import numpy as np

        self.check_own(state.protocol)
        starts = self.cells - self.window + 1
        low, high = float(self._low), float(self._high)
        most = starts
        if below is not None:
            share = (checks.exact(below=below) - self._low) / (self._high - self._low)
            most = min(max(math.ceil(share * (starts - 1)) + 1, 1), starts)
        shares, _ = self._fitted(state, most, smooth=True)
        return Distribution(np.linspace(low, high, starts), shares, state.n)

    def support(self, state: Counts) -> float:
        """The least upper bound that the reports do not contradict.

        Numbers above it may exist, but are too few to be seen. This is a likelihood ratio test. It allows more when
        more windows fit between the bounds, because so many shares can follow the noise.

        Args:
            state: Counts of this protocol, from `absorb`.

        Returns:
            The bound.

        Raises:
            InvalidParameter: If the counts belong to another protocol.

        >>> wave = SquareWave.from_epsilon(4, bounds=(0, 100))
        >>> 15 < wave.support(wave.absorb(None, wave.randomize([20] * 10_000))) < 60
        True
        """
        self.check_own(state.protocol)
        starts, freedom = self.cells - self.window + 1, self.cells / self.window
        _, best = self._fitted(state, starts, smooth=False)
        enough = best - (freedom + 3 * math.sqrt(2 * freedom)) / 2
        low, high = 0, starts
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fitted(state, middle, smooth=False)[1] >= enough else (middle, high)
        return self._mean_of((high - 1) / (starts - 1))

    def _fitted(self, state: Counts, most: int, *, smooth: bool) -> tuple[NDArray[np.float64], float]:
        """The most likely shares of the first `most` starts of windows, and how likely they make the reports."""
        import numpy as np

        counts, starts = state.table.astype(np.float64), self.cells - self.window + 1
        shares, best = np.zeros(starts), -math.inf
        shares[:most] = 1 / most
        for _ in range(MOST_ROUNDS if state.n else 0):
            likely = self._seen(shares)
            fit = float(counts @ np.log(likely))
            if fit - best < PATIENCE:
                break
            best, shares = fit, shares * self._seen_back(counts / likely) / state.n
            if smooth:
                padded = np.concatenate((shares[:1], shares[:most], shares[most - 1 : most]))
                shares[:most] = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
            shares /= shares.sum()
        return shares, best

    def _seen(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of every cell, for windows that begin with these shares."""
        import numpy as np

        inside, outside = (float(density) for density in self._densities())
        sums = np.concatenate(([0.0], np.cumsum(shares)))
        cells = np.arange(self.cells)
        last, first = np.minimum(cells + 1, len(shares)), np.maximum(cells - self.window + 1, 0)
        return np.asarray(outside * sums[-1] + (inside - outside) * (sums[last] - sums[first]), dtype=np.float64)

    def _seen_back(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """For every start of a window, the weights of all cells times their probabilities."""
        import numpy as np

        inside, outside = (float(density) for density in self._densities())
        sums = np.concatenate(([0.0], np.cumsum(weights)))
        windows = sums[self.window :] - sums[: -self.window]
        return np.asarray(outside * sums[-1] + (inside - outside) * windows, dtype=np.float64)


def _half_width(epsilon: float) -> float:
    """Half of the best window, as a share of the distance of the bounds: between 0 and 1/2."""
    if epsilon < 1e-3:
        return 0.5
    grown = math.exp(epsilon)
    return (epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - epsilon))
