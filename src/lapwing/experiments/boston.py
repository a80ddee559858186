"""Boston Housing: 506 census tracts around Boston, 13 features, the median price of houses (Harrison, Rubinfeld 1978).

A caution that goes with every use of it. One of the columns, `black`, is a function of the share of Black residents
that was made on the assumption that segregation raises prices, and cannot be undone; scikit-learn removed the data set
in version 1.2 for that reason. It is here because a study of private regression used it, and only to be compared with
that study: learn about houses, or about people, from something else. The study itself keeps chas, nox and rm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import MissingExtra

Floats = NDArray[np.float64]

CAUTION = (
    "Boston Housing has an ethical problem: its column black encodes the share of Black residents under the assumption "
    "that segregation raises prices. It is used here only to compare with a study that used it."
)
NAMES = ("crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "black", "lstat")
BOUNDS = {"chas": (0.0, 1.0), "nox": (0.0, 1.0), "rm": (1.0, 10.0)}
"""What one may say without looking: a river or not, nitrogen oxides in parts per ten million, rooms of a dwelling."""
PRICES = (0.0, 50.0)
"""Thousands of dollars; the census counted no more than 50."""
FOLDS = 10


@dataclass(frozen=True, slots=True)
class Houses:
    """Features and prices in thousands of dollars."""

    X: Floats
    y: Floats
    names: tuple[str, ...]

    def only(self, *names: str) -> Houses:
        """Some of the features."""
        return Houses(self.X[:, [self.names.index(name) for name in names]], self.y, names)

    def scaled(self) -> Houses:
        """Every column moved and stretched to −1 … 1 by its own least and largest value: **not private**."""
        return Houses(_unit(self.X), _unit(self.y[:, None])[:, 0], self.names)

    def without(self, record: int) -> Houses:
        """One record left out."""
        return Houses(np.delete(self.X, record, axis=0), np.delete(self.y, record), self.names)

    def with_record(self, features: Any, price: float) -> Houses:
        """One record more."""
        return Houses(np.vstack([self.X, features]), np.append(self.y, price), self.names)

    def folds(self) -> Iterator[tuple[Houses, Houses]]:
        """To learn from and to be tested on, ten times, in the order of the file and without shuffling."""
        edges = fold_edges(len(self.y))
        for start, end in pairwise(edges):
            inside = np.zeros(len(self.y), dtype=bool)
            inside[start:end] = True
            yield (
                Houses(self.X[~inside], self.y[~inside], self.names),
                Houses(self.X[inside], self.y[inside], self.names),
            )


@cache
def houses() -> Houses:
    """All of it. Mind the caution of this module.

    >>> houses().X.shape
    (506, 13)
    """
    try:
        from mlxtend.data import boston_housing_data
    except ImportError:
        raise MissingExtra("mlxtend", "experiments") from None
    X, y = boston_housing_data()
    return Houses(np.asarray(X, dtype=float), np.asarray(y, dtype=float), NAMES)


@cache
def chosen() -> Houses:
    """The features that `SelectFromModel` keeps: those whose weight is above the mean weight. Not private either."""
    from sklearn.feature_selection import SelectFromModel
    from sklearn.linear_model import LinearRegression

    everything = houses()
    kept = SelectFromModel(LinearRegression()).fit(everything.X, everything.y).get_support()
    return everything.only(*(name for name, keep in zip(NAMES, kept, strict=True) if keep))


def fold_edges(rows: int) -> NDArray[np.intp]:
    """Where one fold ends and the next begins; the first ones are longer by one if need be.

    >>> fold_edges(506)[:3].tolist(), int(fold_edges(506)[-1])
    ([0, 51, 102], 506)
    """
    return np.concatenate([[0], np.cumsum([len(part) for part in np.array_split(np.arange(rows), FOLDS)])])


def plain_error(table: Houses) -> float:
    """The error without privacy: the root of the mean squared error, averaged over the folds."""
    from sklearn.linear_model import LinearRegression

    errors = [
        np.sqrt(np.mean((LinearRegression().fit(train.X, train.y).predict(test.X) - test.y) ** 2))
        for train, test in table.folds()
    ]
    return float(np.mean(errors))


def _unit(values: Floats) -> Floats:
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray(2 * (values - low) / (high - low) - 1)
