"""Linear regression by least squares, in three private ways with one contract."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from lapwing import checks
from lapwing.errors import NoiseWarning
from lapwing.models.account import Account
from lapwing.models.columns import Box, Floats
from lapwing.models.estimator import PrivateRegressor
from lapwing.models.exact import rowwise, totals
from lapwing.models.linear_few import (
    LEVEL,
    PATH,
    along_rows,
    clear,
    direction_of,
    leaning_rows,
    level_of,
    level_rows,
    line_of,
    path_of,
    rows_guessed,
)
from lapwing.models.linear_moments import (
    LIMIT,
    STEP,
    TARGET_WEIGHT,
    Moments,
    centre_sums,
    entries,
    flat,
    sizes,
    weighed,
)
from lapwing.models.linear_output import GRID, Ball, shrunk_rows, sums
from lapwing.models.linear_solve import Learnt, shrunken, trimmed, without_errors
from lapwing.models.linear_solve import Line as Fitted
from lapwing.models.spending import Spending
from lapwing.noise import Entropy
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

METHODS = ("sufficient_statistics", "functional", "output")
_ROWS_WORTH = "the change that {} extreme rows could make"
_ROWS = (60.0, 36.0)
"""For fewer rows than so many standard deviations of the noise along the path, only the mean of the target is learnt;
for Laplace noise, and for Gaussian noise, whose rows are of a size in l2."""
_WEIGHT = (100.0, 8.0)
"""If the first look saw less than so many standard deviations of the noise on products, and for Laplace noise so many
more for each column, one direction is learnt. Both were chosen on a few tables, not on one."""


class Way(Protocol):
    """One way to a line from rows and targets in whole steps of −2^16 … 2^16."""

    @property
    def lines(self) -> Sequence[Line]:
        """What it releases."""

    def learn(self, columns: Floats, target: Floats, entropy: Entropy) -> Fitted:
        """Slopes for columns and target within −1 … 1."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Noisy sums around a centre that a first look has found: as many of them as the rows it saw can bear."""

    width: int
    constant: bool
    spending: Spending

    @property
    def parts(self) -> tuple[Spending, Spending]:
        """For the first look, and for all that follows."""
        first, second = self.spending.split(3, 17)
        return first, second if self.constant else self.spending

    @property
    def look(self) -> Any:
        """Noise of the first look."""
        return _unit(self.parts[0], self.width + 2)

    @property
    def products(self) -> Any:
        """Noise of all sums of products."""
        dimensions = entries(self.width + self.constant)
        return self.parts[1].additive(l1=LIMIT, l2_squared=LIMIT**2, dimensions=dimensions)

    @property
    def path(self) -> tuple[Any, Any]:
        """Noise of what gives the direction, and of the line along it; they share the place of the products."""
        first, second = self.parts[1].split(1, 1)
        return _unit(first, self.width), _unit(second, PATH)

    @property
    def level(self) -> Any:
        """Noise of the mean alone, in the same place."""
        return self.parts[1].additive(l1=LEVEL, l2_squared=LEVEL**2, dimensions=2)

    @property
    def lines(self) -> Sequence[Line]:
        """The first look is left out without a constant, for then there is no centre."""
        look, products = self.look, self.products
        first = Line("a first estimate of the centre", look.privacy_loss(), look.accuracy() / STEP, _ROWS_WORTH)
        what = "sums of products (if there are few rows, only one slope or only the mean is learnt)"
        sums = Line(what, products.privacy_loss(), products.accuracy() / LIMIT, _ROWS_WORTH)
        return (first, sums) if self.constant else (sums,)

    def learn(self, columns: Floats, target: Floats, entropy: Entropy) -> Fitted:
        """Look, move to the centre, and learn what the noise leaves room for."""
        if not self.constant:
            return self._all(columns, target, np.zeros(self.width + 1), entropy)
        squared = self.spending.concentrated
        rows, weight, centre = _looked(self.look, columns, target, entropy, squared=squared)
        if rows < _ROWS[squared] * np.sqrt(self.path[1].variance) / STEP:
            return self._mean(target, entropy)
        enough = _WEIGHT[0] + (0 if squared else _WEIGHT[1] * (self.width + 1))
        if weight < enough * np.sqrt(self.products.variance) / LIMIT:
            return self._along(columns, target, centre, entropy)
        return self._all(columns, target, centre, entropy)

    def _all(self, columns: Floats, target: Floats, centre: Floats, entropy: Entropy) -> Fitted:
        noise, squared = self.products, self.spending.concentrated
        rows = weighed(columns, target, centre, constant=self.constant, squared=squared)
        moments = Moments.of(noise.release(flat(rows), entropy) / LIMIT, self.width + self.constant)
        centre = centre / STEP
        reach = 1 + float(abs(centre[-1]))
        peak = _peak(self.constant, reach, squared=squared)
        line = shrunken(moments, noise.variance / LIMIT**2, reach, peak, constant=self.constant)
        return replace(line, start=float(centre[-1] + line.start - centre[:-1] @ line.slopes))

    def _along(self, columns: Floats, target: Floats, centre: Floats, entropy: Entropy) -> Fitted:
        (lean, along), squared = self.path, self.spending.concentrated
        leaning = lean.release(totals(leaning_rows(columns, target, centre, squared=squared), STEP), entropy)
        direction = direction_of(leaning.astype(float), lean.variance)
        rows = along_rows(path_of(columns, centre, direction), target, squared=squared)
        slope, start = line_of(along.release(totals(rows, STEP), entropy) / STEP, along.variance / STEP**2)
        slopes = slope * direction
        return without_errors(slopes, start - float(centre[:-1] @ slopes) / STEP, "direction")

    def _mean(self, target: Floats, entropy: Entropy) -> Fitted:
        noise = self.level
        plus, minus = noise.release(totals(level_rows(target), LEVEL), entropy).tolist()
        return without_errors(np.zeros(self.width), level_of(plus, minus, noise.variance), "mean")


