"""Columns of other libraries: dates, what Python cannot hold, tables, labels; no error tells about a record."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import together

from lapwing import mechanisms as m
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.records import as_records, ratio_of

CERTAIN = 10**6
DAY = datetime.datetime(2020, 1, 1)
BEYOND = datetime.MAXYEAR + 1


class Panic(BaseException):
    """Like the panic of polars, which is not an Exception."""


class Dates:
    """Like a column of dates in arrow or polars: it may hold one that Python cannot, and then refuses to be a list."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, places: slice) -> Dates:
        return Dates(self.values[places])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError

    def to_pylist(self) -> list[Any]:
        if BEYOND in self.values:
            raise Panic("date value out of range")
        return self.values


class Entry:
    """Like a scalar of arrow: it is not the Python value that it holds."""


class Chunked:
    """Like a chunked array of arrow, whose entries are scalars of arrow, or like a frame if it has columns."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Entry]:
        return (Entry() for _ in self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError

    def to_pylist(self) -> list[Any]:
        return self.values


class Table(Chunked):
    """Like a table of arrow: no number of dimensions, and a list of rows."""

    columns = ("age", "height")


class Lazy:
    """Like a lazy frame of polars: it is no array, and does not compare."""

    columns = ("age", "height")

    def __ne__(self, other: object) -> bool:
        raise TypeError


class Series(Chunked):
    """Like a column of pandas: flattening it warns, and labels of its index look like attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in ("columns", "to_list"):
            return 7
        raise AttributeError(name)

    def ravel(self) -> Any:
        warnings.warn("deprecated", FutureWarning, stacklevel=2)
        return self


class Nanoseconds(Chunked):
    """Like a column of dates in pandas, whose numpy type is declared, but whose values are more than numpy's."""

    dtype = np.dtype("M8[ns]")

    def tolist(self) -> list[Any]:
        return self.values


def test_an_entry_that_python_cannot_hold_is_missing_and_leaves_the_others_alone() -> None:
    for n in (1, 2, 3, 301):
        dates = [DAY] * (n - 1)
        for place in {0, n // 2, n - 1}:
            column = Dates([*dates[:place], BEYOND, *dates[place:]])
            assert m.Count(epsilon=CERTAIN).release(column) == n - 1
            counted = m.Histogram(epsilon=CERTAIN, keys=[DAY], everything_else=True).release(column)
            assert list(counted.values()) == [n - 1, 1]
    assert as_records(Dates([DAY, BEYOND, None])) == [DAY, None, None]
    assert as_records(Dates([])) == []


def test_a_user_who_interrupts_is_heard() -> None:
    class Interrupted(Dates):
        def to_pylist(self) -> list[Any]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        m.Count(epsilon=1).release(Interrupted([1, 2]))


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns", "as"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_dates_are_no_numbers_whatever_their_unit(kind: str, unit: str) -> None:
    dates = np.array([5, 6, "NaT"], dtype=f"{kind}[{unit}]")
    for data in (dates, list(dates), np.ma.array(dates, mask=[False, True, False])):
        assert m.Sum(epsilon=CERTAIN, bounds=(1, 9), granularity=1).release(data) == 0
        assert sum(m.Histogram(epsilon=CERTAIN, edges=[0, 9]).release(data).values()) == 0
        assert list(m.Laplace(epsilon=CERTAIN, sensitivity=1, dimensions=3).release(data)) == [0, 0, 0]
    for date in dates:
        assert ratio_of(date) is None
        assert m.Laplace(epsilon=CERTAIN, sensitivity=1).release(date) == 0


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_dates_of_numpy_find_their_keys(unit: str) -> None:
    dates = np.array(["2020-01-01", "2021-01-01", "2020-01-01", "NaT"], dtype=f"M8[{unit}]")
    assert list(m.Histogram(epsilon=CERTAIN, keys=dates[:2]).release(dates).values()) == [2, 1]


def test_dates_of_a_column_are_the_values_that_the_column_gives() -> None:
    column = Nanoseconds([DAY, None, DAY])
    assert m.Histogram(epsilon=CERTAIN, keys=[DAY]).release(column) == {DAY: 2}
    assert m.Count(epsilon=CERTAIN).release(column) == 2


@together("rows", [[], [{"age": 1}], [{"age": None}]])
def test_a_table_without_a_number_of_dimensions_is_refused_too(rows: list[Any]) -> None:
    for mechanism in (
        m.Count(epsilon=1),
        m.Sum(epsilon=1, bounds=(0, 1)),
        m.Histogram(epsilon=1, keys=[1]),
        m.Laplace(epsilon=1, sensitivity=1, dimensions=1),
        m.NoisyMax(epsilon=1, sensitivity=1, candidates=1),
        m.RandomizedResponse.from_gamma(0.75),
    ):
        with pytest.raises(InvalidParameter, match="column"):
            mechanism.release(Table(rows))


def test_a_frame_that_has_not_been_read_yet_is_no_count() -> None:
    with pytest.raises(InvalidParameter, match="column"):
        m.Count(epsilon=1).release(Lazy())


def test_a_column_is_read_without_a_warning_whatever_its_index_is_called() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.Count(epsilon=CERTAIN).release(Series([1, None, 3])) == 2
        assert m.RandomizedResponse.from_gamma(0.75).estimate(Series([True] * 4)).share == 1.5


def test_labels_and_answers_in_chunks_are_their_python_values() -> None:
    labels = Chunked(["a", "b"])
    assert m.Histogram(epsilon=CERTAIN, keys=labels).release(["a"]) == {"a": 1, "b": 0}
    assert m.NoisyMax(epsilon=CERTAIN, sensitivity=1, candidates=labels).release([0, 9]) == "b"
    poll = m.KaryResponse.from_epsilon(1, categories=labels)
    assert poll.release("a") in ("a", "b")
    assert poll.estimate(Chunked(["a"] * 9))["a"].share == poll.estimate(["a"] * 9)["a"].share
    survey = m.RandomizedResponse.from_gamma(0.75)
    assert survey.estimate(Chunked([True, False] * 5)).share == survey.estimate([True, False] * 5).share
