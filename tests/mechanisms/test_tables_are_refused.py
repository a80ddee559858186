"""A table is not a column: whoever owns a row would count once for each of its cells."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing import mechanisms as m
from lapwing.errors import InvalidParameter

TABLE = np.ones((6, 2))


@pytest.mark.parametrize(
    "mechanism",
    [
        m.Count(epsilon=1),
        m.Sum(epsilon=1, bounds=(0, 1)),
        m.Mean(epsilon=1, bounds=(0, 1)),
        m.Histogram(epsilon=1, keys=[1.0]),
        m.Histogram(epsilon=1, edges=[0, 1]),
        m.Median(epsilon=1, bounds=(0, 1)),
        m.SmoothMedian(epsilon=1, delta=1e-6, bounds=(0, 1)),
        m.StableMedian(epsilon=1, delta=1e-6, bound=0.5, bounds=(0, 1)),
        m.Maximum(epsilon=1, bounds=(0, 1)),
        m.NoisyMax(epsilon=1, sensitivity=1, candidates=12),
        m.Laplace(epsilon=1, sensitivity=1, dimensions=12),
        m.Gaussian(sigma=1, sensitivity=1, dimensions=12),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_table_is_refused_by_its_shape_alone(mechanism: m.Count) -> None:
    for table in (TABLE, TABLE * np.nan, TABLE[:, :1]):
        with pytest.raises(InvalidParameter):
            mechanism.release(table)
