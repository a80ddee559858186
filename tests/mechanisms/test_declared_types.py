"""Columns and frames whose type numpy would choose by their values: one missing entry changes no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from columns import Column

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import SampleAndAggregate, SparseVector


class Frame:
    """Like a data frame, with the declared types of its columns."""

    ndim = 2

    def __init__(self, *types: Any) -> None:
        self.dtypes = types

    def __len__(self) -> int:
        return 2

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.full((2, len(self.dtypes)), 7.0)


def one_block(function: Callable[[Any], object]) -> SampleAndAggregate:
    return SampleAndAggregate(epsilon=10**6, function=function, bounds=(0, 100), blocks=1, relation="replace")


def test_a_missing_answer_changes_nothing_about_the_others() -> None:
    certain = SparseVector(epsilon=10**6, sensitivity=1, threshold=2**53 + 1, cutoff=9)
    assert certain.release(Column([2**53 + 1, 0])) == certain.release(Column([2**53 + 1, None])) == [True, False]
    masked = np.ma.array([2**60, 2**60], mask=[False, True])
    assert certain.release(masked) == [True, False]


def test_a_missing_unit_does_not_change_the_type_of_other_blocks() -> None:
    typed = one_block(lambda block: 100 * (type(block[0]) is int))
    assert typed.release(Column([1] * 300)) == typed.release(Column([1] * 299 + [None])) == 100
    masked = np.ma.array([1, 100], mask=[False, True])
    assert one_block(lambda block: block.sum()).release(masked) == pytest.approx(1, abs=0.1)
    shaped = one_block(lambda block: 100 * (block.mask.shape == block.shape))
    assert shaped.release(masked) == shaped.release(np.ma.array([1, 100])) == 100


def test_a_frame_is_dealt_by_rows_if_numpy_knows_the_types_of_its_columns() -> None:
    total = one_block(lambda block: block.sum())
    assert total.release(Frame(np.dtype("f8"), np.dtype("i8"))) == pytest.approx(28, abs=0.1)
    with pytest.raises(InvalidParameter, match="row"):
        total.release(Frame(np.dtype("f8"), "Int64"))