@dataclass(frozen=True, slots=True)
class Functional:
    """The coefficients of the sum of squared errors over the whole box, each with noise (Zhang et al. 2012)."""

    width: int
    constant: bool
    spending: Spending

    @property
    def noise(self) -> Any:
        """By what a row of the largest entries adds: the bound is attained."""
        width = self.width + self.constant
        pairs = width * (width + 1) // 2
        return self.spending.additive(
            l1=(pairs + TARGET_WEIGHT * width + 1) * STEP**2,
            l2_squared=(pairs + TARGET_WEIGHT**2 * width + 1) * STEP**4,
            dimensions=entries(width),
        )

    @property
    def lines(self) -> Sequence[Line]:
        """One release."""
        noise = self.noise
        return (
            Line("the coefficients of the squared error", noise.privacy_loss(), noise.accuracy() / STEP**2, "rows"),
        )

    def learn(self, columns: Floats, target: Floats, entropy: Entropy) -> Fitted:
        """Sum, add noise, minimise what has a minimum."""
        noise, parts = self.noise, [columns, target]
        if self.constant:
            parts = [np.full(len(columns), float(STEP)), *parts]
        rows = np.column_stack(parts)
        moments = Moments.of(noise.release(flat(rows), entropy) / STEP**2, self.width + self.constant)
        return trimmed(moments, noise.variance / STEP**4, 1.0, 1.0, constant=self.constant)


@dataclass(frozen=True, slots=True)
class Output:
    """Noise on the solution of a ridge regression over a ball, around a centre that a first look has found."""

    width: int
    constant: bool
    spending: Spending
    ridge: Fraction | None = None

    @property
    def parts(self) -> tuple[Spending, Spending]:
        """For the first look, and for the solution; without a constant there is no centre to look at."""
        first, second = self.spending.split(3, 17)
        return first, second if self.constant else self.spending

    @property
    def look(self) -> Any:
        """Noise of the first look."""
        return _unit(self.parts[0], self.width + 2)

    def ball(self, rows: float) -> Ball:
        """For about so many rows."""
        return Ball.of(self.width + self.constant, self.parts[1], self.ridge, rows)

    @property
    def lines(self) -> Sequence[Line]:
        """The noise on the solution is that for the least ridge, which few rows have."""
        look, noise = self.look, self.ball(0.0).noise(self.parts[1])
        first = Line("a first estimate of the centre", look.privacy_loss(), look.accuracy() / STEP, _ROWS_WORTH)
        what = "half widths of the target per half width of the column, at most"
        line = Line("the solution of a ridge regression", noise.privacy_loss(), noise.accuracy() / GRID, what)
        return (first, line) if self.constant else (line,)

    def learn(self, columns: Floats, target: Floats, entropy: Entropy) -> Fitted:
        """Look, move to the centre, minimise, certify, add noise."""
        rows, centre = 0.0, np.zeros(self.width + 1)
        if self.constant:
            rows, _, centre = _looked(self.look, columns, target, entropy, squared=self.spending.concentrated)
            columns = np.column_stack([np.full(len(columns), float(STEP)), columns - centre[:-1]])
        reach, ball = 1 + float(abs(centre[-1])) / STEP, self.ball(rows)
        solved = ball.solve(*sums(shrunk_rows(columns, np.trunc((target - centre[-1]) / reach))))
        noise = ball.noise(self.parts[1])
        solution = reach * np.asarray(noise.release(np.array(solved, dtype=np.int64), entropy), dtype=float) / GRID
        slopes = solution[int(self.constant) :]
        start = float(solution[0]) + float(centre[-1] - centre[:-1] @ slopes) / STEP if self.constant else 0.0
        return without_errors(slopes, start, "slopes")  # how far the ridge moved them nobody can tell


