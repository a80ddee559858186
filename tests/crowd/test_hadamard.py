"""The Walsh–Hadamard transform and the Hadamard response."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.crowd.hadamard import BLOCK, signs, walsh_hadamard
from lapwing.errors import InvalidParameter


def matrix(size: int) -> np.ndarray:
    """Sylvester's construction, to compare with."""
    built = np.ones((1, 1), dtype=np.int64)
    while len(built) < size:
        built = np.block([[built, built], [built, -built]])
    return built


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 64, 512, 1024])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_transform_is_multiplication_by_sylvesters_matrix(size, kind):
    table = np.random.default_rng(size).integers(-1000, 1000, (3, size)).astype(kind)
    transformed = walsh_hadamard(table)
    assert transformed.dtype == kind
    assert (transformed == table @ matrix(size)).all()


@pytest.mark.parametrize("size", [BLOCK // 2, BLOCK, 4 * BLOCK])
def test_transforming_twice_multiplies_by_the_length_whatever_the_blocks(size):
    table = np.random.default_rng(1).integers(-(1 << 30), 1 << 30, (3, size))
    once = walsh_hadamard(table)
    place = 3 * size // 4 + 5
    column = 1 - 2 * signs(np.arange(size, dtype=np.uint64), np.uint64(place)).astype(np.int64)
    assert (once[:, place] == table @ column).all()
    assert (walsh_hadamard(once) == size * table).all()


def test_in_place_is_the_same_and_the_argument_is_untouched_otherwise():
    table = np.random.default_rng(2).integers(-9, 9, (5, 2, 128))
    before = table.copy()
    fresh = walsh_hadamard(table)
    assert (table == before).all()
    assert walsh_hadamard(table, in_place=True) is table
    assert (table == fresh).all()


def test_other_whole_numbers_become_int64_without_overflow():
    assert walsh_hadamard(np.full(256, 127, dtype=np.int8))[0] == 127 * 256


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 0)), np.float64(1.0)])
def test_lengths_that_are_no_power_of_two_are_refused(bad):
    with pytest.raises(InvalidParameter, match="power of two"):
        walsh_hadamard(bad)


def test_in_place_refuses_what_it_could_not_overwrite():
    with pytest.raises(InvalidParameter, match="C-contiguous"):
        walsh_hadamard(np.zeros((4, 8)).T, in_place=True)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("modern", [True, False])
def test_signs_are_parities_in_every_unsigned_type(kind, modern, monkeypatch):
    if not modern and hasattr(np, "bitwise_count"):
        monkeypatch.delattr(np, "bitwise_count")
    numbers = np.random.default_rng(3).integers(0, np.iinfo(kind).max, (2, 200), dtype=kind, endpoint=True)
    expected = [(int(a) & int(b)).bit_count() & 1 for a, b in zip(*numbers, strict=True)]
    assert signs(*numbers).tolist() == expected
