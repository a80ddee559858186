"""Whole numbers of numpy as parameters: narrow ones wrap round, and no stated loss or answer may."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing.mechanisms import Gaussian, Laplace, Mean, Quantile, SampleAndAggregate, SparseVector

NARROW = [np.int8, np.uint8, np.int16, np.int32]


@pytest.mark.parametrize("kind", NARROW)
def test_the_loss_of_a_sparse_vector_does_not_wrap_round(kind: Any) -> None:
    for sensitivity in (1, 0.3, 2.0**30):
        watched = SparseVector(epsilon=1, sensitivity=sensitivity, threshold=0, cutoff=kind(100))
        assert watched.privacy_loss().epsilon == 1


@pytest.mark.parametrize("kind", NARROW)
def test_a_narrow_whole_number_is_that_number(kind: Any) -> None:
    assert Quantile(epsilon=1, bounds=(0, 9), q=0.333, max_rows_per_unit=kind(3)).privacy_loss().epsilon == 1
    assert Laplace(epsilon=1, sensitivity=1, dimensions=kind(3)) == Laplace(epsilon=1, sensitivity=1, dimensions=3)
    assert Gaussian.for_rho(1, sensitivity=1, dimensions=kind(3)).privacy_loss().rho <= 1
    mean = Mean(epsilon=1, bounds=(0, 1), n=kind(3), relation="replace")
    assert 0 <= mean.release([0, 1, 1]) <= 1
    for data in (list(range(300)), np.arange(300)):
        blocks = SampleAndAggregate(epsilon=1, function=len, bounds=(0, 1000), blocks=kind(100), relation="replace")
        assert 0 <= blocks.release(data) <= 1000