@dataclass(frozen=True, slots=True)
class _Recipe:
    box: Box
    target_box: Box
    way: Way
    spending: Spending

    @property
    def loss(self) -> Loss:
        return self.spending.stated

    @property
    def lines(self) -> Sequence[Line]:
        return self.way.lines


class LinearRegression(PrivateRegressor[_Recipe]):
    """A linear function of the columns that predicts the target.

    Rows count less the farther they are from the centre, except with "functional". Where the target is linear in the
    columns, that changes nothing but the spread. Where it is not, the line fits best near the centre.

    Privacy: epsilon pure, or (epsilon, delta), or rho zero-concentrated; add_remove, one row. Predicting is free.
    Accuracy: with too few rows for the noise the prediction is about the mean of the target, not absurd.
    Proof: linear.md

    Args:
        method: "sufficient_statistics": noisy sums of products of weighted rows; slopes are shrunk as far as they
            are noise. From few rows only one direction is learnt, from very few only the mean of the target.
            "functional": noisy coefficients of the squared error over all of the bounds. "output": noise on the
            solution of a ridge regression.
        fit_intercept: Whether the line has an intercept. Without one it passes through 0 in the units of the data.
        regularization: The ridge of "output", on columns scaled to −1 … 1. None chooses it from a noisy number of rows,
            so that the noise stays small. Other methods ignore it.
        confidence: The confidence of each interval in `coef_interval_`.

    Attributes:
        coef_: The slope of each column.
        intercept_: The value where all columns are 0.
        coef_interval_: An interval for each slope by itself. It covers the noise and the sampling, around the slope
            before it was shrunk towards 0. It does not cover a target that is not linear, or values that were clamped.
            It is NaN where nothing can be said: if noise hides the slopes, and always for "output".
        drowned_: Which slopes the noise may hide: those without an interval, or with one that contains 0.
        learnt_: "slopes", "direction" or "mean": what the noise left room for.
        notes_: The same in words; a `NoiseWarning` says it too.

    >>> X = np.arange(2000).reshape(-1, 1) % 100
    >>> model = LinearRegression(epsilon=10, bounds=(0, 100), target_bounds=(0, 300)).fit(X, 3.0 * X[:, 0])
    >>> bool(2.5 < model.coef_[0] < 3.5)
    True
    """

    def __init__(
        self,
        *,
        method: str = "sufficient_statistics",
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        target_bounds: Any = None,
        fit_intercept: bool = True,
        regularization: Any = None,
        confidence: Any = 0.95,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.fit_intercept = fit_intercept
        self.regularization = regularization
        self.confidence = confidence
        self.account = account
        self.random_state = random_state

    def _recipe(self, columns: int, names: Sequence[str] | None) -> _Recipe:
        method = checks.one_of(METHODS, method=self.method)
        constant = checks.true_or_false(fit_intercept=self.fit_intercept)
        checks.probability(confidence=self.confidence)
        ridge = None if self.regularization is None else checks.positive(regularization=self.regularization)
        spending = self._spending()
        way: Way
        if method == "functional":
            way = Functional(columns, constant, spending)
        elif method == "output":
            way = Output(columns, constant, spending, ridge)
        else:
            way = Statistics(columns, constant, spending)
        return _Recipe(self._box(columns, names), self._target_box(), way, spending)

    def _learn(self, recipe: _Recipe, X: Floats, y: Any, entropy: Entropy) -> None:
        known = np.isfinite(y)
        if not known.all():
            X, y = X[known], y[known]
        box, target_box = recipe.box, recipe.target_box
        if not self.fit_intercept:
            X, box = box.back(box.scaled(X)), _around_zero(box)
            target_box = _around_zero(target_box)
        line = recipe.way.learn(box.steps(X), target_box.steps(y.reshape(-1, 1))[:, 0], entropy)
        half = float(target_box.half[0])
        self.coef_ = half * line.slopes / box.half
        self.intercept_ = float(target_box.middle[0] + half * line.start - self.coef_ @ box.middle)
        if not self.fit_intercept:
            self.intercept_ = 0.0
        middles, widths = half * line.middles / box.half, self._factor() * half * line.errors / box.half
        low, high = np.minimum(middles - widths, self.coef_), np.maximum(middles + widths, self.coef_)
        self.coef_interval_ = np.column_stack([low, high])
        self.drowned_ = ~((low > 0) | (high < 0))
        self.learnt_: Learnt = line.learnt
        self.notes_ = self.notes(self._names())
        for note in self.notes_:
            warnings.warn(note, NoiseWarning, stacklevel=5)

    def notes(self, names: Sequence[str] | None = None) -> tuple[str, ...]:
        """What a reader of the slopes must know. It is computed from the noisy result alone.

        Args:
            names: What to call the columns. None calls them by their places.

        Returns:
            Sentences; none if the noise hides no slope.

        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = LinearRegression(epsilon=10, bounds=(0, 100), target_bounds=(0, 300)).fit(X, 3.0 * X[:, 0])
        >>> model.notes()  # a fit of fewer rows might say that the noise hides every slope
        ()
        """
        if self.learnt_ == "mean":
            why = "The noise hides every slope: only the mean of the target could be learnt."
        elif self.learnt_ == "direction":
            why = (
                "The noise hides single slopes: only one direction was learnt, so a slope says little about its column."
            )
        elif self.method != "output" and np.isnan(self.coef_interval_).all():
            why = "The noise may hide every slope, so there are no intervals."
        elif self.method == "output" or not self.drowned_.any():
            return ()
        else:
            called = [names[i] if names is not None else f"column {i}" for i in np.flatnonzero(self.drowned_).tolist()]
            return (f"The noise may hide the slope of {', '.join(called)}: its interval contains 0.",)
        return (f"{why} Spend a larger epsilon, or use more rows.",)

    def _factor(self) -> float:
        """Standard errors in an interval: by the wider of a normal and a Laplace law, for noise is of both kinds."""
        confidence = float(self.confidence)
        return max(NormalDist().inv_cdf((1 + confidence) / 2), -math.log(1 - confidence) / math.sqrt(2))

    def predict(self, X: Any) -> Floats:
        """The predicted target of each row.

        Args:
            X: Rows with the columns of the fit. Values outside the bounds are clamped.

        Returns:
            A number within `target_bounds` for each row.

        >>> X = np.arange(2000).reshape(-1, 1) % 100
        >>> model = LinearRegression(epsilon=10, bounds=(0, 100), target_bounds=(0, 300)).fit(X, 3.0 * X[:, 0])
        >>> bool(120 < model.predict([[50]])[0] < 180)
        True
        """
        rows = self._rows(X)
        box, target_box = self._box(rows.shape[1], self._names()), self._target_box()
        predicted = rowwise(box.back(box.scaled(rows)), self.coef_[:, None])[:, 0] + self.intercept_
        return np.clip(predicted, target_box.low[0], target_box.high[0])


def _looked(
    look: Any, columns: Floats, target: Floats, entropy: Entropy, *, squared: bool
) -> tuple[float, float, Floats]:
    """About how many rows there are, how much they weigh, and their centre in whole steps, from the first look."""
    seen = look.release(centre_sums(columns, target, squared=squared), entropy) / STEP
    variance = look.variance / STEP**2
    weight = max(float(seen[0]), float(np.sqrt(variance)))
    centre = clear(seen[1:] / weight, variance / weight**2)
    return rows_guessed(weight, centre, squared=squared), weight, np.rint(centre * STEP)


def _unit(spending: Spending, dimensions: int) -> Any:
    """Noise for sums of rows within one unit."""
    return spending.additive(l1=STEP, l2_squared=STEP**2, dimensions=dimensions)


def _peak(constant: bool, reach: float, *, squared: bool) -> float:
    """The weight of a row at the centre, the largest there is, in units of the limit."""
    row = np.full((1, 1), 1.0 if constant else 0.0)
    size = float(sizes(row, np.array([reach]), squared=squared)[0])
    return 1 / (float(np.sqrt(size)) if squared else size)


def _around_zero(box: Box) -> Box:
    """The least box around 0 that holds this one: without an intercept the line goes through the data's own 0."""
    ends = [max(abs(low), abs(high)) for low, high in box.bounds]
    return Box(tuple((-end, end) for end in ends))
