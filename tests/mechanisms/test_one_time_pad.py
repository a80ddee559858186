"""The one-time pad: perfect secrecy."""

from __future__ import annotations

import numpy as np
import pytest
from cases import together
from chance import assert_share

from lapwing.errors import InvalidParameter
from lapwing.mechanisms import OneTimePad


def test_it_costs_nothing() -> None:
    assert OneTimePad().privacy_loss().epsilon == 0
    assert OneTimePad().privacy_loss().relation == "replace"


@together("bit", [True, False, 0, 1, None])
def test_the_answer_is_a_fair_bit_whatever_the_truth(bit: object) -> None:
    assert_share(sum(OneTimePad().release(bit) for _ in range(10_000)), 10_000, 0.5)
    assert_share(sum(OneTimePad().release([bit] * 20_000)), 20_000, 0.5)


def test_every_bit_of_an_array_has_its_own_key() -> None:
    first, second = (OneTimePad().release(np.ones(50_000, dtype=bool)) for _ in range(2))
    assert_share((first ^ second).sum(), 50_000, 0.5)
    assert_share((first[1:] ^ first[:-1]).sum(), 49_999, 0.5)


def test_it_is_as_useless_as_it_is_private() -> None:
    assert OneTimePad().accuracy(0.95) == 1
    assert OneTimePad().accuracy(0.4) == 0
    assert OneTimePad().variance == 0.25
    with pytest.raises(InvalidParameter):
        OneTimePad(relation="add_remove")
